"""Names from elsewhere as names of arguments: each once, an ASCII identifier, and no type's."""

from __future__ import annotations

from collections.abc import Sequence

from launchgen.limits import MOST_NAME
from launchgen.naming import is_identifier
from launchgen.notation import automatic_name
from launchgen.readers import is_reserved


def argument_names(wanted: Sequence[str]) -> tuple[str, ...]:
    """Return a name for each argument; empty for one whose position has to name it.

    A name that a type or another argument has gets underscores appended until it is free; one that
    is too long is none.
    """
    listed = [_usable(name) for name in wanted]
    taken = {automatic_name(at) for at, name in enumerate(listed) if not name}
    found = []
    for name in listed:
        free = name
        while free and (free in taken or is_reserved(free)):
            free += "_"
        taken.add(free)
        found.append(free)
    return tuple(found)


def _usable(name: str) -> str:
    return name if len(name) <= MOST_NAME and is_identifier(name) else ""
