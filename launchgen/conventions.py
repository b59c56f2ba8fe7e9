"""What a Python launcher is made from where Triton calls it: another signature, no image.

Triton loads the kernel itself and says how it is launched with every call.  Its launcher objects
take a kernel's arguments as they are; they hand over to a function that takes descriptors apart
and scratch memory allocated, which is what the convention of that name stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Final

import msgspec.structs

from launchgen.abi import Slot, slots
from launchgen.artifacts import Convention
from launchgen.metadata import LaunchMetadata, Scratch
from launchgen.notation import (
    Argument,
    Constant,
    DescriptorType,
    Signature,
    TupleType,
    Type,
)
from launchgen.signature import parse
from launchgen.sources import KernelSource, Variant
from launchgen.targets import Target

_NO_SCRATCH: Final = Scratch(size=0, align=1)


def called_source(source: KernelSource, convention: Convention, *, target: Target) -> KernelSource:
    """Return what a launcher of one of Triton's conventions is made from."""
    metadata = source.variants[0].metadata
    signature = source.signature
    if convention.is_unwrapped:
        signature = _expanded(signature, metadata, target)
        metadata = msgspec.structs.replace(metadata, tensor_descriptors=())
    variant = Variant(metadata=_with_call(metadata), image=None)
    return msgspec.structs.replace(source, signature=signature, variants=(variant,))


def _with_call(metadata: LaunchMetadata) -> LaunchMetadata:
    """Return the metadata without what comes with a call."""
    return msgspec.structs.replace(
        metadata,
        num_warps=1,
        num_ctas=1,
        cluster=(1, 1, 1),
        grid_counts_clusters=True,
        preferred_cluster=None,
        shared=0,
        cooperative=False,
        pdl=False,
        global_scratch=_NO_SCRATCH,
        profile_scratch=_NO_SCRATCH,
    )


def _expanded(signature: Signature, metadata: LaunchMetadata, target: Target) -> Signature:
    """Return the signature with each descriptor replaced by an argument for each of its slots."""
    listed = slots(signature, metadata, target=target)
    by_path = {path: tuple(group) for path, group in groupby(listed, key=lambda slot: slot.path)}
    taken = set(signature.names)
    named = zip(signature.names, signature.arguments, strict=True)
    parts = (
        part
        for index, (name, argument) in enumerate(named)
        for part in _parts(argument, name, (index,), by_path, taken)
    )
    return Signature(tuple(parts))


def _parts(
    argument: Argument,
    name: str,
    path: tuple[int, ...],
    by_path: dict[tuple[int, ...], tuple[Slot, ...]],
    taken: set[str],
) -> Iterator[Argument]:
    """Yield an argument under its name: itself, or what stands for a descriptor."""
    type_ = argument.type
    if isinstance(type_, DescriptorType):
        for slot in by_path[path]:
            yield Argument(_slot_type(slot.type), name=_free(slot, taken))
    elif isinstance(type_, Constant):
        # Without a name a literal would be called after its place, which is another one now.
        yield Argument(msgspec.structs.replace(type_, declared=True), name=name)
    else:
        yield Argument(_taken_apart(type_, path, by_path), argument.hint, name)


def _taken_apart(
    type_: Type, path: tuple[int, ...], by_path: dict[tuple[int, ...], tuple[Slot, ...]]
) -> Type:
    if not isinstance(type_, TupleType):
        return type_
    parts: list[Argument] = []
    for index, element in enumerate(type_.elements):
        here = (*path, index)
        if isinstance(element.type, DescriptorType):
            parts += [Argument(_slot_type(slot.type)) for slot in by_path[here]]
        else:
            parts.append(Argument(_taken_apart(element.type, here, by_path), element.hint))
    return TupleType(tuple(parts))


@cache
def _slot_type(text: str) -> Type:
    return parse(text).arguments[0].type


def _free(slot: Slot, taken: set[str]) -> str:
    """Return a name for a slot that no argument has: ``src_shape_0``."""
    name = slot.label.replace(".", "_").replace("[", "_").replace("]", "")
    while name in taken:
        name += "_"
    taken.add(name)
    return name
