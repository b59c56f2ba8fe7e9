"""Fixtures that several files of tests share."""

from __future__ import annotations

import pytest

from launchgen.testing import RecordingDriver
from tests.launchers import Host, remove_session_folder
from tests.sanitizers import NAMES, Sanitized


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sanitize",
        choices=NAMES,
        help="check that this is a run under a sanitizer: python -m tests.sanitizers",
    )


def pytest_configure(config: pytest.Config) -> None:
    name = config.getoption("--sanitize")
    if name is not None:
        config.pluginmanager.register(Sanitized(name, config))


@pytest.fixture
def host(recording_driver: RecordingDriver) -> Host:
    """Return a program with launchers over the recording driver: one device of sm_90."""
    return Host(recording_driver)


def pytest_sessionfinish() -> None:
    # Not at the interpreter's exit, which workers of pytest-xdist do not reach in good order.
    remove_session_folder()
