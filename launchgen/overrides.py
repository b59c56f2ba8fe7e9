"""The command line's single fields of launch metadata, and their texts to values.

What the values mean, and which are possible, is decided in ``metadata.py``.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from launchgen.diagnostics import shortened

Version = tuple[int, int]
Cluster = tuple[int, int, int]


class Scratch(Struct, frozen=True):
    """A buffer that the kernel is handed: bytes for one CTA, and the whole buffer's alignment."""

    size: int = 0
    align: int = 1


class Overrides(Struct, frozen=True, kw_only=True):
    """The command line's single fields; None: not given."""

    entry: str | None = None
    num_warps: int | None = None
    num_ctas: int | None = None
    shared: int | None = None
    cluster: Cluster | None = None
    cooperative: bool | None = None
    pdl: bool | None = None
    global_scratch: Scratch | None = None
    profile_scratch: Scratch | None = None
    triton_version: Version | None = None


# Of a version only major and minor matter here; what may follow is a patch number and whatever a
# development build, a release candidate or a fork appends: 3.6.0+git123, 3.5.0rc1, 3.2.0.post1.
_VERSION: Final = re.compile(
    r"([0-9]{1,4})\.([0-9]{1,4})(?:\.[0-9]+)*(?:[-+.]?[A-Za-z][0-9A-Za-z.+_-]*|\+[0-9A-Za-z.]+)?"
)


def parse_version(text: str) -> Version:
    """Return major and minor of a Triton release: ``"3.6.0+git123"`` gives ``(3, 6)``.

    Raises ValueError for anything else, its text for a user.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(f"'{shortened(text)}' is no version of Triton, as in 3.6.0")
    return int(match[1]), int(match[2])


def parse_cluster(text: str) -> Cluster:
    """Return the three numbers of ``--cluster X,Y,Z``; raises ValueError, its text for a user."""
    numbers = [_natural(part) for part in text.split(",")]
    match numbers:
        case [int(x), int(y), int(z)]:
            return x, y, z
        case _:
            raise ValueError(f"'{shortened(text)}' is not X,Y,Z: three numbers, as in 2,1,1")


def parse_scratch(text: str) -> Scratch:
    """Return what ``--global-scratch SIZE[:ALIGN]`` says; without ALIGN any address will do.

    Sizes are in bytes.  Raises ValueError, its text for a user.
    """
    numbers = [_natural(part) for part in text.split(":")]
    match numbers:
        case [int(size)]:
            return Scratch(size)
        case [int(size), int(align)]:
            return Scratch(size, align)
        case _:
            form = "SIZE or SIZE:ALIGN in bytes, as in 256:128"
            raise ValueError(f"'{shortened(text)}' is not {form}")


def _natural(text: str) -> int | None:
    # More digits than any limit here has would only make int() slow.
    return int(text) if re.fullmatch(r"\s*[0-9]{1,20}\s*", text, re.ASCII) else None
