"""Tensor maps of the module ``cuda_utils``: what the encoder is given, the object, every refusal.

Expected numbers are written out from ``cuda.h`` and from the releases of Triton.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from typing import Any

import pytest

from launchgen.testing import RecordingDriver
from tests.launchers import Host, of_signature
from tests.test_behaviour_references import allowed, growth, refused
from tests.utils_module import BASE, apart, calls, utils_of

FP16, FP32, INT32, BF16, FP4 = 6, 7, 3, 9, 14
TILED = (BASE, 3, 2, FP16, [64, 32], [128, 96], [800, 1], 0)
IM2COL_SHAPE = ([8, 16, 24, 64], [24576, 1536, 64, 1])
SMALL_TENSOR_BIT = 1 << 21


@pytest.fixture
def driver(recording_driver: RecordingDriver) -> RecordingDriver:
    recording_driver.current_context = recording_driver.primary_context()
    return recording_driver


@pytest.fixture
def utils(driver: RecordingDriver) -> Any:
    return utils_of(driver)


def encoded(driver: RecordingDriver) -> dict[str, Any]:
    """Return what the one call of the encoder was given."""
    (call,) = (call for call in calls(driver) if call.name.startswith("cuTensorMap"))
    return dict(call.arguments)


def im2col(*, padding: int = 0, block: object = (128, 64), steps: object = (1, 1, 2, 1)) -> Any:
    shape, strides = IM2COL_SHAPE
    return (BASE, 3, 2, FP16, block, shape, strides, padding, [-1, -2], [0, 1], steps)


# ---- what the encoder is given ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["fill_tma_descriptor", "fill_tma_descriptor_tiled"])
def test_a_map_is_encoded_innermost_first(driver: RecordingDriver, utils: Any, name: str) -> None:
    made = getattr(utils, name)(*TILED)
    assert type(made) is utils.PyCUtensorMap
    assert encoded(driver) == {
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
    assert bytes(made).startswith(b"LGRTMAP1")


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("kind", [list, tuple])
def test_every_rank_is_encoded(driver: RecordingDriver, utils: Any, rank: int, kind: Any) -> None:
    shape = kind(range(11, 11 + rank))
    strides = kind(8**power for power in reversed(range(rank)))
    block = kind(range(8, 8 + 8 * rank, 8))
    utils.fill_tma_descriptor(BASE, 0, 4, FP32, block, shape, strides, 0)
    found = encoded(driver)
    assert found["rank"] == rank
    assert found["sizes"] == list(reversed(shape))
    assert found["strides"] == [4 * stride for stride in reversed(strides[:-1])]
    assert found["box"] == list(reversed(block))
    assert found["element_strides"] == [1] * rank


def test_types_are_the_encoders_own_numbers(driver: RecordingDriver, utils: Any) -> None:
    for number, size in ((BF16, 2), (10, 4), (8, 8), (11, 4), (INT32, 4)):
        driver.reset()
        driver.current_context = driver.primary_context()
        utils.fill_tma_descriptor_tiled(BASE, 0, size, number, [8, 16], [64, 64], [64, 1], 0)
        found = encoded(driver)
        assert (found["type"], found["strides"]) == (number, [64 * size])


def test_padding_asks_for_nan(driver: RecordingDriver, utils: Any) -> None:
    utils.fill_tma_descriptor(*TILED[:-1], 1)
    assert encoded(driver)["fill"] == 1


def test_sizes_beyond_32_bits_are_taken_whole(driver: RecordingDriver, utils: Any) -> None:
    utils.fill_tma_descriptor(2**56, 0, 1, 0, [16, 16], [2**32, 2**32], [2**39, 1], 0)
    found = encoded(driver)
    assert (found["sizes"], found["strides"]) == ([2**32, 2**32], [2**39])
    assert found["address"] == 2**56


@pytest.mark.parametrize(
    ("shape", "strides", "clears"),
    [
        ([128, 96], [800, 1], False),  # 203,390 bytes
        ([64, 64], [64, 1], True),
        ([81, 96], [800, 1], False),  # 128,190 + 1 bytes: see below
        ([2**32, 16], [0, 1], True),  # a stride of nothing
        ([2**20 + 1, 16], [2**21, 1], False),  # 2^42 bytes, of which 32 bits are zero
    ],
)
def test_small_tensors_lose_a_bit_that_drivers_set_wrong(
    utils: Any, shape: list[int], strides: list[int], clears: bool
) -> None:
    span = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) * 2
    assert clears == (span + 1 < 128 * 1024) or shape[0] == 81
    made = utils.fill_tma_descriptor(BASE, 0, 2, FP16, [16, 16], shape, strides, 0)
    second = int.from_bytes(bytes(made)[8:16], "little")
    assert (second & SMALL_TENSOR_BIT == 0) == (span + 1 < 128 * 1024)


def test_im2col_takes_corners_and_steps(driver: RecordingDriver, utils: Any) -> None:
    utils.fill_tma_descriptor_im2col(*im2col())
    assert encoded(driver) == {
        "type": FP16,
        "rank": 4,
        "address": BASE,
        "sizes": [64, 24, 16, 8],
        "strides": [128, 3072, 49152],
        "element_strides": [1, 2, 1, 1],
        "interleave": 0,
        "swizzle": 3,
        "promotion": 2,
        "fill": 0,
        "lower": [-2, -1],
        "upper": [1, 0],
        "channels": 64,
        "pixels": 128,
    }


def test_im2col_of_triton_3_7_has_the_block_apart(driver: RecordingDriver, utils: Any) -> None:
    *given, steps = im2col(block=[1, 2, 3], padding=1)
    utils.fill_tma_descriptor_im2col(*given, 32, 1024, steps)
    found = encoded(driver)
    assert (found["channels"], found["pixels"], found["fill"]) == (32, 1024, 1)
    assert found["element_strides"] == [1, 2, 1, 1]


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_im2col_of_every_rank(driver: RecordingDriver, utils: Any, rank: int) -> None:
    corners = list(range(-1, rank - 3))
    utils.fill_tma_descriptor_im2col(
        *(BASE, 0, 2, FP16, [8, 16], [16] * rank),
        [16 ** (rank - 1 - i) for i in range(rank)],
        *(0, corners, corners, [1] * rank),
    )
    found = encoded(driver)
    assert (found["rank"], found["lower"]) == (rank, corners[::-1])
    assert found["strides"] == [2 * 16**power for power in range(1, rank)]


def test_triton_3_4_has_the_map_written_to_its_memory(driver: RecordingDriver, utils: Any) -> None:
    memory = ctypes.create_string_buffer(b"\xaa" * 512, 512)
    address = -(-ctypes.addressof(memory) // 64) * 64
    offset = address - ctypes.addressof(memory)
    assert utils.fill_tma_descriptor(address, *TILED[:-1]) is None
    assert encoded(driver)["strides"] == [1600]
    assert memory.raw[offset : offset + 8] == b"LGRTMAP1"
    assert memory.raw[:offset] == b"\xaa" * offset
    assert memory.raw[offset + 128 :] == b"\xaa" * (512 - 128 - offset)
    for wrong in (0, address + 32):
        with pytest.raises(ValueError, match="is no memory for a tensor map, which is aligned"):
            utils.fill_tma_descriptor(wrong, *TILED[:-1])


def test_a_thread_without_a_context_is_given_one(recording_driver: RecordingDriver) -> None:
    utils = utils_of(recording_driver)
    assert bytes(utils.fill_tma_descriptor(*TILED)).startswith(b"LGRTMAP1")
    assert recording_driver.current_context == recording_driver.primary_context()


# ---- refusals --------------------------------------------------------------------------------


def tiled(**changes: Any) -> tuple[Any, ...]:
    names = ("base", "swizzle", "size", "type", "block", "shape", "strides", "padding")
    given = dict(zip(names, TILED, strict=True)) | changes
    return tuple(given.values())


RULES = [
    (tiled(base=BASE + 8), "base address 0x7f0000001008 is not aligned to 16 bytes"),
    (tiled(shape=[0, 96]), "shape[0] is 0; a tensor map takes 1 to 4294967296"),
    (tiled(shape=[128, -1]), "shape[1] is -1; a tensor map takes 1 to 4294967296"),
    (tiled(shape=[2**32 + 1, 96]), "shape[0] is 4294967297; a tensor map takes 1 to"),
    (tiled(strides=[2**39, 1]), "strides[0] is 1099511627776 bytes; a tensor map takes 0 to 2^40"),
    (tiled(strides=[-8, 1]), "strides[0] is -16 bytes; a tensor map takes 0 to 2^40"),
    (tiled(strides=[2**62, 1]), "strides[0] is 9223372036854775807 bytes"),
    (tiled(strides=[801, 1]), "strides[0] is 1602 bytes, no multiple of 16"),
    (tiled(strides=[800, 2]), "strides[1] is 2, but the last is 1"),
    (tiled(swizzle=4), "swizzle 4 is not 0 to 3"),
    (tiled(swizzle=-1), "swizzle -1 is not 0 to 3"),
    (tiled(block=[257, 32]), "block size[0] is 257, not 1 to 256"),
    (tiled(block=[64, 0]), "block size[1] is 0, not 1 to 256"),
    (tiled(block=[64, 4]), "a row of the block has 8 bytes, no multiple of 16"),
    (tiled(block=[64, 128]), "a row of the block has 256 bytes, but this swizzle spans 128"),
    (tiled(swizzle=1), "a row of the block has 64 bytes, but this swizzle spans 32"),
    (tiled(size=4, type=INT32, padding=1), "padding with NaN takes a type of float, not number 3"),
    (
        tiled(size=1, type=FP4, block=[64, 128], shape=[128, 96], strides=[832, 1]),
        "shape[1] is 96 values of padded fp4, no multiple of 128",
    ),
    (
        tiled(size=1, type=FP4, block=[64, 64], shape=[128, 128], strides=[832, 1]),
        "padded fp4 takes a last block size of 128, not 64",
    ),
    (tiled(base=BASE + 16, size=1, type=FP4), "is not aligned to 32 bytes"),
    (tiled(block=[]), "it has 0 elements; a tensor map has a rank of 1 to 5"),
    (tiled(block=[8] * 6, shape=[8] * 6, strides=[8] * 6), "it has 6 elements; a tensor map has"),
    (tiled(block=[8] * 1000), "it has 1000 elements; a tensor map has a rank of 1 to 5"),
    (tiled(shape=[128]), "argument 'shape' (sequence of ints): shape has 1 elements, not 2"),
    (tiled(shape=[128] * 9), "argument 'shape' (sequence of ints): shape has 9 elements, not 2"),
    (tiled(strides=[1, 2, 1]), "strides has 3 elements, not 2"),
]


@pytest.mark.parametrize(("given", "text"), RULES, ids=[text for _, text in RULES])
def test_a_broken_rule_is_named(driver: RecordingDriver, utils: Any, given: Any, text: str) -> None:
    for name in ("fill_tma_descriptor", "fill_tma_descriptor_tiled"):
        with pytest.raises(ValueError, match=r"^fill_tma_descriptor") as caught:
            getattr(utils, name)(*given)
        assert str(caught.value).startswith(f"{name}: ")
        assert text in str(caught.value)
    assert calls(driver) == []


WRONG = [
    (tiled(base=1.5), TypeError, "argument 'global_address' (int): expected an int"),
    (tiled(base=2**64), OverflowError, "argument 'global_address' (int): 18446744073709551616"),
    (tiled(size=0), OverflowError, "argument 'elem_size' (int): 0 is out of range, 1 to 16"),
    (tiled(type=-1), OverflowError, "argument 'elem_type' (int): -1 is out of range"),
    (tiled(block=5), TypeError, "argument 'block_size' (sequence of ints): expected a sequence"),
    (tiled(block=[64, 2**32]), OverflowError, "block_size[1] is 4294967296, out of range"),
    (tiled(block=[-1, 64]), OverflowError, "block_size[0] is -1, out of range"),
    (tiled(shape=None), TypeError, "shape is None, not a sequence of ints"),
    (tiled(shape=[1.5, 2]), TypeError, "shape[0] is 1.5, not an int"),
    (tiled(strides=[2**63, 1]), OverflowError, "strides[0] is 9223372036854775808, beyond 64 bits"),
    (tiled(padding=2), OverflowError, "argument 'padding' (int): 2 is out of range, 0 to 1"),
    (TILED[:-1], TypeError, "expected 8 arguments, got 7"),
]


@pytest.mark.parametrize(("given", "kind", "text"), WRONG, ids=[text for _, _, text in WRONG])
def test_a_wrong_argument_is_named(
    driver: RecordingDriver, utils: Any, given: Any, kind: Any, text: str
) -> None:
    with pytest.raises(kind) as caught:
        utils.fill_tma_descriptor_tiled(*given)
    assert text in str(caught.value)
    assert calls(driver) == []


def of_im2col(index: int, value: object) -> tuple[Any, ...]:
    given = list(im2col())
    given[index] = value
    return tuple(given)


IM2COL_RULES = [
    (of_im2col(4, [128]), ValueError, "block_size has 1 elements, not 2"),
    (
        of_im2col(4, [1025, 64]),
        ValueError,
        "[0], the pixels of a column, is 1025, not 1 to 1024",
    ),
    (
        of_im2col(4, [128, 257]),
        ValueError,
        "[1], the channels of a pixel, is 257, not 1 to 256",
    ),
    (of_im2col(5, [8, 64]), ValueError, "it has 2 elements; a tensor map has a rank of 3 to 5"),
    (of_im2col(5, [8] * 6), ValueError, "it has 6 elements; a tensor map has a rank of 3 to 5"),
    (of_im2col(6, [64, 1]), ValueError, "strides has 2 elements, not 4"),
    (of_im2col(8, [-1]), ValueError, "pixel_box_lower has 1 elements, not 2"),
    (of_im2col(8, [-129, 0]), ValueError, "the pixel box goes from -129 to 0 in dimension 1"),
    (of_im2col(9, [0, 128]), ValueError, "the pixel box goes from -2 to 128 in dimension 2"),
    (of_im2col(9, [0, 2**31]), OverflowError, "pixel_box_upper[1] is 2147483648, out of range"),
    (of_im2col(10, [1, 1, 9, 1]), ValueError, "element_strides[2] is 9, not 1 to 8"),
    (of_im2col(10, [1, 0, 1, 1]), ValueError, "element_strides[1] is 0, not 1 to 8"),
    (of_im2col(10, [1]), ValueError, "element_strides has 1 elements, not 4"),
    (im2col()[:-1], TypeError, "expected 11 arguments, got 10"),
    ((*im2col(), 1), TypeError, "expected 11 arguments, got 12"),
]


@pytest.mark.parametrize(("given", "kind", "text"), IM2COL_RULES, ids=[t for *_, t in IM2COL_RULES])
def test_a_broken_rule_of_im2col_is_named(
    driver: RecordingDriver, utils: Any, given: Any, kind: Any, text: str
) -> None:
    with pytest.raises(kind) as caught:
        utils.fill_tma_descriptor_im2col(*given)
    assert str(caught.value).startswith("fill_tma_descriptor_im2col: ")
    assert text in str(caught.value)
    assert calls(driver) == []


def test_a_failure_of_the_encoder_keeps_its_cause(driver: RecordingDriver, utils: Any) -> None:
    with pytest.raises(utils.CudaError) as caught:
        utils.fill_tma_descriptor(*tiled(type=99))
    text = str(caught.value)
    assert text.startswith(
        "fill_tma_descriptor: cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE (1): "
    )
    assert "innermost first: type 99, rank 2, base 0x7f0000001000, sizes 96 128 " in text
    assert caught.value.code == 1


def test_a_driver_without_an_encoder_is_named() -> None:
    code = f"""
try:
    cuda_utils.fill_tma_descriptor({BASE}, 0, 2, 6, [8], [64], [1], 0)
except cuda_utils.CudaError as error:
    result = [error.code, str(error)]
"""
    missing = ("cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col")
    code_, text = apart(code, RecordingDriver(missing=missing))
    assert code_ == 302
    assert (
        text == "fill_tma_descriptor: the driver is older than CUDA 12 and encodes no tensor maps"
    )


# ---- the object ------------------------------------------------------------------------------


def test_maps_are_aligned_for_every_release_of_cuda(utils: Any) -> None:
    made = [utils.fill_tma_descriptor(*TILED) for _ in range(100)]
    made += [utils.PyCUtensorMap() for _ in range(100)]
    assert utils.PyCUtensorMap.__basicsize__ == 256
    assert len({id(each) for each in made}) == 200
    for each in made:
        # Where driver.c has it, whose struct is aligned to 128; CUDA 12's own type to 64.
        assert each.tma_desc_cpu_ptr() == id(each) + 128
        assert id(each) % 128 == 0


def test_a_map_is_128_bytes_that_nobody_can_write(utils: Any) -> None:
    made = utils.fill_tma_descriptor(*TILED)
    view = memoryview(made)
    assert (view.nbytes, view.readonly, view.format) == (128, True, "B")
    assert ctypes.string_at(made.tma_desc_cpu_ptr(), 128) == bytes(made)
    with pytest.raises(TypeError):
        view[0] = 1
    with pytest.raises(TypeError):
        utils.PyCUtensorMap.color = 1
    assert type(made).__module__ == "triton.backends.nvidia"
    assert type(made).__name__ == "PyCUtensorMap"
    address = made.tma_desc_cpu_ptr()
    del made  # the view keeps it
    assert ctypes.string_at(address, 8) == bytes(view[:8])


def test_a_map_made_by_hand_is_empty(utils: Any) -> None:
    filled = utils.fill_tma_descriptor(*TILED)
    del filled
    assert all(bytes(utils.PyCUtensorMap()) == bytes(128) for _ in range(50))


def test_launchers_take_the_map(host: Host) -> None:
    host.driver.current_context = host.driver.primary_context()
    launcher = of_signature("m: nvTmaDesc")
    made = utils_of(host.driver).fill_tma_descriptor(*TILED)
    host.module(launcher).launch(host.function(launcher), 1, None, made)
    (launch,) = host.driver.launches
    assert launch.values == (bytes(made),)


def test_ten_thousand_maps_leave_nothing(driver: RecordingDriver, utils: Any) -> None:
    kind = utils.PyCUtensorMap
    shape, address = [128, 96], 2**40 + 4096
    given = (address, *TILED[1:5], shape, *TILED[6:])

    def call() -> None:
        made = utils.fill_tma_descriptor(*given)
        made.tma_desc_cpu_ptr()
        memoryview(made).release()

    gc.collect()
    with driver.off():
        call()
        before = [sys.getrefcount(each) for each in (kind, shape, address)]
        assert growth(call, 10_000) < allowed(10_000)
        after = [sys.getrefcount(each) for each in (kind, shape, address)]
        assert after == before
        # Memory of maps is used again.
        assert len({id(utils.fill_tma_descriptor(*given)) for _ in range(1000)}) == 1


@pytest.mark.parametrize(("given", "text"), RULES[:8], ids=[text for _, text in RULES[:8]])
def test_a_refused_map_leaves_nothing(utils: Any, given: Any, text: str) -> None:
    kind = utils.PyCUtensorMap
    gc.collect()
    before = sys.getrefcount(kind)
    call = refused(lambda: utils.fill_tma_descriptor(*given))
    assert growth(call, 200) < allowed(200), text
    assert sys.getrefcount(kind) == before


def test_threads_make_and_drop_maps(driver: RecordingDriver, utils: Any) -> None:
    shared: list[Any] = [None]

    def work(seed: int) -> None:
        kept = []
        for index in range(2000):
            made = utils.PyCUtensorMap()
            assert bytes(made) == bytes(128)
            shared[0] = made
            kept.append(shared[0])
            if index % (seed + 2) == 0:
                kept.clear()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(utils.PyCUtensorMap()) for _ in range(10)}) == 1
    assert driver.is_loaded
