"""Kernels in which elements meet: reductions, scans, sorting, atomics."""

import torch
import triton
import triton.language as tl

from tests.triton_suite.rows import Call, Row, blank, blocks, integers, normal, zeros

HEIGHT, COLUMNS = 37, 200
"""A block holds a row of 256; the rest of it is masked."""


@triton.jit
def sum_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * columns + at, mask=at < columns, other=0)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x, axis=0))


@triton.jit
def extremes_kernel(x_ptr, largest_ptr, where_ptr, smallest_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + at, mask=at < columns, other=-float("inf"))
    largest, where = tl.max(x, axis=0, return_indices=True)
    tl.store(largest_ptr + row, largest)
    tl.store(where_ptr + row, where)
    x = tl.where(at < columns, x, float("inf"))
    tl.store(smallest_ptr + row, tl.min(x, axis=0))


@triton.jit
def combine_moments(mean_a, m2_a, weight_a, mean_b, m2_b, weight_b):
    delta = mean_b - mean_a
    weight = weight_a + weight_b
    share = tl.where(weight == 0.0, 0.0, weight_b / weight)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * weight_a * share, weight


@triton.jit
def moments_kernel(x_ptr, mean_ptr, variance_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + at, mask=at < columns, other=0)
    weight = (at < columns).to(tl.float32)
    mean, m2, weight = tl.reduce((x, tl.zeros_like(x), weight), 0, combine_moments)
    tl.store(mean_ptr + row, mean)
    tl.store(variance_ptr + row, m2 / weight)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=at < columns, other=-float("inf")).to(tl.float32)
    powers = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def layernorm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    x = tl.load(x_ptr + row * columns + at, mask=mask, other=0)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + epsilon)
    weight, bias = tl.load(weight_ptr + at, mask=mask), tl.load(bias_ptr + at, mask=mask)
    tl.store(out_ptr + row * columns + at, centred * scale * weight + bias, mask=mask)


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, out_ptr, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + at, mask=at < columns, other=0).to(tl.float32)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, axis=0) / columns + epsilon)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + at, mask=at < columns)
        weight = tl.load(weight_ptr + at, mask=at < columns)
        tl.store(out_ptr + row * columns + at, x * scale * weight, mask=at < columns)


@triton.jit
def cross_entropy_kernel(logits_ptr, labels_ptr, loss_ptr, columns, ignored, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels_ptr + row)
    if label == ignored:
        tl.store(loss_ptr + row, 0.0)
        return
    at = tl.arange(0, BLOCK)
    x = tl.load(logits_ptr + row * columns + at, mask=at < columns, other=-float("inf"))
    largest = tl.max(x, axis=0)
    total = tl.log(tl.sum(tl.exp(x - largest), axis=0)) + largest
    tl.store(loss_ptr + row, total - tl.load(logits_ptr + row * columns + label))


@triton.jit
def scan_kernel(x_ptr, sums_ptr, backwards_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + at, mask=at < columns, other=0)
    tl.store(sums_ptr + row * columns + at, tl.cumsum(x, axis=0), mask=at < columns)
    backwards = tl.cumsum(x, axis=0, reverse=True)
    tl.store(backwards_ptr + row * columns + at, backwards, mask=at < columns)


@triton.jit
def after(decay_a, state_a, decay_b, state_b):
    return decay_a * decay_b, decay_b * state_a + state_b


@triton.jit
def recurrence_kernel(decay_ptr, input_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    pair = (tl.load(decay_ptr + at), tl.load(input_ptr + at))
    _, state = tl.associative_scan(pair, 0, after)
    tl.store(out_ptr + at, state)


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    counts = tl.histogram(x, BINS, mask=at < n)
    tl.atomic_add(out_ptr + tl.arange(0, BINS), counts)


@triton.jit
def sort_kernel(x_ptr, up_ptr, down_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(up_ptr + at, tl.sort(x))
    tl.store(down_ptr + at, tl.sort(x, descending=True))


@triton.jit
def largest_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + row * K + tl.arange(0, K), tl.topk(x, K))


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    at = tl.arange(0, HEIGHT)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    picked = tl.gather(tl.load(x_ptr + at), tl.load(index_ptr + at), axis=0)
    tl.store(out_ptr + at, picked)


@triton.jit
def embedding_kernel(table_ptr, index_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.load(index_ptr + tl.program_id(0)).to(tl.int64)
    at = tl.arange(0, BLOCK)
    x = tl.load(table_ptr + row * width + at, mask=at < width)
    tl.store(out_ptr + tl.program_id(0) * width + at, x, mask=at < width)


@triton.jit
def parity_kernel(x_ptr, parity_ptr, any_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.store(parity_ptr + tl.program_id(0), tl.xor_sum(x, axis=0))
    tl.store(any_ptr + tl.program_id(0), tl.reduce_or(x > 98, axis=0))


@triton.jit
def flip_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    both = tl.join(tl.flip(tl.load(x_ptr + at), 0), tl.load(y_ptr + at))
    tl.store(out_ptr + tl.arange(0, 2 * BLOCK), tl.ravel(both))


@triton.jit
def bincount_kernel(x_ptr, sum_ptr, largest_ptr, smallest_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.atomic_add(sum_ptr + x % 7, x, mask=at < n)
    tl.atomic_max(largest_ptr + x % 7, x, mask=at < n)
    tl.atomic_min(smallest_ptr + x % 7, x, mask=at < n)


@triton.jit
def flags_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.atomic_or(out_ptr + x % 7, 1 << (x % 31), mask=at < n)
    tl.atomic_xor(out_ptr + 7 + x % 7, x, mask=at < n)
    tl.atomic_and(out_ptr + 14 + x % 7, ~(1 << (x % 31)), mask=at < n)


@triton.jit
def locked_kernel(lock_ptr, total_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(total_ptr, tl.load(total_ptr, volatile=True) + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def split_sum_kernel(x_ptr, part_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float64)
    step = tl.num_programs(0) * BLOCK
    for begin in range(tl.program_id(0) * BLOCK, n, step):
        at = begin + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < n, other=0)
    tl.store(part_ptr + tl.program_id(0), tl.sum(total, axis=0))


def sums() -> Call:
    x, out = normal(HEIGHT, COLUMNS), blank(HEIGHT)
    return Call(
        lambda: sum_kernel[(HEIGHT,)](x, out, COLUMNS, BLOCK=256), (out,), lambda: (x.sum(1),)
    )


def extremes() -> Call:
    x = normal(HEIGHT, COLUMNS)
    outputs = (blank(HEIGHT), blank(HEIGHT, dtype=torch.int32), blank(HEIGHT))
    return Call(
        lambda: extremes_kernel[(HEIGHT,)](x, *outputs, COLUMNS, BLOCK=256),
        outputs,
        lambda: (x.amax(1), x.argmax(1).int(), x.amin(1)),
    )


def moments() -> Call:
    x, mean, variance = normal(HEIGHT, COLUMNS), blank(HEIGHT), blank(HEIGHT)
    return Call(
        lambda: moments_kernel[(HEIGHT,)](x, mean, variance, COLUMNS, BLOCK=256),
        (mean, variance),
        lambda: (x.mean(1), x.var(1, correction=0)),
    )


def softmax() -> Call:
    x = normal(HEIGHT, COLUMNS, dtype=torch.bfloat16)
    out = blank(HEIGHT, COLUMNS, dtype=torch.bfloat16)
    return Call(
        lambda: softmax_kernel[(HEIGHT,)](x, out, x.stride(0), COLUMNS, BLOCK=256, num_warps=8),
        (out,),
        lambda: (torch.softmax(x.float(), 1),),
    )


def layernorm() -> Call:
    x, weight, bias = normal(HEIGHT, COLUMNS), normal(COLUMNS), normal(COLUMNS)
    out = blank(HEIGHT, COLUMNS)
    return Call(
        lambda: layernorm_kernel[(HEIGHT,)](x, weight, bias, out, COLUMNS, 1e-5, BLOCK=256),
        (out,),
        lambda: (torch.nn.functional.layer_norm(x, (COLUMNS,), weight, bias),),
    )


def rmsnorm() -> Call:
    x = normal(HEIGHT, COLUMNS, dtype=torch.float16)
    weight, out = normal(COLUMNS), blank(HEIGHT, COLUMNS)
    return Call(
        lambda: rmsnorm_kernel[(HEIGHT,)](x, weight, out, COLUMNS, 1e-6, BLOCK=64, num_warps=2),
        (out,),
        lambda: (torch.nn.functional.rms_norm(x.float(), (COLUMNS,), weight, 1e-6),),
    )


def cross_entropy() -> Call:
    logits, loss = normal(HEIGHT, COLUMNS), blank(HEIGHT)
    labels = integers(HEIGHT, dtype=torch.int64, high=COLUMNS)
    labels[3] = -100
    return Call(
        lambda: cross_entropy_kernel[(HEIGHT,)](logits, labels, loss, COLUMNS, -100, BLOCK=256),
        (loss,),
        lambda: (torch.nn.functional.cross_entropy(logits, labels, reduction="none"),),
    )


def scan() -> Call:
    x = integers(HEIGHT, COLUMNS, dtype=torch.int64)
    sums, backwards = blank(*x.shape, dtype=torch.int64), blank(*x.shape, dtype=torch.int64)
    return Call(
        lambda: scan_kernel[(HEIGHT,)](x, sums, backwards, COLUMNS, BLOCK=256),
        (sums, backwards),
        lambda: (x.cumsum(1), x.flip(1).cumsum(1).flip(1)),
    )


def recurrence() -> Call:
    decay, values, out = normal(4, 128).sigmoid(), normal(4, 128), blank(4, 128)
    return Call(
        lambda: recurrence_kernel[(4,)](decay, values, out, BLOCK=128),
        (out,),
        lambda: (_recurrence(decay, values),),
    )


def _recurrence(decay, values):
    states = [values[:, 0]]
    for i in range(1, values.shape[1]):
        states.append(decay[:, i] * states[-1] + values[:, i])
    return torch.stack(states, 1)


def histogram() -> Call:
    x, out = integers(1000, high=32), zeros(32)
    return Call(
        lambda: histogram_kernel[blocks(1000, 256)](x, out, 1000, BLOCK=256, BINS=32),
        (out,),
        lambda: (torch.bincount(x, minlength=32).int(),),
    )


def sort() -> Call:
    x = integers(4, 64, dtype=torch.int16, low=-500, high=500)
    up, down = blank(4, 64, dtype=torch.int16), blank(4, 64, dtype=torch.int16)
    return Call(
        lambda: sort_kernel[(4,)](x, up, down, BLOCK=64, num_warps=1),
        (up, down),
        lambda: (x.sort(1).values, x.sort(1, descending=True).values),
    )


def largest() -> Call:
    x, out = normal(4, 64), blank(4, 8)
    return Call(
        lambda: largest_kernel[(4,)](x, out, BLOCK=64, K=8, num_warps=1),
        (out,),
        lambda: (x.topk(8, 1).values,),
    )


def gather() -> Call:
    x, index, out = normal(32, 16), integers(32, 16, high=32), blank(32, 16)
    return Call(
        lambda: gather_kernel[(1,)](x, index, out, HEIGHT=32, WIDTH=16),
        (out,),
        lambda: (x.gather(0, index.long()),),
    )


def embedding() -> Call:
    table, index = normal(50, 100, dtype=torch.float16), integers(20, high=50)
    out = blank(20, 100, dtype=torch.float16)
    return Call(
        lambda: embedding_kernel[(20,)](table, index, out, 100, BLOCK=128),
        (out,),
        lambda: (table[index.long()],),
    )


def parity() -> Call:
    x = integers(8, 64)
    out, any_ = blank(8, dtype=torch.int32), blank(8, dtype=torch.bool)
    return Call(
        lambda: parity_kernel[(8,)](x, out, any_, BLOCK=64),
        (out, any_),
        lambda: (_parity(x), (x > 98).any(1)),
    )


def _parity(x):
    total = torch.zeros_like(x[:, 0])
    for i in range(x.shape[1]):
        total = total ^ x[:, i]
    return total


def flip() -> Call:
    x, y, out = normal(64), normal(64), blank(128)
    return Call(
        lambda: flip_kernel[(1,)](x, y, out, BLOCK=64),
        (out,),
        lambda: (torch.stack((x.flip(0), y), 1).reshape(-1),),
    )


def bincount() -> Call:
    x, sums, largest, smallest = integers(1000), zeros(7), zeros(7), zeros(7) + 1000
    return Call(
        lambda: bincount_kernel[blocks(1000, 128)](x, sums, largest, smallest, 1000, BLOCK=128),
        (sums, largest, smallest),
        lambda: tuple(
            torch.stack([of(x[x % 7 == i]) for i in range(7)]).int()
            for of in (torch.sum, torch.amax, torch.amin)
        ),
    )


def flags() -> Call:
    x, out = integers(60, high=1000), zeros(21)
    out[14:] = -1
    return Call(
        lambda: flags_kernel[blocks(60, 32)](x, out, 60, BLOCK=32),
        (out,),
        lambda: (_flags(x.tolist(), out),),
    )


def _flags(values, like):
    found = [0] * 14 + [-1] * 7
    for value in values:
        found[value % 7] |= 1 << value % 31
        found[7 + value % 7] ^= value
        found[14 + value % 7] &= ~(1 << value % 31)
    return torch.tensor(found, device=like.device).int()


def locked() -> Call:
    lock, total = zeros(1), zeros(1)
    return Call(
        lambda: locked_kernel[(50,)](lock, total, num_warps=1),
        (lock, total),
        lambda: (zeros(1), zeros(1) + 49 * 25),
    )


def split_sum() -> Call:
    x, parts, out = normal(10_000), blank(4, dtype=torch.float64), blank(1, dtype=torch.float64)

    def launch():
        split_sum_kernel[(4,)](x, parts, x.numel(), BLOCK=512)
        split_sum_kernel[(1,)](parts, out, 4, BLOCK=512)

    return Call(
        launch,
        (parts, out),
        lambda: (_parts(x), x.double().sum().reshape(1)),
    )


def _parts(x):
    padded = torch.nn.functional.pad(x.double(), (0, -x.numel() % 2048))
    return padded.view(-1, 4, 512).sum((0, 2))


ROWS = (
    Row("sums", sums, within=1e-4),
    Row("extremes", extremes),
    Row("moments", moments, within=1e-4),
    Row("softmax", softmax, within=1e-2),
    Row("layernorm", layernorm, within=1e-4),
    Row("rmsnorm", rmsnorm, within=1e-4),
    Row("cross_entropy", cross_entropy),
    Row("scan", scan),
    Row("recurrence", recurrence, within=1e-4),
    Row("histogram", histogram),
    Row("sort", sort),
    Row("largest", largest),
    Row("gather", gather),
    Row("embedding", embedding),
    Row("parity", parity),
    Row("flip", flip),
    Row("bincount", bincount),
    Row("flags", flags),
    Row("locked", locked),
    Row("split_sum", split_sum),
)
