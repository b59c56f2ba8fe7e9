"""What can be compiled in a folder: launchgen's own C, known by its banners."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from launchgen.artifacts import ARTIFACTS, Face
from launchgen.banner import read_banner
from launchgen.diagnostics import BuildError, Diagnostic


@dataclass(frozen=True, slots=True)
class Unit:
    """A source to compile, by its name in the folder, and what it becomes."""

    source: str
    name: str
    face: Face


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
        prefix, suffix = output.file.split("{name}")
        if not output.header and path.name.startswith(prefix) and path.name.endswith(suffix):
            yield Unit(path.name, path.name[len(prefix) : -len(suffix)], row.face)
