"""A complete driver for Triton, for ``triton.runtime.driver.set_active``.

Its class is made when it is first asked for, because it derives from Triton's own.  Where PyTorch
is installed devices and streams are PyTorch's, as in Triton; elsewhere they are the CUDA driver's.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from launchgen.artifacts import ARTIFACTS
from launchgen.compiled import compiled_module
from launchgen.diagnostics import Diagnostic, UnsupportedError
from launchgen.extensions import load_extension
from launchgen.notation import DescriptorType, PointerType, ScalarType, TensorMapType
from launchgen.rendering import render
from launchgen.signature import parse
from launchgen.targets import TARGETS
from launchgen.utils_plan import plan_utils

_TARGET: Final = next(iter(TARGETS.values()))
_UTILS: Final = next(row for row in ARTIFACTS.values() if row.serves_every_kernel)
_COMMAND: Final = "launchgen.triton.LaunchgenDriver()"
_CACHE_BYTES: Final = 256 * 2**20
"""More than any L2 cache holds; as much as Triton's own driver writes between two timings."""


@cache
def load_utils() -> Any:
    """Return the module of Triton's calls outside a launch, compiled unless it is kept.

    Raises BuildError where it cannot be compiled.
    """
    plan = plan_utils(_TARGET, command=_COMMAND, version=None)
    path = compiled_module(render(plan, artifacts=(_UTILS,)), environment=os.environ)
    return load_extension(path, name=str(plan.name))


def c_type_of(text: str) -> str:
    """Return the C type whose address is handed over for an argument of a type of Triton's.

    ``fp32`` is ``float``: what lies in the kernel's slot, not what a Python number is read into.

    Raises SignatureError for a type that there is not.
    """
    (argument,) = parse(text).arguments
    match argument.type:
        case PointerType():
            return "CUdeviceptr"
        case ScalarType(scalar):
            return scalar.storage_c
        case DescriptorType() | TensorMapType():
            return "CUtensorMap"
        case _:
            raise UnsupportedError(Diagnostic(f"'{text}' has no C type of its own"))


def make_driver_class(launcher_class: Callable[..., Any]) -> type:
    """Return the driver's class; ``launcher_class`` makes a launcher of each compiled kernel."""
    from triton.backends.compiler import GPUTarget  # noqa: PLC0415
    from triton.backends.driver import GPUDriver  # noqa: PLC0415

    class LaunchgenDriver(GPUDriver):  # type: ignore[misc]
        """Triton's driver of NVIDIA GPUs, with launchgen's launchers and calls."""

        def __init__(self) -> None:
            self.utils = load_utils()
            self.launcher_cls = launcher_class
            if _has_torch():
                super().__init__()
            else:
                self.get_device_capability = self.utils.get_device_capability
                self.get_current_stream = self.utils.get_default_stream
                self.get_current_device = self.utils.get_current_device
                self.set_current_device = self.utils.set_current_device

        @staticmethod
        def is_active() -> bool:
            """Return whether there is a GPU that it can use.

            Raises BuildError where its calls cannot be compiled.
            """
            if _has_torch():
                import torch  # noqa: PLC0415

                return bool(torch.cuda.is_available() and torch.version.hip is None)
            try:
                load_utils().get_current_device()
            except RuntimeError:  # as the driver's failures are; no compiler is another matter
                return False
            return True

        def get_current_target(self) -> Any:
            major, minor = self.get_device_capability(self.get_current_device())
            return GPUTarget(_TARGET.name, 10 * major + minor, _TARGET.warp_size)

        def get_active_torch_device(self) -> Any:
            import torch  # noqa: PLC0415

            # PyTorch calls the device as Triton calls its backend.
            return torch.device(_TARGET.name, self.get_current_device())

        def get_device_interface(self) -> Any:
            import torch  # noqa: PLC0415

            return torch.cuda

        def map_python_to_cpp_type(self, ty: str) -> str:
            return c_type_of(ty)

        def get_benchmarker(self) -> Callable[..., Sequence[float]]:
            from triton.testing import do_bench  # noqa: PLC0415

            return do_bench  # type: ignore[no-any-return]

        def get_empty_cache_for_benchmark(self) -> Any:
            import torch  # noqa: PLC0415

            return torch.empty(_CACHE_BYTES // 4, dtype=torch.int, device=_TARGET.name)

        def clear_cache(self, cache: Any) -> None:
            cache.zero_()

    return LaunchgenDriver


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None
