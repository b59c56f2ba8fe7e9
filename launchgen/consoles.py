"""Rich's console as reports use it: on a terminal as wide as that, else of lines without end."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_UNLIMITED = 10_000
"""Columns of a table that goes into a file or a pipe: nothing is cut or folded there."""


def new_console(file: io.StringIO, *, is_terminal: bool) -> Console:
    """Return a console that prints into ``file``."""
    from rich.console import Console  # noqa: PLC0415

    return Console(
        file=file,
        width=None if is_terminal else _UNLIMITED,
        force_terminal=is_terminal,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )


def stripped(file: io.StringIO) -> str:
    """Return what was printed, without blanks at the ends of lines."""
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())
