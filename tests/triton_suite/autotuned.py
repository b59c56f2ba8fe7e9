"""Kernels whose constants Triton chooses.

Which configuration is the fastest may differ from run to run, so all of a kernel's compute the
same bits.
"""

import functools

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.triton_suite.rows import Call, Row, blank, integers, normal, zeros

quickly = functools.partial(triton.testing.do_bench, warmup=1, rep=5)


@triton.autotune(
    [
        triton.Config({"BLOCK": 128}, num_warps=1),
        triton.Config({"BLOCK": 256}, num_warps=4, num_stages=2),
    ],
    key=["n"],
    do_bench=quickly,
)
@triton.jit
def scale_kernel(x_ptr, out_ptr, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * scale, mask=at < n)


@triton.heuristics(
    {
        "BLOCK": lambda arguments: triton.next_power_of_2(arguments["columns"]),
        "EVEN": lambda arguments: arguments["columns"] % 128 == 0,
        "num_warps": lambda arguments: 8 if arguments["columns"] > 512 else 2,
    }
)
@triton.jit
def centred_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    if EVEN:
        x = tl.load(x_ptr + row + at)
    else:
        x = tl.load(x_ptr + row + at, mask=at < columns, other=0)
    x -= tl.sum(x, axis=0) // columns
    tl.store(out_ptr + row + at, x, mask=at < columns)


@triton.autotune(
    [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 512})],
    key=["n"],
    reset_to_zero=["total_ptr"],
    do_bench=quickly,
)
@triton.heuristics({"WHOLE": lambda arguments: arguments["n"] % arguments["BLOCK"] == 0})
@triton.jit
def total_kernel(x_ptr, total_ptr, n, BLOCK: tl.constexpr, WHOLE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if WHOLE:
        x = tl.load(x_ptr + at)
    else:
        x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.atomic_add(total_ptr, tl.sum(x, axis=0))


@triton.autotune(
    [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128}, num_ctas=2)],
    key=[],
    restore_value=["x_ptr"],
    do_bench=quickly,
)
@triton.jit
def increment_kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)


def _tile(arguments) -> None:
    for name in ("source", "target"):
        arguments[name].block_shape = [arguments["SIZE"], 64]


@triton.autotune(
    [triton.Config({"SIZE": size}, pre_hook=_tile) for size in (16, 32)],
    key=["rows"],
    do_bench=quickly,
)
@triton.jit
def negative_kernel(source, target, rows, SIZE: tl.constexpr):
    for begin in range(tl.program_id(0) * SIZE, rows, SIZE * tl.num_programs(0)):
        target.store([begin, 0], -source.load([begin, 0]))


def _widest(configurations, arguments, **_):
    return [max(configurations, key=lambda configuration: configuration.kwargs["BLOCK"])]


@triton.autotune(
    [triton.Config({"BLOCK": block}) for block in (32, 64, 1024)],
    key=["n"],
    prune_configs_by={"early_config_prune": _widest},
    do_bench=quickly,
)
@triton.jit
def positions_kernel(out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, at * 10_000 + BLOCK, mask=at < n)


def scaled() -> Call:
    x, out = normal(1000), blank(1000)
    return Call(
        lambda: scale_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, out, 1000, 1.5),
        (out,),
        lambda: (x * 1.5,),
    )


def _centred(columns):
    def call() -> Call:
        x, out = integers(5, columns), blank(5, columns, dtype=torch.int32)
        return Call(
            lambda: centred_kernel[(5,)](x, out, columns),
            (out,),
            lambda: ((x - x.sum(1, keepdim=True) // columns).int(),),
        )

    return call


def total() -> Call:
    x, out = integers(1000), zeros(1)

    def launch():
        # Tuning leaves what it added.
        out.zero_()
        total_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, out, 1000)

    return Call(launch, (out,), lambda: (x.sum().int().reshape(1),))


def incremented() -> Call:
    x = integers(1000)
    expected = x + 1
    return Call(
        lambda: increment_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, 1000),
        (x,),
        lambda: (expected,),
    )


def negative() -> Call:
    x, out = normal(64, 64), blank(64, 64)
    source, target = (TensorDescriptor.from_tensor(tensor, [16, 64]) for tensor in (x, out))
    return Call(lambda: negative_kernel[(3,)](source, target, 64), (out,), lambda: (-x,))


def positions() -> Call:
    out = blank(1500, dtype=torch.int32)
    return Call(
        lambda: positions_kernel[lambda meta: (triton.cdiv(1500, meta["BLOCK"]),)](out, 1500),
        (out,),
        lambda: (torch.arange(1500, device=out.device, dtype=torch.int32) * 10_000 + 1024,),
    )


ROWS = (
    Row("scaled", scaled),
    Row("centred", _centred(200)),
    Row("centred_evenly", _centred(1024)),
    Row("total", total),
    Row("incremented", incremented),
    Row("negative", negative),
    Row("positions", positions),
)
