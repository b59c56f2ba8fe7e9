"""Options under headings: how the help of a command with many of them is kept readable."""

from __future__ import annotations

from typing import Any, Final

import click

PROGRAM: Final = "launchgen"


class Option(click.Option):
    """An option that stands under a heading in the help.

    ``reproduced``: whether it belongs to the command in the banner, being one that the output
    depends on.  ``path``: whether its value is a path, of which a banner shows the base name.
    """

    def __init__(
        self,
        *declarations: str,
        section: str,
        reproduced: bool = True,
        path: bool = False,
        **rest: Any,  # noqa: ANN401 - whatever click takes
    ) -> None:
        """Take what ``click.Option`` does, and the three above."""
        super().__init__(declarations, **rest)
        self.section = section
        self.reproduced = reproduced
        self.path = path


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
