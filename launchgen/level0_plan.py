"""A kernel's launch as Meta's "Level 0" metadata says it: the part of the plan for that JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator

from launchgen.level0_records import (
    ABI_VERSION,
    PlanLevel0,
    PlanLevel0Argument,
    PlanLevel0Constant,
)
from launchgen.literals import Value
from launchgen.metadata import LaunchMetadata
from launchgen.notation import (
    Argument,
    Constant,
    Hint,
    Signature,
    TupleType,
    Unknown,
)


def plan_level0(name: str, signature: Signature, metadata: LaunchMetadata) -> PlanLevel0:
    """Return the fields of the JSON; ``name`` is the kernel's where the metadata has none."""
    return PlanLevel0(
        abi_version=ABI_VERSION,
        entry=metadata.entry or name,
        num_warps=metadata.num_warps,
        num_ctas=metadata.num_ctas,
        shared=metadata.shared,
        cluster=metadata.cluster,
        preferred_cluster=metadata.preferred_cluster or (0, 0, 0),
        is_cooperative=metadata.cooperative,
        is_cluster=metadata.cluster_size > 1,
        is_pdl=metadata.pdl,
        global_scratch_size=metadata.global_scratch.size,
        global_scratch_align=metadata.global_scratch.align,
        profile_scratch_size=metadata.profile_scratch.size,
        profile_scratch_align=metadata.profile_scratch.align,
        tmem_size=metadata.tmem_size,
        arguments=tuple(_arguments(signature)),
        constants=tuple(_constants(signature)),
        descriptors=metadata.tensor_descriptors,
    )


def _arguments(signature: Signature) -> Iterator[PlanLevel0Argument]:
    named = zip(signature.names, signature.arguments, strict=True)
    for index, (name, argument) in enumerate(named):
        if not _is_constant(argument):
            yield PlanLevel0Argument(
                name=name,
                type=_type(argument),
                is_divisible=argument.hint is Hint.DIVISIBLE_BY_16,
                index=index,
            )


def _is_constant(argument: Argument) -> bool:
    return isinstance(argument.type, Constant) or argument.hint is Hint.EQUALS_1


def _type(argument: Argument) -> str:
    """Return the type as Triton's Python spells it: a tuple as one of strings."""
    if isinstance(argument.type, TupleType):
        return repr(_spelled(argument))
    return str(argument.type)


def _spelled(argument: Argument) -> object:
    if isinstance(argument.type, TupleType):
        return tuple(map(_spelled, argument.type.elements))
    return "constexpr" if _is_constant(argument) else str(argument.type)


def _constants(signature: Signature) -> Iterator[PlanLevel0Constant]:
    for index, argument in enumerate(signature.arguments):
        if isinstance(argument.type, Constant) and not isinstance(argument.type.value, Unknown):
            yield PlanLevel0Constant(key=str(index), value=_finite(argument.type.value))
        elif argument.hint is Hint.EQUALS_1:
            yield PlanLevel0Constant(key=str(index), value=1)


def _finite(value: Value) -> Value:
    """Return the value, or its name where JSON has none for it."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
