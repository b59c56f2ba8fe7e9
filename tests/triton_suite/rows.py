"""What a row of the suite is, and the tensors that rows are made of.

A row is a kernel with its arguments.  ``start`` makes the arguments, the same each time, so that
what two launchers wrote can be compared bit by bit; what they wrote is compared with what PyTorch
computes too, as two launchers may be wrong alike.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import torch
import triton

DEVICE: Final = "cuda"
SEED: Final = 20
UNWRITTEN: Final = 77
"""What outputs hold before a launch: any type can, and hardly any kernel computes it."""

FLOATS: Final = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS: Final = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Call(NamedTuple):
    """A kernel with arguments that are ready."""

    launch: Callable[[], object]
    outputs: tuple[Any, ...]
    """All that the launch writes."""
    expected: Callable[[], tuple[Any, ...]] | None = None
    """The same by PyTorch; None where only the launchers can be compared."""


class Row(NamedTuple):
    """One launch that must be the same whoever launches."""

    name: str
    call: Callable[[], Call]
    within: float = 1e-5
    """How far floating point numbers may be from PyTorch's; others are equal."""
    captured: bool = True
    """Whether a CUDA graph can hold it."""


def start(row: Row) -> Call:
    """Make the arguments of a row, the same each time."""
    torch.manual_seed(SEED)
    triton.set_allocator(scratch)
    return row.call()


def scratch(size: int, alignment: int, stream: int | None) -> Any:
    """Return memory for a kernel that asks Triton for some; PyTorch's is aligned to 512 bytes."""
    return torch.empty(size, device=DEVICE, dtype=torch.uint8)


def normal(*shape: int, dtype: Any = torch.float32) -> Any:
    """Return floating point numbers around 0."""
    return torch.randn(*shape, device=DEVICE).to(dtype)


def integers(*shape: int, dtype: Any = torch.int32, low: int = 0, high: int = 100) -> Any:
    """Return integers of ``[low, high)``."""
    return torch.randint(low, high, shape, device=DEVICE).to(dtype)


def numbers(*shape: int, dtype: Any) -> Any:
    """Return small integers as any type."""
    return integers(*shape, high=2 if dtype == torch.bool else 8).to(dtype)


def blank(*shape: int, dtype: Any = torch.float32) -> Any:
    """Return an output that nothing has been written to."""
    if dtype in FLOATS:
        return torch.full(shape, float(UNWRITTEN), device=DEVICE, dtype=dtype)
    # Not every operator knows fp8 and unsigned integers; a bool has no other bits than 0 and 1.
    fill = 1 if dtype == torch.bool else UNWRITTEN
    return torch.full(shape, fill, device=DEVICE, dtype=INTEGERS[dtype.itemsize]).view(dtype)


def zeros(*shape: int, dtype: Any = torch.int32) -> Any:
    """Return an output that a kernel adds to."""
    return torch.zeros(*shape, device=DEVICE, dtype=dtype)


def tensor(values: Any, dtype: Any) -> Any:
    """Return these values on the device."""
    return torch.tensor(values, device=DEVICE, dtype=dtype)


def blocks(n: int, size: int) -> tuple[int]:
    """Return a grid of as many blocks as ``n`` elements need."""
    return (-(-n // size),)
