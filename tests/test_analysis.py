"""Static analysers find nothing in what is emitted."""

from __future__ import annotations

import functools
import shutil
import sysconfig

import pytest

from tests.programs import cc, emit, emit_zoo, new_folder

PYTHON = ("-isystem", sysconfig.get_path("include"))
ALL = ("c", "cpython", "example")


CASES = {
    "add": functools.partial(emit_zoo, "add", artifacts=ALL),
    "device_desc": functools.partial(emit_zoo, "device_desc", artifacts=ALL),
    "matmul_handle": functools.partial(emit_zoo, "matmul", artifacts=ALL, no_image=True),
    "cuda_utils": functools.partial(emit_zoo, "no_args", artifacts=("cuda-utils",)),
    "mixed": functools.partial(
        emit,
        None,
        "s: bytes[24:8], map: nvTmaDesc, a: fp16, b: bf16, one: i32:1, flag: i1, u: u64:16",
        name="mixed",
        num_warps=4,
        artifacts=ALL,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_gcc_analyzer_finds_nothing(case: str) -> None:
    emitted = CASES[case]()
    for source in sorted(path.name for path in emitted.folder.glob("*.c")):
        flags = ("-std=c11", "-O2", "-fanalyzer", "-Werror", "-c", "-o", "/dev/null")
        cc(emitted.folder, *flags, *PYTHON, source)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_clang_analyzer_finds_nothing(case: str) -> None:
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed")
    emitted = CASES[case]()
    for source in sorted(path.name for path in emitted.folder.glob("*.c")):
        flags = ("-std=c11", "--analyze", "--analyzer-output", "text", "-Xanalyzer")
        report = new_folder() / "report"
        cc(
            emitted.folder,
            *flags,
            "-analyzer-werror",
            *PYTHON,
            source,
            "-o",
            report,
            compiler="clang",
        )
