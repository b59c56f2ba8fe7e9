"""Scalars of every type, and all that Triton makes of the value of an argument.

The annotations are read by Triton: this module must not postpone them.
"""

import enum
import math

import numpy
import torch
import triton
import triton.language as tl

from tests.triton_suite.rows import Call, Row, blank, normal, tensor


# Triton 3.6 takes no negative number for an i8.
@triton.jit
def typed_integers_kernel(
    out_ptr,
    flag: tl.int1, s8: tl.int8, s16: tl.int16, s32: tl.int32, s64: tl.int64,
    u8: tl.uint8, u16: tl.uint16, u32: tl.uint32, u64: tl.uint64,
):  # fmt: skip
    tl.store(out_ptr, flag.to(tl.int64))
    tl.store(out_ptr + 1, s8.to(tl.int64))
    tl.store(out_ptr + 2, s16.to(tl.int64))
    tl.store(out_ptr + 3, s32.to(tl.int64))
    tl.store(out_ptr + 4, s64)
    tl.store(out_ptr + 5, u8.to(tl.int64))
    tl.store(out_ptr + 6, u16.to(tl.int64))
    tl.store(out_ptr + 7, u32.to(tl.int64))
    tl.store(out_ptr + 8, u64.to(tl.int64))


@triton.jit
def typed_floats_kernel(
    out_ptr, half: tl.float16, brain: tl.bfloat16, single: tl.float32, double: tl.float64
):
    tl.store(out_ptr, half.to(tl.float64))
    tl.store(out_ptr + 1, brain.to(tl.float64))
    tl.store(out_ptr + 2, single.to(tl.float64))
    tl.store(out_ptr + 3, double)


@triton.jit
def untyped_kernel(out_ptr, a, b, c, d, e):
    tl.store(out_ptr, a.to(tl.int64))
    tl.store(out_ptr + 1, b.to(tl.int64))
    tl.store(out_ptr + 2, c.to(tl.int64))
    tl.store(out_ptr + 3, d.to(tl.int64))
    tl.store(out_ptr + 4, (e * 1024).to(tl.int64))


@triton.jit
def sum_kernel(out_ptr, a, b, c, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, N), tl.arange(0, N) * a + b + c)


@triton.jit
def product_kernel(x_ptr, out_ptr, a, b):
    at = tl.arange(0, 64)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * a + b)


@triton.jit
def bias_kernel(x_ptr, bias_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    if bias_ptr is not None:
        x += tl.load(bias_ptr + at)
    tl.store(out_ptr + at, x)


@triton.jit(do_not_specialize=["n", "offset"])
def unspecialized_kernel(x_ptr, out_ptr, n, offset):
    at = tl.arange(0, 64)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0) + offset, mask=at < n)


@triton.jit(do_not_specialize_on_alignment=["x_ptr", "n"])
def unaligned_kernel(x_ptr, out_ptr, n):
    at = tl.arange(0, 64)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0), mask=at < n)


@triton.jit
def constants_kernel(
    x_ptr, out_ptr,
    WORD: tl.constexpr, NUMBER: tl.constexpr, TYPE: tl.constexpr, SHAPE: tl.constexpr,
    NOTHING: tl.constexpr, n,
):  # fmt: skip
    at = tl.arange(0, SHAPE[0] * SHAPE[1])
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(TYPE)
    if WORD == "relu":
        x = tl.maximum(x, 0.0)
    if NOTHING is None:
        x += NUMBER
    tl.store(out_ptr + at, x, mask=at < n)


@triton.jit
def addresses_kernel(
    x_ptr: tl.pointer_type(tl.float32),  # type: ignore[valid-type]
    out_ptr: tl.pointer_type(tl.float32),  # type: ignore[valid-type]
    N: tl.constexpr,
):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at) + 1)


@triton.jit
def defaults_kernel(out_ptr, a, b=5, scale=0.5, N: tl.constexpr = 16):
    tl.store(out_ptr + tl.arange(0, N), (tl.arange(0, N) * a + b) * scale)


@triton.jit
def wide_kernel(
    out_ptr,
    a0: tl.int8, a1: tl.int64, a2: tl.int16, a3: tl.float64, a4: tl.uint8,
    a5: tl.float16, a6: tl.uint64, a7: tl.int1, a8: tl.float32, a9: tl.uint16,
    b0, b1, b2, b3, b4, b5, b6, b7, b8, b9,
    c0_ptr, c1_ptr, c2_ptr, c3_ptr, c4_ptr, c5_ptr, c6_ptr, c7_ptr, c8_ptr, c9_ptr,
):  # fmt: skip
    first = a0 + a1 + a2 + a3 + a4 + a5 + a6.to(tl.float64) + a7.to(tl.float64) + a8 + a9
    second = (b0 + b1 + b2 + b3 + b5 + b7 + b8 + b9).to(tl.float64) + b4 + b6
    third = tl.load(c0_ptr).to(tl.float64) + tl.load(c1_ptr) + tl.load(c2_ptr) + tl.load(c3_ptr)
    third = third + tl.load(c4_ptr) + tl.load(c5_ptr) + tl.load(c6_ptr) + tl.load(c7_ptr)
    third = third + tl.load(c8_ptr) + tl.load(c9_ptr)
    tl.store(out_ptr, first.to(tl.float64))
    tl.store(out_ptr + 1, second.to(tl.float64))
    tl.store(out_ptr + 2, third.to(tl.float64))


@triton.jit
def constant_argument_kernel(out_ptr, value, function):
    tl.store(out_ptr + tl.arange(0, 16), function(tl.arange(0, 16)) + value)


@triton.jit
def twice(x):
    return x * 2


def _integers(*values):
    def call() -> Call:
        out = blank(9, dtype=torch.int64)
        signed = [value - 2**64 if value >= 2**63 else int(value) for value in values]
        return Call(
            lambda: typed_integers_kernel[(1,)](out, *values),
            (out,),
            lambda: (tensor(signed, torch.int64),),
        )

    return call


def _floats(*values, half, brain):
    """Call with four floats; ``half`` and ``brain`` are what the narrow types make of them."""

    def call() -> Call:
        out = blank(4, dtype=torch.float64)
        single = tensor(values[2], torch.float32).item()
        return Call(
            lambda: typed_floats_kernel[(1,)](out, *values),
            (out,),
            lambda: (tensor([half, brain, single, values[3]], torch.float64),),
        )

    return call


def untyped() -> Call:
    out = blank(5, dtype=torch.int64)
    return Call(
        lambda: untyped_kernel[(1,)](out, -(2**31), -(2**63), 2**63 + 5, True, 0.5),
        (out,),
        lambda: (tensor([-(2**31), -(2**63), -(2**63) + 5, 1, 512], torch.int64),),
    )


def _sum(a, b, c, dtype=torch.int32):
    def call() -> Call:
        out = blank(32, dtype=dtype)
        return Call(
            lambda: sum_kernel[(1,)](out, a, b, c, N=32),
            (out,),
            lambda: ((torch.arange(32, device=out.device) * a + b + c).to(dtype),),
        )

    return call


def _product(a, b):
    def call() -> Call:
        x, out = normal(64), blank(64)
        return Call(
            lambda: product_kernel[(1,)](x, out, a, b), (out,), lambda: ((x * a + b).float(),)
        )

    return call


class Size(enum.IntEnum):
    SMALL = 5
    EVEN = 48


class Share(float):
    """A number that is not quite a float."""


def null_pointer() -> Call:
    x, out = normal(64), blank(64)
    return Call(lambda: bias_kernel[(1,)](x, None, out, 64), (out,), lambda: (x,))


def pointer() -> Call:
    x, bias, out = normal(64), normal(64), blank(64)
    return Call(lambda: bias_kernel[(1,)](x, bias, out, 64), (out,), lambda: (x + bias,))


def unspecialized() -> Call:
    x, out = normal(64), blank(64)

    def launch():
        # One compiled kernel for all of them: 1 is no constant, 64 no multiple of 16.
        for n, offset in ((64, 1), (17, 16), (1, 3)):
            unspecialized_kernel[(1,)](x, out, n, offset)

    def expected():
        whole = x + 1
        whole[:17] = x[:17] + 16
        whole[:1] = x[:1] + 3
        return (whole,)

    return Call(launch, (out,), expected)


def unaligned() -> Call:
    base, first, second = normal(80), blank(64), blank(64)

    def launch():
        unaligned_kernel[(1,)](base, first, 64)
        unaligned_kernel[(1,)](base[3:], second, 61)

    def expected():
        return (base[:64], torch.cat((base[3:64], torch.full_like(base[:3], 77))))

    return Call(launch, (first, second), expected)


def constants() -> Call:
    x, out = normal(32), blank(32, dtype=torch.float16)
    return Call(
        lambda: constants_kernel[(1,)](x, out, "relu", 0.5, tl.float16, (4, 8), None, 30),
        (out,),
        lambda: (torch.cat((x[:30].half().relu() + 0.5, torch.full_like(out[:2], 77))),),
    )


def addresses() -> Call:
    x, out = normal(64), blank(64)
    return Call(
        lambda: addresses_kernel[(1,)](x.data_ptr(), out.data_ptr(), 64), (out,), lambda: (x + 1,)
    )


def defaults() -> Call:
    first, second = blank(16), blank(16)

    def launch():
        defaults_kernel[(1,)](first, 3)
        defaults_kernel[(1,)](scale=2.0, a=1, out_ptr=second, b=-5)

    def expected():
        i = torch.arange(16, device=first.device)
        return ((i * 3 + 5) * 0.5, (i - 5) * 2.0)

    return Call(launch, (first, second), expected)


def wide() -> Call:
    out, pointers = blank(3, dtype=torch.float64), [normal(1) for _ in range(10)]
    typed = (100, 2**40, -30_000, 0.25, 255, 1.5, 2**41, True, 0.125, 65_535)
    by_value = (2, 1, 16, 2**35, 0.5, 7, 3.25, 48, -5, 9)
    return Call(
        lambda: wide_kernel[(1,)](out, *typed, *by_value, *pointers),
        (out,),
        lambda: (
            tensor([sum(typed), sum(by_value), sum(p.item() for p in pointers)], torch.float64),
        ),
    )


def constant_arguments() -> Call:
    out = blank(16, dtype=torch.int32)
    return Call(
        lambda: constant_argument_kernel[(1,)](out, tl.constexpr(3), twice),
        (out,),
        lambda: (torch.arange(16, device=out.device, dtype=torch.int32) * 2 + 3,),
    )


ROWS = (
    Row(
        "largest",
        _integers(True, 127, 2**15 - 1, 2**31 - 1, 2**63 - 1, 255, 65_535, 2**32 - 1, 2**64 - 1),
    ),
    Row("smallest", _integers(False, 0, -(2**15), -(2**31), -(2**63), 0, 0, 0, 0)),
    Row("ones", _integers(True, 1, 1, 1, 1, 1, 1, 1, 1)),
    Row("divisible", _integers(True, 16, 32, 48, 64, 16, 32, 48, 64)),
    Row(
        "floats", _floats(0.1, 1.0078125, 0.1, 0.1, half=0.0999755859375, brain=1.0078125), within=0
    ),
    Row("halfway", _floats(1 + 2**-11, 3.0, 1 + 2**-24, 1 + 2**-52, half=1.0, brain=3.0), within=0),
    Row(
        "tiny",
        _floats(2**-24, 2.0**-130, 2.0**-149, 5e-324, half=2**-24, brain=2.0**-130),
        within=0,
    ),
    Row(
        "infinite",
        _floats(math.inf, -math.inf, math.inf, -math.inf, half=math.inf, brain=-math.inf),
        within=0,
    ),
    Row("not_a_number", _floats(*[math.nan] * 4, half=math.nan, brain=math.nan), within=0),
    Row("floats_of_integers", _floats(-3, 2, 2**24 + 1, 2**53, half=-3.0, brain=2.0), within=0),
    Row("untyped", untyped),
    Row("specialized_on_one", _sum(1, 1, 1)),
    Row("specialized_on_divisibility", _sum(16, 3, -48)),
    Row("sixty_four_bits", _sum(2**33, 2**62, -1, torch.int64)),
    Row("flags", _sum(True, False, 5)),
    Row("floats_by_value", _product(0.1, -1e30)),
    Row("float_and_integer", _product(3, 1.0)),
    Row("enumerated", _sum(Size.SMALL, Size.EVEN, 1)),
    Row("kinds_of_float", _product(Share(0.375), numpy.float64(1.25))),
    Row("null_pointer", null_pointer),
    Row("pointer", pointer),
    Row("unspecialized", unspecialized),
    Row("unaligned", unaligned),
    Row("constants", constants, within=1e-3),
    Row("addresses", addresses),
    Row("defaults", defaults),
    Row("wide", wide, within=0),
    Row("constant_arguments", constant_arguments),
)
