"""Where the driver is: ``libcuda.so.1``, in every place where systems keep it.

A decision and nothing else: the environment, the linker's cache and what lies at a path come in.
``templates/runtime/cuda_driver.c`` tries the same places in the same order; to add a folder, add it
to :func:`folders` and there.

The name without ``.1`` is never looked for: it is what programs are linked with, and beside a CUDA
toolkit it is a stub that no program can run with.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import Final, NamedTuple

LIBRARY: Final = "libcuda.so.1"
VARIABLE: Final = "TRITON_LIBCUDA_PATH"
"""Triton's own: a folder, and here also a file."""

PATHS: Final = "LD_LIBRARY_PATH"
CACHE: Final = "linker cache"
_USUAL: Final = "usual folder"

STUB: Final = "the CUDA toolkit's stub, with which nothing runs"

_HEADER: Final = struct.Struct("<4sBB10xHH")
HEADER_SIZE: Final = _HEADER.size
_MAGIC: Final = b"\x7fELF"
_64_BITS: Final = 2
_LITTLE_ENDIAN: Final = 1
_SHARED: Final = 3

_CACHED: Final = re.compile(rf"^\s*{re.escape(LIBRARY)} \(([^)]*)\) => (.+)$", re.MULTILINE)
_ENTRIES: Final = re.compile("[:;]")
"""What parts the entries of ``LD_LIBRARY_PATH``, by the loader's manual."""


class Machine(NamedTuple):
    """A processor that launchers run on."""

    elf: int
    """Its number in the header of an ELF file."""
    cached: str
    """What ``ldconfig -p`` calls it."""
    folder: str
    """Where Debian and its kin keep its libraries."""


MACHINES: Final[Mapping[str, Machine]] = MappingProxyType(
    {
        "x86_64": Machine(elf=62, cached="x86-64", folder="/usr/lib/x86_64-linux-gnu"),
        "aarch64": Machine(elf=183, cached="AArch64", folder="/usr/lib/aarch64-linux-gnu"),
    }
)
"""By the name that the kernel gives a machine."""


class File(NamedTuple):
    """What lies at a path."""

    real: str
    """The path behind all links."""
    head: bytes
    """The first bytes."""
    problem: str | None = None
    """Why it could not be read."""
    is_folder: bool = False


class Place(NamedTuple):
    """One place where something was looked for."""

    origin: str
    """Who named it: an option, a variable, the linker's cache."""
    path: str | None
    """None where nobody named a path."""
    problem: str | None
    """Why it was not taken; None where it can be."""


def folders(machine: str) -> tuple[str, ...]:
    """Return the folders of distributions, containers, WSL and NixOS, in no cache or hidden."""
    known = MACHINES.get(machine)
    return (
        *(() if known is None else (known.folder,)),
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/nvidia/lib64",
        "/usr/lib/wsl/lib",
        "/run/opengl-driver/lib",
    )


def places(
    *,
    explicit: tuple[str, str] | None,
    environment: Mapping[str, str],
    cache: Callable[[], str | None],
    machine: str,
    look: Callable[[str], File],
) -> Iterator[Place]:
    """Yield each place in order, and whether the file there can be this machine's driver.

    ``explicit`` is an option and its value, a file or a folder.  ``cache`` returns what ``ldconfig
    -p`` prints, None where it does not run; neither it nor ``look`` is called before it has to be.
    """
    seen = set()
    for place in _named(explicit, environment, cache, MACHINES.get(machine), look):
        yield place
        seen.add(place.path)
    for folder in folders(machine):
        path = f"{folder}/{LIBRARY}"
        if path not in seen:
            yield Place(_USUAL, path, _refusal(path, MACHINES.get(machine), look))


def _named(
    explicit: tuple[str, str] | None,
    environment: Mapping[str, str],
    cache: Callable[[], str | None],
    machine: Machine | None,
    look: Callable[[str], File],
) -> Iterator[Place]:
    asked = () if explicit is None else (explicit,)
    for origin, value in (*asked, (VARIABLE, environment.get(VARIABLE, ""))):
        if value:
            path = str(PurePath(value, LIBRARY)) if look(value).is_folder else value
            yield Place(origin, path, _refusal(path, machine, look))
        else:
            yield Place(origin, None, "not set")
    search = tuple(filter(None, _ENTRIES.split(environment.get(PATHS, ""))))
    for folder in search:
        path = str(PurePath(folder, LIBRARY))
        yield Place(PATHS, path, _refusal(path, machine, look))
    if not search:
        yield Place(PATHS, None, "not set")
    yield from _cached(cache(), machine, look)


def _cached(
    text: str | None, machine: Machine | None, look: Callable[[str], File]
) -> Iterator[Place]:
    if text is None:
        yield Place(CACHE, None, "ldconfig was not found, or does not run")
        return
    found = _CACHED.findall(text)
    for flags, path in found:
        # "libc6,x86-64, OS ABI: Linux 2.6.32"; i386 has no word of its own.
        words = [word.strip() for word in flags.split(",")]
        if machine is None or machine.cached not in words:
            yield Place(CACHE, path, f"for another processor ({flags})")
        else:
            yield Place(CACHE, path, _refusal(path, machine, look))
    if not found:
        yield Place(CACHE, None, f"it has no {LIBRARY}")


def _refusal(path: str, machine: Machine | None, look: Callable[[str], File]) -> str | None:
    """Return why what lies at a path cannot be the driver."""
    file = look(path)
    if file.is_folder:
        return "a folder"
    if file.problem is not None:
        return file.problem
    if "stubs" in (*PurePath(path).parts, *PurePath(file.real).parts):
        return STUB
    return _foreign(file.head, machine)


def _foreign(head: bytes, machine: Machine | None) -> str | None:
    """Return why a file that begins so is no library of this machine."""
    if len(head) < HEADER_SIZE or not head.startswith(_MAGIC):
        return "no ELF file"
    _, bits, order, kind, number = _HEADER.unpack_from(head)
    if bits != _64_BITS:
        return "a library of 32 bits"
    if machine is None or order != _LITTLE_ENDIAN or number != machine.elf:
        names = {row.elf: name for name, row in MACHINES.items()}
        return f"for another processor ({names.get(number, f'ELF machine {number}')})"
    return None if kind == _SHARED else "no shared library"
