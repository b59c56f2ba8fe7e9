"""What a benchmark found, as ``reports.py`` shows it.  Times are in microseconds."""

from __future__ import annotations

from msgspec import Struct

from launchgen.call_values import CallValue, Grid
from launchgen.timings import Summary


class Device(Struct, frozen=True):
    """The GPU that was timed."""

    ordinal: int
    name: str
    capability: tuple[int, int]
    l2_bytes: int
    clock_khz: int
    """The highest; what it was during the runs is not known."""


class HostCost(Struct, frozen=True):
    """What a launch costs the thread that calls it."""

    summary: Summary
    """Of rounds: the mean of a launch in each, without what Python takes to call anything."""
    launches: int
    """In each round."""
    call: float
    """The median with that."""
    empty: float
    """The median of a call with an empty grid, which launches nothing: that is what was taken."""


class Benchmark(Struct, frozen=True):
    """All of it."""

    launcher: str
    signature: str
    values: tuple[CallValue, ...]
    scratch: tuple[tuple[str, int], ...]
    """Name and bytes of each scratch buffer."""
    grid: Grid
    device: Device
    cleared: int
    """Bytes written before each run, so that nothing of the last one is in the L2; 0: none."""
    warmup_runs: int
    kernel: Summary
    times: tuple[float, ...]
    """Of each run, in order."""
    host: HostCost
    notes: tuple[str, ...]
