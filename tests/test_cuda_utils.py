"""The module of Triton's calls outside a launch: what reaches the driver, what comes back."""

from __future__ import annotations

import gc
import re
import sys
import sysconfig
import threading
from pathlib import Path
from typing import Any

import pytest

from launchgen.artifacts import ARTIFACTS
from launchgen.cli import main
from launchgen.planning import make_plan
from launchgen.rendering import render
from launchgen.sources import read_kernel
from launchgen.targets import TARGETS
from launchgen.testing import RecordingDriver
from launchgen.utils_plan import plan_utils
from tests.programs import FLAGS, cc, import_module, new_folder, run
from tests.test_behaviour_references import allowed, growth, refused
from tests.utils_module import BASE, apart, built, calls, named, utils_of
from tests.zoo import KERNELS

FOLDER = KERNELS / "triton-3.6.0-sm90"
ADD = (FOLDER / "add.cubin").read_bytes()
PTX = (FOLDER / "grid.ptx").read_bytes()
ENTRY = "add_kernel"

# What Triton's CudaUtils takes from its own module, 3.4 to 3.9, but for what launches.
NAMES = {
    *("load_binary", "unload_module", "get_device_properties", "get_device_capability"),
    *("get_current_device", "set_current_device", "get_default_stream", "is_stream_capturing"),
    *("cuOccupancyMaxActiveClusters", "set_printf_fifo_size", "fill_tma_descriptor"),
    *("fill_tma_descriptor_tiled", "fill_tma_descriptor_im2col", "PyCUtensorMap"),
}
SET, RETAIN, CURRENT = "cuCtxSetCurrent", "cuDevicePrimaryCtxRetain", "cuCtxGetCurrent"
DYNAMIC_SHARED, NON_PORTABLE, SHARED_MODE = 8, 14, 17
LIMIT = 232448


@pytest.fixture
def driver(recording_driver: RecordingDriver) -> RecordingDriver:
    """Return a driver in whose process a context is current."""
    recording_driver.current_context = recording_driver.primary_context()
    return recording_driver


@pytest.fixture
def utils(driver: RecordingDriver) -> Any:
    return utils_of(driver)


@pytest.fixture
def loaded(driver: RecordingDriver, utils: Any) -> int:
    """Return a function, of which nothing was recorded."""
    _, function, *_ = utils.load_binary(ENTRY, ADD, 0, 0)
    driver.reset()
    driver.current_context = driver.primary_context()
    assert isinstance(function, int)
    return function


def attributes_set(driver: RecordingDriver) -> list[tuple[int, int]]:
    return [
        (call.arguments["attribute"], call.arguments["value"])
        for call in driver.calls
        if call.name == "cuFuncSetAttribute"
    ]


def test_it_has_the_names_that_triton_takes(utils: Any) -> None:
    public = {name for name in vars(utils) if not name.startswith("_")}
    assert public == NAMES | {"CudaError"}
    assert utils.__name__ == "cuda_utils"
    assert issubclass(utils.CudaError, RuntimeError)


# ---- devices ---------------------------------------------------------------------------------


def test_a_device_is_described_as_triton_does(driver: RecordingDriver, utils: Any) -> None:
    assert utils.get_device_properties(0) == {
        "max_shared_mem": LIMIT,
        "max_num_regs": 65536,
        "multiprocessor_count": 132,
        "warpSize": 32,
        "sm_clock_rate": 1980000,
        "mem_clock_rate": 3201000,
        "mem_bus_width": 6144,
    }
    asked = [c.arguments["attribute"] for c in calls(driver) if c.name == "cuDeviceGetAttribute"]
    assert asked == [75, 76, 97, 12, 16, 10, 13, 36, 37]
    assert utils.get_device_capability(0) == (9, 0)


def test_oversized_shared_memory_is_asked_for_where_devices_have_it() -> None:
    asked = RecordingDriver(capability=107)
    code = "result = cuda_utils.get_device_properties(0)['max_shared_mem']"
    log = built().parent / "oversized.log"
    assert apart(code, asked) > 0
    environment = asked.environment(log=log)
    script = f"import sys; sys.path.insert(0, {str(built().parent)!r}); import cuda_utils; "
    done = run(
        [sys.executable, "-c", f"{script}cuda_utils.get_device_properties(0)"], env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert '"attribute":150' in log.read_text().replace(" ", "")


def test_devices_are_made_current_and_told(driver: RecordingDriver) -> None:
    two = RecordingDriver(devices=2)
    code = """
result = [cuda_utils.get_current_device(), cuda_utils.set_current_device(1)]
result += [cuda_utils.get_current_device(), cuda_utils.get_default_stream(0)]
result += [cuda_utils.get_current_device()]
"""
    assert driver.is_loaded
    assert apart(code, two) == [0, None, 1, 0, 0]


def test_a_thread_without_a_context_is_given_device_0s(
    recording_driver: RecordingDriver,
) -> None:
    utils = utils_of(recording_driver)
    assert utils.get_current_device() == 0
    assert named(recording_driver) == [CURRENT, RETAIN, SET, "cuCtxGetDevice"]
    assert recording_driver.current_context == recording_driver.primary_context()


def test_a_current_context_is_left_as_it_is(driver: RecordingDriver, utils: Any) -> None:
    own = driver.new_context()
    driver.current_context = own
    assert utils.get_current_device() == 0
    assert utils.is_stream_capturing(0) is False
    utils.set_printf_fifo_size(2**20)
    utils.load_binary(ENTRY, ADD, 0, 0)
    assert driver.current_context == own
    assert RETAIN not in named(driver)


def test_a_stream_says_whether_it_is_captured(driver: RecordingDriver, utils: Any) -> None:
    stream = driver.new_stream(driver.primary_context())
    assert utils.is_stream_capturing(stream) is False
    assert calls(driver)[-1].arguments["stream"] == stream
    driver.start_capture()
    assert utils.is_stream_capturing(stream) is True


def test_a_stream_brings_its_own_device(driver: RecordingDriver) -> None:
    assert driver.is_loaded
    code = """
import ctypes
cuda_utils.set_current_device(1)
cuda, stream = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
assert cuda.cuStreamCreate(ctypes.byref(stream), 0) == 0
assert cuda.cuCtxSetCurrent(None) == 0
result = [cuda_utils.is_stream_capturing(stream.value), cuda_utils.get_current_device()]
"""
    assert apart(code, RecordingDriver(devices=2)) == [False, 1]


def test_the_printf_buffer_is_set_where_it_differs(driver: RecordingDriver, utils: Any) -> None:
    driver.current_context = driver.new_context()
    assert utils.set_printf_fifo_size(2**21) is None
    assert named(driver)[-2:] == ["cuCtxGetLimit", "cuCtxSetLimit"]
    assert dict(calls(driver)[-1].arguments) == {"limit": 1, "value": 2**21}
    utils.set_printf_fifo_size(2**21)
    assert named(driver).count("cuCtxSetLimit") == 1
    utils.set_printf_fifo_size(2**40)  # beyond 32 bits
    assert calls(driver)[-1].arguments["value"] == 2**40
    with pytest.raises(ValueError, match=r"set_printf_fifo_size: argument 'size' .*-1 is negative"):
        utils.set_printf_fifo_size(-1)


# ---- binaries --------------------------------------------------------------------------------


def test_a_binary_is_loaded_and_told_of(driver: RecordingDriver, utils: Any) -> None:
    module, function, registers, spills, threads = utils.load_binary(ENTRY, ADD, 0, 0)
    load, get = (call for call in calls(driver) if call.name.startswith("cuModule"))
    assert (load.name, get.name) == ("cuModuleLoadData", "cuModuleGetFunction")
    assert get.arguments["module"] == module
    assert get.arguments["name"] == ENTRY
    asked = [call for call in calls(driver) if call.name == "cuFuncGetAttribute"]
    assert [call.arguments["attribute"] for call in asked] == [4, 3, 0]
    assert {call.arguments["function"] for call in asked} == {function}
    assert (registers, threads) == tuple(asked[i].arguments["value"] for i in (0, 2))
    assert spills == asked[1].arguments["value"] // 4
    assert registers > 0
    assert attributes_set(driver) == []
    assert utils.unload_module(module) is None
    assert dict(calls(driver)[-1].arguments) == {"module": module}


# The recording driver's kernels spill nothing: this one stands before its answer.
SPILLING = """
#include <dlfcn.h>
#include <string.h>
static int (*real)(int *value, int attribute, void *function);
static int spilling(int *value, int attribute, void *function)
{
    int status = real(value, attribute, function);
    if (status == 0 && attribute == 3)
        *value = 44;
    return status;
}
static void *find(void *library, const char *symbol)
{
    void *found = dlsym(library, symbol);
    if (strcmp(symbol, "cuFuncGetAttribute") != 0)
        return found;
    *(void **)&real = found;
    return (void *)spilling;
}
#define dlsym find
"""


def test_spills_are_counted_in_registers(driver: RecordingDriver) -> None:
    folder = new_folder()
    (folder / "spilling.h").write_text(SPILLING)
    source = built().with_name("cuda_utils.c")
    include = ("-isystem", sysconfig.get_path("include"), "-include", "spilling.h")
    cc(folder, *FLAGS, "-shared", *include, source, "-o", built().name)
    module = import_module(folder / built().name)
    assert driver.is_loaded
    assert module.load_binary(ENTRY, ADD, 0, 0)[3] == 11


@pytest.mark.parametrize("image", [bytearray(ADD), memoryview(ADD), memoryview(ADD + ADD)[::1]])
def test_whatever_holds_bytes_is_an_image(utils: Any, image: Any) -> None:
    assert utils.load_binary(ENTRY, image, 0, 0)[1] != 0


def test_ptx_is_loaded_from_bytes_and_text(utils: Any) -> None:
    entry = re.search(rb"\.entry (\w+)", PTX)
    assert entry
    for image in (PTX, PTX.decode(), bytearray(PTX)):
        assert utils.load_binary(entry[1].decode(), image, 0, 0)[1] != 0


@pytest.mark.parametrize(
    ("shared", "expected"),
    [(0, []), (1, []), (49152, []), (49153, [(8, 49153)]), (LIMIT, [(8, LIMIT)])],
)
def test_shared_memory_is_raised_above_48_kib(
    driver: RecordingDriver, utils: Any, shared: int, expected: list[tuple[int, int]]
) -> None:
    utils.load_binary(ENTRY, ADD, shared, 0)
    assert attributes_set(driver) == expected
    preferred = [c.arguments["config"] for c in calls(driver) if c.name == "cuFuncSetCacheConfig"]
    assert preferred == [1] * len(expected)


def test_static_shared_memory_counts_too() -> None:
    static = RecordingDriver(static_shared=1000)
    code = f"""
image = open({str(FOLDER / "add.cubin")!r}, "rb").read()
result = []
for shared in (49152 - 1000, {LIMIT} - 1000, {LIMIT} - 999):
    try:
        result.append(cuda_utils.load_binary({ENTRY!r}, image, shared, 0)[1] != 0)
    except ValueError as error:
        result.append(str(error))
"""
    small, most, refusal = apart(code, static)
    assert small is most is True
    assert f"needs {LIMIT - 999} bytes of dynamic shared memory" in refusal
    assert (
        f"allows {LIMIT - 1000} ({LIMIT}, of which the kernel's static use takes 1000)" in refusal
    )


def test_oversized_shared_memory_is_a_mode(driver: RecordingDriver, utils: Any) -> None:
    shared = 228 * 1024 + 1
    with pytest.raises(ValueError, match=rf"needs {shared} bytes .* device 0 allows {LIMIT}"):
        utils.load_binary(ENTRY, ADD, shared, 0)
    assert attributes_set(driver) == [(SHARED_MODE, 3)]
    assert named(driver)[-1] == "cuModuleUnload"
    code = f"""
image = open({str(FOLDER / "add.cubin")!r}, "rb").read()
result = cuda_utils.load_binary({ENTRY!r}, image, {shared}, 0)[1] != 0
"""
    assert apart(code, RecordingDriver(driver_version=13040)) is True


def test_a_binary_goes_to_the_device_that_is_named() -> None:
    code = f"""
image = open({str(FOLDER / "add.cubin")!r}, "rb").read()
cuda_utils.load_binary({ENTRY!r}, image, 0, 1)
result = [cuda_utils.get_current_device()]
try:
    cuda_utils.load_binary({ENTRY!r}, image, 0, 0)
except ValueError as error:
    result.append(str(error))
"""
    current, refusal = apart(code, RecordingDriver(devices=2))
    assert current == 1
    assert refusal == f"load_binary: {ENTRY}: the kernel is for device 0, but device 1 is current"


@pytest.mark.parametrize("size", [0, 63, 64, 500, len(ADD) - 1])
def test_an_image_that_is_cut_off_does_not_reach_the_driver(
    driver: RecordingDriver, utils: Any, size: int
) -> None:
    with pytest.raises(ValueError, match=r"load_binary: add_kernel: the image is (empty|cut off)"):
        utils.load_binary(ENTRY, ADD[:size], 0, 0)
    assert calls(driver) == []


def test_an_unknown_function_leaves_no_module(driver: RecordingDriver, utils: Any) -> None:
    with pytest.raises(utils.CudaError) as caught:
        utils.load_binary("nothing", ADD, 0, 0)
    assert str(caught.value).startswith(
        "load_binary: nothing: cuModuleGetFunction failed: CUDA_ERROR_NOT_FOUND (500): "
    )
    assert (caught.value.code, caught.value.name) == (500, "CUDA_ERROR_NOT_FOUND")
    assert named(driver)[-1] == "cuModuleUnload"


AFTER_LOADING = [
    ("cuModuleGetFunction", 1),
    *(("cuFuncGetAttribute", nth) for nth in (1, 2, 3, 4)),
    ("cuDeviceGetAttribute", 1),
    ("cuFuncSetAttribute", 1),
    ("cuFuncSetCacheConfig", 1),
]


@pytest.mark.parametrize(("symbol", "nth"), AFTER_LOADING)
def test_a_failure_after_loading_unloads(
    driver: RecordingDriver, utils: Any, symbol: str, nth: int
) -> None:
    driver.fail(symbol, 700, nth=nth)
    with pytest.raises(utils.CudaError) as caught:
        utils.load_binary(ENTRY, ADD, 60000, 0)
    assert caught.value.code == 700
    assert f"load_binary: {ENTRY}: {symbol} failed: CUDA_ERROR_" in str(caught.value)
    assert named(driver)[-1] == "cuModuleUnload"


# ---- clusters --------------------------------------------------------------------------------


def test_active_clusters_are_counted(driver: RecordingDriver, utils: Any, loaded: int) -> None:
    assert utils.cuOccupancyMaxActiveClusters(loaded, 0, 2) == 528
    arguments = dict(calls(driver)[-1].arguments)
    assert arguments["function"] == loaded
    assert (arguments["grid"], arguments["block"]) == ([2, 1, 1], [128, 1, 1])
    assert (arguments["shared"], arguments["stream"]) == (0, 0)
    (attribute,) = arguments["attributes"]
    assert attribute["id"] == 4
    assert attribute["value"].startswith("020000000100000001000000")
    assert attributes_set(driver) == []


def test_up_to_triton_3_5_a_cluster_has_three_sizes(
    driver: RecordingDriver, utils: Any, loaded: int
) -> None:
    assert utils.cuOccupancyMaxActiveClusters(loaded, 0, 1, 2, 4) == 132
    arguments = dict(calls(driver)[-1].arguments)
    assert arguments["grid"] == [1, 2, 4]
    assert arguments["attributes"][0]["value"].startswith("010000000200000004000000")


def test_limits_are_raised_for_the_question_and_never_lowered(
    driver: RecordingDriver, utils: Any, loaded: int
) -> None:
    assert utils.cuOccupancyMaxActiveClusters(loaded, 100_000, 16) > 0
    assert attributes_set(driver) == [(DYNAMIC_SHARED, 100_000), (NON_PORTABLE, 1)]
    assert utils.cuOccupancyMaxActiveClusters(loaded, 60_000, 2) > 0
    assert len(attributes_set(driver)) == 2


def test_a_driver_without_clusters_is_named() -> None:
    code = """
try:
    cuda_utils.cuOccupancyMaxActiveClusters(1, 0, 2)
except cuda_utils.CudaError as error:
    result = [error.code, str(error)]
"""
    code_, text = apart(code, RecordingDriver(missing=("cuOccupancyMaxActiveClusters",)))
    assert code_ == 302
    assert text.startswith("cuOccupancyMaxActiveClusters: the driver is older than CUDA 11.8")


# ---- errors ----------------------------------------------------------------------------------

FAILURES = [
    ("get_device_properties", (0,), "cuDeviceGet"),
    ("get_device_properties", (0,), "cuDeviceGetAttribute"),
    ("get_device_capability", (0,), "cuDeviceGet"),
    ("get_device_capability", (0,), "cuDeviceGetAttribute"),
    ("get_current_device", (), "cuCtxGetCurrent"),
    ("get_current_device", (), "cuCtxGetDevice"),
    ("set_current_device", (0,), "cuDeviceGet"),
    ("set_current_device", (0,), "cuDevicePrimaryCtxRetain"),
    ("set_current_device", (0,), "cuCtxSetCurrent"),
    ("get_default_stream", (0,), "cuDevicePrimaryCtxRetain"),
    ("is_stream_capturing", (0,), "cuStreamIsCapturing"),
    ("set_printf_fifo_size", (12345678,), "cuCtxGetLimit"),
    ("set_printf_fifo_size", (12345678,), "cuCtxSetLimit"),
    ("load_binary", (ENTRY, ADD, 0, 0), "cuDeviceGet"),
    ("load_binary", (ENTRY, ADD, 0, 0), "cuCtxGetCurrent"),
    ("load_binary", (ENTRY, ADD, 0, 0), "cuCtxGetDevice"),
    ("load_binary", (ENTRY, ADD, 0, 0), "cuModuleLoadData"),
    ("unload_module", (1,), "cuModuleUnload"),
    ("cuOccupancyMaxActiveClusters", (1, 0, 2), "cuFuncGetAttribute"),
    ("fill_tma_descriptor_tiled", (BASE, 0, 2, 6, [8], [8], [1], 0), "cuTensorMapEncodeTiled"),
]


@pytest.mark.parametrize(("name", "arguments", "symbol"), FAILURES)
def test_a_failed_call_is_named_with_its_code(
    driver: RecordingDriver, utils: Any, name: str, arguments: Any, symbol: str
) -> None:
    driver.fail(symbol, 2)
    with pytest.raises(utils.CudaError) as caught:
        getattr(utils, name)(*arguments)
    assert (caught.value.code, caught.value.name) == (2, "CUDA_ERROR_OUT_OF_MEMORY")
    text = str(caught.value)
    assert text.startswith(f"{name}: ")
    assert f"{symbol} failed: CUDA_ERROR_OUT_OF_MEMORY (2): " in text
    assert isinstance(caught.value, RuntimeError)


def test_a_device_that_is_none_is_named(driver: RecordingDriver, utils: Any) -> None:
    for name in ("get_device_properties", "get_device_capability", "set_current_device"):
        for device in (1, -1, 2**31 - 1):
            with pytest.raises(utils.CudaError, match=rf"^{name}: .*; device {device} of 1$"):
                getattr(utils, name)(device)
    assert "cuDeviceGetAttribute" not in named(driver)


WRONG = [
    ("get_device_properties", ("0",), TypeError, "argument 'device' (int): expected an int"),
    ("get_device_properties", (2**40,), OverflowError, "out of range"),
    ("get_device_properties", (), TypeError, "expected 1 argument, got 0"),
    ("get_current_device", (1,), TypeError, "expected 0 arguments, got 1"),
    ("is_stream_capturing", (1.5,), TypeError, "argument 'stream' (int): expected an int"),
    ("unload_module", (-1,), OverflowError, "argument 'module' (int): -1 is out of range"),
    ("load_binary", (b"x", ADD, 0, 0), TypeError, "argument 'name' (str): expected a str"),
    ("load_binary", ("a\0b", ADD, 0, 0), ValueError, "holds a zero"),
    ("load_binary", ("x", 5, 0, 0), TypeError, "argument 'image' (bytes): expected bytes, got 5"),
    ("load_binary", ("x", ADD, -1, 0), OverflowError, "argument 'shared' (int): -1"),
    ("load_binary", ("x", ADD, 1.5, 0), TypeError, "argument 'shared' (int): expected an int"),
    ("load_binary", ("x", ADD, 0), TypeError, "expected 4 arguments, got 3"),
    ("cuOccupancyMaxActiveClusters", (1, 0), TypeError, "expected 3 arguments, got 2"),
    ("cuOccupancyMaxActiveClusters", (1, 0, 0), OverflowError, "argument 'cluster' (int): 0"),
    ("cuOccupancyMaxActiveClusters", (1, -1, 1), OverflowError, "argument 'shared' (int): -1"),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_argument_is_named_and_reaches_nothing(
    driver: RecordingDriver, utils: Any, wrong: tuple[str, Any, Any, str]
) -> None:
    name, arguments, kind, text = wrong
    with pytest.raises(kind) as caught:
        getattr(utils, name)(*arguments)
    assert str(caught.value).startswith(f"{name}: ")
    assert text in str(caught.value)
    assert driver.calls == ()


def test_a_machine_without_a_driver_imports_it_and_is_told(tmp_path: Path) -> None:
    script = f"""
import sys; sys.path.insert(0, {str(built().parent)!r})
import cuda_utils
try:
    cuda_utils.get_device_properties(0)
except cuda_utils.CudaError as error:
    print(error.code, error)
"""
    done = run([sys.executable, "-c", script], cwd=tmp_path)
    if "303" not in done.stdout:
        pytest.skip("this machine has a driver")
    assert done.stdout.startswith("303 get_device_properties: no NVIDIA driver: ")


# ---- references ------------------------------------------------------------------------------

MANY = 10_000
FEW = 200

GOOD = [
    ("get_device_properties", (0,)),
    ("get_device_capability", (0,)),
    ("get_current_device", ()),
    ("set_current_device", (0,)),
    ("get_default_stream", (0,)),
    ("is_stream_capturing", (0,)),
    ("set_printf_fifo_size", (2**20,)),
    ("fill_tma_descriptor", (BASE, 0, 2, 6, [8, 8], [64, 64], [64, 1], 0)),
    ("fill_tma_descriptor_tiled", (BASE, 0, 2, 6, [8, 8], [64, 64], [64, 1], 0)),
]


@pytest.mark.parametrize(("name", "arguments"), GOOD)
def test_ten_thousand_calls_leave_nothing(
    driver: RecordingDriver, utils: Any, name: str, arguments: Any
) -> None:
    watched = [None, True, False, utils, utils.PyCUtensorMap, utils.CudaError, *arguments]
    call = getattr(utils, name)
    with driver.off():
        before = [sys.getrefcount(each) for each in watched]
        assert growth(lambda: call(*arguments), MANY) < allowed(MANY)
        after = [sys.getrefcount(each) for each in watched]
    assert all(abs(now - was) < MANY // 2 for now, was in zip(after, before, strict=True))


def test_loading_and_unloading_leaves_nothing(driver: RecordingDriver, utils: Any) -> None:
    name, image = "".join(["add_", "kernel"]), bytes(bytearray(ADD))

    def call() -> None:
        module, *_ = utils.load_binary(name, image, 60000, 0)
        utils.unload_module(module)

    gc.collect()  # what is garbage by now holds None as well
    before = [sys.getrefcount(each) for each in (None, name, image)]
    with driver.off():
        assert growth(call, FEW) < allowed(FEW)
    after = [sys.getrefcount(each) for each in (None, name, image)]
    assert all(abs(now - was) < FEW // 2 for now, was in zip(after, before, strict=True))


@pytest.mark.parametrize(("name", "arguments", "kind", "text"), WRONG)
def test_a_refusal_leaves_nothing(
    utils: Any, name: str, arguments: Any, kind: Any, text: str
) -> None:
    assert growth(refused(lambda: getattr(utils, name)(*arguments)), FEW) < allowed(FEW), (
        kind,
        text,
    )


@pytest.mark.parametrize(("name", "arguments", "symbol"), FAILURES)
def test_a_failure_leaves_nothing(
    driver: RecordingDriver, utils: Any, name: str, arguments: Any, symbol: str
) -> None:
    driver.fail(symbol, 2, times=None)
    assert growth(refused(lambda: getattr(utils, name)(*arguments)), FEW) < allowed(FEW)


# ---- the module ------------------------------------------------------------------------------


def test_threads_may_call_at_once(driver: RecordingDriver, utils: Any) -> None:
    context = driver.primary_context()
    wrong: list[object] = []

    def work() -> None:
        driver.current_context = context
        for _ in range(200):
            module, *rest = utils.load_binary(ENTRY, ADD, 0, 0)
            made = utils.fill_tma_descriptor(BASE, 0, 2, 6, [8], [64], [1], 0)
            if len(rest) != 4 or len(bytes(made)) != 128:
                wrong.append(rest)
            utils.unload_module(module)

    with driver.off():
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_other_threads_run_while_the_driver_works(driver: RecordingDriver, utils: Any) -> None:
    driver.slow("cuModuleLoadData", 300)
    done = threading.Event()

    def load() -> None:
        utils.load_binary(ENTRY, ADD, 0, 0)
        done.set()

    thread = threading.Thread(target=load)
    thread.start()
    ran = sum(1 for _ in range(1000) if not done.is_set())
    assert ran == 1000
    thread.join()
    assert done.is_set()


def test_each_interpreter_has_a_type_of_its_own() -> None:
    code = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
inner = interpreters.create()
script = f"import sys; sys.path[:] = {sys.path!r}; import cuda_utils as u; m = u.PyCUtensorMap()"
failed = None
for _ in range(3):
    failed = interpreters.run_string(inner, script) or failed
interpreters.destroy(inner)
result = [str(failed), len(bytes(cuda_utils.PyCUtensorMap()))]
"""
    assert apart(code, RecordingDriver()) == ["None", 128]


def test_it_exports_its_init_function_and_needs_no_cuda() -> None:
    done = run(["nm", "-D", "--defined-only", built()])
    assert {line.split()[-1] for line in done.stdout.splitlines()} == {"PyInit_cuda_utils"}
    done = run(["readelf", "-dW", built()])
    assert "cuda" not in done.stdout.replace("cuda_utils", "")


# ---- the command line ------------------------------------------------------------------------


def test_it_is_the_same_beside_every_kernel(tmp_path: Path) -> None:
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    assert main(["emit", "-a", "cuda-utils,make", "-o", str(alone)]) == 0
    words = ["emit", str(FOLDER / "add.json"), "-a", "c,cuda-utils,make", "-o", str(beside)]
    assert main(words) == 0
    assert (alone / "cuda_utils.c").read_bytes() == (beside / "cuda_utils.c").read_bytes()
    made = {path.name for path in beside.iterdir()}
    assert made == {"add_kernel.c", "add_kernel.h", "cuda_utils.c", "Makefile"}
    assert "cuda_utils$(SUFFIX)" in (beside / "Makefile").read_text()
    assert main([*words, "--check"]) == 0


def test_its_folder_is_called_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["emit", "-a", "cuda-utils"]) == 0
    assert [path.name for path in (tmp_path / "cuda_utils").iterdir()] == ["cuda_utils.c"]


def test_it_is_printed_alone(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["emit", "-a", "cuda-utils", "-o", "-"]) == 0
    text = capsysbinary.readouterr().out
    assert b"regenerate  launchgen emit --artifact cuda-utils\n" in text
    assert main(["emit", "-a", "cuda-utils", "--stamp-version", "-o", "-"]) == 0
    stamped = capsysbinary.readouterr().out
    assert b"launchgen emit --artifact cuda-utils --stamp-version\n" in stamped


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["k.json"], "KERNEL"),
        (["-s", "n: i32"], "--signature"),
        (["--name", "k", "--num-warps", "4"], "--name and --num-warps"),
        (["--no-image"], "--no-image"),
    ],
)
def test_a_kernel_that_nothing_is_made_from_is_refused(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["emit", *words, "-a", "cuda-utils", "-o", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert f"{said}: --artifact names nothing that is made from a kernel" in error
    assert "hint: " in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("artifact", ["c", "cpython"])
def test_a_launcher_cannot_have_its_name(
    artifact: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["emit", str(FOLDER / "add.json"), "-n", "cuda_utils", "-o", str(tmp_path / "out")]
    assert main([*words, "-a", f"{artifact},cuda-utils"]) == 2
    assert "would be made twice" in capsys.readouterr().err
    assert main([*words, "-a", artifact]) == 0


def test_no_image_is_copied_for_it(tmp_path: Path) -> None:
    words = ["emit", str(FOLDER / "matmul.json"), "-o", str(tmp_path)]
    assert main([*words, "-a", "level0,cuda-utils"]) == 0
    assert {path.suffix for path in tmp_path.iterdir()} == {".c", ".launch_metadata"}


def test_a_plan_that_an_artifact_cannot_print_is_refused() -> None:
    utils = plan_utils(TARGETS["cuda"], command="")
    source = read_kernel(FOLDER / "add.json", signature_text=None, target=TARGETS["cuda"])
    launch = make_plan(source, target=TARGETS["cuda"], command="")
    with pytest.raises(TypeError, match="'cuda-utils' is printed from a UtilsPlan"):
        render(launch, artifacts=(ARTIFACTS["cuda-utils"],))
    with pytest.raises(TypeError, match="'c' is printed from the LaunchPlan of a kernel"):
        render(utils, artifacts=(ARTIFACTS["c"],))
    both = render(launch, artifacts=(ARTIFACTS["c"], ARTIFACTS["cuda-utils"]), utils=utils).files
    (alone,) = render(utils, artifacts=(ARTIFACTS["cuda-utils"],)).files
    assert alone == both[-1]


def test_make_alone_has_nothing_to_work_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emit", "-a", "make"]) == 2
    assert "without c or cpython or cuda-utils" in capsys.readouterr().err
