"""The images of one kernel: their order, what all of them share, and each one's part of the plan.

The launcher picks an image when it loads; arguments, slots and scratch memory are the same for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Final, NoReturn

from launchgen.abi import Slot, SlotRole, has_oversized_shared, is_hidden, slot_text, slots
from launchgen.architecture import Architecture
from launchgen.diagnostics import Diagnostic, UnsupportedError, UsageError
from launchgen.limits import MOST_PRINTED
from launchgen.metadata import LaunchMetadata
from launchgen.naming import PREFIX_INTERNAL, CIdentifier
from launchgen.records import PlanAttribute, PlanChoice, PlanImage, PlanScratch, PlanVariant
from launchgen.signature import Signature
from launchgen.sources import Variant
from launchgen.targets import Target

INLINE_BYTES: Final = 8 * 1024
"""Images up to this size are printed into the source; measured by ``benchmarks/embed.py``."""

SCRATCH: Final = {
    SlotRole.GLOBAL_SCRATCH: "global_scratch",
    SlotRole.PROFILE_SCRATCH: "profile_scratch",
}
"""Names of what hidden slots take, in the prototype and behind a prefix."""

_MOST_BYTES: Final = 2**64 - 1


def arrange(variants: tuple[Variant, ...]) -> tuple[Variant, ...]:
    """Return the variants best first: the first image that a device runs is the one it gets.

    Raises UsageError for images of which one would never be picked, or might be by mistake.
    """
    if len(variants) == 1:
        return variants
    named: dict[Architecture, Variant] = {}
    for variant in variants:
        image = variant.image
        if image is None:
            continue  # there are no others
        other = named.setdefault(image.architecture, variant)
        if other is not variant:
            names = f"{_file(other)} and {_file(variant)} are both"
            if _file(other) == _file(variant):
                names = f"two images of {_file(variant)} are"
            problem = f"{names} compiled for {image.architecture}"
            raise UsageError(Diagnostic(problem, hint="give one image for each architecture"))
    ranked = sorted(named, key=lambda each: each.rank, reverse=True)
    return tuple(named[architecture] for architecture in ranked)


def shared_slots(
    signature: Signature, variants: tuple[Variant, ...], *, target: Target
) -> tuple[tuple[Slot, ...], tuple[int, ...]]:
    """Return the slots that a launch passes, and how many of them each variant's kernel takes.

    Hidden slots are those of the release that has most: a kernel ignores what it does not take.

    Raises UnsupportedError where the kernels take an argument in different forms, and what
    :func:`launchgen.abi.slots` raises.
    """
    found = [slots(signature, variant.metadata, target=target) for variant in variants]
    for variant, listed in zip(variants, found, strict=True):
        for pair in zip_longest(_visible(found[0]), _visible(listed)):
            if pair[0] != pair[1]:
                _refuse_slots((variants[0], variant), pair)
    return max(found, key=len), tuple(map(len, found))


def _visible(listed: tuple[Slot, ...]) -> tuple[Slot, ...]:
    return tuple(slot for slot in listed if not is_hidden(slot))


def _refuse_slots(
    variants: tuple[Variant, Variant], differing: tuple[Slot | None, Slot | None]
) -> NoReturn:
    files = " and ".join(map(_file, variants))
    shown = " against ".join(
        "none" if slot is None else f"{slot_text(slot)} of {slot.size} bytes" for slot in differing
    )
    problem = f"{files} take different parameters: {shown}"
    hint = "emit one launcher for each, with names of their own"
    raise UnsupportedError(Diagnostic(problem, hint=hint))


def _file(variant: Variant) -> str:
    return "the kernel" if variant.image is None else variant.image.name


def plan_scratch(described: tuple[LaunchMetadata, ...]) -> Iterator[PlanScratch]:
    """Yield the scratch memory that any variant needs, of the size that suffices for each."""
    needs = {
        SlotRole.GLOBAL_SCRATCH: [(each.global_scratch, _blocks(each)) for each in described],
        SlotRole.PROFILE_SCRATCH: [(each.profile_scratch, _blocks(each)) for each in described],
    }
    for role, found in needs.items():
        needed = [(scratch, blocks) for scratch, blocks in found if scratch.size]
        if needed:
            yield PlanScratch(
                what=role.value,
                public=CIdentifier(SCRATCH[role]),
                slot=scratch_slot(role),
                size=min(max(each.size * blocks for each, blocks in needed), _MOST_BYTES),
                align=max(1, *(each.align for each, _ in needed)),
            )


def _blocks(metadata: LaunchMetadata) -> int:
    """Return the blocks of what the grid counts."""
    return metadata.cluster_size if metadata.grid_counts_clusters else 1


def scratch_slot(role: SlotRole) -> CIdentifier:
    """Return the name of a hidden slot's storage bits."""
    return CIdentifier(PREFIX_INTERNAL + SCRATCH[role])


def plan_variants(
    variants: tuple[Variant, ...],
    counts: tuple[int, ...],
    *,
    name: str,
    target: Target,
    standalone: bool,
) -> Iterator[PlanVariant]:
    """Yield each variant's part of the plan; ``counts`` are the slots that each takes."""
    for variant, count in zip(variants, counts, strict=True):
        metadata = variant.metadata
        architecture = _architecture(variant)
        suffix = f"_{architecture}" if len(variants) > 1 else ""
        # No launcher's name has a dot: the file cannot be the one of a launcher called NAME_sm_90.
        extension = f".{architecture}" if len(variants) > 1 else ""
        is_oversized = _is_oversized(metadata, target)
        attributes = tuple(_attributes(metadata, is_oversized=is_oversized))
        yield PlanVariant(
            architecture=architecture,
            suffix=suffix,
            image=_plan_image(variant, f"{name}{extension}", target, standalone=standalone),
            entry=metadata.entry or name,
            parameter_count=count,
            threads=metadata.threads,
            shared=metadata.shared,
            has_oversized_shared=is_oversized,
            cluster_x=metadata.cluster[0],
            cluster_y=metadata.cluster[1],
            cluster_z=metadata.cluster[2],
            cluster_size=metadata.cluster_size,
            grid_counts_clusters=metadata.grid_counts_clusters,
            attributes=attributes,
            attribute_count=len(attributes),
            has_attributes=bool(attributes),
        )


def _architecture(variant: Variant) -> str:
    image = variant.image
    return "" if image is None else str(image.architecture)


def _is_oversized(metadata: LaunchMetadata, target: Target) -> bool:
    is_large = metadata.shared > target.largest_shared
    return is_large and has_oversized_shared(metadata.triton_version)


def _attributes(metadata: LaunchMetadata, *, is_oversized: bool) -> Iterator[PlanAttribute]:
    """Yield the launch attributes in the order of Triton's own launcher."""
    if is_oversized:
        yield PlanAttribute(
            id_c="LG_ATTRIBUTE_SHARED_MEMORY_MODE", value_c="LG_SHARED_MEMORY_OVERSIZED"
        )
    if metadata.pdl:
        yield PlanAttribute(id_c="LG_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION", value_c="1")
    if metadata.cooperative:
        yield PlanAttribute(id_c="LG_ATTRIBUTE_COOPERATIVE", value_c="1")
    if metadata.cluster_size > 1:
        value = ", ".join(map(str, metadata.cluster))
        yield PlanAttribute(id_c="LG_ATTRIBUTE_CLUSTER_DIMENSION", value_c=value)
        yield PlanAttribute(id_c="LG_ATTRIBUTE_CLUSTER_POLICY", value_c="LG_CLUSTER_POLICY_SPREAD")
    if metadata.preferred_cluster is not None:
        value = ", ".join(map(str, metadata.preferred_cluster))
        yield PlanAttribute(id_c="LG_ATTRIBUTE_PREFERRED_CLUSTER", value_c=value)


def _plan_image(
    variant: Variant, name: str, target: Target, *, standalone: bool
) -> PlanImage | None:
    image = variant.image
    if image is None:
        return None
    size = len(image.data)
    if standalone and size > MOST_PRINTED:
        problem = f"{image.name} has {size:,} bytes, and '-o -' prints at most {MOST_PRINTED:,}"
        hint = "name a folder with --out: the image is then copied beside the source"
        raise UnsupportedError(Diagnostic(problem, hint=hint))
    is_text = image.architecture.is_virtual
    return PlanImage(
        file=f"{name}{target.text_suffix if is_text else target.image_suffix}",
        content=image.data,
        size=size,
        length=size + is_text,
        is_text=is_text,
        is_inline=standalone or size <= INLINE_BYTES,
    )


def plan_choices(variants: tuple[Variant, ...]) -> Iterator[PlanChoice]:
    """Yield which capabilities run which variant."""
    for index, variant in enumerate(variants):
        if variant.image is None:
            continue
        for first, last in variant.image.architecture.ranges:
            yield PlanChoice(variant=index, first=first, last=last or 0, has_last=last is not None)
