"""The words and marks of a signature, and which bracket closes which.

Every character of the text belongs to a token or to the space between two, so that whatever is
wrong has a place.  What a token means is decided by ``signature.py``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple


class TokenKind(Enum):
    """What a token looks like; the value is its group in the pattern."""

    WORD = "word"
    NUMBER = "number"
    """Begins as a number does, and may yet be none: ``12abc``."""
    STRING = "string"
    OPEN_STRING = "open_string"
    """A string without its closing quote, to the end of the line."""
    MARK = "mark"
    OTHER = "other"
    """Printable ASCII that means something inside a layout only."""
    FOREIGN = "foreign"
    """A control character, or text that is not ASCII, outside strings."""
    END = "end"


class Token(NamedTuple):  # a tuple, because it is made in a third of a frozen dataclass's time
    """A piece of the text ``[start, end)``."""

    kind: TokenKind
    text: str
    start: int
    end: int


_TOKEN: Final = re.compile(
    r"""[ \t\r\n]+
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)(?!\w)
    |(?P<mark>[][()<>,:=*])
    |(?P<number>[+-]?\.?[0-9](?:[eE][+-]|[A-Za-z0-9_.])*|[+-](?:inf|nan)\b)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<open_string>"(?:[^"\\\n]|\\.)*|'(?:[^'\\\n]|\\.)*)
    |(?P<other>->|(?!\w)[!-~])
    |(?P<foreign>\w+|.)""",
    re.VERBOSE | re.DOTALL,
)
_KINDS: Final = {kind.value: kind for kind in TokenKind}


LOOKAHEAD: Final = 2
"""How far behind the next token a reader may look without asking whether there is one."""


def tokenize(text: str) -> list[Token]:
    """Return the tokens of ``text``, then one of kind ``END`` and ``LOOKAHEAD`` more."""
    tokens = [
        Token(_KINDS[match.lastgroup], match[0], *match.span())
        for match in _TOKEN.finditer(text)
        if match.lastgroup is not None
    ]
    last = tokens[-1].end if tokens else 0
    tokens += [Token(TokenKind.END, "", last, last)] * (1 + LOOKAHEAD)
    return tokens


class Brackets(NamedTuple):
    """Which bracket closes which, by index of token."""

    last: dict[int, int]
    """Opening bracket to the last token of its group: its closing bracket where it has one."""
    broken: frozenset[int]
    """Brackets without their counterpart."""


_OPENING: Final = {")": "(", "]": "[", ">": "<"}


def match_brackets(tokens: Sequence[Token]) -> Brackets:
    """Pair the brackets of ``tokens``; a closing one also ends what was left open inside it."""
    last: dict[int, int] = {}
    broken: list[int] = []
    stack: list[tuple[str, int]] = []
    # Counted, because a search for a bracket that isn't there would walk the whole stack.
    waiting = dict.fromkeys(_OPENING.values(), 0)

    def leave(end: int) -> tuple[str, int]:
        text, index = stack.pop()
        waiting[text] -= 1
        last[index] = end
        return text, index

    end = len(tokens) - (1 + LOOKAHEAD)
    for index in range(end):
        text = tokens[index].text
        if tokens[index].kind is not TokenKind.MARK:
            continue
        if text in waiting:
            stack.append((text, index))
            waiting[text] += 1
        elif text in _OPENING:
            if not waiting[_OPENING[text]]:
                broken.append(index)
                continue
            while stack[-1][0] != _OPENING[text]:
                broken.append(leave(index - 1)[1])
            leave(index)
    while stack:
        broken.append(leave(end - 1)[1])
    return Brackets(last, frozenset(broken))
