"""The module ``cuda_utils`` for tests: emitted, built as launchgen builds it, imported anew."""

from __future__ import annotations

import functools
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from launchgen.cli import main
from launchgen.testing import Call, RecordingDriver
from tests.programs import import_module, new_folder, run

BASE: Final = 0x7F00_0000_1000
SYMBOLS_OF_TEXTS: Final = ("cuGetErrorName", "cuGetErrorString")


@functools.cache
def built() -> Path:
    """Return the compiled module."""
    folder = new_folder()
    assert main(["emit", "--artifact", "cuda-utils", "--out", str(folder)]) == 0
    assert main(["build", str(folder)]) == 0
    (module,) = folder.glob("*.so")
    return module


@functools.cache
def _of_driver(folder: Path) -> ModuleType:
    return import_module(built())


def utils_of(driver: RecordingDriver) -> Any:
    """Return the module for this driver's library, which it keeps."""
    return _of_driver(driver.path)


def calls(driver: RecordingDriver) -> list[Call]:
    """Return what was called beyond what finds the driver and what words errors."""
    ignored = ("cuInit", "cuDeviceGetCount", *SYMBOLS_OF_TEXTS)
    return [call for call in driver.calls if call.name not in ignored]


def named(driver: RecordingDriver) -> list[str]:
    return [call.name for call in calls(driver)]


def apart(code: str, driver: RecordingDriver) -> Any:
    """Return ``result`` of Python that runs in a process of its own, with the module."""
    head = f"import json, sys; sys.path.insert(0, {str(built().parent)!r}); import cuda_utils\n"
    environment = driver.environment()
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    tail = "\nprint(json.dumps(result))"
    done = run([sys.executable, "-c", f"{head}{code}{tail}"], env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
