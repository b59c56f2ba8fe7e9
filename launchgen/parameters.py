"""Signature to the C launcher's parameters: a name, a type and storage bits for every leaf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from launchgen.abi import Slot, is_hidden
from launchgen.descriptor_records import PlanDescriptor
from launchgen.naming import (
    PREFIX_ARGUMENT,
    PREFIX_COPY,
    PREFIX_FILLED,
    PREFIX_SLOT,
    CIdentifier,
    free_c_name,
)
from launchgen.records import PlanParameter
from launchgen.scalars import Kind
from launchgen.signature import (
    BytesType,
    Constant,
    DescriptorType,
    Hint,
    Leaf,
    PointerType,
    ScalarType,
    Signature,
    TensorMapType,
    TupleType,
    leaf_label,
    leaves,
)


class _Passing(NamedTuple):
    """How C writes a value of a type, from the caller to its slot."""

    public_c: str
    slot_c: str
    round_c: str = ""


def c_parameters(
    signature: Signature,
    kernel_slots: tuple[Slot, ...],
    *,
    own: tuple[str, ...],
    descriptors: Mapping[tuple[int, ...], PlanDescriptor],
) -> dict[tuple[int, ...], PlanParameter]:
    """Return a parameter for each leaf that is no constant, by its path, in source order.

    ``own`` are the names that the prototype already uses for the launcher's own parameters.
    """
    passed = {slot.path: slot for slot in kernel_slots if not is_hidden(slot)}
    taken = set(own)
    found = {}
    for leaf in leaves(signature):
        if isinstance(leaf.argument.type, Constant):
            continue
        label = leaf_label(signature, leaf.path)
        public = free_c_name(label.replace(".", "_"), taken=taken)
        taken.add(public)
        found[leaf.path] = _parameter(
            leaf, label, public, passed.get(leaf.path), descriptors.get(leaf.path)
        )
    return found


def _parameter(
    leaf: Leaf,
    label: str,
    public: CIdentifier,
    slot: Slot | None,
    descriptor: PlanDescriptor | None,
) -> PlanParameter:
    argument = leaf.argument
    passing = _passing(leaf, descriptor)
    is_memory = isinstance(argument.type, BytesType | TensorMapType)
    declared = argument.declared
    return PlanParameter(
        label=label,
        index=leaf.path[0],
        declared=declared,
        note=f"{label}: {declared}",
        public_c=passing.public_c,
        public=public,
        argument=CIdentifier(f"{PREFIX_ARGUMENT}{public}"),
        slot_c=passing.slot_c,
        storage_c=passing.slot_c.rstrip(),
        slot=CIdentifier(f"{PREFIX_SLOT}{public}"),
        is_pointer=isinstance(argument.type, PointerType),
        is_scalar=isinstance(argument.type, ScalarType),
        is_struct=isinstance(argument.type, BytesType),
        is_tensor_map=isinstance(argument.type, TensorMapType),
        is_descriptor=descriptor is not None,
        is_memory=is_memory,
        is_by_address=is_memory or descriptor is not None,
        descriptor=descriptor,
        copy=CIdentifier(f"{PREFIX_COPY}{public}"),
        filled=CIdentifier(f"{PREFIX_FILLED}{public}"),
        size=slot.size if slot else 0,
        align=slot.align if slot else 0,
        rounds=bool(passing.round_c),
        round_c=passing.round_c,
        is_divisible=argument.hint is Hint.DIVISIBLE_BY_16,
        is_one=argument.hint is Hint.EQUALS_1,
        is_signed=isinstance(argument.type, ScalarType)
        and argument.type.scalar.kind is Kind.SIGNED,
    )


def _passing(leaf: Leaf, descriptor: PlanDescriptor | None) -> _Passing:
    if descriptor is not None:
        return _Passing(f"const {descriptor.type.struct} *", "const lg_descriptor *")
    kind = leaf.argument.type
    match kind:
        case PointerType():
            pointee = kind.pointee.pointee_c if kind.depth == 1 else "void"
            const = "const " * kind.read_only
            return _Passing(f"{const}{pointee} *", "uint64_t ")
        case ScalarType(scalar):
            return _Passing(
                f"{scalar.carrier_c} ",
                f"{scalar.storage_c} ",
                scalar.round_c,
            )
        case BytesType() | TensorMapType():
            return _Passing("const void *", "const void *")
        case Constant() | DescriptorType() | TupleType():
            raise AssertionError(f"not a parameter: {kind}")
