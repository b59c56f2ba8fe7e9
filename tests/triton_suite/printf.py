"""Kernels that print; the order of lines is the GPU's, and no part of what is compared."""

import torch
import triton
import triton.language as tl

from tests.triton_suite.rows import Call, Row, blank, integers, normal, numbers


@triton.jit
def integers_kernel(x_ptr, out_ptr, offset, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.device_print("sum: ", tl.sum(x, axis=0) + offset)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x, axis=0) + offset)


@triton.jit
def elements_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.device_print("x, y", x, y)
    tl.store(out_ptr + at, x + y)


@triton.jit
def hexadecimal_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.device_print("bits ", x, hex=True)
    tl.store(out_ptr + tl.arange(0, BLOCK), x)


@triton.jit
def words_kernel(out_ptr, scale, flag):
    tl.device_print("just words")
    tl.device_print("scale, flag", scale, flag)
    tl.store(out_ptr, scale)


def of_integers() -> Call:
    x, out = integers(4, 32), blank(4, dtype=torch.int32)
    return Call(
        lambda: integers_kernel[(4,)](x, out, -5, BLOCK=32, num_warps=1),
        (out,),
        lambda: (x.sum(1).int() - 5,),
    )


def of_elements() -> Call:
    x, y, out = normal(32), numbers(32, dtype=torch.float16), blank(32)
    return Call(
        lambda: elements_kernel[(1,)](x, y, out, BLOCK=32, num_warps=1), (out,), lambda: (x + y,)
    )


def in_hexadecimal() -> Call:
    x, out = integers(32, dtype=torch.int64), blank(32, dtype=torch.int64)
    return Call(
        lambda: hexadecimal_kernel[(1,)](x, out, BLOCK=32, num_warps=1), (out,), lambda: (x,)
    )


def of_words() -> Call:
    out = blank(1)
    return Call(
        lambda: words_kernel[(2,)](out, 0.75, True, num_warps=1),
        (out,),
        lambda: (torch.full_like(out, 0.75),),
    )


ROWS = (
    Row("of_integers", of_integers),
    Row("of_elements", of_elements),
    Row("in_hexadecimal", in_hexadecimal),
    Row("of_words", of_words),
)
