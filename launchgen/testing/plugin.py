"""The pytest fixture; pytest finds it through the entry point ``pytest11``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from launchgen.testing.recording import RecordingDriver


@pytest.fixture(scope="session")
def _process_driver() -> RecordingDriver:
    """Return the driver that the tests of this process share."""
    # Only tests that use the fixture pay for the import.
    from launchgen.testing.recording import RecordingDriver  # noqa: PLC0415

    return RecordingDriver()


@pytest.fixture
def recording_driver(_process_driver: RecordingDriver) -> Iterator[RecordingDriver]:
    """Give a test the recording driver as this process's CUDA driver, with nothing recorded yet.

    One device of sm_90 and no current context.  Launchers that are loaded stay so from test to
    test, unless a test loads a driver of its own.
    """
    if not _process_driver.is_loaded:
        _process_driver.load()
    _process_driver.reset()
    yield _process_driver
    _process_driver.reset()
