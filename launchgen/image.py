"""A compiled kernel's image, read: what it was compiled for, its entries and their parameters.

A cubin is an ELF file.  What it is compiled for is in its header, and what sets ``sm_90a`` apart
from ``sm_90`` in up to three places; an entry is a function symbol that carries NVIDIA's mark; and
``.nv.info.<entry>`` has the entry's parameters (``nvinfo.py``).

Source: the images that ptxas 11.8 to 13.5 and nvlink write for sm_50 to sm_121.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from launchgen.architecture import EXACT, FAMILY, Architecture
from launchgen.diagnostics import Diagnostic, ImageError
from launchgen.elf import EXECUTABLE, FUNCTION, RELOCATABLE, Elf, name_at, read_elf, symbols
from launchgen.limits import MOST_ENTRY
from launchgen.nvinfo import (
    CONSTANT,
    GENERIC,
    GLOBAL,
    UNMARKED,
    Compatibility,
    MarkedParameter,
    info_error,
    read_compatibility,
    read_kernel_info,
)

Dimensions = tuple[int, int, int]

_MACHINE: Final = 190
_INFO: Final = ".nv.info."
_TOOLS: Final = ".note.nv.tkinfo"
_COMPATIBILITY: Final = ".nv.compat"

_ENTRY: Final = 0x10
"""In a symbol's st_other: the function is an entry (STO_CUDA_ENTRY)."""

_OLD_ABI: Final = 51
_NEW_ABI: Final = 65
_OLD_EXACT: Final = 0x800
_NEW_EXACT: Final = 0x8
_FAMILY_ISA: Final = 2
_EXACT_ISA: Final = 3
_ASSEMBLED_FOR: Final = re.compile(rb"-arch sm_([0-9]{1,4})([af]?)(?![0-9a-z])")

_ADDRESS: Final = 8
_DEVICE_MEMORY: Final = frozenset({CONSTANT, GLOBAL, GENERIC})


def dimensions_text(dimensions: Dimensions) -> str:
    """Return a size along x, y and z as messages have it: ``128x1x1``."""
    return "x".join(map(str, dimensions))


class Parameter(Struct, frozen=True):
    """One parameter of an entry, for which the driver copies ``size`` bytes."""

    offset: int
    """Bytes from the beginning of the parameter list."""
    size: int
    """Bytes."""
    pointer: bool | None
    """Whether it is a device address; None: the image does not say."""


class Entry(Struct, frozen=True):
    """One kernel of an image."""

    name: str
    parameters: tuple[Parameter, ...]
    """In order."""
    total: int
    """Bytes of all parameters, padding between them included."""
    block: Dimensions | None
    """Threads of a block along x, y and z that every launch must have; None: any."""
    cluster: Dimensions | None
    """Blocks of a cluster along x, y and z that every launch must have; None: not known."""


class ImageFacts(Struct, frozen=True):
    """What a cubin or PTX says of itself."""

    architecture: Architecture
    entries: tuple[Entry, ...]
    """In order of their names."""


def read_cubin(data: bytes) -> ImageFacts:
    """Return what a cubin says of itself; raises ImageError for anything else.

    An image without entries is one all the same: it may hold only variables.
    """
    elf = read_elf(data)
    if elf.machine != _MACHINE:
        raise _error("the image is an ELF file, but holds no GPU's code", "give a cubin")
    if elf.kind == RELOCATABLE:
        raise _error(
            "the image is a relocatable object, which no driver loads",
            "link it with nvcc -dlink -cubin, or compile without -rdc=true (-dc)",
        )
    if elf.kind != EXECUTABLE:
        raise _error(f"the image is an ELF file of type {elf.kind}, which no cubin is")
    return ImageFacts(_architecture(elf), _entries(elf, len(data)))


def as_parameters(marked: Sequence[MarkedParameter]) -> tuple[Parameter, ...]:
    """Return parameters of which the compiler marked those that are addresses.

    Triton marks every pointer, nvcc from sm_100 on; below that nvcc marks none, and an entry
    without a mark says nothing of its parameters.
    """
    says = any(parameter.space != UNMARKED for parameter in marked)
    return tuple(
        Parameter(
            offset,
            size,
            # What is no address in size is none; that is known without marks.
            (space in _DEVICE_MEMORY if says else None) if size == _ADDRESS else False,
        )
        for _, offset, size, space in marked
    )


def _architecture(elf: Elf) -> Architecture:
    if elf.os_abi == _OLD_ABI:
        capability, exact = elf.flags & 0xFF, bool(elf.flags & _OLD_EXACT)
    elif elf.os_abi == _NEW_ABI:
        capability, exact = elf.flags >> 8 & 0xFF, bool(elf.flags & _NEW_EXACT)
    else:
        raise _error(
            f"the image has OS/ABI {elf.os_abi}, where a cubin has {_OLD_ABI} or {_NEW_ABI}",
            "it was made by a CUDA toolkit newer than this launchgen, or it is damaged",
        )
    if capability == 0:
        raise _error("the image is damaged: it does not say which GPU it is for")
    return Architecture(capability, _suffix(elf, capability, is_exact=exact))


def _suffix(elf: Elf, capability: int, *, is_exact: bool) -> str:
    """Return the suffix: ``a``, ``f``, or none.

    No release of ptxas has a flag for ``f``, and from 13.0 on none for ``a`` either.  The command
    line tells, where it was kept; ``.nv.compat`` tells what matters where it was not.
    """
    body = _body(elf, _COMPATIBILITY)
    compatibility = read_compatibility(body) if body else Compatibility(False, 0)
    told = _told_suffix(elf, capability)
    exact_isa = compatibility.isa_class == _EXACT_ISA
    if is_exact or compatibility.is_exact or exact_isa or told == EXACT:
        return EXACT
    return FAMILY if compatibility.isa_class == _FAMILY_ISA else told


def _told_suffix(elf: Elf, capability: int) -> str:
    """Return the suffix that the assembler or linker was told.

    A linker's command line stands before those of what it linked, and it is the one that counts.
    """
    for found in _ASSEMBLED_FOR.finditer(_body(elf, _TOOLS)):
        if int(found[1]) == capability:
            return found[2].decode()
    return ""


def _body(elf: Elf, name: str) -> memoryview:
    """Return the bytes of the first section of a name, none where there is none."""
    found = (section.body for section in elf.sections if section.name == name)
    return next(found, memoryview(b""))


def _entries(elf: Elf, size: int) -> tuple[Entry, ...]:
    names = sorted(_entry_names(elf, size))
    for name, following in itertools.pairwise(names):
        if name == following:
            raise info_error(name, "is there twice")
    bodies = _descriptions(elf, size)
    return tuple(_entry(name, bodies) for name in names)


def _descriptions(elf: Elf, size: int) -> dict[str, memoryview]:
    """Return what describes each function, by its name."""
    bodies: dict[str, memoryview] = {}
    for section in elf.sections:
        if section.name.startswith(_INFO):
            kernel = section.name[len(_INFO) :]
            if kernel in bodies:
                raise info_error(kernel, "is described twice")
            bodies[kernel] = section.body
    # Some sections of real images share their bytes, but never these.
    if sum(map(len, bodies.values())) > size:
        raise _error("the image is damaged: its sections overlap")
    return bodies


def _entry(name: str, bodies: dict[str, memoryview]) -> Entry:
    if name not in bodies:
        raise info_error(name, "lacks a description of its parameters")
    info = read_kernel_info(bodies[name], name)
    return Entry(name, as_parameters(info.parameters), info.total, info.block, info.cluster)


def _entry_names(elf: Elf, size: int) -> Iterator[str]:
    """Yield the names of entries; those of static kernels have local symbols."""
    names, found = symbols(elf)
    for symbol in found:
        if symbol.kind == FUNCTION and symbol.other & _ENTRY and symbol.section:
            name = name_at(names, symbol.name)
            if len(name) > MOST_ENTRY:
                problem = f"has an entry whose name has more than {MOST_ENTRY:,} characters"
                raise _error(f"the image is damaged: it {problem}")
            if not name or not name.isprintable():
                raise _error(f"the image is damaged: it has an entry with the name {name!r}")
            size -= len(name)
            if size < 0:
                raise _error("the image is damaged: names of its entries overlap")
            yield name


def _error(problem: str, hint: str | None = None) -> ImageError:
    return ImageError(Diagnostic(problem, hint=hint))
