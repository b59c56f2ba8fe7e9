"""Static analysers find nothing in what is committed under ``snapshots/``, as it lies there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.golden import SNAPSHOTS

PYTHON = ("-isystem", sysconfig.get_path("include"))
SOURCES = tuple({path.read_bytes(): path for path in sorted(SNAPSHOTS.rglob("*.c"))}.values())
"""Every one, those of the same content once."""

# Where pip puts programs: CI has no other cppcheck.
PATH = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))

CPPCHECK = (
    *("--std=c11", "--platform=unix64", "--library=posix,gnu,python", "--quiet"),
    *("--enable=warning,portability,performance", "--error-exitcode=1"),
    # It reads no headers of the system, and has no compiler's macros.
    *("-D__linux__=1", "-D__x86_64__=1", "-D__GNUC__=12", f"-DPY_VERSION_HEX={sys.hexversion}"),
)


@dataclass(frozen=True)
class Analyser:
    """A program that says what is wrong with a source, and how it is asked."""

    name: str
    program: str
    words: tuple[str, ...]
    takes: Callable[[Path], bool] = lambda _: True

    def __str__(self) -> str:
        return self.name

    def analyse(self, source: Path) -> str:
        """Return what is found in ``source``."""
        done = subprocess.run(
            [self.program, *self.words, source.name],
            cwd=source.parent,
            env={**os.environ, "PATH": PATH},
            capture_output=True,
            text=True,
            check=False,
        )
        found = (done.stdout + done.stderr).strip()
        return found or ("" if done.returncode == 0 else f"status {done.returncode}")


def _is_small(source: Path) -> bool:
    return source.parent.name in {"add_handle", "cuda_utils", "descriptors", "structs", "triton"}


GCC = ("-std=c11", *PYTHON, "-O2", "-fanalyzer", "-c", "-o", os.devnull)
ANALYSERS = (
    # Without summaries every path through what is called is followed from each call, which takes a
    # minute where an image is loaded.
    Analyser("gcc", "gcc", (*GCC, "-fanalyzer-call-summaries")),
    Analyser("gcc, every path", "gcc", GCC, takes=_is_small),
    Analyser("clang", "clang", ("-std=c11", *PYTHON, "--analyze", "--analyzer-output", "text")),
    Analyser("cppcheck", "cppcheck", (*CPPCHECK, "--check-level=normal")),
    Analyser("cppcheck, every branch", "cppcheck", (*CPPCHECK, "--check-level=exhaustive")),
)


def _pairs() -> Iterator[object]:
    for analyser in ANALYSERS:
        marks = [pytest.mark.slow]
        if shutil.which(analyser.program, path=PATH) is None:
            marks.append(pytest.mark.skip(reason=f"{analyser.program} is not installed"))
        for source in filter(analyser.takes, SOURCES):
            label = f"{analyser}-{source.parent.name}-{source.stem}"
            yield pytest.param(analyser, source, marks=marks, id=label)


@pytest.mark.parametrize(("analyser", "source"), tuple(_pairs()))
def test_an_analyser_finds_nothing_in_a_committed_source(
    analyser: Analyser, source: Path, record_property: Callable[[str, object], None]
) -> None:
    assert analyser.analyse(source) == ""
    record_property("analyses", 1)


FAULT = """
#include <stdlib.h>
int fault(void);
int fault(void)
{
    int *number = malloc(sizeof *number);
    if (number == NULL)
        return 0;
    *number = 1;
    free(number);
    return *number;
}
"""


@pytest.mark.parametrize("analyser", ANALYSERS, ids=str)
def test_an_analyser_finds_what_is_used_after_it_was_freed(
    tmp_path: Path, analyser: Analyser
) -> None:
    if shutil.which(analyser.program, path=PATH) is None:
        pytest.skip(f"{analyser.program} is not installed")
    source = tmp_path / "fault.c"
    source.write_text(FAULT)
    assert "free" in analyser.analyse(source)
