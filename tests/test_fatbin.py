"""Fatbins: their members, compressed in every way, and damaged ones."""

from __future__ import annotations

import struct
from pathlib import Path

import lz4.block
import pytest
import zstandard

from launchgen.diagnostics import ImageError
from launchgen.fatbin import MemberKind, read_fatbin
from launchgen.images import read_images

FOLDER = Path(__file__).parent / "kernels" / "triton-3.9.0-sm90"
CUBIN = (FOLDER / "tuple.cubin").read_bytes()
PTX = (FOLDER / "tuple.ptx").read_bytes()


def member(kind: int, data: bytes, *, flags: int = 0x11, size: int | None = None) -> bytes:
    """Return a member of a fatbin; ``flags`` say how it is compressed."""
    packed = data
    if flags & 0x2000:
        packed = lz4.block.compress(data, store_size=False)
    elif flags & 0x8000:
        packed = zstandard.ZstdCompressor().compress(data)
    is_packed = packed is not data
    body = packed + bytes(-len(packed) % 8)
    unpacked = len(data) if size is None else size
    return (
        struct.pack("<HHIQ", kind, 0x101, 64, len(body))
        + struct.pack("<IIHHI", len(packed) * is_packed, 0, 8, 1, 90)
        + struct.pack("<IIQQQ", 0, 0, flags, 0, unpacked * is_packed)
        + body
    )


def fatbin(*members: bytes) -> bytes:
    body = b"".join(members)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


@pytest.mark.parametrize("flags", [0x11, 0x2011, 0x8011], ids=["plain", "lz4", "zstd"])
def test_members_are_unpacked(flags: int) -> None:
    data = fatbin(member(2, CUBIN, flags=flags), member(1, PTX, flags=flags))
    cubin, ptx = read_fatbin(data)
    assert (cubin.kind, ptx.kind) == (MemberKind.CUBIN, MemberKind.PTX)
    assert cubin.data.rstrip(b"\0") == CUBIN.rstrip(b"\0")
    assert ptx.data == PTX
    found = read_images(data)
    assert [str(image.facts.architecture) for image in found] == ["sm_90a", "compute_90a"]
    assert found[0].facts.entries == found[1].facts.entries


def test_a_member_that_unpacks_to_more_than_it_declares_is_refused() -> None:
    for flags in (0x2011, 0x8011):
        with pytest.raises(ImageError):
            read_fatbin(fatbin(member(2, CUBIN, flags=flags, size=len(CUBIN) - 1)))
