"""Kernels that need memory beside their arguments: descriptors made on the device."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.triton_suite.rows import Call, Row, blank, integers, normal


@triton.jit
def copy_kernel(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    target = tl.make_tensor_descriptor(out_ptr, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    corner = [tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS]
    target.store(corner, source.load(corner))


@triton.jit
def loop_kernel(x_ptr, out_ptr, batches, rows, SIZE: tl.constexpr):
    for batch in range(tl.program_id(0), batches, tl.num_programs(0)):
        offset = batch * rows * SIZE
        source = tl.make_tensor_descriptor(x_ptr + offset, [rows, SIZE], [SIZE, 1], [SIZE, SIZE])
        target = tl.make_tensor_descriptor(out_ptr + offset, [rows, SIZE], [SIZE, 1], [SIZE, SIZE])
        target.store([0, 0], source.load([0, 0]) * 2)


@triton.jit
def cube_kernel(x_ptr, out_ptr, a, b, c, SIZE: tl.constexpr):
    source = tl.make_tensor_descriptor(
        x_ptr, [a, b, c], [b * c, c, 1], [1, SIZE, SIZE], padding_option="zero"
    )
    x = source.load([tl.program_id(0), tl.program_id(1) * SIZE, 0])
    tl.atomic_add(out_ptr + tl.program_id(0), tl.sum(tl.sum(x.reshape(SIZE, SIZE), 1), 0))


@triton.jit
def host_and_device_kernel(source, out_ptr, rows, SIZE: tl.constexpr):
    target = tl.make_tensor_descriptor(out_ptr, [rows, SIZE], [SIZE, 1], [SIZE, SIZE])
    target.store([tl.program_id(0) * SIZE, 0], source.load([tl.program_id(0) * SIZE, 0]))


@triton.jit
def load(descriptor, row):
    return descriptor.load([row, 0])


@triton.jit
def lent_kernel(x_ptr, out_ptr, rows, SIZE: tl.constexpr):
    descriptor = tl.make_tensor_descriptor(x_ptr, [rows, SIZE], [SIZE, 1], [SIZE, SIZE])
    total = load(descriptor, 0) + load(descriptor, tl.program_id(0) * SIZE)
    at = tl.arange(0, SIZE)
    tl.store(out_ptr + tl.program_id(0) * SIZE + at, tl.sum(total, axis=1))


def copy() -> Call:
    x, out = normal(70, 96, dtype=torch.float16), blank(70, 96, dtype=torch.float16)
    return Call(
        lambda: copy_kernel[(3, 3)](x, out, 70, 96, ROWS=32, COLUMNS=32), (out,), lambda: (x,)
    )


def copy_by_one_warp() -> Call:
    x, out = integers(32, 64, dtype=torch.int8), blank(32, 64, dtype=torch.int8)
    return Call(
        lambda: copy_kernel[(2, 2)](x, out, 32, 64, ROWS=16, COLUMNS=32, num_warps=1),
        (out,),
        lambda: (x,),
    )


def loop() -> Call:
    x, out = normal(7, 20, 32), blank(7, 20, 32)
    return Call(lambda: loop_kernel[(3,)](x, out, 7, 20, SIZE=32), (out,), lambda: (x * 2,))


def cube() -> Call:
    x, out = integers(3, 40, 32), torch.zeros_like(integers(3))
    return Call(
        lambda: cube_kernel[(3, 2)](x, out, 3, 40, 32, SIZE=32),
        (out,),
        lambda: (x.sum((1, 2)).int(),),
    )


def host_and_device() -> Call:
    x, out = normal(64, 32), blank(64, 32)
    descriptor = TensorDescriptor.from_tensor(x, [32, 32])
    return Call(
        lambda: host_and_device_kernel[(2,)](descriptor, out, 64, SIZE=32), (out,), lambda: (x,)
    )


def lent() -> Call:
    x, out = integers(96, 32), blank(96, dtype=torch.int32)
    return Call(
        lambda: lent_kernel[(3,)](x, out, 96, SIZE=32),
        (out,),
        lambda: ((x.sum(1) + x[:32].sum(1).repeat(3)).int(),),
    )


ROWS = (
    Row("copy", copy),
    Row("copy_by_one_warp", copy_by_one_warp),
    Row("loop", loop),
    Row("cube", cube),
    Row("host_and_device", host_and_device),
    Row("lent", lent),
)
