"""A forked child of a process that used the driver is told so, and does not hang."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from launchgen.testing import RecordingDriver
from tests.programs import (
    FACES,
    AnyLauncher,
    library,
    names,
)

NOT_INITIALIZED = 3
# os.fork warns of threads since Python 3.12: that it is done is what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@pytest.fixture
def driver() -> RecordingDriver:
    driver = RecordingDriver().load()
    driver.add_memory(0x10000, 1 << 24)
    return driver


def in_child(function: Callable[[], Any], seconds: int = 20) -> Any:
    """Return what ``function`` returns in a forked child, which is ended if it hangs."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        status = 1
        try:
            os.write(writer, json.dumps(function()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with {status}"
    return json.loads(text)


def launch_and_tell(driver: RecordingDriver, launcher: AnyLauncher) -> dict[str, Any]:
    before = len(driver.launches)
    status = launcher.launch()
    return {
        "status": status,
        "text": launcher.error,
        "launches": len(driver.launches) - before,
    }


def check_told(found: dict[str, Any], name: str) -> None:
    assert found["status"] == NOT_INITIALIZED
    assert found["launches"] == 0
    assert found["text"].startswith(f"{name}: ")
    assert "forked after its first use" in found["text"]
    assert "fork before it" in found["text"]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("name", ["add", "matmul", "matmul_cluster", "desc_copy", "device_desc"])
def test_a_child_forked_after_a_launch_is_told(
    driver: RecordingDriver, name: str, face: str
) -> None:
    launcher = library(face, name).fresh()
    assert launcher.launch() == 0, launcher.error
    check_told(in_child(lambda: launch_and_tell(driver, launcher)), name)
    assert launcher.launch() == 0
    assert len(driver.launches) == 2


@pytest.mark.parametrize("face", FACES)
def test_a_child_forked_before_the_first_launch_launches(
    driver: RecordingDriver, face: str
) -> None:
    # What makes the driver known to this process must not start it.
    driver.load()
    launcher = library(face, "no_args").fresh()
    found = in_child(lambda: launch_and_tell(driver, launcher))
    assert (found["status"], found["launches"]) == (0, 1), found
    assert launcher.launch() == 0


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("devices", [1, 2])
def test_a_child_of_a_process_that_loaded_another_launcher_is_told(face: str, devices: int) -> None:
    driver = RecordingDriver(devices=devices).load()
    driver.add_memory(0x10000, 1 << 24)
    used, other = library(face, "add").fresh(), library(face, "matmul").fresh()
    assert used.launch() == 0
    check_told(in_child(lambda: launch_and_tell(driver, other)), "matmul")
    check_told(in_child(lambda: launch_and_tell(driver, used)), "add")
    assert other.launch() == 0


@pytest.mark.parametrize("face", FACES)
def test_a_child_forked_after_a_launch_by_handle_is_told(
    driver: RecordingDriver, face: str
) -> None:
    launcher = library(face, "add", no_image=True).fresh()
    function = driver.make_function("kernel", (8, 8, 8, 4, 4, 8, 8))
    assert launcher.launch(function=function) == 0

    def launch() -> dict[str, Any]:
        status = launcher.launch(function=function)
        return {"status": status, "text": launcher.error, "launches": 0}

    check_told(in_child(launch), "add")


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("call", ["launch", "load", "unload"])
def test_a_child_forked_while_another_thread_loads_does_not_hang(
    driver: RecordingDriver, face: str, call: str
) -> None:
    driver.slow("cuLibraryLoadData", 400)
    launcher = library(face, "add").fresh()
    loading = threading.Thread(target=launcher.load)
    loading.start()
    while "cuDeviceGetCount" not in names(driver):
        time.sleep(0.001)
    time.sleep(0.05)

    def call_and_tell() -> dict[str, Any]:
        status = getattr(launcher, call)()
        return {"status": status, "text": launcher.error, "launches": 0}

    found = in_child(call_and_tell, seconds=5)
    loading.join()
    check_told(found, "add")
    assert launcher.launch() == 0
    assert names(driver).count("cuLibraryLoadData") == 1


@pytest.mark.parametrize("face", FACES)
def test_a_child_forked_while_another_thread_starts_the_driver_does_not_hang(
    driver: RecordingDriver, face: str
) -> None:
    driver.load()
    driver.slow("cuInit", 300)
    launcher = library(face, "no_args").fresh()
    starting = threading.Thread(target=launcher.load)
    starting.start()
    time.sleep(0.1)
    found = in_child(lambda: launch_and_tell(driver, launcher), seconds=5)
    starting.join()
    check_told(found, "no_args")


def test_a_child_that_uses_the_driver_of_its_parents_program_is_told(
    driver: RecordingDriver,
) -> None:
    # Not this launcher, but PyTorch, say, started it.
    driver.load()
    assert driver.library.cuInit(0) == 0
    launcher = library("c", "add").fresh()
    found = in_child(lambda: launch_and_tell(driver, launcher))
    check_told(found, "add")
    assert "cuInit failed: CUDA_ERROR_NOT_INITIALIZED (3)" in found["text"]


def test_python_names_the_code_in_a_forked_child(driver: RecordingDriver) -> None:
    used = library("cpython", "add").fresh()
    other = library("cpython", "no_args").fresh()
    assert used.launch() == 0

    def raised() -> list[list[Any]]:
        found = []
        for launcher in (used, other):
            module = launcher.module  # type: ignore[union-attr]
            try:
                module.unload()
            except module.CudaError as error:
                found.append([error.code, error.name])
        return found

    assert in_child(raised)[0] == [NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"]


def test_the_driver_answers_in_a_child_as_the_real_one_does() -> None:
    """On an H200 with driver 580 these were asked in a child: all return 3, error names go on."""
    driver = RecordingDriver().load()
    launcher = library("c", "add").fresh()
    assert launcher.launch() == 0
    cu = driver.library

    def answers() -> list[int]:
        number, text = ctypes.c_int(), ctypes.c_char_p()
        return [
            cu.cuInit(0),
            cu.cuDeviceGetCount(ctypes.byref(number)),
            cu.cuCtxGetDevice(ctypes.byref(number)),
            cu.cuGetErrorName(NOT_INITIALIZED, ctypes.byref(text)),
        ]

    assert in_child(answers) == [NOT_INITIALIZED] * 3 + [0]


def test_a_child_of_a_child_is_told(driver: RecordingDriver) -> None:
    launcher = library("c", "add").fresh()
    assert launcher.launch() == 0
    check_told(in_child(lambda: in_child(lambda: launch_and_tell(driver, launcher))), "add")
