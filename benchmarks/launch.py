"""Host cost of one launch of ``add``: our C and Python launchers, a bare loop, Triton's launcher.

Without ``--gpu`` a driver that does nothing stands in for CUDA's; with it the real one launches
the real kernel, on no elements.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

from measure import (
    ENTRY,
    HERE,
    KERNEL,
    NO_TRITON,
    Row,
    build_noop_driver,
    compare,
    emit,
    emit_command,
    extension_suffix,
    find_seed,
    interleave,
    load_module,
    options,
    python_include,
    report,
    run,
)

MOST_INSTRUCTIONS = 120
BAR_PYTHON = 0.35

# On a GPU fewer than its queue holds, so that no launch waits for one before it.
LAUNCHES = 20_000
LAUNCHES_ON_GPU = 400
COUNTED = 1_000


def main() -> None:
    """Measure and print."""
    parser = options(__doc__ or "", rounds=60)
    parser.add_argument(
        "--gpu", action="store_true", help="launch on a GPU; pointers of PyTorch too"
    )
    arguments = parser.parse_args()
    launches = LAUNCHES_ON_GPU if arguments.gpu else LAUNCHES
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        emit(folder / "add")
        run([*emit_command(folder / "by_handle", "by_handle"), "--no-image", "-a", "c"])
        run(["make", "-C", folder / "add", "CC=gcc", f"PYTHON={sys.executable}"])
        library = build_noop_driver(folder)
        # This process's libcuda.so.1, for whoever asks by that name from now on.
        if not arguments.gpu:
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        columns = ("launchgen", "other")
        driver = "the GPU's driver" if arguments.gpu else "a driver that does nothing"
        report(
            f"The C launcher, with {driver}",
            columns,
            c_rows(folder, arguments.rounds, launches, gpu=arguments.gpu),
            as_json=arguments.json,
        )
        report(
            f"The Python launcher, with {driver}",
            columns,
            python_rows(folder, arguments.rounds, launches, gpu=arguments.gpu),
            as_json=arguments.json,
        )


# --- C -------------------------------------------------------------------------------------------


def c_rows(folder: Path, rounds: int, launches: int, *, gpu: bool) -> list[Row]:
    """Return the C launcher against the bare loop, in time and in instructions."""
    program = folder / "launch"
    built, handle = folder / "add", folder / "by_handle"
    run(
        [
            *("gcc", "-O2", "-o", program, HERE / "launch.c", handle / "by_handle.c"),
            *(f"-I{built}", f"-I{handle}", f"-L{built}", "-ladd", f"-Wl,-rpath,{built}", "-ldl"),
        ]
    )
    environment = dict(os.environ)
    if not gpu:
        environment["LD_LIBRARY_PATH"] = str(folder)
    words = [str(program), str(KERNEL.with_suffix(".cubin")), ENTRY]
    done = subprocess.run(
        [*words, "wall" if gpu else "processor", str(rounds), str(launches)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    bare, launcher, bare_function, by_function, by_kernel = map(list, zip(*lines, strict=True))
    rows = [compare("time of a launch / bare loop", launcher, bare, unit="ns")]
    if gpu:  # a driver that does nothing tells no parameters
        rows += [
            compare("by handle, a CUfunction / bare loop", by_function, bare_function, unit="ns"),
            compare("by handle, a CUkernel / bare loop", by_kernel, bare, unit="ns"),
            compare("bare loop, a CUfunction / a CUkernel", bare_function, bare, unit="ns"),
        ]
    valgrind = shutil.which("valgrind")
    if gpu or valgrind is None:
        print("" if gpu else "instructions: skipped, no valgrind", file=sys.stderr)
        return rows
    counts = {
        side: instructions([*words, side, "1"], environment, folder)
        for side in ("launcher", "bare")
    }
    rows.append(
        Row(
            what="instructions of a launch - bare loop",
            ours=counts["launcher"],
            other=counts["bare"],
            unit="Ir",
            ratio=counts["launcher"] - counts["bare"],
            bar=MOST_INSTRUCTIONS,
            note="a difference, not a ratio; the driver's own are on both sides",
        )
    )
    return rows


def instructions(words: list[str], environment: dict[str, str], folder: Path) -> float:
    """Return the instructions of one more launch, by callgrind."""
    totals = []
    for launches in (COUNTED, 2 * COUNTED):
        done = subprocess.run(
            [
                *("valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind"),
                *words,
                str(launches),
            ],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        (total,) = re.findall(r"Collected : (\d+)", done.stderr)
        totals.append(int(total))
    return (totals[1] - totals[0]) / COUNTED


# --- Python --------------------------------------------------------------------------------------


def python_rows(folder: Path, rounds: int, launches: int, *, gpu: bool) -> list[Row]:
    """Return the Python launcher against an empty call and against Triton's launcher."""
    suffix = extension_suffix()
    run(
        [
            *("gcc", "-O2", "-shared", "-fPIC", f"-I{python_include()}"),
            *("-o", folder / f"empty_call{suffix}", HERE / "empty_call.c"),
        ]
    )
    empty = load_module("empty_call", folder / f"empty_call{suffix}").call
    ours = load_module("add", folder / "add" / f"add{suffix}").launch
    seed = build_seed(folder)
    rows = []
    for what, pointers in pointer_kinds(gpu=gpu).items():
        direct = (1, None, *pointers, 0, 2.0)
        sides = {"ours": (ours, direct), "empty": (empty, direct)}
        if seed is not None:
            function = load_function(gpu=gpu)
            positional = seed_arguments(function, pointers)
            sides |= {"seed": (seed, positional), "empty seed": (empty, positional)}
        found = measure(sides, rounds, launches, gpu=gpu)
        # On a GPU the driver's own time is on both sides, and is nearly all of it.
        bar = None if gpu else BAR_PYTHON
        rows += python_comparison(what, found, bar=bar)
    if seed is None:
        print(NO_TRITON, file=sys.stderr)
    return rows


def python_comparison(what: str, found: dict[str, list[float]], *, bar: float | None) -> list[Row]:
    """Return what was measured as rows; see the README for what they mean."""
    rows = [compare(f"{what}: call / empty call", found["ours"], found["empty"], unit="ns")]
    if "seed" not in found:
        return rows
    rows.append(compare(f"{what}: call / Triton's", found["ours"], found["seed"], unit="ns"))
    added = [a - b for a, b in zip(found["ours"], found["empty"], strict=True)]
    seed_added = [a - b for a, b in zip(found["seed"], found["empty seed"], strict=True)]
    best = (min(found["ours"]) - min(found["empty"])) / (
        min(found["seed"]) - min(found["empty seed"])
    )
    rows.append(
        compare(
            f"{what}: added to an empty call / Triton's",
            added,
            seed_added,
            unit="ns",
            bar=bar,
            note=f"best of all rounds {best:.2f}",
        )
    )
    return rows


def measure(
    sides: dict[str, tuple[Callable[..., object], tuple[object, ...]]],
    rounds: int,
    launches: int,
    *,
    gpu: bool,
) -> dict[str, list[float]]:
    """Return nanoseconds of one call for each side and round."""
    driver = ctypes.CDLL("libcuda.so.1")
    # Processor time is what other programs disturb least; a GPU's driver may also wait.
    clock = time.perf_counter_ns if gpu else time.thread_time_ns

    def one(function: Callable[..., object], words: tuple[object, ...]) -> float:
        if gpu:
            driver.cuCtxSynchronize()
        begin = clock()
        for _ in repeat(None, launches):
            function(*words)
        return (clock() - begin) / launches

    gc.disable()
    try:
        return interleave(
            {
                name: lambda function=function, words=words: one(function, words)
                for name, (function, words) in sides.items()
            },
            rounds=rounds,
        )
    finally:
        gc.enable()


def build_seed(folder: Path) -> Callable[..., object] | None:
    """Compile and load Triton's launcher as Triton does; None where there is no Triton."""
    seed = find_seed()
    if seed is None:
        return None
    source = folder / "seed.c"
    product = folder / f"__triton_launcher{extension_suffix()}"
    source.write_text(seed.source, encoding="utf-8")
    run(seed.compile_command(source, product, libraries=folder))
    launch: Callable[..., object] = load_module("__triton_launcher", product).launch
    return launch


def seed_arguments(function: int, pointers: tuple[object, ...]) -> tuple[object, ...]:
    """Return the arguments by which Triton 3.6 calls its launcher."""
    return (
        *(1, 1, 1, 0, function, False, False, None, None),
        *((4, 1, 0), None, None, None),
        *(*pointers, 0, 2.0, 1024),
    )


def load_function(*, gpu: bool) -> int:
    """Load the kernel and return its handle."""
    driver = ctypes.CDLL("libcuda.so.1")
    context, library, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    image = KERNEL.with_suffix(".cubin").read_bytes()
    for status in (
        driver.cuInit(0),
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
        driver.cuCtxSetCurrent(context),
        driver.cuLibraryLoadData(ctypes.byref(library), image, None, None, 0, None, None, 0),
        driver.cuLibraryGetKernel(ctypes.byref(kernel), library, ENTRY.encode()),
    ):
        if status != 0:
            sys.exit(f"the driver failed with {status}" + (", is there a GPU?" if gpu else ""))
    return kernel.value or 0


def pointer_kinds(*, gpu: bool) -> dict[str, tuple[object, ...]]:
    """Return three pointers of each kind that is measured."""
    kinds: dict[str, tuple[object, ...]] = {"integers": (0x10000, 0x20000, 0x30000)}
    if gpu:
        import torch  # noqa: PLC0415

        tensors: Any = [torch.zeros(1024, device="cuda") for _ in range(3)]
        kinds["PyTorch tensors"] = tuple(tensors)
    return kinds


if __name__ == "__main__":
    main()
