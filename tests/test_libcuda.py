"""Where the driver is found: by launchers, and by what ``launchgen doctor`` says of it."""

from __future__ import annotations

import functools
import os
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from launchgen import libcuda
from launchgen.artifacts import ARTIFACTS
from launchgen.libcuda import File, Place, places
from launchgen.testing import RecordingDriver, read_log
from tests import children
from tests.programs import (
    RUNTIME,
    CLibrary,
    apart,
    cc,
    compile_c,
    compile_python,
    emit_zoo,
    needs_no_driver,
    new_folder,
    run,
    stub_library,
)

LIBRARY = "libcuda.so.1"
STUB = "the CUDA toolkit's stub, with which nothing runs"
MISSING = "no such file"

# ---- launchers -----------------------------------------------------------------------------------


@functools.cache
def add() -> CLibrary:
    return CLibrary.of(emit_zoo("add"))


@functools.cache
def stub() -> Path:
    return stub_library()


class Machine:
    """A process's environment in which the loader itself finds no driver, and what was called."""

    def __init__(self, **variables: Path | str) -> None:
        driver = RecordingDriver()
        self.driver = driver.path
        self.log = new_folder() / "log"
        environment = driver.environment(log=self.log)
        del environment["LD_LIBRARY_PATH"]
        self.environment = environment | {name: str(value) for name, value in variables.items()}

    def launch(self, library: CLibrary | None = None) -> dict[str, Any]:
        found = apart(children.plain, library or add(), env=self.environment)
        assert isinstance(found, dict)
        return found

    @property
    def launches(self) -> int:
        if not self.log.exists():
            return 0
        return sum(call.launch is not None for call in read_log(self.log))


def driver() -> Path:
    return RecordingDriver().path


@pytest.mark.parametrize("inside", ["", f"/{LIBRARY}"])
def test_a_folder_or_a_file_that_the_variable_names_is_found(inside: str) -> None:
    machine = Machine(TRITON_LIBCUDA_PATH=f"{driver()}{inside}")
    assert machine.launch() == {"before": "", "status": [0, 0], "text": ""}
    assert machine.launches == 2


def test_toolchain6_a_stub_on_the_library_path_does_not_end_the_search() -> None:
    machine = Machine(LD_LIBRARY_PATH=stub(), TRITON_LIBCUDA_PATH=driver())
    assert machine.launch()["status"] == [0, 0]
    assert machine.launches == 2


def test_toolchain6_a_stub_that_the_variable_names_does_not_end_the_search() -> None:
    machine = Machine(LD_LIBRARY_PATH=driver(), TRITON_LIBCUDA_PATH=stub())
    assert machine.launch() == {"before": "", "status": [0, 0], "text": ""}
    assert machine.launches == 2


@needs_no_driver
def test_toolchain6_nothing_but_stubs_are_34_with_every_place_named() -> None:
    other = stub_library()
    found = Machine(LD_LIBRARY_PATH=stub(), TRITON_LIBCUDA_PATH=other).launch()
    assert found["status"] == [34, 34]
    assert found["text"].startswith("add: cuInit failed: CUDA_ERROR_STUB_LIBRARY (34): ")
    assert "take its folder off the library path" in found["text"]
    assert f"{other}/{LIBRARY} is a stub; " in found["text"]
    assert f"; {LIBRARY} is a stub; " in found["text"]


@needs_no_driver
def test_toolchain6_python_names_the_stub_library() -> None:
    module = compile_python(emit_zoo("add", artifacts=("cpython",)))
    machine = Machine(LD_LIBRARY_PATH=stub())
    code, name, text = apart(children.python_plain, add(), str(module), env=machine.environment)
    assert (code, name) == (34, "CUDA_ERROR_STUB_LIBRARY")
    assert "stub" in text


@needs_no_driver
def test_without_a_driver_every_place_is_named() -> None:
    folder = new_folder()
    found = Machine(TRITON_LIBCUDA_PATH=folder).launch()
    assert found["status"] == [303, 303]
    text = found["text"]
    assert text.startswith(f"add: no NVIDIA driver: {folder}/{LIBRARY}: ")
    assert f"; {LIBRARY}: cannot open shared object file: " in text
    assert text.endswith("".join(f"; nor at {each}/{LIBRARY}" for each in usual()))


@needs_no_driver
@pytest.mark.parametrize("value", ["", "x" * 5000, "/" + "x/" * 3000])
def test_a_variable_that_names_no_path_is_passed_by(value: str) -> None:
    found = Machine(TRITON_LIBCUDA_PATH=value).launch()
    assert found["status"] == [303, 303]
    machine = Machine(TRITON_LIBCUDA_PATH=value, LD_LIBRARY_PATH=driver())
    assert machine.launch()["status"] == [0, 0]


def test_what_the_variable_names_comes_before_the_library_path() -> None:
    other = RecordingDriver(missing=["cuLaunchKernel"])
    machine = Machine(TRITON_LIBCUDA_PATH=other.path, LD_LIBRARY_PATH=driver())
    found = machine.launch()
    assert found["status"] == [302, 302]
    assert found["text"] == "add: the driver has no cuLaunchKernel"


def test_a_process_that_has_a_driver_keeps_it() -> None:
    machine = Machine(LD_LIBRARY_PATH=driver(), TRITON_LIBCUDA_PATH=stub())
    preload = machine.environment | {"LD_PRELOAD": f"{driver()}/{LIBRARY}"}
    preload["TRITON_LIBCUDA_PATH"] = str(RecordingDriver(missing=["cuLaunchKernel"]).path)
    assert apart(children.plain, add(), env=preload)["status"] == [0, 0]
    assert machine.launches == 2


def test_a_path_that_was_compiled_in_comes_first() -> None:
    library = CLibrary.of(
        emit_zoo("add"), "-std=c11", "-fPIC", f'-DLG_LIBCUDA="{driver()}/{LIBRARY}"'
    )
    other = RecordingDriver(missing=["cuLaunchKernel"])
    machine = Machine(TRITON_LIBCUDA_PATH=other.path, LD_LIBRARY_PATH=stub())
    assert machine.launch(library)["status"] == [0, 0]
    assert machine.launches == 2


@needs_no_driver
def test_a_program_with_more_rights_than_its_user_follows_no_variable(tmp_path: Path) -> None:
    # What the loader calls a secure execution, without a program that really is one.
    (tmp_path / "secure.c").write_text(
        "char *secure_getenv(const char *name) { (void)name; return 0; }\n"
    )
    cc(tmp_path, "-shared", "-fPIC", "secure.c", "-o", "secure.so")
    machine = Machine(TRITON_LIBCUDA_PATH=driver(), LD_LIBRARY_PATH=stub())
    machine.environment["LD_PRELOAD"] = str(tmp_path / "secure.so")
    assert machine.launch()["status"] != [0, 0]
    assert machine.launches == 0


def test_toolchain6_no_build_script_names_a_path_to_search_at_run_time() -> None:
    emitted = emit_zoo("add", artifacts=tuple(ARTIFACTS))
    for script in ("Makefile", "build.sh"):
        text = (emitted.folder / script).read_text()
        assert not re.search(r"rpath|runpath|-lcuda|libcuda|stubs|-L", text), script
    for row in ARTIFACTS.values():
        if row.face is not None:
            words = " ".join([*row.face.flags, *row.face.host_flags, *row.face.libraries])
            assert not re.search(r"rpath|cuda|-L", words)


@pytest.mark.parametrize("product", [compile_c, compile_python])
def test_toolchain1_launchers_need_no_driver_to_be_linked(product: Any) -> None:
    path = product(emit_zoo("add", artifacts=("c", "cpython")))
    listed = run(["readelf", "-dW", path]).stdout
    assert "(NEEDED)" in listed
    assert not re.search(r"RPATH|RUNPATH|libcuda", listed)


# ---- the same places in Python -------------------------------------------------------------------


def usual() -> tuple[str, ...]:
    return libcuda.folders(os.uname().machine)


def test_launchers_try_the_same_folders() -> None:
    text = (RUNTIME / "cuda_driver.c").read_text()
    multiarch = re.findall(r'#define LG_MULTIARCH "(.+)/"', text)
    assert multiarch == [machine.folder for machine in libcuda.MACHINES.values()]
    listed = re.findall(r'^ +(?:LG_MULTIARCH|"(.+)/") LG_DRIVER,$', text, re.MULTILINE)
    for name, machine in libcuda.MACHINES.items():
        assert libcuda.folders(name) == tuple(folder or machine.folder for folder in listed)
    assert libcuda.VARIABLE in text


def head(machine: int = 62, *, bits: int = 2, order: int = 1, kind: int = 3) -> bytes:
    return struct.pack("<4sBB10xHH", b"\x7fELF", bits, order, kind, machine)


def search(
    files: Mapping[str, bytes | str],
    *,
    explicit: str | None = None,
    cache: str | None = "",
    machine: str = "x86_64",
    **environment: str,
) -> list[Place]:
    """Return the places up to the first that is taken; a text instead of bytes is a link."""

    def look(path: str) -> File:
        content = files.get(path)
        if isinstance(content, str):
            return look(content)._replace(real=content)
        if content is not None:
            return File(path, content)
        is_folder = any(name.startswith(path.rstrip("/") + "/") for name in files)
        return File(path, b"", "Is a directory" if is_folder else MISSING, is_folder)

    found: list[Place] = []
    for place in places(
        explicit=None if explicit is None else ("--libcuda", explicit),
        environment=environment,
        cache=lambda: cache,
        machine=machine,
        look=look,
    ):
        found.append(place)
        if place.problem is None:
            break
    return found


def cached(*lines: str) -> str:
    return "3 libs found in cache `/etc/ld.so.cache'\n" + "".join(f"\t{line}\n" for line in lines)


FILE_64 = "/lib/x86_64-linux-gnu/libcuda.so.1"
FILE_32 = "/lib/i386-linux-gnu/libcuda.so.1"
LINE_64 = f"libcuda.so.1 (libc6,x86-64) => {FILE_64}"
LINE_32 = f"libcuda.so.1 (libc6) => {FILE_32}"
BARE = "libcuda.so (libc6,x86-64) => /usr/local/cuda/lib64/stubs/libcuda.so"


def test_the_order_of_places() -> None:
    files = {
        path: head()
        for path in (
            "/explicit/libcuda.so.1",
            "/triton/libcuda.so.1",
            "/ld/libcuda.so.1",
            FILE_64,
            *(f"{folder}/libcuda.so.1" for folder in libcuda.folders("x86_64")),
        )
    }
    order = []
    given: dict[str, Any] = {
        "explicit": "/explicit",
        "TRITON_LIBCUDA_PATH": "/triton",
        "LD_LIBRARY_PATH": "/none:/ld",
        "cache": cached(LINE_64),
    }
    while files:
        place = search(files, **given)[-1]
        order.append(place)
        assert place.path is not None
        del files[place.path]
    assert [place.origin for place in order] == [
        *("--libcuda", "TRITON_LIBCUDA_PATH", "LD_LIBRARY_PATH", "linker cache"),
        *["usual folder"] * 6,
    ]


def test_every_place_is_told_with_why_it_was_not_taken() -> None:
    found = search({}, cache=cached(BARE))
    assert found == [
        Place("TRITON_LIBCUDA_PATH", None, "not set"),
        Place("LD_LIBRARY_PATH", None, "not set"),
        Place("linker cache", None, "it has no libcuda.so.1"),
        *(Place("usual folder", f"{each}/{LIBRARY}", MISSING) for each in usual_of("x86_64")),
    ]


def usual_of(machine: str) -> tuple[str, ...]:
    return libcuda.folders(machine)


@pytest.mark.parametrize("value", ["/opt/driver", "/opt/driver/", "/opt/driver/libcuda.so.1"])
def test_the_variable_names_a_folder_or_a_file(value: str) -> None:
    found = search({"/opt/driver/libcuda.so.1": head()}, TRITON_LIBCUDA_PATH=value)
    assert found == [Place("TRITON_LIBCUDA_PATH", "/opt/driver/libcuda.so.1", None)]


def test_an_explicit_file_may_have_any_name() -> None:
    found = search({"/opt/libcuda.so.580.65": head()}, explicit="/opt/libcuda.so.580.65")
    assert found == [Place("--libcuda", "/opt/libcuda.so.580.65", None)]


def test_every_entry_of_the_library_path_counts_and_empty_ones_do_not() -> None:
    found = search({"/b/libcuda.so.1": head()}, LD_LIBRARY_PATH=":/a::/b;/c:")
    assert found[1:] == [
        Place("LD_LIBRARY_PATH", "/a/libcuda.so.1", MISSING),
        Place("LD_LIBRARY_PATH", "/b/libcuda.so.1", None),
    ]
    assert search({}, LD_LIBRARY_PATH="::")[1] == Place("LD_LIBRARY_PATH", None, "not set")


def test_toolchain3_without_ldconfig_the_other_places_are_tried() -> None:
    found = search({"/usr/lib64/libcuda.so.1": head()}, cache=None)
    assert Place("linker cache", None, "ldconfig was not found, or does not run") in found
    assert found[-1] == Place("usual folder", "/usr/lib64/libcuda.so.1", None)


def test_toolchain4_a_library_of_32_bits_that_stands_first_is_passed_by() -> None:
    files = {FILE_64: head(), FILE_32: head(3, bits=1)}
    found = search(files, cache=cached(LINE_32, LINE_64, BARE))
    assert found[-2:] == [
        Place("linker cache", FILE_32, "for another processor (libc6)"),
        Place("linker cache", FILE_64, None),
    ]


def test_toolchain4_only_a_library_of_32_bits_is_none() -> None:
    found = search({FILE_32: head(3, bits=1)}, cache=cached(LINE_32))
    assert found[2] == Place("linker cache", FILE_32, "for another processor (libc6)")
    assert all(place.problem for place in found)


@pytest.mark.parametrize(
    "flags", ["libc6,AArch64", "libc6,AArch64, OS ABI: Linux 3.7.0", "AArch64,libc6"]
)
def test_the_cache_of_another_machine(flags: str) -> None:
    path = "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1"
    cache = cached(LINE_64, f"libcuda.so.1 ({flags}) => {path}")
    files = {path: head(183), FILE_64: head()}
    assert search(files, cache=cache, machine="aarch64")[-1] == Place("linker cache", path, None)
    assert search(files, cache=cache)[-1] == Place("linker cache", FILE_64, None)


def test_the_cache_of_x32_is_another_machine() -> None:
    found = search({FILE_32: head(bits=1)}, cache=cached(LINE_32.replace("libc6", "libc6,x32")))
    assert found[2].problem == "for another processor (libc6,x32)"


@pytest.mark.parametrize("folder", ["/usr/lib/wsl/lib", "/run/opengl-driver/lib"])
def test_toolchain5_folders_that_no_cache_knows(folder: str) -> None:
    found = search({f"{folder}/libcuda.so.1": head(), f"{folder}/libcuda.so": head()})
    assert found[-1] == Place("usual folder", f"{folder}/libcuda.so.1", None)


def test_toolchain5_the_name_without_its_number_is_never_taken() -> None:
    files = {f"{folder}/libcuda.so": head() for folder in ("/a", *usual_of("x86_64"))}
    found = search(files, LD_LIBRARY_PATH="/a", TRITON_LIBCUDA_PATH="/a", cache=cached(BARE))
    assert all(place.problem for place in found)


@pytest.mark.parametrize("machine", libcuda.MACHINES)
def test_toolchain6_stubs_are_never_taken(machine: str) -> None:
    stubs = "/usr/local/cuda/lib64/stubs"
    content = head(libcuda.MACHINES[machine].elf)
    files: dict[str, bytes | str] = {
        f"{stubs}/libcuda.so.1": content,
        "/link/libcuda.so.1": f"{stubs}/libcuda.so",
        f"{stubs}/libcuda.so": content,
    }
    found = search(
        files,
        explicit=f"{stubs}/libcuda.so",
        TRITON_LIBCUDA_PATH=stubs,
        LD_LIBRARY_PATH=f"/link:{stubs}",
        machine=machine,
    )
    assert [place.problem for place in found[:4]] == [STUB] * 4
    assert all(place.problem for place in found)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "no ELF file"),
        (b"\x7fELF", "no ELF file"),
        (b"/* GNU ld script */ INPUT(x)", "no ELF file"),
        (head(3, bits=1), "a library of 32 bits"),
        (head(183), "for another processor (aarch64)"),
        (head(21), "for another processor (ELF machine 21)"),
        (head(order=2), "for another processor (x86_64)"),
        (head(kind=2), "no shared library"),
        (head(), None),
    ],
)
def test_a_file_is_looked_into(content: bytes, problem: str | None) -> None:
    found = search({"/a/libcuda.so.1": content}, LD_LIBRARY_PATH="/a")
    assert found[1] == Place("LD_LIBRARY_PATH", "/a/libcuda.so.1", problem)


def test_on_a_machine_that_runs_no_launcher_nothing_is_taken() -> None:
    found = search({FILE_64: head()}, cache=cached(LINE_64), machine="riscv64")
    assert all(place.problem for place in found)


def test_a_path_that_the_cache_names_is_not_looked_at_again() -> None:
    path = "/usr/lib64/libcuda.so.1"
    line = f"libcuda.so.1 (libc6,x86-64) => {path}"
    found = search({path: head(183)}, cache=cached(line))
    assert [place.path for place in found].count(path) == 1
