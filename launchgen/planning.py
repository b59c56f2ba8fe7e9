"""KernelSource to LaunchPlan: every decision about the output is made here, none in a template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec.structs

from launchgen.abi import Slot, slot_text
from launchgen.artifacts import DIRECT, Convention
from launchgen.calling import as_called
from launchgen.conventions import called_source
from launchgen.descriptor_records import PlanDescriptor
from launchgen.descriptors import place_of, plan_descriptors
from launchgen.example import example_call, example_grid
from launchgen.fragments import resolve
from launchgen.level0_plan import plan_level0
from launchgen.naming import FUNCTION, GRID_AXES, STREAM, CIdentifier
from launchgen.parameters import c_parameters
from launchgen.provenance import make_banner
from launchgen.pyplan import plan_python
from launchgen.records import (
    Banner,
    LaunchPlan,
    PlanDeclaration,
    PlanLimits,
    PlanParameter,
    PlanPython,
    PlanScratch,
    PlanSlot,
    PlanVariant,
)
from launchgen.scalars import Scalar
from launchgen.signature import ScalarType, Signature, leaves, unhinted_pointers
from launchgen.sources import KernelSource
from launchgen.targets import Target
from launchgen.variants import (
    SCRATCH,
    arrange,
    plan_choices,
    plan_scratch,
    plan_variants,
    scratch_slot,
    shared_slots,
)

_SCRATCH_CHECK: Final = ("scratch",)
_CORE: Final = ("prologue", "error", "kernel", "context", "place", "launch")


def make_plan(  # noqa: PLR0913 - one for each option that is a decision of the whole
    source: KernelSource,
    *,
    target: Target,
    command: str,
    version: str | None = None,
    standalone: bool = False,
    convention: Convention = DIRECT,
) -> LaunchPlan:
    """Decide everything about one launcher.

    ``command`` is the line that makes the output again, for the banner; ``version`` stands there
    where it is not None.  A ``standalone`` source includes no other file.  ``convention`` is how
    Python calls the launcher.

    Raises UnsupportedError for images that no single launcher can be made for, and what
    :func:`launchgen.abi.slots` and :func:`launchgen.descriptors.plan_descriptors` raise.
    """
    banner = make_banner(source, target, command=command, version=version)
    plan = _plan(source, DIRECT, target=target, banner=banner, standalone=standalone)
    if convention is DIRECT:
        return plan
    called = called_source(source, convention, target=target)
    return msgspec.structs.replace(
        plan,
        called=_plan(called, convention, target=target, banner=banner, standalone=standalone),
    )


def _plan(
    source: KernelSource,
    convention: Convention,
    *,
    target: Target,
    banner: Banner,
    standalone: bool,
) -> LaunchPlan:
    signature, ranked = source.signature, arrange(source.variants)
    kernel_slots, counts = shared_slots(signature, ranked, target=target)
    described = tuple(variant.metadata for variant in ranked)
    has_image = ranked[0].image is not None
    variants = tuple(
        plan_variants(ranked, counts, name=source.name, target=target, standalone=standalone)
    )
    choices = tuple(plan_choices(ranked))
    images = tuple(variant.architecture for variant in variants if variant.architecture)
    scratch = tuple(plan_scratch(described))
    called = as_called(convention, kernel_slots, name=source.name)
    null_slots = tuple(_null_slots(kernel_slots, scratch))
    own = _own_parameters(has_image)
    public = (*own, *(_own("void *", part.public) for part in scratch))
    described_tensors = plan_descriptors(signature, described, name=source.name)
    descriptors = tuple(described_tensors.values())
    by_path = c_parameters(
        signature,
        kernel_slots,
        own=(*(p.name for p in public), *(each.type.struct for each in descriptors)),
        descriptors=described_tensors,
    )
    parameters = tuple(by_path.values())
    python = plan_python(
        signature,
        described[0],
        parameters,
        scratch=scratch,
        images=images if has_image else None,
        called=called,
    )
    has_hints = any(p.is_divisible or p.is_one for p in parameters)
    unhinted = unhinted_pointers(signature)
    example = tuple(example_call(own, scratch, parameters))
    example_x, example_y, example_z = example_grid(described)
    has_call = convention.brings_metadata
    loading = _loading_fragments(variants, target, has_image=has_image, has_call=has_call)
    core = (
        *_core_fragments(signature, target, has_hints=has_hints),
        *loading,
        *_descriptor_fragments(descriptors),
    )
    return LaunchPlan(
        name=source.name,
        guard=CIdentifier(f"LAUNCHGEN_{source.name}_H"),
        banner=banner,
        limits=_plan_limits(target),
        variants=variants,
        variant_count=len(variants),
        best=variants[0],
        is_several=len(variants) > 1,
        choices=choices,
        choice_count=len(choices),
        architectures=", ".join(images),
        counts_alike=len({(v.grid_counts_clusters, v.cluster_size) for v in variants}) == 1,
        has_copies=any(v.image is not None and not v.image.is_inline for v in variants),
        has_image=has_image,
        takes_function=not has_image,
        is_standalone=standalone,
        prototype=(*public, *(_declared(p.public_c, p.public, p) for p in parameters)),
        definition=(*public, *(_declared(p.public_c, p.argument, p) for p in parameters)),
        core=(
            *(_own_of_a_call(null_slots) if has_call else own),
            *(_own("uint64_t ", part.slot) for part in scratch),
            *(_declared(p.slot_c, p.slot, p) for p in parameters),
        ),
        parameters=parameters,
        descriptors=descriptors,
        has_descriptors=bool(descriptors),
        descriptor_types=tuple(dict.fromkeys(each.type for each in descriptors)),
        scratch=scratch,
        has_scratch=bool(scratch),
        null_slots=null_slots,
        has_null_slots=bool(null_slots),
        slots=tuple(_plan_slots(kernel_slots, by_path)),
        has_slots=bool(kernel_slots),
        uses_memcpy=any(p.rounds or p.is_descriptor for p in parameters),
        example=example,
        example_x=example_x,
        example_y=example_y,
        example_z=example_z,
        uses_buffers=bool(descriptors) or any(e.is_buffer or e.is_scratch for e in example),
        unhinted=unhinted,
        has_unhinted=bool(unhinted),
        fragments=resolve((*core, *_SCRATCH_CHECK) if scratch else core),
        python_fragments=resolve(
            (
                *core,
                *convention.fragments,
                *(convention.scratch_fragments if null_slots else ()),
                *_python_fragments(signature, parameters, python),
            )
        ),
        python=python,
        called=None,
        level0=plan_level0(source.name, signature, described[0]),
    )


def _own_parameters(has_image: bool) -> tuple[PlanDeclaration, ...]:
    """Return the C launcher's own parameters, which stand before the kernel's."""
    function = () if has_image else (_own("void *", FUNCTION),)
    grid = (_own("uint32_t ", name) for name in GRID_AXES)
    return (*function, _own("void *", STREAM), *grid)


def _own_of_a_call(hidden: tuple[CIdentifier, ...]) -> tuple[PlanDeclaration, ...]:
    """Return what a launch takes besides arguments where its metadata comes with a call."""
    return (
        _own("const lg_kernel *", "how"),
        _own("lg_state *", "state"),
        *_own_parameters(has_image=True),
        *(_own("uint64_t ", name) for name in hidden),
    )


def _own(type_c: str, name: str) -> PlanDeclaration:
    return PlanDeclaration(type_c=type_c, name=CIdentifier(name), note="", has_note=False)


def _declared(type_c: str, name: CIdentifier, parameter: PlanParameter) -> PlanDeclaration:
    return PlanDeclaration(type_c=type_c, name=name, note=parameter.note, has_note=True)


def _null_slots(
    kernel_slots: tuple[Slot, ...], scratch: tuple[PlanScratch, ...]
) -> Iterator[CIdentifier]:
    given = {part.slot for part in scratch}
    for slot in kernel_slots:
        if slot.role in SCRATCH and scratch_slot(slot.role) not in given:
            yield scratch_slot(slot.role)


def _plan_slots(
    kernel_slots: tuple[Slot, ...], parameters: Mapping[tuple[int, ...], PlanParameter]
) -> Iterator[PlanSlot]:
    for slot in kernel_slots:
        parameter = parameters.get(slot.path)
        if parameter is None:
            place, note = str(scratch_slot(slot.role)), slot.label
        elif parameter.descriptor is None:
            place, note = str(parameter.slot), parameter.note
        else:
            place = place_of(parameter, slot)
            note = f"{slot.label}: {slot.type}"
        yield PlanSlot(
            place=place,
            is_memory=parameter is not None and parameter.is_memory,
            is_part=parameter is not None and parameter.is_descriptor,
            note=note,
            text=slot_text(slot),
            size=slot.size,
        )


def _plan_limits(target: Target) -> PlanLimits:
    grid_x, grid_y, grid_z = target.grid_limits
    return PlanLimits(
        grid_x=grid_x,
        grid_y=grid_y,
        grid_z=grid_z,
        portable_cluster=target.portable_cluster,
        default_shared=target.default_shared,
        largest_shared=target.largest_shared,
    )


def _core_fragments(signature: Signature, target: Target, *, has_hints: bool) -> tuple[str, ...]:
    hints = ("hints",) if has_hints else ()
    scalars = (s.fragments for s in _scalars(signature))
    return (*_CORE, *target.fragments, *hints, *(f for each in scalars for f in each))


def _loading_fragments(
    variants: tuple[PlanVariant, ...], target: Target, *, has_image: bool, has_call: bool
) -> tuple[str, ...]:
    """Return what finds the function, and what sets on it that a launch of it is allowed."""
    if has_call:
        return ("handle_cluster",)
    is_large_cluster = any(v.cluster_size > target.portable_cluster for v in variants)
    # Any shared memory: with the kernel's static use, which the image knows, it may be much.
    allowed = 0 if has_image else target.default_shared
    needs = is_large_cluster or any(v.shared > allowed for v in variants)
    if has_image:
        return ("image", "prepare" if needs else "as_is")
    return ("handle_prepared",) if needs else ("handle",)


def _descriptor_fragments(descriptors: tuple[PlanDescriptor, ...]) -> tuple[str, ...]:
    return tuple("tensor_map" if each.is_map else "sizes" for each in descriptors)


def _python_fragments(
    signature: Signature, parameters: tuple[PlanParameter, ...], python: PlanPython
) -> Iterator[str]:
    for scalar in _scalars(signature):
        yield from scalar.python_fragments
    conditions = {
        "python_pointer": any(p.is_pointer for p in parameters),
        "python_bytes": any(p.is_struct for p in parameters),
        "python_tensor_map": any(p.is_tensor_map for p in parameters),
        "python_descriptor": any(p.is_descriptor for p in parameters),
        "python_im2col": any(d and d.type.is_im2col for d in (p.descriptor for p in parameters)),
        "python_complain": bool(python.entries),
        "python_tuple": bool(python.unpacks),
        "python_allocate": bool(python.allocations),
        "python_function": python.grid != 0,
    }
    yield from (name for name, is_needed in conditions.items() if is_needed)


def _scalars(signature: Signature) -> Iterator[Scalar]:
    for leaf in leaves(signature):
        if isinstance(leaf.argument.type, ScalarType):
            yield leaf.argument.type.scalar
