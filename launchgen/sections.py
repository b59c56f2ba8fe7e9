"""Options under headings: how the help of a command with many of them is kept readable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from launchgen.diagnostics import Diagnostic, UsageError

PROGRAM: Final = "launchgen"

T = TypeVar("T")
G = TypeVar("G")


class Option(click.Option):
    """An option that stands under a heading in the help.

    ``reproduced``: whether it belongs to the command in the banner, being one that the output
    depends on.  ``path``: whether its value is a path, of which a banner shows the base name.
    ``general``: whether it means something beside what its heading is about.
    """

    def __init__(
        self,
        *declarations: str,
        section: str,
        reproduced: bool = True,
        path: bool = False,
        general: bool = False,
        **rest: Any,  # noqa: ANN401 - whatever click takes
    ) -> None:
        """Take what ``click.Option`` does, and the four above."""
        super().__init__(declarations, **rest)
        self.section = section
        self.reproduced = reproduced
        self.path = path
        self.general = general


class SectionedCommand(click.Command):
    """A command whose help lists options under their headings, in order of appearance."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section for each heading; ``--help`` stands in the last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option):
                record = parameter.get_help_record(ctx)
                heading = parameter.section if isinstance(parameter, Option) else "Other"
                if record is not None:
                    sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def parsed(option: str, given: G, parse: Callable[[G], T]) -> T:
    """Return what ``parse`` makes of an option; a ValueError becomes one that names the option."""
    try:
        return parse(given)
    except ValueError as error:
        raise UsageError(Diagnostic(f"{option}: {error}")) from error
