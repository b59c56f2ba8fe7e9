"""Tests for launches, without a GPU: a CUDA driver that writes down what it was asked to do.

In Python, where the fixture ``recording_driver`` does the loading in a pytest test::

    from launchgen.testing import RecordingDriver

    driver = RecordingDriver().load()
    import add  # a Python launcher that launchgen emitted

    add.launch(4, None, 0x1000, 0x2000, 0x3000, 1024, 2.0)
    (launch,) = driver.launches
    assert launch.grid == (4, 1, 1)
    assert launch.values[3] == (1024).to_bytes(4, "little")

A program in another language runs in :meth:`RecordingDriver.environment`, and :func:`read_log`
reads what it did.  That environment is ``LD_LIBRARY_PATH`` and these variables, which any test can
set itself:

=================================== ==========================================================
``LAUNCHGEN_RECORD``                file to which every call is appended, a JSON object a line
``LAUNCHGEN_RECORD_DEVICES``        how many devices there are, 0 to 16
``LAUNCHGEN_RECORD_CAPABILITY``     ``9.0`` or ``9.0,8.0``; the last one holds for the rest
``LAUNCHGEN_RECORD_OPT_IN_SHARED``  most shared memory of a block in bytes, likewise
``LAUNCHGEN_RECORD_STATIC_SHARED``  bytes that each kernel uses itself, whatever its image says
``LAUNCHGEN_RECORD_DRIVER_VERSION`` ``12040`` for CUDA 12.4, as ``cuDriverGetVersion`` has it
``LAUNCHGEN_RECORD_FAIL``           ``symbol:code``, ``symbol:code:nth``, ``symbol:code:nth:times``
                                    or ``symbol:code:nth:always``, comma-separated; ``*`` is any
``LAUNCHGEN_RECORD_SLOW``           ``symbol:milliseconds``, likewise
``LAUNCHGEN_RECORD_TEXTS``          0: errors have neither name nor text
``LAUNCHGEN_RECORD_CAPTURING``      1: streams say that they are being captured
``LAUNCHGEN_RECORD_KERNEL_TIMES``   ``5,7.5``: microseconds of one launch after the other
``LAUNCHGEN_RECORD_OFF``            1: nothing is recorded, and every launch succeeds at once
=================================== ==========================================================

The driver is C of our own in ``driver/``, compiled with the C compiler at hand when it is first
used.  It takes real images, cubins and PTX, apart for the sizes of their parameters, and refuses
what a real driver refuses: wrong contexts, grids, blocks, clusters, shared memory beyond the
device's.  Where a real one crashes, on a handle after its module was unloaded, it returns 400.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launchgen.testing._build import build
    from launchgen.testing.recording import RecordingDriver
    from launchgen.testing.records import Attribute, Call, Launch, Parameter, read_log

__all__ = [
    "Attribute",
    "Call",
    "Launch",
    "Parameter",
    "RecordingDriver",
    "build",
    "read_log",
]

_MODULES = {
    "build": "launchgen.testing._build",
    "RecordingDriver": "launchgen.testing.recording",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is used: pytest imports this package in every run (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module 'launchgen.testing' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only who asks pays for it

    value: object = getattr(import_module(_MODULES.get(name, "launchgen.testing.records")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
