"""launchgen inside Triton, as far as that goes without Triton: stand-ins have its layouts."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import launchgen.triton
from launchgen import compiled, triton_driver
from launchgen.diagnostics import (
    BuildError,
    Diagnostic,
    MetadataError,
    SignatureError,
    UnsupportedError,
)
from launchgen.triton_driver import c_type_of
from launchgen.triton_source import launcher_files, signature_text
from tests.launchers import Descriptor, Host

ROOT = Path(__file__).parent.parent


def kernel(signature: dict[Any, Any], name: str = "add_kernel") -> SimpleNamespace:
    return SimpleNamespace(signature=signature, name=name)


def metadata(**fields: Any) -> SimpleNamespace:
    return SimpleNamespace(**fields)


PAIR = ("u8", ("fp32", "constexpr"))
ADD = kernel({"x_ptr": "*fp32", "n": "i32", "pair": PAIR, "N": "constexpr"})
VALUES = (0x1000, 7, (200, (0.5, None)), 1024)


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "launchgen" / "modules"


# --- signatures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ({}, ""),
        ({"x": "*fp32", "n": "i32"}, "x: *fp32, n: i32"),
        ({0: "*fp32", 1: "i32"}, "*fp32, i32"),
        ({"u8": "u8", "None_": "i32", "ä": "i1"}, "u8_: u8, None_: i32, i1"),
        ({"u8": "u8", "u8_": "i32"}, None),
        ({"é": "i32", "arg0": "i32"}, None),
        ({"t": ("i32",), "e": (), "d": ("*k*fp16", ("u1", "constexpr"))}, None),
        ({"d": "tensordesc<fp16[64, 64],L<a=[1, 2]>>"}, None),
    ],
)
def test_a_signature_of_triton_is_written_in_our_notation(
    signature: dict[Any, Any], expected: str | None
) -> None:
    text = signature_text(signature)
    if expected is not None:
        assert text == expected
    launcher_files(kernel(signature), metadata(), (3, 9))


@pytest.mark.parametrize(
    ("name", "shown"), [("k", "k"), ("@outer", "outer"), ("a.b", "a_b"), ("é", "_"), ("", "kernel")]
)
def test_a_kernels_name_becomes_an_identifier(name: str, shown: str) -> None:
    (file,) = launcher_files(kernel({}, name), metadata(), (3, 6)).files
    assert f"static int lg_run_{shown}(" in file.content.decode()


def test_what_no_launcher_is_right_for_is_refused_by_name() -> None:
    with pytest.raises(SignatureError, match="i128"):
        launcher_files(kernel({"x": "i128"}), metadata(), (3, 6))
    described = metadata(tensordesc_meta=[None])
    with pytest.raises(MetadataError, match="an entry of tensordesc_meta is None"):
        launcher_files(kernel({"d": "tensordesc<fp16[8]>"}), described, (3, 6))
    with pytest.raises(MetadataError, match="no tensor descriptors inside tuples"):
        launcher_files(kernel({"x": ("tensordesc<fp16[8]>",)}), metadata(), (3, 6))


# --- launchers ------------------------------------------------------------------------------------


def launch(host: Host, launcher: Any, sizes: list[int], values: tuple[Any, ...]) -> list[bytes]:
    function = host.driver.make_function("k", sizes)
    before = len(host.driver.launches)
    launcher(2, 3, 4, 0, function, (4, 1, 0), None, None, None, *values)
    (found,) = host.driver.launches[before:]
    assert (found.grid, found.block) == ((2, 3, 4), (128, 1, 1))
    return list(found.values)


def test_a_launcher_is_called_as_tritons_are(host: Host) -> None:
    launcher = launchgen.triton.make_launcher(ADD, metadata(), version=(3, 6))
    assert launch(host, launcher, [8, 4, 1, 4, 8, 8], VALUES) == [
        struct.pack("<Q", 0x1000),
        struct.pack("<i", 7),
        struct.pack("<B", 200),
        struct.pack("<f", 0.5),
        bytes(8),
        bytes(8),
    ]


def test_a_launcher_of_descriptors_takes_them_as_they_are(host: Host) -> None:
    meta = {"swizzle": 3, "elem_size": 2, "elem_type": 6, "block_size": [64, 32]}
    source = kernel({"d": "tensordesc<fp16[64, 32]>"})
    described = metadata(tensordesc_meta=[meta | {"fp4_padded": False}])
    launcher = launchgen.triton.make_launcher(source, described, version=(3, 6))
    given = Descriptor(0x1000, (128, 96), (800, 1))
    values = launch(host, launcher, [128, 4, 4, 8, 8, 8, 8], (given,))
    assert values[0].startswith(b"LGRTMAP1")


def test_a_launcher_has_what_tritons_tell(host: Host) -> None:
    described = metadata(
        num_ctas=2,
        launch_cooperative_grid=True,
        launch_pdl=False,
        global_scratch_size=384,
        global_scratch_align=128,
        profile_scratch_size=0,
        profile_scratch_align=1,
    )
    launcher: Any = launchgen.triton.make_launcher(ADD, described, version=(3, 6))
    assert (launcher.num_ctas, launcher.launch_cooperative_grid, launcher.launch_pdl) == (2, 1, 0)
    assert (launcher.global_scratch_size, launcher.global_scratch_align) == (384, 128)
    older = launchgen.triton.make_launcher(
        ADD, metadata(num_ctas=4, cluster_dims=(2, 2, 1)), version=(3, 4)
    )
    assert older.num_ctas == 4  # type: ignore[attr-defined]


# --- what is kept ---------------------------------------------------------------------------------


def test_a_launcher_is_compiled_once_for_its_content(caches: Path) -> None:
    files = launcher_files(ADD, metadata(), (3, 6))
    first = compiled.compiled_module(files, environment=os.environ)
    made = first.stat().st_mtime_ns
    assert compiled.compiled_module(files, environment=os.environ) == first
    assert first.stat().st_mtime_ns == made
    other = compiled.compiled_module(
        launcher_files(ADD, metadata(), (3, 4)), environment=os.environ
    )
    assert other != first
    assert first.is_relative_to(caches)
    assert len(list(caches.iterdir())) == 2


def test_build7_other_flags_are_another_launcher() -> None:
    files = launcher_files(ADD, metadata(), (3, 6))
    first = compiled.compiled_module(files, environment=os.environ)
    second = compiled.compiled_module(files, environment=os.environ | {"CFLAGS": "-O2"})
    assert first != second


_CHILD = """
import os, sys
from types import SimpleNamespace
from launchgen import compiled, triton_driver
from launchgen.triton_driver import c_type_of
from launchgen.triton_source import launcher_files
source = SimpleNamespace(signature={"x": "*fp32", "n": "i32"}, name="shared")
files = launcher_files(source, SimpleNamespace(), (3, 6))
print(compiled.compiled_module(files, environment=os.environ))
"""


def test_build5_processes_that_compile_the_same_at_once_share_it(caches: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", _CHILD]
    children = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(8)
    ]
    printed = {child.communicate()[0] for child in children}
    assert [child.returncode for child in children] == [0] * 8
    assert len(printed) == 1
    assert len(list(caches.iterdir())) == 1


def test_build6_threads_that_want_the_same_get_the_same(caches: Path) -> None:
    files = launcher_files(ADD, metadata(), (3, 7))
    found: list[Path] = []

    def work() -> None:
        found.append(compiled.compiled_module(files, environment=os.environ))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert len(list(caches.iterdir())) == 1


def test_without_a_folder_for_caches_launchers_are_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiled, "cache_folder", lambda: None)
    files = launcher_files(ADD, metadata(), (3, 6))
    assert compiled.compiled_module(files, environment=os.environ).is_file()


def test_a_compiler_that_fails_is_quoted(caches: Path, tmp_path: Path) -> None:
    program = tmp_path / "cc"
    program.write_text("#!/bin/sh\necho 'no luck today'; exit 3\n")
    program.chmod(0o755)
    files = launcher_files(ADD, metadata(), (3, 6))
    with pytest.raises(BuildError, match="status 3\nno luck today"):
        compiled.compiled_module(files, environment=os.environ | {"CC": str(program)})
    assert list(caches.iterdir()) == []


def test_a_folder_that_has_lost_its_module_is_made_anew(caches: Path) -> None:
    files = launcher_files(ADD, metadata(), (3, 6))
    first = compiled.compiled_module(files, environment=os.environ)
    first.unlink()
    assert compiled.compiled_module(files, environment=os.environ) == first
    assert first.is_file()


def in_a_process(
    command: list[str], environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=60, check=False
    )


_FORKED = """
import os, sys, threading, time
from types import SimpleNamespace
from launchgen import compiled
from launchgen.triton_source import launcher_files
source = SimpleNamespace(signature={"x": "*fp32"}, name="forked")
files = launcher_files(source, SimpleNamespace(), (3, 6))
with compiled._lock:
    child = os.fork()
    if child == 0:
        compiled.compiled_module(files, environment=os.environ)
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_does_not_wait_for_its_parents_threads() -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", "-c", _FORKED]
    done = in_a_process(command, environment)
    assert (done.stdout, done.returncode) == ("7\n", 0), done.stderr


_TEMPORARY = """
import os, sys
from launchgen import compiled
compiled.cache_folder = lambda: None
folder = compiled._base()
if os.fork() == 0:
    sys.exit(0)
os.wait()
print(folder.is_dir())
"""


def test_a_forked_child_leaves_its_parents_folder() -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", _TEMPORARY]
    done = in_a_process(command, environment)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


def test_a_disk_that_is_full_is_an_error_in_words(
    caches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    files = launcher_files(ADD, metadata(), (3, 6))
    with pytest.raises(BuildError, match=r"cannot compile in .*: No space left on device"):
        compiled.compiled_module(files, environment=os.environ)


# --- install --------------------------------------------------------------------------------------


class Original:
    """Stands for Triton's own launcher class."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self.src = src


class Proxy:
    """What stands for a driver up to 3.4."""

    def __init__(self, made: Any) -> None:
        self.__dict__["_obj"] = made


@pytest.fixture(params=["3.4.0", "3.5.1", "3.6.0", "3.9.0"])
def triton(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Stand-ins for the modules that install() reads, as they are laid out in a release."""
    version = str(request.param)
    backend = ModuleType("triton.backends.nvidia.driver")
    backend.CudaLauncher = Original  # type: ignore[attr-defined]
    made = SimpleNamespace(launcher_cls=Original)
    if version.startswith("3.4"):
        driver = SimpleNamespace(default=Proxy(made), active=Proxy(None))
    else:
        driver = SimpleNamespace(_default=made, _active=made)
    runtime = ModuleType("triton.runtime")
    allocation = ModuleType("triton.runtime._allocation")
    runtime.driver = driver  # type: ignore[attr-defined]
    runtime._allocation = allocation  # type: ignore[attr-defined]
    top = ModuleType("triton")
    top.__version__ = version  # type: ignore[attr-defined]
    modules = {
        "triton": top,
        "triton.backends": ModuleType("triton.backends"),
        "triton.backends.nvidia": ModuleType("triton.backends.nvidia"),
        "triton.backends.nvidia.driver": backend,
        "triton.runtime": runtime,
        "triton.runtime._allocation": allocation,
    }
    modules["triton.backends.nvidia"].driver = backend  # type: ignore[attr-defined]
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    stand_in = SimpleNamespace(
        version=version, backend=backend, made=made, allocation=allocation, top=top
    )
    yield stand_in
    launchgen.triton.uninstall()


def test_install_replaces_the_class_and_uninstall_restores_it(triton: Any, host: Host) -> None:
    launchgen.triton.install()
    launchgen.triton.install()
    replaced = triton.backend.CudaLauncher
    assert replaced is triton.made.launcher_cls
    assert replaced is not Original
    hidden = 1 if triton.version == "3.4.0" else 2
    launcher = replaced(ADD, metadata(num_ctas=1))
    assert len(launch(host, launcher, [8, 4, 1, 4, *[8] * hidden], VALUES)) == 4 + hidden
    launchgen.triton.uninstall()
    launchgen.triton.uninstall()
    assert triton.backend.CudaLauncher is Original
    assert triton.made.launcher_cls is Original


def test_instrumented_kernels_keep_tritons_launcher(triton: Any) -> None:
    launchgen.triton.install()
    for modes in ("gsan", "consan,gsan", "gsan, fpsan"):
        made = triton.backend.CudaLauncher(ADD, metadata(instrumentation_mode=modes))
        assert type(made) is Original
    plain = triton.backend.CudaLauncher(ADD, metadata(instrumentation_mode="consan"))
    assert type(plain) is not Original


@pytest.mark.parametrize("version", ["3.3.1", "3.10.0", "4.0.0"])
def test_other_releases_are_refused_by_name(triton: Any, version: str) -> None:
    triton.top.__version__ = version
    with pytest.raises(UnsupportedError, match=f"Triton {version} is installed"):
        launchgen.triton.install()
    assert triton.backend.CudaLauncher is Original


def test_scratch_comes_from_tritons_allocators(triton: Any, host: Host) -> None:
    asked: list[tuple[int, ...]] = []

    def allocate(*request: int) -> int:
        asked.append(request)
        return 0x4000

    by_context: ContextVar[Any] = ContextVar("allocator")
    by_context.set(allocate)
    triton.allocation._allocator = allocate if triton.version == "3.4.0" else by_context
    described = metadata(num_ctas=1, global_scratch_size=100, global_scratch_align=16)
    launchgen.triton.install()
    launcher = triton.backend.CudaLauncher(ADD, described)
    hidden = 1 if triton.version == "3.4.0" else 2
    values = launch(host, launcher, [8, 4, 1, 4, *[8] * hidden], VALUES)
    assert asked == [(100 * 24, 16, 0)]
    assert values[4] == struct.pack("<Q", 0x4000)


def test_profile_scratch_is_the_drivers_own_where_nobody_set_an_allocator(
    triton: Any, host: Host
) -> None:
    if triton.version != "3.9.0":
        pytest.skip("from 3.8 on")
    asked: list[tuple[int, ...]] = []

    def default(*request: int) -> int:
        asked.append(request)
        return 0x8000

    sys.modules["triton.runtime"].driver.active = SimpleNamespace(
        allocate_default_profile_scratch=default
    )
    triton.allocation.has_profile_allocator = lambda: False
    described = metadata(num_ctas=2, profile_scratch_size=8, profile_scratch_align=8)
    launcher = launchgen.triton.make_launcher(ADD, described, version=(3, 9))
    values = launch(host, launcher, [8, 4, 1, 4, 8, 8], VALUES)
    assert asked == [(8 * 2 * 24, 8, 0)]
    assert values[5] == struct.pack("<Q", 0x8000)


# --- the driver -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("*fp32", "CUdeviceptr"),
        ("*k*i8", "CUdeviceptr"),
        ("i1", "uint8_t"),
        ("u1", "uint8_t"),
        ("i32", "int32_t"),
        ("u64", "uint64_t"),
        ("fp16", "uint16_t"),
        ("fp32", "float"),
        ("f32", "float"),
        ("fp64", "double"),
        ("nvTmaDesc", "CUtensorMap"),
        ("tensordesc<fp16[64, 64]>", "CUtensorMap"),
    ],
)
def test_float1_types_are_those_of_the_kernels_slots(type_: str, expected: str) -> None:
    assert c_type_of(type_) == expected


def test_int7_an_unknown_type_has_no_default() -> None:
    with pytest.raises(SignatureError, match="i128"):
        c_type_of("i128")


class Torchless:
    """Stands for Triton's base class, which asks for PyTorch."""

    def __init__(self) -> None:
        raise AssertionError("there is no PyTorch")


@pytest.fixture
def torchless(triton: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[type]:
    """The driver's class where Triton is there and PyTorch is not."""
    stand_ins: dict[str, tuple[str, Any]] = {
        "triton.backends.driver": ("GPUDriver", Torchless),
        "triton.backends.compiler": ("GPUTarget", lambda *words: words),
    }
    for name, (member, stand_in) in stand_ins.items():
        module = ModuleType(name)
        setattr(module, member, stand_in)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(triton_driver, "_has_torch", lambda: False)
    launchgen.triton._driver_class.cache_clear()
    yield launchgen.triton.LaunchgenDriver
    launchgen.triton._driver_class.cache_clear()


def test_the_driver_works_without_pytorch(triton: Any, torchless: Any, host: Host) -> None:
    driver = torchless()
    assert driver.is_active()
    assert driver.get_current_device() == 0
    assert driver.get_current_target() == ("cuda", 90, 32)
    assert driver.get_current_stream(0) == 0
    assert driver.map_python_to_cpp_type("fp32") == "float"
    assert driver.utils.get_device_properties(0)["warpSize"] == 32
    hidden = 1 if triton.version == "3.4.0" else 2
    launcher = driver.launcher_cls(ADD, metadata(num_ctas=1))
    assert len(launch(host, launcher, [8, 4, 1, 4, *[8] * hidden], VALUES)) == 4 + hidden
    with pytest.raises(UnsupportedError, match="sanitizer"):
        driver.launcher_cls(ADD, metadata(instrumentation_mode="gsan"))


def test_a_driver_that_fails_is_not_active(torchless: Any, host: Host) -> None:
    assert torchless.is_active()
    host.driver.fail("cuCtxGetDevice", 100, times=None)
    assert not torchless.is_active()


def test_a_compiler_that_fails_does_not_pass_for_a_machine_without_a_gpu(
    torchless: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing() -> None:
        raise BuildError(Diagnostic("no compiler"))

    monkeypatch.setattr(triton_driver, "load_utils", failing)
    with pytest.raises(BuildError, match="no compiler"):
        torchless.is_active()


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = launchgen.triton.nothing


def test_nothing_of_triton_is_imported_with_the_module() -> None:
    command = "import sys, launchgen.triton; print('triton' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.lower()) is False
