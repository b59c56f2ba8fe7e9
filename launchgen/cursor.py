"""Where the reading of a signature stands, and what was found wrong so far.

A reader either returns or raises :class:`Mistake`; whoever can go on behind it notes it here.
"""

from __future__ import annotations

from collections.abc import Sequence

from launchgen.diagnostics import Diagnostic, Source, Span, shortened, shown
from launchgen.limits import MOST_MISTAKES
from launchgen.tokens import LOOKAHEAD, Token, TokenKind, match_brackets, tokenize


class Mistake(Exception):
    """Something wrong with one argument, found while it was read."""

    def __init__(self, message: str, span: Span, hint: str) -> None:
        """Keep what a diagnostic needs but the place in words."""
        super().__init__(message)
        self.message, self.span, self.hint = message, span, hint


def where(path: Sequence[int], name: str) -> str:
    """Return a position in words: ``argument 0 (ptrs), element 1.0``."""
    called = f" ({shortened(name)})" if name else ""
    element = f", element {shortened('.'.join(map(str, path[1:])))}" if path[1:] else ""
    return f"argument {path[0]}{called}{element}"


class Cursor:
    """A position among the tokens of a source."""

    def __init__(self, source: Source) -> None:
        """Stand at the first token of ``source``."""
        self.source = source
        self.tokens = tokenize(source.text)
        self.brackets = match_brackets(self.tokens)
        self.at = 0
        """Index of the token that is read next."""
        self.end = len(self.tokens) - (1 + LOOKAHEAD)
        """Index of the first token of kind ``END``."""
        self.path: list[int] = []
        """Index of the argument being read, then of tuple elements."""
        self.names: list[tuple[int, Token]] = []
        """Names so far, each with the index of its argument."""
        self._mistakes: list[Diagnostic] = []

    @property
    def token(self) -> Token:
        """The token that is read next; of kind ``END`` behind the last."""
        return self.tokens[self.at]

    @property
    def name(self) -> str:
        """Name of the argument being read; empty where it has none or none was read yet."""
        index, token = self.names[-1] if self.names else (-1, self.tokens[-1])
        return token.text if index == self.path[0] else ""

    def take(self, mark: str) -> bool:
        """Step over ``mark`` where it comes next; return whether it did."""
        found = self.tokens[self.at].text == mark
        self.at += found
        return found

    def ends(self) -> bool:
        """Return whether a comma, the end, or the end of a tuple comes next."""
        return self.token.text in {",", ")", ""} and self.at not in self.brackets.broken

    def skip(self, stop: int) -> None:
        """Go to the next comma of the group that ends at token ``stop``, or to its end.

        The cursor must not stand inside an inner group.
        """
        while self.at < stop and self.token.text != ",":
            self.at = self.brackets.last.get(self.at, self.at) + 1

    def group(self, opener: int) -> int:
        """Return the index of the bracket that closes the one at ``opener``; raise without one."""
        last = self.brackets.last[opener]
        if opener not in self.brackets.broken:
            return last
        # A string that swallowed the closing bracket is the better explanation.
        group = range(opener, last + 1)
        self.at = next((i for i in group if self.tokens[i].kind is TokenKind.OPEN_STRING), opener)
        raise self.unexpected()

    def mistake(self, message: str, span: Span | None = None, *, hint: str) -> Mistake:
        """Return a mistake at ``span``, by default at the token that comes next."""
        return Mistake(message, span or Span(self.token.start, self.token.end), hint)

    def unexpected(self, hint: str = "arguments are separated by commas") -> Mistake:
        """Return what is wrong with the next token; ``hint`` says what could stand there."""
        token = self.token
        text = shown(token.text)
        if token.kind is TokenKind.FOREIGN:
            control = len(token.text) == 1 and token.text <= "\x7f"
            what = "is a control character" if control else "is not ASCII"
            return self.mistake(f"{text} {what}", hint="only strings may hold other text")
        if token.kind is TokenKind.OPEN_STRING:
            once = "it ends with the quote it began with, on the same line"
            return self.mistake(f"the string {text} is never closed", hint=once)
        if self.at in self.brackets.broken:
            what = "is never closed" if self.at in self.brackets.last else "closes nothing"
            return self.mistake(f"{text} {what}", hint="brackets come in pairs: (), [], <>")
        after = f" after {shown(self.tokens[self.at - 1].text)}" if self.at else ""
        return self.mistake(f"unexpected {text or 'end'}{after}", hint=hint)

    @property
    def noted(self) -> int:
        """How many mistakes were noted so far."""
        return len(self._mistakes)

    @property
    def full(self) -> bool:
        """Whether enough mistakes were noted to stop reading."""
        return self.noted >= MOST_MISTAKES

    def note(self, mistake: Mistake, place: str = "") -> None:
        """Keep ``mistake``; ``place`` is the argument in words, by default the one being read."""
        place = place or where(self.path, self.name)
        self._mistakes.append(
            Diagnostic(f"{place}: {mistake.message}", self.source, mistake.span, mistake.hint)
        )

    def mistakes(self) -> tuple[Diagnostic, ...]:
        """Return what was noted, in order of position, and a last one where more is likely."""
        found = sorted(self._mistakes, key=lambda it: it.span.start if it.span else 0)
        if not self.full:
            return tuple(found)
        rest = Diagnostic(
            f"more than {MOST_MISTAKES - 1} mistakes; reading stopped",
            Source(self.source.name, ""),
            hint="mend these first",
        )
        return (*found[:MOST_MISTAKES], rest)
