"""Launchers for tests of faults, loading and threads: emitted, compiled, and called from here.

What a launcher remembers lies in its library, so ``CLauncher.fresh`` loads a copy that remembers
nothing.  A driver without some symbols is a library of its own, and a process has one: ``apart``
runs a function of a test module in another process.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib.util
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from msgspec.structs import replace

from launchgen.artifacts import ARTIFACTS
from launchgen.libcuda import folders
from launchgen.metadata import Overrides
from launchgen.planning import make_plan
from launchgen.records import LaunchPlan
from launchgen.rendering import render
from launchgen.sources import KernelSource, read_kernel
from launchgen.targets import TARGETS
from launchgen.testing import RecordingDriver
from launchgen.testing._build import entry_points
from launchgen.utils_plan import plan_utils
from tests import sanitizers
from tests.zoo import Kernel

TESTS: Final = Path(__file__).parent
FOLDER: Final = "triton-3.6.0-sm90"
OLDER: Final = "triton-3.6.0-sm80"
FLAGS: Final = ("-std=c11", "-O1", "-g", "-fPIC", "-fvisibility=hidden", *sanitizers.FLAGS)
STRICT: Final = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")

RUNTIME: Final = TESTS.parent / "launchgen" / "templates" / "runtime"
ENTRY_POINTS: Final = re.findall(
    r'LG_ENTRY\(\w+, "(\w+)", ([01])\)', (RUNTIME / "cuda_driver.c").read_text()
)
"""What a launcher asks the driver for, and whether it needs it."""

needs_no_driver: Final = pytest.mark.skipif(
    any((Path(folder) / "libcuda.so.1").exists() for folder in folders(os.uname().machine)),
    reason="a launcher finds the driver of this machine",
)

_numbers = itertools.count()


@functools.cache
def scratch_folder() -> Path:
    """Return a folder that lives as long as this process."""
    folder = Path(tempfile.mkdtemp(prefix="launchgen-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def new_folder() -> Path:
    folder = scratch_folder() / str(next(_numbers))
    folder.mkdir()
    return folder


# ---- emit ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Emitted:
    folder: Path
    plan: LaunchPlan

    @property
    def name(self) -> str:
        return self.plan.name


def emit(
    kernel: Path | None,
    signature: str,
    *,
    name: str,
    artifacts: Sequence[str] = ("c",),
    images: tuple[Path, ...] = (),
    no_image: bool = False,
    standalone: bool = False,
    **overrides: Any,
) -> Emitted:
    """Emit a launcher into a new folder; ``overrides`` are fields of launch metadata."""
    # One that the image lacks is as if the image had been replaced since.
    entry = overrides.pop("entry", None)
    source = read_kernel(
        kernel,
        signature_text=signature,
        metadata=None,
        images=images,
        no_image=no_image,
        name=name,
        overrides=Overrides(**overrides),
        target=TARGETS["cuda"],
    )
    if entry is not None:
        launches = [replace(variant.metadata, entry=entry) for variant in source.variants]
        pairs = zip(source.variants, launches, strict=True)
        source = replace(
            source, variants=tuple(replace(each, metadata=launch) for each, launch in pairs)
        )
    return emit_source(source, artifacts=artifacts, standalone=standalone)


def emit_source(
    source: KernelSource, *, artifacts: Sequence[str] = ("c",), standalone: bool = False
) -> Emitted:
    """Emit a launcher of what was read, or made up, into a new folder."""
    target = TARGETS["cuda"]
    plan = make_plan(source, target=target, command="launchgen emit", standalone=standalone)
    folder = new_folder()
    chosen = tuple(ARTIFACTS[each] for each in artifacts)
    utils = plan_utils(target, command="launchgen emit")
    for file in render(plan, artifacts=chosen, utils=utils).files:
        (folder / file.name).write_bytes(file.content)
    return Emitted(folder, plan)


def emit_zoo(
    kernel: str,
    *,
    folder: str = FOLDER,
    name: str | None = None,
    artifacts: Sequence[str] = ("c",),
    others: Sequence[str] = (),
    no_image: bool = False,
    standalone: bool = False,
    **overrides: Any,
) -> Emitted:
    """Emit a launcher for one of ``tests/kernels``, with its images of the folders ``others``."""
    one = Kernel(folder, kernel)
    return emit(
        one.json,
        one.signature,
        name=name or kernel,
        artifacts=artifacts,
        images=tuple(Kernel(other, kernel).cubin for other in others),
        no_image=no_image,
        standalone=standalone,
        **overrides,
    )


# ---- compile -------------------------------------------------------------------------------------


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        errors="backslashreplace",
        check=False,
        timeout=timeout,
    )


def cc(folder: Path, *words: str | Path, compiler: str = "gcc") -> None:
    """Compile in ``folder``; a warning is an error where ``words`` hold ``STRICT``."""
    done = run([compiler, *words], cwd=folder)
    assert done.returncode == 0, f"{compiler} {' '.join(map(str, words))}\n{done.stderr}"


def compile_c(emitted: Emitted, *flags: str) -> Path:
    """Return the C library of an emitted launcher."""
    library = emitted.folder / f"lib{emitted.name}.so"
    cc(emitted.folder, *(flags or FLAGS), "-shared", f"{emitted.name}.c", "-o", library)
    return library


def compile_python(emitted: Emitted, *flags: str) -> Path:
    """Return the extension module of an emitted launcher."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    module = emitted.folder / f"{emitted.name}{suffix}"
    include = ("-isystem", sysconfig.get_path("include"))
    cc(emitted.folder, *FLAGS, *flags, "-shared", *include, f"{emitted.name}_py.c", "-o", module)
    return module


def stub_library(folder: Path | None = None) -> Path:
    """Return a folder with a library that has every entry point and, like the stub, no driver."""
    folder = folder or new_folder()
    (folder / "stub.c").write_text(
        "".join(f"int {name}(void) {{ return 34; }}\n" for name in entry_points())
    )
    words = ("-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", "libcuda.so.1")
    cc(folder, *words, "stub.c")
    return folder


# ---- call ----------------------------------------------------------------------------------------

_C_TYPES: Final[Mapping[str, Any]] = {
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "bool": ctypes.c_bool,
    **{f"int{bits}_t": getattr(ctypes, f"c_int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
}


def _c_type(name: str) -> Any:
    return ctypes.c_void_p if name.endswith("*") else _C_TYPES[name]


def _values(plan: LaunchPlan) -> tuple[Any, ...]:
    """Return scratch and arguments that a launch accepts; a list is a descriptor's words."""
    addresses = itertools.count(0x10000, 0x10000)
    values: list[Any] = [next(addresses) for _ in plan.scratch]
    for parameter in plan.parameters:
        number = 1 if parameter.is_one else 16 if parameter.is_divisible else 3
        value: Any = next(addresses) if parameter.is_pointer else number
        if parameter.descriptor is not None:
            type_ = parameter.descriptor.type
            value = [next(addresses), *type_.example_shape, *type_.example_strides, 0]
        values.append(value)
    return tuple(values)


@dataclass(frozen=True)
class CLibrary:
    """A compiled C launcher: enough to call it in any process, as plain data."""

    path: Path
    name: str
    types: tuple[str, ...]
    """Of the kernel's arguments and of scratch before them."""
    values: tuple[Any, ...]
    """What a launch accepts; a list stands for the address of a struct of such words."""
    function: bool

    @classmethod
    def of(cls, emitted: Emitted, *flags: str) -> CLibrary:
        plan = emitted.plan
        return cls(
            compile_c(emitted, *flags),
            plan.name,
            (*("void *" for _ in plan.scratch), *(p.public_c.strip() for p in plan.parameters)),
            _values(plan),
            plan.takes_function,
        )

    def fresh(self) -> CLauncher:
        """Load a copy that nobody has loaded yet."""
        return CLauncher(self)


class CLauncher:
    """A C launcher in this process."""

    def __init__(self, library: CLibrary, mode: int = 0) -> None:
        path = new_folder() / library.path.name
        shutil.copyfile(library.path, path)
        self.library: Final = library
        self.cdll: Final = ctypes.CDLL(str(path), mode=mode)
        name = library.name
        self._launch = getattr(self.cdll, f"{name}_launch")
        function = (ctypes.c_void_p,) if library.function else ()
        grid = (ctypes.c_uint32,) * 3
        self._launch.argtypes = (
            *function,
            ctypes.c_void_p,
            *grid,
            *map(_c_type, library.types),
        )
        self._error = getattr(self.cdll, f"{name}_error")
        self._error.restype = ctypes.c_char_p

    def launch(
        self,
        *,
        grid: tuple[int, int, int] = (2, 3, 1),
        stream: int | None = None,
        function: int | None = None,
        values: Sequence[Any] | None = None,
    ) -> int:
        """Launch with arguments that are right, or with ``values``; return the status."""
        own = (function,) if self.library.function else ()
        given = [
            (ctypes.c_int64 * len(value))(*value) if isinstance(value, list) else value
            for value in values or self.library.values
        ]
        status = self._launch(*own, stream, *grid, *given)
        assert isinstance(status, int)
        return status

    def load(self) -> int:
        return int(getattr(self.cdll, f"{self.library.name}_load")())

    def unload(self) -> int:
        return int(getattr(self.cdll, f"{self.library.name}_unload")())

    @property
    def error(self) -> str:
        text: bytes = self._error()
        return text.decode()


def import_module(path: Path) -> ModuleType:
    """Import a copy of a compiled module, which has loaded nothing yet."""
    copy = new_folder() / path.name
    shutil.copyfile(path, copy)
    name = path.name.split(".")[0]
    spec = importlib.util.spec_from_file_location(name, copy)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Tensor:
    """Device memory as PyTorch shows it."""

    def __init__(self, address: int) -> None:
        self._address: Final = address

    def data_ptr(self) -> int:
        # A new int each time, as PyTorch's: to make one takes memory.
        return self._address * 1


@dataclass(frozen=True)
class Descriptor:
    base: Tensor
    shape: Sequence[int]
    strides: Sequence[int]
    padding: str = "zero"


@dataclass(frozen=True)
class PythonLibrary:
    """A compiled module: enough to call it in any process, as plain data."""

    path: Path
    name: str
    values: tuple[tuple[str, Any], ...]
    """What a launch accepts, each with what it is passed as: a key of ``_PASSED``."""
    scratch: tuple[int, ...]
    function: bool

    @classmethod
    def of(cls, emitted: Emitted, *flags: str, tensors: bool = True) -> PythonLibrary:
        """Compile a launcher of a signature that has no tuples.

        Addresses are passed as ``tensors``, about which the driver is asked, or as ints.
        """
        plan = emitted.plan
        count = len(plan.scratch)
        values = _values(plan)
        leaves = iter(zip(plan.parameters, values[count:], strict=True))
        passed: list[tuple[str, Any]] = []
        for keyword in plan.python.by_name:
            if keyword.is_constant:
                passed.append(("as it is", None))
                continue
            parameter, value = next(leaves)
            is_tensor = tensors and parameter.is_pointer and parameter.descriptor is None
            passed.append(("tensor" if is_tensor else "as it is", value))
            if parameter.descriptor is not None:
                passed[-1] = ("descriptor", value)
        assert next(leaves, None) is None
        path = compile_python(emitted, *flags)
        return cls(path, plan.name, tuple(passed), values[:count], plan.takes_function)

    def fresh(self) -> PythonLauncher:
        """Import a copy that nobody has imported yet."""
        return PythonLauncher(self)


def _descriptor(words: Sequence[int]) -> Descriptor:
    rank = (len(words) - 2) // 2
    return Descriptor(Tensor(words[0]), words[1 : 1 + rank], words[1 + rank : 1 + 2 * rank])


_PASSED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "as it is": lambda value: value,
    "tensor": Tensor,
    "descriptor": _descriptor,
}


class PythonLauncher:
    """A Python launcher in this process, with the face of a ``CLauncher``: what it raises because
    of the driver or a value becomes a status and a text."""

    def __init__(self, library: PythonLibrary) -> None:
        self.library: Final = library
        self.module: Final = import_module(library.path)
        self.error = ""
        if library.scratch:
            self.module.set_allocator(lambda *_: Tensor(library.scratch[0]))
        self._arguments: Final = [_PASSED[kind](value) for kind, value in library.values]

    def launch(
        self,
        *,
        grid: tuple[int, int, int] = (2, 3, 1),
        stream: int | None = None,
        function: int | None = None,
    ) -> int:
        launch, arguments = self.call(grid=grid, stream=stream, function=function)
        return self._status(lambda: launch(*arguments))

    def call(
        self,
        *,
        grid: tuple[int, int, int] = (2, 3, 1),
        stream: int | None = None,
        function: int | None = None,
    ) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """Return the module's function and what it is called with."""
        own = (function,) if self.library.function else ()
        return self.module.launch, (*own, grid, stream, *self._arguments)

    def load(self) -> int:
        return self._status(self.module.load)

    def unload(self) -> int:
        return self._status(self.module.unload)

    def _status(self, call: Callable[[], object]) -> int:
        try:
            call()
        except self.module.CudaError as error:
            self.error = str(error)
            return int(error.code)
        except ValueError as error:
            self.error = str(error)
            return 1
        return 0


Library = CLibrary | PythonLibrary
AnyLauncher = CLauncher | PythonLauncher

FACES: Final = ("c", "cpython")
"""The artifacts that launch: whatever fails has to fail alike from both."""


@functools.cache
def library(face: str, kernel: str, *, tensors: bool = True, **options: Any) -> Library:
    """Return one of ``tests/kernels`` as a launcher of that artifact, compiled once."""
    emitted = emit_zoo(kernel, artifacts=(face,), **options)
    return CLibrary.of(emitted) if face == "c" else PythonLibrary.of(emitted, tensors=tensors)


# ---- another process -----------------------------------------------------------------------------

_CHILD: Final = """
import importlib, json, sys
module, function, arguments = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
result = getattr(importlib.import_module(module), function)(*arguments)
print(json.dumps(result))
"""


def apart(
    function: Callable[..., Any],
    library: Library,
    *arguments: Any,
    env: Mapping[str, str] | None = None,
) -> Any:
    """Return what ``function(library, *arguments)`` returns in a process of its own, as JSON."""
    environment = sanitizers.environment(os.environ if env is None else env)
    environment |= {"PYTHONPATH": str(TESTS.parent)}
    module = function.__module__
    text = json.dumps([describe(library), *arguments])
    command = [
        sys.executable,
        "-c",
        _CHILD,
        __name__,
        "child",
        json.dumps([module, function.__name__, text]),
    ]
    done = run(command, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def child(module: str, function: str, text: str) -> Any:
    """Call a function of a test module on what ``apart`` described."""
    sanitizers.keep_from_compilers()
    described, *arguments = json.loads(text)
    return getattr(importlib.import_module(module), function)(made_of(described), *arguments)


def describe(library: Library) -> list[Any]:
    """Return what JSON can hold of a library, for another process."""
    return [type(library).__name__, {**asdict(library), "path": str(library.path)}]


def made_of(described: Sequence[Any]) -> Library:
    """Return the library that ``describe`` described."""
    kind, fields = described
    kinds: dict[str, type[CLibrary] | type[PythonLibrary]] = {
        each.__name__: each for each in (CLibrary, PythonLibrary)
    }
    return kinds[kind](**{**fields, "path": Path(fields["path"])})


# ---- the driver ----------------------------------------------------------------------------------


def names(driver: RecordingDriver) -> list[str]:
    """Return the symbols that were called, in order; texts of errors are left out."""
    return [call.name for call in driver.calls if not call.name.startswith("cuGetError")]


def public(symbol: str) -> str:
    """Return a call's name in the documentation: without the version of its symbol."""
    return re.sub(r"_v\d+$", "", symbol)
