"""Tensor descriptors: what reaches the encoder and the kernel, for every release, from both faces.

Expected numbers are written out from ``cuda.h`` and from the releases of Triton, not computed by
the code under test.
"""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest

from launchgen.diagnostics import InputError, MetadataError
from launchgen.testing import Call
from tests.launchers import FACES, Descriptor, Face, Host, Launcher, of_signature, other_host

BASE = 0x7F00_0000_1000
FP16, FP32, INT32, BF16, TF32, FP4 = 6, 7, 3, 9, 11, 14
DEVICE_BF16 = 10

TILED: dict[str, Any] = {"swizzle": 3, "elem_size": 2, "elem_type": FP16, "block_size": [64, 32]}
MATRIX = Descriptor(BASE, (128, 96), (100 * 8, 1))

_folder: Path | None = None


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    global _folder  # noqa: PLW0603 - launchers are kept for the session, their metadata too
    _folder = tmp_path_factory.mktemp("metadata")


@cache
def _launcher(text: str, version: str, metas: str) -> Launcher:
    assert _folder is not None
    path = _folder / f"{abs(hash((text, version, metas)))}.json"
    described = {"name": "k", "num_warps": 4, "num_ctas": 1, "shared": 0}
    path.write_text(
        json.dumps(described | {"triton_version": version, "tensordesc_meta": json.loads(metas)})
    )
    return of_signature(text, metadata=path)


def launcher_of(text: str, *metas: dict[str, Any], version: str = "3.9.0") -> Launcher:
    return _launcher(text, version, json.dumps(metas))


def fresh(host: Host) -> None:
    """Forget what was recorded; the thread has a context, as a program's usually has."""
    host.driver.reset()
    host.driver.current_context = host.driver.primary_context()


def encoded(host: Host, name: str = "cuTensorMapEncodeTiled") -> list[Call]:
    return [call for call in host.driver.calls if call.name == name]


def one_map(host: Host, face: Face, launcher: Launcher, given: Any) -> tuple[Call, Sequence[bytes]]:
    """Launch with one descriptor; return the encoder's call and the kernel's values."""
    fresh(host)
    # The map that is kept from another test would spare the call.
    host.call(face, launcher, 1, None, [Descriptor(BASE + 0x4000, given.shape, given.strides)])
    fresh(host)
    launch = host.launched(face, launcher, 1, None, [given])
    (call,) = encoded(host)
    return call, launch.values


def test_the_encoder_gets_everything_innermost_first(host: Host) -> None:
    for face in FACES:
        launcher = launcher_of("src: tensordesc<fp16[64, 32]>", TILED)
        call, values = one_map(host, face, launcher, MATRIX)
        assert call.arguments == {
            "type": FP16,
            "rank": 2,
            "address": BASE,
            "sizes": [96, 128],
            "strides": [1600],
            "element_strides": [1, 1],
            "interleave": 0,
            "swizzle": 3,
            "promotion": 2,
            "fill": 0,
            "box": [32, 64],
        }
        assert len(values[0]) == 128
        assert values[0].startswith(b"LGRTMAP1")
        assert list(values[1:]) == [
            struct.pack("<i", 128),
            struct.pack("<i", 96),
            struct.pack("<q", 800),
            struct.pack("<q", 1),
            bytes(8),
            bytes(8),
        ]


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_every_rank_is_encoded(host: Host, face: Face, rank: int) -> None:
    sizes = ", ".join(["8"] * rank)
    meta = TILED | {"swizzle": 0, "block_size": [8] * rank}
    launcher = launcher_of(f"src: tensordesc<fp16[{sizes}]>", meta)
    shape = tuple(range(11, 11 + rank))
    strides = tuple(8**power for power in reversed(range(rank)))
    call, values = one_map(host, face, launcher, Descriptor(BASE, shape, strides))
    assert call.arguments["rank"] == rank
    assert call.arguments["sizes"] == list(reversed(shape))
    assert call.arguments["strides"] == [2 * stride for stride in reversed(strides[:-1])]
    assert call.arguments["box"] == [8] * rank
    assert len(values) == 1 + 2 * rank + 2


@pytest.mark.parametrize("face", FACES, ids=str)
def test_the_encoder_numbers_types_its_own_way(host: Host, face: Face) -> None:
    for device, encoder, element, size in [
        (DEVICE_BF16, BF16, "bf16", 2),
        (8, 10, "fp32", 4),
        (9, 8, "fp64", 8),
        (INT32, INT32, "i32", 4),
    ]:
        meta = {"swizzle": 0, "elem_size": size, "elem_type": device, "block_size": [8, 16]}
        launcher = launcher_of(f"src: tensordesc<{element}[8, 16]>", meta)
        call, _ = one_map(host, face, launcher, Descriptor(BASE, (64, 64), (64, 1)))
        assert call.arguments["type"] == encoder
        assert call.arguments["strides"] == [64 * size]


@pytest.mark.parametrize("face", FACES, ids=str)
def test_nan_padding_and_tf32_are_asked_for(host: Host, face: Face) -> None:
    meta = {"swizzle": 0, "elem_size": 4, "elem_type": FP32, "block_size": [8, 16]}
    launcher = launcher_of("src: tensordesc<fp32[8, 16]>", meta)
    plain = Descriptor(BASE, (64, 64), (64, 1))
    nan = dataclasses.replace(plain, padding="nan")
    tf32 = dataclasses.replace(plain, round_f32_to_tf32=True)
    found = [one_map(host, face, launcher, each)[0].arguments for each in (plain, nan, tf32)]
    assert [each["fill"] for each in found] == [0, 1, 0]
    assert [each["type"] for each in found] == [FP32, FP32, TF32]


PADDED_FP4 = {
    "swizzle": 0,
    "elem_size": 1,
    "elem_type": FP4,
    "block_size": [32, 128],
    "fp4_padded": True,
}


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize(
    ("version", "told"), [("3.4.0", 64), ("3.5.1", 128), ("3.6.0", 128), ("3.7.0", 64)]
)
def test_tma3_the_kernel_is_told_the_size_of_padded_fp4_by_release(
    face: Face, version: str, told: int
) -> None:
    with other_host(capability=100) as host:
        launcher = launcher_of("src: tensordesc<u8[32, 64]>", PADDED_FP4, version=version)
        call, values = one_map(host, face, launcher, Descriptor(BASE, (48, 64), (96, 1)))
        assert call.arguments["type"] == FP4
        assert call.arguments["sizes"] == [128, 48]
        assert call.arguments["strides"] == [96]
        assert [int.from_bytes(value, "little") for value in values[1:3]] == [48, told]


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize(("version", "beyond"), [("3.6.0", 2**30), ("3.7.0", 2**31)])
def test_tma3_padded_fp4_is_refused_where_the_size_that_the_kernel_is_told_is_beyond_32_bits(
    face: Face, version: str, beyond: int
) -> None:
    with other_host(capability=100) as host:
        launcher = launcher_of("src: tensordesc<u8[32, 64]>", PADDED_FP4, version=version)
        largest = Descriptor(BASE, (48, beyond - 64), (beyond, 1))
        told = one_map(host, face, launcher, largest)[1][2]
        assert int.from_bytes(told, "little") == 2**31 - 2**31 // beyond * 64
        given = Descriptor(BASE, (48, beyond), (beyond, 1))
        text = host.refusal(face, launcher, 1, None, [given])
        assert f"shape[1] is {beyond}, beyond 32 bits" in text


IM2COL = {
    "swizzle": 3,
    "elem_size": 2,
    "elem_type": FP16,
    "block_size": [256, 64],
    "is_im2col": True,
}
IMAGES = Descriptor(
    BASE,
    (2, 10, 12, 64),
    (10 * 12 * 64, 12 * 64, 64, 1),
    pixel_box_lower_corner=(-1, -2),
    pixel_box_upper_corner=(1, 2),
)


@pytest.mark.parametrize("face", FACES, ids=str)
def test_im2col_has_corners_and_steps(host: Host, face: Face) -> None:
    launcher = launcher_of("src: tensordesc_im2col<fp16[256, 64],input_rank=4>", IM2COL)
    for steps, expected in ((None, [1, 1, 1, 1]), ((1, 2, 3, 4), [4, 3, 2, 1])):
        fresh(host)
        given = dataclasses.replace(IMAGES, element_strides=steps)
        launch = host.launched(face, launcher, 1, None, [given])
        (call,) = encoded(host, "cuTensorMapEncodeIm2col")
        assert call.arguments["sizes"] == [64, 12, 10, 2]
        assert call.arguments["strides"] == [128, 12 * 128, 10 * 12 * 128]
        assert call.arguments["lower"] == [-2, -1]
        assert call.arguments["upper"] == [2, 1]
        assert (call.arguments["channels"], call.arguments["pixels"]) == (64, 256)
        assert call.arguments["element_strides"] == expected
        assert len(launch.values) == 1 + 8 + 2


def words(values: Sequence[bytes]) -> list[tuple[int, int]]:
    return [(len(value), int.from_bytes(value, "little")) for value in values]


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize(
    ("version", "flags", "scratch"),
    [("3.4.0", 0, 1), ("3.5.1", 1, 2), ("3.6.0", 1, 2), ("3.7.0", 2, 2), ("3.9.0", 2, 2)],
)
def test_without_maps_a_descriptor_is_its_parts(
    host: Host, face: Face, version: str, flags: int, scratch: int
) -> None:
    launcher = launcher_of("src: tensordesc<fp32[8, 16]>", version=version)
    given = Descriptor(BASE, (5, 6), (7, 1), padding="nan" if flags else "zero")
    launch = host.launched(face, launcher, 1, None, [given])
    assert words(launch.values) == [
        (8, BASE),
        *[(8, 5), (8, 6), (8, 7), (8, 1)],
        *[(1, 1), (1, 0)][:flags],
        *[(4, 5), (4, 6), (8, 7), (8, 1)],
        *[(8, 0)] * scratch,
    ]
    assert encoded(host) == []


@pytest.mark.parametrize("face", FACES, ids=str)
def test_shape3_descriptors_in_tuples_are_expanded_in_order(host: Host, face: Face) -> None:
    text = "n: i32, t: (i8, (tensordesc<fp16[64, 32]>, constexpr), tensordesc<fp32[8, 16]>), m: i32"
    other = {"swizzle": 0, "elem_size": 4, "elem_type": FP32, "block_size": [8, 16]}
    launcher = launcher_of(text, TILED, other)
    second = Descriptor(BASE + 0x800, (20, 24), (32, 1))
    launch = host.launched(face, launcher, 1, None, [1, (2, (MATRIX, "c"), second), 3])
    assert [len(value) for value in launch.values] == [
        *[4, 1],
        *[128, 4, 4, 8, 8],
        *[128, 4, 4, 8, 8],
        *[4, 8, 8],
    ]
    assert words(launch.values[3:7]) == [(4, 128), (4, 96), (8, 800), (8, 1)]
    assert words(launch.values[8:12]) == [(4, 20), (4, 24), (8, 32), (8, 1)]
    assert words(launch.values[12:13]) == [(4, 3)]


# --- maps that are kept --------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES, ids=str)
def test_a_map_is_made_anew_only_where_the_tensor_differs(host: Host, face: Face) -> None:
    launcher = launcher_of("a: tensordesc<fp16[64, 32]>, b: tensordesc<fp16[64, 32]>", TILED, TILED)
    fresh(host)
    other = dataclasses.replace(MATRIX, base=BASE + 0x100)
    host.call(face, launcher, 1, None, [other, other])
    fresh(host)

    host.call(face, launcher, 1, None, [MATRIX, other])
    assert len(encoded(host)) == 1
    (kept,) = {launch.values[0] for launch in host.driver.launches}
    fresh(host)
    again = host.launched(face, launcher, 1, None, [MATRIX, other])
    assert encoded(host) == []
    assert again.values[0] == kept
    for changed in (
        dataclasses.replace(MATRIX, base=BASE + 0x200),
        dataclasses.replace(MATRIX, shape=(127, 96)),
        dataclasses.replace(MATRIX, strides=(800 + 8, 1)),
        dataclasses.replace(MATRIX, padding="nan"),
    ):
        fresh(host)
        host.call(face, launcher, 1, None, [changed, other])
        assert len(encoded(host)) == 1
        host.call(face, launcher, 1, None, [MATRIX, other])


@pytest.mark.parametrize("face", FACES, ids=str)
def test_a_refused_map_is_not_kept(host: Host, face: Face) -> None:
    launcher = launcher_of("src: tensordesc<fp16[64, 32]>", TILED)
    given = dataclasses.replace(MATRIX, base=BASE + 0x10000)
    fresh(host)
    host.driver.fail("cuTensorMapEncodeTiled", 999)
    error = host.module(launcher).CudaError
    text = host.refusal(face, launcher, 1, None, [given], raises=error, code=999)
    assert "argument 0 'src' (tensordesc<fp16[64, 32]>): cuTensorMapEncodeTiled failed" in text
    fresh(host)
    host.call(face, launcher, 1, None, [given])
    assert len(encoded(host)) == 1


@pytest.mark.parametrize("face", FACES, ids=str)
def test_an_empty_grid_encodes_nothing(host: Host, face: Face) -> None:
    launcher = launcher_of("src: tensordesc<fp16[64, 32]>", TILED)
    host.driver.reset()
    host.call(face, launcher, (0, 1, 1), None, [Descriptor(BASE, (0, 96), (96, 1))])
    assert encoded(host) == []
    assert host.driver.launches == ()


@pytest.mark.parametrize("face", FACES, ids=str)
def test_ctx1_a_thread_without_a_context_encodes_in_the_one_it_gets(host: Host, face: Face) -> None:
    launcher = launcher_of("src: tensordesc<fp16[64, 32]>", TILED)
    given = dataclasses.replace(MATRIX, base=BASE + 0x20000)
    host.driver.current_context = 0
    host.launched(face, launcher, 1, None, [given])
    assert [call.result for call in encoded(host)] == [201, 0]


# --- the driver's fault with small tensors -------------------------------------------------------

BIT = 1 << 21


def second_word(host: Host, face: Face, given: Descriptor) -> int:
    launcher = launcher_of("src: tensordesc<fp16[64, 32]>", TILED)
    _, values = one_map(host, face, launcher, given)
    return int.from_bytes(values[0][8:16], "little")


SMALL = Descriptor(BASE, (64, 32), (64, 1))
# 4 GiB and a little: in 32 bits its size would be small.
LARGE = Descriptor(BASE, (2**26 + 1, 32), (32, 1))
EDGE = Descriptor(BASE, (1024, 64), (64, 1))


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("version", [12080, 13000, 13010, 13030, 13040])
def test_tma5_drivers_up_to_13_3_have_a_bit_of_small_tensors_cleared(
    face: Face, version: int
) -> None:
    with other_host(driver_version=version) as host:
        cleared = version <= 13030
        assert bool(second_word(host, face, SMALL) & BIT) is not cleared
        assert second_word(host, face, LARGE) & BIT
        # 1,024 rows of 64 halves are 128 KiB to the last byte, which does not count.
        assert bool(second_word(host, face, EDGE) & BIT) is not cleared
        assert second_word(host, face, dataclasses.replace(EDGE, shape=(1025, 64))) & BIT


# --- rules ----------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Descriptor, str]] = {
    "base": (
        dataclasses.replace(MATRIX, base=BASE + 8),
        f"base address {BASE + 8:#x} is not aligned to 16 bytes",
    ),
    "stride": (
        dataclasses.replace(MATRIX, strides=(100, 1)),
        "strides[0] is 200 bytes, no multiple of 16",
    ),
    "stride_too_large": (
        dataclasses.replace(MATRIX, strides=(2**39, 1)),
        "strides[0] is 1099511627776 bytes; a tensor map takes 0 to 2^40 - 1",
    ),
    "stride_overflows": (
        dataclasses.replace(MATRIX, strides=(2**63 - 8, 1)),
        "a tensor map takes 0 to 2^40 - 1",
    ),
    "stride_negative": (
        dataclasses.replace(MATRIX, strides=(-800, 1)),
        "strides[0] is -1600 bytes; a tensor map takes 0 to 2^40 - 1",
    ),
    "last_stride": (
        dataclasses.replace(MATRIX, strides=(800, 2)),
        "strides[1] is 2, but the last is 1",
    ),
    "size_zero": (
        dataclasses.replace(MATRIX, shape=(0, 96)),
        "shape[0] is 0; a tensor map takes 1 to 4294967296",
    ),
    "size_negative": (
        dataclasses.replace(MATRIX, shape=(128, -96)),
        "shape[1] is -96; a tensor map takes 1 to 4294967296",
    ),
    "size_beyond_the_kernel": (
        dataclasses.replace(MATRIX, shape=(2**31, 96)),
        "shape[0] is 2147483648, beyond 32 bits",
    ),
    "tf32": (
        dataclasses.replace(MATRIX, round_f32_to_tf32=True),
        "only kernels of fp32 from Triton 3.7 on round to tf32",
    ),
}


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("name", REFUSED)
def test_tma2_each_broken_rule_is_named(host: Host, face: Face, name: str) -> None:
    given, expected = REFUSED[name]
    launcher = launcher_of("src: tensordesc<fp16[64, 32]>", TILED)
    host.driver.reset()
    text = host.refusal(face, launcher, 1, None, [given])
    assert text.startswith("k: argument 0 'src' (tensordesc<fp16[64, 32]>): ")
    assert expected in text
    assert encoded(host) == []


BOXES: dict[str, tuple[dict[str, Any], str]] = {
    "box_too_large": ({"block_size": [512, 32]}, "block size[0] is 512, not 1 to 256"),
    "box_zero": ({"block_size": [64, 0]}, "block size[1] is 0, not 1 to 256"),
    "row": ({"block_size": [64, 4]}, "a row of the block has 8 bytes, no multiple of 16"),
    "span": (
        {"block_size": [64, 32], "swizzle": 2, "elem_size": 4, "elem_type": FP32},
        "a row of the block has 128 bytes, but this swizzle spans 64",
    ),
    "swizzle": ({"swizzle": 9}, "swizzle 9 is not 0 to 3"),
}


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("name", BOXES)
def test_tma2_a_broken_rule_of_the_kernel_is_named(host: Host, face: Face, name: str) -> None:
    changed, expected = BOXES[name]
    meta = TILED | changed
    element = "fp32" if meta["elem_size"] == 4 else "fp16"
    launcher = launcher_of(f"src: tensordesc<{element}[64, 32]>", meta)
    text = host.refusal(face, launcher, 1, None, [Descriptor(BASE, (128, 96), (800, 1))])
    assert expected in text


@pytest.mark.parametrize("face", FACES, ids=str)
def test_tma2_integers_are_not_padded_with_nan(host: Host, face: Face) -> None:
    meta = {"swizzle": 0, "elem_size": 4, "elem_type": INT32, "block_size": [8, 16]}
    launcher = launcher_of("src: tensordesc<i32[8, 16]>", meta)
    text = host.refusal(
        face, launcher, 1, None, [Descriptor(BASE, (64, 64), (64, 1), padding="nan")]
    )
    assert "padding with NaN takes a type of float" in text


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize(
    ("corners", "expected"),
    [
        (((-129, 0), (0, 0)), "the pixel box goes from -129 to 0 in dimension 1"),
        (((0, 0), (0, 128)), "the pixel box goes from 0 to 128 in dimension 2"),
    ],
)
def test_a_pixel_box_reaches_only_so_far(
    host: Host, face: Face, corners: tuple[tuple[int, ...], ...], expected: str
) -> None:
    launcher = launcher_of("src: tensordesc_im2col<fp16[256, 64],input_rank=4>", IM2COL)
    given = dataclasses.replace(
        IMAGES, pixel_box_lower_corner=corners[0], pixel_box_upper_corner=corners[1]
    )
    assert expected in host.refusal(face, launcher, 1, None, [given])


@pytest.mark.parametrize("face", FACES, ids=str)
def test_older_kernels_cannot_be_asked_for_what_they_were_not_compiled_to_do(
    host: Host, face: Face
) -> None:
    given = Descriptor(BASE, (5, 6), (7, 1))
    old = launcher_of("src: tensordesc<fp32[8, 16]>", version="3.4.0")
    text = host.refusal(face, old, 1, None, [dataclasses.replace(given, padding="nan")])
    assert "pads with zeros only" in text
    newer = launcher_of("src: tensordesc<fp32[8, 16]>", version="3.6.0")
    text = host.refusal(face, newer, 1, None, [dataclasses.replace(given, round_f32_to_tf32=True)])
    assert "from Triton 3.7 on" in text


def test_a_null_descriptor_is_refused(host: Host) -> None:
    launcher = launcher_of("src: tensordesc<fp16[64, 32]>", TILED)
    text = host.refusal(Face.C, launcher, 1, None, [None])
    assert text == "k: argument 0 'src' (tensordesc<fp16[64, 32]>) is null"


# --- Python's objects -----------------------------------------------------------------------------


class Bare:
    """What Triton 3.4's descriptors have."""

    base = BASE
    shape: ClassVar[Any] = [128, 96]
    strides: ClassVar[Any] = (800, 1)


class Raises:
    base = BASE

    @property
    def shape(self) -> Any:
        raise RuntimeError("mine")


def objects(**changed: Any) -> Any:
    return type("Object", (Bare,), changed)()


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "no_descriptor": (7, TypeError, "a descriptor with base, shape and strides"),
    "no_shape": (type("O", (), {"base": 0})(), TypeError, "a descriptor with base, shape and"),
    "rank": (objects(shape=(1, 2, 3)), ValueError, "shape has 3 elements, not 2"),
    "strides_rank": (objects(strides=(1,)), ValueError, "strides has 1 elements, not 2"),
    "shape_is_no_sequence": (objects(shape=5), TypeError, "shape is 5, not a sequence of ints"),
    "float": (objects(shape=(128, 96.0)), TypeError, "shape[1] is 96.0, not an int"),
    "large": (objects(strides=(2**63, 1)), OverflowError, "beyond 64 bits"),
    "padding": (objects(padding="ones"), ValueError, "padding is 'ones', not 'zero' or 'nan'"),
    "base": (objects(base="x"), TypeError, "expected an int, None, or an object with data_ptr()"),
    "base_range": (objects(base=2**64), OverflowError, "is no 64-bit address"),
}


def test_an_object_with_the_attributes_will_do(host: Host) -> None:
    launcher = launcher_of("src: tensordesc<fp16[64, 32]>", TILED)
    launch = host.launched(Face.PYTHON, launcher, 1, None, [Bare()])
    assert words(launch.values[1:5]) == [(4, 128), (4, 96), (8, 800), (8, 1)]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_object_is_named(host: Host, name: str) -> None:
    given, raises, expected = WRONG[name]
    launcher = launcher_of("src: tensordesc<fp16[64, 32]>", TILED)
    text = host.refusal(Face.PYTHON, launcher, 1, None, [given], raises=raises)
    assert "argument 0 'src' (tensordesc<fp16[64, 32]>)" in text
    assert expected in text


def test_ptr2_an_exception_of_the_object_is_kept(host: Host) -> None:
    launcher = launcher_of("src: tensordesc<fp16[64, 32]>", TILED)
    with pytest.raises(RuntimeError, match="mine"):
        host.call(Face.PYTHON, launcher, 1, None, [Raises()])
    assert host.driver.launches == ()


class Shrinking:
    """A list of sizes that one of them empties while it is read."""

    base = BASE
    strides: ClassVar[Any] = (800, 1)

    def __init__(self) -> None:
        sizes: list[Any] = []

        class Size:
            def __index__(self) -> int:
                sizes.clear()
                return 128

        sizes += [Size(), Size()]
        self.shape = sizes


def test_a_list_that_becomes_shorter_while_it_is_read_is_refused(host: Host) -> None:
    launcher = launcher_of("src: tensordesc<fp16[64, 32]>", TILED)
    text = host.refusal(Face.PYTHON, launcher, 1, None, [Shrinking()])
    assert "shape became shorter while it was read" in text


class Unpadded(Bare):
    @property
    def padding(self) -> str:
        raise RuntimeError("mine")


class Endless(Bare):
    class Sizes:
        def __iter__(self) -> Any:
            raise KeyError("mine")

    shape: ClassVar[Any] = Sizes()


@pytest.mark.parametrize(("given", "raises"), [(Unpadded(), RuntimeError), (Endless(), KeyError)])
def test_ptr2_exceptions_of_other_attributes_are_kept_too(
    host: Host, given: Any, raises: type[Exception]
) -> None:
    launcher = launcher_of("src: tensordesc<fp16[64, 32]>", TILED)
    with pytest.raises(raises, match="mine"):
        host.call(Face.PYTHON, launcher, 1, None, [given])
    assert host.driver.launches == ()


# --- names and numbers that reach C ---------------------------------------------------------------


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("metas", [(), (TILED, TILED)], ids=["parts", "maps"])
def test_descriptors_whose_names_would_collide_have_names_of_their_own(
    host: Host, face: Face, metas: tuple[dict[str, Any], ...]
) -> None:
    text = "a: (tensordesc<fp16[64, 32]>,), a_0: tensordesc<fp16[64, 32]>, k_desc_2: i32"
    launcher = launcher_of(text, *metas)
    other = dataclasses.replace(MATRIX, base=BASE + 0x100)
    launch = host.launched(face, launcher, 1, None, [(MATRIX,), other, 7])
    assert launch.values[-3] == struct.pack("<i", 7)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"block_size": [-5, 32]}, "block sizes -5, 32"),
        ({"block_size": [64, 99999999999]}, "block sizes 64, 99999999999"),
        ({"swizzle": -1}, "swizzle -1"),
        ({"swizzle": 10**30}, "swizzle"),
        ({"elem_type": 99}, "element type 99"),
        ({"elem_size": 4}, "4 bytes of an element"),
        ({"fp4_padded": True}, "padded fp4 is 14"),
    ],
)
def test_hostile_metadata_is_refused_before_it_becomes_c(
    changed: dict[str, Any], problem: str
) -> None:
    with pytest.raises((MetadataError, InputError), match=problem):
        _ = launcher_of("src: tensordesc<fp16[64, 32]>", TILED | changed).plan
