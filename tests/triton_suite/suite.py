"""All rows, and the kernels that Triton has compiled for them."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from triton.runtime import Autotuner, Heuristics, JITFunction

from tests.triton_suite import (
    autotuned,
    descriptors,
    elementwise,
    gluon,
    launches,
    matmul,
    printf,
    reductions,
    scalars,
    scratch,
    tuples,
)
from tests.triton_suite.rows import Row

MODULES: Final[tuple[ModuleType, ...]] = (
    elementwise,
    reductions,
    matmul,
    descriptors,
    tuples,
    scalars,
    launches,
    printf,
    autotuned,
    scratch,
    gluon,
)

ROWS: Final[dict[str, Row]] = {
    f"{module.__name__.rpartition('.')[2]}-{row.name}": row
    for module in MODULES
    for row in module.ROWS
}


def _functions() -> Iterator[Any]:
    for module in MODULES:
        for name, value in vars(module).items():
            function = value
            while isinstance(function, Autotuner | Heuristics):
                yield function
                function = function.fn
            if isinstance(function, JITFunction) and name.endswith("_kernel"):
                yield function


FUNCTIONS: Final = tuple(_functions())
KERNELS: Final = tuple(function for function in FUNCTIONS if isinstance(function, JITFunction))


def forget_kernels() -> None:
    """Have Triton make each kernel's launcher anew, and tune again.

    What it compiled is still on disk: two launchers get the same images.
    """
    for function in FUNCTIONS:
        if isinstance(function, Autotuner):
            function.cache.clear()
    for kernel in KERNELS:
        kernel.device_caches.clear()


def launchers() -> list[Any]:
    """Return what has launched since kernels were forgotten: one for each compiled kernel."""
    compiled = [
        kernel
        for function in KERNELS
        for kernels, *_ in function.device_caches.values()
        for kernel in kernels.values()
    ]
    # Made when a kernel is first launched: some were only compiled.
    return [kernel._run for kernel in compiled if kernel._run is not None]
