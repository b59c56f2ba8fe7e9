"""Launchers for compiled GPU kernels: from an image and what lies beside it to C and Python.

Every step is a function, pure between those that read and write::

    from pathlib import Path
    import launchgen
    from launchgen.artifacts import ARTIFACTS
    from launchgen.sources import read_kernel
    from launchgen.targets import TARGETS

    target = TARGETS["cuda"]
    kernel = read_kernel(Path("add.json"), signature_text=None, name="add", target=target)
    plan = launchgen.plan(kernel, target=target, command="")
    files = launchgen.render(plan, artifacts=(ARTIFACTS["c"], ARTIFACTS["make"]))
    launchgen.write(files, "build/add")

``launchgen.parse(text)`` alone gives the signature.  The four are loaded when first used, so that
``import launchgen`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launchgen.planning import make_plan as plan
    from launchgen.rendering import render
    from launchgen.signature import parse
    from launchgen.writer import write

__version__ = "0.1.0"

__all__ = ["__version__", "parse", "plan", "render", "write"]

_PUBLIC = {
    "parse": ("launchgen.signature", "parse"),
    "plan": ("launchgen.planning", "make_plan"),
    "render": ("launchgen.rendering", "render"),
    "write": ("launchgen.writer", "write"),
}


def __getattr__(name: str) -> object:
    """Load a public name from the module that defines it (PEP 562)."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'launchgen' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only who asks pays for it

    module, attribute = _PUBLIC[name]
    value: object = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
