"""Fatbins: their members, compressed in every way, and damaged ones."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from pathlib import Path

import lz4.block
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from launchgen.diagnostics import ImageError
from launchgen.fatbin import MemberKind, read_fatbin
from launchgen.images import read_images
from launchgen.limits import MOST_IMAGE

IMAGES = Path(__file__).parent / "images"
FATBINS = sorted(IMAGES.glob("*.fatbin"))
CUBIN = (IMAGES / "nvcc13.0-sm_90a-small.cubin").read_bytes()
PTX = (IMAGES / "small.ptx").read_bytes()

ELF, TEXT, LTO, GROUP = 2, 1, 8, 0x100
PLAIN, LZ4, ZSTD = 0x11, 0x2011, 0x8011


def lz4_block(data: bytes) -> bytes:
    packed: bytes = lz4.block.compress(data, store_size=False)
    return packed


PACK: dict[int, Callable[[bytes], bytes]] = {
    LZ4: lz4_block,
    ZSTD: zstandard.ZstdCompressor().compress,
}


def member(
    kind: int, data: bytes, *, flags: int = PLAIN, size: int | None = None, tail: bytes = b""
) -> bytes:
    """Return a member of a fatbin; ``flags`` say how it is compressed."""
    packed = PACK[flags](data) if flags in PACK else data
    length = len(packed) if flags in PACK else 0
    unpacked = (len(data) if size is None else size) if flags in PACK else 0
    body = packed + bytes(-len(packed) % 8)
    head = struct.pack("<HHIQ", kind, 0x101, 64 + len(tail), len(body))
    head += struct.pack("<IIHHI", length, 64 if tail else 0, 8, 1, 90)
    return head + struct.pack("<IIQQQ", 0, 0, flags, 0, unpacked) + tail + body


def fatbin(*members: bytes) -> bytes:
    body = b"".join(members)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def line(kind: int, start: int, size: int, *, flags: int = PLAIN) -> bytes:
    """Return a line of a group's table."""
    head = struct.pack("<HHIQ", kind, 0x101, start, size)
    return head + struct.pack("<IIHHIIIQQQ", 0, 0, 8, 1, 90, 0, 0, flags, 0, 0)


def group(*lines: bytes, count: int | None = None, data: bytes = CUBIN) -> bytes:
    table = b"".join(lines)
    head = struct.pack("<II", len(lines) if count is None else count, 8 + len(table))
    return fatbin(member(GROUP, data, flags=ZSTD, tail=head + table))


# --- what fatbinary writes -----------------------------------------------------------------------


@pytest.mark.parametrize("path", FATBINS, ids=lambda path: path.stem)
def test_every_way_of_compression_gives_back_what_went_in(path: Path) -> None:
    members = read_fatbin(path.read_bytes())
    cubins = [found.data for found in members if found.kind is MemberKind.CUBIN]
    assert cubins == [
        (IMAGES / f"nvcc13.0-sm_{target}-small.cubin").read_bytes()
        for target in ("80", "90", "90a")
    ]
    (ptx,) = (found.data for found in members if found.kind is MemberKind.PTX)
    # fatbinary leaves out comments and spaces.
    assert ptx.strip().startswith(b".version 9.0\n.target sm_80\n.address_size 64\n")
    assert not ptx.endswith(b"\0")


@pytest.mark.parametrize("path", FATBINS, ids=lambda path: path.stem)
def test_images_of_a_fatbin_say_the_same_of_their_kernel(path: Path) -> None:
    found = read_images(path.read_bytes())
    targets = {str(image.facts.architecture) for image in found}
    assert targets == {"sm_80", "sm_90", "sm_90a", "compute_80"}
    assert {image.facts.entries for image in found} == {found[0].facts.entries}


def test_the_images_made_are_of_every_kind() -> None:
    flags = set()
    for path in FATBINS:
        data = path.read_bytes()
        at = 16
        while at < len(data):
            kind, _, head, size = struct.unpack_from("<HHIQ", data, at)
            flags.add((kind, struct.unpack_from("<Q", data, at + 40)[0] & 0xA000))
            at += head + size
    assert flags == {
        *((ELF, 0), (ELF, 0x8000), (TEXT, 0), (TEXT, 0x2000), (TEXT, 0x8000)),
        *((GROUP, 0x2000), (GROUP, 0x8000)),
    }


# --- containers ----------------------------------------------------------------------------------


def test_a_file_is_what_it_begins_with() -> None:
    assert [image.data for image in read_images(CUBIN)] == [CUBIN]
    assert [image.data for image in read_images(PTX + b"\0")] == [PTX]
    assert [str(image.facts.architecture) for image in read_images(PTX)] == ["compute_80"]
    assert [image.facts for image in read_images(b"\xef\xbb\xbf" + PTX)] == [
        image.facts for image in read_images(PTX)
    ]


def test_a_file_that_is_nothing_of_it_says_what_it_could_have_been() -> None:
    for data in (b"\xff\xfe", b"\x7fEL\xff", bytes(16) + b"\xff"):
        with pytest.raises(ImageError, match="is neither a cubin nor a fatbin, and no PTX either"):
            read_images(data)
    for data in (b"", b"\0\0\0", b"hello"):
        with pytest.raises(ImageError, match=r"is no PTX: it has no \.version directive"):
            read_images(data)


@pytest.mark.parametrize("flags", [PLAIN, LZ4, ZSTD], ids=["plain", "lz4", "zstd"])
def test_fatbins_follow_each_other_with_zeros_between_them(flags: int) -> None:
    first, second = fatbin(member(ELF, CUBIN, flags=flags)), fatbin(member(TEXT, PTX, flags=flags))
    members = read_fatbin(first + bytes(24) + second + bytes(8) + fatbin() + bytes(5))
    assert [found.kind for found in members] == [MemberKind.CUBIN, MemberKind.PTX]
    assert [found.data for found in members] == [CUBIN, PTX]


def test_members_that_are_no_images_are_passed_over() -> None:
    code = member(LTO, b"code for the linker")
    assert len(read_fatbin(fatbin(code, member(ELF, CUBIN), code))) == 1
    with pytest.raises(ImageError, match="the fatbin has neither a cubin nor PTX"):
        read_fatbin(fatbin(code))


def test_lines_of_a_group_are_as_long_as_what_they_hold() -> None:
    size = len(CUBIN)
    named = bytearray(line(ELF, 0, size) + b"name.cu\0")
    struct.pack_into("<II", named, 32, 64, 7)
    told = bytearray(line(ELF, size, size) + struct.pack("<II", 72, 5) + b"-arch\0\0\0")
    struct.pack_into("<I", told, 20, 64)
    data = group(bytes(named), bytes(told), line(LTO, 2 * size, 8), data=CUBIN * 2 + bytes(8))
    assert [found.data for found in read_fatbin(data)] == [CUBIN, CUBIN]


# --- damage --------------------------------------------------------------------------------------

WHOLE = fatbin(member(ELF, CUBIN))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (WHOLE[:15], "the fatbin ends inside its header"),
        (WHOLE[:-1], "the fatbin ends before its members do"),
        (WHOLE + b"\1" * 16, "the fatbin is followed by something that is none"),
        (WHOLE[:6] + b"\4\0" + WHOLE[8:], "the fatbin ends before its members do"),
        (WHOLE[:8] + b"\xff" * 8 + WHOLE[16:], "the fatbin ends before its members do"),
        (fatbin(WHOLE[16:79]), "the fatbin ends inside the header of a member"),
        (fatbin(WHOLE[16:-8]), "the fatbin ends inside one of its members"),
        (fatbin(b"\2\0\1\1\0\0\0\0" + bytes(56)), "the fatbin ends inside one of its members"),
        (fatbin(b"\2\0\1\1\0\0\0\1" + bytes(56)), "the fatbin ends inside one of its members"),
        (group(line(ELF, 0, 8), line(ELF, 4, 8)), "overlap or reach past it"),
        (group(line(ELF, 0, len(CUBIN) + 1)), "overlap or reach past it"),
        (group(line(ELF, 2**32 - 1, 2**64 - 1)), "overlap or reach past it"),
        (group(line(ELF, 0, 8, flags=LZ4)), "compressed once more"),
        (group(line(ELF, 0, 8), count=2**32 - 1), "the fatbin ends inside the header of a member"),
        (fatbin(member(GROUP, CUBIN, flags=ZSTD)), "the fatbin has a group without a table"),
    ],
)
def test_damaged_containers_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ImageError) as caught:
        read_fatbin(data)
    assert message in str(caught.value)


@pytest.mark.parametrize("flags", [LZ4, ZSTD], ids=["lz4", "zstd"])
@pytest.mark.parametrize(
    ("size", "message"),
    [
        (len(CUBIN) - 1, r"cannot unpack|does not unpack to the size it declares"),
        (len(CUBIN) + 1, "does not unpack to the size it declares"),
        (0, r"cannot unpack|does not unpack to the size it declares"),
        (MOST_IMAGE + 1, "has a member of more than 256 MiB, unpacked"),
        (2**64 - 1, "has a member of more than 256 MiB, unpacked"),
    ],
)
def test_a_member_unpacks_to_the_size_that_it_declares(flags: int, size: int, message: str) -> None:
    with pytest.raises(ImageError, match=message):
        read_fatbin(fatbin(member(ELF, CUBIN, flags=flags, size=size)))


@pytest.mark.parametrize("flags", [LZ4, ZSTD], ids=["lz4", "zstd"])
def test_a_member_that_is_not_compressed_as_it_says_is_refused(flags: int) -> None:
    data = bytearray(fatbin(member(ELF, bytes(range(256)) * 8, flags=flags)))
    data[80:100] = b"\xff" * 20
    with pytest.raises(ImageError, match=r"that (LZ4|zstd) cannot unpack"):
        read_fatbin(bytes(data))
    struct.pack_into("<I", data, 32, 2**32 - 1)
    with pytest.raises(ImageError, match="is longer, compressed, than its place"):
        read_fatbin(bytes(data))


def test_a_frame_that_lies_about_its_size_takes_no_memory() -> None:
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(2**24))
    bomb = member(ELF, b"", flags=ZSTD, size=100)
    head = bytearray(bomb[:64])
    struct.pack_into("<Q", head, 8, len(frame))
    struct.pack_into("<I", head, 16, len(frame))
    with pytest.raises(ImageError, match="does not unpack to the size it declares"):
        read_fatbin(fatbin(bytes(head) + frame))


def test_members_have_an_end_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("launchgen.fatbin.MOST_FATBIN", 3 * len(CUBIN))
    assert len(read_fatbin(fatbin(*[member(ELF, CUBIN, flags=ZSTD)] * 3))) == 3
    with pytest.raises(ImageError, match="the fatbin's members have more than"):
        read_fatbin(fatbin(*[member(ELF, CUBIN, flags=ZSTD)] * 4))


SEEDS = [path.read_bytes() for path in FATBINS if path.stat().st_size < 5000]


@settings(max_examples=300, deadline=None)
@given(
    image=st.sampled_from(SEEDS),
    edits=st.lists(
        st.tuples(st.integers(0, 200) | st.integers(0, 5000), st.binary(min_size=1, max_size=8)),
        max_size=6,
    ),
    size=st.none() | st.integers(0, 5000),
)
def test_damage_is_nothing_but_an_image_error(
    image: bytes, edits: list[tuple[int, bytes]], size: int | None
) -> None:
    damaged = bytearray(image)
    for at, new in edits:
        damaged[at : at + len(new)] = new
    with contextlib.suppress(ImageError):
        read_images(bytes(damaged[:size]))
