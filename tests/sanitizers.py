"""Suites of tests under a sanitizer: ``python -m tests.sanitizers address`` or ``thread``.

That starts pytest with the sanitizer's runtime preloaded, where ``--sanitize`` says that it must
be.  Launchers of tests are compiled as this process was started, with ``FLAGS``, and so is the
recording driver; another Python that loads them starts in ``environment()``.  What is reported
ends the process at once; its text lies in ``build/sanitized-NAME``, is shown at the end, and fails
the run, of which ``build/sanitized-NAME.json`` says how many tests passed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args

import pytest

from launchgen.testing._sanitizers import Runtime, Sanitizer, runtime_of_process

ROOT: Final = Path(__file__).parent.parent
NAMES: Final[tuple[Sanitizer, ...]] = get_args(Sanitizer)
SUITES: Final = (
    "test_behaviour_*.py",
    "test_cuda_utils*.py",
    "test_faults*.py",
    "test_libcuda.py",
    "test_loading.py",
    "test_threads.py",
    "test_variants.py",
)
"""Files with tests of what compiled launchers do."""

_FLAGS: Final[Mapping[Sanitizer, tuple[str, ...]]] = {
    "address": (
        # A conversion of what is too large is undefined too, and no part of "undefined".
        "-fsanitize=address,undefined,float-cast-overflow",
        "-fno-sanitize-recover=all",
        "-fno-omit-frame-pointer",
    ),
    "thread": ("-fsanitize=thread", "-fno-omit-frame-pointer"),
}
_RUNTIMES: Final[Mapping[Sanitizer, str]] = {"address": "libasan.so", "thread": "libtsan.so"}
_COMMON: Final = "halt_on_error=1:abort_on_error=1"
_OPTIONS: Final[Mapping[Sanitizer, Mapping[str, str]]] = {
    "address": {
        # The interpreter frees little at its end, and what it frees is seen without its own heap.
        "ASAN_OPTIONS": f"{_COMMON}:detect_leaks=0:detect_stack_use_after_return=1:handle_segv=2",
        "UBSAN_OPTIONS": f"{_COMMON}:print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
    },
    "thread": {"TSAN_OPTIONS": f"{_COMMON}:handle_segv=2"},
}
_LOGGING: Final = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")

_OWN: Final = "its programs are compiled with a sanitizer of their own"
LEFT_OUT: Final[Mapping[str, str]] = {
    "test_threads.py::test_ctx5_the_thread_sanitizer_is_silent": _OWN,
    "test_threads.py::test_ctx5_the_thread_sanitizer_is_silent_where_devices_get_two_images": _OWN,
    "test_threads.py::test_the_address_and_undefined_sanitizers_are_silent": _OWN,
    "test_threads.py::test_failing_calls_leak_nothing": _OWN,
    "test_behaviour_triton.py::test_pyapi1_the_process_does_not_grow_either": (
        "the sanitizer keeps for a while what is freed"
    ),
}
"""Tests that say nothing under a sanitizer, and why."""


def flags_of(name: Sanitizer) -> tuple[str, ...]:
    """Return what gcc compiles a library with for processes under a sanitizer."""
    return _FLAGS[name]


def runtime_of(name: Sanitizer) -> Runtime | None:
    """Return gcc's runtime of a sanitizer, where it has one."""
    command = ["gcc", f"-print-file-name={_RUNTIMES[name]}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return Runtime(name, found) if Path(found).is_absolute() else None


def variables(runtime: Runtime, *, folder: Path | None = None) -> dict[str, str]:
    """Return what starts a Python under a sanitizer; reports become files in ``folder``."""
    found = dict(_OPTIONS[runtime.sanitizer])
    if folder is not None:
        log = folder / "report"
        found |= {key: f"{found[key]}:log_path={log}" for key in _LOGGING if key in found}
    # For what launchgen itself builds.
    compiler = {"CC": "gcc", "CFLAGS": " ".join(("-O1", "-g", *flags_of(runtime.sanitizer)))}
    return {**found, **compiler, **runtime.preload({})}


def prefix(name: Sanitizer) -> list[str]:
    """Return the words of a command that stand before a program under a sanitizer."""
    # The thread sanitizer of gcc 12 cannot live with as much randomness as newer kernels have.
    return ["setarch", "-R"] if name == "thread" and shutil.which("setarch") else []


# ---- inside a process under a sanitizer ----------------------------------------------------------

_RUNTIME: Final = runtime_of_process()
FLAGS: Final = () if _RUNTIME is None else flags_of(_RUNTIME.sanitizer)
"""What launchers of tests are compiled with, beside other flags."""


def environment(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return variables for another Python that loads launchers of tests: beside those ``given``."""
    if _RUNTIME is None:
        return dict(given)
    options = {key: os.environ[key] for key in _OPTIONS[_RUNTIME.sanitizer] if key in os.environ}
    return {**given, **options, **_RUNTIME.preload(given)}


def keep_from_compilers() -> None:
    """Let programs that this process starts have no sanitizer but their own."""
    if _RUNTIME is not None:
        os.environ.pop("LD_PRELOAD", None)


class Sanitized:
    """A run of pytest under a sanitizer."""

    def __init__(self, name: Sanitizer, config: pytest.Config) -> None:
        if _RUNTIME is None or _RUNTIME.sanitizer != name:
            raise pytest.UsageError(
                f"--sanitize {name}: this Python was not started under it; "
                f"run python -m tests.sanitizers {name}"
            )
        self.name: Final = name
        self._folder: Final[Path] = config.getoption("--sanitize-into")
        self._is_worker: Final = hasattr(config, "workerinput")
        if self._is_worker or not config.getoption("numprocesses", None):
            keep_from_compilers()

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        left_out = [each for each in items if _name(each) in LEFT_OUT]
        items[:] = [each for each in items if _name(each) not in LEFT_OUT]
        config.hook.pytest_deselected(items=left_out)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._is_worker:
            return
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        failed = [*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())]
        reports = self._reports()
        counts = {
            "sanitizer": self.name,
            "passed": len(reporter.stats.get("passed", ())),
            "failed": len(failed),
            "reports": len(reports),
        }
        self._folder.with_suffix(".json").write_text(json.dumps(counts) + "\n")
        if reports:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for report in self._reports():
            terminalreporter.section(f"{self.name} sanitizer: {report.name}")
            terminalreporter.write_line(report.read_text(errors="backslashreplace"))

    def _reports(self) -> list[Path]:
        return sorted(self._folder.glob("report.*"))


def _name(item: pytest.Item) -> str:
    """Return the name of a test's function, behind its file's."""
    return item.nodeid.partition("[")[0].rpartition("/")[2]


# ---- the start -----------------------------------------------------------------------------------


def main(name: Sanitizer, *arguments: str) -> None:
    """Become pytest under a sanitizer; ``arguments`` are pytest's, and follow the suites."""
    runtime = runtime_of(name)
    if runtime is None:
        raise SystemExit(f"gcc has no {_RUNTIMES[name]}")
    folder = ROOT / "build" / f"sanitized-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    suites = [str(path) for each in SUITES for path in sorted((ROOT / "tests").glob(each))]
    options = ["--sanitize", name, "--sanitize-into", str(folder)]
    command = [*prefix(name), sys.executable, "-m", "pytest", *options, *suites, *arguments]
    os.execvpe(command[0], command, {**os.environ, **variables(runtime, folder=folder)})


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in NAMES:
        raise SystemExit(f"usage: python -m tests.sanitizers {'|'.join(NAMES)} [OF PYTEST]...")
    main(*sys.argv[1:])  # type: ignore[arg-type]
