"""KernelSource to LaunchPlan: every decision about the output is made here, none in a template."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from launchgen.abi import Slot, SlotRole, has_oversized_shared, slots
from launchgen.diagnostics import Diagnostic, UnsupportedError
from launchgen.example import example_call, example_grid
from launchgen.fragments import resolve
from launchgen.metadata import LaunchMetadata
from launchgen.naming import FUNCTION, GRID_AXES, PREFIX_INTERNAL, STREAM, CIdentifier
from launchgen.parameters import c_parameters
from launchgen.provenance import make_banner
from launchgen.pyplan import plan_python
from launchgen.records import (
    LaunchPlan,
    PlanAttribute,
    PlanDeclaration,
    PlanImage,
    PlanKernel,
    PlanLimits,
    PlanParameter,
    PlanPython,
    PlanScratch,
    PlanSlot,
)
from launchgen.scalars import Scalar
from launchgen.signature import (
    DescriptorType,
    PointerType,
    ScalarType,
    Signature,
    leaf_label,
    leaves,
)
from launchgen.sources import Image, KernelSource
from launchgen.targets import Target

INLINE_BYTES: Final = 8 * 1024
"""Images up to this size are printed into the source; measured by ``benchmarks/embed.py``."""

_SCRATCH: Final = {
    SlotRole.GLOBAL_SCRATCH: "global_scratch",
    SlotRole.PROFILE_SCRATCH: "profile_scratch",
}
"""Names of what hidden slots take, in the prototype and behind a prefix."""

_SCRATCH_CHECK: Final = ("scratch",)
_CORE: Final = ("prologue", "error", "kernel", "context", "launch")
_PYTHON: Final = (
    "python_module",
    "python_gather",
    "python_grid",
    "python_allocator",
    "python_exec",
)


def make_plan(
    source: KernelSource,
    *,
    target: Target,
    command: str,
    version: str | None = None,
    standalone: bool = False,
) -> LaunchPlan:
    """Decide everything about one launcher.

    ``command`` is the line that makes the output again, for the banner; ``version`` stands there
    where it is not None.  A ``standalone`` source includes no other file.

    Raises UnsupportedError for a kernel that no right launcher can be made for yet, and what
    :func:`launchgen.abi.slots` raises.
    """
    signature, metadata, has_image = source.signature, source.metadata, source.image is not None
    _refuse_descriptors(signature)
    kernel_slots = slots(signature, metadata, target=target)
    scratch = tuple(_plan_scratch(metadata))
    own = _own_parameters(has_image)
    public = (*own, *(_own("void *", part.public) for part in scratch))
    parameters = c_parameters(signature, kernel_slots, own=tuple(p.name for p in public))
    python = plan_python(signature, metadata, parameters, scratch=scratch, has_image=has_image)
    has_hints = any(p.is_divisible or p.is_one for p in parameters)
    unhinted = tuple(_unhinted(signature))
    example = tuple(example_call(own, scratch, parameters))
    example_x, example_y, example_z = example_grid(metadata)
    core = _core_fragments(source, target, has_hints=has_hints)
    return LaunchPlan(
        name=source.name,
        guard=CIdentifier(f"LAUNCHGEN_{source.name}_H"),
        banner=make_banner(source, target, command=command, version=version),
        limits=_plan_limits(target),
        kernel=_plan_kernel(source.name, metadata, target),
        image=_plan_image(source.image, source.name, target, standalone=standalone),
        has_image=has_image,
        takes_function=not has_image,
        is_standalone=standalone,
        prototype=(*public, *(_declared(p.public_c, p.public, p) for p in parameters)),
        definition=(*public, *(_declared(p.public_c, p.argument, p) for p in parameters)),
        core=(
            *own,
            *(_own("uint64_t ", part.slot) for part in scratch),
            *(_declared(p.slot_c, p.slot, p) for p in parameters),
        ),
        parameters=parameters,
        scratch=scratch,
        has_scratch=bool(scratch),
        null_slots=tuple(_null_slots(kernel_slots, scratch)),
        slots=tuple(_plan_slots(kernel_slots, parameters)),
        has_slots=bool(kernel_slots),
        uses_memcpy=any(p.rounds for p in parameters),
        example=example,
        example_x=example_x,
        example_y=example_y,
        example_z=example_z,
        uses_buffers=any(e.is_buffer or e.is_scratch for e in example),
        unhinted=unhinted,
        has_unhinted=bool(unhinted),
        fragments=resolve((*core, *_SCRATCH_CHECK) if scratch else core),
        python_fragments=resolve((*core, *_python_fragments(signature, parameters, python))),
        python=python,
    )


def _refuse_descriptors(signature: Signature) -> None:
    found = [
        Diagnostic(
            f"argument {leaf.path[0]} '{leaf_label(signature, leaf.path)}': tensor descriptors "
            f"({leaf.argument.type}) are not supported yet",
            signature.source,
            leaf.argument.span,
            "pass a tensor map made by the caller as nvTmaDesc, or pointers and sizes",
        )
        for leaf in leaves(signature)
        if isinstance(leaf.argument.type, DescriptorType)
    ]
    if found:
        raise UnsupportedError(*found)


def _own_parameters(has_image: bool) -> tuple[PlanDeclaration, ...]:
    """Return the C launcher's own parameters, which stand before the kernel's."""
    function = () if has_image else (_own("void *", FUNCTION),)
    grid = (_own("uint32_t ", name) for name in GRID_AXES)
    return (*function, _own("void *", STREAM), *grid)


def _own(type_c: str, name: str) -> PlanDeclaration:
    return PlanDeclaration(type_c=type_c, name=CIdentifier(name), note="", has_note=False)


def _declared(type_c: str, name: CIdentifier, parameter: PlanParameter) -> PlanDeclaration:
    return PlanDeclaration(type_c=type_c, name=name, note=parameter.note, has_note=True)


def _plan_scratch(metadata: LaunchMetadata) -> Iterator[PlanScratch]:
    needs = {
        SlotRole.GLOBAL_SCRATCH: metadata.global_scratch,
        SlotRole.PROFILE_SCRATCH: metadata.profile_scratch,
    }
    for role, scratch in needs.items():
        if scratch.size:
            yield PlanScratch(
                what=role.value,
                public=CIdentifier(_SCRATCH[role]),
                slot=_scratch_slot(role),
                size=scratch.size,
                align=max(scratch.align, 1),
            )


def _scratch_slot(role: SlotRole) -> CIdentifier:
    return CIdentifier(PREFIX_INTERNAL + _SCRATCH[role])


def _null_slots(
    kernel_slots: tuple[Slot, ...], scratch: tuple[PlanScratch, ...]
) -> Iterator[CIdentifier]:
    given = {part.slot for part in scratch}
    for slot in kernel_slots:
        if slot.role in _SCRATCH and _scratch_slot(slot.role) not in given:
            yield _scratch_slot(slot.role)


def _plan_slots(
    kernel_slots: tuple[Slot, ...], parameters: tuple[PlanParameter, ...]
) -> Iterator[PlanSlot]:
    passed = iter([p for p in parameters if p.is_passed])
    for slot in kernel_slots:
        if slot.role in _SCRATCH:
            yield PlanSlot(slot=_scratch_slot(slot.role), is_memory=False, note=slot.label)
        else:
            parameter = next(passed)
            yield PlanSlot(slot=parameter.slot, is_memory=parameter.is_memory, note=parameter.note)


def _plan_limits(target: Target) -> PlanLimits:
    grid_x, grid_y, grid_z = target.grid_limits
    return PlanLimits(
        grid_x=grid_x,
        grid_y=grid_y,
        grid_z=grid_z,
        portable_cluster=target.portable_cluster,
        default_shared=target.default_shared,
    )


def _plan_kernel(name: str, metadata: LaunchMetadata, target: Target) -> PlanKernel:
    is_oversized = _is_oversized(metadata, target)
    attributes = tuple(_attributes(metadata, is_oversized=is_oversized))
    return PlanKernel(
        entry=metadata.entry or name,
        threads=metadata.threads,
        shared=metadata.shared,
        has_oversized_shared=is_oversized,
        cluster_x=metadata.cluster[0],
        cluster_y=metadata.cluster[1],
        cluster_z=metadata.cluster[2],
        cluster_size=metadata.cluster_size,
        grid_counts_clusters=metadata.grid_counts_clusters,
        attributes=attributes,
        has_attributes=bool(attributes),
    )


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


def _plan_image(
    image: Image | None, name: str, target: Target, *, standalone: bool
) -> PlanImage | None:
    if image is None:
        return None
    inline = standalone or len(image.data) <= INLINE_BYTES
    return PlanImage(
        file=f"{name}{target.image_suffix}",
        content=image.data,
        size=len(image.data),
        is_inline=inline,
    )


def _unhinted(signature: Signature) -> Iterator[str]:
    for leaf in leaves(signature):
        if isinstance(leaf.argument.type, PointerType) and leaf.argument.hint is None:
            yield leaf_label(signature, leaf.path)


def _core_fragments(source: KernelSource, target: Target, *, has_hints: bool) -> tuple[str, ...]:
    loading = _loading_fragments(source, target)
    hints = ("hints",) if has_hints else ()
    scalars = (s.fragments for s in _scalars(source.signature))
    return (*_CORE, *target.fragments, *loading, *hints, *(f for each in scalars for f in each))


def _loading_fragments(source: KernelSource, target: Target) -> tuple[str, ...]:
    """Return what finds the function, and what sets on it that a launch of it is allowed."""
    metadata = source.metadata
    is_large_cluster = metadata.cluster_size > target.portable_cluster
    if source.image is not None:
        # Any shared memory: with the kernel's static use, which the image knows, it may be much.
        needs = is_large_cluster or metadata.shared > 0
        return ("image", "prepare" if needs else "as_is")
    needs = is_large_cluster or metadata.shared > target.default_shared
    return ("handle_prepared",) if needs else ("handle",)


def _python_fragments(
    signature: Signature, parameters: tuple[PlanParameter, ...], python: PlanPython
) -> Iterator[str]:
    yield from _PYTHON
    for scalar in _scalars(signature):
        yield from scalar.python_fragments
    conditions = {
        "python_pointer": any(p.is_pointer for p in parameters),
        "python_bytes": any(p.is_struct for p in parameters),
        "python_tensor_map": any(p.is_tensor_map for p in parameters),
        "python_complain": bool(python.entries),
        "python_tuple": bool(python.unpacks),
        "python_scratch": bool(python.allocations),
        "python_function": python.grid != 0,
    }
    yield from (name for name, is_needed in conditions.items() if is_needed)


def _scalars(signature: Signature) -> Iterator[Scalar]:
    for leaf in leaves(signature):
        if isinstance(leaf.argument.type, ScalarType):
            yield leaf.argument.type.scalar
