"""References counted by a debug build of the interpreter, where there is one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from launchgen import toolchain
from launchgen.artifacts import ARTIFACTS, CONVENTIONS
from launchgen.planning import make_plan
from launchgen.rendering import render
from launchgen.sources import read_kernel
from launchgen.targets import TARGETS
from launchgen.testing import RecordingDriver
from tests.zoo import Kernel

FOLDER: Final = "triton-3.6.0-sm90"
TARGET: Final = next(iter(TARGETS.values()))
VERSION: Final = "{}.{}".format(*sys.version_info)
NAMES: Final = (f"python{VERSION}-dbg", f"python{VERSION}d", "python3-dbg")

pytestmark = pytest.mark.slow

_CHILD = r"""
import ctypes, gc, importlib.machinery, importlib.util, json, sys

(paths, image, entry, other, other_entry), launches = json.loads(sys.argv[1]), 10_000
cuda = ctypes.CDLL("libcuda.so.1")


def load(name, path):
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def function(path, name):
    module, found = ctypes.c_void_p(), ctypes.c_void_p()
    with open(path, "rb") as file:
        assert cuda.cuModuleLoadData(ctypes.byref(module), file.read()) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(found), module, name.encode()) == 0
    return found.value


context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0


class Descriptor:
    def __init__(self, base):
        self.base, self.shape, self.strides, self.padding = base, (128, 96), [96, 1], "zero"


class HookChain:
    calls = [None]

    def __call__(self, metadata):
        pass


def refused(call):
    def checked():
        try:
            call()
        except (TypeError, ValueError, OverflowError):
            return
        raise AssertionError("not refused")

    return checked


a, b, bad = Descriptor(0x1000), Descriptor(0x2000), Descriptor(0x1008)
add, desc, seed, objects = (load(*each) for each in paths)
handle, tiles = function(image, entry), function(other, other_entry)
hook, made = HookChain(), objects.Launcher(1, False, False, 0, 1, 0, 1, None, None)
head = (1, 1, 1, 0, handle, False, False, None, None, (4, 1, 0), None, hook, hook)
whole = (1, 1, 1, 0, tiles, (4, 1, 33024), None, hook, hook)
kinds = {
    "direct": lambda: add.launch((2, 3), None, 0x1000, None, 0x2000, 5, 0.5, 1024),
    "by name": lambda: add.launch(
        2, None, x_ptr=0x1000, y_ptr=0x2000, out_ptr=0x3000, n=5, alpha=1
    ),
    "refused": refused(lambda: add.launch(2, None, 0x1000, 0x2000, 0x3000, 2**31, 0.5)),
    "descriptors": lambda: desc.launch(1, None, a, b),
    "other descriptors": lambda: (desc.launch(1, None, a, b), desc.launch(1, None, b, a)),
    "refused descriptor": refused(lambda: desc.launch(1, None, a, bad)),
    "seed": lambda: seed.launch(*head, 0x1000, 0x2000, 0x3000, 5, 0.5, 1024),
    "refused seed": refused(lambda: seed.launch(*head, 0x1000, "x", 0x3000, 5, 0.5, 1024)),
    "object": lambda: made(*whole, a, b, 64, 64),
    "refused object": refused(lambda: made(*whole, a, bad, 64, 64)),
    "new object": lambda: objects.Launcher(1, False, False, 0, 1, 0, 1, None, None)(
        *whole, a, b, 64, 64
    ),
}
grown = {}
for name, call in kinds.items():
    for _ in range(100):
        call()
    gc.collect()
    before = sys.gettotalrefcount()
    for _ in range(launches):
        call()
    gc.collect()
    grown[name] = sys.gettotalrefcount() - before
print(json.dumps(grown))
"""


def debug_python() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no debug build of Python {VERSION} ({', '.join(NAMES)})")
    return found


def module_of(name: str, convention: str, folder: Path, python: str) -> tuple[str, str]:
    """Return name and path of a launcher that is compiled for an interpreter."""
    kernel = Kernel(FOLDER, name)
    source = read_kernel(kernel.json, signature_text=kernel.signature, target=TARGET, name=name)
    chosen = CONVENTIONS[convention]
    plan = make_plan(source, target=TARGET, command="launchgen emit", convention=chosen)
    folder.mkdir()
    for file in render(plan, artifacts=(ARTIFACTS["cpython"],)).files:
        (folder / file.name).write_bytes(file.content)
    # Debian's debug headers are links to the others, which gcc would follow past their pyconfig.h.
    flags = {"PYTHON": python, "CPPFLAGS": "-fno-canonical-system-headers"}
    build = toolchain.plan_build(folder, environment=os.environ | flags)
    (step,) = toolchain.run_build(build, parallel=1, progress=lambda _: None)
    return step.product.split(".", maxsplit=1)[0], str(folder / step.product)


def test_pyapi1_ten_thousand_calls_of_each_kind_keep_no_reference(tmp_path: Path) -> None:
    python = debug_python()
    paths = [
        module_of("add", "direct", tmp_path / "add", python),
        module_of("desc_copy", "direct", tmp_path / "desc", python),
        module_of("add", "triton", tmp_path / "seed", python),
        module_of("desc_copy", "launcher", tmp_path / "object", python),
    ]
    add, desc = Kernel(FOLDER, "add"), Kernel(FOLDER, "desc_copy")
    words = [paths, str(add.cubin), add.entry, str(desc.cubin), desc.entry]
    environment = {**os.environ, **RecordingDriver().environment(log=os.devnull)}
    done = subprocess.run(
        [python, "-c", _CHILD, json.dumps(words)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    grown = json.loads(done.stdout)
    assert len(grown) == 11
    # The interpreter keeps a few for itself; a leak would be one for each call.
    assert {name: count for name, count in grown.items() if abs(count) > 100} == {}
