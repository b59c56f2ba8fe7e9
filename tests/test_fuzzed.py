"""Inputs that mattered in fuzzing, replayed, and damaged seeds: nothing but the project's errors.

Each test records the number of its inputs as the property ``fuzzed``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from fuzzing import damage
from fuzzing.attempts import attempt
from fuzzing.promises import promise, refusing
from fuzzing.seeds import ROOT, TESTS, kept
from fuzzing.targets import TARGETS, Target
from launchgen.diagnostics import Diagnostic, SignatureError, Source, Span

DAMAGED = 2_000
SLOWEST = 5
"""Seconds that one input may take, on a machine with other work."""

Record = Callable[[str, object], None]
each_target = pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))


def faults(target: Target, inputs: Iterable[tuple[str, bytes]]) -> tuple[int, list[str]]:
    """Return how many inputs there were, and what is wrong with which."""
    found = [(name, attempt(target, data, seconds=SLOWEST)) for name, data in inputs]
    return len(found), [f"{name}: {problem}" for name, problem in found if problem is not None]


@each_target
def test_what_fuzzing_found_is_read_or_refused(target: Target, record_property: Record) -> None:
    inputs = {**kept(target.name), **{str(at): it for at, it in enumerate(target.seeds())}}
    count, wrong = faults(target, inputs.items())
    record_property("fuzzed", count)
    assert wrong == []


@each_target
def test_damaged_seeds_are_read_or_refused(target: Target, record_property: Record) -> None:
    inputs = damage.inputs(target, seed=len(target.name), count=DAMAGED)
    count, wrong = faults(target, ((str(at), data) for at, data in enumerate(inputs)))
    record_property("fuzzed", count)
    assert count == DAMAGED
    assert wrong == []


# --- what replays them ---------------------------------------------------------------------------


def test_what_is_kept_is_small() -> None:
    sizes = {path: path.stat().st_size for path in (TESTS / "fuzzed").rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 2**20
    assert {path.parent.name for path in sizes} <= TARGETS.keys()
    assert [path for path, size in sizes.items() if size > 16_384] == []


def outcome(run: Callable[[bytes], object], *, seconds: float = SLOWEST) -> str | None:
    return attempt(replace(TARGETS["signature"], run=run), b"", seconds=seconds)


def test_every_error_but_the_projects_own_is_a_fault() -> None:
    def recurse(data: bytes) -> None:
        recurse(data)

    assert outcome(lambda data: data[0]) == "IndexError: index out of range"
    assert outcome(lambda data: {b"k": 1}[data]) == "KeyError: b''"
    assert outcome(lambda data: promise(data != b"", "no data")) == "BrokenPromiseError: no data"
    assert str(outcome(recurse)).startswith("RecursionError: ")
    assert outcome(lambda data: None) is None


def test_what_takes_too_long_is_a_fault() -> None:
    assert outcome(lambda data: time.sleep(5), seconds=0.01) == "more than 0.01 s"


@pytest.mark.parametrize(
    ("diagnostic", "problem"),
    [
        (Diagnostic("m", Source("s", "abc"), Span(2, 4)), "Span(start=2, end=4) is not in a text"),
        (Diagnostic("m", None, Span(0, 0)), "Span(start=0, end=0) is not in a text of -1"),
        (Diagnostic(""), "a diagnostic has no message"),
    ],
)
def test_an_error_that_points_nowhere_is_a_fault(diagnostic: Diagnostic, problem: str) -> None:
    def run(_data: bytes) -> None:
        with refusing(SignatureError):
            raise SignatureError(diagnostic)

    assert problem in str(outcome(run))


def test_damage_is_the_same_each_time() -> None:
    target = TARGETS["cubin"]
    once, again = (list(damage.inputs(target, seed=3, count=50)) for _ in range(2))
    assert once == again
    assert once != list(damage.inputs(target, seed=4, count=50))
    assert len(set(once)) > 40


def test_without_atheris_one_line_says_so(tmp_path: Path) -> None:
    # A folder without modules in front of whatever is installed.
    code = f"import sys, runpy; sys.path = [{str(ROOT)!r}, *sys.path]; " + (
        "import importlib.util as u; found = u.find_spec; "
        "u.find_spec = lambda name: None if name == 'atheris' else found(name); "
        "sys.argv = ['fuzzing', 'signature']; runpy.run_module('fuzzing', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stderr == ("atheris is not installed: python -m pip install -e '.[test,fuzz]'\n")
    assert done.stdout == ""
