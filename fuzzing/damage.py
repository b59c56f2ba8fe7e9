"""Damages seeds in every way, from a number: the same one gives the same inputs anywhere.

No coverage guides it, so that it needs nothing but Python, and tests can count on it.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator

from fuzzing.targets import Target

INTERESTING = (
    *(0, 1, 2, 3, 4, 7, 8, 12, 16, 24, 63, 64, 65, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000),
    *(0xFFFE, 0xFFFF, 0x10000, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1),
)
"""Numbers that programs get wrong."""
WORDS = (
    *(b"{", b"}", b"(", b")", b"[", b"]", b"<", b">", b",", b":", b";", b'"', b"'", b"\\", b"="),
    *(b"/*", b"*/", b"//", b"\n", b"\t", b" ", b"0x", b"-", b"99999999999", b"1e999"),
    *(b"\x00", b"\x7f", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8"),
)
"""What means something in most texts, and what is none."""

_HEAD = 160
_SECTION = 64

Mutation = Callable[[bytearray, random.Random, tuple[bytes, ...]], None]


def inputs(target: Target, *, seed: int, count: int) -> Iterator[bytes]:
    """Yield so many damaged seeds of a target."""
    seeds = target.seeds()
    words = (*WORDS, *(word.encode("latin-1") for word in target.words))
    for number in range(count):
        # Of one number each, so that any of them can be made again alone.
        chance = random.Random(seed * 1_000_003 + number)
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.choice((1, 1, 2, 3, 8))):
            if data:
                chance.choice(MUTATIONS)(data, chance, words)
        if chance.random() < 1 / 16:
            data += chance.choice(seeds)
        yield bytes(data)


def _flip(data: bytearray, chance: random.Random, _: tuple[bytes, ...]) -> None:
    """Flip some bits."""
    for _bit in range(chance.choice((1, 2, 8, 64))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _overwrite(data: bytearray, chance: random.Random, _: tuple[bytes, ...]) -> None:
    """Replace a number by one that programs get wrong."""
    form = chance.choice("BHIQ")
    if len(data) >= struct.calcsize(form):
        at = chance.randrange(len(data) - struct.calcsize(form) + 1)
        _pack(data, at, form, chance.choice((*INTERESTING, len(data), len(data) - at)))


def _overwrite_head(data: bytearray, chance: random.Random, words: tuple[bytes, ...]) -> None:
    """Replace a number near the beginning, where headers of files are."""
    head = data[:_HEAD]
    _overwrite(head, chance, words)
    data[:_HEAD] = head


def _truncate(data: bytearray, chance: random.Random, _: tuple[bytes, ...]) -> None:
    """Cut it off."""
    del data[chance.randrange(len(data)) :]


def _splice(data: bytearray, chance: random.Random, _: tuple[bytes, ...]) -> None:
    """Copy a piece to another place, over what is there or between."""
    begin = chance.randrange(len(data))
    piece = data[begin : begin + chance.choice((1, 8, 24, 64, 500))]
    at = chance.randrange(len(data))
    data[at : at + chance.choice((0, len(piece)))] = piece


def _insert(data: bytearray, chance: random.Random, words: tuple[bytes, ...]) -> None:
    """Insert a word, seldom often."""
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.choice(words) * chance.choice((*[1] * 15, 2, 1000))


def _remove(data: bytearray, chance: random.Random, _: tuple[bytes, ...]) -> None:
    """Take out a piece."""
    at = chance.randrange(len(data))
    del data[at : at + chance.choice((1, 4, 8, 64))]


def _edit_section(data: bytearray, chance: random.Random, _: tuple[bytes, ...]) -> None:
    """Replace a number in the header of an ELF file's section."""
    headers = _section_headers(data)
    if headers:
        fields = ((0, "I"), (4, "I"), (24, "Q"), (32, "Q"), (40, "I"), (44, "I"))
        field, form = chance.choice(fields)
        at = chance.choice(headers) + field
        (old,) = struct.unpack_from(f"<{form}", data, at)
        _pack(data, at, form, chance.choice((*INTERESTING, old + 1, old - 1, old * 2, len(data))))


def _swap_sections(data: bytearray, chance: random.Random, _: tuple[bytes, ...]) -> None:
    """Give a section's header to another section of an ELF file."""
    headers = _section_headers(data)
    if headers:
        here, there = chance.choice(headers), chance.choice(headers)
        data[here : here + _SECTION] = data[there : there + _SECTION]


def _section_headers(data: bytearray) -> range:
    """Return where the headers of sections begin; none where it is no ELF file."""
    if len(data) < _SECTION or not data.startswith(b"\x7fELF"):
        return range(0)
    (at,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    end = at + _SECTION * count
    return range(at, end, _SECTION) if end <= len(data) else range(0)


def _pack(data: bytearray, at: int, form: str, value: int) -> None:
    struct.pack_into(f"<{form}", data, at, value & (256 ** struct.calcsize(form) - 1))


MUTATIONS: tuple[Mutation, ...] = (
    *(_flip, _overwrite, _overwrite_head, _truncate, _splice, _insert, _insert, _remove),
    *(_edit_section, _edit_section, _swap_sections),
)
