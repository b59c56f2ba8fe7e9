"""What times say: median, mean and quantiles, and how many runs are worth taking."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

_FEWEST_RUNS: Final = 5
_MOST_RUNS: Final = 10_000
"""A pair of events is held for each until the end."""

_FEWEST_LAUNCHES: Final = 10
_MOST_LAUNCHES: Final = 2_000
_LAUNCHES_OF_A_ROUND: Final = 100
"""Few enough that the driver's queue, of about a thousand, never makes a launch wait."""


class Summary(Struct, frozen=True):
    """What several times of the same thing say, in microseconds."""

    count: int
    median: float
    mean: float
    least: float
    most: float
    quantiles: tuple[tuple[float, float], ...]
    """Each quantile that was asked for, from 0 to 1, and the time below which that part lies."""


def summarise(times: Iterable[float], quantiles: Iterable[float]) -> Summary:
    """Return what ``times``, of which there is at least one, say."""
    ordered = sorted(times)
    return Summary(
        count=len(ordered),
        median=quantile(ordered, 0.5),
        mean=math.fsum(ordered) / len(ordered),
        least=ordered[0],
        most=ordered[-1],
        quantiles=tuple((part, quantile(ordered, part)) for part in quantiles),
    )


def quantile(ordered: Sequence[float], part: float) -> float:
    """Return the time below which ``part`` of the sorted times lie, between two in proportion."""
    place = part * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def count_runs(budget: float, each: float) -> int:
    """Return how many runs fill ``budget`` microseconds where one takes ``each``."""
    return _between(_FEWEST_RUNS, budget, each, _MOST_RUNS)


def count_rounds(budget: float, each: float) -> tuple[int, int]:
    """Return how many rounds of how many launches fill ``budget`` microseconds."""
    launches = _between(_FEWEST_LAUNCHES, budget, each, _MOST_LAUNCHES)
    rounds = max(1, min(_MOST_LAUNCHES // _LAUNCHES_OF_A_ROUND, launches // _FEWEST_LAUNCHES))
    return rounds, launches // rounds


def _between(fewest: int, budget: float, each: float, most: int) -> int:
    # A GPU's clock is coarse: a short kernel may seem to take no time at all.
    if each * most < budget:
        return most
    return max(fewest, int(budget / each)) if each else fewest
