"""Hypothesis strategies for signatures: every type, hint, constant, tuple and descriptor.

``signatures()`` is the whole; its parts are public for tests that need one kind of argument.
"""

from __future__ import annotations

import string

from hypothesis import strategies as st

from launchgen.literals import write_literal
from launchgen.scalars import SCALARS
from launchgen.signature import (
    Argument,
    BytesType,
    Constant,
    DescriptorType,
    Hint,
    PointerType,
    ScalarType,
    Signature,
    TensorMapType,
    TupleType,
    Type,
    Unknown,
    automatic_name,
    is_reserved,
)

in_memory = st.sampled_from(list(SCALARS.values()))
by_value = st.sampled_from([row for row in SCALARS.values() if row.argument])

pointers = st.builds(PointerType, in_memory, st.booleans()) | st.builds(
    PointerType, in_memory, st.booleans(), st.integers(2, 5), inner_read_only=st.booleans()
)
scalars = st.builds(ScalarType, by_value)
structs = st.builds(
    BytesType, st.integers(1, 40_000), st.sampled_from([1 << power for power in range(10)])
)

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**2048) + 1, 2**2048 - 1),
    st.floats(),
    st.text(st.characters(exclude_categories=())),
    st.text(st.sampled_from("\"'\\\n\t\0\x7fxuU0é(,)]> ")),
)
literals = st.builds(Constant, values, st.just(False))
constexprs = st.builds(Constant, values | st.just(Unknown()), st.just(True))
constants = literals | constexprs

_word = st.text(string.ascii_letters + "_", min_size=1, max_size=5)
_quoted = st.text(st.characters(max_codepoint=0x7E, min_codepoint=0x20), max_size=6).map(
    write_literal
)
layout_texts = st.recursive(
    st.one_of(
        _word,
        _quoted,
        st.sampled_from(["->", "", "1", "-1", "0x10", "1.5", "#", "{,}", "a=b", "1 2", "!x.y"]),
    ),
    lambda inner: st.builds(
        lambda pair, parts, comma: pair[0] + comma.join(parts) + pair[1],
        st.sampled_from(["()", "[]", "<>"]),
        st.lists(inner, max_size=3),
        st.sampled_from([",", ", ", " = "]),
    ),
    max_leaves=6,
)
layouts = st.just("") | layout_texts.map(lambda text: f",{text}")
_sizes = st.lists(st.integers(1, 999_999_999), min_size=1, max_size=6).map(tuple)


def descriptors(layout: st.SearchStrategy[str] = layouts) -> st.SearchStrategy[DescriptorType]:
    """Descriptors of both kinds; ``layout`` is the text behind the sizes."""
    tiled = st.builds(DescriptorType, in_memory, _sizes, layout)
    im2col = st.builds(
        lambda element, sizes, rank, text: DescriptorType(
            element, sizes, f",input_rank={rank}{text}", im2col=True
        ),
        in_memory,
        _sizes,
        st.integers(1, 99),
        layout,
    )
    return tiled | im2col


def _hints(type_: Type) -> st.SearchStrategy[Hint | None]:
    if isinstance(type_, PointerType):
        return st.sampled_from([None, Hint.DIVISIBLE_BY_16])
    if isinstance(type_, ScalarType) and type_.scalar.is_integer:
        return st.sampled_from([None, *Hint])
    return st.none()


def _unnamed(types: st.SearchStrategy[Type]) -> st.SearchStrategy[Argument]:
    return types.flatmap(lambda type_: st.builds(Argument, st.just(type_), _hints(type_)))


def elements(layout: st.SearchStrategy[str] = layouts) -> st.SearchStrategy[Argument]:
    """Arguments without names, tuples included."""
    leaf_types: st.SearchStrategy[Type] = st.one_of(
        scalars, pointers, constants, structs, st.just(TensorMapType()), descriptors(layout)
    )
    return st.recursive(
        _unnamed(leaf_types),
        lambda inner: st.builds(
            Argument, st.builds(TupleType, st.lists(inner, max_size=3).map(tuple))
        ),
        max_leaves=6,
    )


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: not is_reserved(name) and not name.startswith(automatic_name(0)[:-1])
)


@st.composite
def signatures(
    draw: st.DrawFn, layout: st.SearchStrategy[str] = layouts, max_size: int = 8
) -> Signature:
    """Signatures in which some arguments have names."""
    arguments = draw(st.lists(elements(layout), max_size=max_size))
    count = len(arguments)
    chosen = draw(st.lists(names, min_size=count, max_size=count, unique=True))
    named = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    return Signature(
        tuple(
            # A literal has no name: it would be a type to a reader who mistypes one.
            argument
            if not has_name or (isinstance(argument.type, Constant) and not argument.type.declared)
            else Argument(argument.type, argument.hint, name)
            for argument, name, has_name in zip(arguments, chosen, named, strict=True)
        )
    )
