"""First launches from many threads at once load once; sanitizers have nothing to say."""

from __future__ import annotations

import functools
import shutil
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from launchgen.testing import RecordingDriver, read_log
from tests import children
from tests.programs import (
    OLDER,
    TESTS,
    CLibrary,
    Emitted,
    apart,
    cc,
    compile_python,
    emit,
    emit_zoo,
    import_module,
    names,
    new_folder,
    run,
)

THREADS = 8
LOAD_MS = 50


@functools.cache
def c_library(kernel: str) -> CLibrary:
    return CLibrary.of(emit_zoo(kernel))


@functools.cache
def add_extension() -> Path:
    return compile_python(emit_zoo("add", artifacts=("cpython",)))


def at_once(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """Return what ``work(0)``, ``work(1)``, … return when all start together."""
    barrier = threading.Barrier(count)
    results: list[Any] = [None] * count

    def each(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except Exception as error:  # shown by the assertion about the results
            results[number] = error

    threads = [threading.Thread(target=each, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def slow_driver(**options: Any) -> RecordingDriver:
    driver = RecordingDriver(**options).load()
    driver.slow("cuInit", 5)
    driver.slow("cuLibraryLoadData", LOAD_MS)
    driver.slow("cuLibraryGetKernel", 5)
    return driver


# ---- C -------------------------------------------------------------------------------------------


def test_ctx5_eight_threads_on_a_first_launch_load_once() -> None:
    driver = slow_driver()
    launcher = c_library("add").fresh()

    def work(number: int) -> int:
        address = (number + 1) << 20
        return launcher.launch(values=(address, address, address, number, float(number)))

    assert at_once(work) == [0] * THREADS
    assert names(driver).count("cuInit") == 1
    assert names(driver).count("cuLibraryLoadData") == 1
    assert len({launch.function for launch in driver.launches}) == 1
    found = sorted(launch.values for launch in driver.launches)
    expected = sorted(
        (
            *[struct.pack("<Q", (number + 1) << 20)] * 3,
            struct.pack("<i", number),
            struct.pack("<f", number),
            bytes(8),
            bytes(8),
        )
        for number in range(THREADS)
    )
    assert found == expected


def test_ctx5_two_devices_and_reloads_between_rounds() -> None:
    driver = slow_driver(devices=2)
    launcher = c_library("matmul").fresh()
    contexts = [driver.primary_context(device) for device in (0, 1)]

    def work(number: int) -> int:
        driver.current_context = contexts[number % 2]
        return launcher.launch()

    for rounds in range(1, 4):
        assert at_once(work) == [0] * THREADS
        assert names(driver).count("cuLibraryLoadData") == rounds
        assert names(driver).count("cuKernelSetAttribute") == 2 * rounds
        assert launcher.unload() == 0
    devices = sorted(launch.device for launch in driver.launches)
    assert devices == [0] * 12 + [1] * 12


def test_ctx5_two_architectures_are_loaded_once_each() -> None:
    driver = slow_driver(devices=2, capability=(80, 90))
    launcher = CLibrary.of(emit_zoo("matmul", others=(OLDER,))).fresh()
    contexts = [driver.primary_context(device) for device in (0, 1)]

    def work(number: int) -> int:
        driver.current_context = contexts[number % 2]
        return launcher.launch()

    for rounds in range(1, 4):
        assert at_once(work) == [0] * THREADS
        assert names(driver).count("cuLibraryLoadData") == 2 * rounds
        assert launcher.unload() == 0
    found = {(launch.device, launch.shared) for launch in driver.launches}
    assert found == {(0, 49152), (1, 65536)}
    assert len(driver.launches) == 3 * THREADS


def test_ctx5_threads_compare_a_handle_and_launch_it() -> None:
    driver = slow_driver()
    driver.slow("cuFuncGetParamInfo", 2)
    launcher = CLibrary.of(emit_zoo("add", no_image=True)).fresh()
    sizes = (8, 8, 8, 4, 4, 8, 8)
    functions = [driver.make_function("kernel", sizes), driver.make_function("kernel", sizes[:5])]
    expected = [number % 2 for number in range(THREADS)]
    assert at_once(lambda number: launcher.launch(function=functions[number % 2])) == expected
    assert {launch.function for launch in driver.launches} == {functions[0]}


def test_ctx5_threads_in_contexts_of_a_driver_without_libraries() -> None:
    found = apart(children.threads_in_contexts, c_library("matmul"), ["cuLibraryLoadData"])
    assert found == {"status": [0] * THREADS, "loads": 2, "launches": [4, 4]}


def test_a_failed_first_load_is_tried_again_by_the_next_thread() -> None:
    driver = slow_driver()
    driver.fail("cuLibraryLoadData", 2)
    launcher = c_library("add").fresh()
    assert sorted(at_once(lambda _: launcher.launch())) == [0] * (THREADS - 1) + [2]
    assert names(driver).count("cuLibraryLoadData") == 2
    assert len(driver.launches) == THREADS - 1


def test_a_failed_start_of_the_driver_is_tried_again_by_the_next_thread() -> None:
    driver = slow_driver()
    driver.fail("cuInit", 100, times=2)
    launcher = c_library("add").fresh()
    assert sorted(at_once(lambda _: launcher.launch())) == [0] * (THREADS - 2) + [100, 100]


def test_each_thread_has_a_text_of_its_own() -> None:
    RecordingDriver().load()
    launcher = c_library("add").fresh()

    def work(number: int) -> str:
        before = launcher.error
        if number % 2:
            launcher.launch(grid=(1, 65536 + number, 1))
        return before + launcher.error

    texts = at_once(work)
    for number, text in enumerate(texts):
        if number % 2:
            assert f"1 x {65536 + number} x 1" in text
        else:
            assert text == ""
    assert launcher.error == ""


# ---- Python --------------------------------------------------------------------------------------


def launch_add(module: ModuleType, number: int) -> None:
    address = (number + 1) << 20
    module.launch(number + 1, None, address, address, address, number, float(number))


def test_ctx5_python_threads_on_a_first_launch_load_once() -> None:
    driver = slow_driver()
    module = import_module(add_extension())
    for rounds in range(1, 3):
        assert at_once(lambda number: launch_add(module, number)) == [None] * THREADS
        assert names(driver).count("cuLibraryLoadData") == rounds
        module.unload()
    for launch in driver.launches:
        number = launch.grid[0] - 1
        assert launch.values[3] == struct.pack("<i", number)
    assert len(driver.launches) == 2 * THREADS


def test_other_python_threads_run_while_one_loads() -> None:
    driver = slow_driver()
    driver.slow("cuLibraryLoadData", 400)
    module = import_module(add_extension())
    loading = threading.Thread(target=module.load)
    loading.start()
    turns = 0
    while loading.is_alive():
        loading.join(0.005)
        turns += 1
    assert turns > 10


def test_python_threads_raise_what_is_their_own() -> None:
    RecordingDriver().load()
    module = import_module(add_extension())

    def work(number: int) -> None:
        for _ in range(50):
            if number % 2:
                module.launch((1, 65536 + number), None, 1, 1, 1, 1, 1.0)
            else:
                launch_add(module, number)

    results = at_once(work)
    for number, result in enumerate(results):
        if number % 2:
            assert isinstance(result, ValueError)
            assert f"1 x {65536 + number} x 1" in str(result)
        else:
            assert result is None


def test_python_threads_of_two_devices_go_where_they_belong() -> None:
    driver = slow_driver(devices=2)
    module = import_module(add_extension())
    contexts = [driver.primary_context(device) for device in (0, 1)]

    def work(number: int) -> None:
        driver.current_context = contexts[number % 2]
        for _ in range(20):
            launch_add(module, number)

    assert at_once(work) == [None] * THREADS
    assert {(launch.grid[0] - 1) % 2 == launch.device for launch in driver.launches} == {True}
    assert len(driver.launches) == 20 * THREADS
    assert names(driver).count("cuLibraryLoadData") == 1


# ---- sanitizers ----------------------------------------------------------------------------------


def collect(*emitted: Emitted) -> Path:
    """Return a folder with the files of several launchers."""
    folder = new_folder()
    for each in emitted:
        for path in each.folder.iterdir():
            shutil.copy(path, folder)
    return folder


@functools.cache
def threads_program(*others: str) -> Path:
    folder = collect(emit_zoo("add", others=others), emit_zoo("matmul", others=others))
    flags = ("-std=c11", "-O1", "-g", "-fsanitize=thread", "-pthread", "-I.")
    sources = (TESTS / "threads.c", "add.c", "matmul.c")
    cc(folder, *flags, *sources, "-o", "threads", "-ldl")
    return folder / "threads"


@pytest.mark.parametrize("missing", [(), ("cuLibraryLoadData",)], ids=["libraries", "modules"])
@pytest.mark.parametrize("devices", [0, 1, 2])
def test_ctx5_the_thread_sanitizer_is_silent(devices: int, missing: tuple[str, ...]) -> None:
    driver = RecordingDriver(devices=max(devices, 1), missing=missing, sanitize="thread")
    driver.slow("cuLibraryLoadData" if not missing else "cuModuleLoadData", 20)
    program = threads_program()
    log = program.with_name(f"{devices}{bool(missing)}.log")
    environment = {**driver.environment(log=log), "TSAN_OPTIONS": "halt_on_error=1 exitcode=66"}
    # The sanitizer of gcc 12 cannot live with as much randomness as newer kernels have.
    fixed = ("setarch", "-R") if shutil.which("setarch") else ()
    done = run([*fixed, program, str(devices), "3", "20"], env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
    calls = read_log(log)
    loads = sum(call.name in ("cuLibraryLoadData", "cuModuleLoadData") for call in calls)
    assert loads == 3 * 2 * (max(devices, 1) if missing else 1)
    launches = [call.launch for call in calls if call.launch is not None]
    assert len(launches) == 3 * 2 * THREADS * 20
    if devices:
        for launch in launches:
            number = max(launch.grid[0], launch.grid[2]) - 1
            assert launch.device == number % devices


@pytest.mark.parametrize("missing", [(), ("cuLibraryLoadData",)], ids=["libraries", "modules"])
def test_ctx5_the_thread_sanitizer_is_silent_where_devices_get_two_images(
    missing: tuple[str, ...],
) -> None:
    options = {"devices": 2, "capability": (90, 80), "missing": missing}
    driver = RecordingDriver(**options, sanitize="thread")  # type: ignore[arg-type]
    driver.slow("cuLibraryLoadData" if not missing else "cuModuleLoadData", 20)
    program = threads_program(OLDER)
    log = program.with_name(f"two{bool(missing)}.log")
    environment = {**driver.environment(log=log), "TSAN_OPTIONS": "halt_on_error=1 exitcode=66"}
    fixed = ("setarch", "-R") if shutil.which("setarch") else ()
    done = run([*fixed, program, "2", "3", "20"], env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
    calls = read_log(log)
    loads = sum(call.name in ("cuLibraryLoadData", "cuModuleLoadData") for call in calls)
    assert loads == 3 * 2 * 2
    found = {
        (call.launch.device, call.launch.shared)
        for call in calls
        if call.launch is not None and call.launch.entry == "matmul_kernel"
    }
    assert found == {(0, 65536), (1, 49152)}


MISUSE = {
    "unload": [0, 0, 0, 0, 0],
    "empty": [0],
    "good": [0],
    "null": [0],
    "largest": [0],
    "too large": [1],
    "stream": [400],
    "hint": [1],
    "hinted": [0],
    "no scratch": [1],
    "misaligned": [1],
    "scratch": [0],
    "half": [400],
    "large half": [1],
    "no handle": [1],
    "bytes": [400],
    "no bytes": [1],
    "again": [0],
}

SIZES = {"overflow": [1], "scratch bytes": [256 * 24]}


@functools.cache
def misuse_program(sanitizers: str) -> Path:
    folder = collect(
        emit_zoo("add"),
        emit_zoo("matmul"),
        emit_zoo("device_desc"),
        emit(None, "a: fp16, b: bf16, c: i1", name="halves", num_warps=4),
        emit(None, "s: bytes[24:8], map: nvTmaDesc", name="structs", num_warps=4),
    )
    flags = ("-std=c11", "-O1", "-g", f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all")
    sources = [f"{name}.c" for name in ("add", "matmul", "device_desc", "halves", "structs")]
    cc(folder, *flags, "-pthread", "-I.", TESTS / "misuse.c", *sources, "-o", "misuse", "-ldl")
    return folder / "misuse"


@pytest.mark.parametrize("missing", [(), ("cuLibraryLoadData",)], ids=["libraries", "modules"])
def test_the_address_and_undefined_sanitizers_are_silent(missing: tuple[str, ...]) -> None:
    driver = RecordingDriver(missing=missing, sanitize="address")
    done = run([misuse_program("address,undefined")], env=driver.environment())
    assert done.stderr == ""
    assert done.returncode == 0
    found: dict[str, list[int]] = {}
    for line in done.stdout.splitlines():
        name, status, text = line.split("|")
        found.setdefault(name, []).append(int(status))
        assert bool(text) == (int(status) != 0 and name not in SIZES), line
    assert found == MISUSE | SIZES


@pytest.mark.parametrize(
    "symbol", ["cuLibraryLoadData", "cuKernelSetAttribute", "cuLaunchKernelEx"]
)
def test_failing_calls_leak_nothing(symbol: str) -> None:
    driver = RecordingDriver(sanitize="address")
    driver.fail(symbol, 719, times=None)
    done = run([misuse_program("address,undefined")], env=driver.environment())
    assert done.stderr == ""
    assert done.returncode == 0
    assert "|719|" in done.stdout
