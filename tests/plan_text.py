"""A plan as text, a line for each decision: what changed shows before how it looks."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from unittest import mock

import msgspec

from launchgen import rendering
from launchgen.cli import main
from launchgen.records import LaunchPlan
from launchgen.utils_records import UtilsPlan
from tests.golden import Case


def plan_of(case: Case) -> LaunchPlan | UtilsPlan:
    """Return the plan that the case's command comes to; the current folder is ``tests/``."""
    with (
        mock.patch.object(rendering, "render", wraps=rendering.render) as render,
        contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())),
    ):
        assert main([*case.arguments, "--list-outputs"]) == 0
    plan = render.call_args.args[0]
    assert isinstance(plan, LaunchPlan | UtilsPlan)
    return plan


def plan_text(case: Case) -> str:
    return "\n".join(_lines("plan", plan_of(case))) + "\n"


def _lines(name: str, value: object) -> Iterator[str]:
    if isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            yield from _lines(f"{name}.{field}", getattr(value, field))
    elif isinstance(value, tuple):
        yield f"{name}: {len(value)}"
        for index, item in enumerate(value):
            yield from _lines(f"{name}[{index}]", item)
    elif isinstance(value, bytes):
        yield f"{name}: {len(value)} bytes"
    elif isinstance(value, str):
        yield f"{name}: {str(value)!r}"
    else:
        yield f"{name}: {value!r}"
