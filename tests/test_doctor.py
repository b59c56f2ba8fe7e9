"""``launchgen doctor``: what a machine has, where it was looked for, what to do about the rest."""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from launchgen import ask_driver, drivers, libcuda
from launchgen.cli import main
from launchgen.testing import RecordingDriver
from tests.programs import cc, needs_no_driver, stub_library

LIBRARY = "libcuda.so.1"
PATH = os.environ["PATH"]
ITEM = {"name", "version", "path", "problem", "hint", "looked_at"}
PLACE = {"origin", "path", "problem"}


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (
        *("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS", "PYTHON", "CUDA_HOME", "CUDA_PATH"),
        *("LD_LIBRARY_PATH", "TRITON_LIBCUDA_PATH"),
    ):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, where a cc that compiles lies and nothing else."""
    folder = tmp_path / "bin"
    found = shutil.which("cc")
    assert found is not None
    program(folder / "cc", f'PATH={os.environ["PATH"]} exec {found} "$@"')
    monkeypatch.setenv("PATH", str(folder))
    # No ldconfig anywhere: what this machine's cache knows is not this test's business.
    monkeypatch.setattr(drivers, "_LDCONFIG", ())
    return folder


def run(capsys: pytest.CaptureFixture[str], *words: str, expected: int = 0) -> str:
    code = main(["doctor", *words])
    out, err = capsys.readouterr()
    assert (code, err) == (expected, "")
    return out


def as_json(capsys: pytest.CaptureFixture[str], *words: str, expected: int = 0) -> Any:
    return json.loads(run(capsys, *words, "--json", expected=expected))


@functools.cache
def stub() -> Path:
    with pytest.MonkeyPatch.context() as usual:
        usual.setenv("PATH", PATH)
        return stub_library()


def recording(**settings: Any) -> RecordingDriver:
    """Return a driver that this machine's own compiler made, whatever a test has put on PATH."""
    with pytest.MonkeyPatch.context() as usual:
        usual.setenv("PATH", PATH)
        return RecordingDriver(**settings)


def play(monkeypatch: pytest.MonkeyPatch, driver: RecordingDriver) -> Path:
    """Let processes that load this driver see what it plays, wherever they find it."""
    for name, value in driver.environment().items():
        if name.startswith("LAUNCHGEN_RECORD"):
            monkeypatch.setenv(name, value)
    return driver.path


def places(item: Any) -> list[tuple[str, str | None, str | None]]:
    return [(each["origin"], each["path"], each["problem"]) for each in item["looked_at"]]


# --- the answer --------------------------------------------------------------------------------


def test_the_json_is_what_programs_rely_on(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = recording(devices=2, capability=[90, 80], driver_version=12040)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(play(monkeypatch, driver)))
    found = as_json(capsys)
    assert list(found) == [
        *("able", "system", "compiler", "compilers", "python_headers", "cuda_headers"),
        *("driver", "gpus", "triton"),
    ]
    items = [found[name] for name in found if name not in {"able", "compilers", "gpus"}]
    for item in (*items, *found["compilers"]):
        assert set(item) == ITEM
        assert all(set(place) == PLACE for place in item["looked_at"])
        assert (item["problem"] is None) == (item["version"] is not None)
    assert found["able"] is True
    assert found["compiler"]["path"] == str(bare / "cc")
    assert [item["name"] for item in found["compilers"]] == ["cc", "gcc", "clang", "nvcc"]
    assert [item["problem"] for item in found["compilers"]] == [None, *["not on PATH"] * 3]
    assert found["python_headers"]["version"] == "{}.{}".format(*sys.version_info[:2])
    assert found["driver"]["version"] == "12.4"
    assert found["driver"]["path"] == f"{driver.path}/{LIBRARY}"
    assert [gpu["compute_capability"] for gpu in found["gpus"]] == ["9.0", "8.0"]
    assert all(set(gpu) == {"name", "compute_capability"} and gpu["name"] for gpu in found["gpus"])


@needs_no_driver
@pytest.mark.usefixtures("bare")
def test_a_machine_without_a_gpu_is_fine(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys)
    assert found["able"] is True
    assert found["gpus"] == []
    assert found["driver"]["path"] is None
    assert found["driver"]["problem"].startswith("no NVIDIA driver was found; ")
    assert "TRITON_LIBCUDA_PATH" in found["driver"]["hint"]
    text = run(capsys)
    assert "driver: no NVIDIA driver was found" in text
    assert "  hint: install NVIDIA's driver" in text


def test_the_table_names_what_was_found_and_what_was_passed_by(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = play(monkeypatch, recording(devices=2, capability=[90, 80]))
    stubs = bare.parent / "stubs"
    stubs.mkdir()
    (stubs / LIBRARY).write_bytes(b"")
    monkeypatch.setenv("TRITON_LIBCUDA_PATH", str(driver))
    rows = {
        tuple(line.split()[:2]): line for line in run(capsys, "--libcuda", str(driver)).split("\n")
    }
    assert rows["driver", "13.0"].endswith(f"{driver}/{LIBRARY}")
    assert rows["GPU", "0"].endswith(", compute capability 9.0")
    assert rows["GPU", "1"].endswith(", compute capability 8.0")
    assert ("driver:", "where") not in rows
    monkeypatch.setenv("TRITON_LIBCUDA_PATH", str(stubs))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(driver))
    lines = [line.split() for line in run(capsys).split("\n")]
    stub = ["TRITON_LIBCUDA_PATH", f"{stubs}/{LIBRARY}", "the", "CUDA", "toolkit's", "stub,"]
    assert stub in [line[:6] for line in lines]
    assert ["LD_LIBRARY_PATH", f"{driver}/{LIBRARY}", "taken"] in lines


# --- compilers and headers ---------------------------------------------------------------------


def test_without_a_compiler_it_ends_with_3(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (bare / "cc").unlink()
    found = as_json(capsys, expected=3)
    assert found["able"] is False
    assert found["compiler"]["problem"].startswith("no C compiler was found: cc, gcc, clang")
    assert "install gcc" in found["compiler"]["hint"]
    assert "C compiler: no C compiler was found" in run(capsys, expected=3)


def test_a_compiler_that_compiles_nothing_is_none(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "trial.c:1:10: fatal error: dlfcn.h: No such file or directory"
    program(bare / "cc", f'test "$1" = --version && echo cc 9 && exit; echo "{said}"; exit 1')
    found = as_json(capsys, expected=3)
    assert found["compiler"]["version"] == "cc 9"
    assert said in found["compiler"]["problem"]
    assert "libc6-dev" in found["compiler"]["hint"]


def test_the_compiler_of_cc_is_the_one_that_builds(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", str(program(bare.parent / "mine", f'exec {bare}/cc "$@"')))
    assert as_json(capsys)["compiler"]["path"] == str(bare.parent / "mine")
    monkeypatch.setenv("CC", "no-such-cc")
    found = as_json(capsys, expected=3)
    assert found["compiler"]["problem"] == "the compiler 'no-such-cc' of CC was not found"


def test_nvcc_says_its_release_and_where_cuda_h_is(
    bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = bare.parent / "cuda"
    program(
        home / "bin" / "nvcc",
        "echo nvcc: NVIDIA Cuda compiler driver\n"
        "echo Cuda compilation tools, release 12.9, V12.9.86",
    )
    (bare / "nvcc").symlink_to(home / "bin" / "nvcc")
    (home / "include").mkdir()
    (home / "include" / "cuda.h").write_text("#define CUDA_VERSION 12090\n")
    found = as_json(capsys)
    assert found["compilers"][-1]["version"] == "Cuda compilation tools, release 12.9, V12.9.86"
    headers = found["cuda_headers"]
    assert (headers["version"], headers["path"]) == ("12.9", str(home / "include"))
    assert [place[0] for place in places(headers)] == ["CUDA_HOME", "CUDA_PATH", "nvcc"]


def test_cuda_home_comes_first(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, version in (("a", "13000"), ("b", "12060")):
        (bare.parent / name / "include").mkdir(parents=True)
        header = bare.parent / name / "include" / "cuda.h"
        header.write_text(f"#pragma once\n # define CUDA_VERSION {version} /* x */\n")
    monkeypatch.setenv("CUDA_PATH", str(bare.parent / "b"))
    assert as_json(capsys)["cuda_headers"]["version"] == "12.6"
    monkeypatch.setenv("CUDA_HOME", str(bare.parent / "a"))
    assert as_json(capsys)["cuda_headers"]["version"] == "13.0"
    for text in ("", f"#define CUDA_VERSION {'9' * 5000}\n"):
        (bare.parent / "a" / "include" / "cuda.h").write_text(text)
        found = as_json(capsys)["cuda_headers"]
        assert found["version"] == "12.6"
        assert places(found)[0][2] == "it says no CUDA_VERSION"


@pytest.mark.usefixtures("bare")
def test_toolchain7_missing_headers_of_python_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = '{"executable": "/opt/py", "version": "3.12", "include": ["/opt/inc"], "suffix": ""}'
    monkeypatch.setenv("PYTHON", str(program(tmp_path / "python", f"echo '{answer}'")))
    found = as_json(capsys)["python_headers"]
    assert found["problem"] == "Python.h is missing: '/opt/py' expects it in '/opt/inc'"
    assert "python3.12-dev" in found["hint"]


# --- the driver --------------------------------------------------------------------------------


@needs_no_driver
@pytest.mark.usefixtures("bare")
def test_toolchain3_no_ldconfig_anywhere(capsys: pytest.CaptureFixture[str]) -> None:
    found = places(as_json(capsys)["driver"])
    assert ("linker cache", None, "ldconfig was not found, or does not run") in found
    assert [place[0] for place in found[-6:]] == ["usual folder"] * 6


def test_toolchain4_lines_of_32_bits_first(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = play(monkeypatch, recording())
    flags = {"x86_64": "libc6,x86-64", "aarch64": "libc6,AArch64"}[os.uname().machine]
    lines = (f"{LIBRARY} (libc6) => /lib32/{LIBRARY}", f"{LIBRARY} ({flags}) => {driver}/{LIBRARY}")
    program(
        bare / "ldconfig",
        f"test \"$1\" = -p && printf '\\t%s\\n\\t%s\\n' '{lines[0]}' '{lines[1]}'",
    )
    found = as_json(capsys)["driver"]
    assert found["path"] == f"{driver}/{LIBRARY}"
    assert places(found)[-2:] == [
        ("linker cache", f"/lib32/{LIBRARY}", "for another processor (libc6)"),
        ("linker cache", f"{driver}/{LIBRARY}", None),
    ]


def test_ldconfig_is_found_where_path_does_not_lead(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program(bare / "ldconfig", "exit 1")
    other = program(bare.parent / "sbin" / "ldconfig", f"echo '{LIBRARY} (none) => /cached'")
    monkeypatch.setattr(drivers, "_LDCONFIG", (str(other),))
    found = places(as_json(capsys)["driver"])
    assert ("linker cache", "/cached", "for another processor (none)") in found


def test_toolchain6_a_stub_is_known_by_what_it_returns(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bare
    hidden = stub()
    monkeypatch.setenv("TRITON_LIBCUDA_PATH", str(hidden))
    driver = play(monkeypatch, recording())
    monkeypatch.setenv("LD_LIBRARY_PATH", str(driver))
    found = as_json(capsys)["driver"]
    assert places(found) == [
        ("TRITON_LIBCUDA_PATH", f"{hidden}/{LIBRARY}", libcuda.STUB),
        ("LD_LIBRARY_PATH", f"{driver}/{LIBRARY}", None),
    ]
    assert found["problem"] is None


def test_toolchain6_a_stub_that_hides_the_driver_from_launchers_is_named(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bare
    hidden, driver = stub(), play(monkeypatch, recording())
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{hidden}:{driver}")
    found = as_json(capsys)["driver"]
    assert found["path"] == f"{driver}/{LIBRARY}"
    assert found["problem"] == f"launchers do not find it behind the stub '{hidden}/{LIBRARY}'"
    assert "TRITON_LIBCUDA_PATH" in found["hint"]


def test_toolchain6_a_folder_of_stubs_without_the_name_hides_nothing(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stubs = bare.parent / "stubs"
    stubs.mkdir()
    shutil.copy(stub() / LIBRARY, stubs / "libcuda.so")
    driver = play(monkeypatch, recording())
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{stubs}:{driver}")
    found = as_json(capsys)["driver"]
    assert (found["path"], found["problem"]) == (f"{driver}/{LIBRARY}", None)


@pytest.mark.usefixtures("bare")
def test_a_pipe_is_no_driver_and_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / LIBRARY)
    monkeypatch.setenv("TRITON_LIBCUDA_PATH", str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(play(monkeypatch, recording())))
    found = as_json(capsys)["driver"]
    assert places(found)[0][2] == "no ELF file"
    assert found["version"] == "13.0"


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("inside", ["", f"/{LIBRARY}"])
def test_an_explicit_driver_comes_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], inside: str
) -> None:
    driver = play(monkeypatch, recording())
    monkeypatch.setenv("LD_LIBRARY_PATH", str(stub()))
    found = as_json(capsys, "--libcuda", f"{driver}{inside}")["driver"]
    assert places(found) == [("--libcuda", f"{driver}/{LIBRARY}", None)]


def test_an_explicit_driver_that_is_none_ends_with_3(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(play(monkeypatch, recording())))
    found = as_json(capsys, "--libcuda", str(bare / "cc"), expected=3)
    assert found["driver"]["problem"] == f"'{bare}/cc' of --libcuda is none: no ELF file"
    assert found["driver"]["version"] == "13.0"
    assert not found["able"]
    text = run(capsys, "--libcuda", "/no/such", expected=3)
    assert "driver: '/no/such' of --libcuda is none: no such file or directory" in text


def test_an_empty_path_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--libcuda", ""]) == 2
    assert "--libcuda is empty" in capsys.readouterr().err


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("code", "problem", "hint"),
    [
        (100, "CUDA_ERROR_NO_DEVICE (100): ", "CUDA_VISIBLE_DEVICES"),
        (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): ", "restart"),
        (999, "CUDA_ERROR_UNKNOWN (999): ", "nvidia-smi"),
        (12345, "unknown error (12345)", "nvidia-smi"),
    ],
)
def test_a_driver_that_does_not_start_is_named_with_its_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    code: int,
    problem: str,
    hint: str,
) -> None:
    driver = recording()
    driver.fail("cuInit", code, times=None)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(play(monkeypatch, driver)))
    found = as_json(capsys)
    assert found["able"]
    assert found["gpus"] == []
    assert found["driver"]["version"] == "13.0"
    assert found["driver"]["problem"].startswith(f"cuInit failed: {problem}")
    assert hint in found["driver"]["hint"]


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("__attribute__((constructor)) static void f(void) { __builtin_trap(); }", "ended with -"),
        ("int cuInit(void) { return 0; }", "undefined symbol: cuDriverGetVersion"),
        ("extern int gone(void); int cuInit(void) { return gone(); }", "undefined symbol: gone"),
    ],
)
def test_a_broken_driver_takes_nothing_down(
    bare: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    code: str,
    problem: str,
) -> None:
    (bare / "broken.c").write_text(code)
    monkeypatch.setenv("LD_BIND_NOW", "1")
    cc(bare, "-shared", "-fPIC", "broken.c", "-o", LIBRARY, compiler=str(bare / "cc"))
    monkeypatch.setenv("TRITON_LIBCUDA_PATH", str(bare))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(play(monkeypatch, recording())))
    found = as_json(capsys)["driver"]
    assert problem in str(places(found)[0][2])
    assert found["version"] == "13.0"


@pytest.mark.usefixtures("bare")
def test_a_driver_that_never_answers_is_given_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = recording()
    driver.slow("cuInit", 60_000)
    monkeypatch.setattr(drivers, "PATIENCE", 1.0)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(play(monkeypatch, driver)))
    found = places(as_json(capsys)["driver"])
    assert "did not end within 1 seconds" in str(found[1][2])


def test_the_driver_is_asked_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = recording(devices=2, capability=[103, 75], driver_version=12080).load()
    found = ask_driver.ask(f"{driver.path}/{LIBRARY}")
    assert (found["version"], found["status"]) == (12080, 0)
    assert [gpu["capability"] for gpu in found["gpus"]] == [[10, 3], [7, 5]]
