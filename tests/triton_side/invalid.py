"""Tensor maps that the encoder refuses with a bare "invalid value", each for one rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from tests.triton_side.cases import Im2col, Map, Tiled
from tests.triton_side.memory import DEVICE

HALVES: Final = Tiled(
    address=DEVICE,
    swizzle=0,
    elem_size=2,
    elem_type=6,
    block=(8, 64),
    shape=(64, 128),
    strides=(128, 1),
)
INTEGERS: Final = replace(HALVES, elem_type=1)
FP4: Final = Tiled(
    address=DEVICE,
    swizzle=0,
    elem_size=1,
    elem_type=14,
    block=(8, 128),
    shape=(64, 256),
    strides=(128, 1),
)
PIXELS: Final = Im2col(
    tensor=replace(HALVES, block=(64, 32), shape=(2, 8, 8, 64), strides=(4096, 512, 64, 1)),
    lower=(-1, -1),
    upper=(1, 1),
    element_strides=(1, 1, 1, 1),
)
VALID: Final[tuple[Map, ...]] = (HALVES, INTEGERS, FP4, PIXELS)


def _pixels(**changes: Any) -> Im2col:
    return replace(PIXELS, tensor=replace(PIXELS.tensor, **changes))


TILED: Final[tuple[tuple[str, Tiled], ...]] = (
    # What the words of a refusal have to match, and what it is about.
    ("base.*16", replace(HALVES, address=DEVICE + 8)),
    ("base.*32", replace(FP4, address=DEVICE + 16)),
    ("stride.*16", replace(HALVES, strides=(129, 1))),
    ("stride.*32", replace(FP4, strides=(144, 1))),
    ("stride", replace(HALVES, strides=(1 << 39, 1))),
    ("size|shape", replace(HALVES, shape=(0, 128))),
    ("size|shape", replace(HALVES, shape=((1 << 32) + 1, 128))),
    ("(size|shape).*128", replace(FP4, shape=(64, 192))),
    ("box|block", replace(HALVES, block=(0, 64))),
    ("box|block", replace(HALVES, block=(257, 64))),
    ("(box|block).*16", replace(HALVES, block=(8, 12))),
    ("(box|block).*128", replace(FP4, block=(8, 64))),
    ("swizzle", replace(HALVES, swizzle=1)),
    ("swizzle", replace(HALVES, swizzle=2, block=(8, 40))),
    ("swizzle", replace(HALVES, swizzle=3, block=(8, 72))),
    ("swizzle", replace(HALVES, swizzle=7)),
    ("type", replace(HALVES, elem_type=16)),
    ("shape has 3 elements, not 2", replace(HALVES, shape=(2, 64, 128))),
)
PADDED: Final[tuple[tuple[str, Tiled], ...]] = (
    # For releases whose functions are told how to fill what lies outside.
    ("nan|padding", replace(INTEGERS, padding=True)),
    ("nan|padding", replace(FP4, padding=True)),
)
IM2COL: Final[tuple[tuple[str, Im2col], ...]] = (
    ("base.*16", _pixels(address=DEVICE + 8)),
    ("stride", _pixels(strides=(4096, 512, 65, 1))),
    ("size|shape", _pixels(shape=(2, 0, 8, 64))),
    ("rank", replace(_pixels(shape=(8, 64), strides=(64, 1)), lower=(), upper=(),
                     element_strides=(1, 1))),
    ("pixel", _pixels(block=(1025, 32))),
    ("pixel", _pixels(block=(0, 32))),
    ("channel", _pixels(block=(64, 0))),
    ("channel", _pixels(block=(64, 264))),
    ("element.stride", replace(PIXELS, element_strides=(1, 9, 1, 1))),
    ("nan|padding", _pixels(elem_type=1, padding=True)),
)  # fmt: skip
"""Of releases with such maps."""

RANK_6: Final = replace(
    HALVES, block=(1,) * 5 + (64,), shape=(2,) * 5 + (64,), strides=(64,) * 5 + (1,)
)
"""Refused with "rank".  Triton is not asked: it has room for five of each, and writes a sixth."""
