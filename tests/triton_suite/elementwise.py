"""Kernels that compute each element by itself, and tensors of every type and shape."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from tests.triton_suite.rows import (
    DEVICE,
    Call,
    Row,
    blank,
    blocks,
    integers,
    normal,
    numbers,
    tensor,
)

N = 1000
BLOCK = 256


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + y, mask=at < n)


@triton.jit
def widened_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(WIDE)
    y = tl.load(y_ptr + at, mask=at < n).to(WIDE)
    tl.store(out_ptr + at, (x * 2 + y).to(out_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def logic_kernel(x_ptr, y_ptr, both_ptr, either_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.int1)
    y = tl.load(y_ptr + at, mask=at < n, other=0).to(tl.int1)
    tl.store(both_ptr + at, x & y, mask=at < n)
    tl.store(either_ptr + at, x ^ y, mask=at < n)


@triton.jit
def gelu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, 0.5 * x * (1 + tl.erf(x * 0.7071067811865476)), mask=at < n)


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(gate_ptr + at, mask=at < n).to(tl.float32)
    up = tl.load(up_ptr + at, mask=at < n).to(tl.float32)
    tl.store(out_ptr + at, gate * tl.sigmoid(gate) * up, mask=at < n)


@triton.jit
def mathematics_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.exp(-x * x) + tl.log(1 + tl.abs(x)) + tl.sqrt(tl.abs(x)) + tl.sin(x) * tl.cos(x)
    tl.store(out_ptr + at, y, mask=at < n)


@triton.jit
def library_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, libdevice.tanh(x) + libdevice.atan2(x, 2.0), mask=at < n)


@triton.jit
def choice_kernel(x_ptr, y_ptr, out_ptr, n, low, high, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, tl.where(x > y, tl.clamp(x, low, high), -y), mask=at < n)


@triton.jit
def bits_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, ((x << 3) ^ (y >> 1)) | (x & ~y), mask=at < n)


@triton.jit
def division_kernel(x_ptr, y_ptr, quotient_ptr, rest_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n, other=1)
    tl.store(quotient_ptr + at, x // y, mask=at < n)
    tl.store(rest_ptr + at, x % y, mask=at < n)


@triton.jit
def assembly_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    reversed_ = tl.inline_asm_elementwise(
        "brev.b32 $0, $1;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out_ptr + at, reversed_, mask=at < n)


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    kept = tl.rand(seed, at) > p
    tl.store(out_ptr + at, tl.where(kept, x / (1 - p), 0.0), mask=at < n)


@triton.jit
def strided_kernel(x_ptr, out_ptr, rows, columns, row, column, out_row, out_column):
    x_at = tl.arange(0, 32)[:, None]
    y_at = tl.arange(0, 64)[None, :]
    mask = (x_at < rows) & (y_at < columns)
    x = tl.load(x_ptr + x_at * row + y_at * column, mask=mask)
    tl.store(out_ptr + x_at * out_row + y_at * out_column, x + 1, mask=mask)


@triton.jit
def transpose_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    across, down = tl.program_id(0) * SIZE, tl.program_id(1) * SIZE
    width, height = tl.num_programs(0) * SIZE, tl.num_programs(1) * SIZE
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + (down + i) * width + across + j)
    tl.store(out_ptr + (across + i) * height + down + j, tl.trans(x))


@triton.jit
def rotate_pairs_kernel(x_ptr, angle_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    pair = tl.program_id(0) * (BLOCK // 2) + tl.arange(0, BLOCK // 2)
    x = tl.load(x_ptr + at, mask=at < n)
    angle = tl.load(angle_ptr + pair, mask=pair < n // 2)
    a, b = tl.split(tl.reshape(x, (BLOCK // 2, 2)))
    cos, sin = tl.cos(angle), tl.sin(angle)
    tl.store(out_ptr + at, tl.interleave(a * cos - b * sin, a * sin + b * cos), mask=at < n)


@triton.jit
def square(x):
    return x * x


@triton.jit(noinline=True)
def cube(x):
    return x * x * x


@triton.jit
def applied_kernel(x_ptr, out_ptr, n, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, FUNCTION(x) + cube(n), mask=at < n)


@triton.jit
def polynomial_kernel(x_ptr, coefficients_ptr, out_ptr, n, DEGREE: tl.constexpr):
    at = tl.program_id(0) * 256 + tl.arange(0, 256)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.zeros((256,), tl.float32)
    for i in tl.static_range(DEGREE + 1):
        y = y * x + tl.load(coefficients_ptr + i)
    tl.store(out_ptr + at, y, mask=at < n)


@triton.jit
def collatz_kernel(out_ptr, start):
    n = start + tl.program_id(0)
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    tl.store(out_ptr + tl.program_id(0), steps)


@triton.jit
def sum_of_scalars_kernel(x_ptr, y_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr) + tl.load(y_ptr))


@triton.jit
def read_only_kernel(x_ptr: tl.const, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 3, mask=at < n)


@triton.jit
def block_pointer_kernel(x_ptr, out_ptr, rows, columns, SIZE: tl.constexpr):
    corner = (tl.program_id(0) * SIZE, tl.program_id(1) * SIZE)
    source = tl.make_block_ptr(
        x_ptr, (rows, columns), (columns, 1), corner, (SIZE, SIZE), order=(1, 0)
    )
    target = tl.make_block_ptr(
        out_ptr, (rows, columns), (columns, 1), corner, (SIZE, SIZE), order=(1, 0)
    )
    x = tl.load(source, boundary_check=(0, 1), padding_option="zero")
    tl.store(target, x * 2, boundary_check=(0, 1))


@triton.constexpr_function
def halvings(size):
    return size.bit_length() - 1


@triton.jit
def doubled_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    for _ in tl.static_range(halvings(BLOCK)):
        x += x
    tl.store(out_ptr + tl.arange(0, BLOCK), x)


class Held:
    """Whatever has an address and a type passes for a tensor."""

    def __init__(self, held: torch.Tensor) -> None:
        self.held = held
        self.dtype = held.dtype

    def data_ptr(self) -> int:
        return int(self.held.data_ptr())


def add() -> Call:
    return _add(normal(N), normal(N))


def unaligned() -> Call:
    return _add(normal(N + 1)[1:], normal(N + 3)[3:])


def special_values() -> Call:
    values = tensor([float("nan"), float("inf"), -float("inf"), -0.0, 1e-45, 3e38], torch.float32)
    return _add(values.repeat(6), values.repeat_interleave(6))


def pinned_memory() -> Call:
    x = torch.arange(N, dtype=torch.float32).pin_memory()
    y = normal(N)
    out = blank(N)
    return Call(
        lambda: add_kernel[blocks(N, BLOCK)](x, y, out, N, BLOCK),
        (out,),
        lambda: (x.to(DEVICE) + y,),
    )


def no_elements() -> Call:
    empty, untouched, x, out = normal(0), blank(4), normal(4), blank(4)

    def launch():
        add_kernel[(1,)](empty, empty, untouched, 0, BLOCK)
        add_kernel[(1,)](x, x, out, 4, BLOCK)

    return Call(launch, (untouched, empty, out), lambda: (blank(4), empty, x + x))


def _add(x, y) -> Call:
    n = x.numel()
    out = blank(n)
    return Call(
        lambda: add_kernel[blocks(n, BLOCK)](x, y, out, n, BLOCK=BLOCK),
        (out,),
        lambda: (x + y,),
    )


def _of_type(dtype, wide):
    def call() -> Call:
        x, y, out = numbers(N, dtype=dtype), numbers(N, dtype=dtype), blank(N, dtype=dtype)
        return Call(
            lambda: widened_kernel[blocks(N, BLOCK)](x, y, out, N, BLOCK, wide),
            (out,),
            lambda: ((x.double() * 2 + y.double()).to(dtype),),
        )

    return call


def other_objects() -> Call:
    x, y, out = normal(N), torch.nn.Parameter(normal(N)), blank(N)
    return Call(
        lambda: add_kernel[blocks(N, BLOCK)](Held(x), y, Held(out), N, BLOCK),
        (out,),
        lambda: (x + y,),
    )


def reinterpreted() -> Call:
    x, y = numbers(N, dtype=torch.float8_e5m2), numbers(N, dtype=torch.float8_e5m2)
    out = blank(N)
    as_bytes = [triton.reinterpret(tensor.view(torch.uint8), tl.float8e5) for tensor in (x, y)]
    return Call(
        lambda: widened_kernel[blocks(N, BLOCK)](*as_bytes, out, N, BLOCK, tl.float32),
        (out,),
        lambda: (x.float() * 2 + y.float(),),
    )


def doubled() -> Call:
    x, out = normal(64), blank(64)
    return Call(lambda: doubled_kernel[(1,)](x, out, BLOCK=64), (out,), lambda: (x * 64,))


def logic() -> Call:
    x, y = numbers(N, dtype=torch.bool), numbers(N, dtype=torch.bool)
    both, either = blank(N, dtype=torch.bool), blank(N, dtype=torch.bool)
    return Call(
        lambda: logic_kernel[blocks(N, BLOCK)](x, y, both, either, N, BLOCK),
        (both, either),
        lambda: (x & y, x ^ y),
    )


def gelu() -> Call:
    x, out = normal(N), blank(N)
    return Call(
        lambda: gelu_kernel[blocks(N, BLOCK)](x, out, N, BLOCK),
        (out,),
        lambda: (torch.nn.functional.gelu(x),),
    )


def swiglu() -> Call:
    gate, up = normal(N, dtype=torch.float16), normal(N, dtype=torch.bfloat16)
    out = blank(N)
    return Call(
        lambda: swiglu_kernel[blocks(N, BLOCK)](gate, up, out, N, BLOCK),
        (out,),
        lambda: (torch.nn.functional.silu(gate.float()) * up.float(),),
    )


def mathematics() -> Call:
    x, out = normal(N), blank(N)
    return Call(
        lambda: mathematics_kernel[blocks(N, BLOCK)](x, out, N, BLOCK),
        (out,),
        lambda: (torch.exp(-x * x) + torch.log1p(x.abs()) + x.abs().sqrt() + x.sin() * x.cos(),),
    )


def library() -> Call:
    x, out = normal(N), blank(N)
    return Call(
        lambda: library_kernel[blocks(N, BLOCK)](x, out, N, BLOCK),
        (out,),
        lambda: (x.tanh() + torch.atan2(x, torch.full_like(x, 2.0)),),
    )


def choice() -> Call:
    x, y, out = normal(N), normal(N), blank(N)
    return Call(
        lambda: choice_kernel[blocks(N, BLOCK)](x, y, out, N, -0.25, 0.5, BLOCK),
        (out,),
        lambda: (torch.where(x > y, x.clamp(-0.25, 0.5), -y),),
    )


def bits() -> Call:
    x, y = integers(N, high=2**20), integers(N, high=2**20)
    out = blank(N, dtype=torch.int32)
    return Call(
        lambda: bits_kernel[blocks(N, BLOCK)](x, y, out, N, BLOCK),
        (out,),
        lambda: (((x << 3) ^ (y >> 1)) | (x & ~y),),
    )


def division() -> Call:
    x, y = integers(N, low=-1000, high=1000), integers(N, low=1, high=50)
    quotient, rest = blank(N, dtype=torch.int32), blank(N, dtype=torch.int32)
    return Call(
        lambda: division_kernel[blocks(N, BLOCK)](x, y, quotient, rest, N, BLOCK),
        (quotient, rest),
        # As C does: towards zero.
        lambda: (torch.div(x, y, rounding_mode="trunc"), torch.fmod(x, y)),
    )


def assembly() -> Call:
    x, out = integers(N, high=2**30), blank(N, dtype=torch.int32)
    return Call(
        lambda: assembly_kernel[blocks(N, BLOCK)](x, out, N, BLOCK),
        (out,),
        lambda: (_reversed_bits(x),),
    )


def _reversed_bits(x):
    wide = x.long()
    flipped = sum(((wide >> i) & 1) << (31 - i) for i in range(32))
    return torch.where(flipped >= 2**31, flipped - 2**32, flipped).int()


def dropout() -> Call:
    x, out = normal(N), blank(N)
    return Call(
        lambda: dropout_kernel[blocks(N, BLOCK)](x, out, N, 0.4, 1234, BLOCK),
        (out,),
        # Which elements are kept is Triton's to say.
        lambda: (torch.where(out != 0, x / 0.6, 0.0),),
    )


def strided() -> Call:
    x = normal(50, 60).t()[1::2, :40:2]
    base = blank(20, 90)
    out = base[:, ::3].t()[: x.shape[0], : x.shape[1]]
    return Call(
        lambda: strided_kernel[(1,)](x, out, *x.shape, *x.stride(), *out.stride()),
        (base,),
        lambda: (_written(base, x + 1),),
    )


def _written(base, values):
    expected = torch.full_like(base, 77)
    expected[:, ::3].t()[: values.shape[0], : values.shape[1]] = values
    return expected


def transpose() -> Call:
    x, out = integers(64, 96, dtype=torch.int16), blank(96, 64, dtype=torch.int16)
    return Call(lambda: transpose_kernel[(3, 2)](x, out, SIZE=32), (out,), lambda: (x.t(),))


def rotate_pairs() -> Call:
    x, angle, out = normal(N), normal(N // 2), blank(N)
    return Call(
        lambda: rotate_pairs_kernel[blocks(N, BLOCK)](x, angle, out, N, BLOCK),
        (out,),
        lambda: (_rotated(x, angle),),
    )


def _rotated(x, angle):
    turned = torch.view_as_complex(x.view(-1, 2)) * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).reshape(-1)


def applied() -> Call:
    x, out = normal(64), blank(64)
    return Call(
        lambda: applied_kernel[(1,)](x, out, 64, square, 64),
        (out,),
        lambda: (x * x + 64**3,),
    )


def polynomial() -> Call:
    x, coefficients, out = normal(N), normal(5), blank(N)
    return Call(
        lambda: polynomial_kernel[blocks(N, 256)](x, coefficients, out, N, DEGREE=4),
        (out,),
        lambda: (_horner(x, coefficients),),
    )


def _horner(x, coefficients):
    y = torch.zeros_like(x)
    for i in range(coefficients.numel()):
        y = y * x + coefficients[i]
    return y


def collatz() -> Call:
    out = blank(27, dtype=torch.int32)
    return Call(
        lambda: collatz_kernel[(27,)](out, 2),
        (out,),
        lambda: (tensor([_collatz(n) for n in range(2, 29)], torch.int32),),
    )


def _collatz(n: int) -> int:
    steps = 0
    while n > 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def zero_dimensions() -> Call:
    x, y, out = tensor(1.5, torch.float32), tensor(2, torch.int64), blank()
    return Call(lambda: sum_of_scalars_kernel[(1,)](x, y, out), (out,), lambda: (x + y,))


def read_only() -> Call:
    x, out = normal(N), blank(N)
    return Call(
        lambda: read_only_kernel[blocks(N, BLOCK)](x, out, N, BLOCK), (out,), lambda: (x * 3,)
    )


def block_pointers() -> Call:
    x, out = normal(50, 70), blank(50, 70)
    return Call(
        lambda: block_pointer_kernel[(2, 3)](x, out, 50, 70, SIZE=32), (out,), lambda: (x * 2,)
    )


TYPES = (
    (torch.float8_e4m3fn, tl.float32),
    (torch.float8_e5m2, tl.float32),
    (torch.float16, tl.float16),
    (torch.bfloat16, tl.float32),
    (torch.float32, tl.float32),
    (torch.float64, tl.float64),
    (torch.int8, tl.int8),
    (torch.int16, tl.int16),
    (torch.int32, tl.int32),
    (torch.int64, tl.int64),
    (torch.uint8, tl.uint8),
    (torch.uint16, tl.uint16),
    (torch.uint32, tl.uint32),
    (torch.uint64, tl.uint64),
)

ROWS = (
    Row("add", add),
    Row("unaligned", unaligned),
    Row("special_values", special_values),
    Row("pinned_memory", pinned_memory),
    Row("no_elements", no_elements),
    *(Row(f"{dtype}".removeprefix("torch."), _of_type(dtype, wide)) for dtype, wide in TYPES),
    Row("other_objects", other_objects),
    Row("reinterpreted", reinterpreted),
    Row("doubled", doubled),
    Row("logic", logic),
    Row("gelu", gelu),
    Row("swiglu", swiglu),
    Row("mathematics", mathematics, within=1e-4),
    Row("library", library),
    Row("choice", choice),
    Row("bits", bits),
    Row("division", division),
    Row("assembly", assembly),
    Row("dropout", dropout),
    Row("strided", strided),
    Row("transpose", transpose),
    Row("rotate_pairs", rotate_pairs, within=1e-4),
    Row("applied", applied),
    Row("polynomial", polynomial, within=1e-4),
    Row("collatz", collatz),
    Row("zero_dimensions", zero_dimensions),
    Row("read_only", read_only),
    Row("block_pointers", block_pointers),
)
