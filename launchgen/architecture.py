"""What an image was compiled for, and which devices run it.

A cubin runs on devices of its own major capability that are not older; an ``a`` image on exactly
its own capability; an ``f`` image on the members of its family.  PTX is compiled by the driver and
runs on every device that is not older, except that its ``a`` and ``f`` bind it as they do a cubin.

Source: CUDA C++ Programming Guide, "Binary Compatibility", "Architecture-Specific Features" and
"Family-Specific Features".
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

EXACT: Final = "a"
FAMILY: Final = "f"

FAMILIES: Final[Mapping[int, tuple[int, ...]]] = MappingProxyType(
    {100: (100, 103), 120: (120, 121)}
)
"""Capabilities that run an ``f`` image, by the image's own; one that is not listed is alone."""

_SUFFIXES: Final = ("", FAMILY, EXACT)  # from the one that runs on most to the most particular
_DIGITS: Final = 10


class Architecture(Struct, frozen=True):
    """An architecture as compilers spell it: ``sm_90a`` is ``Architecture(90, "a")``."""

    capability: int
    """Compute capability, as in 90 for 9.0 and 103 for 10.3."""
    suffix: str = ""
    """``a``: for this capability alone; ``f``: for its family; empty: neither."""
    is_virtual: bool = False
    """Whether it is PTX, which the driver compiles: ``compute_90``."""

    def __str__(self) -> str:
        return f"{'compute' if self.is_virtual else 'sm'}_{self.capability}{self.suffix}"

    @property
    def ranges(self) -> tuple[tuple[int, int | None], ...]:
        """First and last of each range of capabilities that runs it; None: there is no newest."""
        if self.suffix == FAMILY:
            members = FAMILIES.get(self.capability, (self.capability,))
            return tuple((each, each) for each in members)
        if self.suffix == EXACT:
            return ((self.capability, self.capability),)
        if self.is_virtual:
            return ((self.capability, None),)
        return ((self.capability, self.capability // _DIGITS * _DIGITS + _DIGITS - 1),)

    def runs_on(self, capability: int) -> bool:
        """Return whether a device of ``capability`` runs it."""
        return any(
            first <= capability and (last is None or capability <= last)
            for first, last in self.ranges
        )

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Sorts the images of one kernel: of those that run on a device, the greatest is best."""
        return not self.is_virtual, self.capability, _SUFFIXES.index(self.suffix)


def capability_text(capability: int) -> str:
    """Return a capability as NVIDIA writes it: 90 is ``9.0``, 103 is ``10.3``."""
    return f"{capability // _DIGITS}.{capability % _DIGITS}"
