"""A folder that ``emit`` wrote and a compiler was run in, to the launcher that is called there."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

from launchgen.artifacts import LIBRARY
from launchgen.banner import read_banner
from launchgen.diagnostics import (
    Diagnostic,
    InputError,
    SignatureError,
    UsageError,
    did_you_mean,
)
from launchgen.inputs import input_error, shown_path
from launchgen.signature import Signature, parse
from launchgen.units import Unit, find_units


class EmittedLauncher(NamedTuple):
    """A C launcher that was compiled."""

    name: str
    signature: Signature
    library: Path


def find_launcher(folder: Path, *, name: str | None) -> EmittedLauncher:
    """Return the compiled C launcher in ``folder``, of several the one called ``name``.

    Raises BuildError where there is no C of launchgen's, UsageError where it is not clear which
    launcher is meant, InputError where it was not compiled since it was emitted.
    """
    units = {unit.name: unit for unit in find_units(folder) if unit.face is LIBRARY}
    unit = _choose(units, name, folder)
    return EmittedLauncher(unit.name, _read_signature(folder, unit), _library(folder, unit))


def _choose(units: dict[str, Unit], name: str | None, folder: Path) -> Unit:
    if not units:
        raise UsageError(
            Diagnostic(
                f"there is no C launcher in '{shown_path(folder)}', and no other can be timed",
                hint="emit it with the artifact for C, which is among those that are the default",
            )
        )
    names = ", ".join(units)
    if name is None and len(units) > 1:
        raise UsageError(
            Diagnostic(
                f"there are several launchers in '{shown_path(folder)}': {names}",
                hint=f"choose one, as in --name {next(iter(units))}",
            )
        )
    unit = next(iter(units.values())) if name is None else units.get(name)
    if unit is None:
        raise UsageError(
            Diagnostic(
                f"there is no launcher called '{name}' in '{shown_path(folder)}', but {names}",
                hint=did_you_mean(name or "", units),
            )
        )
    return unit


def _read_signature(folder: Path, unit: Unit) -> Signature:
    path = folder / unit.source
    try:
        with path.open("rb") as file:
            banner = read_banner(file)
    except OSError as error:
        raise input_error(path, f"cannot be read: {error.strerror or error}") from None
    name, _, arguments = ("" if banner is None else banner.signature).partition("(")
    if name != unit.name:
        problem = f"the banner does not say what '{unit.name}' is called with"
        raise input_error(path, problem, "emit it again")
    try:
        return parse(arguments.removesuffix(")"), name=f"{shown_path(path)}, banner")
    except SignatureError as error:
        raise InputError(*error.diagnostics) from None


def _library(folder: Path, unit: Unit) -> Path:
    path = folder / unit.face.file.format(name=unit.name)
    place = shlex.quote(shown_path(folder))
    build = f"run 'make -C {place}' or 'launchgen build {place}'"
    try:
        compiled, emitted = path.stat(), (folder / unit.source).stat()
    except FileNotFoundError:
        raise input_error(path, "no such file: the launcher is not compiled", build) from None
    except OSError as error:
        raise input_error(path, f"cannot be read: {error.strerror or error}") from None
    # A call with other arguments than it was compiled for may do anything.
    if compiled.st_mtime_ns < emitted.st_mtime_ns:
        raise input_error(path, f"is older than {unit.source}, which it is compiled from", build)
    return path
