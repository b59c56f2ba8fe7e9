"""The plan of the module that serves every kernel: the same for all of them."""

from __future__ import annotations

from typing import Final

from launchgen.fragments import resolve
from launchgen.naming import CIdentifier
from launchgen.provenance import kernel_less_banner
from launchgen.targets import Target
from launchgen.utils_records import UtilsPlan

_NAME: Final = "cuda_utils"
_FRAGMENTS: Final = (
    "prologue",
    "error",
    "context",
    "utils_module",
    "python_raise",
    "utils_device",
    "utils_binary",
    "utils_occupancy",
    "utils_fill",
    "utils_exec",
)


def plan_utils(target: Target, *, command: str, version: str | None = None) -> UtilsPlan:
    """Decide everything about the module.

    ``command`` is the line that makes it again, for the banner; ``version`` stands there where it
    is not None.
    """
    return UtilsPlan(
        name=CIdentifier(_NAME),
        banner=kernel_less_banner(target, command=command, version=version),
        portable_cluster=target.portable_cluster,
        default_shared=target.default_shared,
        largest_shared=target.largest_shared,
        fragments=resolve((*_FRAGMENTS, *target.fragments)),
    )
