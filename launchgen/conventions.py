"""What a Python launcher is made from where Triton calls it: another signature, no image.

Triton loads the kernel itself and says how it is launched with every call.  Its launcher objects
take a kernel's arguments as they are; they hand over to a function that takes descriptors apart
and scratch memory allocated, which is what the convention of that name stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

import msgspec.structs

from launchgen.abi import Slot, slots
from launchgen.artifacts import Convention
from launchgen.metadata import LaunchMetadata, Scratch
from launchgen.notation import Argument, Constant, DescriptorType, Signature, TupleType
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
    parts = [
        text
        for index, (name, argument) in enumerate(named)
        for text in _parts(argument, name, (index,), by_path, taken)
    ]
    return parse(", ".join(parts))


def _parts(
    argument: Argument,
    name: str,
    path: tuple[int, ...],
    by_path: dict[tuple[int, ...], tuple[Slot, ...]],
    taken: set[str],
) -> Iterator[str]:
    """Yield an argument as text: itself, or what stands for a descriptor."""
    if isinstance(argument.type, DescriptorType):
        yield from (f"{_free(slot, taken)}: {slot.type}" for slot in by_path[path])
    elif isinstance(argument.type, Constant):
        # Without a name a literal would be called after its place, which is another one now.
        yield f"{name}: {msgspec.structs.replace(argument.type, declared=True)}"
    else:
        yield f"{name}: {_text(argument, path, by_path)}"


def _text(
    argument: Argument, path: tuple[int, ...], by_path: dict[tuple[int, ...], tuple[Slot, ...]]
) -> str:
    if not isinstance(argument.type, TupleType):
        return argument.declared
    parts: list[str] = []
    for index, element in enumerate(argument.type.elements):
        here = (*path, index)
        if isinstance(element.type, DescriptorType):
            parts += [slot.type for slot in by_path[here]]
        else:
            parts.append(_text(element, here, by_path))
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _free(slot: Slot, taken: set[str]) -> str:
    """Return a name for a slot that no argument has: ``src_shape_0``."""
    name = slot.label.replace(".", "_").replace("[", "_").replace("]", "")
    while name in taken:
        name += "_"
    taken.add(name)
    return name
