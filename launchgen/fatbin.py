"""Reads fatbins: several cubins and PTX texts in one file, compressed or not.

A file is one or more fatbins, each of a header and members:

    fatbin  u32 magic  u16 version  u16 bytes of this header  u64 bytes of all members
    member  0x00 u16 kind         0x02 u16 version   0x04 u32 bytes of this header
            0x08 u64 bytes that follow, padding too
            0x10 u32 bytes compressed               0x14 u32 where the header goes on, 0: nowhere
            0x28 u64 flags                          0x38 u64 bytes before compression

A member of kind 0x100 (``fatbinary --concat``, CUDA 13.5) is a group, compressed as one.  Where
its header goes on there are a count, the bytes of the table and the table: headers of members as
above, in which 0x04 is where the member begins in the group.

Source: NVIDIA does not document it.  This is what fatbinary 13.0 and 13.5 write, with every
``--compress-mode``, for cubins and PTX of ptxas 11.8 to 13.5.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from msgspec import Struct

from launchgen.diagnostics import Diagnostic, ImageError
from launchgen.formats import FATBIN
from launchgen.limits import MOST_FATBIN, MOST_IMAGE, MOST_IMAGES, size_text

_MAGIC: Final = int.from_bytes(FATBIN, "little")

_FATBIN: Final = struct.Struct("<IHHQ")
_MEMBER: Final = struct.Struct("<HHIQIIHHIIIQQQ")
_TAIL: Final = struct.Struct("<II")  # where a header goes on: two numbers, then text or a table

_GROUP: Final = 0x100
_LZ4: Final = 0x2000
_ZSTD: Final = 0x8000

_WORD: Final = 8
_BEGINNING: Final = re.compile(rb"[^\0]")


class MemberKind(Enum):
    """What a member is; code for the linker and others are passed over."""

    PTX = 1
    CUBIN = 2


class Member(Struct, frozen=True):
    """One image of a fatbin, decompressed."""

    kind: MemberKind
    data: bytes
    """PTX without the zeros that end it."""


_KINDS: Final = {kind.value: kind for kind in MemberKind}


class _Header(NamedTuple):
    """What is common to the header of a member and its line in a group's table."""

    kind: int
    start: int
    """Bytes of this header; in a group's table, where the member begins."""
    padded: int
    packed: int
    """Bytes compressed."""
    more: int
    """Where the header goes on; 0: nowhere."""
    name: int
    """Where the name of its source ends; 0: it has none."""
    flags: int
    size: int
    """Bytes before compression."""


def read_fatbin(data: bytes) -> tuple[Member, ...]:
    """Return the cubins and PTX of all fatbins of a file, in order; raises ImageError."""
    members: list[Member] = []
    view = memoryview(data)
    left = MOST_FATBIN
    for start, end in _fatbins(view):
        at = start
        while at < end:
            header = _header(view[at:end])
            size = header.start + header.padded
            if header.start < _MEMBER.size or size > end - at:
                raise _error("the fatbin ends inside one of its members")
            head, body = view[at : at + header.start], view[at + header.start : at + size]
            at += size
            if header.kind != _GROUP and header.kind not in _KINDS:
                continue
            unpacked = _unpacked(header, body)
            left -= len(unpacked)
            if left < 0:
                raise _error(f"the fatbin's members have more than {size_text(MOST_FATBIN)}")
            if header.kind == _GROUP:
                members.extend(_group_members(head, header, unpacked))
            else:
                members.append(_member(header.kind, unpacked))
            if len(members) > MOST_IMAGES:
                raise _error(f"the fatbin has more than {MOST_IMAGES} images")
    if not members:
        raise _error("the fatbin has neither a cubin nor PTX")
    return tuple(members)


def _fatbins(data: memoryview) -> Iterator[tuple[int, int]]:
    """Yield where the members of each fatbin begin and end; zeros may lie between fatbins."""
    at = 0
    while found := _BEGINNING.search(data, at):
        at += (found.start() - at) // _WORD * _WORD
        if len(data) - at < _FATBIN.size:
            raise _error("the fatbin ends inside its header")
        magic, _, start, size = _FATBIN.unpack_from(data, at)
        if magic != _MAGIC:
            raise _error("the fatbin is followed by something that is none")
        if start < _FATBIN.size or start + size > len(data) - at:
            raise _error("the fatbin ends before its members do")
        yield at + start, at + start + size
        at += start + size


def _header(data: memoryview) -> _Header:
    if len(data) < _MEMBER.size:
        raise _error("the fatbin ends inside the header of a member")
    found = _MEMBER.unpack_from(data)
    kind, _, start, padded, packed, more, _, _, _, name, length, flags, _, size = found
    return _Header(kind, start, padded, packed, more, name + length if length else 0, flags, size)


def _member(kind: int, data: bytes) -> Member:
    found = _KINDS[kind]
    return Member(found, data.rstrip(b"\0") if found is MemberKind.PTX else data)


def _group_members(head: memoryview, group: _Header, data: bytes) -> Iterator[Member]:
    """Yield the members of a group that was compressed as one."""
    if group.more == 0 or group.more + _TAIL.size > len(head):
        raise _error("the fatbin has a group without a table")
    count, _ = _TAIL.unpack_from(head, group.more)
    at, end = group.more + _TAIL.size, 0
    for _ in range(count):
        line = head[at:]
        header = _header(line)
        # Members follow each other, so that no part of a group is counted twice.
        if header.start < end or header.start + header.padded > len(data):
            raise _error("the fatbin has a group whose members overlap or reach past it")
        if header.flags & (_LZ4 | _ZSTD):
            raise _error("the fatbin has a group whose members are compressed once more")
        end = header.start + header.padded
        if header.kind in _KINDS:
            yield _member(header.kind, data[header.start : end])
        at += _length(line, header)


def _length(line: memoryview, header: _Header) -> int:
    """Return the bytes of a line of a group's table, with what its header goes on to."""
    end = max(_MEMBER.size, header.name)
    if header.more:
        if header.more + _TAIL.size > len(line):
            raise _error("the fatbin ends inside the table of a group")
        text, size = _TAIL.unpack_from(line, header.more)
        end = max(end, header.more + _TAIL.size, text + size)
    return (end + _WORD - 1) // _WORD * _WORD


def _unpacked(header: _Header, body: memoryview) -> bytes:
    packing = header.flags & (_LZ4 | _ZSTD)
    if (header.size if packing else len(body)) > MOST_IMAGE:
        raise _error(f"the fatbin has a member of more than {size_text(MOST_IMAGE)}, unpacked")
    if not packing:
        return bytes(body)
    if header.packed > len(body):
        raise _error("the fatbin has a member that is longer, compressed, than its place")
    unpack = _lz4 if packing == _LZ4 else _zstd
    data = unpack(bytes(body[: header.packed]), header.size)
    if len(data) != header.size:
        raise _error("the fatbin has a member that does not unpack to the size it declares")
    return data


def _lz4(packed: bytes, size: int) -> bytes:
    import lz4.block  # noqa: PLC0415 - few images are compressed so

    try:
        return bytes(lz4.block.decompress(packed, uncompressed_size=size))
    except (lz4.block.LZ4BlockError, ValueError, OverflowError, MemoryError):
        raise _error("the fatbin has a member that LZ4 cannot unpack") from None


def _zstd(packed: bytes, size: int) -> bytes:
    import zstandard  # noqa: PLC0415 - few images are compressed

    try:
        # The library believes what a frame says of itself, and takes as much memory.
        frame = zstandard.get_frame_parameters(packed)
        if frame.content_size != size or frame.window_size > MOST_IMAGE:
            raise _error("the fatbin has a member that does not unpack to the size it declares")
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=size)
    except (zstandard.ZstdError, ValueError, OverflowError, MemoryError):
        raise _error("the fatbin has a member that zstd cannot unpack") from None


def _error(problem: str) -> ImageError:
    return ImageError(Diagnostic(problem))
