"""The recording driver: what it writes down, and that it behaves as a real one does."""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any, NoReturn

import pytest

from launchgen.diagnostics import BuildError
from launchgen.testing import Call, RecordingDriver, build, read_log
from launchgen.testing._build import SOURCES, entry_points, symbols_newer_than
from tests.cubin import read_kernel_info

HERE = Path(__file__).parent
PROBE = HERE / "driver_probe"
KERNELS = sorted((HERE / "kernels").glob("*/*.json"))
KERNELS = [path for path in KERNELS if path.with_suffix(".cubin").is_file()]
ADD = HERE / "kernels" / "triton-3.6.0-sm90" / "add.cubin"
PTX = PROBE / "static_shared.ptx"
MATMUL_CLUSTER = ADD.with_name("matmul_cluster.cubin")

STRICT = [
    *("-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"),
    *("-Wshadow", "-Wconversion", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wcast-qual"),
]


def identifier(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


class LaunchAttribute(ctypes.Structure):
    _fields_ = (("id", c_int), ("pad", c_int), ("value", ctypes.c_uint * 16))


class LaunchConfig(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("count", ctypes.c_uint),
    )


class Cuda:
    """The driver's entry points as a test calls them: ``cuda.cuInit(0)``; must succeed."""

    def __init__(self, driver: RecordingDriver) -> None:
        self.library = driver.library

    def call(self, name: str, *arguments: object) -> int:
        result: int = getattr(self.library, name)(*arguments)
        return result

    def __getattr__(self, name: str) -> Callable[..., None]:
        def call(*arguments: object) -> None:
            result = self.call(name, *arguments)
            assert result == 0, f"{name} returned {result}"

        return call

    def kernel(self, image: bytes, entry: str) -> c_void_p:
        library, kernel = c_void_p(), c_void_p()
        self.cuLibraryLoadData(byref(library), image, None, None, 0, None, None, 0)
        self.cuLibraryGetKernel(byref(kernel), library, entry.encode())
        return kernel

    def module(self, image: bytes, entry: str) -> tuple[c_void_p, c_void_p]:
        module, function = c_void_p(), c_void_p()
        self.cuModuleLoadData(byref(module), image)
        self.cuModuleGetFunction(byref(function), module, entry.encode())
        return module, function

    def launch(
        self,
        function: c_void_p | int,
        values: list[bytes],
        *,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (128, 1, 1),
        **rest: Any,
    ) -> int:
        attributes = rest.get("attributes", ())
        array = (LaunchAttribute * max(1, len(attributes)))()
        for entry, (number, words) in zip(array, attributes, strict=False):
            entry.id = number
            entry.value = (ctypes.c_uint * 16)(*words)
        config = LaunchConfig(
            (ctypes.c_uint * 3)(*grid),
            (ctypes.c_uint * 3)(*block),
            rest.get("shared", 0),
            rest.get("stream"),
            array,
            len(attributes),
        )
        buffers = [ctypes.create_string_buffer(value, len(value)) for value in values]
        pointers = (c_void_p * (len(buffers) + 1))(*map(ctypes.addressof, buffers))
        return self.call(
            "cuLaunchKernelEx", byref(config), c_void_p(_number(function)), pointers, None
        )


def _number(handle: c_void_p | int) -> int | None:
    return handle.value if isinstance(handle, c_void_p) else handle


ADD_VALUES = [
    *(pointer.to_bytes(8, "little") for pointer in (0x1000, 0x2000, 0x3000)),
    (1024).to_bytes(4, "little"),
    bytes.fromhex("0000003f"),
    bytes(8),
    bytes(8),
]


@pytest.fixture
def cuda(recording_driver: RecordingDriver) -> Cuda:
    """Return the entry points, with the primary context current, as a host program leaves them."""
    recording_driver.current_context = recording_driver.primary_context()
    return Cuda(recording_driver)


Load = Callable[..., tuple[RecordingDriver, Cuda]]


@pytest.fixture
def load() -> Load:
    """Return a function that loads a driver of other properties, with its context current."""

    def load_other(**properties: Any) -> tuple[RecordingDriver, Cuda]:
        driver = RecordingDriver(**properties).load()
        driver.current_context = driver.primary_context()
        return driver, Cuda(driver)

    return load_other


def run(driver: RecordingDriver, command: list[str | Path], **changes: str) -> str:
    done = subprocess.run(
        command,
        env={**driver.environment(), **changes},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    return done.stdout


# ---- against the real one -----------------------------------------------------------------------


def test_it_answers_as_a_real_driver_did() -> None:
    expected, _, crash = (PROBE / "h200.txt").read_text().partition("== stale_handles\n")
    printed = run(RecordingDriver(devices=2), [sys.executable, PROBE / "probe.py"])
    answered, _, stale = printed.partition("== stale_handles\n")
    assert answered.splitlines() == expected.splitlines()
    # The one deliberate difference: a test should fail, not crash.
    assert crash == "died of signal: 11\n"
    assert [line.rpartition(" ")[2] for line in stale.splitlines()] == ["400", "400"]


# ---- what is written down -----------------------------------------------------------------------


@pytest.mark.parametrize("path", KERNELS, ids=identifier)
def test_a_launch_records_each_parameter_as_the_image_has_it(path: Path, load: Load) -> None:
    metadata = json.loads(path.read_text())
    image = path.with_suffix(".cubin")
    info = read_kernel_info(image, metadata["name"])
    driver, cuda = load(capability=80 if path.parent.name.endswith("sm80") else 90)
    kernel = cuda.kernel(image.read_bytes(), metadata["name"])
    cuda.cuKernelSetAttribute(8, metadata["shared"], kernel, 0)
    values = [
        bytes((ordinal + index) % 256 for index in range(size))
        for ordinal, _, size in info.parameters
    ]
    clusters = metadata["num_ctas"]
    attributes = ((4, (clusters, 1, 1)), (5, (1,))) if clusters > 1 else ()
    block = (32 * metadata["num_warps"], 1, 1)
    result = cuda.launch(
        kernel,
        values,
        grid=(clusters, 2, 3),
        block=block,
        shared=metadata["shared"],
        attributes=attributes,
    )
    assert result == 0
    (launch,) = driver.launches
    assert launch.values == tuple(values)
    assert [(item.offset, item.size) for item in launch.parameters] == [
        (offset, size) for _, offset, size in info.parameters
    ]
    assert launch.block == block == info.block
    assert launch.grid == (clusters, 2, 3)
    assert launch.shared == metadata["shared"]
    assert [(item.id, item.numbers) for item in launch.attributes] == list(attributes)
    assert launch.entry == metadata["name"]
    assert launch.function == kernel.value
    for ordinal, offset, size in info.parameters:
        found = c_size_t(), c_size_t()
        cuda.cuKernelGetParamInfo(kernel, c_size_t(ordinal), byref(found[0]), byref(found[1]))
        assert (found[0].value, found[1].value) == (offset, size)
    assert (
        cuda.call("cuKernelGetParamInfo", kernel, c_size_t(len(values)), byref(c_size_t()), None)
        == 1
    )


def test_the_plain_launch_is_recorded_like_the_other(
    recording_driver: RecordingDriver, cuda: Cuda
) -> None:
    _, function = cuda.module(ADD.read_bytes(), "add_kernel")
    stream = recording_driver.new_stream(recording_driver.primary_context())
    buffers = [ctypes.create_string_buffer(value, len(value)) for value in ADD_VALUES]
    pointers = (c_void_p * 7)(*map(ctypes.addressof, buffers))
    recording_driver.reset()
    recording_driver.current_context = recording_driver.primary_context()
    cuda.cuLaunchKernel(function, 3, 2, 1, 128, 1, 1, 16, c_void_p(stream), pointers, None)
    (call,) = recording_driver.calls
    assert (call.name, call.result, call.forced, call.sequence) == ("cuLaunchKernel", 0, False, 0)
    assert (call.process, call.thread) == (os.getpid(), threading.get_native_id())
    (launch,) = recording_driver.launches
    assert call.launch == launch
    assert (launch.grid, launch.block, launch.shared) == ((3, 2, 1), (128, 1, 1), 16)
    assert (launch.stream, launch.device, launch.attributes) == (stream, 0, ())
    assert launch.context == recording_driver.current_context
    assert launch.values == tuple(ADD_VALUES)
    assert launch.attribute(4) is None


def test_a_refused_launch_is_a_call_and_no_launch(
    recording_driver: RecordingDriver, cuda: Cuda
) -> None:
    kernel = cuda.kernel(ADD.read_bytes(), "add_kernel")
    assert cuda.launch(kernel, ADD_VALUES, grid=(2**31, 1, 1)) == 1
    recording_driver.current_context = None
    assert cuda.launch(kernel, ADD_VALUES) == 201
    *_, grid, context = recording_driver.calls
    assert (grid.result, grid.arguments["grid"]) == (1, [2**31, 1, 1])
    assert (context.result, context.launch) == (201, None)
    assert recording_driver.launches == ()


def test_attributes_are_read_no_further_than_they_go(
    recording_driver: RecordingDriver, cuda: Cuda
) -> None:
    function = recording_driver.make_function("k", [])
    given = ((6, (1, 99)), (9, (0x0201,)), (0, (7,)), (4, (1, 1, 1, 99)))
    assert cuda.launch(function, [], attributes=given) == 0
    (launch,) = recording_driver.launches
    assert [item.value.hex() for item in launch.attributes] == [
        "01000000",
        "0102",
        "",
        "01000000" * 3,
    ]
    assert [item.numbers for item in launch.attributes] == [(1,), (), (), (1, 1, 1)]
    assert launch.attribute(6) == (1,)


def test_a_tensor_map_in_a_launch_names_the_call_that_made_it(
    recording_driver: RecordingDriver, cuda: Cuda
) -> None:
    storage = (c_uint64 * 32)()
    place = -(-ctypes.addressof(storage) // 128) * 128
    cuda.cuTensorMapEncodeTiled(
        c_void_p(place),
        7,
        2,
        c_void_p(1 << 20),
        (c_uint64 * 2)(64, 32),
        (c_uint64 * 1)(256),
        (ctypes.c_uint * 2)(32, 16),
        (ctypes.c_uint * 2)(1, 1),
        *(0, 3, 2, 1),
    )
    encoded = recording_driver.calls[-1]
    assert dict(encoded.arguments) == {
        "type": 7,
        "rank": 2,
        "address": 1 << 20,
        "sizes": [64, 32],
        "strides": [256],
        "box": [32, 16],
        "element_strides": [1, 1],
        "interleave": 0,
        "swizzle": 3,
        "promotion": 2,
        "fill": 1,
    }
    function = recording_driver.make_function("k", [4, 128])
    assert cuda.launch(function, [bytes(4), ctypes.string_at(place, 128)]) == 0
    parameter = recording_driver.launches[0].parameters[1]
    assert (parameter.offset, parameter.value[:8]) == (64, b"LGRTMAP1")
    assert int.from_bytes(parameter.value[16:24], "little") == encoded.sequence
    assert set(parameter.value[8:16] + parameter.value[24:]) == {0xFF}


def test_an_im2col_map_is_recorded(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    storage = (c_uint64 * 32)()
    cuda.cuTensorMapEncodeIm2col(
        c_void_p(-(-ctypes.addressof(storage) // 128) * 128),
        6,
        4,
        c_void_p(1 << 20),
        (c_uint64 * 4)(64, 8, 8, 2),
        (c_uint64 * 3)(128, 1024, 8192),
        (c_int * 2)(-1, -1),
        (c_int * 2)(0, 0),
        64,
        128,
        (ctypes.c_uint * 4)(1, 1, 1, 1),
        *(0, 3, 2, 0),
    )
    arguments = recording_driver.calls[-1].arguments
    assert (arguments["lower"], arguments["upper"]) == ([-1, -1], [0, 0])
    assert (arguments["channels"], arguments["pixels"]) == (64, 128)
    assert arguments["strides"] == [128, 1024, 8192]


# ---- functions without an image -----------------------------------------------------------------


def test_a_context_keeps_its_limits(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    def limit(number: int = 1) -> int:
        value = c_size_t()
        cuda.cuCtxGetLimit(byref(value), number)
        return value.value

    made = limit()
    cuda.cuCtxSetLimit(1, c_size_t(2 * made))
    assert limit() == 2 * made
    call = recording_driver.calls[1]
    assert (call.name, dict(call.arguments)) == ("cuCtxSetLimit", {"limit": 1, "value": 2 * made})
    recording_driver.current_context = recording_driver.new_context()
    assert limit() == made
    assert cuda.call("cuCtxGetLimit", byref(c_size_t()), 5) == 215


def test_a_preference_for_shared_memory_is_recorded(
    recording_driver: RecordingDriver, cuda: Cuda
) -> None:
    _, function = cuda.module(ADD.read_bytes(), "add_kernel")
    cuda.cuFuncSetCacheConfig(function, 1)
    call = recording_driver.calls[-1]
    assert dict(call.arguments) == {"function": function.value, "config": 1}


def test_as_many_clusters_are_active_as_fit(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    function = recording_driver.make_function("kernel", [8])

    def active(blocks: int, shared: int = 0) -> int:
        attributes = (LaunchAttribute * 1)()
        attributes[0].id = 4
        attributes[0].value = (ctypes.c_uint * 16)(blocks, 1, 1)
        sizes = (ctypes.c_uint * 3)(blocks, 1, 1), (ctypes.c_uint * 3)(128, 1, 1)
        config = LaunchConfig(*sizes, shared, None, attributes, 1)
        count = c_int()
        cuda.cuOccupancyMaxActiveClusters(byref(count), c_void_p(function), byref(config))
        return count.value

    assert [active(2), active(8)] == [528, 132]
    assert active(2, shared=49153) == 0
    cuda.cuFuncSetAttribute(c_void_p(function), 8, 60000)
    assert active(2, shared=60000) == 198
    assert recording_driver.calls[-1].arguments["count"] == 198


def test_a_made_up_function_lays_its_parameters_out(
    recording_driver: RecordingDriver, cuda: Cuda
) -> None:
    function = recording_driver.make_function("made up", [1, 8, 2, 128, (24, 4), 12])
    values = [bytes([ordinal]) * size for ordinal, size in enumerate((1, 8, 2, 128, 24, 12))]
    assert cuda.launch(function, values) == 0
    (launch,) = recording_driver.launches
    assert [item.offset for item in launch.parameters] == [0, 8, 16, 64, 192, 216]
    assert (launch.entry, launch.values) == ("made up", tuple(values))
    cuda.cuFuncSetAttribute(c_void_p(function), 8, 65536)
    assert cuda.launch(function, values, shared=65536) == 0
    assert cuda.launch(function, values, shared=65537) == 1


@pytest.mark.parametrize("sizes", [[0], [-1], [(8, 0)]])
def test_a_made_up_parameter_has_bytes(
    recording_driver: RecordingDriver, sizes: list[int | tuple[int, int]]
) -> None:
    with pytest.raises(ValueError, match="at least one byte"):
        recording_driver.make_function("k", sizes)


# ---- chosen failures ----------------------------------------------------------------------------


def test_the_nth_call_fails_as_often_as_asked(
    recording_driver: RecordingDriver, cuda: Cuda
) -> None:
    recording_driver.fail("cuCtxSynchronize", 719, nth=2, times=2)
    assert [cuda.call("cuCtxSynchronize") for _ in range(5)] == [0, 719, 719, 0, 0]
    assert [call.forced for call in recording_driver.calls] == [False, True, True, False, False]


def test_a_failure_for_good_ends_with_reset(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    recording_driver.fail("*", 999, nth=2, times=None)
    version = c_int()
    assert [cuda.call("cuDriverGetVersion", byref(version)) for _ in range(3)] == [0, 999, 999]
    assert cuda.call("cuCtxSynchronize") == 999
    recording_driver.reset()
    assert cuda.call("cuDriverGetVersion", byref(version)) == 0


def test_a_failed_call_has_no_effect(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    kernel = cuda.kernel(ADD.read_bytes(), "add_kernel")
    recording_driver.fail("cuLaunchKernelEx", 700)
    recording_driver.fail("cuCtxSetCurrent", 3)
    assert cuda.launch(kernel, ADD_VALUES) == 700
    assert cuda.call("cuCtxSetCurrent", None) == 3
    assert recording_driver.launches == ()
    assert recording_driver.current_context == recording_driver.primary_context()
    failed = recording_driver.calls[-2]
    assert (failed.forced, failed.arguments["function"]) == (True, kernel.value)
    assert cuda.launch(kernel, ADD_VALUES) == 0


def test_error_texts_can_be_unknown(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    text = ctypes.c_char_p(b"before")
    recording_driver.fail("cuGetErrorName", 1)
    assert (cuda.call("cuGetErrorName", 719, byref(text)), text.value) == (1, None)
    assert (cuda.call("cuGetErrorName", 719, byref(text)), text.value) == (
        0,
        b"CUDA_ERROR_LAUNCH_FAILED",
    )
    recording_driver.forget_texts()
    for name in ("cuGetErrorName", "cuGetErrorString"):
        assert (cuda.call(name, 719, byref(text)), text.value) == (1, None)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cuTensorMapEncodeTile", "did you mean 'cuTensorMapEncodeTiled'"),
        ("cuMemAlloc", "no entry point"),
    ],
)
def test_a_failure_names_an_entry_point(
    recording_driver: RecordingDriver, name: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        recording_driver.fail(name, 1)
    with pytest.raises(ValueError, match=message):
        recording_driver.slow(name, 1)


def test_a_slow_load_holds_up_nobody_else(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    recording_driver.slow("cuLibraryLoadData", 1000)
    image = ADD.read_bytes()

    def work() -> None:
        cuda.kernel(image, "add_kernel")

    threads = [threading.Thread(target=work) for _ in range(4)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    version = c_int()
    cuda.cuDriverGetVersion(byref(version))
    assert time.monotonic() - start < 1
    for thread in threads:
        thread.join()
    assert 1 <= time.monotonic() - start < 3


# ---- contexts, devices, threads -----------------------------------------------------------------


def test_each_thread_has_its_own_context(load: Load) -> None:
    driver, cuda = load(devices=2)
    contexts = driver.primary_context(0), driver.primary_context(1)
    kernel = cuda.kernel(ADD.read_bytes(), "add_kernel")
    seen: list[object] = []

    def work() -> None:
        seen.append(driver.current_context)
        seen.append(cuda.launch(kernel, ADD_VALUES))
        driver.current_context = contexts[1]
        seen.append(cuda.launch(kernel, ADD_VALUES))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [None, 201, 0]
    assert driver.current_context == contexts[0]
    assert cuda.launch(kernel, ADD_VALUES) == 0
    other, mine = driver.launches
    assert (other.device, other.context) == (1, contexts[1])
    assert (mine.device, mine.context) == (0, contexts[0])
    assert other.thread != mine.thread == threading.get_native_id()


def test_a_handle_after_unloading_is_refused(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    image = ADD.read_bytes()
    module, function = cuda.module(image, "add_kernel")
    cuda.cuModuleUnload(module)
    assert cuda.launch(function, ADD_VALUES) == 400
    assert cuda.call("cuModuleUnload", module) == 400
    context = recording_driver.new_context()
    recording_driver.current_context = context
    _, function = cuda.module(image, "add_kernel")
    kernel = cuda.kernel(image, "add_kernel")
    bound = c_void_p()
    cuda.cuKernelGetFunction(byref(bound), kernel)
    stream = recording_driver.new_stream(context)
    assert cuda.launch(function, ADD_VALUES, stream=stream) == 0
    cuda.cuCtxDestroy_v2(c_void_p(context))
    recording_driver.current_context = recording_driver.primary_context()
    assert cuda.launch(function, ADD_VALUES) == 400
    assert cuda.launch(bound, ADD_VALUES) == 400
    assert cuda.launch(kernel, ADD_VALUES, stream=stream) == 400
    assert cuda.launch(kernel, ADD_VALUES) == 0


def test_loading_starts_afresh(load: Load) -> None:
    driver, cuda = load(devices=2)
    kernel = cuda.kernel(ADD.read_bytes(), "add_kernel")
    context = driver.current_context
    again = RecordingDriver(devices=1).load()
    assert not driver.is_loaded
    assert again.calls == ()
    assert again.current_context is None
    count = c_int()
    assert cuda.call("cuDeviceGetCount", byref(count)) == 3
    again.current_context = again.primary_context()
    assert again.current_context != context
    assert cuda.launch(kernel, ADD_VALUES) == 400
    cuda.cuDeviceGetCount(byref(count))
    assert count.value == 1
    with pytest.raises(RuntimeError, match="another recording driver has been loaded"):
        driver.calls  # noqa: B018 - the property raises


def test_reset_leaves_what_was_loaded(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    kernel = cuda.kernel(ADD.read_bytes(), "add_kernel")
    recording_driver.slow("*", 1)
    recording_driver.reset()
    assert recording_driver.calls == ()
    assert recording_driver.current_context is None
    recording_driver.current_context = recording_driver.primary_context()
    assert cuda.launch(kernel, ADD_VALUES) == 0


def test_no_device_is_what_init_says(load: Load) -> None:
    driver = RecordingDriver(devices=0).load()
    assert Cuda(driver).call("cuInit", 0) == 100
    with pytest.raises(ValueError, match="no device 0"):
        driver.primary_context(0)
    with pytest.raises(ValueError, match="DEVICES"):
        load(devices=17)


def test_a_capturing_stream_says_so(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    status = c_int(-1)
    cuda.cuStreamIsCapturing(None, byref(status))
    assert status.value == 0
    recording_driver.start_capture()
    cuda.cuStreamIsCapturing(None, byref(status))
    assert status.value == 1


def test_helpers_refuse_handles_that_are_none(recording_driver: RecordingDriver) -> None:
    with pytest.raises(ValueError, match="no live context"):
        recording_driver.current_context = 0x1234
    with pytest.raises(ValueError, match="no live context"):
        recording_driver.new_stream(0x1234)
    assert recording_driver.calls == ()


# ---- devices and images -------------------------------------------------------------------------


def patched(path: Path, *, abi: int, flags: int) -> bytes:
    image = bytearray(path.read_bytes())
    image[7] = abi
    image[48:52] = flags.to_bytes(4, "little")
    return bytes(image)


def family(path: Path) -> bytes:
    """Return an image of ptxas 13 for sm_90a as one for sm_100f."""
    image = bytearray(path.read_bytes().replace(b"-arch sm_90a ", b"-arch sm_100f"))
    image[49] = 100
    return bytes(image)


def ptx(target: str, entry: str = "(.param .u64 p)") -> bytes:
    return f".version 8.8 .target {target} .address_size 64 .entry k{entry} {{ ret; }}".encode()


TKINFO = HERE / "kernels" / "triton-3.9.0-sm90" / "add.cubin"


@pytest.mark.parametrize(
    ("image", "capability", "result"),
    [
        (patched(ADD, abi=51, flags=0x50), 80, 0),
        (patched(ADD, abi=51, flags=0x50), 86, 0),
        (patched(ADD, abi=51, flags=0x56), 80, 209),
        (patched(ADD, abi=51, flags=0x50), 90, 209),
        (patched(ADD, abi=51, flags=0x5A), 91, 0),
        (patched(ADD, abi=51, flags=0x85A), 91, 209),
        (patched(ADD, abi=51, flags=0x85A), 90, 0),
        (patched(ADD, abi=65, flags=100 << 8), 103, 0),
        (patched(ADD, abi=65, flags=100 << 8), 120, 209),
        (patched(ADD, abi=65, flags=100 << 8 | 8), 103, 209),
        (patched(ADD, abi=65, flags=100 << 8 | 8), 100, 0),
        (TKINFO.read_bytes(), 90, 0),
        (TKINFO.read_bytes(), 91, 209),
        (family(TKINFO), 100, 0),
        (family(TKINFO), 103, 0),
        (family(TKINFO), 101, 209),
        (family(TKINFO), 110, 209),
        (ptx("sm_80"), 75, 218),
        (ptx("sm_80"), 80, 0),
        (ptx("sm_80"), 120, 0),
        (ptx("sm_90a"), 90, 0),
        (ptx("sm_90a"), 100, 218),
        (ptx("sm_100f"), 103, 0),
        (ptx("sm_100f"), 110, 218),
        (ptx("sm_120f"), 121, 0),
        (ptx("compute_90"), 90, 218),
        (ptx("sm_90b"), 90, 218),
        (ptx("sm_"), 90, 218),
        (patched(ADD, abi=0, flags=0x5A), 90, 200),
    ],
)
def test_an_image_loads_where_its_architecture_fits(
    load: Load, image: bytes, capability: int, result: int
) -> None:
    _, cuda = load(capability=capability)
    assert cuda.call("cuModuleLoadData", byref(c_void_p()), image) == result


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("", []),
        ("()", []),
        ("(.param .u64 p)", [(0, 8)]),
        ("(.param .u8 a, .param .f16 b, .param .u64 .ptr .global .align 16 c)", "0:1 2:2 8:8"),
        ("(.param .b32 a, .param .align 64 .b8 m[128], .param .b8 t[3])", "0:4 64:128 192:3"),
        ("(.param .u64 p) .reqntid 128 .minnctapersm 1", [(0, 8)]),
    ],
)
def test_an_entry_of_ptx_has_the_parameters_that_it_lists(
    recording_driver: RecordingDriver, cuda: Cuda, entry: str, expected: Any
) -> None:
    if isinstance(expected, str):
        pairs = (pair.split(":") for pair in expected.split())
        expected = [(int(offset), int(size)) for offset, size in pairs]
    kernel = cuda.kernel(ptx("sm_80", entry), "k")
    values = [bytes(size) for _, size in expected]
    assert cuda.launch(kernel, values, block=(128, 1, 1)) == 0
    (launch,) = recording_driver.launches
    assert [(part.offset, part.size) for part in launch.parameters] == expected


def test_ptx_requires_a_block_and_a_cluster(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    entry = "(.param .u64 p) .reqntid 64, 2, 1 .reqnctapercluster 2, 1, 1"
    kernel = cuda.kernel(ptx("sm_90", entry), "k")
    results = [
        cuda.launch(kernel, [bytes(8)], grid=grid, block=block)
        for grid, block in (
            ((2, 1, 1), (64, 2, 1)),
            ((2, 1, 1), (64, 1, 1)),
            ((1, 1, 1), (64, 2, 1)),
        )
    ]
    assert results == [0, 1, 912]


@pytest.mark.parametrize(
    "entry",
    [
        "(.param .u64 p",
        "(.param p)",
        "(.param .u64 p,)",
        "(.u64 p)",
        "(.param .b8 p[])",
        "(.param .b8 p[99999999999])",
        "(.param .u64 p) .reqntid",
        "(.param .u64 p) .reqntid 1,1,1,1",
        "() {",
        "() }",
        "() /* no end",
        '() "no end',
    ],
)
def test_ptx_that_no_assembler_takes_is_refused(
    recording_driver: RecordingDriver, cuda: Cuda, entry: str
) -> None:
    assert cuda.call("cuModuleLoadData", byref(c_void_p()), ptx("sm_80", entry)) == 218


def test_ptx_of_a_newer_release_is_refused(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    for version, result in ((b"9.0", 0), (b"9.1", 222), (b"7.8", 0), (b"8", 218), (b"8.x", 218)):
        image = ptx("sm_80").replace(b"8.8", version)
        assert cuda.call("cuModuleLoadData", byref(c_void_p()), image) == result


def test_a_library_serves_every_device_that_it_fits(load: Load) -> None:
    driver, cuda = load(devices=3, capability=[90, 80, 90])
    kernel = cuda.kernel(ADD.read_bytes(), "add_kernel")
    results = []
    for device in range(3):
        driver.current_context = driver.primary_context(device)
        results.append(cuda.launch(kernel, ADD_VALUES))
    assert results == [0, 209, 0]


def test_eager_loading_finds_bad_images_at_once() -> None:
    program = """
import ctypes
cuda, library = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
cuda.cuInit(0)
print(cuda.cuLibraryLoadData(ctypes.byref(library), b"garbage" * 64, None, None, 0, None, None, 0))
"""
    driver = RecordingDriver()
    assert run(driver, [sys.executable, "-c", program]) == "0\n"
    assert run(driver, [sys.executable, "-c", program], CUDA_MODULE_LOADING="EAGER") == "200\n"


def test_shared_memory_is_the_devices(load: Load) -> None:
    driver, cuda = load(devices=2, opt_in_shared=[101376, 65536], static_shared=1024)
    kernel = cuda.kernel(ADD.read_bytes(), "add_kernel")
    value = c_int()
    for device, most in ((0, 101376), (1, 65536)):
        cuda.cuDeviceGetAttribute(byref(value), 97, device)
        assert value.value == most
        assert cuda.call("cuKernelSetAttribute", 8, most - 1024, kernel, device) == 0
        assert cuda.call("cuKernelSetAttribute", 8, most - 1023, kernel, device) == 1
    cuda.cuKernelSetAttribute(8, 65536, kernel, 0)
    assert cuda.launch(kernel, ADD_VALUES, shared=65536) == 0
    driver.current_context = driver.primary_context(1)
    assert cuda.launch(kernel, ADD_VALUES, shared=65536) == 1


def test_clusters_need_a_device_that_has_them(load: Load) -> None:
    driver, cuda = load(capability=80)
    function = driver.make_function("k", [])
    assert cuda.launch(function, [], attributes=((4, (1, 1, 1)),)) == 1


def test_a_required_cluster_is_the_default(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    kernel = cuda.kernel(MATMUL_CLUSTER.read_bytes(), "matmul_kernel")
    sizes = [size for _, _, size in read_kernel_info(MATMUL_CLUSTER, "matmul_kernel").parameters]
    values = [bytes(size) for size in sizes]
    assert cuda.launch(kernel, values, grid=(4, 1, 1)) == 0
    assert cuda.launch(kernel, values, grid=(3, 1, 1)) == 912
    assert len(recording_driver.launches) == 1


# ---- memory -------------------------------------------------------------------------------------


def pointer(cuda: Cuda, attribute: int, address: int) -> tuple[int, int]:
    value = c_uint64(0)
    return cuda.call(
        "cuPointerGetAttribute", byref(value), attribute, c_uint64(address)
    ), value.value


def test_memory_can_be_pinned_managed_or_another_devices(load: Load) -> None:
    driver, cuda = load(devices=2)
    driver.add_memory(0x10000, 0x1000)
    driver.add_memory(0x20000, 0x1000, device=1)
    driver.add_memory(0x30000, 0x1000, host=True)
    driver.add_memory(0x40000, 0x1000, host=True, managed_as=0x90000)
    driver.add_memory(0x50000, 0x1000, device=1, managed_as=0x50000)
    assert pointer(cuda, 3, 0x10010) == (0, 0x10010)
    assert pointer(cuda, 3, 0x11000) == (1, 0)
    assert pointer(cuda, 9, 0x20000) == (0, 1)
    assert pointer(cuda, 3, 0x20000) == (1, 0)
    assert (pointer(cuda, 2, 0x30000), pointer(cuda, 3, 0x30FFF)) == ((0, 1), (0, 0x30FFF))
    assert (pointer(cuda, 8, 0x30000), pointer(cuda, 8, 0x40000)) == ((0, 0), (0, 1))
    assert pointer(cuda, 3, 0x40008) == (0, 0x90008)
    assert (pointer(cuda, 2, 0x50000), pointer(cuda, 3, 0x50000)) == ((0, 2), (0, 0x50000))
    assert pointer(cuda, 1, 0x10000) == (0, driver.primary_context(0))
    driver.reset()
    assert pointer(cuda, 9, 0x10000) == (1, 0)


@pytest.mark.parametrize(("address", "size"), [(0, 0), (-1, 8), (2**64 - 4, 8)])
def test_memory_has_an_address_and_a_size(
    recording_driver: RecordingDriver, address: int, size: int
) -> None:
    with pytest.raises(ValueError, match="no memory of device 0"):
        recording_driver.add_memory(address, size)
    with pytest.raises(ValueError, match="no memory of device 5"):
        recording_driver.add_memory(64, 64, device=5)


def test_device_memory_holds_what_is_copied(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    address, buffer = c_uint64(), ctypes.create_string_buffer(16)
    cuda.cuMemAlloc_v2(byref(address), c_size_t(16))
    cuda.cuMemsetD8_v2(address, ctypes.c_ubyte(7), c_size_t(16))
    cuda.cuMemcpyHtoD_v2(c_uint64(address.value + 4), b"abcd", c_size_t(4))
    cuda.cuMemcpyDtoH_v2(buffer, address, c_size_t(16))
    assert buffer.raw == b"\x07" * 4 + b"abcd" + b"\x07" * 8
    assert cuda.call("cuMemcpyHtoD_v2", address, buffer, c_size_t(17)) == 1
    recording_driver.reset()
    assert pointer(cuda, 9, address.value) == (0, 0)
    cuda.cuMemFree_v2(address)


# ---- variants -----------------------------------------------------------------------------------


LOOK = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
version = ctypes.c_int()
cuda.cuDriverGetVersion(ctypes.byref(version))
print(version.value, *(int(hasattr(cuda, name)) for name in sys.argv[1:]))
for name in sys.argv[1:]:
    address = ctypes.c_void_p()
    if hasattr(cuda, "cuGetProcAddress_v2"):
        cuda.cuGetProcAddress_v2(
            name.encode(), ctypes.byref(address), 13000, ctypes.c_uint64(0), None
        )
    print(int(bool(address)), end=" ")
"""


def test_missing_symbols_are_found_in_no_way() -> None:
    names = ["cuLaunchKernelEx", "cuLibraryLoadData", "cuLaunchKernel"]
    driver = RecordingDriver(missing=names[:2])
    assert run(driver, [sys.executable, "-c", LOOK, *names]) == "13000 0 0 1\n0 0 1 "


def test_an_older_driver_lacks_what_is_newer() -> None:
    names = ["cuLaunchKernelEx", "cuLibraryLoadData", "cuKernelGetParamInfo", "cuStreamGetDevice"]
    driver = RecordingDriver(driver_version=12040)
    assert run(driver, [sys.executable, "-c", LOOK, *names]) == "12040 1 1 1 0\n1 1 1 0 "
    driver = RecordingDriver(driver_version=11040)
    assert run(driver, [sys.executable, "-c", LOOK, *names]) == "11040 0 0 0 0\n0 0 0 0 "
    assert symbols_newer_than(13000) == ()


def test_a_process_keeps_the_symbols_that_it_has(recording_driver: RecordingDriver) -> None:
    other = RecordingDriver(missing=["cuLaunchKernelEx"])
    with pytest.raises(RuntimeError, match="in a process of its own"):
        other.load()
    assert recording_driver.is_loaded
    with pytest.raises(RuntimeError, match="call load"):
        other.calls  # noqa: B018 - the property raises


def test_a_sanitized_driver_is_for_sanitized_programs() -> None:
    with pytest.raises(RuntimeError, match="thread sanitizer"):
        RecordingDriver(sanitize="thread").load()


def test_another_driver_that_came_first_is_noticed(tmp_path: Path) -> None:
    source = tmp_path / "other.c"
    source.write_text(
        "int cuInit(unsigned flags);\nint cuInit(unsigned flags) { return (int)flags; }\n"
    )
    library = tmp_path / "libcuda.so.1"
    compile_c([source], library, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    program = f"""
import ctypes
ctypes.CDLL({str(library)!r})
from launchgen.testing import RecordingDriver
try:
    RecordingDriver().load()
except RuntimeError as error:
    print("another libcuda.so.1 already" in str(error))
"""
    assert run(RecordingDriver(), [sys.executable, "-c", program]) == "True\n"


def test_it_becomes_what_a_launcher_finds(recording_driver: RecordingDriver) -> None:
    found = ctypes.CDLL("libcuda.so.1")
    assert found._handle == recording_driver.library._handle


def test_the_fast_mode_records_nothing(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    with recording_driver.off():
        assert cuda.launch(0, []) == 0
        assert cuda.call("cuLaunchKernel", *[None] * 11) == 0
        cuda.cuCtxSynchronize()
    assert recording_driver.calls == ()
    assert cuda.launch(0, []) == 400


# ---- other processes ----------------------------------------------------------------------------


def compile_c(sources: list[Path], output: Path, *flags: str) -> None:
    compiler = shlex.split(os.environ.get("CC") or "cc")
    command = [*compiler, *STRICT, *flags, "-o", str(output), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def threads_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("threads") / "threads"
    compile_c([PROBE / "threads.c"], program, "-pthread", "-ldl")
    return program


def test_a_program_writes_a_log(tmp_path: Path, threads_program: Path) -> None:
    log = tmp_path / "log"
    driver = RecordingDriver(devices=2)
    variables = driver.environment(log=log)
    printed = run(driver, [threads_program, ADD], LAUNCHGEN_RECORD=variables["LAUNCHGEN_RECORD"])
    calls = read_log(log)
    launches = [call.launch for call in calls if call.launch is not None]
    assert printed == "320\n"
    assert len(launches) == 320
    assert {call.result for call in calls} == {0}
    assert [call.sequence for call in calls] == list(range(len(calls)))
    assert len({call.thread for call in calls}) == 9
    for launch in launches:
        number = int.from_bytes(launch.values[3], "little", signed=True) // 1000
        assert launch.device == number % 2
    numbers = sorted(launch.values[3] for launch in launches)
    assert numbers == sorted(
        (1000 * thread + index).to_bytes(4, "little")
        for thread in range(8)
        for index in range(20)
        for _ in range(2)
    )


def test_it_can_be_preloaded(tmp_path: Path, threads_program: Path) -> None:
    driver = RecordingDriver(devices=2)
    variables = driver.environment(log=tmp_path / "log")
    del variables["LD_LIBRARY_PATH"]
    variables["LD_PRELOAD"] = str(driver.path / "libcuda.so.1")
    subprocess.run([threads_program, ADD], env=variables, check=True, stdout=subprocess.DEVNULL)
    assert len(read_log(tmp_path / "log")) == 996


@pytest.mark.parametrize("sanitizer", ["thread", "address"])
def test_threads_are_clean(tmp_path: Path, sanitizer: Any) -> None:
    program = tmp_path / "threads"
    compile_c([PROBE / "threads.c"], program, "-g", f"-fsanitize={sanitizer}", "-pthread", "-ldl")
    driver = RecordingDriver(devices=2, sanitize=sanitizer)
    log = tmp_path / "log"
    assert run(driver, [program, ADD], LAUNCHGEN_RECORD=str(log)) == "320\n"
    assert len(read_log(log)) == 996


@pytest.mark.parametrize("image", [ADD, PTX], ids=lambda path: path.suffix)
def test_a_damaged_image_is_refused_or_loaded(tmp_path: Path, image: Path) -> None:
    program = tmp_path / "mutations"
    compile_c([PROBE / "mutations.c"], program, "-g", "-fsanitize=address", "-ldl")
    driver = RecordingDriver(sanitize="address")
    assert run(driver, [program, image, "2000"]) == "1 1\n"


def test_a_program_meets_the_failures_asked_for(tmp_path: Path) -> None:
    driver = RecordingDriver(devices=2, capability=[80, 90])
    driver.fail("cuInit", 100)
    driver.fail("cuDeviceGetCount", 999, nth=2, times=None)
    driver.slow("cuDriverGetVersion", 50)
    driver.forget_texts()
    program = """
import ctypes, time
cuda, value, text = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_char_p()
print(cuda.cuInit(0), cuda.cuInit(0))
print(*(cuda.cuDeviceGetCount(ctypes.byref(value)) for _ in range(3)), value.value)
for device in range(2):
    cuda.cuDeviceGetAttribute(ctypes.byref(value), 75, device)
    print(value.value)
start = time.monotonic()
cuda.cuDriverGetVersion(ctypes.byref(value))
print(time.monotonic() - start >= 0.05, cuda.cuGetErrorString(1, ctypes.byref(text)))
"""
    log = tmp_path / "log"
    printed = run(driver, [sys.executable, "-c", program], LAUNCHGEN_RECORD=str(log))
    assert printed == "100 0\n0 999 999 2\n8\n9\nTrue 1\n"
    assert [call.forced for call in read_log(log)[:5]] == [True, False, False, True, True]


def test_a_wrong_variable_is_told_and_ignored() -> None:
    for name, value in (("FAIL", "cuInit"), ("DEVICES", "many"), ("SLOW", "cuInit:-1")):
        done = subprocess.run(
            [sys.executable, "-c", "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuInit(0))"],
            env={**RecordingDriver().environment(), f"LAUNCHGEN_RECORD_{name}": value},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "0\n"
        assert done.stderr == f"recording driver: ignored LAUNCHGEN_RECORD_{name}={value}\n"


def test_the_environment_holds_nothing_of_another_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAUNCHGEN_RECORD_FAIL", "cuInit:1")
    monkeypatch.setenv("LAUNCHGEN_RECORD", "elsewhere")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/somewhere")
    driver = RecordingDriver()
    variables = driver.environment()
    assert variables["LD_LIBRARY_PATH"] == f"{driver.path}:/somewhere"
    assert sorted(name for name in variables if name.startswith("LAUNCHGEN_RECORD")) == [
        "LAUNCHGEN_RECORD_CAPABILITY",
        "LAUNCHGEN_RECORD_DEVICES",
        "LAUNCHGEN_RECORD_DRIVER_VERSION",
    ]


# ---- logs ---------------------------------------------------------------------------------------


def test_a_log_may_end_in_the_middle_of_a_line(tmp_path: Path, threads_program: Path) -> None:
    log = tmp_path / "log"
    run(RecordingDriver(devices=2), [threads_program, ADD], LAUNCHGEN_RECORD=str(log))
    whole = read_log(log)
    log.write_bytes(log.read_bytes()[:-5])
    assert read_log(log) == whole[:-1]
    assert read_log(tmp_path / "no such log") == ()


@pytest.mark.parametrize("text", ["not JSON\n", '{"seq": 1}\n', "[]\n"])
def test_a_foreign_file_is_no_log(tmp_path: Path, text: str) -> None:
    log = tmp_path / "log"
    log.write_text(text)
    with pytest.raises(ValueError):  # noqa: PT011 - the kind is what is promised
        read_log(log)


def test_names_of_any_bytes_are_written_down(recording_driver: RecordingDriver, cuda: Cuda) -> None:
    library, image = c_void_p(), ADD.read_bytes()
    cuda.cuLibraryLoadData(byref(library), image, None, None, 0, None, None, 0)
    name = bytes(range(1, 256))
    assert cuda.call("cuLibraryGetKernel", byref(c_void_p()), library, name) == 500
    call: Call = recording_driver.calls[-1]
    assert call.arguments["name"] == name.decode("latin-1")


# ---- the build ----------------------------------------------------------------------------------


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_it_compiles_without_a_warning(tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    for source in sorted(SOURCES.glob("*.c")):
        command = [compiler, *STRICT, "-fPIC", "-c", str(source), "-o", str(tmp_path / "out.o")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_it_exports_the_entry_points_and_its_controls_only() -> None:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", build() / "libcuda.so.1"],
        capture_output=True,
        text=True,
        check=True,
    )
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert {name for name in names if not name.startswith("lgr_control_")} == set(entry_points())
    dynamic = subprocess.run(
        ["readelf", "-d", build() / "libcuda.so.1"], capture_output=True, text=True, check=True
    )
    assert "Library soname: [libcuda.so.1]" in dynamic.stdout


def test_an_unknown_symbol_cannot_be_missing() -> None:
    with pytest.raises(ValueError, match="did you mean 'cuInit'"):
        build(missing=["cuInt"])


def test_processes_that_build_at_once_share_the_result(tmp_path: Path) -> None:
    program = "from launchgen.testing import build; print(build())"
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program], env=variables, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    printed = {process.communicate()[0].strip() for process in processes}
    (folder,) = (tmp_path / "launchgen").iterdir()
    assert printed == {str(folder)}
    assert [process.returncode for process in processes] == [0, 0, 0]


def test_a_failing_compiler_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "broken-cc"
    compiler.write_text("#!/bin/sh\necho 'out of ink' >&2\nexit 7\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(BuildError, match=r"(?s)broken-cc failed with status 7.*out of ink"):
        build()
    assert list((tmp_path / "cache" / "launchgen").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = build()
    assert folder.parent == tmp_path / f"launchgen-{os.getuid()}"
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(folder.parent)
    folder.parent.symlink_to(tmp_path)
    with pytest.raises(BuildError, match="belongs to somebody else"):
        build()


def test_nvcc_is_not_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("nothing was to be compiled")

    expected = build()
    compiler = tmp_path / "nvcc"
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setattr("subprocess.run", refuse)
    assert build() == expected
