"""How a process that is told to end does so without leaving temporary files."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

BY_SIGNAL: Final = 128
"""Shells add a signal's number to it for the exit code of a process that the signal ended."""


@contextlib.contextmanager
def ending_on_signals() -> Iterator[None]:
    """Turn signals that end a process into exceptions, so that temporary files are removed."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(BY_SIGNAL + number)

    old = {
        number: signal.signal(number, end)
        for number in (signal.SIGTERM, signal.SIGHUP)
        # Only the main thread may, and nohup's wish is not overruled.
        if threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) is signal.SIG_DFL
    }
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
