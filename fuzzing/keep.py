"""Chooses from what a campaign found the few inputs that tests replay.

Kept is what reaches steps from line to line that neither a seed nor a named input reaches, few and
short.  Inputs that showed a fault are named by hand, and stay.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import launchgen
from fuzzing.campaign import FOUND
from fuzzing.seeds import TESTS, kept
from fuzzing.targets import Target

MOST = 60
LONGEST = 4096
"""Bytes."""

Step = tuple[str, int, int]
"""A file, and the lines before and after; before the first of a call there is 0."""

_CHOSEN = re.compile(r"[0-9a-f]{16}")
_PACKAGE = str(Path(launchgen.__file__).parent)


def keep(target: Target) -> int:
    """Put what was found in place of what was chosen before; return how many inputs it is."""
    folder = TESTS / "fuzzed" / target.name
    folder.mkdir(parents=True, exist_ok=True)
    before = kept(target.name)
    named = [data for name, data in before.items() if not _CHOSEN.fullmatch(name)]
    reached: set[Step] = set()
    for data in (*target.seeds(), *named):
        reached |= steps(target, data)
    corpus = [path.read_bytes() for path in (FOUND / target.name / "corpus").iterdir()]
    candidates = {*before.values(), *corpus}.difference(named)
    chosen = list(_choose(target, candidates, reached))
    for name in filter(_CHOSEN.fullmatch, before):
        (folder / name).unlink()
    for data in chosen:
        (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    return len(chosen)


def _choose(target: Target, candidates: set[bytes], reached: set[Step]) -> Iterator[bytes]:
    """Yield the input that adds most, then what adds most to that, the shortest first."""
    short = sorted(
        (data for data in candidates if len(data) <= LONGEST), key=lambda it: (len(it), it)
    )
    left = {data: steps(target, data) - reached for data in short}
    for _ in range(MOST):
        best = max(left, key=lambda data: len(left[data]), default=b"")
        added = left.get(best)
        if not added:
            return
        yield best
        left = {data: rest for data, found in left.items() if (rest := found - added)}


def steps(target: Target, data: bytes) -> frozenset[Step]:
    """Return each step from line to line of launchgen's code that an input takes."""
    found: set[Step] = set()
    last: dict[FrameType, int] = {}

    def trace(frame: FrameType, event: str, _: Any) -> Any:  # noqa: ANN401 - as Python's is
        path = frame.f_code.co_filename
        if not path.startswith(_PACKAGE):
            return None
        if event == "line":
            found.add((path, last.get(frame, 0), frame.f_lineno))
            last[frame] = frame.f_lineno
        elif event == "return":
            last.pop(frame, None)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        target.run(data)
    except Exception as error:
        raise AssertionError(f"{target.name}: mend the fault first: {error}") from error
    finally:
        sys.settrace(before)
    return frozenset(found)
