"""Reads the images of a file, whatever it is: a cubin, a fatbin, or PTX."""

from __future__ import annotations

from msgspec import Struct

from launchgen import elf, fatbin
from launchgen.diagnostics import Diagnostic, ImageError
from launchgen.fatbin import MemberKind, read_fatbin
from launchgen.image import ImageFacts, read_cubin
from launchgen.ptx import read_ptx


class CompiledImage(Struct, frozen=True):
    """One image, and what it says of itself."""

    data: bytes
    """A cubin, or PTX in UTF-8 without a zero at its end, which the driver wants."""
    facts: ImageFacts


def read_images(data: bytes) -> tuple[CompiledImage, ...]:
    """Return every image of a file, in order; raises ImageError where there is none."""
    if data.startswith(elf.MAGIC):
        return (CompiledImage(data, read_cubin(data)),)
    if data.startswith(fatbin.MAGIC):
        return tuple(
            CompiledImage(member.data, _facts(member.kind, member.data))
            for member in read_fatbin(data)
        )
    text = data.rstrip(b"\0")
    return (CompiledImage(text, _facts(MemberKind.PTX, text)),)


def _facts(kind: MemberKind, data: bytes) -> ImageFacts:
    return read_cubin(data) if kind is MemberKind.CUBIN else read_ptx(_decoded(data))


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        problem = "the file is neither a cubin nor a fatbin, and no PTX either: it is no UTF-8 text"
        raise ImageError(Diagnostic(problem)) from None
