"""What a signature says, and its canonical form: ``parse(str(s)) == s``.

The model is the notation's own: it knows scalars by their rows and nothing of C or of targets.
Equality ignores spans and the source, so that a signature equals its own canonical form.  To add
a type, add a class with ``__str__``, a member of ``Type``, and a row in the parser's table
(``signature.py``).
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple

from msgspec import Struct

from launchgen.diagnostics import Source, Span
from launchgen.literals import Value, write_literal
from launchgen.scalars import Scalar

CONSTEXPR: Final = "constexpr"
BYTES: Final = "bytes"
TENSOR_MAP: Final = "nvTmaDesc"
DESCRIPTOR: Final = "tensordesc"
DESCRIPTOR_IM2COL: Final = "tensordesc_im2col"


MOST_SIZE: Final = 999_999_999
"""Of a struct in bytes, or of a block along one dimension."""


class Hint(Enum):
    """A promise about an argument's value."""

    DIVISIBLE_BY_16 = 16
    EQUALS_1 = 1


class PointerType(Struct, frozen=True):
    """A device address: ``*fp32``; ``*kfp32`` is only read; ``**fp32`` has depth 2."""

    pointee: Scalar
    read_only: bool = False
    """The memory that the argument itself points to is only read: ``*kfp32``, ``*k*fp32``."""
    depth: int = 1
    inner_read_only: bool = False
    """The scalars behind a pointer to pointers are only read: ``**kfp32``; False at depth 1."""

    def __str__(self) -> str:
        outer, inner = "k" * self.read_only, "k" * self.inner_read_only
        return f"*{outer}{'*' * (self.depth - 1)}{inner}{self.pointee.name}"


class ScalarType(Struct, frozen=True):
    """A scalar passed by value."""

    scalar: Scalar

    def __str__(self) -> str:
        return self.scalar.name


# A struct that holds a pointer or a size has this alignment, and hardly one has a greater.
_COMMON_ALIGNMENT: Final = 8


def default_alignment(size: int) -> int:
    """Return the alignment of ``bytes[size]``: the greatest power of two up to 8 that divides it.

    C pads every struct to a multiple of its alignment, so that it cannot be greater than that
    power; up to 8, because more takes vector types or an attribute.
    """
    return min(size & -size, _COMMON_ALIGNMENT)


class BytesType(Struct, frozen=True):
    """A struct of ``size`` bytes passed by value, aligned to ``align``."""

    size: int
    align: int

    def __str__(self) -> str:
        align = "" if self.align == default_alignment(self.size) else f":{self.align}"
        return f"{BYTES}[{self.size}{align}]"


class TensorMapType(Struct, frozen=True):
    """``nvTmaDesc``: a ready-made 128-byte tensor map."""

    def __str__(self) -> str:
        return TENSOR_MAP


_INPUT_RANK: Final = re.compile(r",\s*input_rank\s*=\s*([1-9][0-9]{0,8})\b", re.ASCII)


def input_rank(layout: str) -> int | None:
    """Return N of a layout that begins with ``,input_rank=N``, else None."""
    match = _INPUT_RANK.match(layout)
    return int(match[1]) if match else None


class DescriptorType(Struct, frozen=True):
    """``tensordesc<fp16[64, 64],layout>``; ``layout`` is the text after ``]``, comma included."""

    element: Scalar
    sizes: tuple[int, ...]
    layout: str = ""
    im2col: bool = False

    @property
    def rank(self) -> int:
        """Dimensions of the tensor: the number of sizes, but ``input_rank`` with im2col."""
        rank = input_rank(self.layout) if self.im2col else None
        return len(self.sizes) if rank is None else rank

    @property
    def corners(self) -> int:
        """Spatial dimensions of im2col, in each of which a pixel box has two corners."""
        return max(self.rank - 2, 1)

    def __str__(self) -> str:
        head = DESCRIPTOR_IM2COL if self.im2col else DESCRIPTOR
        sizes = ", ".join(map(str, self.sizes))
        return f"{head}<{self.element.name}[{sizes}]{self.layout}>"


class Unknown(Struct, frozen=True):
    """The value of a constant that was not given: ``constexpr`` without ``= value``."""


class Constant(Struct, frozen=True, eq=False):
    """A value compiled into the kernel: it has no slot and no parameter in C.

    Two are equal where no kernel could tell them apart: NaN equals NaN, an unknown value an
    unknown one; 1, 1.0 and True differ, and so do 0.0 and -0.0.
    """

    value: Value | Unknown
    declared: bool
    """True for ``constexpr``, False for a bare literal, whose value is always known."""

    def __str__(self) -> str:
        if isinstance(self.value, Unknown):
            return CONSTEXPR
        return f"{CONSTEXPR} = " * self.declared + write_literal(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        # repr() tells the types apart, -0.0 from 0.0, and is the same for every NaN.
        return (repr(self.value), self.declared)


class TupleType(Struct, frozen=True):
    """A tuple of elements, which have no names."""

    elements: tuple[Argument, ...]

    def __str__(self) -> str:
        comma = "," * (len(self.elements) == 1)
        return f"({', '.join(map(str, self.elements))}{comma})"


Type = PointerType | ScalarType | BytesType | TensorMapType | DescriptorType | Constant | TupleType


_NOWHERE: Final = Span(0, 0)
_NO_SOURCE: Final = Source("", "")


class Argument(Struct, frozen=True, eq=False):
    """One argument of the kernel as written, or one element of a tuple."""

    type: Type
    hint: Hint | None = None
    name: str = ""
    """As written; empty where the position names it, and for an element of a tuple."""
    span: Span = _NOWHERE

    def renamed(self, name: str) -> Argument:
        """Return the same under another name."""
        return Argument(self.type, self.hint, name, self.span)

    def __str__(self) -> str:
        name = f"{self.name}: " if self.name else ""
        return f"{name}{self.declared}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Argument):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.type, self.hint, self.name

    @property
    def declared(self) -> str:
        """Type and hint as in a signature, without the name."""
        return f"{self.type}:{self.hint.value}" if self.hint else str(self.type)


def automatic_name(index: int) -> str:
    """Return the name of the argument at ``index`` where the signature gives none."""
    return f"arg{index}"


class Signature(Struct, frozen=True, eq=False):
    """What a kernel is called with, in source order."""

    arguments: tuple[Argument, ...]
    source: Source = _NO_SOURCE

    def __eq__(self, other: object) -> bool:
        return self.arguments == other.arguments if isinstance(other, Signature) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.arguments)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every argument, constants included: as written, or ``arg0``, ``arg1``."""
        return tuple(
            argument.name or automatic_name(index) for index, argument in enumerate(self.arguments)
        )

    def __str__(self) -> str:
        return ", ".join(map(str, self.arguments))


def leaf_label(signature: Signature, path: tuple[int, ...]) -> str:
    """Return the name of an argument or an element in words: ``n``, ``ptrs.1.0``."""
    # Not by way of all names: this is asked for each of thousands.
    name = signature.arguments[path[0]].name or automatic_name(path[0])
    return ".".join((name, *map(str, path[1:])))


def divisibility_hint(type_: Type, divisor: int) -> Hint | None:
    """Return the promise that follows from what divides every value; 0: nothing is known.

    Only pointers and integers have one, as in the notation.
    """
    takes_hint = isinstance(type_, PointerType) or (
        isinstance(type_, ScalarType) and type_.scalar.is_integer
    )
    hint = Hint.DIVISIBLE_BY_16
    return hint if takes_hint and divisor and divisor % hint.value == 0 else None


def width(signature: Signature) -> int:
    """Return the number of arguments, elements of tuples and tuples themselves included."""
    return _width(signature.arguments)


def _width(arguments: tuple[Argument, ...]) -> int:
    inner = (each.type.elements for each in arguments if isinstance(each.type, TupleType))
    return len(arguments) + sum(map(_width, inner))


def unhinted_pointers(signature: Signature) -> tuple[str, ...]:
    """Return the labels of pointers that the kernel was promised no alignment of."""
    return tuple(
        leaf_label(signature, leaf.path)
        for leaf in leaves(signature)
        if isinstance(leaf.argument.type, PointerType) and leaf.argument.hint is None
    )


class Leaf(NamedTuple):
    """An argument or an element that is no tuple, and where it stands."""

    path: tuple[int, ...]
    """Index of the source argument, then of tuple elements; constants count."""
    argument: Argument


def leaves(signature: Signature) -> tuple[Leaf, ...]:
    """Return every argument in order, tuples replaced by their elements, recursively."""
    return _leaves(signature.arguments, ())


def _leaves(arguments: tuple[Argument, ...], path: tuple[int, ...]) -> tuple[Leaf, ...]:
    found: list[Leaf] = []
    for index, argument in enumerate(arguments):
        here = (*path, index)
        if isinstance(argument.type, TupleType):
            found += _leaves(argument.type.elements, here)
        else:
            found.append(Leaf(here, argument))
    return tuple(found)
