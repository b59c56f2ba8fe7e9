"""The recording driver inside this process: its ``lgr_control_*`` functions, typed."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from launchgen.testing._build import LIBRARY

_VOID = ctypes.c_void_p
_U64 = ctypes.c_uint64
_INT = ctypes.c_int

_PROTOTYPES: Final[Mapping[str, tuple[Any, tuple[Any, ...]]]] = {
    "set": (_INT, (ctypes.c_char_p, ctypes.c_char_p)),
    "reset": (None, ()),
    "restart": (None, ()),
    "log": (_VOID, (_U64,)),
    "free": (None, (_VOID,)),
    "add_memory": (_INT, (_U64, _U64, _INT, _INT, _INT, _U64)),
    "context": (_VOID, (_INT, _INT)),
    "stream": (_VOID, (_VOID,)),
    "set_current": (_INT, (_VOID,)),
    "current": (_VOID, ()),
    "make_function": (
        _VOID,
        (ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint32), ctypes.POINTER(ctypes.c_uint32), _U64),
    ),
}
_PREFIX: Final = "lgr_control_"


class Library:
    """The process's one recording driver; whoever loaded it last owns it."""

    def __init__(self, path: Path) -> None:
        """Load the ``libcuda.so.1`` in the folder ``path``; see :func:`load_library`."""
        self.path: Final = path
        self.cdll: Final = ctypes.CDLL(str(path / LIBRARY), mode=ctypes.RTLD_GLOBAL)
        self._owner: object = None
        for name, (result, arguments) in _PROTOTYPES.items():
            function = self._control(name)
            function.restype = result
            function.argtypes = arguments

    def _control(self, name: str) -> ctypes._NamedFuncPointer:
        function: ctypes._NamedFuncPointer = getattr(self.cdll, _PREFIX + name)
        return function

    def is_owned_by(self, owner: object) -> bool:
        """Return whether ``owner`` was the last to load it."""
        return self._owner is owner

    def take(self, owner: object) -> None:
        """Make ``owner`` the one that it belongs to."""
        self._owner = owner

    def set(self, name: str, value: str) -> None:
        """Change a setting; raises ``ValueError`` where the driver does not take it."""
        if self._control("set")(name.encode(), value.encode()) != 0:
            raise ValueError(f"the recording driver does not take {name} {value!r}")

    def reset(self) -> None:
        """Forget what one test did."""
        self._control("reset")()

    def restart(self) -> None:
        """Begin as a new process would."""
        self._control("restart")()

    def log(self) -> str:
        """Return the log, a line for each call."""
        text = self._control("log")(0)
        if not text:
            return ""
        try:
            return ctypes.string_at(text).decode("ascii")
        finally:
            self._control("free")(text)

    def context(self, device: int, *, primary: bool) -> int:
        """Return a context's handle; raises ``ValueError`` for a device that is not played."""
        handle: int | None = self._control("context")(device, primary)
        if handle is None:
            raise ValueError(f"the recording driver plays no device {device}")
        return handle

    def stream(self, context: int) -> int:
        """Return a new stream's handle; raises ``ValueError`` where there is no such context."""
        handle: int | None = self._control("stream")(context)
        if handle is None:
            raise ValueError(f"no live context has the handle {context:#x}")
        return handle

    def set_current(self, context: int | None) -> None:
        """Make a context the calling thread's; raises ``ValueError`` where there is none such."""
        if self._control("set_current")(context) != 0:
            raise ValueError(f"no live context has the handle {context:#x}")

    def current(self) -> int | None:
        """Return the calling thread's context."""
        handle: int | None = self._control("current")()
        return handle

    def add_memory(
        self, address: int, size: int, *, device: int, host: bool, managed_as: int | None
    ) -> None:
        """Make memory known; raises ``ValueError`` for a range or device that is none."""
        device_address = address if managed_as is None else managed_as
        managed = managed_as is not None
        if not (0 <= address < 2**64 and 0 < size < 2**64) or self._control("add_memory")(
            address, size, device, host, managed, device_address
        ):
            raise ValueError(f"no memory of device {device}: {size} bytes at {address:#x}")

    def make_function(self, name: str, offsets: Sequence[int], sizes: Sequence[int]) -> int:
        """Return the handle of a made-up function."""
        array = ctypes.c_uint32 * len(sizes)
        handle: int | None = self._control("make_function")(
            name.encode(), array(*offsets), array(*sizes), len(sizes)
        )
        if handle is None:
            raise MemoryError
        return handle


_process: list[Library] = []
"""The one of this process, once there is one."""


def load_library(path: Path, *, owner: object) -> Library:
    """Return this process's driver, which is that of the folder ``path``, and give it to ``owner``.

    Raises ``RuntimeError`` where the process has another one: a library cannot be taken out of a
    process again.
    """
    if not _process:
        library = Library(path)
        # By now the loader must know ours, and ours only, under the name that launchers ask for.
        if not hasattr(ctypes.CDLL(LIBRARY), f"{_PREFIX}set"):
            raise RuntimeError(
                f"this process has another {LIBRARY} already: load the recording driver before "
                "anything that uses CUDA"
            )
        _process.append(library)
    library = _process[0]
    if library.path != path:
        raise RuntimeError(
            f"this process has loaded the recording driver of '{library.path}', which lacks "
            "other symbols; run what needs this one in a process of its own, in environment()"
        )
    library.take(owner)
    return library
