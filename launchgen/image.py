"""A compiled kernel's image, read: what it was compiled for, its entries and their parameters."""

from __future__ import annotations

from msgspec import Struct

from launchgen.architecture import Architecture

Dimensions = tuple[int, int, int]


class Parameter(Struct, frozen=True):
    """One parameter of an entry, for which the driver copies ``size`` bytes."""

    offset: int
    """Bytes from the beginning of the parameter list."""
    size: int
    """Bytes."""
    pointer: bool | None
    """Whether it is a device address; None: the image does not say."""


class Entry(Struct, frozen=True):
    """One kernel of an image."""

    name: str
    parameters: tuple[Parameter, ...]
    """In order."""
    total: int
    """Bytes of all parameters, padding between them included."""
    block: Dimensions | None
    """Threads of a block along x, y and z that every launch must have; None: any."""
    cluster: Dimensions | None
    """Blocks of a cluster along x, y and z that every launch must have; None: not known."""


class ImageFacts(Struct, frozen=True):
    """What a cubin or PTX says of itself."""

    architecture: Architecture
    entries: tuple[Entry, ...]
    """In order of their names."""
