"""Kernels of Gluon, which say themselves how data lies; its descriptors name a layout."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from tests.triton_suite.rows import Call, Row, blank, blocks, normal


@gluon.jit
def scale_kernel(x_ptr, out_ptr, n, scale, BLOCK: gl.constexpr, LAYOUT: gl.constexpr):
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LAYOUT)
    x = gl.load(x_ptr + at, mask=at < n)
    gl.store(out_ptr + at, x * scale, mask=at < n)


@gluon.jit
def copy_kernel(source, target, ROWS: gl.constexpr, COLUMNS: gl.constexpr):
    tile = gl.allocate_shared_memory(source.dtype, [ROWS, COLUMNS], source.layout)
    arrived = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(arrived, count=1)
    corner = [gl.program_id(0) * ROWS, gl.program_id(1) * COLUMNS]
    mbarrier.expect(arrived, source.block_type.nbytes)
    tma.async_copy_global_to_shared(source, corner, arrived, tile)
    mbarrier.wait(arrived, phase=0)
    mbarrier.invalidate(arrived)
    tma.async_copy_shared_to_global(target, corner, tile)
    tma.store_wait(pendings=0)


def scaled() -> Call:
    x, out = normal(1000), blank(1000)
    layout = gl.BlockedLayout([1], [32], [4], [0])
    return Call(
        lambda: scale_kernel[blocks(1000, 256)](x, out, 1000, 2.5, 256, layout, num_warps=4),
        (out,),
        lambda: (x * 2.5,),
    )


def copied() -> Call:
    source, target = normal(70, 128, dtype=torch.float16), blank(70, 128, dtype=torch.float16)
    layout = gl.NVMMASharedLayout.get_default_for([32, 64], gl.float16)
    descriptors = (
        TensorDescriptor.from_tensor(source, [32, 64], layout),
        TensorDescriptor.from_tensor(target, [32, 64], layout),
    )
    return Call(
        lambda: copy_kernel[(3, 2)](*descriptors, ROWS=32, COLUMNS=64, num_warps=1),
        (target,),
        lambda: (source,),
    )


ROWS = (
    Row("scaled", scaled),
    Row("copied", copied),
)
