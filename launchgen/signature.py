"""Text to Signature; ``notation.py`` is what it can say and how it is printed back.

Every mistake of a signature is found in one pass: what is wrong with an argument, or with an
element of a tuple, is noted, and reading goes on behind the next comma of the same group.

``readers.py`` knows the single types; to add one, begin there.
"""

from __future__ import annotations

from typing import Final

from launchgen.cursor import Cursor, Mistake, where
from launchgen.diagnostics import Diagnostic, SignatureError, Source, Span, shortened, shown
from launchgen.limits import MOST_DEPTH, MOST_NAME, MOST_SIGNATURE, size_text
from launchgen.literals import WORDS
from launchgen.notation import (
    BYTES,
    CONSTEXPR,
    Argument,
    BytesType,
    Constant,
    DescriptorType,
    Hint,
    Leaf,
    PointerType,
    ScalarType,
    Signature,
    TensorMapType,
    TupleType,
    Type,
    Unknown,
    automatic_name,
    leaf_label,
    leaves,
    unhinted_pointers,
)
from launchgen.readers import (
    NAMES,
    READERS,
    is_literal,
    is_reserved,
    nearest,
    read_literal,
    read_scalar,
    unknown_type,
)
from launchgen.scalars import SPELLINGS
from launchgen.tokens import TokenKind

__all__ = [
    "Argument",
    "BytesType",
    "Constant",
    "DescriptorType",
    "Hint",
    "Leaf",
    "PointerType",
    "ScalarType",
    "Signature",
    "TensorMapType",
    "TupleType",
    "Type",
    "Unknown",
    "automatic_name",
    "is_reserved",
    "leaf_label",
    "leaves",
    "parse",
    "unhinted_pointers",
]


def parse(text: str, *, name: str = "--signature") -> Signature:
    """Return the signature that ``text`` spells; ``name`` is how errors call the text.

    Raises :class:`SignatureError` with a diagnostic for every mistake, in order of position.
    """
    if len(text) > MOST_SIGNATURE:
        most = size_text(MOST_SIGNATURE)
        problem = f"the signature has {size_text(len(text))}, and at most {most} are read"
        hint = "a constant whose value is long is written 'constexpr' alone"
        raise SignatureError(Diagnostic(problem, Source(name, ""), hint=hint))
    cursor = Cursor(Source(name, text))
    arguments = _items(cursor, cursor.end, trailing_comma=False)
    _check_names(cursor, count=len(arguments))
    mistakes = cursor.mistakes()
    if mistakes:
        raise SignatureError(*mistakes)
    return Signature(tuple(filter(None, arguments)), cursor.source)


def _items(cursor: Cursor, stop: int, *, trailing_comma: bool) -> list[Argument | None]:
    """Read what lies before token ``stop``, separated by commas; None where there is a mistake."""
    items: list[Argument | None] = []
    more = cursor.at < stop
    while more:
        begin = cursor.at
        cursor.path.append(len(items))
        try:
            items.append(_argument(cursor, stop))
        except Mistake as mistake:
            cursor.note(mistake)
            cursor.at = begin
            cursor.skip(stop)
            items.append(None)
        cursor.path.pop()
        comma = cursor.at < stop and not cursor.full
        cursor.at += comma
        more = comma and (cursor.at < stop or not trailing_comma)
    return items


def _argument(cursor: Cursor, stop: int) -> Argument:
    start = cursor.token.start
    name = _name(cursor)
    type_ = _type(cursor)
    hint = _hint(cursor, type_) if cursor.take(":") else None
    if cursor.at != stop and cursor.token.text != ",":
        raise cursor.unexpected(_advice_behind(cursor))
    return Argument(type_, hint, name, Span(start, cursor.tokens[cursor.at - 1].end))


def _advice_behind(cursor: Cursor) -> str:
    match cursor.token.text:
        case "*":
            return "a pointer is written '*T', with the star in front"
        case "=":
            return f"only a constant has a value: 'name: {CONSTEXPR} = value'"
        case "[" | "<":
            return f"only {BYTES} and descriptors have brackets; a tuple is written (a, b)"
        case ":":
            return "an argument is written 'name: type:hint'"
        case _:
            return "arguments are separated by commas"


_NO_NAMES: Final = (TokenKind.NUMBER, TokenKind.STRING, TokenKind.FOREIGN)


def _name(cursor: Cursor) -> str:
    """Read ``name:`` where the argument begins with it; ``i32:16`` does not."""
    word, colon, behind = cursor.tokens[cursor.at : cursor.at + 3]
    if colon.text != ":":
        return ""
    if word.kind in _NO_NAMES and behind.kind is not TokenKind.NUMBER:
        raise cursor.mistake(f"{shown(word.text)} is no name", hint=NAMES)
    if word.kind is not TokenKind.WORD:
        return ""
    if is_reserved(word.text):
        if behind.kind is TokenKind.NUMBER or behind.text in {",", ")", ""}:
            return ""
        kind = "a literal" if word.text in WORDS else "a type"
        raise cursor.mistake(
            f"'{word.text}' is {kind} and cannot be a name",
            hint=f"choose another name, as '{word.text}_'",
        )
    if is_literal(behind):
        near = nearest(word.text)
        constant = f"{shortened(word.text)}: {CONSTEXPR} = {shortened(behind.text)}"
        constant = f"a named constant is written '{constant}'"
        raise cursor.mistake(
            f"{shown(word.text)} is no type, and a literal has no name",
            Span(word.start, behind.end),
            hint=f"{near} {constant}" if near else constant,
        )
    if len(cursor.path) > 1:
        raise cursor.mistake(
            f"{shown(word.text)} names an element of a tuple",
            hint="elements have no names; the tuple itself may have one",
        )
    if len(word.text) > MOST_NAME:
        raise cursor.mistake(
            f"the name {shown(word.text)} has {len(word.text):,} characters",
            hint=f"a name has at most {MOST_NAME}",
        )
    cursor.names.append((cursor.path[0], word))
    cursor.at += 2
    return word.text


def _check_names(cursor: Cursor, *, count: int) -> None:
    """Note every name that another of the ``count`` arguments has, given or automatic."""
    named = {index for index, _ in cursor.names}
    automatic = {automatic_name(i): i for i in range(count) if i not in named}
    first: dict[str, int] = {}
    for index, token in cursor.names:
        name, called, span = token.text, shown(token.text), Span(token.start, token.end)
        earlier = first.setdefault(name, index)
        if earlier != index:
            message = f"the name {called} is taken by argument {earlier}"
            mistake = Mistake(message, span, "every argument needs its own name")
        elif name in automatic:
            message = f"{called} is the automatic name of argument {automatic[name]}"
            mistake = Mistake(message, span, "choose another name, or name that argument too")
        else:
            continue
        cursor.note(mistake, where([index], name))


def _type(cursor: Cursor) -> Type:
    """Read a type or a literal."""
    text = cursor.token.text
    if text == "(":
        return _tuple(cursor)
    read = READERS.get(text)
    if read is not None:
        return read(cursor)
    if is_literal(cursor.token):
        return Constant(read_literal(cursor), declared=False)
    if text in SPELLINGS:
        return read_scalar(cursor)
    if cursor.ends():
        behind = cursor.at and cursor.tokens[cursor.at - 1].text == ":"
        message = f"no type behind {shown(cursor.name)}" if behind else "a type is missing"
        hint = (
            "an argument is written 'name: type'" if behind else "write a type, or remove the comma"
        )
        raise cursor.mistake(message, hint=hint)
    if cursor.token.kind is not TokenKind.WORD:
        raise cursor.unexpected(_advice_behind(cursor))
    raise unknown_type(cursor)


def _tuple(cursor: Cursor) -> TupleType:
    opener = cursor.at
    stop = cursor.group(opener)
    if len(cursor.path) > MOST_DEPTH:
        raise cursor.mistake(
            "too many tuples inside each other", hint=f"at most {MOST_DEPTH} may nest"
        )
    cursor.at += 1
    before = cursor.noted
    elements = _items(cursor, stop, trailing_comma=True)
    # A mistake inside is reported alone: the parentheses around it may be right once it is mended.
    single = len(elements) == 1 and cursor.tokens[stop - 1].text != ","
    if single and cursor.noted == before:
        raise cursor.mistake(
            "parentheses around a single element",
            Span(cursor.tokens[opener].start, cursor.tokens[stop].end),
            hint="a tuple of one has a comma: '(i32,)'; otherwise remove the parentheses",
        )
    cursor.at = stop + 1
    return TupleType(tuple(filter(None, elements)))


_HINTS: Final = {str(hint.value): hint for hint in Hint}


def _hint(cursor: Cursor, type_: Type) -> Hint:
    """Read what stands behind the colon, and check it against the type before it."""
    known = "hints are ':16' (divisible by 16) and ':1' (equals 1)"
    if cursor.ends():
        raise cursor.mistake(f"no hint behind {shown(str(type_))}", hint=known)
    text = cursor.token.text
    refusal = _refusal(type_)
    if refusal:
        raise cursor.mistake(f"{shown(str(type_))} takes no hint: {refusal}", hint=_PROMISES)
    if text not in _HINTS:
        if cursor.token.kind not in {TokenKind.WORD, TokenKind.NUMBER}:
            raise cursor.unexpected(known)
        raise cursor.mistake(f"unknown hint {shown(':' + text)}", hint=known)
    hint = _HINTS[text]
    if isinstance(type_, PointerType) and hint is Hint.EQUALS_1:
        raise cursor.mistake(
            f"'{type_}' takes no hint ':1': no address equals 1",
            hint="a pointer may have ':16'; ':1' is for integers that are always 1",
        )
    cursor.at += 1
    return hint


_PROMISES: Final = "hints are promises about pointers and integers"


def _refusal(type_: Type) -> str:
    """Return why no hint may stand on ``type_``; empty where one may."""
    match type_:
        case PointerType():
            return ""
        case ScalarType():
            return "" if type_.scalar.is_integer else "it is a float"
        case Constant():
            return "a constant is known already"
        case TupleType():
            return "each of its elements may have one"
        case BytesType() | TensorMapType() | DescriptorType():
            return "it is neither a pointer nor an integer"
