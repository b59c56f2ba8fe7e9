"""A lock that a forked child does not find held by a thread of its parent's."""

from __future__ import annotations

import os
import threading
from types import TracebackType


class ForkableLock:
    """``threading.Lock`` as a context manager, new in every forked child."""

    def __init__(self) -> None:
        """Make it free, and have it made anew in children."""
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()
