"""Cases from public reports that belong to no other file, and that every one has its test."""

from __future__ import annotations

import ast
import ctypes
import json
import re
from pathlib import Path

import pytest

from launchgen.cli import main
from launchgen.testing import RecordingDriver, read_log
from tests.programs import (
    FLAGS,
    FOLDER,
    OLDER,
    TESTS,
    AnyLauncher,
    CLauncher,
    CLibrary,
    Library,
    PythonLibrary,
    cc,
    compile_python,
    emit,
    emit_zoo,
    import_module,
    library,
    new_folder,
    run,
)
from tests.public_cases import CASES, cases_of
from tests.zoo import Kernel

FACES = ("c", "cpython")
PDL = 6
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION."""


@pytest.fixture
def driver() -> RecordingDriver:
    driver = RecordingDriver().load()
    driver.add_memory(0x10000, 1 << 24)
    return driver


def test_every_case_has_a_test() -> None:
    found: set[str] = set()
    for path in sorted(TESTS.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found.update(cases_of(node.name))
    assert sorted(set(CASES) - found) == []


def test_float8_infinities_and_nan_leave_no_bare_word() -> None:
    text = "x: *fp32, A: constexpr = inf, B: constexpr = -inf, C: constexpr = nan, n: i32"
    artifacts = ("c", "cpython", "pyi", "example", "level0")
    emitted = emit(None, text, name="k", num_warps=4, artifacts=artifacts)
    for source in ("k.c", "k_example.c"):
        cc(emitted.folder, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", source)
    ast.parse((emitted.folder / "k.pyi").read_text())
    json.loads(
        (emitted.folder / "k.launch_metadata").read_text(),
        parse_constant=lambda word: pytest.fail(f"JSON has no {word}"),
    )
    driver = RecordingDriver().load()
    module = import_module(compile_python(emitted))
    assert module.signature == text
    function = driver.make_function("k", (8, 4))
    module.launch(function, 1, None, 0x1000, float("inf"), -1, "any", 7)
    assert driver.launches[0].values == (0x1000.to_bytes(8, "little"), b"\7\0\0\0")


# ---- attributes ----------------------------------------------------------------------------------


def pdl_library(face: str, *flags: str) -> Library:
    emitted = emit_zoo("grid_pdl", artifacts=(face,), num_ctas=2, cooperative=True)
    if face == "c":
        return CLibrary.of(emitted, *FLAGS, *flags)
    return PythonLibrary.of(emitted, *flags)


def attributes(driver: RecordingDriver, launcher: AnyLauncher) -> list[int]:
    assert launcher.launch() == 0, launcher.error
    return [each.id for each in driver.launches[-1].attributes]


@pytest.mark.parametrize("face", FACES)
def test_attr3_programmatic_launch_can_be_left_out_of_captures(
    driver: RecordingDriver, face: str
) -> None:
    usual, switched = (
        pdl_library(face).fresh(),
        pdl_library(face, "-DLG_CAPTURE_WITHOUT_PDL").fresh(),
    )
    all_of_them = attributes(driver, usual)
    assert PDL in all_of_them
    assert attributes(driver, switched) == all_of_them
    driver.start_capture()
    assert attributes(driver, usual) == all_of_them
    assert attributes(driver, switched) == [each for each in all_of_them if each != PDL]
    # A stream that cannot be asked is left to the launch.
    driver.fail("cuStreamIsCapturing", 906, times=None)
    assert attributes(driver, switched) == all_of_them


def test_tma1_a_tensor_map_has_the_alignment_of_either_cuda(tmp_path: Path) -> None:
    # CUDA 12's cuda.h aligns CUtensorMap to 64 bytes, that of 13 to 128; both are 128 bytes long.
    # A launcher's own maps are aligned as the driver asks, with either header before it.
    folder = emit_zoo("desc_copy").folder
    for align in (64, 128):
        (tmp_path / "cuda.h").write_text(
            f"typedef struct CUtensorMap_st {{ _Alignas({align}) unsigned long long opaque[16]; }}"
            " CUtensorMap;\n"
        )
        (tmp_path / "both.c").write_text(
            '#include "cuda.h"\n#include "desc_copy.c"\n'
            '_Static_assert(_Alignof(lg_tensor_map) >= 64, "as the encoder asks");\n'
            '_Static_assert(sizeof(lg_tensor_map) == sizeof(CUtensorMap), "one size");\n'
        )
        words = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", str(folder))
        cc(tmp_path, *words, "both.c")
    driver = RecordingDriver().load()
    launcher = CLibrary.of(emit_zoo("desc_copy")).fresh()
    assert launcher.launch() == 0
    encoded = [call for call in driver.calls if call.name == "cuTensorMapEncodeTiled"]
    assert {call.arguments["map"] % 64 for call in encoded if "map" in call.arguments} <= {0}


def test_tma8_header_and_documents_say_where_stores_may_spill() -> None:
    header = (emit_zoo("desc_copy").folder / "desc_copy.h").read_text()
    said = re.sub(r"\s*\n \*\s*", " ", header)
    assert "no multiple of 16, stores may write up to 15 bytes behind it" in said
    document = (TESTS.parent / "docs" / "descriptors.md").read_text()
    assert "15 bytes" in document


# ---- variants ------------------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES)
def test_dispatch3_where_no_variant_fits_an_error_is_returned(face: str) -> None:
    driver = RecordingDriver(capability=75).load()
    driver.add_memory(0x10000, 1 << 24)
    launcher = library(face, "matmul", others=(OLDER,)).fresh()
    assert launcher.launch() == 209
    assert "no image fits device 0 of capability 7.5" in launcher.error
    assert driver.launches == ()
    # Nor is an empty grid anything but a success.
    assert launcher.launch(grid=(0, 1, 1)) == 0
    header = (emit_zoo("matmul", others=(OLDER,)).folder / "matmul.h").read_text()
    assert "209 no image for the device" in header


def test_dispatch7_two_signatures_of_one_name_never_answer_for_each_other(
    driver: RecordingDriver,
) -> None:
    one = emit(None, "x: *fp32, n: i32", name="k", num_warps=4)
    other = emit(None, "x: *fp16, n: i64", name="k", num_warps=8)
    folder = new_folder()
    for number, emitted in enumerate((one, other)):
        cc(emitted.folder, "-std=c11", "-c", "k.c", "-o", folder / f"{number}.o")
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    done = run(["gcc", "main.c", "0.o", "1.o", "-o", "both", "-ldl"], cwd=folder)
    assert done.returncode != 0
    assert "multiple definition of `k_launch'" in done.stderr
    # Of two libraries in one process each has its own, whatever the dynamic loader finds first.
    launchers = [CLauncher(CLibrary.of(emitted), ctypes.RTLD_GLOBAL) for emitted in (one, other)]
    functions = [driver.make_function("k", sizes) for sizes in ((8, 4), (8, 8))]
    for launcher, function in zip(launchers, functions, strict=True):
        assert launcher.launch(function=function) == 0
    first, second = driver.launches
    assert (first.block[0], [each.size for each in first.parameters]) == (128, [8, 4])
    assert (second.block[0], [each.size for each in second.parameters]) == (256, [8, 8])
    assert launchers[0].launch(function=functions[1]) == 1


def test_dispatch8_the_grid_is_given_at_each_launch_and_never_pasted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kernel = Kernel(FOLDER, "add")
    folder = new_folder()
    words = [str(kernel.json), "-s", kernel.signature, "-n", "add", "-o", str(folder)]
    assert main(["emit", *words, "--grid", "system(1),1,1"]) == 2
    assert re.search("No such option.*--grid", capsys.readouterr().err)
    assert list(folder.iterdir()) == []
    assert main(["emit", *words]) == 0
    assert "uint32_t grid_x," in (folder / "add.h").read_text()


# ---- building ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_build3_three_thousand_launchers_are_built_by_short_commands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, lengths = new_folder(), new_folder() / "lengths"
    source = (emit(None, "n: i32", name="k", num_warps=4).folder / "k.c").read_text()
    for number in range(3_000):
        (folder / f"k{number}.c").write_text(source)
    compiler = new_folder() / "cc"
    compiler.write_text(
        "#!/bin/sh\n"
        f'echo "${{#*}} $#" >> {lengths}\n'
        'while [ "$#" -gt 1 ]; do [ "$1" = -o ] && : > "$2"; shift; done\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    assert main(["build", str(folder)]) == 0
    assert len(list(folder.glob("libk*.so"))) == 3_000
    counts = [int(line.split()[1]) for line in lengths.read_text().splitlines()]
    assert len(counts) >= 3_000
    assert max(counts) < 30


def test_error5_the_example_launches_as_it_says(tmp_path: Path) -> None:
    # 4 warps are a block of 128x1x1; what the driver gets are the values' addresses, scratch too.
    text = "a: *fp16, b: *fp16, c: *fp16"
    emitted = emit(
        None, text, name="k", num_warps=4, triton_version=(3, 6), artifacts=("c", "example")
    )
    example = (emitted.folder / "k_example.c").read_text()
    assert "blocks of 128x1x1 threads" in example
    assert "profile scratch" in example
    real = emit_zoo("add", artifacts=("c", "example"))
    cc(
        real.folder,
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "add_example.c",
        "add.c",
        "-o",
        "run",
        "-ldl",
    )
    driver = RecordingDriver()
    done = run([real.folder / "run"], env=driver.environment(log=tmp_path / "log"))
    assert (done.returncode, done.stderr) == (0, "")
    (launch,) = (call.launch for call in read_log(tmp_path / "log") if call.launch is not None)
    assert launch.block == (128, 1, 1)
    assert [each.size for each in launch.parameters] == [8, 8, 8, 4, 4, 8, 8]
    buffers = [int.from_bytes(each.value, "little") for each in launch.parameters[:3]]
    assert all(buffers)
    assert launch.values[5:] == (bytes(8), bytes(8))
