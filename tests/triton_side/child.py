"""What runs in a process of its own, beside one release of Triton, on the recording driver.

``python -m tests.triton_side.child JOB ANSWERS``: pickled, see ``cases.py``.  Triton's launcher is
called as it stands; only what it would ask PyTorch or a GPU for is given it here.  ``CudaLauncher``
takes the same arguments by position in every release, so launchgen's are called through it or in
its place.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final

from launchgen.testing import Launch, RecordingDriver
from tests.triton_side.cases import (
    CONSTEXPR,
    Call,
    Case,
    Descriptor,
    Encoded,
    Im2col,
    Job,
    Launched,
    Map,
    Outcome,
    Release,
    Tensor,
    Tiled,
    Type,
    Value,
)
from tests.triton_side.memory import add_memory, scratch_addresses

_MAP_BYTES: Final = 128
_MARK: Final = b"LGRTMAP1"
_DEFAULT_SHARED: Final = 48 * 1024
_MAX_DYNAMIC_SHARED: Final = 8
_METADATA: Final = "what hooks are given"

Launcher = Callable[..., Any]


class DataPointer:
    """All that a launcher asks of a tensor."""

    def __init__(self, address: int) -> None:
        self._address = address

    def data_ptr(self) -> int:
        return self._address


class HostMap:
    """Host memory that ``torch.empty`` gives release 3.4 for a map, aligned as PyTorch does."""

    def __init__(self, size: int = _MAP_BYTES) -> None:
        self._buffer = ctypes.create_string_buffer(size + _MAP_BYTES)
        start = ctypes.addressof(self._buffer)
        self.address = start + -start % _MAP_BYTES

    def data_ptr(self) -> int:
        return self.address

    def tma_desc_cpu_ptr(self) -> int:
        return self.address


# ---- Triton, without PyTorch and without a GPU ---------------------------------------------------


class Triton:
    """One release, with its driver active."""

    def __init__(self, release: Release, driver: RecordingDriver) -> None:
        self.release = release
        self.allocate: Callable[[int, int, int | None], Any]
        self.folder = Path(tempfile.mkdtemp(prefix="launchgen-triton-"))
        # Up to 3.5 it links with -lcuda.
        (self.folder / "libcuda.so").symlink_to(driver.path / "libcuda.so.1")
        (self.folder / "libcuda.so.1").symlink_to(driver.path / "libcuda.so.1")
        os.environ["TRITON_LIBCUDA_PATH"] = str(self.folder)
        os.environ["TRITON_CACHE_DIR"] = str(self.folder / "cache")
        torch: Any = ModuleType("torch")
        torch.uint8 = "uint8"
        torch.empty = lambda size, **_: HostMap(size)
        self.triton: Any = importlib.import_module("triton")
        self.triton.knobs.build.impl = _compile
        self.backend: Any = importlib.import_module("triton.backends.nvidia.driver")
        self.allocation: Any = importlib.import_module("triton.runtime._allocation")
        # GPUDriver, its base, looks for PyTorch when it is made.
        active = object.__new__(self.backend.CudaDriver)
        self.utils = active.utils = self.backend.CudaUtils()
        self.triton.runtime.driver.set_active(active)
        sys.modules["torch"] = torch

    def launcher(self, case: Case) -> Launcher:
        made: Launcher = self.backend.CudaLauncher(*_source(case, self.release))
        return made

    def set_allocators(self, allocate: Callable[[int, int, int | None], Any]) -> None:
        self.allocate = allocate
        self.allocation.set_allocator(allocate)
        if self.release.hidden > 1:
            self.allocation.set_profile_allocator(allocate)

    def fill(self, map_: Map) -> Any:
        """Return an object that carries the map, made by Triton's own function."""
        return fill(self.utils, map_, self.release)

    def descriptor(self, given: Descriptor) -> Any:
        fields: dict[str, Any] = {
            "base": DataPointer(given.base.address),
            "shape": list(given.shape),
            "strides": list(given.strides),
            "padding": given.padding,
            "round_f32_to_tf32": given.round_tf32,
            "pixel_box_lower_corner": _listed(given.lower),
            "pixel_box_upper_corner": _listed(given.upper),
            "element_strides": _listed(given.element_strides),
        }
        if self.release.padding:
            return SimpleNamespace(**fields)
        # 3.4 goes by the class; what it checks when one is made needs a real tensor.
        tools = importlib.import_module("triton.tools.tensor_descriptor")
        made = object.__new__(tools.TensorDescriptor)
        for name in ("base", "shape", "strides"):
            setattr(made, name, fields[name])
        return made

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _listed(numbers: Sequence[int] | None) -> list[int] | None:
    return None if numbers is None else list(numbers)


def _source(case: Case, release: Release) -> tuple[Any, Any]:
    """Return what ``CudaLauncher`` is made from: what was compiled, and its metadata."""
    names = [f"a{index}" for index in range(len(case.types))]
    source = SimpleNamespace(
        fn=SimpleNamespace(arg_names=names),
        constants=dict.fromkeys(_constants(case.types), 0),
        signature=dict(zip(names, case.types, strict=True)),
    )
    fields = case.metadata(release)
    return source, SimpleNamespace(**fields, instrumentation_mode="")


def _constants(types: Sequence[Type], path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    for index, type_ in enumerate(types):
        here = (*path, index)
        if isinstance(type_, tuple):
            yield from _constants(type_, here)
        elif type_ == CONSTEXPR:
            yield here


def _compile(name: str, source: str, folder: str, *searched: list[str]) -> str:
    """Compile as Triton does, but for the optimisation: it has hundreds of launchers."""
    library_dirs, include_dirs, libraries = searched
    product = Path(folder, f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}")
    python = sysconfig.get_path("include")
    subprocess.run(
        [
            *("gcc", source, "-O0", "-w", "-Wno-psabi", "-shared", "-fPIC", "-o", product),
            *(f"-l:{each}" if ".so" in each else f"-l{each}" for each in libraries),
            *(f"-L{each}" for each in library_dirs),
            *(f"-I{each}" for each in (*include_dirs, folder, python)),
        ],
        check=True,
    )
    return str(product)


def fill(utils: Any, map_: Map, release: Release) -> Any:
    """Call the release's function that fills a tensor map, of Triton's or launchgen's module."""
    tensor = map_.tensor if isinstance(map_, Im2col) else map_
    address, swizzle, elem_size, elem_type, *sequences, padding = astuple(tensor)
    common = (address, swizzle, elem_size, elem_type, *map(list, sequences))
    if isinstance(map_, Im2col):
        boxes = (list(map_.lower), list(map_.upper), list(map_.element_strides))
        return utils.fill_tma_descriptor_im2col(*common, int(padding), *boxes)
    if not release.padding:
        host = HostMap()
        utils.fill_tma_descriptor(host.address, *common)
        return host
    tiled = utils.fill_tma_descriptor_tiled if release.nested else utils.fill_tma_descriptor
    return tiled(*common, int(padding))


# ---- launchgen's, in the same place --------------------------------------------------------------


def load(name: str, path: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def theirs(triton: Triton, case: Case, _built: str) -> Launcher:
    return triton.launcher(case)


def seed(triton: Triton, case: Case, built: str) -> Launcher:
    """Let Triton's class have launchgen's module where it would compile one of its own."""
    compiled = triton.backend.compile_module_from_src
    triton.backend.compile_module_from_src = lambda **_: load("__triton_launcher", built)
    try:
        return triton.launcher(case)
    finally:
        triton.backend.compile_module_from_src = compiled


def drop_in(triton: Triton, case: Case, _built: str) -> Launcher:
    """Put launchgen's class where Triton's is: from 3.7 on there is no module for a signature."""
    # Not there before launchgen has this convention, so it cannot be imported by name.
    ours: Any = importlib.import_module("launchgen.triton")
    made: Launcher = ours.CudaLauncher(*_source(case, triton.release))
    return made


def direct(triton: Triton, _case: Case, built: str) -> Launcher:
    """Call launchgen's own convention as if it were Triton's class."""
    module = load("k", built)

    def launch(x: int, y: int, z: int, stream: int, function: int, *rest: Any) -> None:
        _, _, _, _, *values = rest
        module.set_allocator(triton.allocate)
        module.launch(function, (x, y, z), stream, *values)

    return launch


SIDES: Final[dict[str, Callable[[Triton, Case, str], Launcher]]] = {
    "theirs": theirs,
    "seed": seed,
    "drop-in": drop_in,
    "direct": direct,
}


# ---- launches ------------------------------------------------------------------------------------


class Launching:
    """The launches of a job, and what the driver saw of each."""

    def __init__(self, job: Job, driver: RecordingDriver, triton: Triton) -> None:
        self.job = job
        self.driver = driver
        self.triton = triton
        self.stream = driver.new_stream(driver.primary_context())
        self.allocations: list[tuple[int, int]] = []
        self.hooked: list[tuple[str, Any]] = []
        triton.set_allocators(self._allocate)

    def run(self) -> tuple[tuple[Outcome, ...], ...]:
        built = self.job.built or ("",) * len(self.job.cases)
        pairs = list(zip(self.job.cases, built, strict=True))
        make = SIDES[self.job.side]
        # Only Triton compiles here; what it does in Python is short beside a compiler.
        workers = os.cpu_count() if self.job.side == "theirs" else 1
        with ThreadPoolExecutor(workers) as pool:
            launchers = list(pool.map(lambda pair: make(self.triton, *pair), pairs))
        tried = [
            [self._call(case, call, launcher, f"{number}.{index}")
             for index, call in enumerate(case.calls)]
            for number, (case, launcher) in enumerate(zip(self.job.cases, launchers, strict=True))
        ]  # fmt: skip
        return self._outcomes(tried)

    def _call(self, case: Case, call: Call, launcher: Launcher, entry: str) -> Outcome:
        release = self.job.release
        sizes = [(size, align) for _, size, align in case.slots(release)]
        function = self.driver.make_function(entry, sizes)
        if case.shared > _DEFAULT_SHARED:
            # As Triton does when it loads an image.
            set_attribute = self.driver.library.cuFuncSetAttribute
            arguments = (ctypes.c_void_p(function), _MAX_DYNAMIC_SHARED, case.shared)
            assert set_attribute(*arguments) == 0
        cluster = case.cluster if release.cluster_dims else ()
        packed = (case.num_warps, case.num_ctas, case.shared, *cluster)
        hooks = [self._hook("enter"), self._hook("exit")] if call.hooks else [None, None]
        self.allocations, self.hooked = [], []
        error = None
        try:
            values = [self._object(value) for value in call.values]
            stream = self.stream if call.on_stream else 0
            launcher(*call.grid, stream, function, packed, _METADATA, *hooks, *values)
        except Exception as caught:
            error = f"{type(caught).__name__}: {caught}"
        return Outcome(error, (), tuple(self.hooked), tuple(self.allocations))

    def _object(self, value: Value) -> Any:
        """Return what the caller of a kernel hands over."""
        if isinstance(value, tuple):
            return tuple(map(self._object, value))
        if isinstance(value, Tensor):
            return DataPointer(value.address)
        if isinstance(value, Tiled):
            return self.triton.fill(value)
        return self.triton.descriptor(value) if isinstance(value, Descriptor) else value

    def _allocate(self, size: int, alignment: int, _stream: int | None) -> DataPointer:
        address = scratch_addresses(len(self.allocations))
        self.allocations.append((size, alignment))
        return DataPointer(address)

    def _hook(self, name: str) -> Callable[[Any], None]:
        return lambda given: self.hooked.append((name, given))

    def _outcomes(self, tried: list[list[Outcome]]) -> tuple[tuple[Outcome, ...], ...]:
        calls = {call.sequence: call for call in self.driver.calls}
        launches: dict[str, list[Launched]] = {}
        for launch in self.driver.launches:
            launches.setdefault(launch.entry, []).append(self._launched(launch, calls))
        return tuple(
            tuple(
                Outcome(
                    outcome.error,
                    tuple(launches.get(f"{number}.{index}", ())),
                    outcome.hooks,
                    outcome.allocations,
                )
                for index, outcome in enumerate(outcomes)
            )
            for number, outcomes in enumerate(tried)
        )

    def _launched(self, launch: Launch, calls: dict[int, Any]) -> Launched:
        assert launch.stream in (0, self.stream)
        return Launched(
            launch.grid,
            launch.block,
            launch.shared,
            launch.stream == self.stream,
            tuple(sorted((each.id, each.value.hex()) for each in launch.attributes)),
            tuple(
                encoded(value, calls) if value.startswith(_MARK) else value.hex()
                for value in launch.values
            ),
        )


def encoded(made: bytes, calls: dict[int, Any]) -> Encoded:
    """Return where a map came from: the recording driver writes the number of its call into it."""
    words = [int.from_bytes(made[at : at + 8], "little") for at in range(0, _MAP_BYTES, 8)]
    call = calls[words[2]]
    words[2] = 0
    return Encoded(call.name, dict(call.arguments), tuple(words))


# ---- tensor maps ---------------------------------------------------------------------------------


def fill_maps(job: Job, driver: RecordingDriver, triton: Triton) -> tuple[Encoded | str, ...]:
    """Return for each map the call that filled it, or the words of a refusal."""
    utils = triton.utils if job.side == "theirs" else load("cuda_utils", job.built[0])
    found: list[bytes | str] = []
    for map_ in job.maps:
        try:
            found.append(_bytes(fill(utils, map_, job.release)))
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    calls = {call.sequence: call for call in driver.calls}
    return tuple(each if isinstance(each, str) else encoded(each, calls) for each in found)


def _bytes(filled: Any) -> bytes:
    """Return the map that an object carries."""
    if isinstance(filled, HostMap):
        return ctypes.string_at(filled.address, _MAP_BYTES)
    held = ctypes.string_at(id(filled), type(filled).__basicsize__)
    at = held.index(_MARK)
    return held[at : at + _MAP_BYTES]


def main(job_file: str, answers_file: str) -> None:
    job: Job = pickle.loads(Path(job_file).read_bytes())
    driver = RecordingDriver(**job.driver).load()
    driver.current_context = driver.primary_context()
    add_memory(driver)
    triton = Triton(job.release, driver)
    with contextlib.closing(triton):
        answers: Any = (
            fill_maps(job, driver, triton) if job.maps else Launching(job, driver, triton).run()
        )
    Path(answers_file).write_bytes(pickle.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
