"""What a launcher exports and needs: the documented names, nothing of CUDA's; C++ links with it."""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from launchgen.artifacts import ARTIFACTS
from launchgen.testing import RecordingDriver
from tests.programs import (
    OLDER,
    STRICT,
    Emitted,
    cc,
    compile_python,
    emit,
    emit_zoo,
    new_folder,
    run,
)

FUNCTIONS = {"launch", "load", "unload", "error"}
NO_IMAGE = {"launch", "error"}


def made(kernel: str, **options: Any) -> Emitted:
    return emit_zoo(kernel, artifacts=("c", "cpython"), **options)


CASES = {
    "add": (functools.partial(made, "add"), FUNCTIONS),
    "no_args": (functools.partial(made, "no_args"), FUNCTIONS),
    "matmul": (functools.partial(made, "matmul"), FUNCTIONS),
    "scalars": (functools.partial(made, "scalars"), FUNCTIONS),
    "device_desc": (
        functools.partial(made, "device_desc"),
        FUNCTIONS | {"global_scratch_size"},
    ),
    "two_images": (functools.partial(made, "add", others=(OLDER,)), FUNCTIONS),
    "add_handle": (functools.partial(made, "add", no_image=True), NO_IMAGE),
    "scratch_handle": (
        functools.partial(made, "device_desc", no_image=True),
        NO_IMAGE | {"global_scratch_size"},
    ),
}


def flags_of(artifact: str) -> tuple[str, ...]:
    """Return the flags that launchgen itself compiles an artifact with."""
    face = ARTIFACTS[artifact].face
    assert face is not None
    return (*face.flags, *face.plain_flags, *face.host_flags)


def libraries(artifact: str) -> tuple[str, ...]:
    face = ARTIFACTS[artifact].face
    assert face is not None
    return face.libraries


def symbols(path: Path, *options: str) -> set[str]:
    done = run(["nm", "--defined-only", *options, path])
    assert done.returncode == 0, done.stderr
    return {line.split()[-1] for line in done.stdout.splitlines() if line.strip()}


def dynamic(path: Path) -> Iterator[tuple[str, str]]:
    done = run(["readelf", "-dW", path])
    assert done.returncode == 0, done.stderr
    return iter(re.findall(r"\((NEEDED|RPATH|RUNPATH|TEXTREL)\)[^\[]*(?:\[(.*)\])?", done.stdout))


@pytest.mark.parametrize("compiler", ["gcc -std=c11", "g++ -x c++ -std=c++17"])
@pytest.mark.parametrize("case", CASES)
def test_name1_the_library_exports_the_documented_names(case: str, compiler: str) -> None:
    make, expected = CASES[case]
    emitted = make()
    library = emitted.folder / "library.so"
    words = compiler.split()
    # Whoever compiles the source into a library of theirs need not hide anything.
    flags = (*words[1:], "-shared", "-fPIC")
    cc(emitted.folder, *flags, f"{emitted.name}.c", "-o", library, compiler=words[0])
    assert symbols(library, "-D") == {f"{emitted.name}_{name}" for name in expected}


def test_build1_the_library_needs_no_cuda_and_no_path() -> None:
    emitted = made("matmul")
    library = emitted.folder / "libmatmul.so"
    cc(emitted.folder, *flags_of("c"), "matmul.c", "-o", library, *libraries("c"))
    assert symbols(library, "-D") == {f"matmul_{name}" for name in FUNCTIONS}
    found = list(dynamic(library))
    assert {kind for kind, _ in found} <= {"NEEDED"}
    needed = [name for _, name in found]
    assert not [name for name in needed if "cuda" in name or "nv" in name]
    assert all(re.match(r"(libc|libdl|libpthread|ld-linux)[-.]", name) for name in needed)


@pytest.mark.parametrize("case", CASES)
def test_name1_the_module_exports_its_init_function(case: str) -> None:
    make, _ = CASES[case]
    emitted = make()
    module = compile_python(emitted)
    assert symbols(module, "-D") == {f"PyInit_{emitted.name}"}
    found = list(dynamic(module))
    assert {kind for kind, _ in found} <= {"NEEDED"}
    assert not [name for _, name in found if "cuda" in name]


def test_name1_an_object_defines_no_global_name_but_the_documented_ones() -> None:
    emitted = made("matmul")
    cc(emitted.folder, "-std=c11", "-c", "matmul.c", "-o", "matmul.o")
    # The included image has a label, hidden from other libraries, with the launcher's name in it.
    names = symbols(emitted.folder / "matmul.o", "-g")
    assert names == {*(f"matmul_{name}" for name in FUNCTIONS), "lg_image_matmul_c"}


def test_name1_images_are_told_apart_by_what_they_are_compiled_for() -> None:
    emitted = made("matmul", others=(OLDER,))
    assert {path.name for path in emitted.folder.glob("*.cubin")} == {
        "matmul.sm_80.cubin",
        "matmul.sm_90a.cubin",
    }
    cc(emitted.folder, "-std=c11", "-c", "matmul.c", "-o", "matmul.o")
    labels = {"lg_image_matmul_c_sm_80", "lg_image_matmul_c_sm_90a"}
    found = symbols(emitted.folder / "matmul.o", "-g")
    assert found == {*(f"matmul_{name}" for name in FUNCTIONS), *labels}


def test_name1_launchers_link_into_one_program_statically() -> None:
    kernels = ("add", "matmul", "device_desc", "grid_coop")
    folder = new_folder()
    for kernel in kernels:
        for path in made(kernel).folder.iterdir():
            shutil.copy(path, folder)
    (folder / "main.c").write_text(
        "".join(f'#include "{kernel}.h"\n' for kernel in (*kernels, *kernels))
        + "int main(void) { return "
        + " + ".join(f"*{kernel}_error()" for kernel in kernels)
        + "; }\n"
    )
    sources = [f"{kernel}.c" for kernel in kernels]
    cc(folder, "-std=c11", *STRICT, "main.c", *sources, "-o", "program")
    assert run([folder / "program"]).returncode == 0


def test_link_time_optimisation_keeps_the_image() -> None:
    emitted = made("matmul")
    (emitted.folder / "main.c").write_text(
        '#include "matmul.h"\nint main(void) { return matmul_load(); }\n'
    )
    where = f'-DLG_IMAGE_DIR="{emitted.folder}"'
    cc(emitted.folder, "-std=c11", "-O2", "-flto", where, "main.c", "matmul.c", "-o", "program")
    driver = RecordingDriver()
    done = run([emitted.folder / "program"], env=driver.environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_name9_a_c_plus_plus_program_links_with_the_c_library() -> None:
    emitted = made("add")
    (emitted.folder / "main.cpp").write_text(
        '#include "add.h"\n#include "add.h"\n'
        "int main() { return add_launch(nullptr, 1, 1, 1, nullptr, nullptr, nullptr, 1, 1.0f) + "
        "add_load() + add_unload() + *add_error(); }\n"
    )
    cc(emitted.folder, "-std=c11", "-c", "add.c", "-o", "add.o")
    cc(emitted.folder, "-std=c++17", *STRICT, "main.cpp", "add.o", "-o", "program", compiler="g++")
    done = run([emitted.folder / "program"], env=RecordingDriver().environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def cuda_headers() -> Path | None:
    """Return a folder with ``cuda.h``, if there is one."""
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    folders = [Path(home) / "include" for home in homes if home]
    folders += sorted(Path("/usr/local").glob("cuda*/include"), reverse=True)
    return next((folder for folder in folders if (folder / "cuda.h").is_file()), None)


@pytest.mark.parametrize("file", ["structs.h", "structs.c", "matmul.h", "matmul.c"])
@pytest.mark.parametrize("cuda_first", [True, False])
@pytest.mark.parametrize("compiler", ["gcc -std=c11", "g++ -x c++ -std=c++17"])
def test_cuda_h_may_be_included_beside_it(compiler: str, cuda_first: bool, file: str) -> None:
    headers = cuda_headers()
    if headers is None:
        pytest.skip("no cuda.h: set CUDA_HOME")
    if file.startswith("matmul"):
        emitted = made("matmul")
    else:
        emitted = emit(None, "s: bytes[24:8], map: nvTmaDesc", name="structs", num_warps=4)
    order = ["<cuda.h>", f'"{file}"']
    includes = order if cuda_first else order[::-1]
    (emitted.folder / "both.c").write_text("".join(f"#include {name}\n" for name in includes))
    words = compiler.split()
    cc(
        emitted.folder,
        *words[1:],
        *STRICT,
        "-isystem",
        headers,
        "-c",
        "both.c",
        "-o",
        "both.o",
        compiler=words[0],
    )
