"""Reads the images of a file, whatever it is: a cubin, a fatbin, or PTX."""

from __future__ import annotations

import codecs

from msgspec import Struct

from launchgen import formats
from launchgen.diagnostics import Diagnostic, ImageError
from launchgen.image import ImageFacts, read_cubin
from launchgen.limits import MOST_TEXT, size_text


class CompiledImage(Struct, frozen=True):
    """One image, and what it says of itself."""

    data: bytes
    """A cubin, or PTX in UTF-8 without a zero at its end, which the driver wants."""
    facts: ImageFacts


def read_images(data: bytes) -> tuple[CompiledImage, ...]:
    """Return every image of a file, in order; raises ImageError where there is none."""
    if data.startswith(formats.CUBIN):
        return (CompiledImage(data, read_cubin(data)),)
    if data.startswith(formats.FATBIN):
        return _members(data)
    return (_text(data.rstrip(b"\0")),)


def _members(data: bytes) -> tuple[CompiledImage, ...]:
    from launchgen.fatbin import MemberKind, read_fatbin  # noqa: PLC0415 - seldom needed

    return tuple(
        CompiledImage(member.data, read_cubin(member.data))
        if member.kind is MemberKind.CUBIN
        else _text(member.data)
        for member in read_fatbin(data)
    )


def _text(data: bytes) -> CompiledImage:
    from launchgen.ptx import read_ptx  # noqa: PLC0415 - seldom needed

    # Some editors begin a file with a byte order mark, which the driver does not take.
    data = data.removeprefix(codecs.BOM_UTF8)
    if len(data) > MOST_TEXT:
        raise ImageError(Diagnostic(f"the PTX has more than {size_text(MOST_TEXT)}"))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        problem = "the file is neither a cubin nor a fatbin, and no PTX either: it is no UTF-8 text"
        raise ImageError(Diagnostic(problem)) from None
    if "\0" in text:
        raise ImageError(Diagnostic("the PTX has a zero byte in the middle, where a driver stops"))
    return CompiledImage(data, read_ptx(text))
