from __future__ import annotations

import contextlib
import gc
import json
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from launchgen.diagnostics import SignatureError
from launchgen.limits import MOST_BITS, MOST_DEPTH, MOST_MISTAKES, MOST_STARS
from launchgen.literals import Value, read_number, read_string, write_literal
from launchgen.notation import default_alignment
from launchgen.scalars import SCALARS, SPELLINGS, Scalar
from launchgen.signature import (
    Argument,
    BytesType,
    Constant,
    DescriptorType,
    Hint,
    PointerType,
    ScalarType,
    Signature,
    TupleType,
    Unknown,
    is_reserved,
    leaves,
    parse,
)
from launchgen.tokens import TokenKind, tokenize
from tests.strategies import signatures, values

TESTS = Path(__file__).parent

# --- round trips ---------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(signatures())
def test_a_signature_is_read_back_from_its_canonical_form(signature: Signature) -> None:
    text = str(signature)
    again = parse(text)
    assert again == signature
    assert hash(again) == hash(signature)
    assert str(again) == text
    assert text.isascii()
    assert text.isprintable()


@settings(deadline=None)
@given(signatures(layout=st.just("")), st.data())
def test_white_space_between_tokens_changes_nothing(
    signature: Signature, data: st.DataObject
) -> None:
    spaces = st.sampled_from(["", " ", "\n", " \t\r\n "])
    text = data.draw(spaces)
    for before, token in zip(
        [None, *tokenize(str(signature))], tokenize(str(signature)), strict=False
    ):
        words = (TokenKind.WORD, TokenKind.NUMBER)
        apart = before is not None and before.kind in words and token.kind in words
        # k and its scalar are one word already; a layout is kept as it is, and here only a rank.
        text += " " * apart + token.text + data.draw(spaces)
    again = parse(text)
    assert [_without_layout(a) for a in again.arguments] == [
        _without_layout(a) for a in signature.arguments
    ]


def _without_layout(argument: Argument) -> Argument:
    type_ = argument.type
    if isinstance(type_, TupleType):
        return Argument(TupleType(tuple(map(_without_layout, type_.elements))))
    if isinstance(type_, DescriptorType):
        layout = "".join(type_.layout.split())
        return Argument(
            DescriptorType(type_.element, type_.sizes, layout, type_.im2col), name=argument.name
        )
    return argument


@given(values)
def test_a_literal_is_read_back_from_its_canonical_form(value: Value) -> None:
    constant = Constant(value, declared=False)
    assert parse(write_literal(value)).arguments[0].type == constant


@settings(max_examples=300, deadline=None)
@given(
    st.text()
    | st.text("(),<>[]:=*k\"'\\ \n1ix_-.é\0", max_size=40)
    | st.lists(
        st.sampled_from(
            [
                *("i32", "fp23", "x", "k", "True", "fp8e5", "constexpr", "tensordesc", "bytes"),
                *("nvTmaDesc", "16", *":,()<>[]*=", "->", "'a'", '"', "é", "\0"),
            ]
        ),
        max_size=20,
    ).map("".join)
)
def test_any_text_is_read_or_refused_with_places_in_order(text: str) -> None:
    try:
        signature = parse(text)
    except SignatureError as error:
        starts = []
        for diagnostic in error.diagnostics:
            assert diagnostic.hint
            assert diagnostic.span is not None
            assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
            assert diagnostic.message.startswith("argument ")
            assert diagnostic.message.isprintable()
            starts.append(diagnostic.span.start)
        assert starts == sorted(starts)
    else:
        assert parse(str(signature)) == signature


# --- canonical forms -----------------------------------------------------------------------

GLUON = (
    "tensordesc<fp8e4nv[64, 128],NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=8, "
    "rank=2, transposed=False, fp4_padded=False, cga_layout=[])>"
)
IM2COL = "tensordesc_im2col<fp32[1, 16],input_rank=4,'layout'>"

CANONICAL = {
    "": "",
    " \n\t ": "",
    "x_ptr: *fp32:16, y_ptr: *kfp32:16, n: i32, alpha: fp32, BLOCK: constexpr = 1024": None,
    "*fp32:16, *fp32, i32:1, 1024": None,
    "ptrs: (*fp32, (*fp32, constexpr)), src: tensordesc<fp16[64, 64]>, flags: (i1, u8)": None,
    "x : *fp32 : 16": "x: *fp32:16",
    "x\n:\n*\nfp32\n:\n16": "x: *fp32:16",
    "i32:1": None,
    "i1:16, u1:1": None,
    "f32, *f32, *kf32": "fp32, *fp32, *kfp32",
    "u1, i1, *u1, *i1": None,
    "**fp32, *k*fp32, **kfp32, *k**kfp32": None,
    "* * fp32, *k * fp32": "**fp32, *k*fp32",
    "*fp8e4nv, *kfp8e5b16:16": None,
    "(), (i32,), ((),)": None,
    "( i32 , ), (i32,fp32,)": "(i32,), (i32, fp32)",
    "(*fp32:16, i32:1)": None,
    "nvTmaDesc": None,
    "bytes[128], bytes[24], bytes[4], bytes[7]": None,
    "bytes[128:8], bytes[4:4], bytes[7:1]": "bytes[128], bytes[4], bytes[7]",
    "bytes[ 128 : 64 ], bytes[7:16]": "bytes[128:64], bytes[7:16]",
    "tensordesc<fp16[64,64]>": "tensordesc<fp16[64, 64]>",
    "tensordesc < f32 [ 8 ] >": "tensordesc<fp32[8]>",
    "tensordesc<i8[8]  ,\n  L(a,\n    b) >": "tensordesc<i8[8], L(a, b)>",
    "tensordesc<fp16[64, 64],L<a=[1, 2]>>": None,
    "tensordesc<fp16[64, 64],L<()->(x)>>": None,
    "tensordesc<fp16[64, 64],L('>', \"(\", '\\'')>": None,
    "tensordesc<fp16[64, 64]#shared>": None,
    GLUON: None,
    IM2COL: None,
    f"(i32, {GLUON}), {IM2COL}": None,
    "constexpr, constexpr = 3, x: constexpr, y: constexpr = None": None,
    "x:constexpr=-1": "x: constexpr = -1",
    "(constexpr, constexpr = 3, 1024)": None,
    "arg0: i32, i32": None,
    "arg7: i32, x: i32": None,
    "float: fp32, int: i32, int32: i32, k: i32, K: i32, tensor: *fp32, kfp32: i32": None,
    "1024, -1, +1, 0, -0": "1024, -1, 1, 0, 0",
    "0x10, 0b11, 0o17, -0xFF, 1_000": "16, 3, 15, -255, 1000",
    "18446744073709551616": None,
    "1.5, -1.5, .5, 5., 1e5, 1E-5, 1e-05, 1_0.5, -0.0": (
        "1.5, -1.5, 0.5, 5.0, 100000.0, 1e-05, 1e-05, 10.5, -0.0"
    ),
    "inf, -inf, +inf, nan, -nan": "inf, -inf, inf, nan, nan",
    "True, False, None": None,
    '"relu", "", "a, b)", "\\"", "\'"': None,
    "'relu', '\"', '\\'', 'a:b'": '"relu", "\\"", "\'", "a:b"',
    r"'\n\t\\\x41\u00e9\U0001F600\101\0'": r'"\n\t\\A\xe9\U0001f600A\x00"',
    "'é 😀'": r'"\xe9 \U0001f600"',
}


@pytest.mark.parametrize(("text", "canonical"), CANONICAL.items())
def test_a_signature_has_one_canonical_form(text: str, canonical: str | None) -> None:
    signature = parse(text)
    assert str(signature) == (text if canonical is None else canonical)
    assert parse(str(signature)) == signature


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_prints_as_its_row(spelling: str) -> None:
    row = SPELLINGS[spelling]
    assert str(parse(f"*{spelling}")) == f"*{row.name}"
    if row.argument:
        assert str(parse(spelling)) == row.name


def test_no_scalar_begins_with_the_mark_of_a_read_only_pointer() -> None:
    assert not [spelling for spelling in SPELLINGS if spelling.startswith("k")]


def test_names_of_other_notations_are_no_spellings_and_belong_to_one_row() -> None:
    known_as = [name for row in SCALARS.values() for name in row.known_as]
    assert len(known_as) == len(set(known_as))
    assert not set(known_as) & set(SPELLINGS)
    assert all(name == name.lower() for name in known_as)


@pytest.mark.parametrize(
    "path",
    sorted((TESTS / "kernels").glob("*/*.signature.json")),
    ids=lambda p: f"{p.parent.name}/{p.name}",
)
def test_signatures_of_compiled_kernels_are_read(path: Path) -> None:
    def written(token: str | list[Any]) -> str:
        if isinstance(token, str):
            return token
        return "(" + "".join(f"{written(element)}," for element in token) + ")"

    given_types = json.loads(path.read_text())["signature"]
    text = ", ".join(
        f"{name}_: {written(token)}" if is_reserved(name) else f"{name}: {written(token)}"
        for name, token in given_types.items()
    )
    assert len(parse(text).arguments) == len(given_types)


# --- the model -----------------------------------------------------------------------------


def test_arguments_know_type_hint_name_and_place() -> None:
    text = "x: *kfp32:16,\n (i32:1, bytes[24]), BLOCK: constexpr"
    x, pair, block = parse(text).arguments
    assert x == Argument(PointerType(SCALARS["fp32"], True), Hint.DIVISIBLE_BY_16, "x")
    assert text[x.span.start : x.span.end] == "x: *kfp32:16"
    assert text[pair.span.start : pair.span.end] == "(i32:1, bytes[24])"
    assert isinstance(pair.type, TupleType)
    first, second = pair.type.elements
    assert first == Argument(ScalarType(SCALARS["i32"]), Hint.EQUALS_1)
    assert second.type == BytesType(24, 8)
    assert text[second.span.start : second.span.end] == "bytes[24]"
    assert block.type == Constant(Unknown(), declared=True)


def test_the_source_is_kept_and_not_compared() -> None:
    signature = parse("i32", name="sig.txt")
    assert (signature.source.name, signature.source.text) == ("sig.txt", "i32")
    assert signature == parse(" i32 ")


def test_arguments_without_a_name_are_named_by_position() -> None:
    signature = parse("x: i32, fp32, 1024, y: (i32, i32), constexpr")
    assert signature.names == ("x", "arg1", "arg2", "y", "arg4")


def test_leaves_come_in_order_with_their_paths() -> None:
    found = leaves(parse("a: i32, (fp32, (), (1, *i8)), 7"))
    assert [(leaf.path, str(leaf.argument)) for leaf in found] == [
        ((0,), "a: i32"),
        ((1, 0), "fp32"),
        ((1, 2, 0), "1"),
        ((1, 2, 1), "*i8"),
        ((2,), "7"),
    ]
    assert leaves(parse("")) == ()


def test_constants_are_equal_where_no_kernel_could_tell_them_apart() -> None:
    distinct = [1, 1.0, True, 0, 0.0, -0.0, False, None, "1", "", "None", math.nan, math.inf]
    constants = [Constant(value, declared=False) for value in [*distinct, Unknown()]]
    for i, left in enumerate(constants):
        for j, right in enumerate(constants):
            assert (left == right) is (i == j)
    assert Constant(float("nan"), declared=True) == Constant(-math.nan, declared=True)
    assert Constant(1, declared=True) != Constant(1, declared=False)
    assert hash(Constant(float("nan"), declared=True)) == hash(Constant(math.nan, declared=True))
    assert Constant(1, declared=True) != 1


@pytest.mark.parametrize(
    ("size", "align"), [(1, 1), (2, 2), (7, 1), (12, 4), (24, 8), (128, 8), (17472, 8), (3, 1)]
)
def test_a_struct_is_aligned_to_the_power_of_two_that_divides_it_up_to_8(
    size: int, align: int
) -> None:
    assert default_alignment(size) == align
    assert parse(f"bytes[{size}]").arguments[0].type == BytesType(size, align)


def test_a_descriptors_rank_is_its_sizes_or_its_input_rank() -> None:
    tiled, im2col = (argument.type for argument in parse(f"{GLUON}, {IM2COL}").arguments)
    assert isinstance(tiled, DescriptorType)
    assert isinstance(im2col, DescriptorType)
    assert (tiled.rank, im2col.rank) == (2, 4)
    assert tiled.layout.startswith(",NVMMASharedLayout(")
    assert tiled.layout.endswith("cga_layout=[])")


def test_types_and_literals_are_reserved_and_names_of_other_notations_are_not() -> None:
    assert all(map(is_reserved, ["i32", "f32", "fp8e5", "constexpr", "bytes", "nvTmaDesc"]))
    assert all(map(is_reserved, ["tensordesc", "tensordesc_im2col", "True", "None", "inf", "nan"]))
    assert not any(map(is_reserved, ["int32", "float", "kfp32", "k", "stream", "int", "arg0"]))


# --- refusals ------------------------------------------------------------------------------


def errors(text: str) -> list[str]:
    with pytest.raises(SignatureError) as caught:
        parse(text)
    return [diagnostic.message for diagnostic in caught.value.diagnostics]


@pytest.mark.parametrize("path", sorted((TESTS / "errors").glob("*.txt")), ids=lambda p: p.stem)
def test_a_bad_signature_is_refused_with_every_mistake(
    path: Path, snapshot: SnapshotAssertion, record_property: Callable[[str, object], None]
) -> None:
    text = path.read_bytes().decode().removesuffix("\n")
    with pytest.raises(SignatureError) as caught:
        parse(text, name=path.name)
    assert str(caught.value) == snapshot
    record_property("bad inputs", 1)


@pytest.mark.parametrize("token", ["i128", "i4", "foo", "int", "i32x", "I32"])
def test_int7_an_unknown_token_has_no_default_width(token: str) -> None:
    assert errors(f"i32, {token}, i64") == [f"argument 1: unknown type '{token}'"]


def test_int7_an_empty_token_between_commas_is_refused() -> None:
    assert errors("i32, , i64,") == [
        "argument 1: a type is missing",
        "argument 3: a type is missing",
    ]


def test_shape5_commas_inside_brackets_divide_nothing() -> None:
    signature = parse("*fp32, (fp32, i32), tensordesc<fp16[64,64],L<a=[1, 2]>>")
    assert len(signature.arguments) == 3
    assert str(signature).endswith("tensordesc<fp16[64, 64],L<a=[1, 2]>>")
    assert str(parse("()")) == "()"
    assert str(parse("(*fp32:16, i32:16)")) == "(*fp32:16, i32:16)"


def test_shape1_signatures_of_constants_only_and_of_nothing() -> None:
    assert str(parse("constexpr, constexpr")) == "constexpr, constexpr"
    assert str(parse("1024")) == "1024"
    assert parse("").arguments == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("*fp32:8", "unknown hint ':8'"),
        ("*fp32:1", "'*fp32' takes no hint ':1': no address equals 1"),
        ("fp32:16", "'fp32' takes no hint: it is a float"),
        ("i32:", "no hint behind 'i32'"),
    ],
)
def test_dispatch9_a_hint_that_makes_no_sense_is_refused(text: str, reason: str) -> None:
    assert errors(f"i32, {text}, i32") == [f"argument 1: {reason}"]


@pytest.mark.parametrize("text", ['m: "\x1b[2J"', "m: '\x1b'", 'm: "\ud800"'])
def test_an_error_about_a_literal_with_a_name_shows_no_control_character(text: str) -> None:
    with pytest.raises(SignatureError) as caught:
        parse(text)
    lines = str(caught.value).split("\n")
    assert all(map(str.isprintable, lines))
    assert "a named constant is written 'm: constexpr = " in lines[-1]


def test_dispatch1_hints_of_ten_and_more_arguments() -> None:
    arguments = parse(", ".join(["i32"] * 10 + ["i32:16", "i32:1"])).arguments
    assert [a.hint for a in arguments[9:]] == [None, Hint.DIVISIBLE_BY_16, Hint.EQUALS_1]


@pytest.mark.parametrize("row", SCALARS.values(), ids=lambda row: row.name)
def test_hints_stand_on_pointers_and_integers_only(row: Scalar) -> None:
    assert parse(f"*{row.name}:16").arguments[0].hint is Hint.DIVISIBLE_BY_16
    assert errors(f"*{row.name}:1")
    if row.is_integer:
        for hint in Hint:
            assert parse(f"{row.name}:{hint.value}").arguments[0].hint is hint
    else:
        assert errors(f"{row.name}:16")


@pytest.mark.parametrize("name", ["i32", "f32", "constexpr", "bytes", "nvTmaDesc", "None", "inf"])
def test_a_type_or_a_literal_cannot_be_a_name(name: str) -> None:
    (message,) = errors(f"{name}: i32")
    assert "cannot be a name" in message


def test_a_name_before_a_literal_is_refused_so_that_a_mistyped_type_is_no_constant() -> None:
    with pytest.raises(SignatureError) as caught:
        parse("i23:1")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == "argument 0: 'i23' is no type, and a literal has no name"
    assert diagnostic.hint == (
        "did you mean 'i32'? a named constant is written 'i23: constexpr = 1'"
    )


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("fp23", "fp32"),
        ("i23", "i32"),
        ("I32", "i32"),
        ("int32", "i32"),
        ("int32_t", "i32"),
        ("float", "fp32"),
        ("float32", "fp32"),
        ("half", "fp16"),
        ("bool", "i1"),
        ("double", "fp64"),
        ("size_t", "u64"),
        ("torch.bfloat16", "bf16"),
        ("tl.constexpr", "constexpr"),
        ("nvTmaDes", "nvTmaDesc"),
        ("tensordes", "tensordesc"),
        ("true", "True"),
        ("NONE", "None"),
    ],
)
def test_the_nearest_type_is_suggested(word: str, meant: str) -> None:
    with pytest.raises(SignatureError, match=f"did you mean '{meant}'"):
        parse(word)


@pytest.mark.parametrize("word", ["ptr", "pointer", "tensor", "PTR"])
def test_a_word_for_pointers_is_answered_with_the_star(word: str) -> None:
    with pytest.raises(SignatureError, match=r"a pointer is written '\*T'"):
        parse(word)


def test_names_must_differ_from_each_other_and_from_automatic_ones() -> None:
    assert errors("x: i32, y: i32, x: fp32") == [
        "argument 2 (x): the name 'x' is taken by argument 0"
    ]
    assert errors("arg1: i32, fp32") == [
        "argument 0 (arg1): 'arg1' is the automatic name of argument 1"
    ]
    assert errors("1024, arg0: fp32") == [
        "argument 1 (arg0): 'arg0' is the automatic name of argument 0"
    ]


def test_five_mistakes_are_five_errors() -> None:
    text = "x: fp23, y: *fp32:8, i32:, z: 5, (i32, i24)"
    assert [m.partition(":")[0] for m in errors(text)] == [
        "argument 0 (x)",
        "argument 1 (y)",
        "argument 2",
        "argument 3",
        "argument 4, element 1",
    ]


def test_a_mistake_inside_brackets_costs_its_own_argument_only() -> None:
    assert len(errors("tensordesc<fp23[64, 64]>, i32, bytes[x, y], fp32, i24")) == 3
    assert errors("(i32, (fp23, x: i8), i24)") == [
        "argument 0, element 1.0: unknown type 'fp23'",
        "argument 0, element 1.1: 'x' names an element of a tuple",
        "argument 0, element 2: unknown type 'i24'",
    ]


@pytest.mark.parametrize(
    "bad", ["\0", "\x01", "\x7f", "\x0b", "\x0c", "é", "ß", "٣", "\u00a0", "\ufeff"]
)
@pytest.mark.parametrize(
    "place", ["{}i32", "i32{}", "x{}: i32", "x: {}i32", "tensordesc<i8[1],{}>"]
)
def test_control_characters_and_other_alphabets_are_refused_outside_strings(
    bad: str, place: str
) -> None:
    (message,) = errors(place.format(bad))
    assert "ASCII" in message or "control character" in message or "no name" in message
    assert message.isprintable()


@pytest.mark.parametrize("bad", ["\0", "\x7f", "\u200b", "\t"])
def test_raw_invisible_characters_are_refused_in_strings(bad: str) -> None:
    (message,) = errors(f'"a{bad}b"')
    assert f"U+{ord(bad):04X}" in message


@pytest.mark.parametrize(
    "text",
    [
        *("007", "0x", "1__0", "1e999", "-1e999", "1.0f", "1j", "0x1p3", "1.2.3", "12abc", "--1"),
        *("-True", "b'a'", "infinity", "-infinity", "+None"),
        *("- 1", "'a' 'b'", "1" * 5000, "0x" + "f" * 520),
        *(r"'\d'", r"'\x4'", r"'\U00110000'"),
    ],
)
def test_a_literal_that_python_would_not_read_or_that_cannot_be_written_is_refused(
    text: str,
) -> None:
    assert len(errors(text)) == 1


@given(st.text(max_size=30))
def test_reading_any_text_as_a_literal_fails_as_documented(text: str) -> None:
    for read in (partial(read_number, most_bits=MOST_BITS), read_string):
        with contextlib.suppress(ValueError):
            read(text)


# --- size ----------------------------------------------------------------------------------


def test_tuples_nest_to_the_documented_depth() -> None:
    inner = "(" * (MOST_DEPTH - 1) + "()" + ",)" * (MOST_DEPTH - 1)
    assert str(parse(inner)) == inner
    assert "too many tuples inside each other" in errors(f"({inner},)")[0]


@pytest.mark.parametrize("text", ["(" * 10_000, "(" * 10_000 + ")" * 10_000, "(i32," * 10_000])
def test_ten_thousand_parentheses_are_one_mistake(text: str) -> None:
    assert len(errors(text)) == 1


def test_a_pointer_has_a_limited_number_of_stars() -> None:
    assert str(parse("*" * MOST_STARS + "i8")) == "*" * MOST_STARS + "i8"
    assert len(errors("*" * 10_000 + "i8")) == 1


def test_a_message_stays_short_whatever_the_word() -> None:
    for text in ("x" * 10_000, "x" * 10_000 + ": 5", "x" * 10_000 + ": i24", "1" * 10_000):
        (message,) = errors(text)
        assert len(message) < 200


def test_reading_stops_after_a_hundred_mistakes() -> None:
    with pytest.raises(SignatureError) as caught:
        parse(", ".join(["fp23"] * 1000))
    assert len(caught.value.diagnostics) == MOST_MISTAKES + 1
    assert "reading stopped" in caught.value.diagnostics[-1].message


def _seconds(text: str) -> float:
    best = math.inf
    gc.disable()  # what it takes depends on all that other tests have left
    for _ in range(5):
        begin = time.process_time()
        parse(text)
        best = min(best, time.process_time() - begin)
    gc.enable()
    return best


def _long(count: int) -> str:
    kinds = ["x{}: *fp32:16", "n{}: i32", "a{}: fp32", "B{}: constexpr = 1024", "t{}: (i8, *i8:16)"]
    return ", ".join(kinds[i % 5].format(i) for i in range(count))


def test_a_thousand_arguments_are_read_in_a_tenth_of_a_second() -> None:
    assert len(parse(_long(1000)).arguments) == 1000
    # It takes 15 ms on a machine that does nothing else.
    assert _seconds(_long(1000)) < 0.1


def test_time_grows_with_the_length_and_no_faster() -> None:
    assert _seconds(_long(8_000)) < 20 * _seconds(_long(1_000))


@pytest.mark.parametrize(
    "text",
    [
        *("(" * 30_000 + "]" * 30_000, "<" * 50_000, "*" * 100_000, "tensordesc<" * 20_000),
        *('"\\' * 50_000, "'" * 99_999, "fo" * 100_000, "1" * 100_000, "1e+" * 50_000),
        *(", ".join(["x: i32"] * 20_000), "((" + "i23," * 50_000, "x:" * 50_000, "é" * 100_000),
    ],
    ids=lambda text: text[:4].strip(),
)
def test_no_text_takes_quadratic_time(text: str) -> None:
    begin = time.process_time()
    errors(text)
    assert time.process_time() - begin < 10
