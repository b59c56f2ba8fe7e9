"""What a run under a sanitizer would report: that the runs can fail."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from launchgen.testing import RecordingDriver
from launchgen.testing._sanitizers import Runtime, Sanitizer
from tests import sanitizers
from tests.programs import FLAGS, STRICT, TESTS, cc, new_folder, run

FAULTS: dict[str, tuple[Sanitizer, str]] = {
    "heap_overflow": ("address", "heap-buffer-overflow"),
    "signed_overflow": ("address", "signed integer overflow"),
    "large_conversion": ("address", "outside the range of representable values of type 'int'"),
    "freed_object": ("address", "heap-use-after-free"),
    "data_race": ("thread", "data race"),
}

_CALL = """
import ctypes, sys, threading
library = ctypes.CDLL(sys.argv[1]) if sys.argv[2] == "data_race" else ctypes.PyDLL(sys.argv[1])
threads = [threading.Thread(target=getattr(library, sys.argv[2]), args=(1,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("fine")
"""


def runtime(name: Sanitizer) -> Runtime:
    found = sanitizers.runtime_of(name)
    if found is None:
        pytest.skip(f"gcc has no runtime of the {name} sanitizer")
    return found


@functools.cache
def faulty(name: Sanitizer) -> Path:
    folder = new_folder()
    include = ("-isystem", sysconfig.get_path("include"))
    flags = (*FLAGS, *STRICT, *sanitizers.flags_of(name), "-fvisibility=default", "-shared")
    cc(folder, *flags, *include, TESTS / "faults.c", "-o", "faults.so")
    return folder / "faults.so"


def start(
    name: Sanitizer, *words: str | Path, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python under a sanitizer, which reports to its standard error or into a folder."""
    python = [*sanitizers.prefix(name), sys.executable, *words]
    environment = {**os.environ, **sanitizers.variables(runtime(name), folder=folder)}
    return run(python, env=environment, cwd=TESTS.parent)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_library_inside_python_is_reported(fault: str) -> None:
    name, words = FAULTS[fault]
    done = start(name, "-c", _CALL, faulty(name), fault)
    assert done.returncode != 0
    assert words in done.stderr
    assert fault in done.stderr
    assert "faults.c" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("name", sanitizers.NAMES)
def test_a_library_without_a_fault_is_not_reported(name: Sanitizer) -> None:
    done = start(name, "-c", _CALL, faulty(name), "fine")
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


_LOAD = """
import json, os, sys
from launchgen.testing import RecordingDriver
preloaded = os.path.realpath(os.environ.pop("LD_PRELOAD"))
plain = RecordingDriver()
same = RecordingDriver(sanitize=sys.argv[1])
plain.load()
other = RecordingDriver(sanitize={"address": "thread", "thread": "address"}[sys.argv[1]])
try:
    other.load()
except RuntimeError as error:
    refused = str(error)
preloads = [each.environment().get("LD_PRELOAD") for each in (plain, other)] == [preloaded, None]
print(json.dumps([plain.path == same.path, plain.is_loaded, refused, preloads]))
"""


@pytest.mark.parametrize("name", sanitizers.NAMES)
def test_a_process_under_a_sanitizer_has_a_driver_with_it(name: Sanitizer) -> None:
    done = start(name, "-c", _LOAD, name)
    assert done.returncode == 0, done.stderr
    is_same, is_loaded, refused, are_preloaded = json.loads(done.stdout)
    assert is_same
    assert is_loaded
    assert "is for programs compiled with it" in refused
    assert are_preloaded


_SUITE = """
import ctypes

def test_nothing():
    pass

def test_fault():
    ctypes.PyDLL({library!r}).heap_overflow(1)
"""


def test_a_run_counts_what_passed_and_shows_what_was_reported(tmp_path: Path) -> None:
    reports, suite = tmp_path / "reports", tmp_path / "test_suite.py"
    reports.mkdir()
    suite.write_text(_SUITE.format(library=str(faulty("address"))))
    options = ("--sanitize", "address", "--sanitize-into", reports, "-p", "tests.conftest")
    workers = ("-n", "1", "--max-worker-restart", "0", "-p", "no:cacheprovider")
    done = start("address", "-m", "pytest", *options, *workers, suite, folder=reports)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    counts = {"sanitizer": "address", "passed": 1, "failed": 1, "reports": 1}
    assert json.loads(reports.with_suffix(".json").read_text()) == counts
    assert "heap-buffer-overflow" in done.stdout


def test_a_run_outside_a_sanitizer_is_refused() -> None:
    words = ("-m", "pytest", "--sanitize", "address", "-p", "no:xdist", "tests/test_threads.py")
    done = run([sys.executable, *words], cwd=TESTS.parent)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "this Python was not started under it; run python -m tests.sanitizers" in done.stderr


def test_every_test_that_is_left_out_exists() -> None:
    for each in sanitizers.LEFT_OUT:
        file, _, name = each.partition("::")
        assert f"\ndef {name}(" in (TESTS / file).read_text(encoding="utf-8"), each


def test_plain_runs_have_no_sanitizer() -> None:
    assert sanitizers.FLAGS == ()
    assert sanitizers.environment({"A": "b"}) == {"A": "b"}
    assert RecordingDriver().environment().get("LD_PRELOAD") == os.environ.get("LD_PRELOAD")
