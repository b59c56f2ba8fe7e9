"""Arguments that are tuples: nested, named, with constants, of one element, of none."""

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from tests.triton_suite.rows import Call, Row, blank, normal, tensor

N = 64


@triton.jit
def pair_kernel(inputs, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(inputs[0] + at) - tl.load(inputs[1] + at))


@triton.jit
def nested_kernel(arguments, out_ptr, N: tl.constexpr):
    pointers, numbers = arguments
    x_ptr, inner = pointers
    y_ptr, offset = inner
    scale, rest = numbers
    n, shift = rest
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    y = tl.load(y_ptr + at, mask=at < n, other=0)
    tl.store(out_ptr + at, (x + y + offset) * scale + shift)


@triton.jit
def optional_kernel(pointers, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(pointers[0] + at)
    if pointers[1] is not None:
        x += tl.load(pointers[1] + at)
    tl.store(out_ptr + at, x)


@triton.jit
def matrix_kernel(x, out, SIZE: tl.constexpr):
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    mask = (i < x.shape[0]) & (j < x.shape[1])
    value = tl.load(x.pointer + i * x.strides[0] + j * x.strides[1], mask=mask)
    tl.store(out.pointer + i * out.strides[0] + j * out.strides[1], value, mask=mask)


@triton.jit
def many_kernel(inputs, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    for i in tl.static_range(len(inputs)):
        total += tl.load(inputs[i] + at) * (i + 1)
    tl.store(out_ptr + at, total)


@triton.jit
def one_and_none_kernel(only, nothing, out_ptr):
    tl.store(out_ptr, only[0] + len(nothing))


@triton.jit
def mixed_kernel(values, out_ptr):
    integer, wide, unsigned, number, flag, one = values
    tl.store(out_ptr, integer.to(tl.int64))
    tl.store(out_ptr + 1, wide)
    tl.store(out_ptr + 2, (unsigned >> 32).to(tl.int64))
    tl.store(out_ptr + 3, (number * 1000).to(tl.int64))
    tl.store(out_ptr + 4, flag.to(tl.int64))
    tl.store(out_ptr + 5, one)


@triton.jit
def outputs_kernel(x_ptr, outputs, n, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(outputs[0] + at, x * 2, mask=at < n)
    tl.store(outputs[1][0] + at, x * 3, mask=at < n)
    tl.store(outputs[1][1] + at, x.to(tl.float16), mask=at < n)


@triton.jit
def applied_kernel(chosen, x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, chosen[0](tl.load(x_ptr + at), chosen[1]))


@triton.jit
def plus(x, y):
    return x + y


class Matrix(NamedTuple):
    pointer: torch.Tensor
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def pair() -> Call:
    x, y, out = normal(N), normal(N), blank(N)
    return Call(lambda: pair_kernel[(1,)]((x, y), out, N), (out,), lambda: (x - y,))


def nested() -> Call:
    x, y, out = normal(N), normal(N), blank(N)
    return Call(
        lambda: nested_kernel[(1,)](((x, (y, tl.constexpr(3))), (0.5, (N, 1))), out, N),
        (out,),
        lambda: ((x + y + 3) * 0.5 + 1,),
    )


def with_none() -> Call:
    x, out = normal(N), blank(N)
    return Call(lambda: optional_kernel[(1,)]((x, None), out, N), (out,), lambda: (x,))


def without_none() -> Call:
    x, y, out = normal(N), normal(N), blank(N)
    return Call(lambda: optional_kernel[(1,)]((x, y), out, N), (out,), lambda: (x + y,))


def named() -> Call:
    x, out = normal(20, 30), blank(30, 20)
    matrices = (Matrix(x, (20, 30), x.stride()), Matrix(out.t(), (20, 30), out.t().stride()))
    return Call(lambda: matrix_kernel[(1,)](*matrices, SIZE=32), (out,), lambda: (x.t(),))


def many() -> Call:
    inputs, out = tuple(normal(N) for _ in range(12)), blank(N)
    return Call(
        lambda: many_kernel[(1,)](inputs, out, N),
        (out,),
        lambda: (sum(x * (i + 1) for i, x in enumerate(inputs)),),
    )


def one_and_none() -> Call:
    out = blank(1, dtype=torch.int32)
    return Call(
        lambda: one_and_none_kernel[(1,)]((42,), (), out),
        (out,),
        lambda: (tensor([42], torch.int32),),
    )


def mixed() -> Call:
    out = blank(6, dtype=torch.int64)
    values = (-7, -(2**40), 2**63 + 2**40, 0.25, True, 1)
    return Call(
        lambda: mixed_kernel[(1,)](values, out),
        (out,),
        lambda: (tensor([-7, -(2**40), 2**31 + 2**8, 250, 1, 1], torch.int64),),
    )


def outputs() -> Call:
    x = normal(N)
    double, triple, half = blank(N), blank(N), blank(N, dtype=torch.float16)
    return Call(
        lambda: outputs_kernel[(1,)](x, (double, (triple, half)), 50, N),
        (double, triple, half),
        lambda: tuple(
            torch.cat((values[:50], out[50:]))
            for values, out in ((x * 2, double), (x * 3, triple), (x.half(), half))
        ),
    )


def with_a_function() -> Call:
    x, out = normal(N), blank(N)
    return Call(lambda: applied_kernel[(1,)]((plus, 2.5), x, out, N), (out,), lambda: (x + 2.5,))


ROWS = (
    Row("pair", pair),
    Row("nested", nested),
    Row("with_none", with_none),
    Row("without_none", without_none),
    Row("named", named),
    Row("many", many),
    Row("one_and_none", one_and_none),
    Row("mixed", mixed),
    Row("outputs", outputs),
    Row("with_a_function", with_a_function),
)
