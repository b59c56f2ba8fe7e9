"""THE table of GPU targets, one row each.

To add a target, add a row and the shim it names in ``templates/runtime/``; the shim defines the
same functions as every other target's (a test compares them).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Target:
    """One GPU target.  Sizes are in bytes."""

    name: str
    image_suffix: str
    """File name extension of a compiled kernel."""
    warp_size: int
    """Threads of a warp where the launch metadata does not say."""
    max_threads: int
    """Most threads of one block."""
    grid_limits: tuple[int, int, int]
    """Greatest grid size along x, y and z, in blocks."""
    portable_cluster: int
    """Most blocks of a cluster that every device of the target accepts."""
    default_shared: int
    """Dynamic shared memory that a launch gets without asking; more needs an opt-in."""
    largest_shared: int
    """Shared memory of a block that every release takes as it is; more is a mode of its own."""
    parameter_bytes: int
    """Most bytes of a kernel's parameter list on any device."""
    large_parameter_bytes: int
    """The same where ``large_parameters`` names device and driver."""
    large_parameters: str
    """What a parameter list above ``parameter_bytes`` needs, in words."""
    fragments: tuple[str, ...]
    """Runtime fragments that declare and find its driver."""


_ROWS: Final = (
    # Limits: CUDA C++ Programming Guide, "Compute Capabilities"; the parameter list's size:
    # CUDA 12.1 release notes (32,764 bytes on sm_70 and newer).
    Target(
        name="cuda",
        image_suffix=".cubin",
        warp_size=32,
        max_threads=1024,
        grid_limits=(2**31 - 1, 65535, 65535),
        portable_cluster=8,
        default_shared=48 * 1024,
        largest_shared=228 * 1024,
        parameter_bytes=4352,
        large_parameter_bytes=32764,
        large_parameters="sm_70 or newer and a driver of CUDA 12.1 (R530) or newer",
        fragments=("cuda_types", "cuda_driver"),
    ),
)

TARGETS: Final[Mapping[str, Target]] = MappingProxyType({row.name: row for row in _ROWS})
"""Targets by name, in table order; the first is the default."""
