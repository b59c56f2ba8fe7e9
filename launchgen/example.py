"""What the example program passes: the least that a launch accepts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from launchgen.metadata import LaunchMetadata
from launchgen.naming import GRID_AXES, STREAM
from launchgen.records import PlanDeclaration, PlanExample, PlanParameter, PlanScratch


def example_grid(described: tuple[LaunchMetadata, ...]) -> tuple[int, int, int]:
    """Return the smallest grid: one program, or whole clusters where it counts blocks."""
    clusters = [each.cluster for each in described if not each.grid_counts_clusters]
    x, y, z = (math.lcm(*(cluster[axis] for cluster in clusters)) for axis in range(3))
    return x, y, z


def example_call(
    own: tuple[PlanDeclaration, ...],
    scratch: tuple[PlanScratch, ...],
    parameters: tuple[PlanParameter, ...],
) -> Iterator[PlanExample]:
    """Yield the arguments of the call, in the order of the prototype."""
    for declaration in own:
        yield _value(_OWN.get(declaration.name, declaration.name), declaration.name)
    for part in scratch:
        yield PlanExample(
            value_c=part.public,
            cast_c="void *",
            note=part.what,
            is_value=False,
            is_buffer=False,
            is_scratch=True,
        )
    for parameter in parameters:
        yield _argument(parameter)


_OWN = {STREAM: "NULL"} | {name: name.upper() for name in GRID_AXES}


def _argument(parameter: PlanParameter) -> PlanExample:
    if parameter.is_pointer:
        return PlanExample(
            value_c="",
            cast_c=parameter.public_c,
            note=parameter.note,
            is_value=False,
            is_buffer=True,
            is_scratch=False,
        )
    if parameter.is_memory:
        return _value(parameter.argument, parameter.note)
    if parameter.is_descriptor:
        return _value(f"&{parameter.argument}", parameter.note)
    return _value("1" if parameter.is_one else "0", parameter.note)


def _value(value_c: str, note: str) -> PlanExample:
    return PlanExample(
        value_c=value_c, cast_c="", note=note, is_value=True, is_buffer=False, is_scratch=False
    )
