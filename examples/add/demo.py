"""Emit, build and run the example kernel: on the GPU where there is one that fits.

``python examples/add/demo.py FOLDER``; the README calls it as ``make demo``.
"""

from __future__ import annotations

import array
import ctypes
import importlib.machinery
import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from launchgen.testing import Launch, RecordingDriver, read_log

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
COUNT, BLOCK, ALPHA = 1_000_003, 1024, 2.5
# The kernel as Triton 3.6.0 leaves it in its cache, compiled for Hopper and for Ampere; any newer
# GPU gets the PTX.
KERNEL = ROOT / "tests" / "kernels" / "triton-3.6.0-sm90" / "add.json"
OLDER = ROOT / "tests" / "kernels" / "triton-3.6.0-sm80"
IMAGES = (OLDER / "add.cubin", OLDER / "add.ptx")
LEAST, RECORDED = 8, 90
MAJOR = 75  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR


def main() -> int:
    folder = Path(sys.argv[1])
    major = gpu_major()
    emit_and_build(folder)
    if major >= LEAST:
        print("\nOn the GPU:")
        run([str(folder / "demo"), "verify"], echo=False)
        verify_from_python(load_module(folder))
    elif major:
        print(f"\nThis GPU is too old for the example (compute capability {major}.x).")
    else:
        print("\nThere is no NVIDIA GPU here.")
    print("\nWhat reaches the driver, written down by the recording driver:", flush=True)
    driver = RecordingDriver(capability=RECORDED)
    log = folder / "driver.log"
    show("C", record([str(folder / "demo")], driver, log))
    show("Python", record([sys.executable, __file__, "--record", str(folder)], driver, log))
    return 0


def emit_and_build(folder: Path) -> None:
    images = [word for image in IMAGES for word in ("--image", os.path.relpath(image))]
    run(
        [
            *(sys.executable, "-m", "launchgen", "emit", os.path.relpath(KERNEL)),
            *images,
            *("--name", "add", "-o", str(folder)),
        ]
    )
    run(["make", "--no-print-directory", "-C", str(folder), f"PYTHON={sys.executable}"])
    compiler = shlex.split(os.environ.get("CC", "cc"))
    sources = [os.path.relpath(HERE / "main.c"), str(folder / "add.c")]
    options = ["-std=c11", "-O2", "-I", str(folder), "-o", str(folder / "demo")]
    run([*compiler, *options, *sources, "-ldl", "-lpthread"])


def run(command: list[str], *, echo: bool = True) -> None:
    if echo:
        print(f"$ {shlex.join(command)}", flush=True)
    subprocess.run(command, check=True)


def gpu_major() -> int:
    """Return the first GPU's major compute capability, 0 without a GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    major = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetAttribute(ctypes.byref(major), MAJOR, 0):
        return 0
    return major.value


def load_module(folder: Path) -> ModuleType:
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    spec = importlib.util.spec_from_file_location("add", folder / f"add{suffix}")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def verify_from_python(add: ModuleType) -> None:
    """Launch from Python with plain addresses; arrays of PyTorch or CuPy pass as they are."""
    driver = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    expect(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    expect(driver.cuCtxSetCurrent(context))
    x = array.array("f", range(COUNT))
    y = array.array("f", range(COUNT, 0, -1))
    out = array.array("f", bytes(4 * COUNT))
    pointers = []
    for values in (x, y, out):
        pointer = ctypes.c_uint64()
        expect(driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(4 * COUNT)))
        expect(driver.cuMemcpyHtoD_v2(pointer, address(values), ctypes.c_size_t(4 * COUNT)))
        pointers.append(pointer.value)
    add.launch(-(-COUNT // BLOCK), None, *pointers, COUNT, ALPHA)
    source = ctypes.c_uint64(pointers[2])
    expect(driver.cuMemcpyDtoH_v2(address(out), source, ctypes.c_size_t(4 * COUNT)))
    expected = array.array("f", (a * ALPHA + b for a, b in zip(x, y, strict=True)))
    if out != expected:
        sys.exit("Python: wrong numbers")
    print(f"Python: {COUNT} numbers are right")


def address(values: array.array[float]) -> ctypes.c_void_p:
    return ctypes.c_void_p(values.buffer_info()[0])


def expect(status: int) -> None:
    if status:
        sys.exit(f"the driver returned {status}")


def record(command: list[str], driver: RecordingDriver, log: Path) -> tuple[Launch, ...]:
    """Run a command on the recording driver and return its launches."""
    log.unlink(missing_ok=True)
    environment = {**os.environ, **driver.environment(log=log)}
    subprocess.run(command, check=True, env=environment)
    return tuple(call.launch for call in read_log(log) if call.launch is not None)


def launch_once(folder: Path) -> None:
    """Launch from Python with made-up addresses, for the recording driver."""
    load_module(folder).launch(
        -(-COUNT // BLOCK), None, 0x10000, 0x20000, 0x30000, COUNT, alpha=ALPHA
    )


def show(title: str, launches: tuple[Launch, ...]) -> None:
    for launch in launches:
        print(f"  {title}: {launch.entry}, grid {launch.grid}, block {launch.block}")
        for parameter in launch.parameters:
            print(f"    {parameter.offset:3} +{parameter.size}  {parameter.value.hex(' ')}")


if __name__ == "__main__":
    if sys.argv[1] == "--record":
        launch_once(Path(sys.argv[2]))
    else:
        sys.exit(main())
