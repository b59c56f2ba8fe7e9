"""The record that the module is printed from that serves every kernel."""

from __future__ import annotations

from msgspec import Struct

from launchgen.naming import CIdentifier
from launchgen.records import Banner


class UtilsPlan(Struct, frozen=True, kw_only=True):
    """Everything decided about the module that serves every kernel."""

    name: CIdentifier
    banner: Banner
    portable_cluster: int
    default_shared: int
    """Dynamic shared memory that a launch gets without asking."""
    largest_shared: int
    """More is a mode of its own."""
    fragments: tuple[str, ...]
    """Of the runtime, in order."""
