"""launchgen's launchers inside Triton: ``launchgen.triton.install()``.

Triton makes one launcher object for each kernel that it has compiled, of the class that its driver
names, and calls it for every launch.  From 3.4 to 3.9 that call is the same, so putting another
class there is all that is needed; launchers that exist already stay as they are.

Triton is imported only when something here is called.  ``LaunchgenDriver`` is a whole driver, for
``triton.runtime.driver.set_active``: launchers, and the calls beside a launch.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from typing import Any, Final

from launchgen.artifacts import LAUNCHER
from launchgen.compiled import compiled_module
from launchgen.diagnostics import Diagnostic, UnsupportedError
from launchgen.extensions import load_extension
from launchgen.locks import ForkableLock
from launchgen.metadata import Version, is_sanitized
from launchgen.triton_source import launcher_files

FIRST, LAST = (3, 4), (3, 9)
"""Releases whose launcher objects are called alike, both included."""

_CLASS: Final = "CudaLauncher"
_lock: Final = ForkableLock()


def install() -> None:
    """Let Triton launch the kernels that it compiles from now on through launchgen's launchers.

    Raises UnsupportedError for a release that it is not made for.
    """
    version = _version()
    backend = _backend()
    with _lock:
        original = getattr(backend, _CLASS)
        if isinstance(original, _Replacement):
            return
        replacement = _Replacement(original, version)
        setattr(backend, _CLASS, replacement)
        _swap(original, replacement)


def uninstall() -> None:
    """Give Triton its own launcher class back; kernels that were launched keep what they have."""
    backend = _backend()
    with _lock:
        replacement = getattr(backend, _CLASS)
        if isinstance(replacement, _Replacement):
            setattr(backend, _CLASS, replacement.original)
            _swap(replacement, replacement.original)


class _Replacement:
    """What stands where Triton expects its launcher class: called, it makes a launcher object."""

    def __init__(self, original: Any, version: Version) -> None:
        self.original = original
        self.version = version

    def __call__(self, src: Any, metadata: Any) -> Any:
        if _is_instrumented(metadata):
            # Triton's sanitizer hands its kernels more than launchers know of.
            return self.original(src, metadata)
        return make_launcher(src, metadata, version=self.version)

    def __repr__(self) -> str:
        return f"<launchgen's launchers in place of {self.original!r}>"


def make_launcher(
    src: Any, metadata: Any, *, version: Version | None = None
) -> Callable[..., None]:
    """Return the launcher of a compiled kernel, called as Triton's own launcher objects are.

    ``src`` and ``metadata`` are what Triton gives its launcher class; ``version`` is the release
    that compiled the kernel, the installed one without it.  The launcher is compiled unless that
    was done before, by this or another process.

    Raises SignatureError or MetadataError for a kernel that no right launcher can be made for, and
    BuildError where it cannot be compiled.
    """
    release = _version() if version is None else version
    files = launcher_files(src, metadata, release)
    module = load_extension(compiled_module(files, environment=os.environ), name=LAUNCHER.module)
    scratch = (
        getattr(metadata, "global_scratch_size", 0) or 0,
        getattr(metadata, "global_scratch_align", 1) or 1,
        getattr(metadata, "profile_scratch_size", 0) or 0,
        getattr(metadata, "profile_scratch_align", 1) or 1,
    )
    launcher: Callable[..., None] = module.Launcher(
        _ctas(metadata),
        bool(getattr(metadata, "launch_cooperative_grid", False)),
        bool(getattr(metadata, "launch_pdl", False)),
        *scratch,
        _allocate_global,
        _allocate_profile,
    )
    return launcher


def _ctas(metadata: Any) -> int:
    """Return the CTAs that the grid's programs have, each of which needs scratch memory."""
    dimensions = getattr(metadata, "cluster_dims", None)
    if dimensions is None:
        return int(getattr(metadata, "num_ctas", 1))
    x, y, z = dimensions
    return int(x * y * z)


def __getattr__(name: str) -> Any:
    """Return the driver's class, which cannot be made before Triton is imported."""
    if name != "LaunchgenDriver":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _driver_class()


@cache
def _driver_class() -> type:
    from launchgen.triton_driver import make_driver_class  # noqa: PLC0415

    version = _version()

    def launcher(src: Any, metadata: Any) -> Callable[..., None]:
        if _is_instrumented(metadata):
            problem = "kernels instrumented by Triton's sanitizer take parameters of their own"
            hint = "use Triton's own driver for them"
            raise UnsupportedError(Diagnostic(problem, hint=hint))
        return make_launcher(src, metadata, version=version)

    return make_driver_class(launcher)


# --- Triton ---------------------------------------------------------------------------------------


def _version() -> Version:
    import triton  # noqa: PLC0415

    major, minor, *_ = triton.__version__.split(".")
    version = int(major), int(minor)
    if not FIRST <= version <= LAST:
        supported = "{}.{} to {}.{}".format(*FIRST, *LAST)
        raise UnsupportedError(
            Diagnostic(
                f"Triton {triton.__version__} is installed; launchgen's launchers fit {supported}",
                hint="install one of these releases, or launch without launchgen.triton",
            )
        )
    return version


def _backend() -> Any:
    import triton.backends.nvidia.driver as backend  # noqa: PLC0415

    return backend


def _swap(old: Any, new: Any) -> None:
    """Change the class of drivers that exist already; what would create one is not touched."""
    from triton.runtime import driver  # noqa: PLC0415

    for name in ("_default", "_active", "default", "active"):
        made = vars(driver).get(name)
        # Up to 3.4 a proxy stands for a driver that need not exist yet.
        made = vars(made).get("_obj") if made is not None and "_obj" in vars(made) else made
        if made is not None and vars(made).get("launcher_cls") is old:
            made.launcher_cls = new


def _is_instrumented(metadata: Any) -> bool:
    return is_sanitized(getattr(metadata, "instrumentation_mode", "") or "")


def _allocate_global(size: int, alignment: int, stream: int) -> Any:
    from triton.runtime import _allocation  # noqa: PLC0415

    return _current(_allocation._allocator)(size, alignment, stream)


def _allocate_profile(size: int, alignment: int, stream: int) -> Any:
    from triton.runtime import _allocation, driver  # noqa: PLC0415

    # From 3.8 on the driver has memory of its own where nobody set an allocator.
    if hasattr(_allocation, "has_profile_allocator") and not _allocation.has_profile_allocator():
        return driver.active.allocate_default_profile_scratch(size, alignment, stream)
    return _current(_allocation._profile_allocator)(size, alignment, stream)


def _current(allocator: Any) -> Callable[[int, int, int], Any]:
    """Return the allocator that is set: Triton keeps it by context or in a wrapper."""
    is_held = isinstance(allocator, ContextVar) or type(allocator).__name__ == "_AllocatorWrapper"
    held: Callable[[int, int, int], Any] = allocator.get() if is_held else allocator
    return held
