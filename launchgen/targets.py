"""THE table of GPU targets, one row each; there is one target so far.

To add a target, add a row and the fragments it names in ``templates/runtime/``: they declare what
the rest of the runtime calls of the driver, ``lg_cuda``, which is where a second target begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class Target(NamedTuple):
    """One GPU target.  Sizes are in bytes."""

    name: str
    image_suffix: str
    """File name extension of a compiled kernel."""
    text_suffix: str
    """File name extension of one as text, which the driver compiles."""
    container_suffix: str
    """File name extension of several in one file."""
    warp_size: int
    """Threads of a warp where the launch metadata does not say."""
    max_threads: int
    """Most threads of one block."""
    grid_limits: tuple[int, int, int]
    """Greatest grid size along x, y and z, in blocks."""
    portable_cluster: int
    """Most blocks of a cluster that every device of the target accepts."""
    most_cluster: int
    """Most blocks of a cluster that a kernel can ask some device for."""
    default_shared: int
    """Dynamic shared memory that a launch gets without asking; more needs an opt-in."""
    largest_shared: int
    """Shared memory of a block that every release takes as it is; more is a mode of its own."""
    parameter_bytes: int
    """Most bytes of a kernel's parameter list on any device."""
    large_parameter_bytes: int
    """The same from capability ``large_parameters_since`` on, with a driver that is new enough."""
    large_parameters_since: int
    """Capability, as in 70 for 7.0."""
    fragments: tuple[str, ...]
    """Runtime fragments that declare and find its driver."""

    @property
    def image_suffixes(self) -> tuple[str, ...]:
        """File name extensions of compiled kernels of any form."""
        return self.image_suffix, self.container_suffix, self.text_suffix


_ROWS: Final = (
    # Limits: CUDA C++ Programming Guide, "Compute Capabilities"; the parameter list's size:
    # CUDA 12.1 release notes (32,764 bytes on sm_70 and newer, with driver R530 or newer).
    Target(
        name="cuda",
        image_suffix=".cubin",
        text_suffix=".ptx",
        container_suffix=".fatbin",
        warp_size=32,
        max_threads=1024,
        grid_limits=(2**31 - 1, 65535, 65535),
        portable_cluster=8,
        most_cluster=16,
        default_shared=48 * 1024,
        largest_shared=228 * 1024,
        parameter_bytes=4352,
        large_parameter_bytes=32764,
        large_parameters_since=70,
        fragments=("cuda_types", "cuda_driver"),
    ),
)

TARGETS: Final[Mapping[str, Target]] = MappingProxyType({row.name: row for row in _ROWS})
"""Targets by name, in table order; the first is the default."""
