"""Memory that the recording driver knows in these tests, on both sides at the same addresses."""

from __future__ import annotations

from typing import Final

from launchgen.testing import RecordingDriver

SIZE: Final = 1 << 40
DEVICE: Final = 0x1000_0000_0000
MANAGED: Final = 0x2000_0000_0000
"""Kernels find it elsewhere, so that one who does not ask the driver is noticed."""
PINNED: Final = 0x3000_0000_0000
SCRATCH: Final = 0x4000_0000_0000
_ELSEWHERE: Final = 0x5000_0000_0000
_STEP: Final = 1 << 32


def add_memory(driver: RecordingDriver) -> None:
    driver.add_memory(DEVICE, SIZE)
    driver.add_memory(MANAGED, SIZE, managed_as=_ELSEWHERE)
    driver.add_memory(PINNED, SIZE, host=True)
    driver.add_memory(SCRATCH, SIZE)


def scratch_addresses(number: int) -> int:
    """Return the address of the buffer that an allocator gives when it is asked once more."""
    return SCRATCH + number * _STEP
