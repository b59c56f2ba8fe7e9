"""Host cost of a launch with two tensor descriptors: with their maps kept, and made anew each time.

It runs on a GPU.  A launcher keeps the last map of each argument, so that the same two tensors need
none made, and two pairs in turn need two for each launch.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from types import ModuleType
from typing import Final

from measure import (
    HERE,
    KERNEL,
    ROOT,
    Row,
    compare,
    extension_suffix,
    interleave,
    load_module,
    options,
    report,
    run,
)

NAME: Final = "desc_copy"

LAUNCHES: Final = 400
"""Fewer than a GPU's queue holds, so that no launch waits for one before it."""

SIZE: Final = 64
"""Rows and columns of a tensor of fp16, all of which one program copies."""


@dataclass(frozen=True)
class Tensor:
    """A tensor as Triton's own descriptors have it."""

    base: int
    shape: tuple[int, ...] = (SIZE, SIZE)
    strides: tuple[int, ...] = (SIZE, 1)
    padding: str = "zero"


Pair = tuple[Tensor, Tensor]


def main() -> None:
    """Measure and print."""
    arguments = options(__doc__ or "", rounds=100).parse_args()
    driver = load_driver()
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        build(folder)
        module = load_module(NAME, folder / f"{NAME}{extension_suffix()}")
        library = ctypes.CDLL(str(folder / "descriptors.so"))
        try:
            module.load()
        except module.CudaError as error:
            sys.exit(f"skipped: {error}")
        pairs = [(allocate(driver), allocate(driver)) for _ in range(2)]
        rows = measure(driver, module, library, pairs, arguments.rounds)
    report(
        "A launch with two tensor descriptors",
        ("maps kept", "made anew"),
        rows,
        as_json=arguments.json,
    )


def load_driver() -> ctypes.CDLL:
    """Return the driver with a context in this thread, or end with what is missing."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        sys.exit(f"skipped: no NVIDIA driver ({error})")
    status = driver.cuInit(0)
    if status != 0:
        sys.exit(f"skipped: no GPU (cuInit failed with {status})")
    context = ctypes.c_void_p()
    check(driver, "cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    check(driver, "cuCtxSetCurrent", context)
    return driver


def check(driver: ctypes.CDLL, call: str, *words: object) -> None:
    """Call the driver, or end with what failed."""
    status = getattr(driver, call)(*words)
    if status != 0:
        sys.exit(f"{call} failed with {status}")


def allocate(driver: ctypes.CDLL) -> Tensor:
    """Return a tensor in memory of its own."""
    address = ctypes.c_uint64()
    check(driver, "cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(2 * SIZE * SIZE))
    return Tensor(address.value)


def build(folder: Path) -> None:
    """Emit and compile both launchers, and the loop in C."""
    kernel = KERNEL.with_name(f"{NAME}.json")
    words = ["emit", str(kernel), "--name", NAME, "-o", str(folder)]
    run([sys.executable, "-m", "launchgen", *words], cwd=ROOT)
    run(["make", "-C", folder, "CC=gcc", f"PYTHON={sys.executable}"])
    run(
        [
            *("gcc", "-O2", "-shared", "-fPIC", "-o", folder / "descriptors.so"),
            *(HERE / "descriptors.c", f"-I{folder}", f"-L{folder}"),
            *(f"-l{NAME}", f"-Wl,-rpath,{folder}"),
        ]
    )


def measure(
    driver: ctypes.CDLL,
    module: ModuleType,
    library: ctypes.CDLL,
    pairs: Sequence[Pair],
    rounds: int,
) -> list[Row]:
    """Return what a launch takes from C and from Python."""
    addresses = [tensor.base for pair in pairs for tensor in pair]
    bases = (ctypes.c_void_p * len(addresses))(*addresses)

    def from_c(in_turn: int) -> None:
        check(library, "launch_repeatedly", bases, ctypes.c_long(in_turn), ctypes.c_long(LAUNCHES))

    batches = [list(islice(cycle(pairs[:count]), LAUNCHES)) for count in (1, 2)]

    def from_python(in_turn: int) -> None:
        launch = module.launch
        for source, target in batches[in_turn]:
            launch(1, None, source, target)

    sides = {"C": from_c, "Python": from_python}
    gc.disable()
    try:
        times = interleave(
            {
                f"{side} {in_turn}": functools.partial(timed, driver, one, in_turn)
                for side, one in sides.items()
                for in_turn in (0, 1)
            },
            rounds=rounds,
        )
    finally:
        gc.enable()
    return [row(f"from {side}", times[f"{side} 0"], times[f"{side} 1"]) for side in sides]


def timed(driver: ctypes.CDLL, launch: Callable[[int], None], in_turn: int) -> float:
    """Return nanoseconds of one launch of a batch on an idle GPU."""
    check(driver, "cuCtxSynchronize")
    begin = time.perf_counter_ns()
    launch(in_turn)
    return (time.perf_counter_ns() - begin) / LAUNCHES


def row(what: str, kept: Sequence[float], anew: Sequence[float]) -> Row:
    """Return the comparison, with what is saved in each launch."""
    saved = statistics.median(b - a for a, b in zip(kept, anew, strict=True))
    return compare(what, kept, anew, unit="ns", note=f"two maps take {saved:.0f} ns")


if __name__ == "__main__":
    main()
