"""What is loaded, when and where: contexts, devices, streams, shared memory, and release."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from launchgen.architecture import EXACT, Architecture
from launchgen.metadata import Overrides
from launchgen.sources import Image, Variant, read_kernel
from launchgen.targets import TARGETS
from launchgen.testing import Call, RecordingDriver
from tests import children
from tests.programs import (
    FACES,
    FOLDER,
    CLauncher,
    CLibrary,
    Emitted,
    apart,
    compile_python,
    emit_source,
    emit_zoo,
    import_module,
    library,
    names,
)
from tests.zoo import Kernel

NO_LIBRARIES = ["cuLibraryLoadData"]
MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER = 8, 14
"""Attributes of functions in cuda.h."""
CONTEXT_CHANGES = {"cuCtxSetCurrent", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2"}

T = TypeVar("T")


@functools.cache
def c_library(kernel: str, *, folder: str = FOLDER, **options: Any) -> CLibrary:
    return CLibrary.of(emit_zoo(kernel, folder=folder, **options))


@functools.cache
def python_module(kernel: str, **options: Any) -> Path:
    return compile_python(emit_zoo(kernel, artifacts=("cpython",), **options))


@pytest.fixture
def driver() -> RecordingDriver:
    return RecordingDriver().load()


@pytest.fixture
def two() -> RecordingDriver:
    return RecordingDriver(devices=2).load()


def in_thread(function: Callable[[], T]) -> T:
    """Return what ``function`` returns in a thread that never saw the driver."""
    results: list[T] = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def calls(driver: RecordingDriver, name: str) -> list[Call]:
    return [call for call in driver.calls if call.name == name]


# ---- once ----------------------------------------------------------------------------------------


def test_a_first_launch_asks_for_nothing_that_it_does_not_need(driver: RecordingDriver) -> None:
    driver.current_context = driver.primary_context()
    launcher = c_library("add").fresh()
    assert launcher.launch() == 0
    assert names(driver) == [
        "cuInit",
        "cuDeviceGetCount",
        "cuCtxGetDevice",
        "cuCtxGetCurrent",
        "cuDeviceGetAttribute",
        "cuDeviceGetAttribute",
        "cuLibraryLoadData",
        "cuLibraryGetKernel",
        "cuKernelGetFunction",
        *["cuFuncGetParamInfo"] * 8,
        "cuLaunchKernelEx",
    ]


@pytest.mark.parametrize("kernel", ["add", "matmul", "matmul_cluster", "grid_coop", "device_desc"])
def test_a_further_launch_is_one_call(driver: RecordingDriver, kernel: str) -> None:
    launcher = c_library(kernel).fresh()
    assert launcher.launch() == 0
    before = len(driver.calls)
    assert launcher.launch() == 0
    assert names(driver)[before:] == ["cuLaunchKernelEx"]


def test_a_library_is_loaded_once_for_all_contexts_and_devices(two: RecordingDriver) -> None:
    launcher = c_library("matmul").fresh()
    contexts = [two.primary_context(0), two.new_context(0), two.primary_context(1)]
    for context in (*contexts, *contexts):
        two.current_context = context
        assert launcher.launch() == 0
        assert two.current_context == context
    assert [launch.context for launch in two.launches] == [*contexts, *contexts]
    assert names(two).count("cuLibraryLoadData") == 1
    assert names(two).count("cuModuleLoadData") == 0


def test_a_library_serves_contexts_that_come_later(driver: RecordingDriver) -> None:
    launcher = c_library("matmul").fresh()
    for _ in range(3):
        context = driver.new_context()
        driver.current_context = context
        assert launcher.launch() == 0
        assert driver.launches[-1].context == context
    assert names(driver).count("cuLibraryLoadData") == 1


@pytest.mark.parametrize("face", FACES)
def test_ctx3_a_driver_without_libraries_loads_once_for_each_context(face: str) -> None:
    found = apart(
        children.contexts_one_two_one, library(face, "matmul", tensors=False), NO_LIBRARIES
    )
    assert found["status"] == [0] * 5
    assert found["contexts"] == [1, 2, 1, 2]
    assert found["calls"].count("cuModuleLoadData") == 2
    assert found["calls"].count("cuFuncSetAttribute") == 2
    assert all(found["current"])
    assert not CONTEXT_CHANGES & set(found["calls"])


def test_unloading_modules_visits_their_contexts_and_comes_back() -> None:
    found = apart(children.contexts_one_two_one, c_library("add"), NO_LIBRARIES)
    assert found["unloaded"] == 0
    assert found["after"] == ["cuCtxPushCurrent_v2", "cuModuleUnload", "cuCtxPopCurrent_v2"] * 2
    assert found["reloads"].count("cuModuleLoadData") == 1


@pytest.mark.parametrize("face", FACES)
def test_ctx9_a_module_of_a_destroyed_context_does_not_stop_the_launcher(face: str) -> None:
    found = apart(children.destroyed_context, library(face, "add", tensors=False), NO_LIBRARIES)
    assert found["status"] == [0, 0, 0]
    assert found["launches"] == 3
    assert found["unloaded"] != 0
    assert "cuCtxPushCurrent failed" in found["text"]
    assert found["current"]


@pytest.mark.parametrize("face", FACES)
def test_ctx9_after_a_reset_of_its_context_unload_makes_a_module_load_again(face: str) -> None:
    found = apart(children.reset_context, library(face, "add", tensors=False), NO_LIBRARIES)
    assert found["status"] == [0, 400, 0]
    assert "cuLaunchKernelEx failed: CUDA_ERROR_INVALID_HANDLE (400)" in found["text"]
    assert found["unloaded"] == 400


# ---- load and unload -----------------------------------------------------------------------------


def test_load_does_what_a_first_launch_would(driver: RecordingDriver) -> None:
    launcher = c_library("matmul").fresh()
    assert launcher.load() == 0
    assert "cuLibraryLoadData" in names(driver)
    assert calls(driver, "cuKernelSetAttribute")
    before = len(driver.calls)
    assert launcher.launch() == 0
    assert names(driver)[before:] == ["cuLaunchKernelEx"]


def test_load_twice_loads_once(driver: RecordingDriver) -> None:
    launcher = c_library("add").fresh()
    assert [launcher.load(), launcher.load()] == [0, 0]
    assert names(driver).count("cuLibraryLoadData") == 1


@pytest.mark.parametrize("face", FACES)
def test_ctx9_a_launch_after_unload_loads_again(driver: RecordingDriver, face: str) -> None:
    launcher = library(face, "add", tensors=False).fresh()
    for _ in range(3):
        assert launcher.launch() == 0
        assert launcher.unload() == 0
    assert len(driver.launches) == 3
    assert len({launch.function for launch in driver.launches}) == 3
    assert names(driver).count("cuLibraryLoadData") == 3
    assert names(driver).count("cuLibraryUnload") == 3


def test_unload_without_load_is_a_success_without_a_driver(driver: RecordingDriver) -> None:
    launcher = c_library("add").fresh()
    assert launcher.unload() == 0
    assert driver.calls == ()
    assert launcher.launch() == 0


@pytest.mark.parametrize("face", FACES)
def test_ctx9_a_launch_after_the_context_was_reset_works(
    driver: RecordingDriver, face: str
) -> None:
    launcher = library(face, "matmul", tensors=False).fresh()
    assert launcher.launch() == 0
    driver.library.cuDevicePrimaryCtxRelease_v2(0)
    driver.current_context = None
    assert launcher.launch() == 0
    assert len(driver.launches) == 2


def test_an_empty_grid_needs_no_driver(driver: RecordingDriver) -> None:
    launcher = c_library("add").fresh()
    for grid in ((0, 1, 1), (1, 0, 5), (1, 1, 0)):
        assert launcher.launch(grid=grid) == 0
    assert driver.calls == ()


# ---- contexts ------------------------------------------------------------------------------------


def test_a_current_context_is_used_and_not_changed(two: RecordingDriver) -> None:
    launcher = c_library("add").fresh()
    context = two.new_context(1)
    two.current_context = context
    assert [launcher.launch(), launcher.launch()] == [0, 0]
    assert two.current_context == context
    assert {(launch.context, launch.device) for launch in two.launches} == {(context, 1)}
    assert not CONTEXT_CHANGES & set(names(two))


def test_ctx1_a_thread_without_a_context_gets_the_primary_one_and_keeps_it(
    driver: RecordingDriver,
) -> None:
    launcher = c_library("add").fresh()

    def first() -> tuple[int, int | None]:
        return launcher.launch(), driver.current_context

    primary = driver.primary_context()
    assert in_thread(first) == (0, primary)
    assert driver.current_context is None
    assert in_thread(first) == (0, primary)
    assert len(driver.launches) == 2
    assert names(driver).count("cuLibraryLoadData") == 1
    assert driver.calls[0].name == "cuInit"


def test_ctx1_a_tensor_is_looked_at_in_a_context_of_the_thread(driver: RecordingDriver) -> None:
    class Tensor:
        def data_ptr(self) -> int:
            return 0x1000

    module = import_module(python_module("add"))
    driver.add_memory(0x1000, 4096)

    def first() -> int | None:
        module.launch(4, None, Tensor(), Tensor(), Tensor(), 64, 2.0)
        return driver.current_context

    assert in_thread(first) == driver.primary_context()
    answers = [call.result for call in calls(driver, "cuPointerGetAttribute")]
    assert answers == [201, 0, 0, 0]
    assert len(driver.launches) == 1


def test_a_thread_without_a_context_gets_that_of_the_streams_device(two: RecordingDriver) -> None:
    launcher = c_library("add").fresh()
    context = two.primary_context(1)
    stream = two.new_stream(context)

    def first() -> tuple[int, int | None]:
        return launcher.launch(stream=stream), two.current_context

    assert in_thread(first) == (0, context)
    (launch,) = two.launches
    assert (launch.device, launch.stream) == (1, stream)


def test_a_later_thread_without_a_context_gets_that_of_the_streams_device(
    two: RecordingDriver,
) -> None:
    launcher = c_library("add").fresh()
    two.current_context = two.primary_context(0)
    assert launcher.launch() == 0
    context = two.primary_context(1)
    stream = two.new_stream(context)
    assert in_thread(lambda: (launcher.launch(stream=stream), two.current_context)) == (0, context)
    assert two.launches[-1].device == 1


@pytest.mark.parametrize("stream", [None, 1, 2])
def test_a_thread_with_a_default_stream_gets_device_0(
    two: RecordingDriver, stream: int | None
) -> None:
    launcher = c_library("add").fresh()
    assert in_thread(lambda: launcher.launch(stream=stream)) == 0
    (launch,) = two.launches
    assert launch.device == 0
    assert "cuStreamGetCtx" not in names(two)


@pytest.mark.parametrize("options", [{}, {"shared": 100_000}, {"cluster": (16, 1, 1)}])
def test_a_handle_can_be_launched_by_a_thread_without_a_context(
    two: RecordingDriver, options: dict[str, Any]
) -> None:
    launcher = c_library("add", no_image=True, **options).fresh()
    function = two.make_function("kernel", (8, 8, 8, 4, 4, 8, 8))
    grid = (16, 1, 1)
    assert in_thread(lambda: launcher.launch(function=function, grid=grid)) == 0, launcher.error
    (launch,) = two.launches
    assert launch.device == 0


def test_a_null_handle_is_refused(driver: RecordingDriver) -> None:
    launcher = c_library("add", no_image=True).fresh()
    assert launcher.launch() == 1
    assert launcher.error == "add: the function handle is null"
    assert driver.launches == ()


def test_a_stale_handle_is_reported(driver: RecordingDriver) -> None:
    launcher = c_library("add", no_image=True).fresh()
    assert launcher.launch(function=0x1234) == 400
    assert "CUDA_ERROR_INVALID_HANDLE (400)" in launcher.error


# ---- streams of another device -------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"no_image": True}])
@pytest.mark.parametrize("warm", [False, True])
def test_a_stream_of_another_device_is_refused_by_name(
    two: RecordingDriver, warm: bool, options: dict[str, Any]
) -> None:
    launcher = c_library("add", **options).fresh()
    function = two.make_function("kernel", (8, 8, 8, 4, 4, 8, 8)) if options else None
    here, there = two.primary_context(0), two.primary_context(1)
    two.current_context = here
    if warm:
        assert launcher.launch(function=function) == 0
    launches = len(two.launches)
    assert launcher.launch(stream=two.new_stream(there), function=function) == 1
    assert launcher.error == "add: the stream belongs to device 1, but device 0 is current"
    assert two.current_context == here
    assert len(two.launches) == launches
    assert launcher.launch(stream=two.new_stream(here), function=function) == 0


def test_a_stream_of_another_device_is_a_value_error_in_python(two: RecordingDriver) -> None:
    module = import_module(python_module("add"))
    two.current_context = two.primary_context(0)
    stream = two.new_stream(two.primary_context(1))
    with pytest.raises(ValueError, match="the stream belongs to device 1, but device 0 is current"):
        module.launch(4, stream, 0x1000, 0x2000, 0x3000, 64, 2.0)
    assert two.launches == ()


def test_a_stream_of_another_context_of_the_device_is_fine(two: RecordingDriver) -> None:
    launcher = c_library("add").fresh()
    two.current_context = two.primary_context(0)
    other = two.new_context(0)
    assert launcher.launch(stream=two.new_stream(other)) == 0
    assert two.launches[-1].context == other
    assert two.current_context == two.primary_context(0)


def test_a_stream_that_is_none_is_reported(two: RecordingDriver) -> None:
    launcher = c_library("add").fresh()
    assert launcher.launch(stream=0xDEAD0) == 400
    assert "cuStreamGetCtx failed: CUDA_ERROR_INVALID_HANDLE (400)" in launcher.error


# What a driver takes while a stream of the thread is being captured.
CAPTURE_SAFE = {"cuCtxGetCurrent", "cuCtxGetDevice", "cuStreamGetCtx", "cuLaunchKernelEx"}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("kernel", ["add", "matmul"])
def test_attr6_a_launch_into_a_capture_makes_no_call_that_would_end_it(
    two: RecordingDriver, kernel: str, face: str
) -> None:
    launcher = c_library(kernel).fresh()
    two.current_context = two.primary_context(1)
    stream = two.new_stream(two.primary_context(1))
    assert launcher.load() == 0
    before = len(two.calls)
    two.start_capture()
    assert launcher.launch(stream=stream) == 0
    assert set(names(two)[before:]) <= CAPTURE_SAFE


def test_a_single_device_is_not_asked_for_its_streams(driver: RecordingDriver) -> None:
    launcher = c_library("add").fresh()
    context = driver.primary_context()
    driver.current_context = context
    stream = driver.new_stream(context)
    assert [launcher.launch(stream=stream), launcher.launch(stream=stream)] == [0, 0]
    assert "cuStreamGetCtx" not in names(driver)


# ---- shared memory and clusters ------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES)
def test_ctx7_much_shared_memory_is_asked_for_on_each_device(
    two: RecordingDriver, face: str
) -> None:
    launcher = library(face, "matmul", tensors=False).fresh()
    for device in (0, 1, 0, 1):
        two.current_context = two.primary_context(device)
        assert launcher.launch() == 0
    asked = calls(two, "cuKernelSetAttribute")
    assert [call.arguments["device"] for call in asked] == [0, 1]
    assert {call.arguments["attribute"] for call in asked} == {MAX_DYNAMIC_SHARED}
    assert {call.arguments["value"] for call in asked} == {65536}
    assert {launch.shared for launch in two.launches} == {65536}


@pytest.mark.parametrize("face", FACES)
def test_ctx7_static_shared_memory_counts_and_is_not_added(
    driver: RecordingDriver, face: str
) -> None:
    driver = RecordingDriver(static_shared=1024, opt_in_shared=101376).load()
    launcher = library(face, "matmul", tensors=False).fresh()
    assert launcher.launch() == 0
    (asked,) = calls(driver, "cuKernelSetAttribute")
    assert 65536 <= asked.arguments["value"] <= 101376 - 1024
    assert driver.launches[0].shared == 65536


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(("static", "asks"), [(0, 0), (8, 0), (9, 1), (4096, 1)])
def test_ctx7_static_shared_memory_counts_towards_48_kib(static: int, asks: int, face: str) -> None:
    driver = RecordingDriver(static_shared=static).load()
    launcher = library(face, "add", tensors=False, shared=48 * 1024 - 8).fresh()
    assert launcher.launch() == 0
    assert len(calls(driver, "cuKernelSetAttribute")) == asks


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(("opt_in", "fits"), [(66560, True), (66559, False)])
def test_ctx7_over_the_limit_is_an_error_with_both_numbers(
    opt_in: int, fits: bool, face: str
) -> None:
    driver = RecordingDriver(static_shared=1024, opt_in_shared=opt_in).load()
    launcher = library(face, "matmul", tensors=False).fresh()
    if fits:
        assert launcher.launch() == 0
        return
    assert launcher.launch() == 1
    assert launcher.error == (
        "matmul: needs 65536 bytes of dynamic shared memory, but device 0 allows 65535 "
        "(66559, of which the kernel's static use takes 1024)"
    )
    assert driver.launches == ()


@pytest.mark.parametrize("face", FACES)
def test_ctx7_the_limit_is_that_of_each_device(face: str) -> None:
    driver = RecordingDriver(devices=2, opt_in_shared=(232448, 49152)).load()
    launcher = library(face, "matmul", tensors=False).fresh()
    statuses = []
    for device in (0, 1, 0):
        driver.current_context = driver.primary_context(device)
        statuses.append(launcher.launch())
    assert statuses == [0, 1, 0]
    assert "device 1 allows 49152" in launcher.error
    assert names(driver).count("cuLibraryLoadData") == 1


@pytest.mark.parametrize("face", FACES)
def test_ctx7_more_static_than_all_is_refused_with_the_numbers(face: str) -> None:
    RecordingDriver(static_shared=70000, opt_in_shared=65536).load()
    launcher = library(face, "matmul", tensors=False).fresh()
    assert launcher.launch() == 1
    assert "needs 65536 bytes" in launcher.error
    assert "device 0 allows -4464" in launcher.error


def test_a_cluster_above_the_portable_size_is_allowed_first(driver: RecordingDriver) -> None:
    launcher = c_library("add", num_ctas=16).fresh()
    assert launcher.launch() == 0, launcher.error
    (asked,) = calls(driver, "cuKernelSetAttribute")
    assert (asked.arguments["attribute"], asked.arguments["value"]) == (NON_PORTABLE_CLUSTER, 1)
    (launch,) = driver.launches
    assert launch.attribute(4) == (16, 1, 1)


@pytest.mark.parametrize("num_ctas", [2, 8])
def test_a_portable_cluster_asks_for_nothing(driver: RecordingDriver, num_ctas: int) -> None:
    launcher = c_library("add", num_ctas=num_ctas).fresh()
    assert launcher.launch() == 0, launcher.error
    assert calls(driver, "cuKernelSetAttribute") == []


def test_a_handle_is_prepared_at_each_launch(driver: RecordingDriver) -> None:
    launcher = c_library("matmul", no_image=True).fresh()
    matmul = Kernel(FOLDER, "matmul")
    driver.current_context = driver.primary_context()
    functions = [
        children.load_function(driver, matmul.cubin, matmul.entry).handle,
        children.load_function(driver, matmul.cubin, matmul.entry).handle,
    ]
    for function in functions:
        assert launcher.launch(function=function) == 0
    asked = calls(driver, "cuFuncSetAttribute")
    assert [call.arguments["function"] for call in asked] == functions
    assert calls(driver, "cuKernelSetAttribute") == []


# ---- images that do not fit ----------------------------------------------------------------------


def test_an_image_of_a_newer_architecture_is_refused_with_209() -> None:
    driver = RecordingDriver(capability=80).load()
    launcher = c_library("add").fresh()
    assert launcher.launch() == 209
    # The driver need not be asked.
    assert launcher.error == "add: no image fits device 0 of capability 8.0; at hand is sm_90a"
    assert "cuLibraryLoadData" not in names(driver)
    assert driver.launches == ()


def test_an_image_that_fits_one_of_two_devices_works_there() -> None:
    driver = RecordingDriver(devices=2, capability=(90, 80)).load()
    launcher = c_library("add").fresh()
    statuses = []
    for device in (1, 0, 1):
        driver.current_context = driver.primary_context(device)
        statuses.append(launcher.launch())
    assert statuses == [209, 0, 209]
    assert launcher.error == "add: no image fits device 1 of capability 8.0; at hand is sm_90a"
    assert names(driver).count("cuLibraryLoadData") == 1
    assert [launch.device for launch in driver.launches] == [0]


def test_an_image_of_an_older_architecture_of_the_same_generation_is_taken() -> None:
    driver = RecordingDriver(capability=86).load()
    launcher = c_library("add", folder="triton-3.6.0-sm80").fresh()
    assert launcher.launch() == 0
    assert len(driver.launches) == 1


# ---- kernels with other parameters ---------------------------------------------------------------

QUESTIONS = ("cuFuncGetParamInfo", "cuKernelGetParamInfo")
WIDE = "x_ptr: *fp32, y_ptr: *fp32, out_ptr: *fp32, n: i64, alpha: fp32, BLOCK: constexpr"
MORE = "x_ptr: *fp32, y_ptr: *fp32, out_ptr: *fp32, n: i32, alpha: fp32, m: i64, o: i64, p: i8"
OTHERS: dict[str, tuple[str, tuple[int, int] | None, str]] = {
    "wide": (WIDE, None, "argument 3 'n' (i64) has 8 bytes, but parameter 3 of the {} has 4"),
    "newer": (
        Kernel(FOLDER, "add").signature,
        (3, 4),
        "parameter 6 of the {} has no argument (8 bytes)",
    ),
    "more": (
        MORE,
        (3, 2),
        "argument 7 'p' (i8) has no parameter in the {}, which has 7",
    ),
    "older": (
        MORE.rpartition(",")[0],
        (3, 4),
        "global scratch (*i8) has no parameter in the {}, which has 7",
    ),
}
"""Signatures and releases that do not fit the image of ``add``, and what is said of them."""


@functools.cache
def misfit(case: str, *, no_image: bool = False) -> Emitted:
    signature, version, _ = OTHERS[case]
    add = Kernel(FOLDER, "add")
    chosen = Overrides(num_warps=4, triton_version=version or (3, 6), entry=add.entry)
    source = read_kernel(
        None, signature_text=signature, target=TARGETS["cuda"], name="add", overrides=chosen
    )
    if not no_image:
        # As if the image had been replaced since: emit refuses what does not fit.
        (variant,) = source.variants
        data = add.cubin.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        image = Image(data, add.cubin.name, digest, Architecture(90, EXACT))
        source = msgspec.structs.replace(source, variants=(Variant(variant.metadata, image),))
    return emit_source(source, artifacts=("c", "cpython"))


@functools.cache
def misfit_library(case: str, *, no_image: bool = False) -> CLibrary:
    return CLibrary.of(misfit(case, no_image=no_image))


def misfit_values(case: str) -> tuple[Any, ...]:
    return misfit_library(case, no_image=True).values


@pytest.mark.parametrize("case", OTHERS)
def test_an_image_with_other_parameters_is_refused(driver: RecordingDriver, case: str) -> None:
    launcher = misfit_library(case).fresh()
    assert [launcher.launch(), launcher.load(), launcher.launch()] == [200] * 3
    said = OTHERS[case][2].format("image")
    assert launcher.error == f"add: {said}; the launcher was made for another image"
    assert driver.launches == ()
    assert names(driver).count("cuLibraryLoadData") == 1
    assert launcher.unload() == 0
    assert names(driver)[-1] == "cuLibraryUnload"


@pytest.mark.parametrize("case", OTHERS)
def test_a_module_with_other_parameters_is_refused(case: str) -> None:
    found = apart(children.without, misfit_library(case), NO_LIBRARIES)
    said = OTHERS[case][2].format("image")
    assert (found["status"], found["launches"]) == (200, 0)
    assert found["text"] == f"add: {said}; the launcher was made for another image"
    assert found["calls"][-1] == "cuModuleUnload"


@pytest.mark.parametrize("case", OTHERS)
def test_python_raises_for_an_image_with_other_parameters(
    driver: RecordingDriver, case: str
) -> None:
    module = import_module(compile_python(misfit(case)))
    with pytest.raises(module.CudaError, match="made for another image") as caught:
        module.launch(4, None, *misfit_values(case))
    assert (caught.value.code, caught.value.name) == (200, "CUDA_ERROR_INVALID_IMAGE")
    assert driver.launches == ()


@pytest.mark.parametrize("load", [children.load_function, children.load_kernel])
@pytest.mark.parametrize("case", OTHERS)
def test_a_handle_with_other_parameters_is_refused_each_time(
    driver: RecordingDriver, case: str, load: Callable[..., children.Loaded]
) -> None:
    driver.current_context = driver.primary_context()
    add = Kernel(FOLDER, "add")
    function = load(driver, add.cubin, add.entry).handle
    launcher = misfit_library(case, no_image=True).fresh()
    said = f"add: {OTHERS[case][2].format('kernel')}; the launcher was made for another kernel"
    for _ in range(2):
        assert launcher.launch(function=function) == 1
        assert launcher.error == said
    module = import_module(compile_python(misfit(case, no_image=True)))
    for _ in range(2):
        with pytest.raises(ValueError, match=re.escape(said)):
            module.launch(function, 4, None, *misfit_values(case))
    assert driver.launches == ()


def test_a_handle_is_compared_in_full_where_it_is_new(driver: RecordingDriver) -> None:
    launcher = c_library("add", no_image=True).fresh()
    first = driver.make_function("kernel", (8, 8, 8, 4, 4, 8, 8))
    second = driver.make_function("kernel", (8, 8, 8, 4, 4, 8, 8))
    wrong = driver.make_function("kernel", (8, 8, 8, 4, 4))
    asked = []
    for function in (first, first, second, second, first, wrong, first, first):
        before = len(driver.calls)
        status = launcher.launch(function=function)
        assert status == (function == wrong), launcher.error
        asked.append(names(driver)[before:].count("cuFuncGetParamInfo"))
    # The first question is asked twice: only then it is known that it needs no context.  Behind the
    # last parameter a known handle is not asked.
    assert asked == [9, 7, 9, 7, 9, 7, 7, 7]
    assert len(driver.launches) == 7


OTHER = ".version 8.8 .target sm_90 .address_size 64 .entry {}({}) {{ ret; }}"


@pytest.mark.parametrize("sizes", ["8 8 8 8 4 8 8", "8 8 8 4 4 8 4", "8 8 8 4", ""])
@pytest.mark.parametrize("load", [children.load_function, children.load_kernel])
def test_a_handle_that_the_driver_gives_to_another_kernel_is_compared_anew(
    driver: RecordingDriver, load: Callable[..., children.Loaded], sizes: str, tmp_path: Path
) -> None:
    driver.reuse_handles()
    driver.current_context = driver.primary_context()
    add = Kernel(FOLDER, "add")
    other = tmp_path / "other.ptx"
    parameters = (f".param .u{8 * int(size)} p{i}" for i, size in enumerate(sizes.split()))
    other.write_bytes(OTHER.format(add.entry, ", ".join(parameters)).encode() + b"\0")
    launcher = c_library("add", no_image=True).fresh()
    module = import_module(compile_python(emit_zoo("add", no_image=True, artifacts=("cpython",))))
    function = load(driver, add.cubin, add.entry)
    assert launcher.launch(function=function.handle) == 0
    module.launch(function.handle, 4, None, *launcher.library.values)
    function.unload()
    again = load(driver, other, add.entry)
    assert again.handle == function.handle
    assert launcher.launch(function=again.handle) == 1
    assert launcher.error.endswith("the launcher was made for another kernel")
    with pytest.raises(ValueError, match="made for another kernel"):
        module.launch(again.handle, 4, None, *launcher.library.values)
    assert len(driver.launches) == 2


@pytest.mark.parametrize("stream", [True, False])
def test_a_kernel_by_handle_is_compared_in_a_thread_without_a_context(
    driver: RecordingDriver, stream: bool
) -> None:
    context = driver.primary_context()
    add = Kernel(FOLDER, "add")
    driver.current_context = context
    kernel = children.load_kernel(driver, add.cubin, add.entry).handle
    driver.current_context = None
    own = driver.new_stream(context) if stream else None
    wrong = misfit_library("newer", no_image=True).fresh()
    right = c_library("add", no_image=True).fresh()

    def first(launcher: CLauncher) -> tuple[int, int | None]:
        return launcher.launch(function=kernel, stream=own), driver.current_context

    assert in_thread(lambda: first(wrong)) == (1, context)
    assert in_thread(lambda: first(right)) == (0, context)
    assert len(driver.launches) == 1


@pytest.mark.parametrize("missing", [[QUESTIONS[0]], [QUESTIONS[1]], [*QUESTIONS]], ids="+".join)
@pytest.mark.parametrize("libraries", [True, False])
def test_a_driver_that_cannot_tell_parameters_launches(missing: list[str], libraries: bool) -> None:
    lacking = [*missing, *([] if libraries else NO_LIBRARIES)]
    found = apart(children.without, c_library("add"), lacking)
    assert (found["status"], found["launches"]) == (0, 1)


@pytest.mark.parametrize("missing", [[QUESTIONS[0]], [QUESTIONS[1]], [*QUESTIONS]], ids="+".join)
def test_a_driver_that_cannot_tell_parameters_launches_handles(missing: list[str]) -> None:
    add = Kernel(FOLDER, "add")
    library = c_library("add", no_image=True)
    found = apart(children.handles, library, missing, str(add.cubin), add.entry)
    assert found == {"status": [0, 0], "launches": 2}


@pytest.mark.parametrize("code", [2, 201, 400, 719, 801])
def test_a_question_that_fails_is_a_failed_launch(driver: RecordingDriver, code: int) -> None:
    driver.fail("cuFuncGetParamInfo", code, times=None)
    launcher = misfit_library("wide").fresh()
    assert launcher.launch() == code
    assert launcher.error.startswith("add: cuFuncGetParamInfo failed: ")
    assert driver.launches == ()


@pytest.mark.parametrize("nth", range(1, 9))
@pytest.mark.parametrize("code", [2, 3, 700, 719, 999])
def test_a_question_that_fails_says_nothing_for_another_kernel(
    driver: RecordingDriver, code: int, nth: int
) -> None:
    wrong = driver.make_function("kernel", (8, 8, 8, 4, 4, 8, 4))
    launcher = c_library("add", no_image=True).fresh()
    driver.fail("cuFuncGetParamInfo", code, nth=nth)
    assert launcher.launch(function=wrong) == code
    assert launcher.error.startswith("add: cuFuncGetParamInfo failed: ")
    assert launcher.launch(function=wrong) == 1
    assert "made for another kernel" in launcher.error
    assert driver.launches == ()


# ---- several launchers ---------------------------------------------------------------------------


def test_two_launchers_of_one_process_keep_apart(driver: RecordingDriver) -> None:
    library = c_library("add")
    first, second = CLauncher(library), CLauncher(library)
    assert [first.launch(), second.launch(), first.unload(), second.launch()] == [0, 0, 0, 0]
    assert names(driver).count("cuLibraryLoadData") == 2
    assert names(driver).count("cuLibraryUnload") == 1


def test_name1_copies_with_global_visibility_keep_apart(driver: RecordingDriver) -> None:
    add, grid = c_library("add"), c_library("grid_coop")
    launchers = [CLauncher(each, ctypes.RTLD_GLOBAL) for each in (add, add, grid, grid)]
    for launcher in launchers:
        assert launcher.launch() == 0
    entries = [launch.entry for launch in driver.launches]
    assert entries == ["add_kernel", "add_kernel", "grid_kernel", "grid_kernel"]
    assert names(driver).count("cuLibraryLoadData") == 4
    driver.fail("cuLaunchKernelEx", 700)
    assert launchers[0].launch() == 700
    assert [bool(launcher.error) for launcher in launchers] == [True, False, False, False]


def test_name1_a_c_launcher_and_a_module_of_one_name_keep_apart(driver: RecordingDriver) -> None:
    launcher = CLauncher(replace(c_library("add")), ctypes.RTLD_GLOBAL)
    module = import_module(python_module("add"))
    assert launcher.launch() == 0
    module.launch(4, None, 0x1000, 0x2000, 0x3000, 64, 2.0)
    assert launcher.unload() == 0
    module.launch(4, None, 0x1000, 0x2000, 0x3000, 64, 2.0)
    assert names(driver).count("cuLibraryLoadData") == 2
    assert len(driver.launches) == 3
