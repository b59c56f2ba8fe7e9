"""Gives a target an input without atheris, and says what is wrong with what came of it."""

from __future__ import annotations

import signal
from types import FrameType

from fuzzing.targets import Target


class _TooSlowError(BaseException):
    """The time of an input is over; no ``except Exception`` may stop it."""


def attempt(target: Target, data: bytes, *, seconds: float) -> str | None:
    """Return what is wrong, None where nothing is; for the main thread alone, which has signals."""
    before = signal.signal(signal.SIGALRM, _on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        target.run(data)
    except _TooSlowError:
        return f"more than {seconds:g} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return None


def _on_alarm(_number: int, _frame: FrameType | None) -> None:
    raise _TooSlowError
