"""What a banner says: what a file was made from, and how to make it again.

``banner.py`` reads it back from a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from launchgen.records import Banner
from launchgen.signature import Signature
from launchgen.sources import KernelSource
from launchgen.targets import Target

_WIDTH: Final = 80


def make_banner(
    source: KernelSource, target: Target, *, command: str, version: str | None
) -> Banner:
    """Return what stands on top of each file; without ``version`` where it is None."""
    first, *rest = _wrap(source.name, source.signature)
    return Banner(
        signature=first,
        signature_rest=tuple(rest),
        has_signature=True,
        target=target.name,
        origin=source.origin,
        has_origin=bool(source.origin),
        sources=tuple(_sources(source)),
        regenerate=command,
        version=version or "",
        has_version=version is not None,
    )


def kernel_less_banner(target: Target, *, command: str, version: str | None) -> Banner:
    """Return what stands on top of each file that is made from nothing but the command."""
    return Banner(
        signature="",
        signature_rest=(),
        has_signature=False,
        target=target.name,
        origin="",
        has_origin=False,
        sources=(),
        regenerate=command,
        version=version or "",
        has_version=version is not None,
    )


def _sources(source: KernelSource) -> Iterator[str]:
    """Yield each file that was read, then each image that is only a part of one."""
    read = [(file.name, file.sha256) for file in source.inputs]
    images = [variant.image for variant in source.variants if variant.image is not None]
    parts = [(f"{image.name} {image.architecture}", image.sha256) for image in images]
    hashes = {sha256 for _, sha256 in read}
    for name, sha256 in (*read, *(part for part in parts if part[1] not in hashes)):
        yield f"{name}  sha256:{sha256}"


def _wrap(name: str, signature: Signature) -> list[str]:
    """Return ``name(arguments)`` in lines that end behind an argument where they are full."""
    lines = [f"{name}("]
    for index, argument in enumerate(signature.arguments):
        comma = "," if index + 1 < len(signature.arguments) else ""
        word = f"{argument}{comma}"
        if len(lines[-1]) + 1 + len(word) > _WIDTH:
            lines.append(word)
        else:
            space = "" if index == 0 else " "
            lines[-1] += f"{space}{word}"
    lines[-1] += ")"
    return lines
