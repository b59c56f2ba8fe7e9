"""The runtime's fragments: hand-written C under ``templates/runtime/``, in the order of output.

A fragment defines what later ones use.  Every function in it is used wherever it is printed, so
that the output compiles without a warning about unused code; what is needed less often is a
fragment of its own.  To add one, add a row and the file ``templates/runtime/NAME.c``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

FRAGMENTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "prologue": (),
        "cuda_types": (),
        "error": (),
        "process": (),
        "kernel": (),
        "cuda_driver": ("process",),
        "context": (),
        "place": (),
        "utils_driver": (),
        "cluster_size": (),
        "prepare": ("cluster_size",),
        "as_is": (),
        "parameters": (),
        "image": ("parameters",),
        "handle_state": ("parameters",),
        "handle": ("handle_state",),
        "handle_prepared": ("handle_state", "prepare"),
        "handle_cluster": ("handle_state", "cluster_size"),
        "launch": (),
        "call": (),
        "hints": (),
        "descriptor": (),
        "sizes": ("descriptor",),
        "map_rules": (),
        "map_encode": ("map_rules",),
        "tensor_map": ("descriptor", "map_encode"),
        "scratch": (),
        "round": (),
        "round_fp16": ("round",),
        "round_bf16": ("round",),
        "python_module": (),
        "utils_module": (),
        "python_raise": (),
        "python_complain": (),
        "python_take_exception": (),
        "python_explain": ("python_complain", "python_take_exception"),
        "python_lacks": ("python_take_exception",),
        "python_gather": (),
        "python_int": (),
        "python_sizes": ("python_complain", "python_int"),
        "python_grid": ("python_sizes",),
        "python_stream": ("python_complain",),
        "python_function": ("python_stream",),
        "python_signed": ("python_explain", "python_int"),
        "python_unsigned": ("python_explain",),
        "python_bool": ("python_unsigned",),
        "python_double": ("python_explain",),
        "python_address": ("python_complain",),
        "python_pointer": ("python_address", "python_explain", "python_lacks"),
        "python_bytes": ("python_explain",),
        "python_tensor_map": ("python_address", "python_bytes", "python_lacks"),
        "python_ints": ("python_explain", "python_int"),
        "python_descriptor": ("descriptor", "python_ints", "python_lacks", "python_pointer"),
        "python_im2col": ("python_descriptor",),
        "python_tuple": ("python_complain",),
        "python_scratch": ("python_pointer", "scratch"),
        "python_allocate": ("python_scratch",),
        "python_allocator": (),
        "python_call": (
            "call",
            "python_function",
            "python_signed",
            "python_sizes",
            "python_start",
        ),
        "python_launcher": ("python_call",),
        "python_launcher_scratch": ("python_launcher", "python_scratch"),
        "python_start": ("python_module", "python_raise"),
        "python_exec": ("python_start",),
        "utils_call": ("python_signed", "python_unsigned"),
        "utils_device": ("utils_call", "utils_driver"),
        "utils_binary": ("kernel", "prepare", "utils_call", "utils_driver"),
        "utils_occupancy": ("kernel", "prepare", "utils_call", "utils_driver"),
        "utils_map": (),
        "utils_fill": ("map_encode", "python_ints", "utils_call", "utils_map"),
        "utils_exec": (),
    }
)
"""What each fragment needs besides those that are always there, by name, in order of output."""


def resolve(wanted: Iterable[str]) -> tuple[str, ...]:
    """Return the wanted fragments and all they need, each once, in order of output."""
    found: set[str] = set()
    pending = list(wanted)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += FRAGMENTS[name]
    return tuple(name for name in FRAGMENTS if name in found)
