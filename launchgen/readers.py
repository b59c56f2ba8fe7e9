"""How each type of a signature is read, tuples excepted: they hold arguments again.

A reader begins at the word or mark that its row in ``READERS`` names, leaves the cursor behind
the type, and raises :class:`Mistake` for whatever is wrong.  To add a type, add a reader and a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from launchgen.cursor import Cursor, Mistake
from launchgen.diagnostics import Span, did_you_mean, shown
from launchgen.limits import MOST_ALIGNMENT, MOST_BITS, MOST_STARS, MOST_STRING
from launchgen.literals import WORDS, Value, read_number, read_string
from launchgen.notation import (
    BYTES,
    CONSTEXPR,
    DESCRIPTOR,
    DESCRIPTOR_IM2COL,
    MOST_SIZE,
    TENSOR_MAP,
    BytesType,
    Constant,
    DescriptorType,
    PointerType,
    ScalarType,
    TensorMapType,
    Unknown,
    default_alignment,
    input_rank,
)
from launchgen.scalars import SCALARS, SPELLINGS, Scalar
from launchgen.tokens import Token, TokenKind

LeafType = PointerType | ScalarType | BytesType | TensorMapType | DescriptorType | Constant


def is_reserved(word: str) -> bool:
    """Return whether ``word`` is a type or a literal, and so cannot be an argument's name."""
    return word in SPELLINGS or word in WORDS or word in READERS


def is_literal(token: Token) -> bool:
    """Return whether a literal begins and ends with ``token``."""
    # Compared in a tuple by identity: an Enum's hash is slow, and this is asked for every token.
    return token.kind in (TokenKind.NUMBER, TokenKind.STRING) or token.text in WORDS


def is_writable(value: Value) -> bool:
    """Return whether a constant's value can be written in a signature."""
    if isinstance(value, str):
        return len(value) <= MOST_STRING
    return not isinstance(value, int) or value.bit_length() <= MOST_BITS


def read_scalar(cursor: Cursor) -> ScalarType:
    """Read a scalar that is passed by value; the next token is known to be a spelling of one."""
    scalar = SPELLINGS[cursor.token.text]
    if not scalar.argument:
        raise cursor.mistake(
            f"'{cursor.token.text}' is never passed by value",
            hint=f"it may stand behind a star: '*{scalar.name}'",
        )
    cursor.at += 1
    return ScalarType(scalar)


def read_literal(cursor: Cursor) -> Value:
    """Read a literal; the next token is known to be one."""
    token = cursor.token
    try:
        if token.kind is TokenKind.NUMBER:
            value: Value = read_number(token.text, most_bits=MOST_BITS)
        elif token.kind is TokenKind.STRING:
            value = read_string(token.text)
        else:
            value = WORDS[token.text]
        if not is_writable(value):
            raise ValueError(f"the string has more than {MOST_STRING:,} characters")
    except ValueError as error:
        literals = "literals are Python's: 1024, -1, 0x10, 1e-5, 'relu', True"
        raise cursor.mistake(str(error), hint=literals) from None
    cursor.at += 1
    return value


def _constexpr(cursor: Cursor) -> Constant:
    cursor.at += 1
    if not cursor.take("="):
        return Constant(Unknown(), declared=True)
    if cursor.token.kind in (TokenKind.OPEN_STRING, TokenKind.FOREIGN):
        raise cursor.unexpected()
    if not is_literal(cursor.token):
        word, span = _chunk(cursor)
        message = "a value is missing" if cursor.ends() else f"{shown(word)} is no literal"
        hint = f"a constant whose value has no literal form is written '{CONSTEXPR}' alone"
        raise cursor.mistake(message, span, hint=hint)
    return Constant(read_literal(cursor), declared=True)


def _pointer(cursor: Cursor) -> PointerType:
    depth, outer = 0, False
    while cursor.take("*"):
        depth += 1
        if depth > MOST_STARS:
            raise cursor.mistake("too many stars", hint=f"a pointer has at most {MOST_STARS}")
        if depth == 1 and cursor.tokens[cursor.at + 1].text == "*":
            outer = cursor.take("k")
    # No scalar's name begins with k, so that the letter is always the mark.
    word = cursor.token.text
    read_only = word not in SPELLINGS and word.startswith("k")
    pointee = _in_memory(cursor, word.removeprefix("k") if read_only else word)
    if depth == 1:
        return PointerType(pointee, read_only)
    return PointerType(pointee, outer, depth, inner_read_only=read_only)


def _in_memory(cursor: Cursor, name: str) -> Scalar:
    """Read the scalar ``name``, which a pointer or a descriptor points to."""
    scalar = SPELLINGS.get(name)
    if scalar is not None:
        cursor.at += 1
        return scalar
    if cursor.ends():
        raise cursor.mistake("a scalar is missing", hint=_ALL_SCALARS)
    if cursor.token.kind is not TokenKind.WORD:
        raise cursor.unexpected("a scalar stands here, as 'fp32'")
    word, span = _chunk(cursor)
    near = nearest(word.removeprefix("k"), SPELLINGS) or nearest(word, SPELLINGS)
    raise cursor.mistake(f"unknown scalar {shown(word)}", span, hint=near or _ALL_SCALARS)


def _bytes(cursor: Cursor) -> BytesType:
    form = f"it is written '{BYTES}[24]' or '{BYTES}[24:8]': size, and alignment"
    cursor.at += 1
    if cursor.token.text != "[":
        cursor.at -= 1
        raise cursor.mistake(f"'{BYTES}' has no size", hint=form)
    end = cursor.group(cursor.at)
    cursor.at += 1
    size = _count(cursor, form)
    align = default_alignment(size)
    if cursor.take(":"):
        align = _count(cursor, form)
        if align & (align - 1):
            cursor.at -= 1
            raise cursor.mistake(f"the alignment {align} is no power of two", hint=form)
        if align > MOST_ALIGNMENT:
            cursor.at -= 1
            hint = f"a struct is aligned to at most {MOST_ALIGNMENT:,} bytes"
            raise cursor.mistake(f"the alignment {align} is too much", hint=hint)
    if cursor.at != end:
        raise cursor.unexpected(form)
    cursor.at += 1
    return BytesType(size, align)


_COUNT: Final = re.compile(rf"[1-9][0-9]{{0,{len(str(MOST_SIZE)) - 1}}}")


def _count(cursor: Cursor, form: str) -> int:
    """Read a decimal number from 1 up to nine digits."""
    token = cursor.token
    if token.kind is not TokenKind.NUMBER:
        raise cursor.unexpected(form)
    if not _COUNT.fullmatch(token.text):
        raise cursor.mistake(f"{shown(token.text)} is no size from 1 to {MOST_SIZE}", hint=form)
    cursor.at += 1
    return int(token.text)


def _tensor_map(cursor: Cursor) -> TensorMapType:
    cursor.at += 1
    return TensorMapType()


def _descriptor(cursor: Cursor, *, im2col: bool) -> DescriptorType:
    word = cursor.token.text
    form = f"it is written '{word}<fp16[64, 64]{',input_rank=4' * im2col}>'"
    if cursor.tokens[cursor.at + 1].text != "<":
        raise cursor.mistake(f"'{word}' has no element type and sizes", hint=form)
    end = cursor.group(cursor.at + 1)
    cursor.at += 2
    if cursor.at == end:
        raise cursor.unexpected(form)
    element = _in_memory(cursor, cursor.token.text)
    if cursor.token.text != "[":
        raise cursor.unexpected(form)
    sizes_end = cursor.group(cursor.at)
    cursor.at += 1
    sizes = [_count(cursor, form)]
    while cursor.take(","):
        sizes.append(_count(cursor, form))
    if cursor.at != sizes_end:
        raise cursor.unexpected(form)
    cursor.at += 1
    layout = _layout(cursor, end)
    if im2col and input_rank(layout) is None:
        raise cursor.mistake(f"'{word}' has no input_rank behind its sizes", hint=form)
    cursor.at = end + 1
    return DescriptorType(element, tuple(sizes), layout, im2col)


# Begins where no blank stands before it: each of many would be a beginning otherwise.
_LINE_BREAKS: Final = re.compile(r"(?<! ) *[\t\r\n][ \t\r\n]*")


def _layout(cursor: Cursor, end: int) -> str:
    """Return the text up to token ``end`` as it is, but on one line."""
    tokens = cursor.tokens
    for index in range(cursor.at, end):
        kind, text = tokens[index][:2]
        is_string = kind in (TokenKind.STRING, TokenKind.OPEN_STRING)
        foreign = is_string and not (text.isascii() and text.isprintable())
        if kind is TokenKind.FOREIGN or foreign or index in cursor.brackets.broken:
            cursor.at = index
            if foreign:
                raise cursor.mistake(
                    f"{shown(text)} is not printable ASCII",
                    hint="a layout is ASCII text on one line",
                )
            raise cursor.unexpected()
    text = cursor.source.text[tokens[cursor.at - 1].end : tokens[end].start]
    layout = _LINE_BREAKS.sub(" ", text).strip()
    if len(layout) > MOST_STRING:
        hint = f"a layout has at most {MOST_STRING:,} characters"
        raise cursor.mistake(f"a layout of {len(layout):,} characters", hint=hint)
    return layout


READERS: Final[Mapping[str, Callable[[Cursor], LeafType]]] = MappingProxyType(
    {
        "*": _pointer,
        CONSTEXPR: _constexpr,
        BYTES: _bytes,
        TENSOR_MAP: _tensor_map,
        DESCRIPTOR: partial(_descriptor, im2col=False),
        DESCRIPTOR_IM2COL: partial(_descriptor, im2col=True),
    }
)
"""Readers by the word or mark that begins what they read; scalars and literals have their own."""

_WORDS: Final = tuple(word for word in READERS if word.isidentifier())
_TYPES: Final = (*SPELLINGS, *_WORDS, *WORDS)
_KNOWN_AS: Final = {name: row for row in SCALARS.values() for name in row.known_as}
_POINTERS: Final = frozenset({"ptr", "pointer", "tensor", "void"})
_ALL_SCALARS: Final = f"scalars are {', '.join(SCALARS)}"
_ALL_TYPES: Final = f"types are {', '.join(SPELLINGS)}, *T, (...), {', '.join(_WORDS)}"
NAMES: Final = "names are ASCII letters, digits and underscores, and begin with no digit"


def nearest(word: str, known: Iterable[str] = _TYPES) -> str | None:
    """Return a suggestion for the unknown type ``word``: another notation's name, or a typo."""
    bare = word.rpartition(".")[2].lower()
    row = _KNOWN_AS.get(bare)
    if row is not None:
        return f"did you mean '{row.name}'?"
    return did_you_mean(bare, known)


# What a user took for a word: torch.float32, x-ptr, a name in other letters.
_CHUNK: Final = re.compile(r"[^ \t\r\n,:()\[\]<>=*]+")


def _chunk(cursor: Cursor) -> tuple[str, Span]:
    token = cursor.token
    match = _CHUNK.match(cursor.source.text, token.start)
    return (match[0], Span(*match.span())) if match else (token.text, Span(*token[2:]))


def unknown_type(cursor: Cursor) -> Mistake:
    """Return that the next word is no type, or no name where a colon follows it."""
    word, span = _chunk(cursor)
    behind = next(token for token in cursor.tokens[cursor.at :] if token.start >= span.end)
    if behind.text == ":" and word != cursor.token.text:
        return cursor.mistake(f"{shown(word)} is no name", span, hint=NAMES)
    if behind.text == "=":
        hint = f"a constant is written 'name: {CONSTEXPR} = value'"
        return cursor.mistake(f"{shown(word)} has a value but no type", span, hint=hint)
    if word.lower() in _POINTERS:
        hint = "a pointer is written '*T', as '*fp32'"
    else:
        hint = nearest(word) or _ALL_TYPES
    return cursor.mistake(f"unknown type {shown(word)}", span, hint=hint)
