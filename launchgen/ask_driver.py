"""Asks a driver which GPUs it has: a program of its own, whose argument is the library's path.

``launchgen doctor`` runs it in a process of its own, which a broken driver may take down.  It
prints one line of JSON and needs the standard library alone.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any, Final

SUCCESS: Final = 0
_MAJOR: Final = 75
_MINOR: Final = 76
"""Attributes of devices in cuda.h: the compute capability."""
_NAME_SIZE: Final = 256


def ask(path: str) -> dict[str, Any]:
    """Return what the driver at ``path`` says: its version, what ``cuInit`` returned, its GPUs.

    ``error`` stands alone where it is no library that can be loaded.
    """
    try:
        return _answers(ctypes.CDLL(path))
    except (OSError, AttributeError) as error:
        return {"error": str(error)}


def _answers(driver: ctypes.CDLL) -> dict[str, Any]:
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    status = driver.cuInit(0)
    return {
        "version": version.value,
        "status": status,
        "name": _text(driver, "cuGetErrorName", status),
        "text": _text(driver, "cuGetErrorString", status),
        "gpus": _gpus(driver) if status == SUCCESS else [],
    }


def _text(driver: ctypes.CDLL, call: str, status: int) -> str:
    text = ctypes.c_char_p()
    getattr(driver, call)(status, ctypes.byref(text))
    return (text.value or b"").decode(errors="replace")


def _gpus(driver: ctypes.CDLL) -> list[dict[str, Any]]:
    count = ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    found = []
    for index in range(count.value):
        device = ctypes.c_int()
        driver.cuDeviceGet(ctypes.byref(device), index)
        name = ctypes.create_string_buffer(_NAME_SIZE)
        driver.cuDeviceGetName(name, _NAME_SIZE, device)
        capability = []
        for attribute in (_MAJOR, _MINOR):
            value = ctypes.c_int()
            driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
            capability.append(value.value)
        found.append({"name": name.value.decode(errors="replace"), "capability": capability})
    return found


if __name__ == "__main__":
    print(json.dumps(ask(sys.argv[1])))
