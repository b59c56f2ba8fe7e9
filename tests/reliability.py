"""What a whole run of the tests showed, as ``docs/reliability.md`` says it.

A test says how much it tried with pytest's ``record_property(key, number)``, where ``key`` is one
of ``ROWS``.  ``--reliability check`` compares the page with the run, as ``make test`` does;
``--reliability write`` writes it anew.  To count something else, add a row.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from tests.public_cases import CASES, cases_of
from tests.sanitizers import NAMES, SUITES

ROOT: Final = Path(__file__).parent.parent
DOCUMENT: Final = ROOT / "docs" / "reliability.md"
SANITIZED: Final = ROOT / "build"
"""Where runs under a sanitizer leave ``sanitized-NAME.json``."""

SANITIZED_ROW: Final = "tests passed under the {} sanitizer, none with a report"

ROWS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "faults": "faults injected: a call of the driver, an entry point, a context, an allocation",
        "bad inputs": "bad inputs tried and refused: values, grids, signatures, files, limits",
        "hostile texts": "hostile texts as names, files, options and metadata: none left its place",
        "fuzzed": "fuzzed inputs read: the corpus that mattered, and mutations of it",
        "launches in storms": "launches of threads at once, each found in the log, none besides",
        "analyses": "analyses of an emitted file by gcc, clang or cppcheck: nothing found",
    }
)
OF_THIS_MACHINE: Final = frozenset({"analyses"})
"""Rows that may show less where a machine lacks a tool."""
MARGIN: Final = 0.97
"""What a run shows differs a little from the next one's: values are drawn."""
SLACK: Final = 1.25
"""How much more than the page says a run may show before that is out of date."""

HEAD: Final = """\
# What the tests show

Written by `make reliability` from a whole run of the tests: a number is what a run shows at least.
Figures of a GPU and of long campaigns are in
[measured.md](measured.md); what is trusted and what is checked, in [SECURITY.md](../SECURITY.md).

| what | number |
|---|---|
"""
TAIL: Final = """
A wrong launch is one whose bytes, grid or attributes are not exactly what the caller said, or any
launch after a refusal or a failure.  Each test compares what reached the recording driver, so that
one wrong launch is a failed test, and a run with a failed test writes no such page.

## Cases from public reports

Each has its test, named by its id, for both launchers where both apply.

| case | what a user gets |
|---|---|
"""


@dataclass(frozen=True)
class Found:
    """What a run showed."""

    counts: Mapping[str, int]
    cases: frozenset[str]
    suites: int
    """How many tests of those that sanitizers run passed, without one."""
    sanitized: Mapping[str, int]
    """How many tests passed under each sanitizer, of those that ran before."""


def floor(number: float) -> int:
    """Return a number that other runs show at least: two digits and zeros."""
    whole = int(number * MARGIN)
    unit = int("1" + "0" * max(0, len(str(whole)) - 2))
    return whole // unit * unit


def document(numbers: Mapping[str, int], sanitized: Mapping[str, int]) -> str:
    """Return the page that says these numbers."""
    rows = [
        f"| cases from public reports, all tests of each passed | {len(CASES)} of {len(CASES)} |"
    ]
    rows += [f"| {text} | {numbers[key]:,} |" for key, text in ROWS.items()]
    rows += [
        f"| {SANITIZED_ROW.format(name)} | {number:,} |"
        for name, number in sorted(sanitized.items())
    ]
    rows.append("| wrong launches | 0 |")
    cases = [f"| {case} | {text} |" for case, text in CASES.items()]
    return HEAD + "\n".join(rows) + "\n" + TAIL + "\n".join(cases) + "\n"


def said(text: str) -> tuple[dict[str, int], dict[str, int]]:
    """Return the numbers that a page says, as ``document`` takes them."""
    numbers = dict.fromkeys(ROWS, 0)
    sanitized: dict[str, int] = {}
    keys = {row: key for key, row in ROWS.items()}
    for line in text.splitlines():
        row, _, number = line.strip("| ").rpartition(" | ")
        plain = number.replace(",", "")
        under = re.fullmatch(SANITIZED_ROW.format("(.+)"), row)
        if not plain.isdecimal():
            continue
        if row in keys:
            numbers[keys[row]] = int(plain)
        elif under is not None:
            sanitized[under[1]] = int(plain)
    return numbers, sanitized


def problems(text: str, found: Found) -> Iterator[str]:
    """Yield what a page says otherwise than a run."""
    numbers, sanitized = said(text)
    if document(numbers, sanitized) != text:
        yield "its words are not those that would be written now"
    if found.cases != CASES.keys():
        yield f"cases without a test that passed: {', '.join(sorted(CASES.keys() - found.cases))}"
    for key, least in numbers.items():
        yield from _compare(ROWS[key], least, found.counts.get(key, 0), key in OF_THIS_MACHINE)
    for name in NAMES:
        number = found.sanitized.get(name, found.suites)
        yield from _compare(SANITIZED_ROW.format(name), sanitized.get(name, 0), number, False)


def _compare(row: str, least: int, shown: int, may_be_less: bool) -> Iterator[str]:
    if shown > least * SLACK or (shown < least and not may_be_less):
        yield f"{row}: it says {least:,}, this run shows {shown:,}"


class Reliability:
    """The plugin: sums what tests say as their reports come in."""

    def __init__(self, mode: str) -> None:
        self._mode: Final = mode
        self._counts: Final[Counter[str]] = Counter()
        self._passed: Final[set[str]] = set()
        self._not_passed: Final[set[str]] = set()
        self._suites = 0
        self._problems: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that passed; a case counts if every test of it did, or was skipped."""
        path, _, name = report.nodeid.partition("::")
        cases = set(cases_of(name))
        if report.failed:
            self._not_passed.update(cases)
        elif report.when == "call" and report.passed:
            self._passed.update(cases)
            self._suites += any(Path(path).match(each) for each in SUITES)
        if report.when == "teardown":
            for key, value in report.user_properties:
                if key in ROWS:
                    assert isinstance(value, int)
                    self._counts[key] += value

    @property
    def found(self) -> Found:
        """What was seen until now."""
        sanitized = {}
        for path in sorted(SANITIZED.glob("sanitized-*.json")):
            run = json.loads(path.read_text(encoding="ascii"))
            sanitized[run["sanitizer"]] = run["passed"]
        passed = frozenset(self._passed - self._not_passed)
        return Found(self._counts, passed, self._suites, sanitized)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write or compare the page after a run in which everything passed."""
        if exitstatus != pytest.ExitCode.OK:
            return
        found = self.found
        if self._mode == "write":
            numbers = {key: floor(found.counts[key]) for key in ROWS}
            sanitized = {name: floor(number) for name, number in found.sanitized.items()}
            DOCUMENT.write_text(document(numbers, sanitized), encoding="utf-8")
            return
        self._problems = list(problems(DOCUMENT.read_text(encoding="utf-8"), found))
        if self._problems:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what is out of date."""
        if self._problems:
            terminalreporter.section("docs/reliability.md is out of date: make reliability")
            for problem in self._problems:
                terminalreporter.line(problem)
