"""Kernels that do nothing, for ``triton_launch.py``: what is left of a launch is the launching.

Each but uses its arguments where ``n`` is not 0, so that Triton keeps them all.  The first thing
that it does is to look at ``n``: zeros and null pointers for all parameters do no harm either.
"""

import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    if n != 0:
        at = tl.arange(0, BLOCK)
        tl.store(out_ptr + at, tl.load(x_ptr + at) + tl.load(y_ptr + at))


@triton.jit
def many_kernel(
    p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, n, i1, i2, i3, i4, i5, i6, i7, i8, i9
):  # fmt: skip
    if n != 0:
        total = tl.load(p1) + tl.load(p2) + tl.load(p3) + tl.load(p4) + tl.load(p5) + tl.load(p6)
        total += tl.load(p7) + tl.load(p8) + tl.load(p9)
        tl.store(p0, total + i1 + i2 + i3 + i4 + i5 + i6 + i7 + i8 + i9)


@triton.jit
def descriptors_kernel(source, target, n, SIZE: tl.constexpr):
    if n != 0:
        target.store([0, 0], source.load([SIZE, SIZE]))


@triton.jit
def tuples_kernel(pointers, sizes, scale, n):
    if n != 0:
        x_ptr, y_ptr, out_ptr = pointers
        rows, columns = sizes
        tl.store(out_ptr, (tl.load(x_ptr) * rows + tl.load(y_ptr) * columns) * scale)


@triton.jit
def scalars_kernel(
    out_ptr, n, wide, flag, number,
    half: tl.float16, double: tl.float64, short: tl.int16, byte: tl.uint8,
):  # fmt: skip
    if n != 0:
        tl.store(out_ptr, wide + flag + number + half + double + short + byte)


@triton.jit
def none_kernel():
    pass
