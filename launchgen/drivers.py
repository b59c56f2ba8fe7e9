"""Finds the driver of this machine, and asks it for its GPUs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from launchgen import ask_driver, toolchain
from launchgen.checkup import NO_NEED, PATIENCE, Gpu, Item, cuda_text, reason
from launchgen.diagnostics import BuildError
from launchgen.libcuda import (
    CACHE,
    HEADER_SIZE,
    PATHS,
    STUB,
    VARIABLE,
    File,
    Place,
    folders,
    places,
)

OPTION: Final = "--libcuda"

_LDCONFIG: Final = ("/sbin/ldconfig", "/usr/sbin/ldconfig")
"""Where it is for users whose PATH has no folders of the administrator's."""
_STUB: Final = 34

_START_HINTS: Final[Mapping[int, str]] = MappingProxyType(
    {
        _STUB: "take the stub's folder off LD_LIBRARY_PATH, and install NVIDIA's driver",
        100: "look at CUDA_VISIBLE_DEVICES, which hides GPUs, and whether nvidia-smi lists one; "
        "a container needs to be started with its GPUs",
        802: "NVIDIA's Fabric Manager must run on machines with NVSwitch, in the driver's version",
        803: "restart the machine: the kernel still has the module of another driver version",
        804: "take CUDA's compat folder off LD_LIBRARY_PATH: this GPU's driver cannot use it",
    }
)
"""What to do about what ``cuInit`` returned."""
_START_HINT: Final = "see whether nvidia-smi works, and what the kernel's log says of NVRM"


class _Answer(msgspec.Struct, frozen=True):
    """What :mod:`launchgen.ask_driver` prints."""

    error: str | None = None
    version: int = 0
    status: int = 0
    name: str = ""
    text: str = ""
    gpus: tuple[Gpu, ...] = ()


def find_driver(
    libcuda: str | None, environment: Mapping[str, str]
) -> tuple[Item, tuple[Gpu, ...]]:
    """Return the driver that launchers find, ``libcuda`` tried before all else, and its GPUs."""
    looked: list[Place] = []
    for place in places(
        explicit=None if libcuda is None else (OPTION, libcuda),
        environment=environment,
        cache=lambda: _linker_cache(environment),
        machine=os.uname().machine,
        look=_look,
    ):
        if place.path is None or place.problem is not None:
            looked.append(place)
            continue
        answer = _ask(place.path, environment)
        if answer.error is None and answer.status != _STUB:
            looked.append(place)
            item = _answered(place.path, answer, tuple(looked))
            return _refused(_hidden(item)), answer.gpus
        # As launchers do, go on to the next place.
        problem = STUB if answer.error is None else answer.error.removeprefix(f"{place.path}: ")
        looked.append(place._replace(problem=problem))
    return _refused(_no_driver(tuple(looked))), ()


def _hidden(item: Item) -> Item:
    """Say so where a stub keeps launchers from a driver that they would leave to the loader."""
    by_loader = [place for place in item.looked if place.origin in {PATHS, CACHE}]
    stub = next((place for place in by_loader if place.problem == STUB), None)
    if stub is None or item.path is None or item.looked[-1] not in by_loader:
        return item
    folder = os.path.realpath(Path(item.path).parent)
    if folder in map(os.path.realpath, folders(os.uname().machine)):
        return item
    return item._replace(
        problem=f"launchers do not find it behind the stub '{stub.path}'",
        hint=f"take the stub's folder off {PATHS}, or set {VARIABLE} to '{item.path}'",
    )


def _refused(item: Item) -> Item:
    """Say so where what was named is no driver, whatever was found elsewhere."""
    place = next((place for place in item.looked if place.origin == OPTION), None)
    if place is None or place.problem is None:
        return item
    return item._replace(
        problem=f"'{place.path}' of {OPTION} is none: {place.problem}",
        hint="name libcuda.so.1 of NVIDIA's driver, or its folder",
    )


def _no_driver(looked: tuple[Place, ...]) -> Item:
    return Item(
        "driver",
        problem=f"no NVIDIA driver was found; {NO_NEED}, and fail with 303 when called",
        hint="install NVIDIA's driver (in a container: start it with the GPUs of its host), or set "
        f"{VARIABLE} to the folder of libcuda.so.1",
        looked=looked,
    )


def _answered(path: str, answer: _Answer, looked: tuple[Place, ...]) -> Item:
    version = cuda_text(answer.version) if answer.version else None
    item = Item("driver", version, path, looked=looked)
    if answer.status == ask_driver.SUCCESS:
        return item
    name = answer.name or "unknown error"
    return item._replace(
        problem=f"cuInit failed: {name} ({answer.status}): {answer.text}".rstrip(": "),
        hint=_START_HINTS.get(answer.status, _START_HINT),
    )


def _ask(path: str, environment: Mapping[str, str]) -> _Answer:
    """Return what a driver says in a process of its own, which it may take down."""
    command = (sys.executable, "-I", ask_driver.__file__, path)
    try:
        done = toolchain.run(command, environment=environment, timeout=PATIENCE)
    except BuildError as error:
        return _Answer(error=error.diagnostics[0].message)
    # A driver may print lines of its own.
    for line in reversed(done.stdout.splitlines()):
        try:
            return msgspec.json.decode(line, type=_Answer)
        except msgspec.DecodeError:
            continue
    return _Answer(error=f"the process that asked it ended with {done.returncode}")


def _linker_cache(environment: Mapping[str, str]) -> str | None:
    found = shutil.which("ldconfig", path=environment.get("PATH"))
    for path in filter(None, (found, *_LDCONFIG)):
        try:
            done = toolchain.run((path, "-p"), environment=environment, timeout=PATIENCE)
        except BuildError:
            continue
        if done.returncode == 0:
            return done.stdout
    return None


def _look(path: str) -> File:
    real = os.path.realpath(path)
    try:
        # A pipe would wait for somebody to write to it.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return File(real, os.read(file, HEADER_SIZE))
        finally:
            os.close(file)
    except IsADirectoryError as error:
        return File(real, b"", reason(error), is_folder=True)
    except (OSError, ValueError) as error:
        return File(real, b"", reason(error))
