"""What launchgen says when something is wrong: where, what, and what else was possible.

A :class:`Diagnostic` is one finding; a :class:`LaunchgenError` carries one or more and knows the
exit code of its kind.  To add a kind of failure, add a class here; nothing else maps errors to
exit codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final, NamedTuple


class Source(NamedTuple):
    """A text that was read: ``name`` is an option, or a file's path as the user gave it."""

    name: str
    text: str


class Span(NamedTuple):
    """A half-open range of characters ``[start, end)`` in a source's text."""

    start: int
    end: int


class Diagnostic(NamedTuple):
    """One finding.

    ``span`` and ``source`` are given together and place a caret; ``output`` is what another program
    printed, as it is; ``details`` are lines that show what the message says; ``hint`` says what to
    do.
    """

    message: str
    source: Source | None = None
    span: Span | None = None
    hint: str | None = None
    details: tuple[str, ...] = ()
    output: str = ""

    def __str__(self) -> str:
        lines = [printable(f"error: {self._place()}{self.message}")]
        lines += [self.output] * bool(self.output)
        if self.source is not None and self.span is not None:
            lines += _excerpt(self.source.text, self.span)
        lines += [f"  {printable(line)}" for line in self.details]
        if self.hint is not None:
            lines.append(printable(f"  hint: {self.hint}"))
        return "\n".join(lines)

    def _place(self) -> str:
        if self.source is None:
            return ""
        if self.span is None:
            return f"{self.source.name}: "
        line, column = _line_and_column(self.source.text, self.span.start)
        return f"{self.source.name}:{line}:{column}: "


class LaunchgenError(Exception):
    """Base of every error that launchgen reports; never shown with a traceback."""

    exit_code: ClassVar[int] = 2

    def __init__(self, *diagnostics: Diagnostic) -> None:
        """Carry ``diagnostics``, in the order in which they are shown."""
        super().__init__("\n".join(map(str, diagnostics)))
        self.diagnostics = diagnostics


class UsageError(LaunchgenError):
    """Options that contradict each other or lack something."""


class SignatureError(LaunchgenError):
    """A signature that cannot be parsed; carries every mistake found in it."""


class MetadataError(LaunchgenError):
    """Launch metadata that no launch could obey."""


class MismatchError(LaunchgenError):
    """A signature or launch metadata that contradicts the compiled kernel."""


class UnsupportedError(LaunchgenError):
    """A kernel that is understood but for which no right launcher can be made."""


class InputError(LaunchgenError):
    """A file that could not be read or decoded."""

    exit_code = 3


class ImageError(InputError):
    """An image that is damaged, or that is none."""


class OutputError(LaunchgenError):
    """A file that could not be written, or that launchgen did not make and will not replace."""

    exit_code = 3


class BuildError(LaunchgenError):
    """A compiler that is missing or that failed."""

    exit_code = 3


class DriverError(LaunchgenError):
    """A driver that is missing or too old, or a call that it or a launcher refused."""

    exit_code = 3


# Longer words resemble nothing, and comparing takes quadratic time.
_LONGEST: Final = 64


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Return ``"did you mean 'X'?"`` for the nearest known word, or None if nothing is near."""
    if len(word) > _LONGEST:
        return None
    import difflib  # noqa: PLC0415 - slow to import, and most runs find no mistake

    near = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean '{near[0]}'?" if near else None


def printable(text: str) -> str:
    """Return text as a terminal may have it: on one line, and nothing that commands or deceives.

    Whatever is named in a message, a file or a kernel, may hold escape sequences, and characters
    that turn the direction of reading or cannot be seen.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


_LIMIT: Final = 40


def shortened(text: str) -> str:
    """Return ``text``, or where it is long its beginning and three dots."""
    return text if len(text) <= _LIMIT else text[: _LIMIT - 3] + "..."


_MOST_LISTED: Final = 16


def listed(names: Sequence[str], spell: Callable[[str], str]) -> str:
    """Return the first of ``names`` for a message, as ``spell`` spells each, and how many more."""
    more = len(names) - _MOST_LISTED
    text = ", ".join(map(spell, names[:_MOST_LISTED]))
    return f"{text} and {more} more" if more > 0 else text


def shown(text: str) -> str:
    """Return ``text`` quoted for a message: short, on one line, nothing invisible in it.

    A character that cannot be seen, alone, goes by its number, as Python's own errors name it.
    """
    if len(text) == 1 and not text.isprintable():
        return f"U+{ord(text):04X}"
    short = printable(shortened(text))
    return short if short[:1] in {'"', "'"} else f"'{short}'"


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


# How much of a line an error shows: a signature of a thousand arguments is one line.
_BEFORE, _AFTER = 48, 44


def _excerpt(text: str, span: Span) -> list[str]:
    """Return the marked line and a caret under it; a long line is cut around the mark."""
    begin = text.rfind("\n", 0, span.start) + 1
    newline = text.find("\n", span.start)
    end = len(text) if newline < 0 else newline
    first = begin if span.start - begin <= _BEFORE else span.start - _BEFORE
    last = end if end - span.start <= _AFTER else span.start + _AFTER
    head, tail = "..." if first > begin else "", "..." if last < end else ""
    shown = "".join(c if c.isprintable() else " " for c in text[first:last])
    marks = max(1, min(span.end, last) - span.start)
    indent = " " * (len(head) + span.start - first)
    return [f"  {head}{shown}{tail}", f"  {indent}^{'~' * (marks - 1)}"]
