"""Fixtures that several files of tests share."""

from __future__ import annotations

import pytest

from launchgen.testing import RecordingDriver
from tests.launchers import Host, remove_session_folder


@pytest.fixture
def host(recording_driver: RecordingDriver) -> Host:
    """Return a program with launchers over the recording driver: one device of sm_90."""
    return Host(recording_driver)


def pytest_sessionfinish() -> None:
    # Not at the interpreter's exit, which workers of pytest-xdist do not reach in good order.
    remove_session_folder()
