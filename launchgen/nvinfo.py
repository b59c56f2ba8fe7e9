"""Reads ``.nv.info.<kernel>``: what an image says of a kernel's parameters, block and cluster.

It and ``.nv.compat``, which tells devices apart, are lists of records: a byte for the format, one
for the attribute, and 16 bits, which are a value, or with the fourth format the number of bytes
that follow.  NVIDIA does not document it, so that attributes not known are skipped; those known
have to be exactly as they always are, because a launcher built on a guess would pass a kernel the
wrong bytes.

Source: the images that ptxas 11.8 to 13.5 write, and ``cuobjdump -elf``, which names the
attributes (``EIATTR_KPARAM_INFO`` and so on).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec import Struct

from launchgen.diagnostics import Diagnostic, ImageError
from launchgen.limits import MOST_PARAMETERS

UNMARKED: Final = 0
LOCAL: Final = 1
SHARED: Final = 2
CONSTANT: Final = 3
"""In images for GPUs older than sm_90; newer ones mark such an address as global."""
GLOBAL: Final = 4
GENERIC: Final = 5
"""An address in no memory in particular."""

_BYTE: Final = 2
_SIZED: Final = 4
_FORMATS: Final = range(1, _SIZED + 1)

_BASE: Final = 0x0A
_BLOCK: Final = 0x10
_PARAMETER: Final = 0x17
_TOTAL: Final = 0x19
_CLUSTER: Final = 0x3D
_LARGE_PARAMETER: Final = 0x45
"""What stands for 0x17 where all parameters together have more than 4,352 bytes."""

_ISA_CLASS: Final = 0x02
_EXACT_TARGET: Final = 0x09
"""Attributes of ``.nv.compat``."""

_RECORD: Final = struct.Struct("<BBH")
_PAYLOADS: Final = {
    _BASE: struct.Struct("<IHH"),
    _BLOCK: struct.Struct("<III"),
    _PARAMETER: struct.Struct("<IHHI"),
    _CLUSTER: struct.Struct("<III"),
    _LARGE_PARAMETER: struct.Struct("<IHHHBB"),
}
_BESIDE: Final = 0xFFFF
"""The offset of what is bound and not passed: ``.texref``, ``.samplerref``, ``.surfref``."""

_Three = tuple[int, int, int]


class MarkedParameter(NamedTuple):
    """One parameter, and the memory that it points to."""

    ordinal: int
    offset: int
    size: int
    space: int


class KernelInfo(Struct, frozen=True):
    """What an image says of one kernel."""

    parameters: tuple[MarkedParameter, ...]
    """In order, without holes."""
    total: int
    block: _Three | None
    cluster: _Three | None


class Compatibility(NamedTuple):
    """What ``.nv.compat`` says of the devices that run an image."""

    is_exact: bool
    """It was compiled for ``a``; ptxas says so from 13.0 on."""
    isa_class: int
    """Which instructions it has: 1 those of all devices, 2 of a family, 3 of one capability."""


def read_kernel_info(body: memoryview, kernel: str) -> KernelInfo:
    """Return what the records say of a kernel; raises ImageError."""
    parameters: list[MarkedParameter] = []
    totals: set[int] = set()
    block = cluster = None
    for attribute, payload in _known(body, kernel):
        if attribute == _PARAMETER:
            _, ordinal, offset, bits = payload
            parameters.append(MarkedParameter(ordinal, offset, bits >> 18, bits >> 8 & 15))
        elif attribute == _LARGE_PARAMETER:
            _, ordinal, offset, size, _, space = payload
            parameters.append(MarkedParameter(ordinal, offset, size, space & 15))
        elif attribute in {_TOTAL, _BASE}:
            totals.add(payload[-1])
        elif attribute == _BLOCK:
            block = _dimensions(payload, "block", kernel)
        else:
            cluster = _dimensions(payload, "cluster", kernel)
    if len(totals) > 1:
        raise info_error(kernel, f"has {min(totals)} and {max(totals)} bytes of parameters at once")
    ordered = tuple(sorted(parameters))
    return KernelInfo(ordered, _checked_total(ordered, totals, kernel), block, cluster)


def read_compatibility(body: memoryview) -> Compatibility:
    """Return what the records say of devices; raises ImageError."""
    found = {
        attribute: value
        for form, attribute, value, _ in _records(body, "its compatibility")
        if form == _BYTE
    }
    return Compatibility(found.get(_EXACT_TARGET) == 1, found.get(_ISA_CLASS, 0))


def info_error(kernel: str, problem: str) -> ImageError:
    """Return the error that says what is wrong with an entry."""
    return _damaged(f"its entry {kernel!r}", problem)


def _damaged(owner: str, problem: str) -> ImageError:
    return ImageError(Diagnostic(f"the image is damaged: {owner} {problem}"))


def _known(body: memoryview, kernel: str) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each known attribute with its numbers."""
    for form, attribute, value, payload in _records(body, f"its entry {kernel!r}"):
        layout = _PAYLOADS.get(attribute)
        if layout is not None:
            if len(payload) != layout.size:
                problem = f"has {len(payload)} bytes as attribute 0x{attribute:02x}"
                raise info_error(kernel, f"{problem}, not {layout.size}")
            yield attribute, layout.unpack(payload)
        elif attribute == _TOTAL:
            if form == _SIZED:
                raise info_error(kernel, "does not say how many bytes its parameters have")
            yield attribute, (value,)


def _records(body: memoryview, owner: str) -> Iterator[tuple[int, int, int, memoryview]]:
    """Yield each record's format, attribute, value and bytes."""
    at, end = 0, len(body)
    while at < end:
        if end - at < _RECORD.size:
            raise _damaged(owner, "is described by a record without an end")
        form, attribute, value = _RECORD.unpack_from(body, at)
        at += _RECORD.size
        if form not in _FORMATS:
            raise _damaged(owner, f"is described by a record of unknown format {form}")
        size = value if form == _SIZED else 0
        if size > end - at:
            raise _damaged(owner, "is described by a record that reaches past the others")
        yield form, attribute, value, body[at : at + size]
        at += size


def _dimensions(payload: tuple[int, ...], what: str, kernel: str) -> _Three:
    x, y, z = payload
    if 0 in payload:
        raise info_error(kernel, f"requires a {what} of {x} x {y} x {z}")
    return x, y, z


def _checked_total(ordered: tuple[MarkedParameter, ...], totals: set[int], kernel: str) -> int:
    """Return the bytes of all parameters, which lie one behind the other."""
    if len(ordered) > MOST_PARAMETERS:
        raise info_error(kernel, f"has {len(ordered)} parameters, where {MOST_PARAMETERS} fit")
    end = 0
    for index, (ordinal, offset, size, _) in enumerate(ordered):
        if ordinal != index:
            lacks = f"lacks parameter {index}" if ordinal > index else f"has two with {ordinal}"
            raise info_error(kernel, f"{lacks} of its {len(ordered)} parameters")
        if offset == _BESIDE and size == 0:
            problem = f"the entry {kernel!r} takes a texture, sampler or surface as parameter"
            hint = "pass a cudaTextureObject_t or cudaSurfaceObject_t; no launch passes a .texref"
            raise ImageError(Diagnostic(f"{problem} {index}", hint=hint))
        if size == 0:
            raise info_error(kernel, f"has a parameter {index} of no bytes")
        if offset < end:
            raise info_error(kernel, f"has parameters {index - 1} and {index} that overlap")
        end = offset + size
    total = max(totals, default=end)
    if end > total:
        raise info_error(kernel, f"has parameters up to byte {end}, but only {total} bytes of them")
    return total
