"""The part of the plan for Meta's "Level 0" metadata, which its template prints."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from launchgen.literals import Value
from launchgen.triton_json import TensorDescriptorMeta

ABI_VERSION: Final = 1
"""The only one so far."""


class PlanLevel0Argument(Struct, frozen=True, kw_only=True):
    """One run-time argument in Meta's metadata."""

    name: str
    type: str
    is_divisible: bool
    """Whether it is divisible by 16."""
    index: int


class PlanLevel0Constant(Struct, frozen=True, kw_only=True):
    """One constant in Meta's metadata."""

    key: str
    """Index of the source argument."""
    value: Value


class PlanLevel0(Struct, frozen=True, kw_only=True):
    """The fields of Meta's "Level 0" metadata, in order.  Sizes are in bytes."""

    abi_version: int
    entry: str
    num_warps: int
    num_ctas: int
    shared: int
    cluster: tuple[int, int, int]
    preferred_cluster: tuple[int, int, int]
    """All zero: none is preferred."""
    is_cooperative: bool
    is_cluster: bool
    is_pdl: bool
    global_scratch_size: int
    global_scratch_align: int
    profile_scratch_size: int
    profile_scratch_align: int
    tmem_size: int
    arguments: tuple[PlanLevel0Argument, ...]
    constants: tuple[PlanLevel0Constant, ...]
    descriptors: tuple[TensorDescriptorMeta, ...]
