"""The kernel's parameter list: Signature and LaunchMetadata to slots, in the order of the image.

A release of Triton that hands its kernels other hidden parameters, or descriptors in another form,
is a row of ``_RELEASES``.  It is one long module because the table and the slots that its rows lead
to are read together.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NoReturn

from msgspec import Struct

from launchgen.diagnostics import Diagnostic, MetadataError, UnsupportedError
from launchgen.limits import MOST_ARGUMENTS, MOST_RANK
from launchgen.metadata import LaunchMetadata, Scratch, Version
from launchgen.notation import (
    TENSOR_MAP,
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
    width,
)
from launchgen.scalars import SCALARS, Kind, Scalar
from launchgen.targets import Target

ADDRESS_BYTES: Final = 8
"""Of a device address, and its alignment."""
# The map is 128 bytes; a kernel's slot is aligned to 64, whatever CUtensorMap's header says.
_MAP_SIZE, _MAP_ALIGN = 128, 64


class SlotRole(Enum):
    """What a slot holds; decides where the launcher takes its value from."""

    ARGUMENT = "argument"
    TENSOR_MAP = "tensor map made from a descriptor"
    BASE = "base address of a descriptor"
    SHAPE = "size in a descriptor's shape"
    STRIDE = "stride of a descriptor, in elements"
    FLAG = "flag of a descriptor"
    GLOBAL_SCRATCH = "global scratch"
    PROFILE_SCRATCH = "profile scratch"


class Slot(Struct, frozen=True):
    """One parameter of the kernel, for which the driver copies ``size`` bytes."""

    role: SlotRole
    label: str
    """In the signature's words: ``n``, ``ptrs.1.0``, ``src.shape[0]``, ``global scratch``."""
    type: str
    """As in a signature: ``*fp32``, ``i64``, ``nvTmaDesc``, ``bytes[24:8]``."""
    size: int
    """Bytes."""
    align: int
    """Bytes."""
    pointer: bool
    """Whether it is a device address."""
    path: tuple[int, ...]
    """The source argument's index, then indices in tuples; empty: hidden."""
    part: int = 0
    """Index in shape or strides, or among a descriptor's flags."""


class _Release(Struct, frozen=True, kw_only=True):
    """What Triton's kernels take, from one release on."""

    since: Version
    hidden: tuple[SlotRole, ...]
    """Slots after the last argument."""
    flags: tuple[str, ...] | None
    """Flags of a decomposed descriptor; None: there are no descriptors yet."""
    doubled_fp4: bool = False
    """Whether the kernel, too, is told twice the last size of a descriptor of padded fp4."""
    newest_forms: bool = False
    """Whether descriptors may stand in tuples and be of the im2col kind."""
    oversized_shared: bool = False
    """Whether its launcher asks for the driver's mode for more shared memory than devices have."""


_GLOBAL: Final = (SlotRole.GLOBAL_SCRATCH,)
_BOTH: Final = (SlotRole.GLOBAL_SCRATCH, SlotRole.PROFILE_SCRATCH)

MOST_HIDDEN: Final = len(_BOTH)
"""Most hidden parameters of any release."""

NAN_PADDING: Final = "nan_padding"
ROUND_TF32: Final = "round_tf32"
FLAGS: Final = (NAN_PADDING, ROUND_TF32)
"""What a descriptor can ask for, in the order of the kernel's slots; C's names of its fields."""

_RELEASES: Final = (  # newest first
    _Release(
        since=(3, 8),
        hidden=_BOTH,
        flags=FLAGS,
        newest_forms=True,
        oversized_shared=True,
    ),
    _Release(since=(3, 7), hidden=_BOTH, flags=FLAGS),
    _Release(since=(3, 5), hidden=_BOTH, flags=FLAGS[:1], doubled_fp4=True),
    _Release(since=(3, 4), hidden=_GLOBAL, flags=()),
    _Release(since=(3, 3), hidden=_GLOBAL, flags=None),
    _Release(since=(0, 0), hidden=(), flags=None),
)


def hidden_slots(version: Version | None, count: int | None = None) -> tuple[Slot, ...]:
    """Return what a release passes after the last argument; nothing where none is known.

    ``count`` is how many an image has, which is right where the release says otherwise.
    """
    return tuple(_hidden(role) for role in _hidden_roles(version, count))


def _hidden_roles(version: Version | None, count: int | None) -> tuple[SlotRole, ...]:
    return _release(version).hidden if count is None else _BOTH[:count]


def release_with(count: int) -> Version | None:
    """Return a release that hands its kernels so many hidden parameters, None if there is none.

    It is the first that does, or the last that has none.
    """
    first = {len(row.hidden): row.since for row in _RELEASES}
    if count == 0:
        major, minor = min(row.since for row in _RELEASES if row.hidden)
        return major, minor - 1
    return first.get(count)


def is_hidden(slot: Slot) -> bool:
    """Return whether no argument stands for it: a kernel that takes none ignores it."""
    return not slot.path


def descriptor_flags(version: Version | None) -> tuple[str, ...]:
    """Return what a descriptor of a release can ask for."""
    return _release(version).flags or ()


def has_doubled_fp4(version: Version | None) -> bool:
    """Return whether a release's kernels take twice the last size of padded fp4, as the map does.

    Source: triton/backends/nvidia/driver.py, 3.6.0, ``make_tensordesc_arg``.
    """
    return _release(version).doubled_fp4


def has_oversized_shared(version: Version | None) -> bool:
    """Return whether a release's kernels may need more shared memory than a device has as it is.

    Source: triton/backends/nvidia/driver.c, 3.8.0, ``_launch`` and ``loadBinary``.
    """
    return _release(version).oversized_shared


def slots(signature: Signature, metadata: LaunchMetadata, *, target: Target) -> tuple[Slot, ...]:
    """Return the kernel's parameters in order, as many as the image has.

    Constants and arguments hinted ``:1`` have none, a descriptor has several.

    Raises MetadataError where the metadata contradicts the signature or its own release,
    UnsupportedError for a parameter list that no driver takes.
    """
    _check_width(signature)
    release = _release(metadata.triton_version)
    _check_descriptors(signature, metadata, release)
    # All of a kernel's descriptors are handed over in one form: a count that differs is refused.
    flags = None if metadata.tensor_descriptors else release.flags
    listed: list[Slot] = []
    for leaf in leaves(signature):
        listed += _leaf_slots(leaf, leaf_label(signature, leaf.path), flags)
    listed += hidden_slots(metadata.triton_version, metadata.hidden_scratch)
    _check_scratch(SlotRole.GLOBAL_SCRATCH, metadata.global_scratch, metadata)
    _check_scratch(SlotRole.PROFILE_SCRATCH, metadata.profile_scratch, metadata)
    _check_size(total_bytes(listed), metadata, target)
    return tuple(listed)


def slot_text(slot: Slot) -> str:
    """Return what messages call a slot: ``argument 3 'n' (i32)``, ``global scratch (*i8)``."""
    if is_hidden(slot):
        return f"{slot.label} ({slot.type})"
    return f"argument {slot.path[0]} '{slot.label}' ({slot.type})"


def layout(listed: Sequence[Slot], *, base: int = 0) -> tuple[tuple[int, Slot], ...]:
    """Return each slot's offset in bytes: the slots one after another, naturally aligned.

    ``base`` is where the list begins in the constant bank; offsets count from there, but it is
    the address in the bank that is aligned.
    """
    placed: list[tuple[int, Slot]] = []
    end = base
    for slot in listed:
        start = -(-end // slot.align) * slot.align
        placed.append((start - base, slot))
        end = start + slot.size
    return tuple(placed)


def total_bytes(listed: Sequence[Slot], *, base: int = 0) -> int:
    """Return the size of the parameter list in bytes, padding between slots included."""
    placed = layout(listed, base=base)
    return placed[-1][0] + placed[-1][1].size if placed else 0


def _release(version: Version | None) -> _Release:
    known = version or (0, 0)
    return next(row for row in _RELEASES if row.since <= known)


def _scalar(kind: Kind, size: int) -> Scalar:
    return next(row for row in SCALARS.values() if row.kind is kind and row.size == size)


_FLAG: Final = _scalar(Kind.BOOL, 1)
_SIZE: Final = _scalar(Kind.SIGNED, 4)
_WIDE_SIZE: Final = _scalar(Kind.SIGNED, 8)


def _hidden(role: SlotRole) -> Slot:
    # Declared as bytes: the kernel alone knows what it keeps there.
    return _address(role, role.value, f"*{_scalar(Kind.SIGNED, 1).name}", ())


def _address(role: SlotRole, label: str, type_: str, path: tuple[int, ...]) -> Slot:
    return Slot(
        role, label, type_, size=ADDRESS_BYTES, align=ADDRESS_BYTES, pointer=True, path=path
    )


def _plain(
    role: SlotRole, label: str, scalar: Scalar, path: tuple[int, ...], *, part: int = 0
) -> Slot:
    size = scalar.size
    return Slot(role, label, scalar.name, size, size, pointer=False, path=path, part=part)


def _leaf_slots(leaf: Leaf, label: str, flags: tuple[str, ...] | None) -> tuple[Slot, ...]:
    """Return the slots of one leaf; ``flags`` is as for :func:`_descriptor_slots`."""
    path, argument = leaf
    found: tuple[Slot, ...]
    match argument.type:
        case Constant() | TupleType():  # the elements of a tuple are leaves of their own
            found = ()
        case PointerType() as type_:
            found = (_address(SlotRole.ARGUMENT, label, str(type_), path),)
        case ScalarType(scalar):
            found = (_plain(SlotRole.ARGUMENT, label, scalar, path),)
        case BytesType(size, align) as type_:
            found = (Slot(SlotRole.ARGUMENT, label, str(type_), size, align, False, path),)
        case TensorMapType():
            found = (_map(SlotRole.ARGUMENT, label, path),)
        case DescriptorType() as type_:
            found = _descriptor_slots(type_, label, path, flags)
    # A 1 is folded into the kernel.
    return () if argument.hint is Hint.EQUALS_1 else found


def _map(role: SlotRole, label: str, path: tuple[int, ...]) -> Slot:
    return Slot(role, label, TENSOR_MAP, _MAP_SIZE, _MAP_ALIGN, pointer=False, path=path)


def _descriptor_slots(
    type_: DescriptorType, label: str, path: tuple[int, ...], flags: tuple[str, ...] | None
) -> tuple[Slot, ...]:
    """Return a descriptor's slots: a tensor map, or decomposed with ``flags`` if not None.

    Decomposed, the kernel takes shape and strides twice: once as the descriptor's parts and once
    as the arguments that Triton's front end adds to each descriptor.
    """
    tail = _extents(type_.rank, label, path, _SIZE)
    if flags is None:
        return (_map(SlotRole.TENSOR_MAP, f"{label}.map", path), *tail)
    return (
        _address(SlotRole.BASE, f"{label}.base", f"*{type_.element.name}", path),
        *_extents(type_.rank, label, path, _WIDE_SIZE),
        *(
            _plain(SlotRole.FLAG, f"{label}.{flag}", _FLAG, path, part=part)
            for part, flag in enumerate(flags)
        ),
        *tail,
    )


def _extents(rank: int, label: str, path: tuple[int, ...], size: Scalar) -> tuple[Slot, ...]:
    return tuple(
        _plain(role, f"{label}.{word}[{part}]", scalar, path, part=part)
        for role, word, scalar in (
            (SlotRole.SHAPE, "shape", size),
            (SlotRole.STRIDE, "strides", _WIDE_SIZE),
        )
        for part in range(rank)
    )


def _check_descriptors(signature: Signature, metadata: LaunchMetadata, release: _Release) -> None:
    found = [
        (leaf, leaf.argument.type)
        for leaf in leaves(signature)
        if isinstance(leaf.argument.type, DescriptorType)
    ]
    described = metadata.tensor_descriptors
    for leaf, type_ in found:
        if type_.rank > MOST_RANK:
            problem = f"{type_} has rank {type_.rank}"
            _refuse(signature, leaf, problem, f"a tensor descriptor has at most rank {MOST_RANK}")
        unknown = _release_problem(leaf, type_, metadata.triton_version, release)
        if unknown is not None:
            hint = "--triton-version says which release compiled the kernel"
            _refuse(signature, leaf, unknown, hint)
    if described and len(found) != len(described):
        raise MetadataError(
            Diagnostic(
                f"the signature has {len(found)} tensor descriptors, tensordesc_meta "
                f"{len(described)}",
                hint="a descriptor is written tensordesc<T[sizes]>, as Triton does",
            )
        )
    for (leaf, type_), meta in zip(found, described, strict=False):
        if type_.im2col is not meta.is_im2col:
            problem = f"{type_} does not fit is_im2col of its entry in tensordesc_meta"
            _refuse(signature, leaf, problem, "tensordesc and tensordesc_im2col are two types")
        # An im2col entry holds pixels per column and channels per pixel instead of a box.
        rank = type_.rank if meta.is_im2col else len(meta.block_size)
        if rank != type_.rank:
            problem = f"{type_} has rank {type_.rank}, its block_size in tensordesc_meta {rank}"
            _refuse(signature, leaf, problem, "each is that of the same descriptor")


def _release_problem(
    leaf: Leaf, type_: DescriptorType, version: Version | None, release: _Release
) -> str | None:
    """Return why a release cannot have compiled this descriptor, None if it can."""
    if version is None:
        return "how a kernel takes a tensor descriptor depends on the release, which is not known"
    shown = f"Triton {version[0]}.{version[1]}"
    if release.flags is None:
        return f"{shown} has no tensor descriptors as arguments, only {TENSOR_MAP}"
    if not release.newest_forms and len(leaf.path) > 1:
        return f"{shown} takes no tensor descriptors inside tuples"
    if not release.newest_forms and type_.im2col:
        return f"{shown} has no im2col descriptors"
    return None


def _refuse(signature: Signature, leaf: Leaf, problem: str, hint: str) -> NoReturn:
    raise MetadataError(
        Diagnostic(problem, source=signature.source, span=leaf.argument.span, hint=hint)
    )


def _check_scratch(role: SlotRole, scratch: Scratch, metadata: LaunchMetadata) -> None:
    """Refuse scratch that a kernel of this release cannot be told of."""
    version = metadata.triton_version
    if scratch.size == 0 or role in _hidden_roles(version, metadata.hidden_scratch):
        return
    who = "without a Triton version" if version is None else f"of Triton {version[0]}.{version[1]}"
    raise MetadataError(
        Diagnostic(
            f"{scratch.size} bytes of {role.value} are asked for, but a kernel {who} has no "
            "parameter for it",
            hint="--triton-version says which release compiled the kernel",
        )
    )


def _check_width(signature: Signature) -> None:
    found = width(signature)
    if found > MOST_ARGUMENTS:
        problem = f"the kernel has {found:,} arguments, those in tuples included"
        hint = f"a launcher takes at most {MOST_ARGUMENTS:,}"
        raise UnsupportedError(Diagnostic(problem, hint=hint))


def _check_size(total: int, metadata: LaunchMetadata, target: Target) -> None:
    limit = target.large_parameter_bytes
    if metadata.capability is not None and metadata.capability < target.large_parameters_since:
        limit = target.parameter_bytes
    if total > limit:
        problem = f"the kernel's parameters have {total:,} bytes, and {target.name} passes at most "
        hint = "put what is large into device memory and pass its address"
        raise UnsupportedError(Diagnostic(f"{problem}{limit:,}", hint=hint))
