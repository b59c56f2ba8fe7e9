"""Triton's IR to a Signature: names, types and hints of every slot, from a ``.ttir`` or ``.ttgir``.

What a kernel is called with stands in its header:

    tt.func public @add_kernel(%x_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x_ptr"), ...)

Only that is read, and nothing of the body.  The IR knows slots, not source arguments: a tuple's
leaves, and the parts of a descriptor that Triton took apart, repeat one name and are numbered here.
Constants and signedness are not in it; up to Triton 3.4 names are not either.

Seen in Triton 3.4 to 3.9; to read another type, add a row to ``_TYPES``.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from launchgen.argument_names import argument_names
from launchgen.diagnostics import (
    Diagnostic,
    InputError,
    MismatchError,
    Source,
    Span,
    UnsupportedError,
    listed,
    shown,
)
from launchgen.limits import MOST_RANK, MOST_STARS
from launchgen.notation import (
    MOST_SIZE,
    Argument,
    DescriptorType,
    Hint,
    PointerType,
    ScalarType,
    Signature,
    TensorMapType,
    Type,
    divisibility_hint,
)
from launchgen.scalars import IR_SPELLINGS, SCALARS, Kind

_STRING: Final = r'"(?:[^"\\\n]|\\.)*"'
# At the beginning of a line, where no comment can hold it.
_FUNCTION: Final = re.compile(
    rf"^[ \t]*tt\.func\s+public\s+@(?:({_STRING})|([\w.$-]+))\s*\(", re.MULTILINE
)
# A string without its end goes to the end of the line; an arrow closes no bracket.
_MARK: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"?|->|\bloc\(|[][(){}<>,]')
_NAME: Final = re.compile(rf"\s*%(?:({_STRING})|([\w.$-]+))\s*:\s*")
_LOCATION: Final = re.compile(rf"loc\(\s*(?:({_STRING})\s*[()]|(#\w+)\s*\))")
_ALIAS: Final = re.compile(rf"^(#\w+)\s*=\s*loc\(\s*({_STRING})\s*[()]", re.MULTILINE)
_AUTOMATIC: Final = re.compile(r"arg[0-9]+", re.ASCII)
_DIVISIBILITY: Final = re.compile(r"\btt\.divisibility\s*=\s*([0-9]{1,18})\b", re.ASCII)
_TENSOR_MAP: Final = re.compile(r"\btt\.nv_tma_desc\s*=\s*1\b")


class _Slot(NamedTuple):
    """One parameter of the function, as written."""

    name: str
    """Of the source argument; empty where the IR has none."""
    type: str
    attributes: str
    span: Span


class KernelIr(NamedTuple):
    """What the IR says of a kernel's arguments."""

    signature: Signature
    owners: tuple[str, ...]
    """For each of them the name of the source argument that it is, or is a part of."""


def read_signature(source: Source, *, entry: str | None = None) -> Signature:
    """Return what a kernel is called with, as :func:`read_kernel_ir` does."""
    return read_kernel_ir(source, entry=entry).signature


def read_kernel_ir(source: Source, *, entry: str | None = None) -> KernelIr:
    """Return what a kernel is called with; ``entry`` chooses one of several.

    Raises InputError where the text has no kernel, MismatchError where it has another one,
    UnsupportedError for a parameter of a type that no launcher passes.
    """
    slots = list(_slots(source, _header(source, entry)))
    arguments: list[Argument] = []
    at = 0
    while at < len(slots):
        slot = slots[at]
        type_ = _type(slot, source)
        at += 1
        if isinstance(type_, DescriptorType):
            type_, parts = _descriptor_and_parts(type_, slots, at, source)
            at += parts
        arguments.append(Argument(type_, _hint(slot, type_), slot.name, slot.span))
    wanted = _numbered(argument.name for argument in arguments)
    names = argument_names(wanted)
    owners = (
        name if argument.name == asked else argument_names([argument.name.partition(".")[0]])[0]
        for argument, asked, name in zip(arguments, wanted, names, strict=True)
    )
    renamed = tuple(map(Argument.renamed, arguments, names))
    return KernelIr(Signature(renamed, source), tuple(owners))


def _header(source: Source, entry: str | None) -> int:
    """Return where the parameters of the kernel begin."""
    place = Source(source.name, "")
    found = [
        ((match[1] or match[2]).strip('"'), match.end())
        for match in _FUNCTION.finditer(source.text)
    ]
    names = listed([name for name, _ in found], shown)
    if not found:
        problem = "holds no kernel: there is no 'tt.func public' in it"
        raise InputError(Diagnostic(problem, source=place))
    wanted = [start for name, start in found if entry in (None, name)]
    if not wanted:
        problem = f"holds no kernel called {shown(entry or '')}, only {names}"
        hint = "the IR is that of another kernel: remove it, or give the one that belongs here"
        raise MismatchError(Diagnostic(problem, source=place, hint=hint))
    if len(wanted) > 1:
        raise InputError(Diagnostic(f"holds several kernels: {names}", source=place))
    return wanted[0]


def _slots(source: Source, start: int) -> Iterator[_Slot]:
    text = source.text
    aliases: dict[str, str] | None = None
    for begin, end, marks in _parameters(source, start):
        match = _NAME.match(text, begin, end)
        if match is None:
            if text[begin:end].strip():
                raise _unreadable(source, begin, end)
            continue
        braces = [at for at in marks if text[at] == "{"]
        places = [at for at in marks if text[at] == "l"]
        stop = min([*braces, *places, end])
        location = _LOCATION.match(text, places[-1]) if places else None
        name = location[1] and location[1][1:-1] if location else None
        if location and location[2]:
            if aliases is None:
                aliases = {found[1]: found[2][1:-1] for found in _ALIAS.finditer(text)}
            name = aliases.get(location[2])
        if name is None:
            written = (match[1] or match[2]).strip('"')
            name = "" if _AUTOMATIC.fullmatch(written) else written
        attributes = text[braces[0] : places[-1] if places else end] if braces else ""
        span = Span(text.index("%", begin), stop)
        yield _Slot(name, text[match.end() : stop].strip(), attributes, span)


_OPENING: Final = {"(": ")", "loc(": ")", "[": "]", "{": "}", "<": ">"}


def _parameters(source: Source, start: int) -> Iterator[tuple[int, int, list[int]]]:
    """Yield where each parameter begins and ends, and where its brackets open."""
    begin = start
    stack: list[str] = []
    marks: list[int] = []
    for match in _MARK.finditer(source.text, start):
        mark = match[0]
        if not stack and mark in {",", ")"}:
            yield begin, match.start(), marks
            begin, marks = match.end(), []
            if mark == ")":
                return
        elif mark in _OPENING:
            if not stack:
                marks.append(match.start())
            stack.append(_OPENING[mark])
        elif mark in _OPENING.values() and (not stack or stack.pop() != mark):
            raise _unreadable(source, match.start(), match.end())
    # What was read is not the whole list.
    raise _unreadable(source, begin, len(source.text))


def _unreadable(source: Source, begin: int, end: int) -> InputError:
    problem = "the kernel's parameters cannot be read here"
    return InputError(Diagnostic(problem, source=source, span=Span(begin, end)))


# --- types ---------------------------------------------------------------------------------------

_POINTER: Final = re.compile(r"!tt\.ptr<(.+?)(?:,\s*[0-9]+(?:\s*:\s*i32)?)?>", re.DOTALL)
_DESCRIPTOR: Final = re.compile(
    r"!(?:tt|ttg|ttng)\.tensordesc(_im2col)?<\s*(?:tensor<)?((?:[0-9]{1,18}x){1,16})(\w+)\b.*>",
    re.DOTALL,
)


def _pointer(match: re.Match[str]) -> Type | None:
    pointee, depth = match[1], 1
    while depth < MOST_STARS and (inner := _POINTER.fullmatch(pointee)):
        pointee, depth = inner[1], depth + 1
    scalar = IR_SPELLINGS.get(pointee)
    return None if scalar is None else PointerType(scalar, depth=depth)


def _descriptor(match: re.Match[str]) -> Type | None:
    scalar = IR_SPELLINGS.get(match[3])
    sizes = [int(size) for size in match[2].split("x")[:-1]]
    if scalar is None or not all(1 <= size <= MOST_SIZE for size in sizes):
        return None
    return DescriptorType(scalar, tuple(sizes), im2col=match[1] is not None)


def _scalar(match: re.Match[str]) -> Type | None:
    scalar = IR_SPELLINGS.get(match[0])
    return None if scalar is None or not scalar.argument else ScalarType(scalar)


_TYPES: Final[Mapping[re.Pattern[str], Callable[[re.Match[str]], Type | None]]] = MappingProxyType(
    {re.compile(r"\w+"): _scalar, _POINTER: _pointer, _DESCRIPTOR: _descriptor}
)


def _type(slot: _Slot, source: Source) -> Type:
    if _TENSOR_MAP.search(slot.attributes):
        return TensorMapType()
    for pattern, make in _TYPES.items():
        match = pattern.fullmatch(slot.type)
        found = make(match) if match else None
        if found is not None:
            return found
    raise UnsupportedError(
        Diagnostic(
            f"a parameter of type {shown(slot.type)} is none that a launcher passes",
            source=source,
            span=slot.span,
            hint="--signature says what the kernel is called with",
        )
    )


def _hint(slot: _Slot, type_: Type) -> Hint | None:
    match = _DIVISIBILITY.search(slot.attributes)
    return divisibility_hint(type_, 0 if match is None else int(match[1]))


def _descriptor_and_parts(
    type_: DescriptorType, slots: list[_Slot], at: int, source: Source
) -> tuple[DescriptorType, int]:
    """Return the type, and how many slots from ``at`` on are its shape and strides."""
    rank = type_.rank
    if type_.im2col:
        # Its sizes are those of a block; the tensor's rank is the number of sizes that follow.
        behind = itertools.islice(slots, at, at + MOST_RANK)
        rank = sum(1 for _ in itertools.takewhile(lambda s: s.type == _spelled(4), behind))
        type_ = DescriptorType(type_.element, type_.sizes, f",input_rank={rank}", im2col=True)
    expected = [_spelled(4)] * rank + [_spelled(8)] * rank
    found = [part.type for part in slots[at : at + 2 * rank]]
    if found != expected or rank == 0:
        problem = "behind a descriptor its shape and strides are missing"
        hint = "--signature says what the kernel is called with"
        span = slots[at - 1].span
        raise UnsupportedError(Diagnostic(problem, source=source, span=span, hint=hint))
    return type_, 2 * rank


def _spelled(size: int) -> str:
    """Return what the IR calls an integer of ``size`` bytes."""
    return next(
        row.mlir for row in SCALARS.values() if row.kind is Kind.SIGNED and row.size == size
    )


# --- names ---------------------------------------------------------------------------------------


def _numbered(names: Iterable[str]) -> list[str]:
    """Return each name, one that is repeated with its number behind it, dots as underscores."""
    spelled = [name.replace(".", "_") for name in names]
    counts = Counter(spelled)
    seen: Counter[str] = Counter()
    found = []
    for name in spelled:
        found.append(f"{name}_{seen[name]}" if name and counts[name] > 1 else name)
        seen[name] += 1
    return found
