"""Signature and parameters to the Python module: keywords, tuples, conversions, messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from launchgen.abi import has_oversized_shared
from launchgen.calling import Called
from launchgen.metadata import LaunchMetadata
from launchgen.naming import (
    FUNCTION,
    GRID,
    PREFIX_COPY,
    PREFIX_OBJECT,
    PREFIX_WIDE,
    STREAM,
    CIdentifier,
    free_python_name,
)
from launchgen.records import (
    PlanAllocation,
    PlanConversion,
    PlanEntry,
    PlanKeyword,
    PlanParameter,
    PlanPython,
    PlanScratch,
    PlanUnpack,
)
from launchgen.signature import (
    Argument,
    BytesType,
    Constant,
    DescriptorType,
    PointerType,
    ScalarType,
    Signature,
    TensorMapType,
    TupleType,
    leaf_label,
)

_OWN = (GRID, STREAM, FUNCTION)
"""Names that no argument may have, whether this module uses them or not."""


class _Node(NamedTuple):
    """An argument or tuple element that is no constant."""

    path: tuple[int, ...]
    argument: Argument
    object: str


def plan_python(  # noqa: PLR0913 - one for each part of the plan that it is made from
    signature: Signature,
    metadata: LaunchMetadata,
    parameters: tuple[PlanParameter, ...],
    *,
    scratch: tuple[PlanScratch, ...],
    images: tuple[str, ...] | None,
    called: Called,
) -> PlanPython:
    """Decide how a Python call becomes storage bits.

    ``metadata`` is what the module shows; ``parameters`` are those of the C launcher, in the order
    of the signature's leaves; ``images`` what the images are compiled for, as far as it is known,
    None without one.
    """
    own = (FUNCTION, GRID, STREAM) if images is None else (GRID, STREAM)
    nodes = tuple(_nodes(signature.arguments, (), called.head or len(own)))
    own_keywords = tuple(_own_keywords(own))
    by_name = tuple(_keywords(signature))
    keywords = (*own_keywords, *by_name)
    required = max(i for i, keyword in enumerate(keywords) if not keyword.is_constant) + 1
    entries = tuple(_entries(signature, nodes))
    return PlanPython(
        convention=called.convention.name,
        module=called.module,
        tail=called.tail,
        knows_oversized=has_oversized_shared(metadata.triton_version),
        keywords=keywords,
        own=own_keywords,
        by_name=by_name,
        count=len(by_name) + (called.head or len(own)),
        required=required,
        grid=own.index(GRID),
        stream=own.index(STREAM),
        arguments=tuple(map(str, signature.arguments)),
        has_arguments=bool(signature.arguments),
        entries=entries,
        has_entries=bool(entries or scratch),
        images=images or (),
        has_images=bool(images),
        unpacks=tuple(_unpacks(nodes)),
        conversions=tuple(_conversions(nodes, parameters)),
        allocations=tuple(
            PlanAllocation(
                scratch=part,
                buffer=CIdentifier(f"{PREFIX_OBJECT}{part.public}"),
                entry=len(nodes) + number,
            )
            for number, part in enumerate(scratch)
        ),
        has_inner_constants=any(k.is_constant for k in keywords[:required]),
        num_warps=metadata.num_warps,
        num_ctas=metadata.num_ctas,
        is_cooperative=metadata.cooperative,
        is_pdl=metadata.pdl,
        global_scratch_size=metadata.global_scratch.size,
        global_scratch_align=metadata.global_scratch.align,
        profile_scratch_size=metadata.profile_scratch.size,
        profile_scratch_align=metadata.profile_scratch.align,
        triton_version=".".join(map(str, metadata.triton_version or ())),
        has_triton_version=metadata.triton_version is not None,
    )


def _nodes(arguments: tuple[Argument, ...], path: tuple[int, ...], own: int) -> Iterator[_Node]:
    for index, argument in enumerate(arguments):
        here = (*path, index)
        if isinstance(argument.type, Constant):
            continue
        place = f"{_array(path)}[{index}]" if path else f"row[{own + index}]"
        yield _Node(here, argument, place)
        if isinstance(argument.type, TupleType):
            yield from _nodes(argument.type.elements, here, own)


def _array(path: tuple[int, ...]) -> CIdentifier:
    """Return the name of the array that a tuple is taken apart into; paths keep them apart."""
    return CIdentifier(PREFIX_OBJECT + "_".join(map(str, path)))


def _own_keywords(own: tuple[str, ...]) -> Iterator[PlanKeyword]:
    hints = {GRID: "_Grid", STREAM: "_Stream", FUNCTION: "int"}
    for name in own:
        yield PlanKeyword(
            name=CIdentifier(name), hint=hints[name], is_constant=False, is_trailing=False
        )


def _keywords(signature: Signature) -> Iterator[PlanKeyword]:
    taken = set(_OWN)
    constants = [isinstance(argument.type, Constant) for argument in signature.arguments]
    trailing = len(constants)
    while trailing and constants[trailing - 1]:
        trailing -= 1
    for index, (name, argument) in enumerate(
        zip(signature.names, signature.arguments, strict=True)
    ):
        free = free_python_name(name, taken=taken)
        taken.add(free)
        yield PlanKeyword(
            name=free,
            hint=_stub_type(argument),
            is_constant=constants[index],
            is_trailing=index >= trailing,
        )


def _stub_type(argument: Argument) -> str:  # noqa: PLR0911 - one for each type
    kind = argument.type
    match kind:
        case PointerType():
            return "_Pointer"
        case ScalarType(scalar):
            return scalar.python
        case BytesType():
            return "bytes | bytearray | memoryview"
        case TensorMapType():
            return "bytes | bytearray | memoryview | _TensorMap"
        case TupleType(elements):
            return f"tuple[{', '.join(map(_stub_type, elements)) or '()'}]"
        case DescriptorType(im2col=im2col):
            return "_Im2colDescriptor" if im2col else "_TensorDescriptor"
        case Constant():
            return "object"


def _entries(signature: Signature, nodes: tuple[_Node, ...]) -> Iterator[PlanEntry]:
    for node in nodes:
        yield PlanEntry(
            place=f"argument {node.path[0]} '{leaf_label(signature, node.path)}'",
            type=node.argument.declared,
        )


def _unpacks(nodes: tuple[_Node, ...]) -> Iterator[PlanUnpack]:
    for entry, node in enumerate(nodes):
        if isinstance(node.argument.type, TupleType):
            count = len(node.argument.type.elements)
            yield PlanUnpack(
                object=node.object,
                array=_array(node.path),
                count=count,
                capacity=max(count, 1),
                entry=entry,
            )


def _conversions(
    nodes: tuple[_Node, ...], parameters: tuple[PlanParameter, ...]
) -> Iterator[PlanConversion]:
    remaining = iter(parameters)
    for entry, node in enumerate(nodes):
        kind = node.argument.type
        if isinstance(kind, TupleType):
            continue
        parameter = next(remaining)
        scalar = kind.scalar if isinstance(kind, ScalarType) else None
        yield PlanConversion(
            parameter=parameter,
            object=node.object,
            entry=entry,
            wide=CIdentifier(f"{PREFIX_WIDE}{parameter.public}"),
            storage=CIdentifier(f"{PREFIX_COPY}{parameter.public}"),
            wide_c=scalar.python_wide_c if scalar else "",
            convert_c=scalar.python_convert_c if scalar else "",
            limits_c=scalar.python_limits_c if scalar else "",
        )
