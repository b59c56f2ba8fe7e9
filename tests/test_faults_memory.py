"""Where memory runs out an error comes, nothing is launched, and the next launch works."""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib.util
import shutil
import sysconfig
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest

from launchgen.testing import RecordingDriver
from tests.children import Process
from tests.programs import (
    FLAGS,
    TESTS,
    CLibrary,
    PythonLauncher,
    cc,
    compile_python,
    emit,
    emit_zoo,
    import_module,
    library,
    new_folder,
)
from tests.test_faults import KINDS, Record

FAILING_CALLOC = ("-include", str(TESTS / "failing_calloc.h"))
OUT_OF_MEMORY = 2
WRONG: dict[str, tuple[Any, ...]] = {
    "kind": (1, None, object(), 0x2000, 0x3000, 64, 2.0),
    "range": (1, None, 0x1000, 0x2000, 0x3000, 2**40, 2.0),
    "count": (1, None, 0x1000),
    "grid": ((1, 2**40), None, 0x1000, 0x2000, 0x3000, 64, 2.0),
    "stream": (1, "s", 0x1000, 0x2000, 0x3000, 64, 2.0),
    "host memory": (1, None, bytearray(64), 0x2000, 0x3000, 64, 2.0),
}


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    """Keep the collector of garbage out: it says itself where memory fails it."""
    gc.disable()
    yield
    gc.enable()


@functools.cache
def no_memory() -> ModuleType:
    """Return the module that lets allocations fail, compiled."""
    folder = new_folder()
    shutil.copy(TESTS / "no_memory.c", folder)
    product = f"no_memory{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = ("-isystem", sysconfig.get_path("include"))
    cc(folder, *FLAGS, "-shared", *include, "no_memory.c", "-o", product)
    return import_module(folder / product)


def attempts(function: Callable[..., object], *arguments: Any) -> Iterator[Exception | None]:
    """Call with the first allocation failing, then the second, until there are no more."""
    failing = 0
    while True:
        made, error = no_memory().call(failing, function, arguments)
        yield error
        if made <= failing:
            return
        failing += 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_first_launch_without_memory_raises_or_launches_once(
    kind: str, record_property: Record
) -> None:
    kernel, options, setting = KINDS[kind]
    driver = RecordingDriver()
    tried = 0
    while True:
        process = Process(driver, library("cpython", kernel, **options), setting)
        launcher = process.launcher
        assert isinstance(launcher, PythonLauncher)
        launch, arguments = launcher.call(function=process.function)
        made, error = no_memory().call(tried, launch, arguments)
        assert error is None or type(error) is MemoryError, error
        assert len(driver.launches) == (error is None)
        assert process.launch() == 0, launcher.error
        assert len(driver.launches) == 1 + (error is None)
        if made <= tried:
            break
        tried += 1
    assert tried > 0 or not process.launcher.library.values
    record_property("faults", tried)


SIZES = {"fp16": 2, "bf16": 2, "fp32": 4, "fp64": 8}
OLD: dict[str, Any] = {"num_warps": 4, "triton_version": (3, 2)}
BIG = 2**60 + 2**36 + 1
"""Rounded to a double first, it would become another fp32."""
INEXACT: list[tuple[str, Fraction | Decimal | int]] = [
    (scalar, value) for scalar in SIZES for value in (Fraction(BIG, 2**50), Decimal("0.1"))
]
INEXACT += [(scalar, BIG) for scalar in ("bf16", "fp32", "fp64")]


@pytest.mark.parametrize(("scalar", "value"), INEXACT, ids=str)
def test_without_memory_a_value_is_rounded_right_or_not_launched(
    scalar: str, value: Fraction | Decimal | int, record_property: Record
) -> None:
    driver = RecordingDriver().load()
    function = driver.make_function("kernel", (SIZES[scalar],))
    emitted = emit(None, f"x: {scalar}", name="k", artifacts=("cpython",), **OLD)
    module = import_module(compile_python(emitted))
    module.launch(function, 1, None, value)
    errors = list(attempts(module.launch, function, 1, None, value))
    assert {type(error) for error in errors} <= {MemoryError, type(None)}
    assert len({launch.values for launch in driver.launches}) == 1
    assert len(driver.launches) == 1 + errors.count(None)
    record_property("faults", len(errors) - 1)


@pytest.mark.parametrize("what", WRONG)
def test_a_refusal_without_memory_raises_something_and_launches_nothing(
    what: str, record_property: Record
) -> None:
    driver = RecordingDriver().load()
    module = import_module(compile_python(emit_zoo("add", artifacts=("cpython",))))
    errors = list(attempts(module.launch, *WRONG[what]))
    # Before 3.12 an interpreter that cannot make the text raises what was asked for without one.
    assert len(errors) > 1
    assert {type(error) for error in errors} <= {MemoryError, type(errors[-1])}, errors
    assert isinstance(errors[-1], (TypeError, ValueError, OverflowError))
    assert driver.launches == ()
    module.launch(1, None, 0x1000, 0x2000, 0x3000, 64, 2.0)
    record_property("faults", len(errors) - 1)


def test_a_failed_call_without_memory_raises_something_and_launches_nothing(
    record_property: Record,
) -> None:
    driver = RecordingDriver().load()
    module = import_module(compile_python(emit_zoo("add", artifacts=("cpython",))))
    driver.fail("cuLaunchKernelEx", 700, times=None)
    errors = list(attempts(module.launch, 1, None, 0x1000, 0x2000, 0x3000, 64, 2.0))
    assert all(type(error) in (MemoryError, module.CudaError) for error in errors)
    assert type(errors[-1]) is module.CudaError
    assert driver.launches == ()
    record_property("faults", len(errors) - 1)


@pytest.mark.parametrize("kernel", ["add", "device_desc", "desc_copy"])
def test_a_module_without_memory_is_not_half_made(kernel: str, record_property: Record) -> None:
    path = compile_python(emit_zoo(kernel, artifacts=("cpython",)))
    spec = importlib.util.spec_from_file_location(kernel, path)
    assert spec is not None
    loader = spec.loader
    assert loader is not None
    made: list[ModuleType] = []

    def make() -> None:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        made.append(module)

    errors = list(attempts(make))
    assert {type(error) for error in errors[:-1]} <= {MemoryError, ImportError, type(None)}
    assert errors[-1] is None
    for module in made:
        assert module.CudaError.__name__ == "CudaError"
        assert module.signature
        assert module.metadata["name"]
    record_property("faults", len(errors) - 1)


# ---- the C library's heap ------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["add", "matmul", "desc_copy"])
def test_without_a_heap_a_load_is_refused_and_tried_again(
    kernel: str, record_property: Record
) -> None:
    driver = RecordingDriver().load()
    launcher = CLibrary.of(emit_zoo(kernel), *FLAGS, *FAILING_CALLOC).fresh()
    fails = ctypes.c_int.in_dll(launcher.cdll, "calloc_fails")
    fails.value = 1
    for call in (launcher.launch, launcher.load):
        assert call() == OUT_OF_MEMORY
        assert launcher.error == f"{kernel}: out of memory"
        assert driver.launches == ()
    fails.value = 0
    assert launcher.launch() == 0
    assert len(driver.launches) == 1
    record_property("faults", 2)
