"""The sanitizer under which this process was started.

A library that is compiled with a sanitizer calls functions that only a program brings: one that is
compiled with it too, or any that has the runtime of it preloaded, as a Python has here::

    LD_PRELOAD=$(gcc -print-file-name=libasan.so) python -m pytest
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

Sanitizer = Literal["thread", "address"]

_RUNTIMES: Final[Mapping[Sanitizer, str]] = {
    "address": r"\S+/lib(?:clang_rt\.)?asan\b.*",
    "thread": r"\S+/lib(?:clang_rt\.)?tsan\b.*",
}
_PRELOAD: Final = "LD_PRELOAD"


@dataclass(frozen=True, slots=True)
class Runtime:
    """A library that brings what code compiled with a sanitizer calls."""

    sanitizer: Sanitizer
    library: str

    def preload(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the variable with which a program started in ``environment`` has it too."""
        before = environment.get(_PRELOAD)
        return {_PRELOAD: f"{self.library}:{before}" if before else self.library}


@cache
def runtime_of_process() -> Runtime | None:
    """Return the runtime that this process was started with, or None."""
    mapped = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    for sanitizer, pattern in _RUNTIMES.items():
        found = re.search(pattern, mapped)
        if found is not None:
            return Runtime(sanitizer, found[0])
    return None
