"""Tensor descriptors to their part of the plan: what C calls them and how each becomes slots.

Numbers of types are the encoder's (``CUtensorMapDataType`` in ``cuda.h``); Triton's metadata has
the device's, which differ in three.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, NamedTuple

from launchgen.abi import (
    FLAGS,
    NAN_PADDING,
    ROUND_TF32,
    Slot,
    SlotRole,
    descriptor_flags,
    has_doubled_fp4,
)
from launchgen.descriptor_records import PlanDescriptor, PlanDescriptorType
from launchgen.diagnostics import Diagnostic, MetadataError, UnsupportedError
from launchgen.limits import MOST_RANK
from launchgen.metadata import LaunchMetadata
from launchgen.naming import CIdentifier
from launchgen.records import PlanParameter
from launchgen.signature import DescriptorType, Leaf, Signature, leaf_label, leaves
from launchgen.triton_json import TensorDescriptorMeta

_HOST_TYPES: Final = MappingProxyType({8: 10, 9: 8, 10: 9})
"""The encoder's numbers of types that the device counts in another order.

Source: triton/backends/nvidia/driver.py, 3.6.0, ``TMA_DTYPE_DEVICE_TO_HOST``.
"""
_FLOAT32: Final = 7
_FP4_PADDED: Final = 14
_TYPES: Final = range(16)
_INT: Final = range(2**31)
_UINT32: Final = range(2**32)
"""What C holds; whether a tensor map can be made with it is the runtime's to say."""
_EXAMPLE_LAST, _EXAMPLE_OTHER = 64, 4
"""Sizes that any element may have; a whole tensor of them fits the example's buffers."""
_WIDE: Final = 8
"""Bytes of a size as the caller gives it; the kernel takes it narrower too."""


def plan_descriptors(
    signature: Signature, described: tuple[LaunchMetadata, ...], *, name: str
) -> dict[tuple[int, ...], PlanDescriptor]:
    """Return the part of the plan of each leaf that is a descriptor, by the leaf's path.

    Raises MetadataError for a map that cannot be of its type, UnsupportedError for variants that
    take descriptors in different forms.
    """
    metadata = described[0]
    _refuse_different(described)
    found = [leaf for leaf in leaves(signature) if isinstance(leaf.argument.type, DescriptorType)]
    metas = metadata.tensor_descriptors or (None,) * len(found)
    return {
        leaf.path: _descriptor(_Source(signature, metadata, leaf, meta), name=name, index=index)
        for index, (leaf, meta) in enumerate(zip(found, metas, strict=True))
    }


def _refuse_different(described: tuple[LaunchMetadata, ...]) -> None:
    forms = {(each.tensor_descriptors, _features(each)) for each in described}
    if len(forms) > 1:
        problem = "the images take their tensor descriptors in different forms"
        hint = "emit one launcher for each, with names of their own"
        raise UnsupportedError(Diagnostic(problem, hint=hint))


def _features(metadata: LaunchMetadata) -> tuple[object, ...]:
    """Return what a release decides of descriptors; nothing where there are none to differ."""
    version = metadata.triton_version
    has_maps = bool(metadata.tensor_descriptors)
    return (descriptor_flags(version), has_doubled_fp4(version)) if has_maps else ()


class _Source(NamedTuple):
    """One descriptor, and all that tells of it."""

    signature: Signature
    metadata: LaunchMetadata
    leaf: Leaf
    meta: TensorDescriptorMeta | None


_NO_MAP: Final = TensorDescriptorMeta(swizzle=0, elem_size=0, elem_type=0, block_size=())


def _descriptor(source: _Source, *, name: str, index: int) -> PlanDescriptor:
    signature, metadata, leaf, meta = source
    type_ = leaf.argument.type
    assert isinstance(type_, DescriptorType)
    label = leaf_label(signature, leaf.path)
    flags = descriptor_flags(metadata.triton_version)
    problem = _problem(type_, meta) if meta else None
    if problem is not None:
        hint = "tensordesc_meta of the kernel's metadata says how its descriptors are filled"
        raise MetadataError(Diagnostic(problem, signature.source, leaf.argument.span, hint))
    entry = meta or _NO_MAP
    is_map = meta is not None
    host_type = _HOST_TYPES.get(entry.elem_type, entry.elem_type)
    box = (*reversed(entry.block_size), *(0,) * MOST_RANK)[:MOST_RANK]
    is_fp32 = not is_map or host_type == _FLOAT32
    kind = "im2col" if type_.im2col else "desc"
    return PlanDescriptor(
        index=index,
        who=f"{name}: argument {leaf.path[0]} '{label}' ({leaf.argument.declared})",
        type=_type(CIdentifier(f"{name}_{kind}_{type_.rank}"), type_),
        is_map=is_map,
        # The encoder fills with NaN for any release; without a map it takes a flag.
        takes_nan=is_map or NAN_PADDING in flags,
        takes_tf32=is_fp32 and ROUND_TF32 in flags,
        is_doubled=entry.fp4_padded and has_doubled_fp4(metadata.triton_version),
        host_type=host_type,
        element_bytes=entry.elem_size,
        swizzle=entry.swizzle,
        is_fp4=entry.fp4_padded,
        box=box,
    )


def _type(struct: CIdentifier, type_: DescriptorType) -> PlanDescriptorType:
    rank = type_.rank
    return PlanDescriptorType(
        struct=struct,
        rank=rank,
        is_im2col=type_.im2col,
        corners=type_.corners,
        example_shape=(*(_EXAMPLE_OTHER,) * (rank - 1), _EXAMPLE_LAST),
        example_strides=(
            *(_EXAMPLE_LAST * _EXAMPLE_OTHER**power for power in reversed(range(rank - 1))),
            1,
        ),
    )


def _problem(type_: DescriptorType, entry: TensorDescriptorMeta) -> str | None:
    """Return what of an entry cannot be of the type, None where all can."""
    size = type_.element.size
    if entry.elem_type not in _TYPES:
        return f"tensordesc_meta has element type {entry.elem_type} for {type_}, not 0 to 15"
    if entry.swizzle not in _INT:
        return f"tensordesc_meta has swizzle {entry.swizzle} for {type_}, not 0 to 3"
    if not all(each in _UINT32 for each in entry.block_size):
        sizes = ", ".join(map(str, entry.block_size))
        return f"tensordesc_meta has block sizes {sizes} for {type_}, not 1 to 256"
    if entry.fp4_padded is not (entry.elem_type == _FP4_PADDED):
        return f"tensordesc_meta has element type {entry.elem_type} for {type_}; padded fp4 is 14"
    if entry.elem_size != size:
        return f"tensordesc_meta has {entry.elem_size} bytes of an element for {type_}, not {size}"
    return None


def place_of(parameter: PlanParameter, slot: Slot) -> str:
    """Return the C expression of the bits of a slot that a descriptor has."""
    variable = parameter.slot
    match slot.role:
        case SlotRole.TENSOR_MAP:
            return f"{parameter.filled}.map"
        case SlotRole.BASE:
            return f"{variable}->base"
        case SlotRole.STRIDE:
            return f"{variable}->strides[{slot.part}]"
        case SlotRole.SHAPE if slot.size == _WIDE:
            return f"{variable}->shape[{slot.part}]"
        case SlotRole.SHAPE:
            return f"{parameter.filled}.shape[{slot.part}]"
        case SlotRole.FLAG:
            return f"{variable}->{FLAGS[slot.part]}"
        case SlotRole.ARGUMENT | SlotRole.GLOBAL_SCRATCH | SlotRole.PROFILE_SCRATCH:
            raise AssertionError(f"not of a descriptor: {slot}")
