"""What is committed under ``snapshots/`` is C11 and C++17, without a warning, as it lies."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from launchgen.cli import main
from tests.golden import SNAPSHOTS
from tests.interpreters import Interpreter, at_hand
from tests.zoo import ZOO, Kernel

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
PROTOTYPES = ("-Wstrict-prototypes", "-Wmissing-prototypes")
PYTHON = ("-isystem", sysconfig.get_path("include"))


@dataclass(frozen=True)
class Compiler:
    """A compiler and how it takes a source; ``slow`` ones are asked in the long run only."""

    name: str
    flags: tuple[str, ...]
    slow: bool = False

    def __str__(self) -> str:
        return self.name

    def compile(self, source: Path, *more: str) -> None:
        command = [self.name, *self.flags, *more, *PYTHON, "-c", "-o", "/dev/null", source.name]
        done = subprocess.run(
            command, cwd=source.parent, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""


COMPILERS = (
    Compiler("gcc", ("-std=c11", *WARNINGS, *PROTOTYPES)),
    Compiler("g++", ("-x", "c++", "-std=c++17", *WARNINGS)),
    Compiler("clang", ("-std=c11", *WARNINGS, *PROTOTYPES), slow=True),
    Compiler("clang++", ("-x", "c++", "-std=c++17", *WARNINGS), slow=True),
    Compiler("nvcc", ("-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror"), slow=True),
)
SOURCES = tuple(sorted(SNAPSHOTS.rglob("*.c")))


def _pairs() -> Iterator[object]:
    for compiler in COMPILERS:
        for source in SOURCES:
            marks = [pytest.mark.slow] if compiler.slow else []
            if shutil.which(compiler.name) is None:
                marks.append(pytest.mark.skip(reason=f"{compiler.name} is not installed"))
            yield pytest.param(compiler, source, marks=marks, id=f"{compiler}-{source.stem}")


@pytest.mark.parametrize(("compiler", "source"), tuple(_pairs()))
def test_every_committed_source_compiles_without_a_warning(
    compiler: Compiler, source: Path
) -> None:
    compiler.compile(source)


@pytest.mark.parametrize("name", ["tuple/tuples_py.c", "triton/triton_py.c"])
@pytest.mark.parametrize("level", ["-O2", "-O3"])
def test_tuples_compile_without_a_warning_at_every_level(name: str, level: str) -> None:
    """What a compiler cannot see of a function that it does not look into, it warns about."""
    COMPILERS[0].compile(SNAPSHOTS / name, level)


def _kernels() -> Iterator[object]:
    for kernel in ZOO:
        is_first = kernel.folder == "triton-3.6.0-sm90"
        yield pytest.param(kernel, marks=[] if is_first else [pytest.mark.slow], id=str(kernel))


@pytest.mark.parametrize("kernel", tuple(_kernels()))
def test_what_is_emitted_for_every_kernel_compiles_without_a_warning(
    kernel: Kernel, tmp_path: Path
) -> None:
    options = ["-n", kernel.name, "-o", str(tmp_path), "-a", "c,cpython,example"]
    assert main(["emit", str(kernel.json), "-s", kernel.signature, *options]) == 0
    for source in sorted(tmp_path.glob("*.c")):
        for compiler in COMPILERS[:2]:
            compiler.compile(source, "-O0")


@pytest.mark.parametrize(
    "flags",
    [
        ("-O0",),
        ("-O3",),
        ("-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3", "-fstack-protector-strong"),
    ],
    ids=" ".join,
)
def test_warnings_that_depend_on_optimisation_are_clean_too(flags: tuple[str, ...]) -> None:
    for source in (SNAPSHOTS / "scalars" / "scalars.c", SNAPSHOTS / "structs" / "structs_py.c"):
        COMPILERS[0].compile(source, *flags)


@pytest.mark.parametrize("interpreter", at_hand(), ids=str)
def test_pyapi8_modules_compile_with_the_headers_of_every_interpreter_at_hand(
    interpreter: Interpreter,
) -> None:
    modules = [source for source in SOURCES if "#include <Python.h>" in source.read_text("ascii")]
    assert {source.stem for source in modules} > {"add_py", "cuda_utils"}
    for source in modules:
        COMPILERS[0].compile(source, "-isystem", interpreter.include)


@pytest.mark.parametrize("source", ["matmul.c", "matmul_py.c"])
def test_an_included_image_is_found_from_another_folder(tmp_path: Path, source: str) -> None:
    folder = tmp_path / "a folder"
    shutil.copytree(SNAPSHOTS / "matmul", folder)
    command = ["gcc", "-c", "-o", "k.o", *PYTHON, str(folder / source)]
    quoted = f'-DLG_IMAGE_DIR="{folder}"'
    for options, status in (([], 1), (["-I", str(folder)], 0), ([quoted], 0)):
        done = subprocess.run(
            [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stderr
        assert status == 0 or "matmul.cubin" in done.stderr


def test_toolchain12_a_header_is_usable_from_cpp_without_anything_before_it(
    tmp_path: Path,
) -> None:
    for header in sorted(SNAPSHOTS.rglob("*.h")):
        source = tmp_path / f"{header.stem}.c"
        source.write_text(f'#include "{header}"\n#include "{header}"\n')
        for compiler in COMPILERS[:2]:
            compiler.compile(source)


NAMES = "__has_include __THROW __nonnull __x _Bool SIGINT O_RDONLY S_IRUSR S_ISREG S_K errno stdin"


@pytest.mark.parametrize("compiler", COMPILERS[:2], ids=str)
def test_arguments_called_as_macros_of_common_headers_compile(
    compiler: Compiler, tmp_path: Path
) -> None:
    options = ["-n", "k", "--num-warps", "1", "--triton-version", "3.2", "-o", str(tmp_path)]
    signature = ", ".join(f"{name}: i32" for name in NAMES.split())
    assert main(["emit", "-s", signature, *options, "-a", "c,cpython"]) == 0
    (tmp_path / "user.c").write_text(
        "#include <errno.h>\n#include <fcntl.h>\n#include <signal.h>\n"
        '#include <stdio.h>\n#include <sys/stat.h>\n#include "k.h"\n'
    )
    for name in ("k.c", "k_py.c", "user.c"):
        compiler.compile(tmp_path / name)
    assert "int32_t S_K," in (tmp_path / "k.h").read_text()
