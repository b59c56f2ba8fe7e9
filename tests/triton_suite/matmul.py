"""Kernels on the tensor cores: products, attention, convolution; clusters, much shared memory."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.triton_suite.rows import Call, Row, blank, integers, normal, tensor, zeros


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k,
    a_row, a_column, b_row, b_column, c_row, c_column,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    ACCUMULATOR: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    a_at = a_ptr + rows[:, None] * a_row + depth[None, :] * a_column
    b_at = b_ptr + depth[:, None] * b_row + columns[None, :] * b_column
    total = tl.zeros((BM, BN), ACCUMULATOR)
    for begin in range(0, k, BK):
        left = k - begin
        a = tl.load(a_at, mask=(rows[:, None] < m) & (depth[None, :] < left), other=0.0)
        b = tl.load(b_at, mask=(depth[:, None] < left) & (columns[None, :] < n), other=0.0)
        total = tl.dot(a, b, total, input_precision=PRECISION, out_dtype=ACCUMULATOR)
        a_at += BK * a_column
        b_at += BK * b_row
    c_at = c_ptr + rows[:, None] * c_row + columns[None, :] * c_column
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c_at, total.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def batched_kernel(a_ptr, b_ptr, bias_ptr, c_ptr, SIZE: tl.constexpr, HAS_BIAS: tl.constexpr):
    batch = tl.program_id(2) * SIZE * SIZE
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    c = tl.dot(tl.load(a_ptr + batch + i * SIZE + j), tl.load(b_ptr + batch + i * SIZE + j))
    if HAS_BIAS:
        c += tl.load(bias_ptr + j)
    tl.store(c_ptr + batch + i * SIZE + j, tl.maximum(c, 0.0))


@triton.jit
def split_k_kernel(a_ptr, b_ptr, c_ptr, k, SIZE: tl.constexpr):
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    begin = tl.program_id(0) * SIZE
    a = tl.load(a_ptr + i * k + begin + j)
    b = tl.load(b_ptr + (begin + i) * SIZE + j)
    tl.atomic_add(c_ptr + i * SIZE + j, tl.dot(a, b, out_dtype=tl.int32))


@triton.jit
def grouped_kernel(addresses_ptr, sizes_ptr, SIZE: tl.constexpr):
    group = tl.program_id(0)
    a_ptr = tl.load(addresses_ptr + 3 * group).to(tl.pointer_type(tl.float16))
    b_ptr = tl.load(addresses_ptr + 3 * group + 1).to(tl.pointer_type(tl.float16))
    c_ptr = tl.load(addresses_ptr + 3 * group + 2).to(tl.pointer_type(tl.float32))
    rows = tl.load(sizes_ptr + group)
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    a = tl.load(a_ptr + i * SIZE + j, mask=i < rows, other=0)
    tl.store(c_ptr + i * SIZE + j, tl.dot(a, tl.load(b_ptr + i * SIZE + j)), mask=i < rows)


@triton.jit
def matvec_kernel(a_ptr, x_ptr, y_ptr, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM, BN), tl.float32)
    for begin in range(0, columns, BN):
        j = begin + tl.arange(0, BN)
        mask = (i[:, None] < rows) & (j[None, :] < columns)
        a = tl.load(a_ptr + i[:, None] * columns + j[None, :], mask=mask, other=0)
        total += a * tl.load(x_ptr + j, mask=j < columns, other=0)[None, :]
    tl.store(y_ptr + i, tl.sum(total, axis=1), mask=i < rows)


@triton.jit
def outer_kernel(x_ptr, y_ptr, out_ptr, SIZE: tl.constexpr):
    i, j = tl.arange(0, SIZE), tl.arange(0, SIZE)
    out = tl.load(x_ptr + i)[:, None] * tl.load(y_ptr + j)[None, :]
    tl.store(out_ptr + i[:, None] * SIZE + j[None, :], out)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, length, scale,
    CAUSAL: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1) * length * WIDTH
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    width = tl.arange(0, WIDTH)
    q = tl.load(q_ptr + head + rows[:, None] * WIDTH + width[None, :])
    largest = tl.full((BLOCK,), -float("inf"), tl.float32)
    weight = tl.zeros((BLOCK,), tl.float32)
    total = tl.zeros((BLOCK, WIDTH), tl.float32)
    end = length
    if CAUSAL:
        end = (tl.program_id(0) + 1) * BLOCK
    for begin in range(0, end, BLOCK):
        columns = begin + tl.arange(0, BLOCK)
        k = tl.load(k_ptr + head + columns[None, :] * WIDTH + width[:, None])
        score = tl.dot(q, k) * scale
        if CAUSAL:
            score = tl.where(rows[:, None] >= columns[None, :], score, -float("inf"))
        next_largest = tl.maximum(largest, tl.max(score, axis=1))
        power = tl.exp(score - next_largest[:, None])
        old = tl.exp(largest - next_largest)
        weight = weight * old + tl.sum(power, axis=1)
        v = tl.load(v_ptr + head + columns[:, None] * WIDTH + width[None, :])
        total = tl.dot(power.to(tl.float16), v, total * old[:, None])
        largest = next_largest
    out_at = out_ptr + head + rows[:, None] * WIDTH + width[None, :]
    tl.store(out_at, (total / weight[:, None]).to(tl.float16))


@triton.jit
def convolution_kernel(
    x_ptr, kernel_ptr, out_ptr, height, width,
    R: tl.constexpr, BH: tl.constexpr, BW: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(2) * height * width
    i = tl.program_id(1) * BH + tl.arange(0, BH)[:, None]
    j = tl.program_id(0) * BW + tl.arange(0, BW)[None, :]
    total = tl.zeros((BH, BW), tl.float32)
    for di in tl.static_range(-R, R + 1):
        for dj in tl.static_range(-R, R + 1):
            y, x = i + di, j + dj
            inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
            value = tl.load(x_ptr + plane + y * width + x, mask=inside, other=0)
            total += value * tl.load(kernel_ptr + (di + R) * (2 * R + 1) + dj + R)
    tl.store(out_ptr + plane + i * width + j, total, mask=(i < height) & (j < width))


@triton.jit
def tile_of(index, rows):
    return index % rows, index // rows


@triton.jit
def persistent_kernel(
    a_desc, b_desc, c_desc, rows, columns, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    for tile in tl.range(tl.program_id(0), rows * columns, tl.num_programs(0)):
        i, j = tile_of(tile, rows)
        total = tl.zeros((BM, BN), tl.float32)
        for begin in range(0, k, BK):
            a = a_desc.load([i * BM, begin])
            b = b_desc.load([j * BN, begin])
            total = tl.dot(a, b.T, total)
        c_desc.store([i * BM, j * BN], total.to(tl.float16))


@triton.jit
def specialized_kernel(
    a_desc, b_desc, c_desc, rows, columns, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    tiles = rows * columns
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), warp_specialize=True):
        i, j = tile_of(tile, rows)
        total = tl.zeros((BM, BN), tl.float32)
        for begin in range(0, k, BK):
            a = a_desc.load([i * BM, begin])
            b = b_desc.load([j * BN, begin])
            total = tl.dot(a, b.T, total)
        c_desc.store([i * BM, j * BN], total.to(tl.float16))


@triton.jit
def device_descriptor_matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    a_desc = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [n, k], [k, 1], [BN, BK])
    c_desc = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [BM, BN])
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for begin in range(0, k, BK):
        total = tl.dot(a_desc.load([i, begin]), b_desc.load([j, begin]).T, total)
    c_desc.store([i, j], total.to(tl.float16))


def _product(
    a, b, out, tile=(64, 64, 32), *, precision="tf32", accumulator=tl.float32, **options
) -> Call:
    (m, k), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, tile[0]), triton.cdiv(n, tile[1]))
    strides = (*a.stride(), *b.stride(), *out.stride())
    return Call(
        lambda: matmul_kernel[grid](
            a, b, out, m, n, k, *strides, *tile, accumulator, precision, **options
        ),
        (out,),
        lambda: (a.double() @ b.double(),),
    )


def half() -> Call:
    a, b = normal(100, 80, dtype=torch.float16), normal(80, 90, dtype=torch.float16)
    return _product(a, b, blank(100, 90, dtype=torch.float16))


def brain() -> Call:
    a, b = normal(128, 64, dtype=torch.bfloat16), normal(64, 128, dtype=torch.bfloat16)
    return _product(a, b.t().contiguous().t(), blank(128, 128))


def tensor_float() -> Call:
    return _product(normal(64, 64), normal(64, 64), blank(64, 64))


def exact_float() -> Call:
    a, b = normal(33, 40), normal(40, 35)
    return _product(a, b, blank(33, 35), (32, 32, 16), precision="ieee")


def eight_bits() -> Call:
    a = normal(128, 128).to(torch.float8_e4m3fn)
    b = normal(128, 128).to(torch.float8_e4m3fn).t()
    return _product(a, b, blank(128, 128), (128, 128, 64))


def small_integers() -> Call:
    a = integers(64, 96, dtype=torch.int8, low=-100)
    b = integers(96, 64, dtype=torch.int8, low=-100)
    out = blank(64, 64, dtype=torch.int32)
    return _product(a, b, out, accumulator=tl.int32)._replace(
        expected=lambda: ((a.double() @ b.double()).int(),)
    )


def cluster() -> Call:
    a, b = normal(256, 128, dtype=torch.float16), normal(128, 256, dtype=torch.float16)
    out = blank(256, 256, dtype=torch.float16)
    return _product(a, b, out, (128, 128, 64), num_ctas=2)


def much_shared_memory() -> Call:
    a, b = normal(256, 512, dtype=torch.float16), normal(512, 256, dtype=torch.float16)
    out = blank(256, 256, dtype=torch.float16)
    return _product(a, b, out, (128, 256, 64), num_stages=4, num_warps=8)


def few_registers() -> Call:
    a, b = normal(64, 64, dtype=torch.float16), normal(64, 64, dtype=torch.float16)
    return _product(a, b, blank(64, 64), maxnreg=128)


def batched() -> Call:
    a, b = normal(5, 32, 32, dtype=torch.float16), normal(5, 32, 32, dtype=torch.float16)
    bias, out = normal(32), blank(5, 32, 32)
    return Call(
        lambda: batched_kernel[(1, 1, 5)](a, b, bias, out, SIZE=32, HAS_BIAS=True),
        (out,),
        lambda: ((a.double() @ b.double() + bias).relu(),),
    )


def without_bias() -> Call:
    a, b = normal(2, 16, 16, dtype=torch.float16), normal(2, 16, 16, dtype=torch.float16)
    out = blank(2, 16, 16)
    return Call(
        lambda: batched_kernel[(1, 1, 2)](a, b, None, out, SIZE=16, HAS_BIAS=False),
        (out,),
        lambda: ((a.double() @ b.double()).relu(),),
    )


def split_k() -> Call:
    a = integers(32, 128, dtype=torch.int8, low=-50, high=50)
    b = integers(128, 32, dtype=torch.int8, low=-50, high=50)
    out = zeros(32, 32)
    return Call(
        lambda: split_k_kernel[(4,)](a, b, out, 128, SIZE=32),
        (out,),
        lambda: ((a.double() @ b.double()).int(),),
    )


def grouped() -> Call:
    sizes = [16, 3, 9]
    a = [normal(rows, 16, dtype=torch.float16) for rows in sizes]
    b = [normal(16, 16, dtype=torch.float16) for _ in sizes]
    out = tuple(blank(rows, 16) for rows in sizes)
    matrices = [matrix for group in zip(a, b, out, strict=True) for matrix in group]
    addresses = tensor([matrix.data_ptr() for matrix in matrices], torch.int64)
    rows = tensor(sizes, torch.int32)
    # The addresses do not keep what lies there.
    return Call(
        lambda: (grouped_kernel[(3,)](addresses, rows, SIZE=16), matrices)[0],
        out,
        lambda: tuple(x.double() @ y.double() for x, y in zip(a, b, strict=True)),
    )


def matvec() -> Call:
    a, x, y = normal(70, 150), normal(150), blank(70)
    return Call(
        lambda: matvec_kernel[(3,)](a, x, y, 70, 150, BM=32, BN=64),
        (y,),
        lambda: (a.double() @ x.double(),),
    )


def outer() -> Call:
    x, y = normal(32, dtype=torch.float64), normal(32, dtype=torch.float64)
    out = blank(32, 32, dtype=torch.float64)
    return Call(lambda: outer_kernel[(1,)](x, y, out, 32), (out,), lambda: (torch.outer(x, y),))


def attention() -> Call:
    return _attention(causal=False)


def causal_attention() -> Call:
    return _attention(causal=True)


def _attention(*, causal: bool) -> Call:
    q, k, v = (normal(3, 128, 64, dtype=torch.float16) for _ in range(3))
    out = blank(3, 128, 64, dtype=torch.float16)
    return Call(
        lambda: attention_kernel[(2, 3)](
            q, k, v, out, 128, 0.125, CAUSAL=causal, BLOCK=64, WIDTH=64
        ),
        (out,),
        lambda: (_attended(q.double(), k.double(), v.double(), causal=causal),),
    )


def _attended(q, k, v, *, causal: bool):
    score = q @ k.transpose(1, 2) * 0.125
    if causal:
        above = torch.ones_like(score[0]).triu(1).bool()
        score = score.masked_fill(above, -float("inf"))
    return score.softmax(2) @ v


def convolution() -> Call:
    x, weights, out = normal(3, 20, 30), normal(3, 3), blank(3, 20, 30)
    return Call(
        lambda: convolution_kernel[(2, 2, 3)](x, weights, out, 20, 30, R=1, BH=16, BW=16),
        (out,),
        lambda: (
            torch.nn.functional.conv2d(
                x.double()[:, None], weights.double()[None, None], padding=1
            )[:, 0],
        ),
    )


def persistent() -> Call:
    return _persistent(persistent_kernel, 64, 64)


def specialized_warps() -> Call:
    """Launch more warps than were asked for: some only load."""
    return _persistent(specialized_kernel, 64, 128)


def _persistent(kernel, rows: int, columns: int) -> Call:
    a, b = normal(256, 128, dtype=torch.float16), normal(384, 128, dtype=torch.float16)
    out = blank(256, 384, dtype=torch.float16)
    tiles = (
        TensorDescriptor.from_tensor(a, [rows, 64]),
        TensorDescriptor.from_tensor(b, [columns, 64]),
        TensorDescriptor.from_tensor(out, [rows, columns]),
    )
    sizes = (256 // rows, 384 // columns, 128)
    return Call(
        lambda: kernel[(5,)](*tiles, *sizes, BM=rows, BN=columns, BK=64),
        (out,),
        lambda: (a.double() @ b.double().t(),),
    )


def device_descriptors() -> Call:
    a, b = normal(128, 128, dtype=torch.float16), normal(128, 128, dtype=torch.float16)
    out = blank(128, 128, dtype=torch.float16)
    return Call(
        lambda: device_descriptor_matmul_kernel[(2, 2)](
            a, b, out, 128, 128, 128, BM=64, BN=64, BK=64
        ),
        (out,),
        lambda: (a.double() @ b.double().t(),),
    )


ROWS = (
    Row("half", half, within=3e-2),
    Row("brain", brain, within=1e-3),
    Row("tensor_float", tensor_float, within=3e-2),
    Row("exact_float", exact_float, within=1e-4),
    Row("eight_bits", eight_bits, within=1e-1),
    Row("small_integers", small_integers),
    Row("cluster", cluster, within=3e-2),
    Row("much_shared_memory", much_shared_memory, within=5e-2),
    Row("few_registers", few_registers, within=1e-3),
    Row("batched", batched, within=1e-3),
    Row("without_bias", without_bias, within=1e-3),
    Row("split_k", split_k),
    Row("grouped", grouped, within=1e-3),
    Row("matvec", matvec, within=1e-4),
    Row("outer", outer),
    Row("attention", attention, within=1e-2),
    Row("causal_attention", causal_attention, within=1e-2),
    Row("convolution", convolution, within=1e-4),
    Row("persistent", persistent, within=3e-2),
    Row("specialized_warps", specialized_warps, within=3e-2),
    Row("device_descriptors", device_descriptors, within=3e-2),
)
