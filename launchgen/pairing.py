"""A signature's slots and an image's parameters side by side.

Where one is missing or too much, what follows it still stands beside what it belongs to, so that
the first line that disagrees is the one to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from launchgen.abi import Slot
from launchgen.image import Parameter


class Row(NamedTuple):
    """A slot of the signature and a parameter of the image side by side; None: it has none."""

    slot: Slot | None
    parameter: Parameter | None
    ordinal: int | None
    """The parameter's number in the image."""
    agrees: bool


def fits(slot: Slot, parameter: Parameter) -> bool:
    """Return whether a parameter can be what the slot says, as far as an image tells."""
    is_address = parameter.pointer is None or parameter.pointer is slot.pointer
    return slot.size == parameter.size and is_address


def pair(slots: Sequence[Slot], parameters: Sequence[Parameter]) -> tuple[Row, ...]:
    """Put slots and parameters side by side, so that as few as possible disagree.

    Where one is missing or too much, the rest still stands beside what it belongs to.
    """
    first = _agreeing(zip(slots, parameters, strict=False))
    most = min(len(slots), len(parameters)) - first
    backwards = zip(reversed(slots), reversed(parameters), strict=False)
    last = min(most, _agreeing(backwards))
    moves = _align(slots[first : len(slots) - last], parameters[first : len(parameters) - last])
    rows: list[Row] = []
    at_slot = at_parameter = 0
    for takes_slot, takes_parameter in (*[(1, 1)] * first, *moves, *[(1, 1)] * last):
        slot = slots[at_slot] if takes_slot else None
        parameter = parameters[at_parameter] if takes_parameter else None
        agrees = slot is not None and parameter is not None and fits(slot, parameter)
        rows.append(Row(slot, parameter, at_parameter if takes_parameter else None, agrees))
        at_slot += takes_slot
        at_parameter += takes_parameter
    return tuple(rows)


def _agreeing(pairs: Iterable[tuple[Slot, Parameter]]) -> int:
    count = 0
    for slot, parameter in pairs:
        if not fits(slot, parameter):
            break
        count += 1
    return count


_Move = tuple[int, int]
_MOST_CELLS: Final = 250_000
_GAP, _CHANGE = 2, 3


def _align(slots: Sequence[Slot], parameters: Sequence[Parameter]) -> list[_Move]:
    """Return how to walk both lists, one step for a row, at the least cost.

    A slot and a parameter that do not fit cost less than two gaps and more than one.
    """
    height, width = len(slots), len(parameters)
    if height == 0 or width in (0, height) or height * width > _MOST_CELLS:
        common = min(height, width)
        return [(1, 1)] * common + [(1, 0)] * (height - common) + [(0, 1)] * (width - common)
    cost = [[_GAP * (height - i + width - j) for j in range(width + 1)] for i in range(height + 1)]
    for i in reversed(range(height)):
        for j in reversed(range(width)):
            change = 0 if fits(slots[i], parameters[j]) else _CHANGE
            cost[i][j] = min(
                cost[i + 1][j + 1] + change, _GAP + min(cost[i + 1][j], cost[i][j + 1])
            )
    return list(_walk(slots, parameters, cost))


def _walk(
    slots: Sequence[Slot], parameters: Sequence[Parameter], cost: list[list[int]]
) -> Iterator[_Move]:
    i = j = 0
    while i < len(slots) and j < len(parameters):
        change = 0 if fits(slots[i], parameters[j]) else _CHANGE
        if cost[i][j] == cost[i + 1][j + 1] + change:
            move = (1, 1)
        elif cost[i][j] == cost[i + 1][j] + _GAP:
            move = (1, 0)
        else:
            move = (0, 1)
        yield move
        i, j = i + move[0], j + move[1]
    yield from [(1, 0)] * (len(slots) - i)
    yield from [(0, 1)] * (len(parameters) - j)
