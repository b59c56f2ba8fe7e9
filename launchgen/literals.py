"""Constants as text: how a literal of a signature is read, and how a value is written back.

``read`` of what ``write_literal`` returns is the same value again, and what it returns is ASCII.
Numbers and strings are Python's, because that is where the constants of a kernel come from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeGuard

Value = int | float | bool | str | None
"""What a constant can be."""

WORDS: Final[Mapping[str, bool | float | None]] = MappingProxyType(
    {"True": True, "False": False, "None": None, "inf": math.inf, "nan": math.nan}
)
"""Constants that are spelled as words; none of them can be a name."""

# Below CPython's least limit for printing an integer in decimal (640 digits), so that every
# integer that is read can also be written.
MOST_BITS: Final = 2048
"""Of an integer that has a literal."""

_ESCAPE: Final = re.compile(
    r"""\\(?:(?P<plain>[\\'"abfnrtv])
        |(?P<octal>[0-7]{1,3})
        |x(?P<x>[0-9A-Fa-f]{2})
        |u(?P<u>[0-9A-Fa-f]{4})
        |U(?P<U>[0-9A-Fa-f]{8})
        |(?P<unknown>.))""",
    re.VERBOSE,
)
_PLAIN: Final = MappingProxyType(dict(zip("\\'\"abfnrtv", "\\'\"\a\b\f\n\r\t\v", strict=True)))


def has_literal(value: object) -> TypeGuard[Value]:
    """Return whether ``value`` can be written, and read again as the same."""
    if isinstance(value, int):
        return value.bit_length() <= MOST_BITS
    return value is None or isinstance(value, float | str)


def read_number(text: str) -> int | float:
    """Return the number that Python reads from ``text``, which may begin with a sign.

    Raises ``ValueError`` with a reason where there is none, or none that can be written back.
    """
    if len(text) > 2 * MOST_BITS:
        raise ValueError("the number is too long")
    if text.lstrip("+-") in WORDS:
        return float(text)
    try:
        integer = int(text, 0)
    except ValueError:
        return _read_float(text)
    if integer.bit_length() > MOST_BITS:
        raise ValueError(f"the integer has more than {MOST_BITS} bits")
    return integer


def _read_float(text: str) -> float:
    # float() would read 007, which is no number in Python, as 7.0.
    if not set(text) & set(".eE"):
        raise ValueError(f"'{text}' is no number")
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"'{text}' is no number") from None
    if math.isinf(number):
        raise ValueError(f"'{text}' is too large for a float")
    return number


def read_string(text: str) -> str:
    """Return the value of a string in its quotes, single or double.

    Raises ``ValueError`` with a reason for an unknown escape and for a raw control character.
    """
    body = text[1:-1]
    if not body.isprintable():
        raw = next(character for character in body if not character.isprintable())
        raise ValueError(f"the string holds a raw U+{ord(raw):04X}")
    return _ESCAPE.sub(_unescape, body)


def _unescape(match: re.Match[str]) -> str:
    kind, digits = match.lastgroup, match[match.lastgroup or 0]
    if kind == "plain":
        return _PLAIN[digits]
    code = int(digits, 8 if kind == "octal" else 16) if kind != "unknown" else -1
    if not 0 <= code <= 0x10FFFF:  # noqa: PLR2004 - the last code point of Unicode
        raise ValueError(f"unknown escape '{match[0]}' in the string")
    return chr(code)


def write_literal(value: Value) -> str:
    """Return the canonical literal of ``value``: ASCII, one line, strings in double quotes."""
    if isinstance(value, str):
        body = value.encode("unicode_escape").decode("ascii").replace('"', '\\"')
        return f'"{body}"'
    return repr(value)
