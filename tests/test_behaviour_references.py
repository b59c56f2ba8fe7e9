"""Python launches, right ones and refused ones: nothing is leaked, nothing is dropped too often."""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from launchgen.metadata import Scratch
from tests.launchers import Face, Host, load_module, of_signature
from tests.test_behaviour_pointers import DEVICE_MEMORY, CudaArray, Exporter, Tensor

LAUNCHES = 10_000
REFUSALS = 200
SLACK = 2_000
"""Bytes that the interpreter may keep for itself in few calls; a byte for each of many."""

LAUNCHER = of_signature(
    "x: *fp32:16, n: i32, u: u64, b: i1, f: fp32, h: fp16, t: (i32, (*fp32, constexpr)),"
    " s: bytes[8], m: nvTmaDesc, C: constexpr",
    triton_version=(3, 6),
    global_scratch=Scratch(16, 16),
    profile_scratch=Scratch(16, 16),
)
NAMES = ("x", "n", "u", "b", "f", "h", "t", "s", "m", "C")
SMALL = of_signature("x: *fp32, n: i32")

Call = Callable[..., object]


class Index:
    def __init__(self, value: object) -> None:
        self.value = value

    def __index__(self) -> Any:
        if isinstance(self.value, BaseException):
            # A new one each time: an old one would gather tracebacks.
            raise type(self.value)(*self.value.args)
        return self.value


class Forgetful(Exporter):
    """Does not remember how it was asked."""

    def __dlpack__(self, **options: object) -> object:
        capsule = super().__dlpack__(**options)
        self.asked.clear()
        return capsule


class Fresh(CudaArray):
    """Describes itself anew each time it is asked."""

    @property
    def __cuda_array_interface__(self) -> object:
        return {"data": (self.interface, False)}


class Stream:
    def __init__(self, handle: object) -> None:
        self.handle = handle

    def __cuda_stream__(self) -> object:
        if isinstance(self.handle, BaseException):
            raise type(self.handle)(*self.handle.args)
        return (0, self.handle)


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    """Take what exists out of the collector's sight, so that it is fast."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def host(host: Host) -> Host:
    """Return a program with a current context, device memory and an allocator that is set."""
    host.driver.current_context = host.driver.primary_context()
    host.driver.add_memory(DEVICE_MEMORY, 2**20)
    host.module(LAUNCHER).set_allocator(allocate)
    return host


def allocate(size: int, alignment: int, stream: int) -> object:
    return Tensor(DEVICE_MEMORY)


@pytest.fixture
def quiet(host: Host) -> Iterator[Host]:
    """Yield it with a driver that records nothing."""
    with host.driver.off():
        yield host


def good() -> dict[str, Any]:
    """Return arguments that all take the longer way, each a fresh object."""
    return {
        "x": Tensor(DEVICE_MEMORY),
        "n": Index(1_000_003),
        "u": 2**64 - 1,
        "b": True,
        "f": 2**60 + 1,
        "h": 1000.5,
        "t": (12345, (Fresh(DEVICE_MEMORY), object())),
        "s": bytearray(8),
        "m": bytes(128),
        "C": object(),
    }


def growth(call: Call, times: int) -> int:
    """Return by how many bytes the interpreter's memory grew over so many calls.

    The interpreter allocates for itself too, now and then; a leak shows in every one of three
    tries.  Without its own heap, as under the address sanitizer, tracemalloc does not see all that
    is given back: then the calls are made, and nothing is said of memory.
    """
    least = _growth(call, times)
    if os.environ.get("PYTHONMALLOC") == "malloc":
        return 0
    for _ in range(2):
        if least >= allowed(times):
            least = _growth(call, times)
    return least


def allowed(times: int) -> int:
    """Return how much less than an object for each call is no leak."""
    return max(SLACK, times)


def _growth(call: Call, times: int) -> int:
    for _ in range(20):
        call()
    gc.collect()
    tracemalloc.start()
    try:
        call()
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(times):
            call()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before


def counts(objects: list[Any]) -> list[int]:
    return [sys.getrefcount(each) for each in objects]


def everything_in(arguments: dict[str, Any]) -> list[Any]:
    found = list(arguments.values())
    found += [*arguments["t"], *arguments["t"][1]]
    return [None, True, False, (), *found]


def test_pyapi1_pyapi10_ten_thousand_launches_leave_nothing(quiet: Host) -> None:
    module, function = quiet.module(LAUNCHER), quiet.function(LAUNCHER)
    arguments = good()
    values = tuple(arguments.values())
    grid, stream = (Index(2), 3), Stream(0)
    watched = [*everything_in(arguments), grid, stream, allocate, module]
    before = counts(watched)
    assert growth(lambda: module.launch(function, grid, stream, *values), LAUNCHES) < allowed(
        LAUNCHES
    )
    by_name = lambda: module.launch(function, grid, stream, **arguments)  # noqa: E731
    assert growth(by_name, LAUNCHES // 10) < allowed(LAUNCHES // 10)
    check_counts(watched, before, LAUNCHES)


def test_pyapi1_the_shortest_way_leaves_nothing_either(quiet: Host) -> None:
    module, function = quiet.module(SMALL), quiet.function(SMALL)
    before = counts([None])
    assert growth(lambda: module.launch(function, 4, None, 0x1000, 5), LAUNCHES) < allowed(LAUNCHES)
    check_counts([None], before, LAUNCHES)


def refused(launch: Call) -> Call:
    """Return a call that has to fail, and that forgets the exception."""

    def call() -> None:
        try:
            launch()
        except Exception as error:
            # An exception that an object raises again and again would gather tracebacks.
            error.__traceback__ = None
            return
        raise AssertionError("not refused")

    return call


BAD_VALUES = [
    *[("x", bad) for bad in ("x", -1, 2**64, Tensor("x"), Tensor(-1), Tensor(1), Tensor(8))],
    *[("x", bad) for bad in (Tensor(ValueError("x")), CudaArray({}), Fresh(-1))],
    *[("x", bad) for bad in (CudaArray(ValueError("x")), Forgetful(8), Index(-1), Index("x"))],
    *[("x", bad) for bad in (Forgetful(8, ()), Forgetful(8, ValueError("x")), 0x1008)],
    ("x", Forgetful(8, name=b"other")),
    *[("n", bad) for bad in (2**31, -(2**40), 2**100, 1.5, None, Index(2**31), Index("x"))],
    ("n", Index(ValueError("x"))),
    *[("u", bad) for bad in (-1, 2**64, 1.5, Index(-1), Index(KeyError("x")))],
    *[("b", bad) for bad in (2, -1, 1.0, "x", Index(2))],
    *[("f", bad) for bad in ("x", None, 10**400, Index(ValueError("x")))],
    *[("h", bad) for bad in (65520.0, 10**300, "x")],
    *[("t", bad) for bad in (5, [1, (2, 3)], (1,), (1, 2), (1, (2,)), ("x", (2, 3)))],
    ("t", (1, ("x", 3))),
    *[("s", bad) for bad in (b"", bytes(9), 5, memoryview(bytes(16))[::2])],
    *[("m", bad) for bad in (b"", 5, None)],
]


@pytest.mark.parametrize(
    ("name", "bad"), BAD_VALUES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(BAD_VALUES)]
)
def test_pyapi1_a_refused_value_leaves_nothing(host: Host, name: str, bad: object) -> None:
    module, function = host.module(LAUNCHER), host.function(LAUNCHER)
    arguments = {**good(), name: bad}
    values = tuple(arguments.values())

    call = refused(lambda: module.launch(function, 1, None, *values))
    check_nothing_is_left(call, [*values, bad])


def check_nothing_is_left(call: Call, watched: list[Any]) -> None:
    call()
    before = counts(watched)
    assert growth(call, REFUSALS) < allowed(REFUSALS)
    check_counts(watched, before, REFUSALS)


def check_counts(watched: list[Any], before: list[int], calls: int) -> None:
    # None and small integers are everybody's: some of their references come and go.
    for each, was, now in zip(watched, before, counts(watched), strict=True):
        assert abs(now - was) < calls // 2, each


@pytest.mark.parametrize("grid", [-1, 2**40, (), (1, 1, 1, 1), "x", (1, "x"), (1, 65536), None])
def test_pyapi1_a_refused_grid_leaves_nothing(host: Host, grid: Any) -> None:
    module, function = host.module(SMALL), host.function(SMALL)

    call = refused(lambda: module.launch(function, grid, None, 0x1000, 5))
    check_nothing_is_left(call, [grid])


@pytest.mark.parametrize(
    "stream", ["x", -1, 2**64, Stream("x"), Stream(-1), Stream(ValueError("x"))], ids=type
)
def test_pyapi1_a_refused_stream_leaves_nothing(host: Host, stream: Any) -> None:
    module, function = host.module(SMALL), host.function(SMALL)

    call = refused(lambda: module.launch(function, 1, stream, 0x1000, 5))
    check_nothing_is_left(call, [stream])


@pytest.mark.parametrize(
    ("values", "named"),
    [((1,), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"y": 2}), ((), {"n": 2})],
    ids=str,
)
def test_pyapi10_a_call_that_does_not_fit_leaves_nothing(
    host: Host, values: Any, named: dict[str, Any]
) -> None:
    module, function = host.module(SMALL), host.function(SMALL)

    call = refused(lambda: module.launch(function, 1, None, *values, **named))
    check_nothing_is_left(call, [*values, *named.values()])


@pytest.mark.parametrize(
    "answer", [None, "x", -1, 8, Tensor(1), Tensor("x"), ValueError("x")], ids=type
)
def test_pyapi1_an_allocator_that_fails_leaves_nothing(host: Host, answer: object) -> None:
    module, function = host.module(LAUNCHER), host.function(LAUNCHER)
    calls = iter(range(10**9))

    def second_fails(*_: int) -> object:
        if next(calls) % 2 == 0:
            return Tensor(DEVICE_MEMORY)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    module.set_allocator(second_fails)
    values = tuple(good().values())

    call = refused(lambda: module.launch(function, 1, None, *values))
    check_nothing_is_left(call, [*values, answer, second_fails])
    module.set_allocator(None)
    assert sys.getrefcount(second_fails) <= 3


def test_pyapi1_a_failed_launch_leaves_nothing(host: Host) -> None:
    module, function = host.module(SMALL), host.function(SMALL)
    host.driver.fail("cuLaunchKernelEx", 719, times=None)
    error = module.CudaError

    call = refused(lambda: module.launch(function, 1, None, 0x1000, 5))
    check_nothing_is_left(call, [error, module])


def test_an_exception_of_a_launch_belongs_to_its_caller_alone(host: Host) -> None:
    module, function = host.module(SMALL), host.function(SMALL)
    with pytest.raises(OverflowError) as caught:
        module.launch(function, 1, None, 0x1000, 2**31)
    assert sys.getrefcount(caught.value) < 10
    assert gc.is_tracked(caught.value)


def test_a_module_lets_go_of_its_allocator() -> None:
    class Allocator:
        alive = 0

        def __init__(self) -> None:
            Allocator.alive += 1

        def __del__(self) -> None:
            Allocator.alive -= 1

        def __call__(self, *_: int) -> int:
            return 0

    module = load_module(LAUNCHER, LAUNCHER.products[Face.PYTHON]).module
    allocator: Any = Allocator()
    allocator.module = module  # a cycle, which only the collector can undo
    module.set_allocator(allocator)
    del allocator, module
    gc.collect()
    assert Allocator.alive == 0
