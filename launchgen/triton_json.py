"""Triton's JSON of a compiled kernel, releases 3.2 to 3.9, to a typed record of what it says.

Only types are checked here; what the values mean is decided in ``metadata.py``.  To read another
field, add it to :class:`TritonMetadata` under the name it has in the JSON, with None as its default
because releases differ.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from launchgen.diagnostics import Diagnostic, InputError, Source, Span


class TensorDescriptorMeta(Struct, frozen=True):
    """An entry of ``tensordesc_meta``: how a descriptor's tensor map is filled."""

    swizzle: int
    elem_size: int
    elem_type: int
    block_size: tuple[int, ...]
    fp4_padded: bool = False
    is_im2col: bool = False


class TritonTarget(Struct, frozen=True):
    """``target`` of the JSON; ``arch`` is a text where the backend is not NVIDIA's."""

    backend: str | None = None
    arch: int | str | None = None
    warp_size: int | None = None


class TritonMetadata(Struct, frozen=True):
    """The fields of Triton's JSON that a launch depends on, as written; None: not there.

    Fields that are not listed are ignored.
    """

    name: str | None = None
    target: TritonTarget | None = None
    num_warps: int | None = None
    warp_size: int | None = None
    """From 3.6 on; before, only ``target`` has it."""
    num_ctas: int | None = None
    cluster_dims: tuple[int, int, int] | None = None
    """Up to 3.5."""
    ctas_per_cga: tuple[int, int, int] | None = None
    """Of Meta's Triton: a cluster that the grid does not count."""
    preferred_ctas_per_cga: tuple[int, int, int] | None = None
    launch_cluster: bool | int | None = None
    """Of Meta's Triton: launched in clusters, of the size that the kernel was compiled for."""
    shared: int | None = None
    launch_cooperative_grid: bool | int | None = None
    launch_pdl: bool | int | None = None
    global_scratch_size: int | None = None
    """From 3.3 on."""
    global_scratch_align: int | None = None
    profile_scratch_size: int | None = None
    """From 3.5 on."""
    profile_scratch_align: int | None = None
    tensordesc_meta: tuple[TensorDescriptorMeta, ...] | None = None
    """From 3.4 on."""
    triton_version: str | None = None
    """From 3.3 on."""
    instrumentation_mode: str | None = None
    abi_version: Any = None
    """Of Meta's "Level 0" metadata, which has other fields: ``level0.py``."""
    entry_name: Any = None
    tmem_size: int | None = None
    """Tensor memory that the kernel takes for itself: nothing for a launch to do."""


def read_metadata(source: Source) -> TritonMetadata:
    """Decode the JSON that Triton writes beside a compiled kernel; unknown fields are ignored.

    Raises InputError for text that is not JSON (with line and column) and for a field of a wrong
    type (with its path, what was expected and what was found).
    """
    return decode_json(source, TritonMetadata)


Record = TypeVar("Record", bound=Struct)


def decode_json(source: Source, record: type[Record]) -> Record:
    """Decode launch metadata to ``record``; raises InputError as :func:`read_metadata` does."""
    try:
        return msgspec.json.decode(source.text, type=record)
    except msgspec.ValidationError as error:
        problem = Diagnostic(
            _wrong_type(str(error)),
            source=source,
            hint="launch metadata is the JSON that Triton writes beside a compiled kernel",
        )
    except msgspec.DecodeError as error:
        problem = _not_json(source, str(error))
    except RecursionError:
        problem = Diagnostic("this JSON is nested too deeply", source=source)
    except UnicodeEncodeError as error:
        span = Span(error.start, error.end)
        problem = Diagnostic("not JSON: half a surrogate pair", source=source, span=span)
    raise InputError(problem)


_MISMATCH: Final = re.compile(r"Expected `(.+)`, got `(.+?)`")
_PATH: Final = re.compile(r"(.*) - at `(.+)`", re.DOTALL)
_BYTE: Final = re.compile(r"(?:JSON is malformed: )?(.*) \(byte ([0-9]+)\)", re.DOTALL)


def _wrong_type(error: str) -> str:
    """Reword msgspec's error: path first, and without the null that any field may be."""
    located = _PATH.fullmatch(error)
    problem, path = (located[1], located[2]) if located else (error, "$")
    mismatch = _MISMATCH.fullmatch(problem)
    if mismatch:
        expected = mismatch[1].removesuffix(" | null")
        problem = f"expected {expected}, found {mismatch[2]}"
    else:
        problem = problem[0].lower() + problem[1:].replace("`", "")
    return f"{path}: {problem}"


def _not_json(source: Source, error: str) -> Diagnostic:
    """Place msgspec's error: it counts bytes, a caret counts characters."""
    if not source.text.strip():
        return Diagnostic("not JSON: it is empty", source=source)
    located = _BYTE.fullmatch(error)
    if located is None:
        # What a byte is named for is an error inside the text, all others are about its end.
        at, problem = len(source.text), "it ends too early"
    else:
        problem = located[1]
        before = source.text.encode()[: int(located[2])]
        at = len(before.decode(errors="ignore"))
    span = Span(at, min(at + 1, len(source.text)))
    return Diagnostic(f"not JSON: {problem}", source=source, span=span)
