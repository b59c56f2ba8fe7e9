"""What a machine has of what launchers need: the facts behind ``launchgen doctor``.

Nothing is refused here: what is missing is an answer, with where it was looked for and what to do.
Only a C compiler is needed; whoever has none can emit launchers and not build them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib import metadata, util
from pathlib import Path
from typing import Final

from launchgen import toolchain
from launchgen.artifacts import LIBRARY
from launchgen.checkup import NO_NEED, PATIENCE, Checkup, Item, cuda_text, reason
from launchgen.diagnostics import BuildError
from launchgen.drivers import OPTION, find_driver
from launchgen.libcuda import MACHINES, Place
from launchgen.units import Unit

_TRIAL: Final = """#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
_Static_assert(sizeof(uint32_t) == 4, "C11");
"""
_NVCC: Final = "nvcc"
_NAMES: Final = ("cc", "gcc", "clang", _NVCC)
_VERSION: Final = re.compile(r"^\s*#\s*define\s+CUDA_VERSION\s+([0-9]{1,9})\b", re.MULTILINE)


def check(*, libcuda: str | None, environment: Mapping[str, str]) -> Checkup:
    """Look at this machine; ``libcuda`` is a path to try before the usual ones."""
    compilers = tuple(_compilers(environment))
    driver, gpus = find_driver(libcuda, environment)
    return Checkup(
        system=_system(),
        compiler=_compiler(environment),
        compilers=compilers,
        python=_python(environment),
        headers=_headers(environment, compilers),
        driver=driver,
        gpus=gpus,
        triton=_triton(),
        is_refused=any(place.origin == OPTION and place.problem for place in driver.looked),
    )


def _system() -> Item:
    system = os.uname()
    item = Item("system", f"{system.sysname} {system.machine}")
    if system.sysname == "Linux" and system.machine in MACHINES:
        return item
    return item._replace(
        problem="launchers run on Linux, on x86-64 and aarch64",
        hint="emit here, and build on the machine that launches",
    )


# --- compilers and headers ---------------------------------------------------------------------


def _compilers(environment: Mapping[str, str]) -> Iterator[Item]:
    for name in _NAMES:
        path = shutil.which(name, path=environment.get("PATH"))
        if path is None:
            yield Item(name, problem="not on PATH")
        else:
            yield _asked(name, (path,), environment)


def _asked(name: str, words: tuple[str, ...], environment: Mapping[str, str]) -> Item:
    """Return what a compiler says of itself."""
    try:
        done = toolchain.run((*words, "--version"), environment=environment, timeout=PATIENCE)
    except BuildError as error:
        return Item(name, path=words[0], problem=error.diagnostics[0].message)
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    if done.returncode != 0 or not lines:
        problem = f"'{shlex.join((*words, '--version'))}' ended with {done.returncode}"
        return Item(name, path=words[0], problem=problem)
    # nvcc begins with its name and a copyright.
    version = next((line for line in lines if "release" in line), lines[0])
    return Item(name, version, words[0])


def _compiler(environment: Mapping[str, str]) -> Item:
    """Return the compiler that builds take, after it has compiled what launchers include."""
    try:
        compiler = toolchain.find_compiler(environment)
        item = _asked("C compiler", compiler.words, environment)
        with tempfile.TemporaryDirectory() as folder:
            unit = Unit(str(Path(folder, "trial.c")), "trial", LIBRARY, "trial")
            Path(unit.source).write_text(_TRIAL, encoding="ascii")
            command = toolchain.compile_command(
                unit,
                str(Path(folder, "trial.so")),
                compiler=compiler,
                python=None,
                environment=environment,
            )
            done = toolchain.run(command, environment=environment, timeout=PATIENCE)
    except BuildError as error:
        return Item(
            "C compiler", problem=error.diagnostics[0].message, hint=error.diagnostics[0].hint
        )
    if done.returncode == 0:
        return item._replace(problem=None)
    said = (line.strip() for line in done.stdout.splitlines() if "error" in line)
    return item._replace(
        problem=f"'{shlex.join(compiler.words)}' does not compile a C library: "
        + next(said, f"it ended with {done.returncode}"),
        hint="it has to know C11, as gcc does from 5 on, and needs the C library's headers: "
        "libc6-dev (Debian, Ubuntu), glibc-devel (Fedora, RHEL), musl-dev (Alpine)",
    )


def _python(environment: Mapping[str, str]) -> Item:
    try:
        python = toolchain.find_python(environment)
    except BuildError as error:
        (found,) = error.diagnostics
        return Item("Python headers", problem=found.message, hint=found.hint)
    folders = [Path(folder) for folder in python.include]
    folder = next(folder for folder in folders if (folder / "Python.h").is_file())
    return Item("Python headers", python.version, str(folder))


def _headers(environment: Mapping[str, str], compilers: tuple[Item, ...]) -> Item:
    looked: list[Place] = []
    for place in _header_places(environment, compilers):
        version, problem = (None, place.problem) if place.path is None else _header(place.path)
        looked.append(place._replace(problem=problem))
        if place.path is not None and problem is None:
            folder = str(Path(place.path).parent)
            return Item("CUDA headers", version, folder, looked=tuple(looked))
    return Item(
        "CUDA headers",
        problem=f"no cuda.h was found; {NO_NEED}",
        hint="programs of your own that include it: install a CUDA toolkit and set CUDA_HOME to "
        "it, or pip install nvidia-cuda-runtime",
        looked=tuple(looked),
    )


def _header(path: str) -> tuple[str | None, str | None]:
    """Return the version of CUDA that a ``cuda.h`` is for, or what is wrong with it."""
    try:
        found = _VERSION.search(Path(path).read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError) as error:
        return None, reason(error)
    return (None, "it says no CUDA_VERSION") if found is None else (cuda_text(int(found[1])), None)


def _header_places(environment: Mapping[str, str], compilers: tuple[Item, ...]) -> Iterator[Place]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        value = environment.get(variable)
        if value:
            yield Place(variable, str(Path(value, "include", "cuda.h")), None)
        else:
            yield Place(variable, None, "not set")
    nvcc = next((item.path for item in compilers if item.name == _NVCC), None)
    if nvcc is None:
        yield Place(_NVCC, None, "not on PATH")
    else:
        yield Place(_NVCC, str(Path(nvcc).resolve().parent.parent / "include" / "cuda.h"), None)
    for folder in ("/usr/local/cuda/include", "/usr/include"):
        yield Place("usual folder", f"{folder}/cuda.h", None)
    # A namespace that NVIDIA's packages share: looking for it imports nothing.
    spec = util.find_spec("nvidia")
    roots = (spec.submodule_search_locations if spec is not None else None) or ()
    found = sorted(str(path) for root in roots for path in Path(root).glob("*/include/cuda.h"))
    yield from (Place("Python packages", path, None) for path in found)
    if not found:
        yield Place("Python packages", None, "none has it")


# --- words -------------------------------------------------------------------------------------


def _triton() -> Item:
    try:
        found = metadata.distribution("triton")
    except metadata.PackageNotFoundError:
        return Item(
            "Triton",
            problem=f"not installed for {sys.executable}; {NO_NEED}",
            hint="who compiles kernels here needs it: pip install triton",
        )
    return Item("Triton", found.version, str(found.locate_file("triton")))
