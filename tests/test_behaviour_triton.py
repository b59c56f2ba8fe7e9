"""Triton's conventions on the recording driver: what is launched, hooks, scratch, errors."""

from __future__ import annotations

import gc
import itertools
import json
import re
import resource
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from launchgen.signature import parse
from tests.launchers import Descriptor, Host
from tests.programs import public
from tests.test_behaviour_references import (
    LAUNCHES,
    allowed,
    check_counts,
    check_nothing_is_left,
    counts,
    growth,
    refused,
)
from tests.triton_calls import called, launcher_object, object_call, only, seed_call

COOPERATIVE, CLUSTER, POLICY, SERIALIZATION, SHARED_MODE = 2, 4, 5, 6, 18
TEXT = "x: *fp32, n: i32, pair: (fp32, (u8, constexpr)), N: constexpr"
VALUES = (0x7F00_0000_1000, -5, (0.5, (200, "c")), "constant")
EXPECTED = [
    struct.pack("<Q", 0x7F00_0000_1000),
    struct.pack("<i", -5),
    struct.pack("<f", 0.5),
    struct.pack("<B", 200),
]

Call = Callable[..., None]
CALLS = pytest.mark.parametrize(
    ("convention", "call"), [("triton", seed_call), ("launcher", object_call)]
)


@CALLS
@pytest.mark.parametrize(
    ("version", "hidden"), [("3.2.0", 0), ("3.4.0", 1), ("3.6.0", 2), ("3.9.0", 2)]
)
def test_arguments_arrive_as_the_kernel_takes_them(
    host: Host, convention: str, call: Call, version: str, hidden: int
) -> None:
    call(host, called(convention, TEXT, version), VALUES, metadata=(8, 1, 1024), stream=0)
    launch = only(host)
    assert list(launch.values) == [*EXPECTED, *[bytes(8)] * hidden]
    assert (launch.grid, launch.block, launch.shared) == ((2, 3, 5), (256, 1, 1), 1024)
    assert launch.attributes == ()


@CALLS
@pytest.mark.parametrize(
    "asked_for", list(itertools.product((False, True), (False, True), (1, 2, 16)))
)
def test_attr1_attributes_stand_in_the_seeds_order(
    host: Host, convention: str, call: Call, asked_for: tuple[bool, bool, int]
) -> None:
    cooperative, pdl, ctas = asked_for
    launcher = called(convention, TEXT)
    asked: dict[str, Any] = {"cooperative": cooperative, "pdl": pdl}
    if convention == "launcher":
        asked = {"made": launcher_object(launcher, **asked)}
    call(host, launcher, VALUES, metadata=(4, ctas, 0), **asked)
    expected: list[tuple[int, tuple[int, ...]]] = []
    if pdl:
        expected.append((SERIALIZATION, (1,)))
    if cooperative:
        expected.append((COOPERATIVE, (1,)))
    if ctas > 1:
        expected += [(CLUSTER, (ctas, 1, 1)), (POLICY, (1,))]
    launch = only(host)
    assert [(each.id, each.numbers) for each in launch.attributes] == expected
    assert launch.grid == (2 * ctas, 3, 5)
    sets = [call for call in host.driver.calls if call.name == "cuFuncSetAttribute"]
    assert len(sets) == (ctas == 16)


@CALLS
def test_older_metadata_has_the_cluster_in_three_numbers(
    host: Host, convention: str, call: Call
) -> None:
    launcher = called(convention, TEXT, "3.4.0")
    call(host, launcher, VALUES, metadata=(4, 4, 0, 2, 2, 1))
    assert only(host).grid == (4, 6, 5)
    assert only(host).attribute(CLUSTER) == (2, 2, 1)
    host.driver.reset()
    call(host, launcher, VALUES, metadata=(4, 1, 0, 1, 1, 1))
    assert only(host).attributes == ()


@CALLS
@pytest.mark.parametrize(("version", "asks"), [("3.6.0", False), ("3.8.0", True)])
def test_oversized_shared_memory_is_asked_for_from_3_8_on(
    host: Host, convention: str, call: Call, version: str, asks: bool
) -> None:
    launcher = called(convention, TEXT, version)
    for shared, expected in ((228 * 1024, []), (228 * 1024 + 16, [SHARED_MODE] * asks)):
        host.driver.reset()
        host.driver.current_context = host.driver.primary_context()
        # No function made up here is allowed so much.
        with pytest.raises(RuntimeError, match=f"shared {shared} bytes"):
            call(host, launcher, VALUES, metadata=(4, 1, shared))
        (failed,) = [each for each in host.driver.calls if each.name == "cuLaunchKernelEx"]
        assert [each["id"] for each in failed.arguments["attributes"]] == expected


# --- the grid -------------------------------------------------------------------------------------


@CALLS
@pytest.mark.parametrize("grid", [(16384, 16384, 16), (65536, 32768, 1), (50000, 50000, 1)])
def test_grid1_products_do_not_wrap(
    host: Host, convention: str, call: Call, grid: tuple[int, int, int]
) -> None:
    call(host, called(convention, TEXT), VALUES, grid=grid)
    assert only(host).grid == grid


@CALLS
def test_grid2_an_empty_grid_runs_the_hooks_and_launches_nothing(
    host: Host, convention: str, call: Call
) -> None:
    seen: list[Any] = []
    hooks = (lambda metadata: seen.append(("enter", metadata)), lambda m: seen.append(("exit", m)))
    call(host, called(convention, TEXT), VALUES, grid=(0, 1, 1), launch_metadata="m", hooks=hooks)
    assert seen == [("enter", "m"), ("exit", "m")]
    assert host.driver.launches == ()


@CALLS
@pytest.mark.parametrize("grid", [(-1, -1, 1), (-1, 1, 1), (2**31, 1, 1), (1, 65536, 1)])
def test_grid3_a_wrong_grid_is_refused(
    host: Host, convention: str, call: Call, grid: tuple[int, int, int]
) -> None:
    with pytest.raises(ValueError, match="k: "):
        call(host, called(convention, TEXT), VALUES, grid=grid)
    assert host.driver.launches == ()


# --- hooks ----------------------------------------------------------------------------------------


class HookChain:
    """What Triton has from 3.5 on where it had None."""

    def __init__(self, *calls: Any) -> None:
        self.calls = list(calls)
        self.called = 0

    def __call__(self, metadata: Any) -> None:
        self.called += 1
        for call in self.calls:
            call(metadata)


@CALLS
def test_pyapi5_an_empty_chain_is_not_called(host: Host, convention: str, call: Call) -> None:
    seen: list[Any] = []
    empty, full = HookChain(), HookChain(seen.append)
    call(host, called(convention, TEXT), VALUES, launch_metadata=7, hooks=(empty, full))
    assert (empty.called, full.called, seen) == (0, 1, [7])
    assert len(host.driver.launches) == 1


@CALLS
def test_pyapi3_an_exception_in_the_enter_hook_means_no_launch(
    host: Host, convention: str, call: Call
) -> None:
    left: list[Any] = []

    def enter(metadata: Any) -> None:
        raise ValueError("from the hook")

    with pytest.raises(ValueError, match="from the hook"):
        call(host, called(convention, TEXT), VALUES, hooks=(enter, left.append))
    assert (host.driver.launches, left) == ((), [])


@CALLS
def test_the_exit_hook_does_not_run_after_a_failed_launch(
    host: Host, convention: str, call: Call
) -> None:
    left: list[Any] = []
    launcher = called(convention, TEXT)
    host.driver.fail("cuLaunchKernelEx", 719)
    with pytest.raises(RuntimeError, match="cuLaunchKernelEx failed: CUDA_ERROR_LAUNCH_FAILED"):
        call(host, launcher, VALUES, hooks=(None, left.append))
    assert left == []


@CALLS
def test_an_exception_in_the_exit_hook_is_kept(host: Host, convention: str, call: Call) -> None:
    def leave(metadata: Any) -> None:
        raise KeyError("late")

    with pytest.raises(KeyError, match="late"):
        call(host, called(convention, TEXT), VALUES, hooks=(None, leave))
    assert len(host.driver.launches) == 1


# --- wrong calls ----------------------------------------------------------------------------------

WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "few": ({"values": VALUES[:-1]}, TypeError, "arguments"),
    "many": ({"values": (*VALUES, 1)}, TypeError, "arguments"),
    "value": ({"values": (0, 2**31, (0.5, (1, 0)), 0)}, OverflowError, "argument 1 'n' (i32)"),
    "metadata": ({"metadata": [4, 1, 0]}, TypeError, "a tuple of 3 or 6 ints"),
    "metadata_count": ({"metadata": (4, 1)}, TypeError, "a tuple of 3 or 6 ints"),
    "warps": ({"metadata": (64, 1, 0)}, ValueError, "64 warps"),
    "no_warps": ({"metadata": (0, 1, 0)}, OverflowError, "out of range"),
    "shared": ({"metadata": (4, 1, -1)}, OverflowError, "out of range"),
    "function": ({"function": None.__class__}, TypeError, "an int handle"),
    "null_function": ({"function": 0}, ValueError, "the function handle is null"),
    "stream": ({"stream": "s"}, TypeError, "stream"),
}


@CALLS
@pytest.mark.parametrize("name", WRONG)
def test_error3_after_a_wrong_argument_nothing_runs(
    host: Host, convention: str, call: Call, name: str
) -> None:
    changed, raises, expected = WRONG[name]
    seen: list[Any] = []
    words = {"values": VALUES, **changed}
    with pytest.raises(raises) as caught:
        call(host, called(convention, TEXT), hooks=(seen.append, seen.append), **words)
    assert expected in str(caught.value)
    assert host.driver.launches == ()
    # A null handle is found where it is launched.
    assert seen == ([] if name != "null_function" else [None])


@CALLS
def test_a_handle_with_other_parameters_is_refused(host: Host, convention: str, call: Call) -> None:
    other = host.driver.make_function("other", [(8, 8)])
    with pytest.raises(ValueError, match="made for another kernel"):
        call(host, called(convention, TEXT), VALUES, function=other)
    assert host.driver.launches == ()


# --- descriptors ----------------------------------------------------------------------------------

META = json.dumps([{"swizzle": 3, "elem_size": 2, "elem_type": 6, "block_size": [64, 32]}])
SOURCE = "n: i32, d: tensordesc<fp16[64, 32]>"


def test_the_seed_gets_descriptors_taken_apart(host: Host) -> None:
    launcher = called("triton", SOURCE, "3.6.0", META)
    seed_call(host, launcher, (1, bytes(range(128)), 128, 96, 800, 1))
    assert list(only(host).values) == [
        struct.pack("<i", 1),
        bytes(range(128)),
        *(struct.pack("<i", size) for size in (128, 96)),
        *(struct.pack("<q", stride) for stride in (800, 1)),
        bytes(8),
        bytes(8),
    ]


def test_launcher_objects_get_descriptors_as_they_are(host: Host) -> None:
    launcher = called("launcher", SOURCE, "3.6.0", META)
    object_call(host, launcher, (1, Descriptor(0x1000, (128, 96), (800, 1))))
    values = only(host).values
    assert values[1].startswith(b"LGRTMAP1")
    assert values[2:4] == (struct.pack("<i", 128), struct.pack("<i", 96))


def test_without_maps_the_seed_gets_each_part(host: Host) -> None:
    launcher = called("triton", SOURCE, "3.9.0")
    parts = (0x1000, 128, 96, 800, 1, True, False, 128, 96, 800, 1)
    seed_call(host, launcher, (1, *parts))
    sizes = [len(value) for value in only(host).values]
    assert sizes == [4, 8, 8, 8, 8, 8, 1, 1, 4, 4, 8, 8, 8, 8]


# --- scratch --------------------------------------------------------------------------------------


def device_memory(host: Host) -> int:
    address = 0x7F00_0010_0000
    host.driver.add_memory(address, 1 << 20)
    return address


class Buffer:
    """Memory that an allocator hands out."""

    alive = 0

    def __init__(self, address: int) -> None:
        self.address = address
        Buffer.alive += 1

    def __del__(self) -> None:
        Buffer.alive -= 1

    def data_ptr(self) -> int:
        return self.address


def test_scratch5_launcher_objects_keep_buffers_until_the_launch_has_returned(host: Host) -> None:
    asked: list[tuple[int, int, int]] = []
    alive: list[int] = []
    memory = device_memory(host)

    def allocate(size: int, alignment: int, stream: int) -> Buffer:
        asked.append((size, alignment, stream))
        return Buffer(memory)

    launcher = called("launcher", TEXT)
    made = launcher_object(
        launcher, num_ctas=2, scratch=(384, 128), profile=(16, 8), allocators=(allocate, allocate)
    )
    hooks = (None, lambda _: alive.append(Buffer.alive))
    object_call(host, launcher, VALUES, made=made, metadata=(4, 2, 0), hooks=hooks)
    assert asked == [(384 * 2 * 30, 128, 0), (16 * 2 * 30, 8, 0)]
    assert alive == [2]
    gc.collect()
    assert Buffer.alive == 0
    assert only(host).values[-2:] == (struct.pack("<Q", memory), struct.pack("<Q", memory))


def test_scratch5_a_misaligned_buffer_is_refused(host: Host) -> None:
    memory = device_memory(host)
    launcher = called("launcher", TEXT)
    made = launcher_object(
        launcher,
        scratch=(384, 128),
        allocators=(lambda *_: memory + 16, None),
    )
    with pytest.raises(ValueError, match="is not aligned to 128 bytes"):
        object_call(host, launcher, VALUES, made=made)
    assert host.driver.launches == ()


def test_scratch6_an_allocators_own_exception_comes_before_hooks(host: Host) -> None:
    def allocate(size: int, alignment: int, stream: int) -> int:
        raise RuntimeError("no allocator was set")

    seen: list[Any] = []
    launcher = called("launcher", TEXT)
    made = launcher_object(launcher, scratch=(384, 128), allocators=(allocate, None))
    with pytest.raises(RuntimeError, match="no allocator was set"):
        object_call(host, launcher, VALUES, made=made, hooks=(seen.append, seen.append))
    assert (seen, host.driver.launches) == ([], ())


def test_scratch7_sizes_beyond_64_bits_are_refused(host: Host) -> None:
    launcher = called("launcher", TEXT)
    made = launcher_object(
        launcher, scratch=(2**40, 8), allocators=(lambda *_: pytest.fail("asked"), None)
    )
    with pytest.raises(ValueError, match="exceeds 64 bits"):
        object_call(host, launcher, VALUES, made=made, grid=(65536, 65535, 65535))


def test_an_empty_grid_asks_for_no_scratch(host: Host) -> None:
    launcher = called("launcher", TEXT)
    made = launcher_object(
        launcher, scratch=(384, 128), allocators=(lambda *_: pytest.fail("asked"), None)
    )
    object_call(host, launcher, VALUES, made=made, grid=(0, 1, 1))
    assert host.driver.launches == ()


def test_the_seed_gets_scratch_with_the_call(host: Host) -> None:
    memory = device_memory(host)
    launcher = called("triton", TEXT)
    seed_call(host, launcher, VALUES, scratch=(Buffer(memory), None))
    assert only(host).values[-2:] == (struct.pack("<Q", memory), bytes(8))


# --- launcher objects -----------------------------------------------------------------------------


def test_a_launcher_object_tells_what_it_was_made_with(host: Host) -> None:
    made = launcher_object(called("launcher", TEXT), num_ctas=2, pdl=True, scratch=(384, 128))
    assert (made.num_ctas, made.launch_cooperative_grid, made.launch_pdl) == (2, 0, 1)
    assert (made.global_scratch_size, made.global_scratch_align) == (384, 128)
    assert (made.profile_scratch_size, made.profile_scratch_align) == (0, 1)
    with pytest.raises(TypeError, match="by position"):
        made(1, 1, 1, stream=0)


def test_a_launcher_object_takes_other_metadata_too(host: Host) -> None:
    launcher = called("launcher", TEXT)
    made = launcher_object(launcher)
    function = launcher.function(host)
    first = (4, 1, 64)
    for metadata in (first, (8, 2, 128), first):
        host.driver.reset()
        object_call(host, launcher, VALUES, made=made, metadata=metadata, function=function)
        assert only(host).block == (32 * metadata[0], 1, 1)
        assert only(host).grid == (2 * metadata[1], 3, 5)
        assert only(host).shared == metadata[2]


# --- where Triton's own launchers are wrong -------------------------------------------------------

# What Triton 3.6.0 launches, measured on an H200: 44, 4294967295, 0, -56, an undefined half, and
# all ones for the pointers.
TRUNCATED = [
    ("u8", 300),
    ("u32", -1),
    ("u64", 2**65),
    ("i8", 200),
    ("fp16", 1e6),
    ("*fp32", 2**64),
    ("*fp32", -5),
]


@CALLS
@pytest.mark.parametrize(("type_", "value"), TRUNCATED)
def test_int2_ptr1_error3_what_does_not_fit_is_refused_and_nothing_launched(
    host: Host, convention: str, call: Call, type_: str, value: Any
) -> None:
    with pytest.raises(OverflowError, match=r"argument 0 'x' "):
        call(host, called(convention, f"x: {type_}"), (value,))
    assert host.driver.launches == ()


@CALLS
@pytest.mark.parametrize(
    "case",
    [
        ("i8", -1, b"\xff"),
        ("u64", 2**64 - 1, b"\xff" * 8),
        ("bf16", 1.00585937, bytes.fromhex("813f")),
        ("fp32", 0.125, bytes.fromhex("0000003e")),
        ("i1", True, b"\x01"),
    ],
)
def test_int1_float6_what_fits_arrives_as_it_is(
    host: Host, convention: str, call: Call, case: tuple[str, Any, bytes]
) -> None:
    type_, value, bits = case
    call(host, called(convention, f"x: {type_}"), (value,))
    assert only(host).values[0] == bits


@CALLS
def test_int4_a_bool_is_0_or_1(host: Host, convention: str, call: Call) -> None:
    with pytest.raises(OverflowError, match="out of range"):
        call(host, called(convention, "x: u1"), (2,))


@CALLS
def test_ptr2_the_exception_of_a_pointer_object_is_kept(
    host: Host, convention: str, call: Call
) -> None:
    class Broken:
        def data_ptr(self) -> int:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        call(host, called(convention, "x: *fp32"), (Broken(),))
    assert host.driver.launches == ()


@CALLS
def test_error4_a_failed_launch_says_call_code_kernel_and_geometry(
    host: Host, convention: str, call: Call
) -> None:
    launcher = called(convention, TEXT, name="my_kernel")
    host.driver.fail("cuLaunchKernelEx", 719)
    with pytest.raises(launcher.module.CudaError) as caught:
        call(host, launcher, VALUES)
    assert caught.value.code == 719
    text = str(caught.value)
    for word in ("my_kernel", "cuLaunchKernelEx", "(719)", "grid 2x3x5", "block 128x1x1"):
        assert word in text


def test_shape3_a_descriptor_in_a_tuple_is_a_map(host: Host) -> None:
    # Triton 3.6 launches with the address of a Python object; 3.8 takes them, as launchgen does.
    launcher = called("launcher", "t: (i32, tensordesc<fp16[64, 32]>)", "3.9.0", META)
    object_call(host, launcher, ((1, DESCRIBED),))
    assert only(host).values[1].startswith(b"LGRTMAP1")


DESCRIBED = Descriptor(0x1000, (128, 96), (800, 1))


class Launching:
    """A number of warps that launches with other metadata when it is read."""

    def __init__(self, launch: Any) -> None:
        self.launch = launch

    def __index__(self) -> int:
        launch, self.launch = self.launch, lambda: None
        launch()
        return 4


def test_metadata_whose_numbers_launch_does_not_mix_with_what_they_launch(host: Host) -> None:
    launcher = called("launcher", TEXT)
    made, function = launcher_object(launcher), launcher.function(host)
    eight = (8, 1, 0)

    def launch(metadata: Any) -> None:
        object_call(host, launcher, VALUES, made=made, metadata=metadata, function=function)

    launch((Launching(lambda: launch(eight)), 1, 0))
    launch(eight)
    assert [each.block[0] for each in host.driver.launches] == [256, 128, 256]


@pytest.mark.parametrize("text", ["*fp32, 1024", 'x: *fp32, "relu", None, n: i32', "1, 2.5"])
def test_the_seeds_convention_takes_bare_literals(host: Host, text: str) -> None:
    count = len(parse(text).arguments)
    launcher = called("triton", text)
    seed_call(host, launcher, (0x1000, *[7] * (count - 1)))
    assert len(host.driver.launches) == 1


# --- references -----------------------------------------------------------------------------------

ALL = "x: *fp32, n: i32, t: (fp32, (u8, constexpr)), d: tensordesc<fp16[64, 32]>, h: fp16"
GOOD = (0x1000, 5, (0.5, (200, None)), DESCRIBED, 1.5)
APART = (0x1000, 5, (0.5, (200, None)), bytes(128), 128, 96, 800, 1, 1.5)


def described(convention: str) -> tuple[Any, ...]:
    return APART if convention == "triton" else GOOD


@CALLS
def test_pyapi1_ten_thousand_calls_leave_nothing(host: Host, convention: str, call: Call) -> None:
    launcher = called(convention, ALL, "3.6.0", META)
    function = launcher.function(host)
    hooks = (HookChain(lambda _: None), lambda _: None)
    values = described(convention)
    made = {"made": launcher_object(launcher)} if convention == "launcher" else {}

    def launch() -> None:
        call(host, launcher, values, function=function, hooks=hooks, **made)

    with host.driver.off():
        watched = [*values, *hooks, launcher.module, None]
        before = counts(watched)
        assert growth(launch, LAUNCHES) < allowed(LAUNCHES)
        check_counts(watched, before, LAUNCHES)


def resident() -> int:
    """Return the bytes of memory that the process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


@CALLS
def test_pyapi1_the_process_does_not_grow_either(host: Host, convention: str, call: Call) -> None:
    """What C allocates is in no account of Python's."""
    launcher = called(convention, ALL, "3.6.0", META)
    function = launcher.function(host)
    made = {"made": launcher_object(launcher)} if convention == "launcher" else {}
    right, wrong = described(convention), [*described(convention)]
    wrong[1] = 2**31

    def both() -> None:
        call(host, launcher, right, function=function, **made)
        with pytest.raises(OverflowError):
            call(host, launcher, wrong, function=function, **made)

    with host.driver.off():
        for _ in range(LAUNCHES // 10):
            both()
        before = resident()
        for _ in range(LAUNCHES):
            both()
        # A leak of 32 bytes a call would be 640 KB.
        assert resident() - before < 300_000


class Pointer:
    def data_ptr(self) -> int:
        return 0x10000


@CALLS
@pytest.mark.parametrize("kind", ["plain", "cooperative", "large cluster", "stream"])
def test_each_failing_call_is_reported_and_launches_nothing(
    host: Host,
    convention: str,
    call: Call,
    kind: str,
    record_property: Callable[[str, object], None],
) -> None:
    launcher = called(convention, ALL, "3.6.0", META)
    chosen: dict[str, Any] = {"cooperative": True} if kind == "cooperative" else {}
    if convention == "launcher":
        chosen = {"made": launcher_object(launcher, **chosen)}
    chosen["metadata"] = (4, 16, 0) if kind == "large cluster" else (4, 1, 0)
    hooks: list[str] = []

    def launch() -> Exception | None:
        hooks.clear()
        chosen["hooks"] = (lambda _: hooks.append("enter"), lambda _: hooks.append("exit"))
        try:
            call(host, launcher, (Pointer(), *described(convention)[1:]), **chosen)
        except Exception as error:
            return error
        return None

    def prepare() -> None:
        """Begin anew, with a handle that no call has had."""
        host.driver.reset()
        host.driver.add_memory(0x1000, 1 << 20)
        host.driver.current_context = host.driver.primary_context()
        if kind == "stream":
            chosen["stream"] = host.driver.new_stream(host.driver.current_context)
        chosen["function"] = launcher.function(host)

    prepare()
    assert launch() is None  # and the driver is open
    prepare()
    before = len(host.driver.calls)
    assert launch() is None
    good = [each.name for each in host.driver.calls[before:]]
    assert {"cuFuncGetParamInfo", "cuPointerGetAttribute", "cuLaunchKernelEx"} <= set(good)
    for index, symbol in enumerate(good):
        for code in (2, 209, 700, 719, 999):
            prepare()
            host.driver.fail(symbol, code, nth=good[: index + 1].count(symbol))
            error = launch()
            if symbol == "cuDriverGetVersion":
                assert error is None
                continue
            assert error is not None, (symbol, code)
            assert re.match(rf"k: (.*: )?{public(symbol)} failed: .* \({code}\): ", str(error))
            assert host.driver.launches == ()
            assert hooks in ([], ["enter"])
            assert launch() is None
            assert len(host.driver.launches) == 1
            assert hooks == ["enter", "exit"]
    record_property("faults", 5 * len(good))


def raising(_: Any) -> None:
    raise ValueError("from a hook")


BAD: dict[str, dict[str, Any]] = {
    "count": {"values": (1,)},
    "pointer": {"at": (0, -1)},
    "pointer_kind": {"at": (0, "x")},
    "integer": {"at": (1, 2**31)},
    "tuple": {"at": (2, (0.5,))},
    "tuple_kind": {"at": (2, [0.5, (1, 2)])},
    "leaf": {"at": (2, (0.5, (300, None)))},
    "descriptor": {"at": (3, "x")},
    "half": {"at": (-1, 1e6)},
    "grid": {"grid": (1, -1, 1)},
    "grid_size": {"grid": (1, 65536, 1)},
    "stream": {"stream": "x"},
    "handle": {"function": "x"},
    "null_handle": {"function": 0},
    "metadata": {"metadata": [4, 1, 0]},
    "warps": {"metadata": (99, 1, 0)},
    "enter": {"hooks": (raising, None)},
    "leave": {"hooks": (None, raising)},
    "launch": {"fail": ("cuLaunchKernelEx", 719)},
}


@CALLS
@pytest.mark.parametrize("name", BAD)
def test_pyapi1_a_refused_call_leaves_nothing(
    host: Host, convention: str, call: Call, name: str
) -> None:
    host.driver.current_context = host.driver.primary_context()
    words = dict(BAD[name])
    launcher = called(convention, ALL, "3.6.0", META)
    words.setdefault("function", launcher.function(host))
    values = words.pop("values", described(convention))
    if "at" in words:
        place, bad = words.pop("at")
        changed = list(values)
        changed[place] = bad
        values = tuple(changed)
    if "fail" in words:
        host.driver.fail(*words.pop("fail"), times=None)
    made = {"made": launcher_object(launcher)} if convention == "launcher" else {}
    check_nothing_is_left(
        refused(lambda: call(host, launcher, values, **made, **words)), [*values, launcher.module]
    )


DESCRIPTORS: dict[str, Any] = {
    "base": Descriptor("x", (128, 96), (800, 1)),
    "rank": Descriptor(0x1000, (128,), (800, 1)),
    "shape": Descriptor(0x1000, (128, "x"), (800, 1)),  # type: ignore[arg-type]
    "shape_kind": Descriptor(0x1000, 5, (800, 1)),  # type: ignore[arg-type]
    "stride": Descriptor(0x1000, (128, 96), (2**64, 1)),
    "rule": Descriptor(0x1000, (128, 96), (100, 1)),
    "padding": Descriptor(0x1000, (128, 96), (800, 1), padding="x"),
    "tf32": Descriptor(0x1000, (128, 96), (800, 1), round_f32_to_tf32=True),
}


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_pyapi1_a_refused_descriptor_leaves_nothing(host: Host, name: str) -> None:
    launcher = called("launcher", ALL, "3.6.0", META)
    made, function = launcher_object(launcher), launcher.function(host)
    values = (*GOOD[:3], DESCRIPTORS[name], GOOD[4])
    call = refused(lambda: object_call(host, launcher, values, made=made, function=function))
    check_nothing_is_left(call, [*values, DESCRIPTORS[name].base])


@pytest.mark.parametrize("answer", ["x", 8, None, ValueError("mine")], ids=type)
def test_pyapi1_an_allocator_that_fails_leaves_nothing(host: Host, answer: Any) -> None:
    def allocate(*_: int) -> Any:
        if isinstance(answer, BaseException):
            raise type(answer)(*answer.args)
        return answer

    launcher = called("launcher", TEXT)
    made = launcher_object(launcher, scratch=(16, 16), allocators=(allocate, None))
    function = launcher.function(host)
    call = refused(lambda: object_call(host, launcher, VALUES, made=made, function=function))
    check_nothing_is_left(call, [allocate, answer])


def test_launcher_objects_and_their_modules_are_collected(host: Host) -> None:
    launcher = called("launcher", TEXT)

    def make() -> None:
        made = launcher_object(launcher, allocators=(lambda *_: 0, lambda *_: 0))
        object_call(host, launcher, VALUES, made=made, function=launcher.function(host))

    with host.driver.off():
        check_nothing_is_left(make, [launcher.module])
