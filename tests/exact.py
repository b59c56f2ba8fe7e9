"""Rounding to binary floats by the definition: exact fractions, once, to nearest, ties to even."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from fractions import Fraction
from functools import cache


@dataclass(frozen=True)
class Format:
    size: int  # bytes
    fraction: int  # bits of fraction
    exponent: int  # bits of exponent

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.fraction

    @property
    def sign(self) -> int:
        return 1 << (8 * self.size - 1)


FORMATS = {
    "fp16": Format(size=2, fraction=10, exponent=5),
    "bf16": Format(size=2, fraction=7, exponent=8),
    "fp32": Format(size=4, fraction=23, exponent=8),
    "fp64": Format(size=8, fraction=52, exponent=11),
}


def round_bits(value: float | int | Fraction, format_: Format) -> int:
    """Return the bits of ``value``, which may be infinite but no NaN; too large is infinity."""
    negative = math.copysign(1.0, value) < 0 if isinstance(value, float) else value < 0
    sign = format_.sign if negative else 0
    if isinstance(value, float) and math.isinf(value):
        return sign | format_.infinity
    exact = abs(Fraction(value))
    lowest = 1 - format_.bias
    exponent = max(_exponent(exact), lowest) if exact else lowest
    # The distance between neighbours there; round() of a fraction goes to even in a tie.
    places = round(exact / _power(exponent - format_.fraction))
    # Subnormals have no leading one, and that of the others adds one to the exponent below them.
    bits = ((exponent - lowest) << format_.fraction) + places
    return sign | min(bits, format_.infinity)


def value_of(bits: int, format_: Format) -> float:
    """Return what finite ``bits`` stand for, without their sign's check against NaN."""
    magnitude = bits & ~format_.sign
    exponent, fraction = divmod(magnitude, 1 << format_.fraction)
    whole = fraction + (1 << format_.fraction if exponent else 0)
    value = math.ldexp(whole, max(exponent, 1) - format_.bias - format_.fraction)
    return -value if bits & format_.sign else value


def is_nan(data: bytes, format_: Format) -> bool:
    return (int.from_bytes(data, "little") & ~format_.sign) > format_.infinity


def rounded(value: float | int | Fraction, type_: str) -> bytes:
    """Return what a kernel reads of ``value``, in a slot of ``type_``."""
    format_ = FORMATS[type_]
    return round_bits(value, format_).to_bytes(format_.size, "little")


def as_float(value: float | int) -> float:
    """Return what a C ``float`` holds of ``value``."""
    if isinstance(value, float) and math.isnan(value):
        return value
    result: float = struct.unpack("<f", rounded(value, "fp32"))[0]
    return result


def _exponent(exact: Fraction) -> int:
    """Return e where 2**e <= exact < 2**(e + 1)."""
    guess = exact.numerator.bit_length() - exact.denominator.bit_length()
    return guess if _power(guess) <= exact else guess - 1


@cache
def _power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent
