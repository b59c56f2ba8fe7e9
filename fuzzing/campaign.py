"""Runs atheris on a target for a while, in a child process that is started again where it ends."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fuzzing.seeds import ROOT, kept
from fuzzing.targets import Target

FOUND = ROOT / "build" / "fuzzing"
"""Where a target's folder lies, with ``corpus/`` and ``faults/``."""
SLOWEST = 5
"""Seconds that an input may take, instrumented."""
MOST_MEMORY = 2048
"""MiB of the child."""
LEAST = 5
"""Seconds for which a child is not started again."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one campaign."""

    target: str
    seconds: float
    inputs: int
    corpus: int
    """Inputs that reached what none had before, beside the seeds."""
    faults: tuple[Path, ...]
    """Inputs of which no two show the same, and those that took too long or too much memory."""

    def __str__(self) -> str:
        return (
            f"{self.target:10} {self.seconds:5.0f} s {self.inputs:9,} inputs {self.corpus:6,} new"
            f" {len(self.faults):4} faults"
        )


def is_possible() -> bool:
    """Return whether atheris is installed."""
    return importlib.util.find_spec("atheris") is not None


def run(target: Target, *, seconds: int) -> Outcome:
    """Fuzz a target for so many seconds, from its seeds and what was found before."""
    folder = FOUND / target.name
    corpus, seeds, faults = (folder / name for name in ("corpus", "seeds", "faults"))
    for each in (seeds, faults):
        shutil.rmtree(each, ignore_errors=True)
    for each in (corpus, seeds, faults):
        each.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate((*target.seeds(), *kept(target.name).values())):
        (seeds / str(number)).write_bytes(data)
    words = folder / "words"
    words.write_text("".join(map(_quoted, target.words)), "ascii")
    before = len(list(corpus.iterdir()))
    arguments = [
        *(target.name, str(faults), str(corpus), str(seeds)),
        *(f"-artifact_prefix={faults}/", f"-dict={words}"),
        *(f"-timeout={SLOWEST}", f"-rss_limit_mb={MOST_MEMORY}", "-print_final_stats=1"),
        # Slow beside that is only what a machine stood still in, or a clock was set in.
        f"-report_slow_units={2**20}",
    ]
    begin = time.monotonic()
    inputs = sum(_children(arguments, end=begin + seconds, log=folder / "log"))
    return Outcome(
        target=target.name,
        seconds=time.monotonic() - begin,
        inputs=inputs,
        corpus=len(list(corpus.iterdir())) - before,
        faults=tuple(sorted(path for path in faults.iterdir() if path.suffix != ".txt")),
    )


def _children(arguments: list[str], *, end: float, log: Path) -> Iterator[int]:
    """Yield how many inputs each child tried, until the time is over."""
    with log.open("wb") as file:
        while (left := int(end - time.monotonic())) >= LEAST:
            begin = file.tell()
            child = [sys.executable, "-m", "fuzzing.child", *arguments]
            subprocess.run(
                [*child, f"-max_total_time={left}"], stdout=file, stderr=file, cwd=ROOT, check=False
            )
            file.seek(0, os.SEEK_END)
            tried = _tried(log.read_bytes()[begin:].decode(errors="replace"))
            if not tried:
                sys.exit(f"the child process does not run: {log} says why")
            yield tried


def _tried(log: str) -> int:
    """Return how many inputs a child says that it tried, or was at when it was ended."""
    numbers = re.findall(r"(?:^#|number_of_executed_units: )([0-9]+)", log, re.MULTILINE)
    return max(map(int, numbers), default=0)


def _quoted(word: str) -> str:
    """Return a line of libFuzzer's dictionary."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in word.encode("latin-1")) + '"\n'
