"""Children of a test: where Triton's releases are, what they are asked, and what differs."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tests.triton_side.cases import Answers, Case, Job, Launched, Outcome, Release

VARIABLE: Final = "LAUNCHGEN_TRITON"
ROOT: Final = Path(__file__).parent.parent.parent
_NOT_GIVEN: Final = f"needs Triton's releases: make test-triton, or {VARIABLE}, a folder of them"


def folder_of(release: Release) -> Path | None:
    """Return where a release is unpacked; None where it is not."""
    given = os.environ.get(VARIABLE)
    folder = Path(given, release.name) if given else None
    return folder if folder is not None and (folder / "triton").is_dir() else None


def missing(release: Release) -> str:
    """Return why a test with that release cannot run."""
    given = os.environ.get(VARIABLE)
    return f"no {release.name} in {VARIABLE}={given}" if given else _NOT_GIVEN


def ask(job: Job, work: Path) -> Any:
    """Return what a child beside Triton answers to a job."""
    triton = folder_of(job.release)
    assert triton is not None
    files = work / f"{job.side}.job", work / f"{job.side}.answers"
    files[0].write_bytes(pickle.dumps(job))
    done = subprocess.run(
        [sys.executable, "-m", "tests.triton_side.child", *files],
        env={**os.environ, "PYTHONPATH": f"{triton}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return pickle.loads(files[1].read_bytes())


# ---- what differs --------------------------------------------------------------------------------


def differences(
    cases: Sequence[Case],
    release: Release,
    theirs: Answers,
    ours: Answers,
    *,
    hooks: bool = True,
) -> list[str]:
    """Return a paragraph for each call in which the two launchers did not do the same."""
    found = []
    for case, *outcomes in zip(cases, theirs, ours, strict=True):
        for call, one, other in zip(case.calls, *outcomes, strict=True):
            lines = list(_differences(case, release, one, other, hooks=hooks))
            if lines:
                told = [f"({case.text}), {case.metadata(release)}", f"  called with {call}"]
                found.append("\n".join([*told, *(f"  {line}" for line in lines)]))
    return found


def _differences(
    case: Case, release: Release, theirs: Outcome, ours: Outcome, *, hooks: bool
) -> Iterator[str]:
    if theirs.error or ours.error:
        # Values are such as both take.
        yield _told("error", theirs.error, ours.error)
    if len(theirs.launches) != len(ours.launches):
        yield _told("launches", len(theirs.launches), len(ours.launches))
    for pair in zip(theirs.launches, ours.launches, strict=False):
        yield from _launch_differences(case, release, *pair)
    if theirs.launches and theirs.allocations != ours.allocations:
        yield _told("scratch allocated", theirs.allocations, ours.allocations)
    if hooks and theirs.hooks != ours.hooks:
        yield _told("hooks", theirs.hooks, ours.hooks)


def _launch_differences(
    case: Case, release: Release, theirs: Launched, ours: Launched
) -> Iterator[str]:
    for name in ("grid", "block", "shared", "on_stream", "attributes"):
        one, other = getattr(theirs, name), getattr(ours, name)
        if one != other:
            yield _told(name, one, other)
    slots = [word for word, _, _ in case.slots(release)]
    values = itertools.zip_longest(slots, theirs.values, ours.values)
    for number, (word, one, other) in enumerate(values):
        if one != other:
            yield _told(f"parameter {number} ({word})", one, other)


def _told(what: str, theirs: object, ours: object) -> str:
    return f"{what}: {theirs} from Triton, {ours} from launchgen"
