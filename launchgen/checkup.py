"""What a machine has of what launchers need, as records and words."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from launchgen.libcuda import Place

PATIENCE: Final = 30.0
"""Seconds for one question to a program.  A driver takes a few to wake a GPU."""
NO_NEED: Final = "launchers are emitted and built without"


class Item(NamedTuple):
    """One thing that a machine may have."""

    name: str
    version: str | None = None
    """In words of its own."""
    path: str | None = None
    problem: str | None = None
    """What is wrong with it, or that it is missing."""
    hint: str | None = None
    """What to do about that."""
    looked: tuple[Place, ...] = ()
    """Where it was looked for, in order, up to where it was found."""


class Gpu(msgspec.Struct, frozen=True):
    """One GPU that the driver has."""

    name: str
    capability: tuple[int, int]


class Checkup(NamedTuple):
    """What a machine has."""

    system: Item
    compiler: Item
    """What ``launchgen build`` compiles with, tried."""
    compilers: tuple[Item, ...]
    """All that were looked for."""
    python: Item
    headers: Item
    driver: Item
    gpus: tuple[Gpu, ...]
    triton: Item
    is_refused: bool
    """Whether what the option names is no driver."""

    @property
    def is_able(self) -> bool:
        """Whether launchers can be built here, and what was named was there."""
        return self.compiler.problem is None and not self.is_refused


def reason(error: Exception) -> str:
    """Return what the system says of a file."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def cuda_text(version: int) -> str:
    """Return a version of CUDA in words: 13000 is 13.0."""
    return f"{version // 1000}.{version % 1000 // 10}"
