"""The interpreters of this machine beside the one that runs the tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

MINORS: Final = range(10, 16)
_ASK: Final = """
import json, sys, sysconfig
variables = sysconfig.get_config_vars()
print(json.dumps([
    list(sys.version_info[:2]),
    bool(variables.get("Py_GIL_DISABLED")),
    sysconfig.get_path("include"),
    variables["EXT_SUFFIX"],
]))
"""


@dataclass(frozen=True)
class Interpreter:
    executable: str
    version: tuple[int, int]
    is_free_threaded: bool
    include: str
    suffix: str

    def __str__(self) -> str:
        major, minor = self.version
        return f"python{major}.{minor}{'t' * self.is_free_threaded}"


@cache
def at_hand() -> tuple[Interpreter, ...]:
    """Return one of each version that has its headers, free-threaded builds after the others.

    They are looked for where pyenv keeps them, under ``/opt`` and on the search path; of its own
    version the one that runs the tests is taken.
    """
    found = {str(each): each for path in _executables() if (each := _ask(path)) is not None}
    return tuple(sorted(found.values(), key=lambda each: (each.is_free_threaded, each.version)))


def _executables() -> Iterator[str]:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for minor in MINORS:
        for name in (f"python3.{minor}", f"python3.{minor}t"):
            for root, pattern in ((pyenv, "versions/*/bin"), (Path("/opt"), "*/bin")):
                yield from (str(path / name) for path in sorted(root.glob(pattern)))
            on_path = shutil.which(name)
            if on_path is not None:
                yield on_path
    yield sys.executable


def _ask(executable: str) -> Interpreter | None:
    if not Path(executable).exists():
        return None
    done = subprocess.run([executable, "-c", _ASK], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    (major, minor), is_free_threaded, include, suffix = json.loads(done.stdout)
    if not Path(include, "Python.h").exists():
        return None
    return Interpreter(executable, (major, minor), is_free_threaded, include, suffix)
