"""Ways to launch: grids, warps, clusters, cooperative, dependent, streams, threads."""

import threading

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from tests.triton_suite.rows import DEVICE, Call, Row, blank, integers, normal, zeros


@triton.jit
def ids_kernel(out_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    width, height, depth = tl.num_programs(0), tl.num_programs(1), tl.num_programs(2)
    at = (z * height + y) * width + x
    tl.store(out_ptr + at, x + 1000 * y + 1_000_000 * z + depth)


@triton.jit
def fill_kernel(out_ptr, value, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), value)


def describe(grid, metadata, arguments):
    return {
        "name": f"described by {metadata.num_warps} warps",
        "grid": grid,
        "bytes": arguments["out_ptr"].nbytes,
    }


@triton.jit(launch_metadata=describe)
def described_kernel(out_ptr, value, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), value)


@triton.jit
def nothing_kernel():
    pass


@triton.jit
def warps_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.program_id(0), tl.sum(x, axis=0))


@triton.jit
def barrier_kernel(part_ptr, arrived_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    block, blocks = tl.program_id(0), tl.num_programs(0)
    tl.store(part_ptr + block * BLOCK + at, block + at)
    tl.debug_barrier()
    tl.atomic_add(arrived_ptr, 1)
    while tl.atomic_add(arrived_ptr, 0) < blocks:
        pass
    tl.debug_barrier()
    other = (block + 1) % blocks
    tl.store(out_ptr + block * BLOCK + at, tl.load(part_ptr + other * BLOCK + at, volatile=True))


@triton.jit
def first_kernel(x_ptr, part_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gdc_wait()
    gdc_launch_dependents()
    tl.store(part_ptr + at, tl.load(x_ptr + at) * 2)


@triton.jit
def second_kernel(part_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gdc_wait()
    tl.store(out_ptr + at, tl.load(part_ptr + at) + 1)


@triton.jit
def cluster_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * 3)


@triton.jit
def shared_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + i * SIZE + j)
    tl.store(out_ptr + i * SIZE + j, tl.cumsum(tl.trans(x), axis=1))


@triton.jit(debug=True)
def checked_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.device_assert(x < 100, "too large")
    tl.store(out_ptr + tl.arange(0, BLOCK), x)


@triton.jit
def accumulated_kernel(x_ptr, out_ptr, factor, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(out_ptr + at) * 3 + tl.load(x_ptr + at) * factor)


def _ids(grid):
    def call() -> Call:
        shape = (*grid, *[1] * (3 - len(grid)))
        out = blank(*reversed(shape), dtype=torch.int32)
        return Call(lambda: ids_kernel[grid](out, num_warps=1), (out,), lambda: (_all_ids(out),))

    return call


def _all_ids(out):
    z, y, x = (torch.arange(size, device=out.device, dtype=torch.int32) for size in out.shape)
    return x + 1000 * y[:, None] + 1_000_000 * z[:, None, None] + out.shape[0]


def empty_grids() -> Call:
    untouched, out = blank(64), blank(64)

    def launch():
        for grid in ((0,), (3, 0), (0, 2, 2), (2, 2, 0)):
            fill_kernel[grid](untouched, 5.0, BLOCK=64)
        # A graph with nothing in it would be warned of.
        fill_kernel[(1,)](out, 5.0, BLOCK=64)

    return Call(launch, (untouched, out), lambda: (blank(64), blank(64) * 0 + 5))


def computed_grid() -> Call:
    out = blank(256)
    return Call(
        lambda: fill_kernel[lambda meta: (256 // meta["BLOCK"],)](out, 2.5, BLOCK=32),
        (out,),
        lambda: (torch.full_like(out, 2.5),),
    )


def no_arguments() -> Call:
    out = blank(32)

    def launch():
        nothing_kernel[(4,)]()
        fill_kernel[(1,)](out, 1.0, BLOCK=32)

    return Call(launch, (out,), lambda: (torch.ones_like(out),))


def _warps(count):
    def call() -> Call:
        x, out = integers(3, 1024), blank(3, dtype=torch.int32)
        return Call(
            lambda: warps_kernel[(3,)](x, out, BLOCK=1024, num_warps=count),
            (out,),
            lambda: (x.sum(1).int(),),
        )

    return call


def cooperative() -> Call:
    parts, arrived, out = zeros(40, 64), zeros(1), zeros(40, 64)

    def launch():
        arrived.zero_()
        barrier_kernel[(40,)](parts, arrived, out, BLOCK=64, launch_cooperative_grid=True)

    def expected():
        whole = torch.arange(40, device=DEVICE)[:, None] + torch.arange(64, device=DEVICE)
        return (whole.int(), whole.roll(-1, 0).int())

    return Call(launch, (parts, out), expected)


def dependent() -> Call:
    x, parts, out = normal(4096), blank(4096), blank(4096)

    def launch():
        for _ in range(3):
            first_kernel[(32,)](x, parts, BLOCK=128, launch_pdl=True)
            second_kernel[(32,)](parts, out, BLOCK=128, launch_pdl=True)

    return Call(launch, (parts, out), lambda: (x * 2, x * 2 + 1))


def dependent_and_cooperative() -> Call:
    x, parts, out = normal(1024), blank(1024), blank(1024)

    def launch():
        first_kernel[(8,)](x, parts, BLOCK=128, launch_pdl=True)
        second_kernel[(8,)](parts, out, BLOCK=128, launch_pdl=True, launch_cooperative_grid=True)

    return Call(launch, (parts, out), lambda: (x * 2, x * 2 + 1))


def _cluster(count, **options):
    def call() -> Call:
        x, out = normal(3 * 2048), blank(3 * 2048)
        return Call(
            lambda: cluster_kernel[(3,)](x, out, BLOCK=2048, num_ctas=count, **options),
            (out,),
            lambda: (x * 3,),
        )

    return call


def shared_memory() -> Call:
    x, out = integers(128, 128), blank(128, 128, dtype=torch.int32)
    return Call(
        lambda: shared_kernel[(1,)](x, out, SIZE=128, num_warps=8),
        (out,),
        lambda: (x.t().cumsum(1).int(),),
    )


def assertion_that_holds() -> Call:
    x, out = integers(64), blank(64, dtype=torch.int32)
    return Call(lambda: checked_kernel[(1,)](x, out, BLOCK=64), (out,), lambda: (x,))


def other_stream() -> Call:
    x, parts, out = normal(4096), blank(4096), blank(4096)
    side = torch.cuda.Stream()

    def launch():
        current = torch.cuda.current_stream()
        side.wait_stream(current)
        with torch.cuda.stream(side):
            cluster_kernel[(2,)](x, parts, BLOCK=2048)
        current.wait_stream(side)
        cluster_kernel[(2,)](parts, out, BLOCK=2048)

    return Call(launch, (parts, out), lambda: (x * 3, x * 3 * 3))


def other_thread() -> Call:
    out = blank(64)

    def launch():
        thread = threading.Thread(target=lambda: fill_kernel[(1,)](out, 9.0, BLOCK=64))
        thread.start()
        thread.join()

    return Call(launch, (out,), lambda: (torch.full_like(out, 9.0),))


def compiled_before() -> Call:
    out = blank(128)

    def launch():
        kernel = fill_kernel.warmup(out, 4.5, BLOCK=64, grid=(2,))
        kernel[(2, 1, 1)](out, 4.5, 64)

    return Call(launch, (out,), lambda: (torch.full_like(out, 4.5),))


def through_run() -> Call:
    out = blank(128)
    return Call(
        lambda: fill_kernel.run(out, 3.5, BLOCK=64, grid=(2,), warmup=False),
        (out,),
        lambda: (torch.full_like(out, 3.5),),
    )


def many_launches() -> Call:
    x, out = integers(64), zeros(64)

    def launch():
        for factor in range(200):
            accumulated_kernel[(1,)](x, out, factor, BLOCK=64)

    return Call(launch, (out,), lambda: (_accumulated(x),))


def _accumulated(x):
    out = torch.zeros_like(x)
    for factor in range(200):
        out = out * 3 + x * factor
    return out


ROWS = (
    Row("one_dimension", _ids((70,))),
    Row("two_dimensions", _ids((5, 700))),
    Row("three_dimensions", _ids((7, 5, 3))),
    Row("high_grid", _ids((1, 3, 500))),
    Row("empty_grids", empty_grids),
    Row("computed_grid", computed_grid),
    Row("no_arguments", no_arguments),
    *(Row(f"warps_{count}", _warps(count)) for count in (1, 2, 8, 16, 32)),
    Row("cooperative", cooperative),
    Row("dependent", dependent),
    Row("cluster_of_2", _cluster(2)),
    Row("cluster_of_4", _cluster(4, num_warps=8)),
    Row("cluster_of_8", _cluster(8)),
    Row("cluster_of_16", _cluster(16)),
    Row("shared_memory", shared_memory),
    Row("assertion_that_holds", assertion_that_holds),
    Row("other_stream", other_stream),
    Row("other_thread", other_thread, captured=False),
    Row("compiled_before", compiled_before),
    Row("through_run", through_run),
    Row("many_launches", many_launches),
)

COMBINATIONS = (
    Row("dependent_and_cooperative", dependent_and_cooperative),
    Row("cluster_and_cooperative", _cluster(2, launch_cooperative_grid=True)),
    Row("cluster_and_dependent", _cluster(2, launch_pdl=True)),
    Row("all", _cluster(4, launch_cooperative_grid=True, launch_pdl=True)),
)
"""What a driver may refuse: then it refuses both launchers in the same words."""
