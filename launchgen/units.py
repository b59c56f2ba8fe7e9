"""What can be compiled in a folder: launchgen's own C, known by its banners."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from launchgen.artifacts import ARTIFACTS, Face
from launchgen.banner import read_banner
from launchgen.diagnostics import BuildError, Diagnostic
from launchgen.naming import is_identifier


@dataclass(frozen=True, slots=True)
class Unit:
    """A source to compile, by its name in the folder, and what it becomes."""

    source: str
    name: str
    face: Face
    module: str
    """What Python imports; the name where it is none."""


def find_units(folder: Path) -> tuple[Unit, ...]:
    """Return what can be compiled in ``folder``, sorted: launchgen's own C by its banners.

    Raises BuildError if there is no such folder or nothing in it.
    """
    try:
        sources = sorted(path for path in folder.iterdir() if path.suffix == ".c")
        units = [unit for path in sources for unit in _units(path)]
    except OSError as error:
        raise BuildError(
            Diagnostic(f"cannot read '{error.filename or folder}': {error.strerror or error}")
        ) from error
    if not units:
        raise BuildError(
            Diagnostic(
                f"nothing to build in '{folder}': no C that launchgen emitted",
                hint="launchgen emit writes it; name the folder that --out named there",
            )
        )
    return tuple(units)


def _units(path: Path) -> Iterable[Unit]:
    if not path.is_file():
        return
    with path.open("rb") as file:
        banner = read_banner(file)
    row = ARTIFACTS.get(banner.artifact) if banner is not None else None
    if row is None or row.face is None:
        return
    for output in row.outputs:
        # A file that serves every launcher has a name of its own, which is all of it.
        prefix, _, suffix = output.file.rpartition("{name}")
        name = path.name.removeprefix(prefix).removesuffix(suffix)
        # Another name than launchgen gives might be an option to the compiler.
        is_own = not name or is_identifier(name)
        if is_own and not output.header and path.name == f"{prefix}{name}{suffix}":
            yield Unit(path.name, name, row.face, _module(path) or name)


_MODULE: Final = re.compile(rb"^PyMODINIT_FUNC PyInit_(\w+)\(void\);$", re.MULTILINE)


def _module(path: Path) -> str | None:
    """Return the extension module that a source is, None if it is none."""
    found = _MODULE.search(path.read_bytes())
    return None if found is None else found[1].decode()
