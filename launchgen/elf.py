"""Reads ELF files of 64 bits, little-endian: the header, sections by name, symbols.

The files are a user's, so that nothing in them is believed: every offset, count and size is
compared with what is there, and whatever does not fit is an ImageError, found in time and memory
that grow with the file and not with the numbers in it.

pyelftools is not used here: importing it takes longer than all the rest of a command (48 ms), it
needs 2 ms for a file, and it answers a damaged one with a dozen kinds of exceptions.  It reads the
same files in the tests, independently.

Source: System V ABI, "ELF-64 Object File Format"; Linux' ``elf.h`` for the numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec import Struct

from launchgen.diagnostics import Diagnostic, ImageError
from launchgen.formats import CUBIN
from launchgen.limits import MOST_SECTIONS

RELOCATABLE: Final = 1
EXECUTABLE: Final = 2

SYMBOLS: Final = 2
NO_BITS: Final = 8
FUNCTION: Final = 2

_IDENT: Final = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, the only version there is
_HEADER: Final = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_OS_ABI: Final = 7

_MANY_SECTIONS: Final = 0xFFFF
"""In place of the number of the section with names: it is in the first section's header."""

# Names may share their ends: ``.text.k`` is the end of ``.rela.text.k``.  Sections of real images
# have up to four times as many bytes of names as their table has; more is a trap.
_MOST_SHARED: Final = 16


class Section(NamedTuple):
    """One section."""

    name: str
    kind: int
    body: memoryview
    """Empty for one without bits."""
    link: int
    """The number of another section, which for symbols has their names."""


class Symbol(NamedTuple):
    """One symbol."""

    name: int
    """Where its name begins; see :func:`name_at`."""
    kind: int
    other: int
    """What the ABI leaves to each machine, and visibility."""
    section: int
    """The number of the section where it is defined; 0: nowhere."""


class Elf(Struct, frozen=True):
    """A file, read as far as the names of its sections."""

    kind: int
    """Relocatable, executable, and others."""
    machine: int
    os_abi: int
    flags: int
    """What they mean is each machine's own."""
    sections: tuple[Section, ...]


def read_elf(data: bytes) -> Elf:
    """Return the header and the sections of a file; raises ImageError."""
    if not data.startswith(CUBIN):
        raise _error("the image does not begin as an ELF file does")
    if len(data) < _HEADER.size:
        raise _error("the image ends inside its ELF header")
    if not data.startswith(_IDENT):
        raise _error("the image is no ELF file of 64 bits, little-endian")
    found = _HEADER.unpack_from(data)
    kind, machine, _, _, programs, at, flags, _, each, parts, size, count, names = found
    if programs + each * parts > len(data):
        raise _error("the image ends inside its program headers")
    return Elf(
        kind=kind,
        machine=machine,
        os_abi=data[_OS_ABI],
        flags=flags,
        sections=_sections(memoryview(data), at, count, names) if _has_sections(at, size) else (),
    )


def symbols(elf: Elf) -> tuple[bytes, Iterator[Symbol]]:
    """Return the symbols' names, for :func:`name_at`, and the symbols; raises ImageError."""
    tables = [section for section in elf.sections if section.kind == SYMBOLS]
    if not tables:
        return b"", iter(())
    # There is only one, and more of them could each be the whole file.
    table = tables[0]
    if len(tables) > 1 or table.link >= len(elf.sections) or len(table.body) % _SYMBOL.size:
        raise _error("the image's table of symbols is damaged")
    found = _SYMBOL.iter_unpack(table.body)
    each = (Symbol(name, info & 0xF, other, index) for name, info, other, index, _, _ in found)
    return bytes(elf.sections[table.link].body), each


def name_at(table: bytes, at: int) -> str:
    """Return the name that begins at an offset of a table of names; raises ImageError."""
    end = table.find(b"\0", at)
    if end < 0:
        raise _error("the image has a name that ends nowhere")
    try:
        return table[at:end].decode()
    except UnicodeDecodeError:
        raise _error("the image has a name that is no UTF-8 text") from None


def _has_sections(at: int, size: int) -> bool:
    if at and size != _SECTION.size:
        raise _error(f"the image has section headers of {size} bytes, where ELF has 64")
    return at != 0


def _sections(data: memoryview, at: int, count: int, names: int) -> tuple[Section, ...]:
    if at > len(data) - _SECTION.size:
        raise _error("the image ends before its section headers")
    first = _SECTION.unpack_from(data, at)
    count = count or first[5]
    names = first[6] if names == _MANY_SECTIONS else names
    if count > (len(data) - at) // _SECTION.size:
        raise _error("the image ends inside its section headers")
    if count > MOST_SECTIONS:
        raise _error(f"the image has {count:,} sections; at most {MOST_SECTIONS:,} are read")
    headers = list(_SECTION.iter_unpack(data[at : at + count * _SECTION.size]))
    if names >= count:
        raise _error("the image has no names for its sections")
    table = bytes(_body(data, headers[names]))
    left = _MOST_SHARED * len(table)
    sections = []
    for header in headers:
        name = name_at(table, header[0])
        left -= len(name)
        if left < 0:
            raise _error("the image's names of sections overlap")
        sections.append(Section(name, header[1], _body(data, header), header[6]))
    return tuple(sections)


def _body(data: memoryview, header: tuple[int, ...]) -> memoryview:
    _, kind, _, _, at, size, *_ = header
    if kind in {0, NO_BITS}:
        return data[:0]
    if at > len(data) or size > len(data) - at:
        raise _error("the image ends inside one of its sections")
    return data[at : at + size]


def _error(problem: str) -> ImageError:
    return ImageError(Diagnostic(problem))
