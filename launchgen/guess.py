"""An image's parameters to a signature of the right widths, where nothing says more.

It is a guess: an image does not tell ``i32`` from ``fp32``, what a pointer points to, or which of
the parameters are the launcher's own.
"""

from __future__ import annotations

from launchgen.image import Entry, Parameter
from launchgen.notation import (
    Argument,
    BytesType,
    PointerType,
    ScalarType,
    Signature,
    Type,
    default_alignment,
)
from launchgen.scalars import SCALARS, Kind


def guess_signature(entry: Entry, *, hidden: int) -> Signature:
    """Return unsigned integers, addresses of bytes, and structs, by size and without names.

    ``hidden`` is how many of the last parameters are scratch memory, which no caller passes.
    """
    shown = entry.parameters[: len(entry.parameters) - hidden]
    return Signature(tuple(Argument(_type(parameter)) for parameter in shown))


_INTEGERS = {row.size: row for row in SCALARS.values() if row.kind is Kind.UNSIGNED}
_BYTE = next(row for row in SCALARS.values() if row.kind is Kind.SIGNED)


def _type(parameter: Parameter) -> Type:
    if parameter.pointer:
        return PointerType(_BYTE)
    if parameter.size in _INTEGERS:
        return ScalarType(_INTEGERS[parameter.size])
    align = default_alignment(parameter.size)
    while parameter.offset % align:
        align //= 2
    return BytesType(parameter.size, align)
