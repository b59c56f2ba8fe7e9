"""How a Python launcher's arguments begin, by its convention and the kernel's slots."""

from __future__ import annotations

from typing import Final, NamedTuple

from launchgen.abi import Slot, is_hidden
from launchgen.artifacts import Convention
from launchgen.naming import CIdentifier

_TAIL: Final = 4


class Called(NamedTuple):
    """How the Python launcher is called."""

    convention: Convention
    module: CIdentifier
    head: int
    """Arguments before the kernel's; 0: the launcher's own."""
    tail: int
    """Index of the last four of them."""


def as_called(convention: Convention, kernel_slots: tuple[Slot, ...], *, name: str) -> Called:
    """Return how a launcher with these slots is called."""
    scratch = sum(map(is_hidden, kernel_slots)) if convention.is_unwrapped else 0
    head = convention.head + scratch
    module = CIdentifier(convention.module.format(name=name))
    return Called(convention, module, head=head, tail=max(head - _TAIL, 0))
