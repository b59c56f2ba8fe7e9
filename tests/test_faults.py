"""What fails is reported by its call, code and kernel, launches nothing, and sticks nowhere."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from launchgen.testing import RecordingDriver
from tests import children
from tests.children import Outcome, Setting
from tests.programs import (
    ENTRY_POINTS,
    FACES,
    FOLDER,
    OLDER,
    CLauncher,
    CLibrary,
    apart,
    compile_python,
    describe,
    emit_zoo,
    import_module,
    library,
    names,
    needs_no_driver,
    new_folder,
    public,
)
from tests.zoo import Kernel

CODES = {
    1: "CUDA_ERROR_INVALID_VALUE",
    2: "CUDA_ERROR_OUT_OF_MEMORY",
    201: "CUDA_ERROR_INVALID_CONTEXT",
    209: "CUDA_ERROR_NO_BINARY_FOR_GPU",
    700: "CUDA_ERROR_ILLEGAL_ADDRESS",
    719: "CUDA_ERROR_LAUNCH_FAILED",
    999: "CUDA_ERROR_UNKNOWN",
}
LIBRARIES = ("cuLibraryLoadData",)
"""Without it a launcher loads a module for each context."""
Record = Callable[[str, object], None]
MATMUL = Kernel(FOLDER, "matmul")
REQUIRED = [name for name, required in ENTRY_POINTS if required == "1"]


@functools.cache
def c_library(kernel: str, **options: Any) -> CLibrary:
    return CLibrary.of(emit_zoo(kernel, **options))


@functools.cache
def python_module(kernel: str, **options: Any) -> Path:
    return compile_python(emit_zoo(kernel, artifacts=("cpython",), **options))


@pytest.fixture
def driver() -> RecordingDriver:
    return RecordingDriver().load()


@pytest.fixture
def add(driver: RecordingDriver) -> CLauncher:
    return c_library("add").fresh()


@pytest.fixture
def add_module(driver: RecordingDriver) -> ModuleType:
    return import_module(python_module("add"))


# ---- each call on the way to a first launch ------------------------------------------------------

SCENARIOS: dict[str, tuple[str, dict[str, Any], Setting]] = {
    "add": ("add", {}, Setting()),
    "add on a stream of two devices": ("add", {}, Setting(devices=2, stream=True)),
    "add in a current context": ("add", {}, Setting(current=True)),
    "add in a current context on a stream of another": (
        "add",
        {},
        Setting(devices=2, stream=True, other=True, current=True),
    ),
    "matmul": ("matmul", {}, Setting()),
    "matmul_cluster": ("matmul_cluster", {}, Setting()),
    "cluster of 16": ("add", {"num_ctas": 16}, Setting()),
    "two images": ("matmul", {"others": (OLDER,)}, Setting()),
    "grid_coop": ("grid_coop", {}, Setting()),
    "grid_pdl": ("grid_pdl", {}, Setting()),
    "device_desc": ("device_desc", {}, Setting()),
    "desc_copy": ("desc_copy", {}, Setting()),
    "desc_copy in a current context": ("desc_copy", {}, Setting(current=True)),
    "handle": ("add", {"no_image": True}, Setting(sizes=(8, 8, 8, 4, 4, 8, 8))),
    "handle on a stream of two devices": (
        "add",
        {"no_image": True},
        Setting(devices=2, stream=True, sizes=(8, 8, 8, 4, 4, 8, 8)),
    ),
    "handle of a kernel with much shared memory": (
        "add",
        {"no_image": True, "shared": 100_000},
        Setting(sizes=(8, 8, 8, 4, 4, 8, 8)),
    ),
    "handle of a function with much shared memory": (
        "matmul",
        {"no_image": True},
        Setting(image=str(MATMUL.cubin), entry=MATMUL.entry),
    ),
    "handle of a library's kernel": (
        "matmul",
        {"no_image": True},
        Setting(image=str(MATMUL.cubin), entry=MATMUL.entry, library=True),
    ),
    "handle of a function in a current context": (
        "matmul",
        {"no_image": True},
        Setting(image=str(MATMUL.cubin), entry=MATMUL.entry, current=True),
    ),
}


NO_CONTEXT = 201
INVALID_HANDLE = 400


def check(outcome: Outcome, name: str, *, texts: bool = True) -> None:
    if "ParamInfo" in outcome.symbol and outcome.code == 1:
        check_question(outcome, name)
        return
    if outcome.symbol == "cuDriverGetVersion":
        assert (outcome.status, outcome.launches) == (0, 1), outcome
        return
    if outcome.asked_again:
        # A thread without a context is brought one; a pointer is asked about in one.
        assert outcome.code == NO_CONTEXT or outcome.symbol == "cuPointerGetAttribute", outcome
    assert outcome.status == outcome.code, outcome
    check_text(outcome, name, texts=texts)
    assert outcome.launches == 0, outcome
    assert not outcome.tried, outcome
    assert outcome.kept or outcome.symbol == "cuCtxPopCurrent_v2", outcome
    assert outcome.status_again == 0, outcome
    assert outcome.launches_again == 1, outcome


def check_text(outcome: Outcome, name: str, *, texts: bool) -> None:
    """Check that kernel, call and code are named."""
    argument = r"(argument \d+ '\w+' \(.*\)|\w+ scratch \(.*\)): "
    if outcome.symbol == "cuPointerGetAttribute" and outcome.code == 1:
        # This is what the driver says of host memory.
        assert re.match(f"{name}: {argument}.* is host memory", outcome.text), outcome
        return
    # What is encoded is one argument's, which is named as well.
    about = argument if "TensorMap" in outcome.symbol else ""
    assert re.match(f"{name}: {about}{public(outcome.symbol)} failed: ", outcome.text), outcome
    said = CODES[outcome.code] if texts else "unknown error"
    assert f" failed: {said} ({outcome.code}): " in outcome.text, outcome
    assert texts or "the driver has no text for it" in outcome.text, outcome


def check_question(outcome: Outcome, name: str) -> None:
    """Check that an index without a parameter is one behind the last, or another kernel's."""
    if outcome.status == INVALID_HANDLE:
        # A library's kernel is no function: asked as one first, it has to be told by that.
        assert "cuFuncGetParamInfo failed: " in outcome.text, outcome
    elif outcome.status != 0:
        assert outcome.status == (200 if "another image" in outcome.text else 1), outcome
        assert outcome.text.startswith(f"{name}: "), outcome
        assert "has no parameter in the" in outcome.text, outcome
    assert outcome.launches == (outcome.status == 0), outcome
    assert (outcome.status_again, outcome.launches_again) == (0, 1), outcome


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_each_failing_call_is_reported_and_leaves_nothing_stuck(
    scenario: str, face: str, record_property: Record
) -> None:
    kernel, options, setting = SCENARIOS[scenario]
    driver = RecordingDriver(devices=setting.devices)
    launcher = library(face, kernel, **options)
    found = list(children.outcomes(driver, launcher, setting, tuple(CODES)))
    assert len(found) >= 3 * len(CODES)
    for outcome in found:
        check(outcome, kernel)
    record_property("faults", len(found))


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_each_failing_call_of_a_driver_without_texts_is_reported(
    scenario: str, face: str, record_property: Record
) -> None:
    kernel, options, setting = SCENARIOS[scenario]
    driver = RecordingDriver(devices=setting.devices)
    launcher = library(face, kernel, **options)
    found = list(children.outcomes(driver, launcher, setting, (719,), texts=False))
    for outcome in found:
        check(outcome, kernel, texts=False)
    record_property("faults", len(found))


@pytest.mark.parametrize("kernel", ["add", "matmul", "matmul_cluster", "desc_copy"])
def test_each_failing_call_of_a_driver_without_libraries_is_reported(kernel: str) -> None:
    # An encoder looks for a context before any launch: that is tested without faults.
    setting = asdict(Setting(devices=2, stream=True, current=kernel == "desc_copy"))
    found = apart(children.faults, c_library(kernel), LIBRARIES, setting, tuple(CODES))
    symbols = {each["symbol"] for each in found}
    assert {"cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernelEx"} <= symbols
    for each in found:
        check(Outcome(**each), kernel)


def test_what_was_loaded_before_a_failure_is_not_loaded_again(driver: RecordingDriver) -> None:
    launcher = c_library("matmul").fresh()
    driver.fail("cuKernelSetAttribute", 1)
    assert launcher.launch() == 1
    assert launcher.launch() == 0
    assert names(driver).count("cuLibraryLoadData") == 1


def test_a_module_that_could_not_be_prepared_is_released() -> None:
    setting = asdict(Setting())
    found = apart(children.module_left_behind, c_library("matmul"), LIBRARIES, setting)
    assert found == {"status": [1, 0], "loads": 2, "unloads": 1}


@pytest.mark.parametrize("face", FACES)
def test_scratch8_a_fault_that_stays_is_returned_by_every_launch(
    driver: RecordingDriver, face: str
) -> None:
    add = library(face, "add", tensors=False).fresh()
    driver.fail("cuLaunchKernelEx", 719, times=None)
    assert [add.launch() for _ in range(3)] == [719, 719, 719]
    assert driver.launches == ()


@pytest.mark.parametrize("missing", [(), LIBRARIES], ids=["libraries", "modules"])
@pytest.mark.parametrize("face", FACES)
def test_unloading_reports_the_call_that_failed(
    face: str, missing: tuple[str, ...], record_property: Record
) -> None:
    found = apart(children.unloads, library(face, "add", tensors=False), list(missing), list(CODES))
    unloaded_by = {"cuCtxPushCurrent_v2", "cuModuleUnload", "cuCtxPopCurrent_v2"}
    assert {each["symbol"] for each in found} == (unloaded_by if missing else {"cuLibraryUnload"})
    for each in found:
        code = each["code"]
        assert each["status"] == code, each
        said = f"add: {public(each['symbol'])} failed: {CODES[code]} ({code}): "
        assert each["text"].startswith(said), each
        assert each["again"] == [0, 0], each
        assert each["launches"] == 2, each
    record_property("faults", len(found))


# ---- texts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("code", [1, 209, 700, 719])
def test_error4_the_text_says_call_code_kernel_grid_block_shared_and_device(
    driver: RecordingDriver, code: int, face: str
) -> None:
    launcher = library(face, "matmul", tensors=False).fresh()
    driver.fail("cuLaunchKernelEx", code)
    assert launcher.launch(grid=(7, 5, 3)) == code
    for part in (
        "matmul: ",
        "cuLaunchKernelEx",
        f"{CODES[code]} ({code})",
        "grid 7x5x3",
        "block 256x1x1",
        "shared 65536 bytes",
        "device 0",
    ):
        assert part in launcher.error


@pytest.mark.parametrize("code", [719, 12345])
def test_a_code_without_a_text_is_reported_by_its_number(
    driver: RecordingDriver, add: CLauncher, code: int
) -> None:
    driver.forget_texts()
    driver.fail("cuLaunchKernelEx", code)
    assert add.launch() == code
    assert f"cuLaunchKernelEx failed: unknown error ({code}): the driver has no text" in add.error


def test_a_code_unknown_to_the_driver_is_reported_by_its_number(
    driver: RecordingDriver, add: CLauncher
) -> None:
    driver.fail("cuLibraryLoadData", 54321)
    assert add.launch() == 54321
    assert "cuLibraryLoadData failed: unknown error (54321)" in add.error


def test_failing_texts_do_not_hide_the_failure(driver: RecordingDriver, add: CLauncher) -> None:
    driver.fail("cuGetErrorName", 999, times=None)
    driver.fail("cuGetErrorString", 999, times=None)
    driver.fail("cuInit", 100)
    assert add.launch() == 100
    assert "cuInit failed: unknown error (100)" in add.error


def test_a_failure_of_the_question_for_the_device_does_not_hide_the_failure(
    driver: RecordingDriver, add: CLauncher
) -> None:
    assert add.launch() == 0
    driver.fail("cuLaunchKernelEx", 700)
    driver.fail("cuCtxGetDevice", 999)
    assert add.launch() == 700
    assert add.error.endswith("shared 0 bytes")


def test_the_text_is_empty_before_a_failure_and_a_success_leaves_it(
    driver: RecordingDriver, add: CLauncher
) -> None:
    assert add.error == ""
    driver.fail("cuLaunchKernelEx", 700)
    assert add.launch() == 700
    text = add.error
    assert add.launch() == 0
    assert add.error == text


@pytest.mark.parametrize("face", FACES)
def test_name3_an_entry_that_the_image_lacks_is_named(driver: RecordingDriver, face: str) -> None:
    launcher = library(face, "add", tensors=False, entry="k_0d1d").fresh()
    assert launcher.launch() == 500
    for part in ("add: ", "cuLibraryGetKernel", "CUDA_ERROR_NOT_FOUND (500)", "'k_0d1d'"):
        assert part in launcher.error


@pytest.mark.parametrize("face", FACES)
def test_name5_a_failing_look_up_names_kernel_and_entry(driver: RecordingDriver, face: str) -> None:
    add = library(face, "add", tensors=False).fresh()
    driver.fail("cuLibraryGetKernel", 500)
    assert add.launch() == 500
    assert add.error.startswith("add: cuLibraryGetKernel failed: CUDA_ERROR_NOT_FOUND (500)")
    assert "'add_kernel'" in add.error


def test_a_long_entry_is_cut_and_not_overrun(driver: RecordingDriver) -> None:
    launcher = c_library("add", entry="k" * 5000).fresh()
    assert launcher.launch() == 500
    assert len(launcher.error) < 1024
    assert "k" * 400 in launcher.error


@pytest.mark.parametrize("face", FACES)
def test_error1_nothing_is_printed_and_the_process_lives(
    driver: RecordingDriver, capfd: pytest.CaptureFixture[str], face: str
) -> None:
    add = library(face, "add", tensors=False).fresh()
    driver.fail("cuLibraryLoadData", 209)
    assert add.launch() == 209
    assert add.launch() == 0
    assert capfd.readouterr() == ("", "")


# ---- what the driver lacks -----------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("missing", [["cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col"], []])
def test_tma7_a_driver_without_the_encoder_is_named(missing: list[str], face: str) -> None:
    found = apart(children.without, library(face, "desc_copy", tensors=False), missing)
    if not missing:
        assert (found["status"], found["launches"]) == (0, 1)
        return
    assert (found["status"], found["launches"]) == (302, 0)
    assert "the driver is older than CUDA 12 and encodes no tensor maps" in found["text"]


def test_without_launch_kernel_ex_a_plain_launch_works() -> None:
    found = apart(children.without, c_library("add"), ["cuLaunchKernelEx"])
    assert found["status"] == 0
    assert found["launches"] == 1
    assert found["calls"][-1] == "cuLaunchKernel"


@pytest.mark.parametrize("kernel", ["grid_pdl", "grid_coop", "matmul_cluster"])
def test_without_launch_kernel_ex_a_launch_with_attributes_is_refused(kernel: str) -> None:
    found = apart(children.without, c_library(kernel), ["cuLaunchKernelEx"])
    assert found["status"] == 801
    assert found["launches"] == 0
    assert found["text"].startswith(f"{kernel}: the driver has no cuLaunchKernelEx and is too old")
    assert not any("Launch" in name for name in found["calls"])


def test_a_failing_plain_launch_names_its_own_call() -> None:
    setting = asdict(Setting())
    found = apart(children.faults, c_library("add"), ["cuLaunchKernelEx"], setting, [1, 700])
    assert {each["symbol"] for each in found} >= {"cuLaunchKernel", "cuLibraryLoadData"}
    for each in found:
        check(Outcome(**each), "add")


@pytest.mark.parametrize(
    "symbol",
    [
        "cuLibraryLoadData",
        pytest.param("cuLibraryUnload", marks=pytest.mark.slow),
        pytest.param("cuLibraryGetKernel", marks=pytest.mark.slow),
        pytest.param("cuKernelGetFunction", marks=pytest.mark.slow),
        pytest.param("cuKernelGetAttribute", marks=pytest.mark.slow),
        pytest.param("cuKernelSetAttribute", marks=pytest.mark.slow),
    ],
)
def test_without_any_call_for_libraries_a_module_is_loaded(symbol: str) -> None:
    found = apart(children.without, c_library("matmul"), [symbol])
    assert found["status"] == 0
    assert found["launches"] == 1
    assert "cuModuleLoadData" in found["calls"]
    assert not any(name.startswith(("cuLibrary", "cuKernel")) for name in found["calls"])


def test_without_stream_get_ctx_streams_are_not_looked_at() -> None:
    found = apart(children.foreign_stream, c_library("add"), ["cuStreamGetCtx"])
    assert found["calls"].count("cuCtxPushCurrent_v2") == 0
    assert found["status"] == [0, 0]


KINDS: dict[str, tuple[str, dict[str, Any], Setting]] = {
    name: SCENARIOS[name]
    for name in (
        "add",
        "matmul",
        "matmul_cluster",
        "two images",
        "grid_coop",
        "grid_pdl",
        "device_desc",
        "desc_copy",
        "handle",
    )
}
"""A launch of each kind of kernel, none of them in a context."""
NEEDED = {
    "cuTensorMapEncodeTiled": {"desc_copy": (302, "encodes no tensor maps")},
    "cuLaunchKernelEx": dict.fromkeys(
        ("matmul_cluster", "grid_coop", "grid_pdl"),
        (801, "too old for this kernel's launch attributes"),
    ),
}
"""Kinds that cannot do without an optional entry point: what they return and say."""


@pytest.mark.parametrize(
    "symbol",
    [
        pytest.param(name, marks=() if name in {"cuCtxGetCurrent", *NEEDED} else pytest.mark.slow)
        for name, _ in ENTRY_POINTS
    ],
)
def test_without_any_one_entry_point_each_kind_launches_or_names_it(
    symbol: str, record_property: Record
) -> None:
    kinds = [(face, name) for face in FACES for name in KINDS]
    libraries = [library(face, KINDS[name][0], **KINDS[name][1]) for face, name in kinds]
    first, *others = libraries
    found = apart(
        children.kinds_without,
        first,
        [symbol],
        [describe(each) for each in others],
        [asdict(KINDS[name][2]) for _, name in kinds],
    )
    for (_, name), outcome in zip(kinds, found, strict=True):
        status, text = NEEDED.get(symbol, {}).get(name, (0, ""))
        if symbol in REQUIRED:
            status, text = 302, f"{KINDS[name][0]}: the driver has no {symbol}"
        assert outcome["status"] == status, (name, outcome)
        assert text in outcome["text"], (name, outcome)
        assert outcome["launches"] == (status == 0), (name, outcome)
        assert len(outcome["launched_by"]) <= 1 or symbol not in REQUIRED, (name, outcome)
    record_property("faults", len(found))


# ---- a context that goes -------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_context_that_is_no_longer_current_is_found_again(kind: str, face: str) -> None:
    kernel, options, setting = KINDS[kind]
    driver = RecordingDriver()
    process = children.Process(driver, library(face, kernel, **options), setting)
    for count in (1, 2):
        assert process.launch() == 0, process.launcher.error
        assert len(driver.launches) == count
        driver.current_context = None
    assert len({launch.context for launch in driver.launches}) == 1


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_context_destroyed_between_launches_is_named_and_nothing_launched(
    kind: str, face: str, record_property: Record
) -> None:
    kernel, options, setting = KINDS[kind]
    driver = RecordingDriver()
    process = children.Process(driver, library(face, kernel, **options), setting)
    context = driver.new_context()
    driver.current_context = context
    assert process.launch() == 0, process.launcher.error
    assert driver.library.cuCtxDestroy_v2(ctypes.c_void_p(context)) == 0
    # A thread whose current context was destroyed has one still, which is of no use.
    driver.library.cuCtxSetCurrent(ctypes.c_void_p(context))
    before = len(driver.launches)
    status = process.launch()
    if status != 0:
        assert process.launcher.error.startswith(f"{kernel}: "), process.launcher.error
        assert f"({status})" in process.launcher.error
    assert len(driver.launches) - before == (status == 0)
    driver.current_context = driver.new_context()
    if not options.get("no_image"):
        assert process.launcher.unload() == 0, process.launcher.error
    assert process.launch() == 0, process.launcher.error
    record_property("faults", 1)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("code", [709, 201])
def test_a_context_lost_for_good_is_reported_at_each_launch_until_there_is_one(
    kind: str, face: str, code: int, record_property: Record
) -> None:
    kernel, options, setting = KINDS[kind]
    driver = RecordingDriver()
    process = children.Process(driver, library(face, kernel, **options), setting)
    assert process.launch() == 0, process.launcher.error
    driver.reset()
    driver.fail("*", code, times=None)
    for _ in range(3):
        assert process.launch() == code
        assert process.launcher.error.startswith(f"{kernel}: ")
        assert f"({code})" in process.launcher.error
    assert driver.launches == ()
    driver.reset()
    process.remember_memory()
    assert process.launch() == 0, process.launcher.error
    assert len(driver.launches) == 1
    record_property("faults", 3)


def no_driver() -> dict[str, str]:
    """Return variables with which the loader, asked by name, finds an empty file."""
    folder = new_folder()
    (folder / "libcuda.so.1").write_bytes(b"")
    return {"LD_LIBRARY_PATH": str(folder), "PATH": "/usr/bin:/bin"}


@needs_no_driver
def test_without_a_driver_the_status_is_303() -> None:
    found = apart(children.plain, c_library("add"), env=no_driver())
    assert found["before"] == ""
    assert found["status"] == [303, 303]
    assert found["text"].startswith("add: no NVIDIA driver: ")
    assert "libcuda.so.1" in found["text"]


@needs_no_driver
@pytest.mark.parametrize("face", FACES)
def test_without_a_driver_a_forked_child_is_told_so_too(face: str) -> None:
    found = apart(children.forked, library(face, "add"), env=no_driver())
    assert found["status"] == 303
    assert re.match(r"303 add: no NVIDIA driver: ", found["child"]), found


@needs_no_driver
def test_without_a_driver_python_raises_a_cuda_error() -> None:
    found = apart(
        children.python_plain, c_library("add"), str(python_module("add")), env=no_driver()
    )
    code, name, text = found
    assert code == 303
    assert name == "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED"
    assert text.startswith("add: no NVIDIA driver: ")


def test_toolchain6_the_stub_library_is_called_by_its_name(
    driver: RecordingDriver, add: CLauncher
) -> None:
    driver.fail("cuInit", 34, times=None)
    assert add.launch() == 34
    assert "cuInit failed: CUDA_ERROR_STUB_LIBRARY (34)" in add.error
    assert "stub" in add.error
    assert "library path" in add.error
    driver.reset()
    assert add.launch() == 0


def test_a_machine_without_devices_is_reported() -> None:
    RecordingDriver(devices=0).load()
    launcher = c_library("add").fresh()
    assert launcher.launch() == 100
    assert "cuInit failed: CUDA_ERROR_NO_DEVICE (100)" in launcher.error


# ---- Python --------------------------------------------------------------------------------------

GOOD = (4, None, 0x1000, 0x2000, 0x3000, 64, 2.0)


class Tensor:
    def __init__(self, address: int) -> None:
        self.address = address

    def data_ptr(self) -> int:
        return self.address


def test_python_raises_each_failing_call_with_code_and_name(driver: RecordingDriver) -> None:
    module = import_module(python_module("add"))
    module.launch(*GOOD)
    symbols = list(dict.fromkeys(names(driver)))
    symbols.remove("cuFuncGetParamInfo")  # no answer is no failure
    for symbol in symbols:
        for code, name in CODES.items():
            driver.reset()
            driver.load()
            module = import_module(python_module("add"))
            driver.fail(
                symbol, code, times=2 if "Launch" in symbol or "CtxGetDevice" in symbol else 1
            )
            with pytest.raises(module.CudaError) as caught:
                module.launch(*GOOD)
            assert isinstance(caught.value, RuntimeError)
            assert (getattr(caught.value, "code", None), getattr(caught.value, "name", None)) == (
                code,
                name,
            )
            assert str(caught.value).startswith(f"add: {public(symbol)} failed: {name} ({code})")
            assert driver.launches == ()


def test_python_raises_codes_that_have_no_name(
    driver: RecordingDriver, add_module: ModuleType
) -> None:
    driver.forget_texts()
    driver.fail("cuLaunchKernelEx", 12345)
    with pytest.raises(add_module.CudaError, match=r"unknown error \(12345\)") as caught:
        add_module.launch(*GOOD)
    assert caught.value.code == 12345
    assert isinstance(caught.value.name, str)


@pytest.mark.parametrize("entry", ["é" * 3000, "k" * 477 + "é" * 20, "k" * 478 + "é" * 20])
def test_python_raises_texts_that_had_to_be_cut_inside_a_character(
    driver: RecordingDriver, entry: str
) -> None:
    module = import_module(python_module("add", entry=entry))
    with pytest.raises(module.CudaError, match="cuLibraryGetKernel failed") as caught:
        module.launch(*GOOD)
    assert caught.value.code == 500


def test_python_load_and_unload_raise(driver: RecordingDriver, add_module: ModuleType) -> None:
    driver.fail("cuLibraryLoadData", 209)
    with pytest.raises(add_module.CudaError, match="cuLibraryLoadData") as caught:
        add_module.load()
    assert caught.value.code == 209
    add_module.load()
    driver.fail("cuLibraryUnload", 719)
    with pytest.raises(add_module.CudaError, match="cuLibraryUnload") as caught:
        add_module.unload()
    assert caught.value.code == 719
    add_module.launch(*GOOD)


@pytest.mark.parametrize(
    "arguments",
    [
        (4, None, 2**64, 0x2000, 0x3000, 64, 2.0),
        (4, None, -(2**63) - 1, 0x2000, 0x3000, 64, 2.0),
        (4, None, 0x1000, "x", 0x3000, 64, 2.0),
        (4, None, 0x1000, 0x2000, 0x3000, 2**31, 2.0),
        (4, None, 0x1000, 0x2000, 0x3000, 64, "x"),
        (4, None, 0x1000, 0x2000, 0x3000, 64),
        (-1, None, 0x1000, 0x2000, 0x3000, 64, 2.0),
        (4, "stream", 0x1000, 0x2000, 0x3000, 64, 2.0),
    ],
)
def test_error3_nothing_reaches_the_driver_after_a_failed_conversion(
    driver: RecordingDriver, add_module: ModuleType, arguments: Sequence[object]
) -> None:
    with pytest.raises((TypeError, OverflowError, ValueError)):
        add_module.launch(*arguments)
    assert driver.calls == ()


def test_error3_nothing_is_launched_after_a_failed_conversion_behind_a_good_tensor(
    driver: RecordingDriver, add_module: ModuleType
) -> None:
    driver.add_memory(0x1000, 4096)
    with pytest.raises(OverflowError):
        add_module.launch(4, None, Tensor(0x1000), 2**64, 0x3000, 64, 2.0)
    assert not any("Launch" in name or "Load" in name for name in names(driver))


def test_ptr4_a_tensor_of_another_device_is_refused_with_both_devices() -> None:
    driver = RecordingDriver(devices=2).load()
    module = import_module(python_module("add"))
    driver.current_context = driver.primary_context(0)
    driver.add_memory(0x10000, 4096, device=1)
    with pytest.raises(ValueError, match=r"argument 1 'y_ptr' \(\*fp32\)") as caught:
        module.launch(4, None, 0x1000, Tensor(0x10000), 0x3000, 64, 2.0)
    text = str(caught.value)
    assert "0x10000 of a Tensor lies on device 1" in text
    assert "device 0 is current" in text
    assert "CPU" not in text
    assert driver.launches == ()


def test_ptr4_a_tensor_of_the_current_device_is_taken() -> None:
    driver = RecordingDriver(devices=2).load()
    module = import_module(python_module("add"))
    driver.current_context = driver.primary_context(1)
    driver.add_memory(0x10000, 4096, device=1)
    module.launch(4, None, Tensor(0x10000), Tensor(0x10010), Tensor(0x10020), 64, 2.0)
    (launch,) = driver.launches
    assert launch.device == 1


@pytest.mark.parametrize("code", [2, 700, 719, 999])
def test_ctx1_every_failure_of_a_pointer_query_is_a_cuda_error(
    driver: RecordingDriver, add_module: ModuleType, code: int
) -> None:
    driver.add_memory(0x1000, 4096)
    driver.fail("cuPointerGetAttribute", code, times=None)
    with pytest.raises(add_module.CudaError, match="cuPointerGetAttribute failed") as caught:
        add_module.launch(4, None, Tensor(0x1000), 0x2000, 0x3000, 64, 2.0)
    assert caught.value.code == code
    assert driver.launches == ()
