"""Many threads, interpreters too, launch while calls fail: the log has what was launched, no more.

``storm.c`` and ``storm.py`` launch with arguments that no other launch has, and say which failed.
"""

from __future__ import annotations

import re
import shutil
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from launchgen.testing import RecordingDriver
from launchgen.testing._sanitizers import Sanitizer
from tests.interpreters import Interpreter, at_hand
from tests.programs import FLAGS, TESTS, cc, emit_zoo, new_folder, run

THREADS = 8
REFUSE_EACH = 16
Record = Callable[[str, object], None]
LAUNCH = re.compile(
    r'"call":"cuLaunchKernelEx","result":(\d+),"forced":(true|false),'
    r'(?:.*?"launch":.*?"parameters":(.*))?'
)
VALUE = re.compile(r'"value":"([0-9a-f]*)"')
MIB = 1 << 20
PYTHONS = at_hand()
STORM = TESTS / "storm"


@dataclass(frozen=True)
class Storm:
    """Which launch failed, by round, thread and number, with what; and how many were refused."""

    rounds: int
    launches: int
    failed: dict[tuple[int, ...], int]
    refused: int
    block: int
    """Where the memory begins that pointers are of."""

    @classmethod
    def said(cls, output: str, rounds: int, launches: int) -> Storm:
        """Read what a storm printed."""
        failed: dict[tuple[int, ...], int] = {}
        refused = block = 0
        for line in output.splitlines():
            what, *numbers = line.split()
            if what == "failed":
                *which, status = map(int, numbers)
                assert failed.setdefault(tuple(which), status) == status
            elif what == "refused":
                refused += int(numbers[0])
            elif what == "block":
                block = int(numbers[0])
        return cls(rounds, launches, failed, refused, block)

    def check(self, log: Path) -> int:
        """Check that the log has each launch that did not fail, once, and return how many."""
        launched: Counter[tuple[int, ...]] = Counter()
        forced = 0
        for result, is_forced, parameters in _launches(log):
            forced += is_forced
            if result == 0:
                launched[_which(parameters, self.block)] += 1
        expected = {
            (round_, thread, number)
            for round_ in range(self.rounds)
            for thread in range(THREADS)
            for number in range(self.launches)
        } - set(self.failed)
        assert set(launched) == expected
        assert set(launched.values()) == {1}
        assert forced == sum(status == FAILED for status in self.failed.values())
        each = sum(
            number % REFUSE_EACH == thread
            for thread in range(THREADS)
            for number in range(self.launches)
        )
        assert self.refused == each * self.rounds
        return len(expected)


FAILED = 719
LOAD_FAILED = 2
QUESTION_FAILED = 718


def _launches(log: Path) -> Iterator[tuple[int, bool, str]]:
    with log.open(encoding="ascii") as lines:
        for line in lines:
            found = LAUNCH.search(line)
            if found is not None:
                yield int(found[1]), found[2] == "true", found[3] or ""


def _which(parameters: str, block: int) -> tuple[int, int, int]:
    x, y, out, n, alpha, *_ = (bytes.fromhex(each) for each in VALUE.findall(parameters))
    base = int.from_bytes(x, "little")
    assert int.from_bytes(y, "little") == base + 16
    assert int.from_bytes(out, "little") == base + 32
    round_, thread = divmod((base - block) // MIB - 1, THREADS)
    assert struct.unpack("<i", n) == (thread,)
    (number,) = struct.unpack("<f", alpha)
    return round_, thread, int(number)


def failing_driver(sanitize: Sanitizer | None = None) -> RecordingDriver:
    """Return one whose loads are slow, and of whose calls some fail now and then."""
    driver = RecordingDriver(sanitize=sanitize)
    driver.slow("cuLibraryLoadData", 10)
    driver.fail("cuInit", 100, times=2)
    driver.fail("cuLibraryLoadData", LOAD_FAILED, times=1)
    driver.fail("cuLibraryLoadData", LOAD_FAILED, nth=2, times=1)
    driver.fail("cuLibraryGetKernel", 500, times=1)
    for nth in (20, 2_000):
        driver.fail("cuPointerGetAttribute", QUESTION_FAILED, nth=nth, times=nth // 10)
    for nth in (1, 50, 500, 5_000, 50_000, 500_000):
        driver.fail("cuLaunchKernelEx", FAILED, nth=nth, times=nth // 10 + 1)
    return driver


@cache
def program(*flags: str) -> Path:
    folder = emit_zoo("add").folder
    shutil.copy(STORM / "storm.c", folder)
    words = ("-std=c11", "-O1", "-g", *flags, "-pthread", "-I.")
    cc(folder, *words, "storm.c", "add.c", "-o", "storm", "-ldl")
    return folder / "storm"


@cache
def module(interpreter: Interpreter, *flags: str) -> Path:
    folder = emit_zoo("add", artifacts=("cpython",)).folder
    product = f"add{interpreter.suffix}"
    include = ("-isystem", interpreter.include)
    cc(folder, *FLAGS, *flags, "-shared", *include, "add_py.c", "-o", product)
    return folder


def storm(
    words: Sequence[str | Path],
    rounds: int,
    launches: int,
    *,
    sanitize: Sanitizer | None = None,
    timeout: float = 120,
) -> tuple[Storm, str, Path]:
    """Run a storm; return what it said and where its log is."""
    log = new_folder() / "log"
    environment = failing_driver(sanitize).environment(log=log)
    if sanitize is not None:
        environment["TSAN_OPTIONS"] = "halt_on_error=1 exitcode=66"
        environment["LD_PRELOAD"] = run(["gcc", "-print-file-name=libtsan.so"]).stdout.strip()
    done = run([*words, str(rounds), str(launches)], env=environment, timeout=timeout)
    assert (done.returncode, done.stderr) == (0, "")
    return Storm.said(done.stdout, rounds, launches), done.stdout, log


def test_c_threads_launch_what_the_log_has(record_property: Record) -> None:
    found, _, log = storm([program()], 3, 500)
    assert {FAILED, LOAD_FAILED, 100, 500} <= set(found.failed.values())
    record_property("launches in storms", found.check(log))


@pytest.mark.parametrize("interpreter", PYTHONS, ids=str)
def test_pyapi6_python_threads_launch_what_the_log_has(
    interpreter: Interpreter, record_property: Record
) -> None:
    words: list[str | Path] = [interpreter.executable, "-W", "error", STORM / "storm.py", "threads"]
    found, output, log = storm([*words, module(interpreter)], 3, 500)
    assert {FAILED, LOAD_FAILED, 100, 500} <= set(found.failed.values())
    found.check(log)
    # A free-threaded interpreter stays so: the module declares that it needs no lock.
    assert output.splitlines()[-1] == f"lock {int(not interpreter.is_free_threaded)}"


@pytest.mark.parametrize("interpreter", PYTHONS, ids=str)
def test_python_threads_that_ask_the_driver_about_tensors_launch_what_the_log_has(
    interpreter: Interpreter,
) -> None:
    words: list[str | Path] = [interpreter.executable, "-W", "error", STORM / "storm.py", "tensors"]
    found, _, log = storm([*words, module(interpreter)], 3, 500)
    assert {FAILED, LOAD_FAILED, QUESTION_FAILED, 500} <= set(found.failed.values())
    found.check(log)


@pytest.mark.parametrize(
    "interpreter", [each for each in PYTHONS if each.version >= (3, 11)], ids=str
)
def test_several_interpreters_launch_what_the_log_has(interpreter: Interpreter) -> None:
    words: list[str | Path] = [interpreter.executable, STORM / "storm.py", "interpreters"]
    found, _, log = storm([*words, module(interpreter)], 2, 300)
    found.check(log)


# ---- the whole promise ---------------------------------------------------------------------------

ROUNDS = 10
LAUNCHES = 10_000
FIXED = ("setarch", "-R")
"""The sanitizer of gcc 12 cannot live with as much randomness as newer kernels have."""


@pytest.mark.slow
def test_c_threads_of_a_hundred_thousand_launches_each_are_silent_and_all_accounted_for(
    record_property: Record,
) -> None:
    words: list[str | Path] = [*FIXED, program("-fsanitize=thread")]
    found, _, log = storm(words, ROUNDS, LAUNCHES, sanitize="thread", timeout=1200)
    record_property("launches in storms", found.check(log))
    log.unlink()


@pytest.mark.slow
def test_python_threads_of_a_hundred_thousand_launches_each_are_silent_and_all_accounted_for(
    record_property: Record,
) -> None:
    this = next(each for each in PYTHONS if each.executable == sys.executable)
    words: list[str | Path] = [*FIXED, this.executable, STORM / "storm.py", "threads"]
    words.append(module(this, "-fsanitize=thread"))
    found, _, log = storm(words, ROUNDS, LAUNCHES, sanitize="thread", timeout=1200)
    record_property("launches in storms", found.check(log))
    log.unlink()
