"""The recording driver, as a test holds it."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from launchgen.testing._build import build, check_symbol, symbols_newer_than
from launchgen.testing._library import Library, load_library
from launchgen.testing._sanitizers import Sanitizer, runtime_of_process
from launchgen.testing.records import Call, Launch, parse_log

_RECORD: Final = "LAUNCHGEN_RECORD"
_EVERY: Final = "*"
_MAX_ALIGNMENT: Final = 64
_MAX_MILLISECONDS: Final = 1e6
_MAX_MICROSECONDS: Final = 1e9
_LISTS: Final = ("FAIL", "SLOW")
"""Settings of several entries, one after the other."""


class RecordingDriver:
    """A ``libcuda.so.1`` that launches nothing and writes every call down.

    It plays ``devices`` devices of ``capability`` (90 for sm_90; one number for all, or one for
    each) behind a driver of ``driver_version`` (13000 is CUDA 13.0), which lacks the symbols that
    are newer and those named ``missing``.  ``opt_in_shared`` is the most shared memory of a block
    in bytes, for all devices or for each; None stands for what such devices have.
    ``static_shared`` replaces what the image says that each kernel uses itself, in bytes.
    ``sanitize`` compiles it with a sanitizer, for programs that are compiled with it; a process
    that was started under one has such a driver without being asked, which it can load.

    In this process, for Python launchers: :meth:`load`, call the launcher, look at
    :attr:`launches`.  For other processes: start them in :meth:`environment` and read what they
    wrote with :func:`launchgen.testing.read_log`.

    A process holds one ``libcuda.so.1``.  Drivers that differ in devices or texts may follow each
    other in it, where each :meth:`load` starts afresh; those that differ in missing symbols need a
    process each.
    """

    def __init__(  # noqa: PLR0913 - one keyword for each thing in which drivers differ
        self,
        *,
        devices: int = 1,
        capability: int | Sequence[int] = 90,
        driver_version: int = 13000,
        opt_in_shared: int | Sequence[int] | None = None,
        static_shared: int | None = None,
        missing: Sequence[str] = (),
        sanitize: Sanitizer | None = None,
    ) -> None:
        """Build the driver if no process has yet; see the class.

        Raises ``ValueError`` for a symbol that is none, ``BuildError`` without a C compiler.
        """
        runtime = runtime_of_process()
        if sanitize is None and runtime is not None:
            sanitize = runtime.sanitizer
        self.path: Final = build(
            missing=(*missing, *symbols_newer_than(driver_version)), sanitize=sanitize
        )
        """The folder that holds ``libcuda.so.1``."""
        self._sanitize: Final = sanitize
        has_it = runtime is not None and runtime.sanitizer == sanitize
        self._runtime: Final = runtime if has_it else None
        settings = {
            "DEVICES": str(devices),
            "CAPABILITY": _numbers(capability),
            "DRIVER_VERSION": str(driver_version),
        }
        if opt_in_shared is not None:
            settings["OPT_IN_SHARED"] = _numbers(opt_in_shared)
        if static_shared is not None:
            settings["STATIC_SHARED"] = str(static_shared)
        self._settings: Final[Mapping[str, str]] = settings
        self._switched: list[tuple[str, str]] = []
        self._loaded: Library | None = None

    # ---- where it is used ----------------------------------------------------------------------

    def environment(self, *, log: Path | str | None = None) -> dict[str, str]:
        """Return this process's environment with this driver as its ``libcuda.so.1``.

        Calls are appended to the file ``log``.  What :meth:`fail`, :meth:`slow` and the like asked
        for is in it, and holds for each process from its start.
        """
        variables = {
            name: value for name, value in os.environ.items() if not name.startswith(_RECORD)
        }
        search = variables.get("LD_LIBRARY_PATH")
        variables["LD_LIBRARY_PATH"] = f"{self.path}:{search}" if search else str(self.path)
        for name, value in (*self._settings.items(), *self._switched):
            variable = f"{_RECORD}_{name}"
            before = variables.get(variable) if name in _LISTS else None
            variables[variable] = value if before is None else f"{before},{value}"
        if self._runtime is not None:
            variables |= self._runtime.preload(variables)
        if log is not None:
            variables[_RECORD] = str(Path(log).absolute())
        return variables

    def load(self) -> RecordingDriver:
        """Make this the driver of this process, as if the process had just started; return it.

        Whatever asks the dynamic loader for ``libcuda.so.1`` from now on gets this one.  Handles
        that a launcher got before are void, so load it anew, or use :meth:`reset` between tests.
        Raises ``RuntimeError`` where the process has another ``libcuda.so.1`` already.
        """
        if self._sanitize is not None and self._runtime is None:
            raise RuntimeError(
                f"a driver with the {self._sanitize} sanitizer is for programs compiled with it, "
                "which start in environment(), and for those that have its runtime preloaded"
            )
        self._loaded = load_library(self.path, owner=self)
        self._loaded.restart()
        for name, value in (*self._settings.items(), *self._switched):
            self._loaded.set(name, value)
        return self

    @property
    def library(self) -> ctypes.CDLL:
        """The loaded library, for a test that calls the driver itself."""
        return self._library.cdll

    @property
    def is_loaded(self) -> bool:
        """Whether this process's driver is this one, and no later one took its place."""
        return self._loaded is not None and self._loaded.is_owned_by(self)

    def reset(self) -> None:
        """Forget log, failures, delays, memory, and each thread's current context.

        Contexts, streams and what was loaded live on, so a launcher need not load again.
        """
        self._switched.clear()
        if self.is_loaded:
            self._library.reset()

    # ---- what was called -----------------------------------------------------------------------

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call since the last :meth:`reset` or :meth:`load`, in order."""
        return parse_log(self._library.log().splitlines())

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches among :attr:`calls` that succeeded, in order."""
        return tuple(call.launch for call in self.calls if call.launch is not None)

    # ---- how it behaves ------------------------------------------------------------------------

    def fail(self, name: str, code: int, *, nth: int = 1, times: int | None = 1) -> None:
        """Let calls of ``name`` return ``code``: from the ``nth`` on, ``times`` of them.

        ``name`` is a symbol (``cuMemAlloc_v2``), or ``*`` for all of them together; ``times`` None
        means for good.  Such calls have no other effect.
        """
        _check_name(name)
        if code < 1 or nth < 1 or (times is not None and times < 0):
            raise ValueError("code and nth start at 1, times at 0")
        self._switch("FAIL", f"{name}:{code}:{nth}:{'always' if times is None else times}")

    def slow(self, name: str, milliseconds: float) -> None:
        """Let each call of ``name``, or of ``*``, take so long; other threads are not held up."""
        _check_name(name)
        if not 0 <= milliseconds < _MAX_MILLISECONDS:
            raise ValueError(f"a delay is at least 0 and below {_MAX_MILLISECONDS:.0f} ms")
        self._switch("SLOW", f"{name}:{milliseconds:.6f}")

    def forget_texts(self) -> None:
        """Let the driver have neither name nor text for any error."""
        self._switch("TEXTS", "0")

    def start_capture(self) -> None:
        """Let every stream say that it is being captured into a graph."""
        self._switch("CAPTURING", "1")

    def reuse_handles(self) -> None:
        """Let what is loaded get the handles of functions and kernels that were unloaded.

        So does the real driver (580, on an H200), whose handles are addresses; without this none is
        given twice, which tells a stale handle from a live one.
        """
        self._switch("REUSES_HANDLES", "1")

    def take_times(self, microseconds: Sequence[float]) -> None:
        """Let one launch after the other take so long, the last time for all that follow.

        What is between two events takes that long; without, each launch takes 10 microseconds.
        """
        if not microseconds or not all(0 <= time < _MAX_MICROSECONDS for time in microseconds):
            raise ValueError(
                f"a launch takes at least 0 and less than {_MAX_MICROSECONDS:.0f} microseconds"
            )
        self._switch("KERNEL_TIMES", ",".join(f"{time:.6f}" for time in microseconds))

    @contextlib.contextmanager
    def off(self) -> Iterator[None]:
        """Record nothing and check no launch inside the block: a driver that costs nothing."""
        self._library.set("OFF", "1")
        try:
            yield
        finally:
            self._library.set("OFF", "0")

    # ---- what a host program has ---------------------------------------------------------------

    def primary_context(self, device: int = 0) -> int:
        """Retain a device's primary context and return its handle; not recorded."""
        return self._library.context(device, primary=True)

    def new_context(self, device: int = 0) -> int:
        """Return a context of its own on a device, current nowhere; not recorded."""
        return self._library.context(device, primary=False)

    def new_stream(self, context: int) -> int:
        """Return a stream of a context; not recorded."""
        return self._library.stream(context)

    @property
    def current_context(self) -> int | None:
        """The calling thread's current context; setting it is not recorded."""
        return self._library.current()

    @current_context.setter
    def current_context(self, context: int | None) -> None:
        self._library.set_current(context)

    def add_memory(
        self,
        address: int,
        size: int,
        *,
        device: int = 0,
        host: bool = False,
        managed_as: int | None = None,
    ) -> None:
        """Let ``cuPointerGetAttribute`` know ``size`` bytes at ``address``.

        They belong to ``device`` or, with ``host``, are pinned memory of the host.
        ``managed_as`` is where kernels find memory that both share; pinned memory without it keeps
        its address.
        """
        self._library.add_memory(address, size, device=device, host=host, managed_as=managed_as)

    def make_function(self, name: str, sizes: Sequence[int | tuple[int, int]]) -> int:
        """Return a ``CUfunction`` that can be launched in every context, made up without an image.

        ``sizes`` are its parameters' in bytes, or pairs of size and alignment.  A bare size is
        aligned to the greatest power of two that divides it, at most 64.
        """
        offsets: list[int] = []
        widths: list[int] = []
        end = 0
        for entry in sizes:
            size, align = entry if isinstance(entry, tuple) else (entry, _alignment(entry))
            if size < 1 or align < 1:
                raise ValueError("a parameter has at least one byte")
            offsets.append(-(-end // align) * align)
            widths.append(size)
            end = offsets[-1] + size
        return self._library.make_function(name, offsets, widths)

    def _switch(self, name: str, value: str) -> None:
        self._switched.append((name, value))
        if self.is_loaded:
            self._library.set(name, value)

    @property
    def _library(self) -> Library:
        if self._loaded is None:
            raise RuntimeError("this recording driver is not loaded: call load() first")
        if not self.is_loaded:
            raise RuntimeError("another recording driver has been loaded since: call load() again")
        return self._loaded


def _check_name(name: str) -> None:
    if name != _EVERY:
        check_symbol(name)


def _numbers(value: int | Sequence[int]) -> str:
    values = (value,) if isinstance(value, int) else value
    return ",".join(map(str, values))


def _alignment(size: int) -> int:
    return min(size & -size, _MAX_ALIGNMENT) if size > 0 else 1
