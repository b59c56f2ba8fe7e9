"""One release of Triton, given what it would ask PyTorch or a GPU for.

Its launcher is called as it stands: what is put in its place here lies before it or under it.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final

from launchgen.testing import RecordingDriver
from tests.triton_side.cases import CONSTEXPR, Case, Descriptor, Im2col, Map, Release, Type

MAP_BYTES: Final = 128

Launcher = Callable[..., Any]


class DataPointer:
    """All that a launcher asks of a tensor."""

    def __init__(self, address: int) -> None:
        self._address = address

    def data_ptr(self) -> int:
        return self._address


class HostMap:
    """Host memory that ``torch.empty`` gives release 3.4 for a map, aligned as PyTorch does."""

    def __init__(self, size: int = MAP_BYTES) -> None:
        self._buffer = ctypes.create_string_buffer(size + MAP_BYTES)
        start = ctypes.addressof(self._buffer)
        self.address = start + -start % MAP_BYTES

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
        made: Launcher = self.backend.CudaLauncher(*source_of(case, self.release))
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


def source_of(case: Case, release: Release) -> tuple[Any, Any]:
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
    tiled = utils.fill_tma_descriptor_tiled if release.rounding else utils.fill_tma_descriptor
    return tiled(*common, int(padding))
