"""Triton's kernels do the same whether its launchers or those of ``launchgen.triton`` launch them.

``pytest -m gpu`` runs these; they need PyTorch, Triton and an sm_90 device (Hopper), and skip
without.  The kernels, and what they are launched with, are in ``tests/triton_suite``.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import launchgen.triton

torch: Any = pytest.importorskip("torch")
triton: Any = pytest.importorskip("triton")

from triton.backends.nvidia.driver import CudaLauncher  # noqa: E402 - as there may be no Triton

from tests.triton_suite import elementwise, launches, printf, rows, scalars, scratch, suite  # noqa: E402
from tests.triton_suite.rows import FLOATS, Call, Row, blank, normal, start  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0),
        reason="no sm_90 GPU",
    ),
]

both_launchers = pytest.mark.parametrize("ours", [False, True], ids=["triton", "launchgen"])
every_row = pytest.mark.parametrize("name", suite.ROWS)


@contextmanager
def launching(*, ours: bool) -> Iterator[None]:
    """Have every kernel launched by new launchers, and see that they launched."""
    suite.forget_kernels()
    if ours:
        launchgen.triton.install()
    try:
        yield
        used = suite.launchers()
        assert used
        of_triton = [launcher for launcher in used if type(launcher) is CudaLauncher]
        assert of_triton == ([] if ours else used)
    finally:
        torch.cuda.synchronize()
        launchgen.triton.uninstall()
        suite.forget_kernels()


def bits(tensor: Any) -> Any:
    """Return a tensor's bytes: NaN is equal to itself, and -0.0 is not 0.0."""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def same_bits(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and all(
        a.dtype == b.dtype and a.shape == b.shape and torch.equal(bits(a), bits(b))
        for a, b in zip(one, other, strict=True)
    )


def copies(call: Call) -> tuple[Any, ...]:
    torch.cuda.synchronize()
    return tuple(output.clone() for output in call.outputs)


def launched(row: Row) -> tuple[Any, ...]:
    """Launch a row on new arguments and return what it wrote."""
    call = start(row)
    call.launch()
    return copies(call)


def outcome(action: Callable[[], Any]) -> Any:
    """Return what comes of an action, or how it fails."""
    try:
        result = action()
        torch.cuda.synchronize()
    except Exception as error:
        return type(error)
    return result


def assert_as_pytorch(row: Row, call: Call, outputs: tuple[Any, ...]) -> None:
    assert call.expected is not None
    for output, expected in zip(outputs, call.expected(), strict=True):
        assert output.shape == expected.shape
        if output.dtype in FLOATS or output.dtype.is_floating_point:
            torch.testing.assert_close(
                output.double(),
                expected.to(output.device).double(),
                rtol=row.within,
                atol=row.within,
                equal_nan=True,
            )
        else:
            assert same_bits((output,), (expected.to(output.device),))


def test_there_are_as_many_kernels_as_promised() -> None:
    assert len(suite.KERNELS) >= 60
    assert len(suite.ROWS) == sum(len(module.ROWS) for module in suite.MODULES)


@every_row
def test_a_kernel_computes_what_pytorch_does(name: str) -> None:
    row = suite.ROWS[name]
    with launching(ours=False):
        call = start(row)
        before = copies(call)
        call.launch()
        outputs = copies(call)
    assert not same_bits(before, outputs)
    assert_as_pytorch(row, call, outputs)


@every_row
def test_installed_launchers_change_no_bit(name: str) -> None:
    row = suite.ROWS[name]
    with launching(ours=False):
        of_triton = launched(row)
    with launching(ours=True):
        ours = launched(row)
    assert same_bits(of_triton, ours)


@both_launchers
@pytest.mark.parametrize("name", [name for name, row in suite.ROWS.items() if row.captured])
def test_a_captured_graph_replays(name: str, ours: bool) -> None:
    with launching(ours=ours):
        call = start(suite.ROWS[name])
        before = copies(call)
        # Kernels are loaded and tuned before a capture.
        call.launch()
        launched_directly = copies(call)
        restore(call, before)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call.launch()
        assert same_bits(copies(call), before)
        for _ in range(2):
            restore(call, before)
            graph.replay()
            assert same_bits(copies(call), launched_directly)


def restore(call: Call, values: tuple[Any, ...]) -> None:
    for output, value in zip(call.outputs, values, strict=True):
        output.copy_(value)
    torch.cuda.synchronize()


def printed(row: Row, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Launch a row and return what the GPU printed, in an order of its own."""
    call = start(row)
    torch.cuda.synchronize()
    ctypes.CDLL(None).fflush(None)
    capfd.readouterr()
    call.launch()
    torch.cuda.synchronize()
    ctypes.CDLL(None).fflush(None)
    return sorted(capfd.readouterr().out.splitlines())


@both_launchers
@pytest.mark.parametrize("row", printf.ROWS, ids=[row.name for row in printf.ROWS])
def test_a_kernel_prints(row: Row, ours: bool, capfd: pytest.CaptureFixture[str]) -> None:
    with launching(ours=False):
        of_triton = printed(row, capfd)
    assert of_triton
    with launching(ours=ours):
        assert printed(row, capfd) == of_triton


@pytest.mark.parametrize(
    "row", launches.COMBINATIONS, ids=[row.name for row in launches.COMBINATIONS]
)
def test_attributes_combine_as_the_driver_lets_them(row: Row) -> None:
    with launching(ours=False):
        of_triton = outcome(lambda: launched(row))
    with launching(ours=True):
        ours = outcome(lambda: launched(row))
    if isinstance(of_triton, type):
        assert ours is of_triton
    else:
        assert same_bits(of_triton, ours)


def hooked(*, ours: bool) -> list[tuple[str, dict[str, Any]]]:
    """Launch with hooks, and return what they were called with."""
    runtime = triton.knobs.runtime
    calls: list[tuple[str, dict[str, Any]]] = []

    def record(event: str, metadata: Any) -> None:
        # A handle is another after each loading.
        calls.append((event, {k: v for k, v in metadata.get().items() if k != "function"}))

    hooks = [lambda metadata: record("enter", metadata), lambda metadata: record("exit", metadata)]
    out = blank(64)
    with launching(ours=ours):
        launches.described_kernel[(1,)](out, 3.0, BLOCK=64)
        runtime.launch_enter_hook.add(hooks[0])
        runtime.launch_exit_hook.add(hooks[1])
        try:
            launches.described_kernel[(1,)](out, 5.0, BLOCK=64)
            launches.described_kernel[(0,)](out, 7.0, BLOCK=64)
            launches.fill_kernel[(1, 1)](out, 9.0, BLOCK=64)
        finally:
            runtime.launch_enter_hook.remove(hooks[0])
            runtime.launch_exit_hook.remove(hooks[1])
        launches.described_kernel[(1,)](out, 11.0, BLOCK=64)
    return calls


@both_launchers
def test_hooks_are_called_with_the_metadata_of_each_launch(ours: bool) -> None:
    calls = hooked(ours=ours)
    assert [event for event, _ in calls] == ["enter", "exit"] * 3
    described = [metadata for event, metadata in calls if event == "enter"]
    assert [metadata.get("bytes") for metadata in described] == [256, 256, None]
    assert [metadata.get("grid") for metadata in described] == [(1,), (0,), None]
    assert "fill_kernel" in described[2]["name"]
    assert calls == hooked(ours=False)


@both_launchers
def test_a_hook_that_fails_keeps_the_kernel_from_running(ours: bool) -> None:
    out = blank(64)

    def fail(metadata: Any) -> None:
        raise LookupError("no launch today")

    with launching(ours=ours):
        launches.fill_kernel[(1,)](out, 1.0, BLOCK=64)
        triton.knobs.runtime.launch_enter_hook.add(fail)
        try:
            with pytest.raises(LookupError, match="no launch today"):
                launches.fill_kernel[(1,)](out, 2.0, BLOCK=64)
        finally:
            triton.knobs.runtime.launch_enter_hook.remove(fail)
        torch.cuda.synchronize()
        assert out.tolist() == [1.0] * 64


def allocations(row: Row, *, ours: bool) -> list[tuple[int, int, int | None]]:
    """Launch a row, and return what its allocator was asked for."""
    asked: list[tuple[int, int, int | None]] = []

    def allocate(size: int, alignment: int, stream: int | None) -> Any:
        asked.append((size, alignment, stream))
        return rows.scratch(size, alignment, stream)

    with launching(ours=ours):
        call = start(row)
        triton.set_allocator(allocate)
        call.launch()
    return asked


@both_launchers
@pytest.mark.parametrize("row", scratch.ROWS, ids=[row.name for row in scratch.ROWS])
def test_the_allocator_is_asked_for_the_same(row: Row, ours: bool) -> None:
    of_triton = allocations(row, ours=False)
    assert [size > 0 for size, _, _ in of_triton] == [True]
    assert allocations(row, ours=ours) == of_triton


def _host_memory() -> object:
    x = normal(64)
    return elementwise.add_kernel[(1,)](x, torch.zeros(64), x, 64, elementwise.BLOCK)


def _typed(index: int, value: object) -> Callable[[], object]:
    def launch() -> object:
        words: list[object] = [True, *[1] * 8]
        words[index] = value
        return scalars.typed_integers_kernel[(1,)](blank(9, dtype=torch.int64), *words)

    return launch


def _high_grid() -> object:
    return launches.fill_kernel[(1, 65_536)](blank(64), 1.0, BLOCK=64)


def _no_memory(size: int, alignment: int, stream: int | None) -> object:
    raise MemoryError("none left")


def _failing_allocator() -> object:
    call = start(scratch.ROWS[0])
    triton.set_allocator(_no_memory)
    return call.launch()


MISUSES: dict[str, tuple[Callable[[], object], Any]] = {
    "memory of the host": (_host_memory, ValueError),
    "too large for i16": (_typed(2, 2**15), OverflowError),
    "too small for i16": (_typed(2, -(2**15) - 1), OverflowError),
    "too large for i32": (_typed(3, 2**31), OverflowError),
    "no integer": (_typed(4, 5.5), TypeError),
    # Triton asks the driver first.
    "a grid too high": (_high_grid, (RuntimeError, ValueError)),
    "an allocator that fails": (_failing_allocator, MemoryError),
}


@both_launchers
@pytest.mark.parametrize("what", MISUSES)
def test_a_misuse_fails_as_it_does_in_triton(what: str, ours: bool) -> None:
    launch, error = MISUSES[what]
    with launching(ours=ours):
        launches.nothing_kernel[(1,)]()
        with pytest.raises(error):
            launch()
        # A failure is no reason for the next launch to fail.
        out = blank(64)
        launches.fill_kernel[(1,)](out, 1.0, BLOCK=64)
        torch.cuda.synchronize()
        assert out.tolist() == [1.0] * 64


def test_a_kernel_launched_before_installation_goes_on() -> None:
    row = suite.ROWS["matmul-persistent"]
    suite.forget_kernels()
    outputs = [launched(row)]
    for change in (launchgen.triton.install, launchgen.triton.uninstall):
        change()
        outputs.append(launched(row))
    suite.forget_kernels()
    assert same_bits(outputs[0], outputs[1])
    assert same_bits(outputs[0], outputs[2])


def test_triton_launches_again_after_uninstallation() -> None:
    row = suite.ROWS["descriptors-float16"]
    with launching(ours=True):
        ours = launched(row)
    with launching(ours=False):
        assert same_bits(launched(row), ours)


def test_a_driver_of_launchgen_launches_compiles_and_tunes() -> None:
    rows_of_it = [
        suite.ROWS[name]
        for name in ("elementwise-add", "descriptors-float16", "tuples-nested", "matmul-persistent")
    ]
    theirs = [launched(row) for row in rows_of_it]
    suite.forget_kernels()
    triton.runtime.driver.set_active(launchgen.triton.LaunchgenDriver())
    try:
        driver = triton.runtime.driver.active
        assert driver.get_current_target().arch == 90
        assert all(map(same_bits, theirs, map(launched, rows_of_it)))
        empty = driver.get_empty_cache_for_benchmark()
        driver.clear_cache(empty)
        assert empty.abs().sum().item() == 0
        call = start(rows_of_it[0])
        assert driver.get_benchmarker()(call.launch, warmup=1, rep=5) > 0
        assert {type(launcher).__name__ for launcher in suite.launchers()} == {"Launcher"}
    finally:
        torch.cuda.synchronize()
        triton.runtime.driver.reset_active()
        suite.forget_kernels()


@both_launchers
def test_threads_launch_at_once(ours: bool) -> None:
    chosen = [suite.ROWS[name] for name in ("elementwise-add", "tuples-nested", "scalars-wide")]
    calls = [start(row) for row in chosen * 3]
    failures: list[BaseException] = []
    together = threading.Barrier(len(calls))

    def work(call: Call) -> None:
        try:
            together.wait()
            for _ in range(100):
                call.launch()
        except BaseException as error:
            failures.append(error)

    with launching(ours=ours):
        # Triton compiles a kernel once for each thread that asks at once; that is not the matter.
        for call in calls[: len(chosen)]:
            call.launch()
        threads = [threading.Thread(target=work, args=(call,)) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        for row, call in zip(chosen * 3, calls, strict=True):
            assert_as_pytorch(row, call, copies(call))
