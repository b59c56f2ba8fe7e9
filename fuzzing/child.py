"""Runs one target under atheris, in a process of its own: it ends where the time does.

An input that shows a fault is kept, and the fuzzing goes on; one that takes too much time or
memory ends the process, which keeps it too.  Only launchgen's modules are instrumented.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import traceback
from pathlib import Path
from types import TracebackType

import launchgen

KEPT_OUT = ("__main__", "cli", "triton", "triton_driver", "triton_source")
"""Modules that read nothing a user wrote, or that need what is not installed."""


def load() -> None:
    """Import all of launchgen, so that what a function imports late is instrumented as well."""
    for module in pkgutil.iter_modules(launchgen.__path__):
        if module.name not in KEPT_OUT and not module.ispkg:
            importlib.import_module(f"launchgen.{module.name}")


def fault_name(error: BaseException) -> str:
    """Return what a kind of fault is called: the error, and the last line of launchgen's."""
    found = f"{type(error).__name__}"
    frame: TracebackType | None = error.__traceback__
    while frame is not None:
        path = Path(frame.tb_frame.f_code.co_filename)
        is_ours = path.parent.name in {"launchgen", "fuzzing"} and path.stem != "child"
        if is_ours and frame.tb_frame.f_code.co_name != "promise":
            found = f"{type(error).__name__}-{path.stem}-{frame.tb_lineno}"
        frame = frame.tb_next
    return found


def main() -> None:
    """Take the target's name, the folder of faults, and libFuzzer's own arguments."""
    import atheris  # noqa: PLC0415 - the message about its absence is the parent's

    _, name, folder, *arguments = sys.argv
    with atheris.instrument_imports(include=["launchgen"]):
        load()
        from fuzzing.targets import TARGETS  # noqa: PLC0415 - what it imports is instrumented
    target, faults = TARGETS[name], Path(folder)

    def attempt(data: bytes) -> None:
        try:
            target.run(data)
        except Exception as error:
            place = faults / fault_name(error)
            if not place.exists():
                place.write_bytes(data)
                place.with_name(f"{place.name}.txt").write_text(
                    traceback.format_exc(), "utf-8", "backslashreplace"
                )

    atheris.Setup([sys.argv[0], *arguments], attempt)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
