"""Scalars of every type at their bounds: bit-equal to one exact rounding, or refused by name."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from launchgen.scalars import SCALARS, Kind
from tests.exact import FORMATS, as_float, is_nan, round_bits, rounded, value_of
from tests.launchers import FACES, Face, Host, of_kernel, of_signature
from tests.zoo import ZOO

KERNEL = next(k for k in ZOO if (k.folder, k.name) == ("triton-3.6.0-sm90", "scalars"))
# In the order of the kernel's parameters, behind its pointer.
TYPES = (
    *("i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"),
    *("fp16", "bf16", "fp32", "fp64"),
)
FLOATS = ("fp16", "bf16", "fp32", "fp64")
INTEGERS = tuple(
    s for s in SCALARS.values() if s.kind in (Kind.SIGNED, Kind.UNSIGNED) and s.argument
)
INFINITY = math.inf
LARGEST_DOUBLE = value_of(FORMATS["fp64"].infinity - 1, FORMATS["fp64"])


def arguments(type_: str, value: Any) -> list[Any]:
    found: list[Any] = [0x1000, *(0 for _ in TYPES)]
    found[1 + TYPES.index(type_)] = value
    return found


def arrived(host: Host, face: Face, type_: str, value: Any) -> bytes:
    """Return the bytes in the slot of ``type_``, all others being zero."""
    launch = host.launched(face, of_kernel(KERNEL), 1, None, arguments(type_, value))
    place = 1 + TYPES.index(type_)
    others = launch.values[1:place] + launch.values[place + 1 :]
    assert not any(map(any, others))
    return launch.values[place]


def refusal(host: Host, type_: str, value: Any, raises: type[Exception]) -> str:
    """Return the words for a value that Python's face refuses; they name everything."""
    values = arguments(type_, value)
    text = host.refusal(Face.PYTHON, of_kernel(KERNEL), 1, None, values, raises=raises)
    index = 1 + TYPES.index(type_)
    name = of_kernel(KERNEL).signature.names[index]
    assert text.startswith(f"scalars: argument {index} '{name}' ({type_}): ")
    assert repr(value)[:200] in text
    return text


def integer_bounds(name: str) -> tuple[int, int]:
    bits = 8 * SCALARS[name].size
    if SCALARS[name].kind is Kind.SIGNED:
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return 0, 2**bits - 1


# ---- integers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("name", [scalar.name for scalar in INTEGERS])
def test_int1_int5_integers_arrive_at_their_bounds(host: Host, face: Face, name: str) -> None:
    low, high = integer_bounds(name)
    size = SCALARS[name].size
    for value in {low, low + 1, -113, -1, 0, 1, high - 1, high}:
        if low <= value <= high:
            expected = value.to_bytes(size, "little", signed=low < 0)
            assert arrived(host, face, name, value) == expected


@pytest.mark.parametrize("name", [scalar.name for scalar in INTEGERS])
def test_int1_int2_integers_beyond_their_bounds_are_refused(host: Host, name: str) -> None:
    low, high = integer_bounds(name)
    beyond = {low - 1, high + 1, -1, 300, 70_000, 2**32 + 5, 2**63, 2**64, 2**64 + 5, -(2**200)}
    for value in sorted(beyond):
        if not low <= value <= high:
            text = refusal(host, name, value, OverflowError)
            assert f"{low} to {high}" in text


@pytest.mark.parametrize("value", [1.0, float("nan"), "1", None, b"1", 1j, [1], (1,)], ids=repr)
@pytest.mark.parametrize("name", [scalar.name for scalar in INTEGERS])
def test_int8_what_is_no_integer_is_refused_with_its_type(
    host: Host, name: str, value: object
) -> None:
    text = refusal(host, name, value, TypeError)
    assert "expected an int" in text
    assert text.endswith(f"of type {type(value).__name__}")


class Index:
    """An integer by protocol, as NumPy's scalars are."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"Index({self.value})"


@pytest.mark.parametrize("name", [scalar.name for scalar in INTEGERS])
def test_int8_objects_with_index_are_integers(host: Host, name: str) -> None:
    low, high = integer_bounds(name)
    size = SCALARS[name].size
    for value in (low, high):
        expected = value.to_bytes(size, "little", signed=low < 0)
        assert arrived(host, Face.PYTHON, name, Index(value)) == expected
    for value in (low - 1, high + 1):
        refusal(host, name, Index(value), OverflowError)


class Failing:
    """Raises an exception of its own wherever it is asked for a number."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __index__(self) -> int:
        raise self.error

    def __float__(self) -> float:
        raise self.error


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("error", [RuntimeError("mine"), KeyboardInterrupt()], ids=repr)
def test_ptr2_an_objects_own_exception_passes_through(
    host: Host, name: str, error: BaseException
) -> None:
    with pytest.raises(type(error)) as caught:
        host.call(Face.PYTHON, of_kernel(KERNEL), 1, None, arguments(name, Failing(error)))
    assert caught.value is error
    assert host.driver.launches == ()


def test_int8_numpys_scalars(host: Host) -> None:
    numpy = pytest.importorskip("numpy")
    assert arrived(host, Face.PYTHON, "i32", numpy.int64(-5)) == struct.pack("<i", -5)
    assert arrived(host, Face.PYTHON, "u8", numpy.uint8(200)) == b"\xc8"
    assert arrived(host, Face.PYTHON, "fp32", numpy.float32(0.1)) == rounded(0.1, "fp32")
    refusal(host, "i32", numpy.float32(1), TypeError)


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize(("value", "byte"), [(True, b"\1"), (False, b"\0"), (1, b"\1"), (0, b"\0")])
def test_int4_a_bool_is_one_byte_0_or_1(host: Host, face: Face, value: object, byte: bytes) -> None:
    assert arrived(host, face, "i1", value) == byte


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("type_", ["i1", "u1"])
def test_int4_a_bool_leaves_its_neighbours_alone(host: Host, face: Face, type_: str) -> None:
    launcher = of_signature(f"p: *i8, b: {type_}, n: i32")
    launch = host.launched(face, launcher, 1, None, (0x10, True, 7))
    assert [(p.offset, p.value) for p in launch.parameters[1:]] == [
        (8, b"\1"),
        (12, b"\7\0\0\0"),
    ]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (2, OverflowError),
        (-1, OverflowError),
        (2**64, OverflowError),
        (1.0, TypeError),
        ("x", TypeError),
        (None, TypeError),
        ([1], TypeError),
    ],
    ids=repr,
)
def test_int4_nothing_else_is_a_bool(host: Host, value: object, error: type[Exception]) -> None:
    refusal(host, "i1", value, error)


# ---- floats --------------------------------------------------------------------------------------


def boundaries(type_: str) -> list[float]:
    """Return the values at which rounding to ``type_`` can go wrong, both signs of each."""
    format_ = FORMATS[type_]
    least_normal = 1 << format_.fraction
    bits = [1, 2, 3, least_normal - 1, least_normal, least_normal + 1, format_.infinity - 1]
    bits += [round_bits(value, format_) for value in (1.0, 1.5, 2.0, 0.1, 42.0, 1.00585937)]
    found = [0.0]
    for each in bits:
        below, value = value_of(each - 1, format_), value_of(each, format_)
        found += _around(value)
        if type_ != "fp64":
            found += _around((below + value) / 2)  # a tie, exact in a double
    if type_ != "fp64":
        largest = value_of(format_.infinity - 1, format_)
        half = (largest - value_of(format_.infinity - 2, format_)) / 2
        found += _around(largest + half)  # where infinity begins
        found += [2.0**-1074, 5e-324, 1e-300, LARGEST_DOUBLE]
    return [sign * value for value in found for sign in (1.0, -1.0)]


def _around(value: float) -> list[float]:
    return [math.nextafter(value, 0.0), value, math.nextafter(value, INFINITY)]


def is_too_large(value: float | int, type_: str) -> bool:
    """Return whether ``value`` has to be refused: finite, yet beyond fp16."""
    format_ = FORMATS[type_]
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return type_ == "fp16" and round_bits(abs(value), format_) == format_.infinity


def check_float(host: Host, face: Face, type_: str, value: float) -> None:
    # C's callers give a float, whose rounding is theirs; what the launcher got is the value.
    given = as_float(value) if face is Face.C and type_ != "fp64" else value
    if is_too_large(given, type_):
        text = host.refusal(
            face, of_kernel(KERNEL), 1, None, arguments(type_, value), raises=OverflowError
        )
        index = 1 + TYPES.index(type_)
        assert f"argument {index} 'h' (fp16): " in text
        assert text.endswith("is too large")
    else:
        assert arrived(host, face, type_, value) == rounded(given, type_), (type_, value.hex())


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("type_", FLOATS)
def test_floats_arrive_rounded_once_at_every_boundary(host: Host, face: Face, type_: str) -> None:
    for value in boundaries(type_):
        host.driver.reset()
        check_float(host, face, type_, value)


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("type_", FLOATS)
def test_infinities_signed_zeros_and_nan_stay_what_they_are(
    host: Host, face: Face, type_: str
) -> None:
    format_ = FORMATS[type_]
    for value in (INFINITY, -INFINITY, 0.0, -0.0):
        assert arrived(host, face, type_, value) == rounded(value, type_)
    # Not only the usual NaN, but also those whose payload lies in bits that are cut off.
    for bits in (0x7FF8 << 48, 0xFFF8 << 48, (0x7FF0 << 48) | 1, (0xFFF0 << 48) | 1, 2**63 - 1):
        (nan,) = struct.unpack("<d", bits.to_bytes(8, "little"))
        assert is_nan(arrived(host, face, type_, nan), format_)


@pytest.mark.parametrize("face", FACES, ids=str)
def test_fp16_is_refused_from_65520_on(host: Host, face: Face) -> None:
    # The greatest double below, and the greatest float.
    below = math.nextafter(65520.0, 0.0) if face is Face.PYTHON else 65520.0 - 2.0**-8
    for value in (65504.0, below):
        assert arrived(host, face, "fp16", value) == b"\xff\x7b"
    for value in (65520.0, -65520.0, 1e6, -1e38, 3.4028234e38):
        check_float(host, face, "fp16", value)
        assert is_too_large(value, "fp16")


@pytest.mark.parametrize("type_", ["bf16", "fp32"])
def test_too_large_a_float_becomes_infinity(host: Host, type_: str) -> None:
    format_ = FORMATS[type_]
    for value in (LARGEST_DOUBLE, 1e39, 2.0**128, 2**128, 10**300):
        bits = int.from_bytes(arrived(host, Face.PYTHON, type_, value), "little")
        assert bits == format_.infinity
        bits = int.from_bytes(arrived(host, Face.PYTHON, type_, -value), "little")
        assert bits == format_.infinity | format_.sign


def test_bf16_rounds_the_largest_floats_of_c_to_infinity(host: Host) -> None:
    largest_float = value_of(FORMATS["fp32"].infinity - 1, FORMATS["fp32"])
    assert arrived(host, Face.C, "bf16", largest_float) == b"\x80\x7f"


@pytest.mark.parametrize("face", FACES, ids=str)
def test_float1_a_small_fp32_arrives_as_four_bytes_of_its_own(host: Host, face: Face) -> None:
    launcher = of_signature("p: *fp32:16, s: fp32")
    launch = host.launched(face, launcher, 1, None, (0x1000, 0.125))
    assert launch.values[1].hex() == "0000003e"
    assert "float s" in launcher.header()


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize(
    ("type_", "value", "bits"),
    [("fp16", 42.0, "4051"), ("bf16", 42.0, "2842"), ("fp32", 42.0, "00002842")],
)
def test_float2_a_half_is_two_bytes(
    host: Host, face: Face, type_: str, value: float, bits: str
) -> None:
    assert arrived(host, face, type_, value).hex() == bits


@pytest.mark.parametrize("face", FACES, ids=str)
def test_float4_the_width_comes_from_the_signature(host: Host, face: Face) -> None:
    launcher = of_signature("p: *fp64, d: fp64, f: fp32")
    launch = host.launched(face, launcher, 1, None, (0x1000, 0.1, 0.1))
    assert launch.values[1:] == (rounded(0.1, "fp64"), rounded(0.1, "fp32"))


@pytest.mark.parametrize("face", FACES, ids=str)
def test_float6_bf16_is_rounded_not_cut(host: Host, face: Face) -> None:
    assert arrived(host, face, "bf16", 1.00585937).hex() == "813f"
    assert arrived(host, face, "bf16", 1.00780625).hex() == "813f"


# ---- integers given for floats -------------------------------------------------------------------

HUGE = (
    *(2**53 + 1, 2**53 + 3, 2**54 + 2**30 + 1, 2**54 + 2**30 - 1, 2**54 + 2**30),
    *(2**63, 2**64 - 1, 2**64 + 2**40 + 1, 2**60 + 2**52 + 1, 2**60 + 2**52, 2**60 + 2**52 - 1),
    *(10**30, 2**100 + 2**76 + 1, 2**128 - 2**103 - 1, 2**128 - 2**103, 2**128 - 2**119 - 1),
    *(2**1023 + 1, 2**1024 - 2**970 - 1),
)
SMALL = (0, 1, 2, 2047, 2048, 2049, 2051, 65_519, 257, 259, 2**24 + 1, 2**24 + 3, 2**53)


@pytest.mark.parametrize("type_", FLOATS)
def test_an_int_for_a_float_is_rounded_once_from_its_exact_value(host: Host, type_: str) -> None:
    for magnitude in (*SMALL, *HUGE):
        for value in (magnitude, -magnitude):
            if is_too_large(value, type_):
                refusal(host, type_, value, OverflowError)
            else:
                expected = rounded(value, type_) if value else rounded(0.0, type_)
                assert arrived(host, Face.PYTHON, type_, value) == expected, value


@pytest.mark.parametrize("type_", ["bf16", "fp32"])
def test_an_object_with_index_for_a_float_is_rounded_once_too(host: Host, type_: str) -> None:
    for value in (*SMALL, *HUGE):
        assert arrived(host, Face.PYTHON, type_, Index(value)) == rounded(value, type_)
        assert arrived(host, Face.PYTHON, type_, Index(-value)) == rounded(
            -value if value else 0.0, type_
        )


def test_rounding_an_int_through_a_double_would_have_shown() -> None:
    differ = [v for v in HUGE if v < 2**128 and rounded(v, "fp32") != rounded(float(v), "fp32")]
    assert 2**54 + 2**30 + 1 in differ


@pytest.mark.parametrize("type_", FLOATS)
def test_an_int_beyond_every_double_is_refused(host: Host, type_: str) -> None:
    values = arguments(type_, 10**400)
    text = host.refusal(Face.PYTHON, of_kernel(KERNEL), 1, None, values, raises=OverflowError)
    assert f"({type_}): " in text


@pytest.mark.parametrize("value", ["1.0", None, b"1", 1j, [1.0], Fraction], ids=repr)
@pytest.mark.parametrize("type_", FLOATS)
def test_what_is_no_number_is_refused_for_a_float(host: Host, type_: str, value: object) -> None:
    text = refusal(host, type_, value, TypeError)
    assert "expected a float" in text


class Array(Index):
    """An array of one float: it has ``__index__`` and then is no integer."""

    def __float__(self) -> float:
        return 1e30

    def __index__(self) -> int:
        raise TypeError("only integer arrays can be an index")


def test_an_array_of_one_float_is_that_float(host: Host) -> None:
    assert arrived(host, Face.PYTHON, "fp32", Array(0)) == rounded(1e30, "fp32")


@pytest.mark.parametrize("type_", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_fraction_or_decimal_that_no_double_holds_is_rounded_once(
    host: Host, type_: str, sign: int
) -> None:
    tie = Fraction(2 ** (FORMATS[type_].fraction + 1) + 1)
    for exact in (tie + Fraction(1, 2**60), tie, tie - Fraction(1, 2**60)):
        value = sign * exact
        assert arrived(host, Face.PYTHON, type_, value) == rounded(value, type_)
    decimal = Decimal(sign) * (Decimal(int(tie)) + Decimal("1e-25"))
    assert arrived(host, Face.PYTHON, type_, decimal) == rounded(Fraction(decimal), type_)


def test_fractions_and_bools_are_floats_as_everywhere_in_python(host: Host) -> None:
    assert arrived(host, Face.PYTHON, "fp32", Fraction(1, 8)) == rounded(0.125, "fp32")
    assert arrived(host, Face.PYTHON, "fp16", True) == rounded(1.0, "fp16")


# ---- at random -----------------------------------------------------------------------------------

COUNT = 10_000
BLOCK = 500


def random_doubles(type_: str, seed: int) -> Iterator[float]:
    """Yield doubles around all that ``type_`` holds, every other one near a tie."""
    format_ = FORMATS[type_]
    source = random.Random(seed)
    lowest = max(1 - format_.bias - format_.fraction - 3, -1074)
    for number in range(COUNT):
        exponent = source.randint(lowest, format_.bias + 1)
        fraction = source.getrandbits(52)
        if number % 2:
            keep = source.randint(1, min(format_.fraction, 50))
            fraction = (fraction >> (52 - keep) << (52 - keep)) | 1 << (51 - keep)
            fraction += source.choice((-1, 0, 1))
        with_one = (1 << 52) + fraction
        value = math.ldexp(with_one, exponent - 52) if exponent < 1024 else LARGEST_DOUBLE
        yield value if source.getrandbits(1) else -value


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("type_", FLOATS)
def test_ten_thousand_doubles_arrive_rounded_once(host: Host, face: Face, type_: str) -> None:
    launcher = of_signature(f"value: {type_}")
    size = FORMATS[type_].size
    given: list[float] = []
    for value in random_doubles(type_, seed=2024):
        exact = as_float(value) if face is Face.C and type_ != "fp64" else value
        if not is_too_large(exact, type_):
            given.append(exact)
    assert len(given) > COUNT * 0.8
    # The driver's log is read back in pieces: all of it at once would be slow to parse.
    for start in range(0, len(given), BLOCK):
        piece = given[start : start + BLOCK]
        host.driver.reset()
        for value in piece:
            host.call(face, launcher, 1, None, (value,))
        got = [launch.values[0] for launch in host.driver.launches]
        expected = [rounded(value, type_) for value in piece]
        assert {len(each) for each in got} == {size}
        assert got == expected


def test_the_reference_agrees_with_python_and_the_processor_where_they_round() -> None:
    for type_, code in (("fp16", "<e"), ("fp32", "<f"), ("fp64", "<d")):
        for value in random_doubles(type_, seed=7):
            if round_bits(abs(value), FORMATS[type_]) != FORMATS[type_].infinity:
                assert rounded(value, type_) == struct.pack(code, value)
