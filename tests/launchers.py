"""Launchers for tests: emitted, compiled and called alike from C and from Python.

A launcher is compiled once for each session, when it is first called.  Values are given as to the
Python launcher, one for each source argument; for C they are flattened and constants left out.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

import pytest

from launchgen.abi import layout, slots
from launchgen.artifacts import ARTIFACTS, Artifact
from launchgen.descriptor_records import PlanDescriptorType
from launchgen.metadata import Overrides
from launchgen.planning import make_plan
from launchgen.rendering import render
from launchgen.signature import Constant, leaves
from launchgen.sources import KernelSource, read_kernel
from launchgen.targets import TARGETS
from launchgen.testing import Launch, RecordingDriver
from launchgen.toolchain import find_compiler
from tests import sanitizers
from tests.zoo import Kernel

CUDA = TARGETS["cuda"]
# Not asked for where it is used: in Python 3.11 two threads that ask first at once get None.
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


class Face(Enum):
    """From where a launcher is called: both faces must do the same."""

    C = "c"
    PYTHON = "cpython"

    def __str__(self) -> str:
        return self.name.lower()

    @property
    def artifact(self) -> Artifact:
        return ARTIFACTS[self.value]


FACES = tuple(Face)


class Refused(Exception):
    """What a C launcher returned other than 0, and its words for it."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Descriptor:
    """A tensor as Triton's own descriptors have it: strides in elements."""

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False
    pixel_box_lower_corner: Sequence[int] | None = None
    pixel_box_upper_corner: Sequence[int] | None = None
    element_strides: Sequence[int] | None = None


def descriptor_struct(type_: PlanDescriptorType, given: Descriptor) -> ctypes.Structure:
    """Return the struct of the C header for a descriptor."""
    rank = type_.rank
    fields: list[tuple[str, Any]] = [
        ("base", ctypes.c_void_p),
        ("shape", ctypes.c_int64 * rank),
        ("strides", ctypes.c_int64 * rank),
        ("nan_padding", ctypes.c_bool),
        ("round_tf32", ctypes.c_bool),
    ]
    corners: list[Any] = []
    if type_.is_im2col:
        spatial = ctypes.c_int32 * type_.corners
        fields += [("lower", spatial), ("upper", spatial), ("steps", ctypes.c_uint32 * rank)]
        lower, upper = given.pixel_box_lower_corner, given.pixel_box_upper_corner
        steps = given.element_strides or (0,) * rank
        corners = [spatial(*lower or ()), spatial(*upper or ()), (ctypes.c_uint32 * rank)(*steps)]
    struct = type(str(type_.struct), (ctypes.Structure,), {"_fields_": fields})
    made: ctypes.Structure = struct(
        given.base,
        (ctypes.c_int64 * rank)(*given.shape),
        (ctypes.c_int64 * rank)(*given.strides),
        given.padding == "nan",
        given.round_f32_to_tf32,
        *corners,
    )
    return made


class Launcher:
    """An emitted launcher; compiled when it is first needed."""

    def __init__(self, source: KernelSource) -> None:
        self.source = source
        self.signature = source.signature
        self.metadata = source.variants[0].metadata
        self.plan = make_plan(source, target=CUDA, command="launchgen emit")
        self.name = str(self.plan.name)

    def __repr__(self) -> str:
        return f"{self.name}({self.signature})"

    @cached_property
    def folder(self) -> Path:
        """Return the folder of what was emitted, keyed by its content."""
        files = render(self.plan, artifacts=tuple(face.artifact for face in FACES)).files
        digest = hashlib.sha256()
        for file in files:
            digest.update(f"{file.name}\0{len(file.content)}\0".encode() + file.content)
        folder = _session_folder() / digest.hexdigest()[:20]
        folder.mkdir(exist_ok=True)
        for file in files:
            (folder / file.name).write_bytes(file.content)
        return folder

    @cached_property
    def products(self) -> dict[Face, Path]:
        """Return the compiled library and module, compiled side by side."""
        folder = self.folder
        with ThreadPoolExecutor() as pool:
            return dict(
                zip(FACES, pool.map(lambda face: self._compile(folder, face), FACES), strict=True)
            )

    def header(self) -> str:
        return (self.folder / f"{self.name}.h").read_text()

    def parameter_layout(self) -> tuple[tuple[int, int], ...]:
        """Return size and alignment of each slot, as the driver of a made-up function wants it."""
        listed = slots(self.signature, self.metadata, target=CUDA)
        return tuple((slot.size, slot.align) for _, slot in layout(listed))

    def values_for_c(self, values: Sequence[object]) -> list[object]:
        """Return the leaves of ``values`` that C has parameters for."""
        found: list[object] = []
        parameters = iter(self.plan.parameters)
        for leaf in leaves(self.signature):
            if isinstance(leaf.argument.type, Constant):
                continue
            value: Any = values
            for index in leaf.path:
                value = value[index]
            descriptor = next(parameters).descriptor
            if descriptor is not None and value is not None:
                value = ctypes.byref(descriptor_struct(descriptor.type, value))
            found.append(value)
        return found

    def _compile(self, folder: Path, face: Face) -> Path:
        made = face.artifact.face
        assert made is not None
        source = next(o.file for o in face.artifact.outputs if o.file.endswith(".c"))
        product = folder / made.file.format(name=self.name, module=self.name, suffix=SUFFIX)
        include = ("-isystem", sysconfig.get_path("include")) if made.needs_python else ()
        command = (
            *find_compiler(os.environ).words,
            *(flag for flag in made.flags if not flag.startswith("-O")),
            *("-O1", *sanitizers.FLAGS, *made.plain_flags, *made.host_flags, *include),
            *(source.format(name=self.name), "-o", product.name, *made.libraries),
        )
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return product


@cache
def of_kernel(kernel: Kernel, **overrides: Any) -> Launcher:
    """Return the launcher of a real kernel, with its image."""
    source = read_kernel(
        kernel.json,
        signature_text=kernel.signature,
        metadata=None,
        images=(),
        no_image=False,
        name=kernel.name,
        overrides=Overrides(**overrides),
        target=CUDA,
    )
    return Launcher(source)


@cache
def of_cache_entry(kernel: Kernel) -> Launcher:
    """Return the launcher of a real kernel, of which only its files are known."""
    return Launcher(read_kernel(kernel.json, signature_text=None, name=kernel.name, target=CUDA))


@cache
def of_signature(
    text: str, *, name: str = "k", metadata: Path | None = None, **overrides: Any
) -> Launcher:
    """Return a launcher without an image; its slots are 4 warps' and nothing hidden by default."""
    if metadata is None:
        overrides = {"num_warps": 4, **overrides}
    source = read_kernel(
        None,
        signature_text=text,
        metadata=metadata,
        images=(),
        no_image=True,
        name=name,
        overrides=Overrides(**overrides),
        target=CUDA,
    )
    return Launcher(source)


@dataclass(frozen=True)
class _Loaded:
    """A launcher inside this process."""

    library: ctypes.CDLL | None
    module: Any
    unload: Callable[[], object]


class Host:
    """A program that has launchers and, under them, the recording driver."""

    _loaded: ClassVar[dict[tuple[Launcher, Face, str], _Loaded]] = {}
    _generation: ClassVar[int | None] = None

    def __init__(self, driver: RecordingDriver, *, kind: str = "") -> None:
        """Take ``driver`` as it is loaded; launchers of another ``kind`` of driver stay apart."""
        self.driver = driver
        self.kind = kind
        self.refused = 0
        """How many calls ``refusal`` saw refused."""
        self._functions: dict[Launcher, int] = {}
        self._forget_stale()

    def _forget_stale(self) -> None:
        """Unload every launcher where the driver began anew: handles are never given twice."""
        generation = self.driver.primary_context()
        if generation != Host._generation:
            for loaded in Host._loaded.values():
                with contextlib.suppress(Exception):
                    loaded.unload()
            Host._generation = generation
            self.driver.reset()

    # ---- calls ---------------------------------------------------------------------------------

    def call(
        self,
        face: Face,
        launcher: Launcher,
        grid: Any,
        stream: Any = None,
        values: Sequence[Any] = (),
        *,
        scratch: Sequence[int] = (),
        function: int | None = None,
    ) -> None:
        """Launch; raises what the Python launcher raises, and ``Refused`` for C.

        ``scratch`` are the buffers for C.  Without an image ``function`` is one of the launcher's
        own slots.
        """
        handle: tuple[int, ...] = ()
        if launcher.plan.takes_function:
            handle = (self.function(launcher) if function is None else function,)
        if face is Face.PYTHON:
            self.module(launcher).launch(*handle, grid, stream, *values)
            return
        sizes = (grid,) if isinstance(grid, int) else tuple(grid)
        full = (*sizes, 1, 1)[:3]
        self.check(
            launcher,
            "launch",
            *(*handle, stream, *full, *scratch, *launcher.values_for_c(values)),
        )

    def launched(self, face: Face, launcher: Launcher, *rest: Any, **named: Any) -> Launch:
        """Call, and return the one launch that came of it."""
        before = len(self.driver.launches)
        self.call(face, launcher, *rest, **named)
        (launch,) = self.driver.launches[before:]
        return launch

    def refusal(
        self,
        face: Face,
        launcher: Launcher,
        grid: Any,
        stream: Any = None,
        values: Sequence[Any] = (),
        *,
        raises: type[Exception] = ValueError,
        code: int = 1,
        scratch: Sequence[int] = (),
    ) -> str:
        """Return the words of a call that has to be refused, with nothing launched."""
        before = len(self.driver.launches)
        with pytest.raises((Refused, raises)) as caught:
            self.call(face, launcher, grid, stream, values, scratch=scratch)
        error = caught.value
        if isinstance(error, Refused):
            assert error.code == code
        else:
            assert type(error) is raises
        text = str(error)
        assert len(self.driver.launches) == before
        assert text.startswith(f"{launcher.name}: ")
        self.refused += 1
        return text

    # ---- launchers -----------------------------------------------------------------------------

    def function(self, launcher: Launcher) -> int:
        """Return the handle of a function with the launcher's slots."""
        if launcher not in self._functions:
            made = self.driver.make_function(launcher.name, launcher.parameter_layout())
            self._functions[launcher] = made
        return self._functions[launcher]

    def module(self, launcher: Launcher) -> Any:
        """Return the Python launcher, imported under its own name."""
        return self._load(launcher, Face.PYTHON).module

    def library(self, launcher: Launcher) -> Any:
        """Return the C launcher's library, its functions typed as in the header."""
        return self._load(launcher, Face.C).library

    def check(self, launcher: Launcher, function: str, *arguments: Any) -> None:
        """Call a C function that returns a status; raises ``Refused`` where that is not 0."""
        library = self.library(launcher)
        status = getattr(library, f"{launcher.name}_{function}")(*arguments)
        if status != 0:
            text = getattr(library, f"{launcher.name}_error")()
            raise Refused(status, text.decode())

    def load(self, face: Face, launcher: Launcher) -> None:
        """Load the kernel ahead of any launch."""
        if face is Face.C:
            self.check(launcher, "load")
        else:
            self.module(launcher).load()

    def unload(self, face: Face, launcher: Launcher) -> None:
        """Release the kernel."""
        if face is Face.C:
            self.check(launcher, "unload")
        else:
            self.module(launcher).unload()

    def _load(self, launcher: Launcher, face: Face) -> _Loaded:
        key = (launcher, face, self.kind)
        if key not in Host._loaded:
            product = launcher.products[face]
            if self.kind:
                # A process has a library once for each file, and it remembers its driver.
                folder = product.parent / self.kind
                folder.mkdir(exist_ok=True)
                product = Path(shutil.copy(product, folder))
            load = load_library if face is Face.C else load_module
            Host._loaded[key] = load(launcher, product)
        return Host._loaded[key]


@contextlib.contextmanager
def other_host(**settings: Any) -> Iterator[Host]:
    """Give a host with another driver; the next test's fixture brings the usual one back."""
    kind = "-".join(f"{name}={value}" for name, value in sorted(settings.items()))
    host = Host(RecordingDriver(**settings).load(), kind=kind)
    try:
        yield host
    finally:
        host.driver.reset()


_C_TYPES: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    **{
        f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}


def _c_type(text: str) -> Any:
    return ctypes.c_void_p if text.endswith("*") else _C_TYPES[text.strip()]


def load_library(launcher: Launcher, path: Path) -> _Loaded:
    library = ctypes.CDLL(str(path))
    launch = getattr(library, f"{launcher.name}_launch")
    launch.argtypes = [_c_type(part.type_c) for part in launcher.plan.prototype]
    getattr(library, f"{launcher.name}_error").restype = ctypes.c_char_p
    for part in launcher.plan.scratch:
        size = getattr(library, f"{launcher.name}_{part.public}_size")
        size.argtypes = [ctypes.c_uint32] * 3
        size.restype = ctypes.c_uint64
    unload = getattr(library, f"{launcher.name}_unload") if launcher.plan.has_image else _nothing
    return _Loaded(library, None, unload)


def load_module(launcher: Launcher, path: Path) -> _Loaded:
    """Import the module at ``path``, anew each time."""
    spec = importlib.util.spec_from_file_location(launcher.name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    unload = module.unload if launcher.plan.has_image else _nothing
    return _Loaded(None, module, unload)


def _nothing() -> None:
    """Unload a launcher that has nothing to unload."""


@cache
def _session_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="launchgen-tests-"))


def remove_session_folder() -> None:
    """Remove what was compiled; what is loaded stays usable until the process ends."""
    if _session_folder.cache_info().currsize:
        shutil.rmtree(_session_folder(), ignore_errors=True)
