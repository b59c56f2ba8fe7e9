"""Records of the plan for tensor descriptors, which ``records.py`` has in its own."""

from __future__ import annotations

from msgspec import Struct

from launchgen.naming import CIdentifier


class PlanDescriptorType(Struct, frozen=True, kw_only=True):
    """A struct of the C launcher's header, which a caller describes a tensor in."""

    struct: CIdentifier
    rank: int
    is_im2col: bool
    corners: int
    """Spatial dimensions of im2col."""
    example_shape: tuple[int, ...]
    """A small tensor, for the example program."""
    example_strides: tuple[int, ...]
    """Of the same tensor without gaps, in elements."""


class PlanDescriptor(Struct, frozen=True, kw_only=True):
    """How the kernel takes a tensor descriptor: its row in the table of the runtime's forms."""

    index: int
    who: str
    """Begins the text of a refusal: ``copy: argument 0 'src' (tensordesc<fp16[64, 64]>)``."""
    type: PlanDescriptorType
    is_map: bool
    """Whether the kernel takes a tensor map; else base, sizes and strides one by one."""
    takes_nan: bool
    takes_tf32: bool
    is_doubled: bool
    """Whether the kernel takes twice the last size, as the map of padded fp4 does."""
    host_type: int
    """The encoder's number of the element's type."""
    element_bytes: int
    swizzle: int
    is_fp4: bool
    box: tuple[int, ...]
    """Block sizes innermost first, zeros behind them."""
