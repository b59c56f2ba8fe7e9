"""The closed set of text filters: how data becomes text that cannot leave its place.

Whatever a signature, a file name or metadata holds, a filter's result stays inside the comment,
the string or the recipe that it is printed into.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

_PRINTABLE: Final = re.compile(r"[^\x20-\x7e]")
_PLAIN: Final = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\?')
_PYTHON_COMMENTS: Final = re.compile(r"coding(?=[:=])|\A *type(?=:)")
_BYTES_PER_LINE: Final = 12
_FRAGMENTS: Final = Path(__file__).parent / "templates" / "runtime"


def c_string(text: str) -> str:
    r"""Return a C string literal of the text's UTF-8 bytes, quotes included.

    Escapes are octal, of three digits always: a hexadecimal one would swallow a digit behind it.
    A question mark is escaped too, against trigraphs.
    """
    escaped = "".join(
        chr(byte) if byte in _PLAIN else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "surrogateescape")
    )
    return f'"{escaped}"'


def c_comment(text: str) -> str:
    r"""Return the text as it may stand in a C comment: ASCII, on one line, without an end of it."""
    shown = _visible(text).replace("*/", "* /").replace("/*", "/ *")
    # C11 reads this as a backslash, which joins the next line where it ends one.
    return f"{shown[:-3]}? ?/" if shown.endswith("??/") else shown


def hash_comment(text: str) -> str:
    """Return the text as it may stand behind a ``#``: ASCII, on one line, nothing to Python.

    Python reads ``coding:`` in one of the first two lines as the file's encoding, and tools read a
    comment that begins with ``type:`` as a type; arguments may be called so.
    """
    return _PYTHON_COMMENTS.sub(r"\g<0> ", _visible(text))


def json_value(value: object) -> str:
    """Return a number, a text or a list of such as JSON, on one line and in ASCII."""
    return json.dumps(value, allow_nan=False)


def json_lines(comment: str) -> str:
    """Return the lines of a ``#`` comment as strings of a JSON list, indented."""
    lines = (json.dumps(line.removeprefix("# ")) for line in comment.splitlines())
    return ",\n".join(f"    {line}" for line in lines)


def c_bytes(data: bytes) -> str:
    """Return the elements of a C array, twelve to a line, indented."""
    lines = (
        "    0x" + data[start : start + _BYTES_PER_LINE].hex(" ").replace(" ", ", 0x") + ","
        for start in range(0, len(data), _BYTES_PER_LINE)
    )
    return "\n".join(lines)


@cache
def fragment(name: str) -> str:
    """Return a fragment of the runtime, hand-written C, without its last newline."""
    return (_FRAGMENTS / f"{name}.c").read_text("ascii").rstrip("\n")


def _visible(text: str) -> str:
    # A backslash at the end of a line would join the next one to the comment.
    escaped = _PRINTABLE.sub(lambda match: _escape(match[0]), text)
    return f"{escaped} " if escaped.endswith("\\") else escaped


def _escape(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


FILTERS: Final[Mapping[str, Callable[..., str]]] = MappingProxyType(
    {
        "c_string": c_string,
        "c_comment": c_comment,
        "hash_comment": hash_comment,
        "json": json_value,
        "json_lines": json_lines,
        "c_bytes": c_bytes,
        "fragment": fragment,
    }
)
"""What templates may use, by name."""
