"""Host cost of ``kernel[grid](...)`` inside Triton, with and without ``launchgen.triton``.

It runs on a GPU, with kernels that do nothing.  The launcher that Triton calls in the end is
measured by itself too, called with just what Triton calls it with, and beside it what the driver
takes alone.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import repeat
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from measure import HERE, NO_TRITON, Row, compare, interleave, options, report, run

BAR_KERNEL: Final = 1.0
BAR_LAUNCHER: Final = 0.6

LAUNCHES: Final = 300
"""Fewer than a GPU's queue holds, so that no launch waits for one before it."""

GRID: Final = (1,)

# By a grid, what launches on it.
Kernel = Mapping[tuple[int, ...], Callable[..., object]]

THREADS_OF_A_WARP: Final = 32


class Case(NamedTuple):
    """A kernel and its arguments."""

    what: str
    kernel: Any
    arguments: tuple[object, ...]


class Side(NamedTuple):
    """One case with the launchers of one side."""

    kernel: Kernel
    launcher: Callable[..., object]
    words: tuple[object, ...]
    """What Triton passes to the launcher."""
    bare: Callable[[], None]
    """Launches a batch by the driver alone."""


def main() -> None:
    """Measure and print."""
    arguments = options(__doc__ or "", rounds=100).parse_args()
    adapter = load_adapter()
    library = build_bare_launch()
    rows = [measure(adapter, library, case, arguments.rounds) for case in cases()]
    for (title, *rest), found in zip(TABLES, zip(*rows, strict=True), strict=True):
        report(title, ("launchgen", "Triton", *rest), found, as_json=arguments.json)


TABLES: Final = (
    ("kernel[grid](...)",),
    ("The launcher that it calls", "driver alone"),
    ("Added to the driver alone",),
)
"""Titles, each with what a third column has."""


def build_bare_launch() -> ctypes.CDLL:
    """Compile and load the loop that the driver alone is measured with."""
    with tempfile.TemporaryDirectory() as text:
        product = Path(text) / "bare_launch.so"
        run(["gcc", "-O2", "-shared", "-fPIC", "-o", product, HERE / "bare_launch.c"])
        return ctypes.CDLL(str(product))


def bare_launch(
    library: ctypes.CDLL, function: int, *, threads: int, shared: int, stream: int
) -> Callable[[], None]:
    """Return what launches a batch of a kernel that does nothing where its parameters are 0."""
    launch = ctypes.CDLL("libcuda.so.1").cuLaunchKernelEx
    words = (
        ctypes.cast(launch, ctypes.c_void_p),
        ctypes.c_void_p(function),
        *map(ctypes.c_uint32, (threads, shared)),
        ctypes.c_void_p(stream),
        ctypes.c_long(LAUNCHES),
    )

    def batch() -> None:
        status = library.launch_bare(*words)
        if status != 0:
            sys.exit(f"cuLaunchKernelEx failed with {status}")

    return batch


def load_adapter() -> ModuleType:
    """Return ``launchgen.triton``, or end with what is missing."""
    try:
        import torch  # noqa: PLC0415 - of all that is needed, one at a time
        import triton  # noqa: F401, PLC0415
    except ImportError as error:
        sys.exit(f"skipped: no PyTorch ({error})" if error.name == "torch" else NO_TRITON)
    if not torch.cuda.is_available():
        sys.exit("skipped: PyTorch sees no GPU")
    return importlib.import_module("launchgen.triton")


def cases() -> tuple[Case, ...]:
    """Return what is launched."""
    import torch  # noqa: PLC0415
    import triton_kernels as kernels  # noqa: PLC0415
    from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: PLC0415

    tensors = tuple(torch.zeros(64, 64, device="cuda") for _ in range(10))
    descriptors = (TensorDescriptor.from_tensor(tensor, [32, 32]) for tensor in tensors[:2])
    return (
        Case("no arguments", kernels.none_kernel, ()),
        Case("3 pointers, 1 integer", kernels.add_kernel, (*tensors[:3], 0, 1024)),
        Case("10 pointers, 10 integers", kernels.many_kernel, (*tensors, 0, *range(7, 16))),
        Case("2 descriptors, 1 integer", kernels.descriptors_kernel, (*descriptors, 0, 32)),
        Case("2 tuples, 2 scalars", kernels.tuples_kernel, (tensors[:3], (64, 65), 0.5, 0)),
        Case(
            "1 pointer, 8 scalars",
            kernels.scalars_kernel,
            (tensors[0], 0, 2**40, True, 0.5, 1.5, 2.5, -3, 200),
        ),
    )


def measure(
    adapter: ModuleType, library: ctypes.CDLL, case: Case, rounds: int
) -> tuple[Row, Row, Row]:
    """Return the cost of the whole launch, that of the launcher, and what it adds to the driver."""
    ours = prepare(case, installed(adapter), library)
    theirs = prepare(case, nullcontext(), library)
    if type(ours.launcher) is type(theirs.launcher):
        sys.exit(f"{case.what}: launchgen.triton.install() left Triton's launcher in place")

    def whole(side: Side) -> float:
        return timed(lambda: launch_kernel(side.kernel, case.arguments))

    def by_itself(side: Side) -> float:
        return timed(lambda: call_launcher(side.launcher, side.words))

    def with_ours(one: Callable[[Side], float]) -> float:
        with installed(adapter):
            return one(ours)

    def sides(one: Callable[[Side], float]) -> dict[str, Callable[[], float]]:
        return {"ours": lambda: with_ours(one), "theirs": lambda: one(theirs)}

    gc.disable()
    try:
        kernel = interleave(sides(whole), rounds=rounds)
        alone = {"bare": lambda: timed(theirs.bare)}
        launcher = interleave(sides(by_itself) | alone, rounds=rounds)
    finally:
        gc.enable()
    return rows_of(case.what, kernel, launcher)


def rows_of(
    what: str, kernel: Mapping[str, list[float]], launcher: Mapping[str, list[float]]
) -> tuple[Row, Row, Row]:
    """Return what was measured as a row of each table."""
    bare = launcher["bare"]
    added = {
        side: [time - alone for time, alone in zip(launcher[side], bare, strict=True)]
        for side in ("ours", "theirs")
    }
    return (
        row(what, kernel, bar=BAR_KERNEL),
        row(what, launcher, bar=BAR_LAUNCHER, rest=[bare]),
        row(what, added, bar=None),
    )


def row(
    what: str,
    times: Mapping[str, list[float]],
    *,
    bar: float | None,
    rest: Sequence[Sequence[float]] = (),
) -> Row:
    """Return one comparison, with the spread of its ratio."""
    ours, theirs = times["ours"], times["theirs"]
    return compare(what, ours, theirs, unit="ns", bar=bar, note=spread(ours, theirs), rest=rest)


def spread(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Say between what the ratios of single rounds lie."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


@contextmanager
def installed(adapter: ModuleType) -> Iterator[None]:
    """Have launchgen's launchers in place of Triton's."""
    adapter.install()
    try:
        yield
    finally:
        adapter.uninstall()


def prepare(case: Case, launchers: AbstractContextManager[None], library: ctypes.CDLL) -> Side:
    """Launch a case once, and return what launched it."""
    import triton  # noqa: PLC0415

    with launchers:
        # A kernel of this side's own: Triton keeps a launcher for each that it compiled.
        kernel = triton.jit(case.kernel.fn)
        compiled = kernel[GRID](*case.arguments)
        driver = triton.runtime.driver.active
        stream = driver.get_current_stream(driver.get_current_device())
        words = (
            *(1, 1, 1, stream, compiled.function, compiled.packed_metadata),
            compiled.launch_metadata(GRID, stream, *case.arguments),
            triton.knobs.runtime.launch_enter_hook,
            triton.knobs.runtime.launch_exit_hook,
            *case.arguments,
        )
        bare = bare_launch(
            library,
            compiled.function,
            threads=THREADS_OF_A_WARP * compiled.metadata.num_warps,
            shared=compiled.metadata.shared,
            stream=stream,
        )
        return Side(kernel, compiled.run, words, bare)


def timed(launch: Callable[[], None]) -> float:
    """Return nanoseconds of one launch of a batch on an idle GPU."""
    import torch  # noqa: PLC0415

    torch.cuda.synchronize()
    begin = time.perf_counter_ns()
    launch()
    return (time.perf_counter_ns() - begin) / LAUNCHES


def launch_kernel(kernel: Kernel, arguments: tuple[object, ...]) -> None:
    """Launch as a program would."""
    for _ in repeat(None, LAUNCHES):
        kernel[GRID](*arguments)


def call_launcher(launcher: Callable[..., object], words: tuple[object, ...]) -> None:
    """Launch as Triton does in the end."""
    for _ in repeat(None, LAUNCHES):
        launcher(*words)


if __name__ == "__main__":
    main()
