"""Fixtures that several files of tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from launchgen.testing import RecordingDriver
from tests.launchers import Host, remove_session_folder
from tests.reliability import Reliability
from tests.sanitizers import NAMES, Sanitized


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--reliability",
        choices=("check", "write"),
        help="compare docs/reliability.md with this run of all tests, or write it",
    )
    group = parser.getgroup("sanitizers", "as python -m tests.sanitizers starts it")
    group.addoption("--sanitize", choices=NAMES, help="the sanitizer of this process")
    group.addoption("--sanitize-into", type=Path, default=Path(), help="where its reports are")


def pytest_configure(config: pytest.Config) -> None:
    mode = config.getoption("--reliability")
    # Workers of pytest-xdist report to the process that started them.
    if mode is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Reliability(mode))
    name = config.getoption("--sanitize")
    if name is not None:
        config.pluginmanager.register(Sanitized(name, config))


@pytest.fixture
def host(
    recording_driver: RecordingDriver, record_property: Callable[[str, object], None]
) -> Iterator[Host]:
    """Yield a program with launchers over the recording driver: one device of sm_90."""
    host = Host(recording_driver)
    yield host
    record_property("bad inputs", host.refused)


def pytest_sessionfinish() -> None:
    # Not at the interpreter's exit, which workers of pytest-xdist do not reach in good order.
    remove_session_folder()
