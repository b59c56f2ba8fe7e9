"""Cubins made up for tests: an entry of any name with any parameters, and no code.

launchgen and the recording driver take one for a compiled kernel; no GPU would.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

_HEADER, _SECTION, _SYMBOL = 64, 64, 24
_MACHINE, _NEW_ABI, _EXECUTABLE = 190, 65, 2
_PROGRAM, _SYMBOLS, _STRINGS, _INFO = 1, 2, 3, 0x70000000
_FUNCTION, _GLOBAL, _ENTRY = 2, 0x10, 0x10
_PARAMETER, _BANK, _TOTAL, _BLOCK = 0x17, 0x0A, 0x19, 0x10
_BASE = 0x210
_GLOBAL_MEMORY = 4


def make_fatbin(cubins: Sequence[bytes]) -> bytes:
    """Return the images in one file."""
    members = b""
    for cubin in cubins:
        padded = cubin + bytes(-len(cubin) % 8)
        members += struct.pack("<HHIQ48x", 2, 0x101, 64, len(padded)) + padded
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(members)) + members


def make_cubin(
    entry: str,
    parameters: Sequence[tuple[int, bool]],
    *,
    capability: int = 90,
    block: int | None = None,
) -> bytes:
    """Return an image whose one entry takes parameters of (size, is an address)."""
    name = entry.encode()
    strings = b"\0" + name + b"\0"
    symbols = bytes(_SYMBOL) + struct.pack("<IBBHQQ", 1, _GLOBAL | _FUNCTION, _ENTRY, 5, 0, 16)
    sections = [
        (b"", 0, b"", 0, 0),
        (b".strtab", _STRINGS, strings, 0, 0),
        (b".symtab", _SYMBOLS, symbols, 1, _SYMBOL),
        (b".shstrtab", _STRINGS, b"", 0, 0),
        (b".nv.info." + name, _INFO, _info(parameters, block), 2, 0),
        (b".text." + name, _PROGRAM, bytes(16), 2, 0),
    ]
    names, offsets = b"", []
    for section in sections:
        offsets.append(len(names))
        names += section[0] + b"\0"
    body, headers = b"", b""
    for (title, type_, data, link, size), at in zip(sections, offsets, strict=True):
        content = names if title == b".shstrtab" else data
        headers += struct.pack(
            "<IIQQQQIIQQ", at, type_, 0, 0, _HEADER + len(body), len(content), link, 0, 1, size
        )
        body += content + bytes(-len(content) % 8)
    header = b"\x7fELF\x02\x01\x01" + bytes([_NEW_ABI, 8]) + bytes(7) + struct.pack(
        "<HHIQQQIHHHHHH",
        _EXECUTABLE, _MACHINE, 1, 0, 0, _HEADER + len(body), 0x6000004 | capability << 8,
        _HEADER, 0, 0, _SECTION, len(sections), 3,
    )  # fmt: skip
    return header + body + headers


def _info(parameters: Sequence[tuple[int, bool]], block: int | None) -> bytes:
    records, end = b"", 0
    if block is not None:
        records += struct.pack("<BBHIII", 4, _BLOCK, 12, block, 1, 1)
    for ordinal, (size, is_address) in enumerate(parameters):
        align = min(size & -size, 8)
        offset = -(-end // align) * align
        bits = size << 18 | _GLOBAL_MEMORY * is_address << 8
        records += struct.pack("<BBHIHHI", 4, _PARAMETER, 12, 0, ordinal, offset, bits)
        end = offset + size
    bank = struct.pack("<BBHIHH", 4, _BANK, 8, 1, _BASE, end)
    return records + struct.pack("<BBH", 3, _TOTAL, end) + bank
