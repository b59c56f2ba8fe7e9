"""Fixtures that several files of tests share."""

from __future__ import annotations

import pytest

from launchgen.testing import RecordingDriver
from tests.launchers import Host


@pytest.fixture
def host(recording_driver: RecordingDriver) -> Host:
    """Return a program with launchers over the recording driver: one device of sm_90."""
    return Host(recording_driver)
