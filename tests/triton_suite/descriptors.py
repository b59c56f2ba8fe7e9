"""Descriptors that the host makes: every rank, several types, edges, padding, their places."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.triton_suite.rows import Call, Row, blank, integers, normal, numbers


@triton.jit
def copy_1d_kernel(source, target, SIZE: tl.constexpr):
    target.store([tl.program_id(0) * SIZE], source.load([tl.program_id(0) * SIZE]))


@triton.jit
def copy_2d_kernel(source, target, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    corner = [tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS]
    target.store(corner, source.load(corner))


@triton.jit
def copy_3d_kernel(source, target, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    corner = [tl.program_id(0) * A, tl.program_id(1) * B, tl.program_id(2) * C]
    target.store(corner, source.load(corner))


@triton.jit
def copy_4d_kernel(source, target, ROWS: tl.constexpr):
    corner = [tl.program_id(0), tl.program_id(1), tl.program_id(2) * ROWS, 0]
    target.store(corner, source.load(corner))


@triton.jit
def copy_5d_kernel(source, target):
    corner = [tl.program_id(0), tl.program_id(1), tl.program_id(2), 0, 0]
    target.store(corner, source.load(corner))


@triton.jit
def padded_kernel(source, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    x = source.load([tl.program_id(0) * ROWS - 4, 0])
    at = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None] * COLUMNS
    tl.store(out_ptr + at + tl.arange(0, COLUMNS)[None, :], x)


@triton.jit
def scaled_kernel(scale, source, bias_ptr, target, begin, SIZE: tl.constexpr):
    corner = [begin, tl.program_id(0) * SIZE]
    bias = tl.load(bias_ptr + tl.arange(0, SIZE))
    x = source.load(corner).to(tl.float32) * scale + bias[None, :]
    target.store(corner, x.to(tl.float16))


@triton.jit
def shape_kernel(source, out_ptr):
    x = source.load([0, 0])
    tl.store(out_ptr, source.shape[0] * 1000 + source.shape[1])
    tl.store(out_ptr + 1, source.strides[0] * 1000 + source.strides[1])
    tl.store(out_ptr + 2, tl.sum(tl.sum(x, axis=1), axis=0).to(tl.int64))


@triton.jit
def reduce_kernel(source, target, SIZE: tl.constexpr):
    target.atomic_add([0, 0], source.load([tl.program_id(0) * SIZE, 0]))


@triton.jit
def rows_kernel(source, strides, out_ptr, SIZE: tl.constexpr):
    x = source.load([0, 0])
    row, column = strides
    at = tl.arange(0, SIZE)[:, None] * row + tl.arange(0, SIZE)[None, :] * column
    tl.store(out_ptr + at, x)


def _copied(source, block, grid, kernel, **options) -> Call:
    target = torch.full_like(source.float(), 77).to(source.dtype)
    descriptors = (
        TensorDescriptor.from_tensor(source, block),
        TensorDescriptor.from_tensor(target, block),
    )
    return Call(lambda: kernel[grid](*descriptors, **options), (target,), lambda: (source,))


def one_dimension() -> Call:
    return _copied(normal(500), [128], (4,), copy_1d_kernel, SIZE=128)


def _two_dimensions(dtype):
    def call() -> Call:
        source = numbers(100, 128, dtype=dtype)
        return _copied(source, [32, 64], (4, 2), copy_2d_kernel, ROWS=32, COLUMNS=64)

    return call


def narrow() -> Call:
    source = normal(64, 16, dtype=torch.float16)
    return _copied(source, [32, 16], (2, 1), copy_2d_kernel, ROWS=32, COLUMNS=16)


def three_dimensions() -> Call:
    source = normal(5, 40, 48, dtype=torch.float16)
    return _copied(source, [2, 16, 32], (3, 3, 2), copy_3d_kernel, A=2, B=16, C=32)


def four_dimensions() -> Call:
    source = integers(3, 2, 20, 32, dtype=torch.int32)
    return _copied(source, [1, 1, 16, 32], (3, 2, 2), copy_4d_kernel, ROWS=16)


def five_dimensions() -> Call:
    source = normal(2, 3, 4, 8, 16)
    return _copied(source, [1, 1, 1, 8, 16], (2, 3, 4), copy_5d_kernel)


def part_of_a_matrix() -> Call:
    source, base = normal(64, 256)[8:40, 64:128], blank(40, 192)
    target = base[:32, :64]
    descriptors = (
        TensorDescriptor.from_tensor(source, [32, 32]),
        TensorDescriptor.from_tensor(target, [32, 32]),
    )
    return Call(
        lambda: copy_2d_kernel[(1, 2)](*descriptors, ROWS=32, COLUMNS=32),
        (base,),
        lambda: (_placed(base, source),),
    )


def _placed(base, source):
    expected = torch.full_like(base, 77)
    expected[: source.shape[0], : source.shape[1]] = source
    return expected


def _padded(padding, value):
    def call() -> Call:
        source, out = normal(20, 24), blank(32, 32)
        descriptor = TensorDescriptor.from_tensor(source, [16, 32], padding=padding)

        def expected():
            whole = torch.full_like(out, value)
            whole[4:24, :24] = source
            return (whole,)

        return Call(
            lambda: padded_kernel[(2,)](descriptor, out, ROWS=16, COLUMNS=32), (out,), expected
        )

    return call


def between_other_arguments() -> Call:
    source, target = (f(64, 96, dtype=torch.float16) for f in (normal, blank))
    bias = normal(32)
    expected = _placed_rows(target, source, bias)
    arguments = (
        0.5,
        TensorDescriptor.from_tensor(source, [16, 32]),
        bias,
        TensorDescriptor.from_tensor(target, [16, 32]),
        16,
    )
    return Call(lambda: scaled_kernel[(3,)](*arguments, SIZE=32), (target,), lambda: (expected,))


def _placed_rows(target, source, bias):
    expected = target.clone()
    expected[16:32] = (source[16:32].float() * 0.5 + bias.repeat(3)).half()
    return expected


def its_own_shape() -> Call:
    source, out = integers(40, 64), blank(3, dtype=torch.int64)
    descriptor = TensorDescriptor.from_tensor(source[:, :32], [32, 32])

    def expected():
        total = int(source[:32, :32].sum())
        return (torch.tensor([40_032, 64_001, total], device=out.device),)

    return Call(lambda: shape_kernel[(1,)](descriptor, out), (out,), expected)


def shape_without_a_tensor() -> Call:
    source, out = integers(64 * 32), blank(3, dtype=torch.int64)
    descriptor = TensorDescriptor(source, [50, 30], [32, 1], [32, 32])

    def expected():
        total = int(source.view(64, 32)[:32, :30].sum())
        return (torch.tensor([50_030, 32_001, total], device=out.device),)

    return Call(lambda: shape_kernel[(1,)](descriptor, out), (out,), expected)


def added_to() -> Call:
    source, target = integers(160, 32), torch.zeros_like(integers(32, 32))
    descriptors = (
        TensorDescriptor.from_tensor(source, [32, 32]),
        TensorDescriptor.from_tensor(target, [32, 32]),
    )
    return Call(
        lambda: reduce_kernel[(5,)](*descriptors, SIZE=32),
        (target,),
        lambda: (source.view(5, 32, 32).sum(0).int(),),
    )


def beside_a_tuple() -> Call:
    source, out = normal(16, 16), blank(16, 16)
    descriptor = TensorDescriptor.from_tensor(source, [16, 16])
    return Call(
        lambda: rows_kernel[(1,)](descriptor, (1, 16), out, SIZE=16),
        (out,),
        lambda: (source.t(),),
    )


TYPES = (
    torch.float8_e4m3fn,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int64,
)

ROWS = (
    Row("one_dimension", one_dimension),
    *(Row(f"{dtype}".removeprefix("torch."), _two_dimensions(dtype)) for dtype in TYPES),
    Row("narrow", narrow),
    Row("three_dimensions", three_dimensions),
    Row("four_dimensions", four_dimensions),
    Row("five_dimensions", five_dimensions),
    Row("part_of_a_matrix", part_of_a_matrix),
    Row("padded_with_zero", _padded("zero", 0.0)),
    Row("padded_with_nan", _padded("nan", float("nan"))),
    Row("between_other_arguments", between_other_arguments, within=1e-3),
    Row("its_own_shape", its_own_shape),
    Row("shape_without_a_tensor", shape_without_a_tensor),
    Row("added_to", added_to),
    Row("beside_a_tuple", beside_a_tuple),
)
