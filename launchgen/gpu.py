"""The CUDA driver by way of ctypes, as much of it as timing a launch takes.

Every call that fails is a DriverError which says the call, the error's name and its code.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from types import TracebackType
from typing import Any, Final

from launchgen.bench_records import Device
from launchgen.diagnostics import Diagnostic, DriverError, UsageError
from launchgen.drivers import find_driver
from launchgen.libcuda import LIBRARY

_CLOCK_RATE: Final = 13
_L2_CACHE_SIZE: Final = 38
_CAPABILITY: Final = (75, 76)
_NON_BLOCKING: Final = 1
_LONGEST_NAME: Final = 256

_FAULTS: Final = range(700, 720)
"""What a kernel did wrong; the context is of no use any more."""
_OUT_OF_MEMORY: Final = 2
_HINTS: Final = {
    _OUT_OF_MEMORY: "give less memory to each pointer, as in --buffer 64MiB, or to a descriptor "
    "smaller sizes (--set)",
    **dict.fromkeys(
        _FAULTS,
        "the kernel went wrong: memory that is too small for its sizes (--buffer), or null?",
    ),
}


def load_driver() -> ctypes.CDLL:
    """Return the driver's library, that which launchers find; raises DriverError without one."""
    with contextlib.suppress(OSError):
        # A process that has a driver keeps it.
        return ctypes.CDLL(LIBRARY, mode=os.RTLD_NOLOAD)
    driver, _ = find_driver(None, os.environ)
    if driver.path is None:
        raise DriverError(
            Diagnostic(
                "no NVIDIA driver was found",
                hint="bench runs the kernel: it needs a machine with a GPU and its driver; "
                "'launchgen doctor' shows where it was looked for",
            )
        )
    return ctypes.CDLL(driver.path)


class Gpu:
    """A device's primary context, current in this thread inside a ``with``, and what is in it."""

    def __init__(self, ordinal: int) -> None:
        """Start the driver and look for the device.

        Raises UsageError for a device that is not there, DriverError without a driver.
        """
        self._library: Final = load_driver()
        self._undo: Final = contextlib.ExitStack()
        # Of all that is called the newest, and called last: better to miss it now.
        self._function("cuDevicePrimaryCtxRelease_v2")
        self._call("cuInit", 0)
        count = c_int()
        self._call("cuDeviceGetCount", byref(count))
        if ordinal >= count.value:
            problem = f"--device: there is no device {ordinal}; the driver counts {count.value}"
            raise UsageError(Diagnostic(problem, hint="the first one is device 0"))
        self._ordinal: Final = ordinal
        self._stream: Final = c_void_p()

    def __enter__(self) -> Gpu:
        """Make the primary context current, with a stream of its own."""
        context = c_void_p()
        with contextlib.ExitStack() as undo:
            self._call("cuDevicePrimaryCtxRetain", byref(context), self._ordinal)
            undo.callback(self._try, "cuDevicePrimaryCtxRelease_v2", self._ordinal)
            self._call("cuCtxPushCurrent_v2", context)
            undo.callback(self._try, "cuCtxPopCurrent_v2", byref(c_void_p()))
            self._call("cuStreamCreate", byref(self._stream), _NON_BLOCKING)
            undo.callback(self._try, "cuStreamDestroy_v2", self._stream)
            self._undo.push(undo.pop_all())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give back everything, last first; what fails here was told before."""
        self._undo.close()

    @property
    def stream(self) -> int:
        """The handle of the stream that everything here goes to."""
        return self._stream.value or 0

    def describe(self) -> Device:
        """Return what device it is."""
        name = ctypes.create_string_buffer(_LONGEST_NAME)
        self._call("cuDeviceGetName", name, len(name), self._ordinal)
        major, minor = map(self._attribute, _CAPABILITY)
        return Device(
            ordinal=self._ordinal,
            name=name.value.decode(errors="backslashreplace"),
            capability=(major, minor),
            l2_bytes=self._attribute(_L2_CACHE_SIZE),
            clock_khz=self._attribute(_CLOCK_RATE),
        )

    def allocate(self, size: int) -> int:
        """Return the address of ``size`` bytes of zeros; of none: null."""
        address = c_uint64()
        if size:
            self._call("cuMemAlloc_v2", byref(address), c_size_t(size))
            self._undo.callback(self._try, "cuMemFree_v2", address)
            self.fill(address.value, size)
        return address.value

    def fill(self, address: int, size: int) -> None:
        """Write zeros, in the order of the stream."""
        stream = self._stream
        self._call("cuMemsetD8Async", c_uint64(address), c_uint(0), c_size_t(size), stream)

    def new_events(self, count: int) -> list[c_void_p]:
        """Return events, which :meth:`record` and :meth:`microseconds` take."""
        events = [c_void_p() for _ in range(count)]
        for event in events:
            self._call("cuEventCreate", byref(event), 0)
            self._undo.callback(self._try, "cuEventDestroy_v2", event)
        return events

    def record(self, event: c_void_p) -> None:
        """Let the event happen when the stream comes to it."""
        self._call("cuEventRecord", event, self._stream)

    def microseconds(self, start: c_void_p, end: c_void_p) -> float:
        """Return the time between two events that have happened, to the nanosecond."""
        milliseconds = c_float()
        self._call("cuEventElapsedTime", byref(milliseconds), start, end)
        return round(1000 * milliseconds.value, 3)

    def synchronize(self) -> None:
        """Wait until the stream has done everything."""
        self._call("cuStreamSynchronize", self._stream)

    def _attribute(self, number: int) -> int:
        value = c_int()
        self._call("cuDeviceGetAttribute", byref(value), number, self._ordinal)
        return value.value

    def _call(self, name: str, *arguments: object) -> None:
        status = self._try(name, *arguments)
        if status:
            error, text = (self._text(call, status) for call in _TEXTS)
            raise DriverError(
                Diagnostic(
                    f"{name} failed: {error or 'unknown error'} ({status}): "
                    f"{text or 'the driver has no text for it'}",
                    hint=_HINTS.get(status),
                )
            )

    def _text(self, name: str, status: int) -> str:
        text = c_char_p()
        self._try(name, status, byref(text))
        return (text.value or b"").decode(errors="backslashreplace")

    def _try(self, name: str, *arguments: object) -> int:
        status: int = self._function(name)(*arguments)
        return status

    def _function(self, name: str) -> Any:  # noqa: ANN401 - ctypes has no public name for it
        function = getattr(self._library, name, None)
        if function is None:
            raise DriverError(
                Diagnostic(f"the driver has no {name}", hint="bench needs one of CUDA 11 or newer")
            )
        return function


_TEXTS: Final = ("cuGetErrorName", "cuGetErrorString")
