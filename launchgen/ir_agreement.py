"""Whether a signature agrees with what lies beside the image: types, hints and order.

The image has sizes alone; Triton's IR and Meta's metadata tell ``i32`` from ``fp32`` and know which
promises the kernel was compiled with.  The IR does not know signedness.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from launchgen.abi import Slot, is_hidden, slot_text
from launchgen.diagnostics import Diagnostic, MismatchError, Source
from launchgen.notation import Hint, Signature, leaves
from launchgen.scalars import SCALARS


class _Typed(NamedTuple):
    """A slot as the IR can say it."""

    slot: Slot
    type: str
    """Without what the IR does not know: signedness, and which memory is only read."""
    hint: Hint | None
    name: str
    """Of the source argument; empty: its position names it."""


def check_ir(
    slots: tuple[Slot, ...],
    signature: Signature,
    ir_slots: tuple[Slot, ...],
    ir: Signature,
    owners: tuple[str, ...],
) -> None:
    """Raise MismatchError where a description of the kernel has other types, promises or names.

    Signedness may differ, and a hint that the kernel was not compiled with: a caller may promise
    more than is needed.  So may names, unless one stands for another argument there.
    """
    ours = _typed(slots, signature, tuple(each.name for each in signature.arguments))
    theirs = _typed(ir_slots, ir, owners)
    place = Source(ir.source.name, "")
    if len(ours) != len(theirs):
        raise MismatchError(
            Diagnostic(
                f"describes {len(theirs)} parameters, and the signature has {len(ours)}",
                source=place,
                details=(f"it describes: {ir}",),
                hint="without --signature what it describes is taken",
            )
        )
    names = frozenset(typed.name for typed in theirs)
    found = [
        Diagnostic(problem, source=place, hint=hint)
        for own, other in zip(ours, theirs, strict=True)
        for problem, hint in _differences(own, other, names)
    ]
    if found:
        raise MismatchError(*found)


def _differences(own: _Typed, other: _Typed, names: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield each problem with a slot, and what to do about it."""
    who = slot_text(own.slot)
    if own.type != other.type:
        problem = f"{who} is {other.slot.type} there"
        yield problem, f"declare '{own.slot.label}' as {' or '.join(_spellings(other.type))}"
    if other.hint is not None and own.hint is not other.hint:
        problem = f"{who} lacks the hint ':{other.hint.value}' that the kernel was compiled with"
        hint = f"a value without that property gives wrong results: add ':{other.hint.value}'"
        yield problem, hint
    if own.name and own.name != other.name and own.name in names:
        problem = f"{who} stands in the place of '{other.slot.label}'"
        yield problem, "arguments stand in the order in which the kernel takes them"


def _typed(slots: tuple[Slot, ...], signature: Signature, owners: tuple[str, ...]) -> list[_Typed]:
    by_path = {leaf.path: leaf.argument for leaf in leaves(signature)}
    return [
        _Typed(
            slot=slot,
            type=_ir_type(slot.type),
            hint=by_path[slot.path].hint,
            name=owners[slot.path[0]],
        )
        for slot in slots
        if not is_hidden(slot)
    ]


def _spellings(type_: str) -> list[str]:
    """Return the types of a signature that the IR calls so."""
    stars, name = "*" * type_.count("*"), type_.lstrip("*")
    found = [f"{stars}{row.name}" for row in SCALARS.values() if row.mlir == name]
    return found or [type_]


def _ir_type(declared: str) -> str:
    name = declared.lstrip("*k")
    stars = "*" * declared.count("*")
    return f"{stars}{SCALARS[name].mlir if name in SCALARS else name}"
