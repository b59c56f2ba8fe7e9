"""Whether a signature agrees with Triton's IR of the kernel: types, hints and order.

The image has sizes alone; the IR beside it tells ``i32`` from ``fp32`` and knows which promises the
kernel was compiled with.  Signedness it does not know.
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
    """Empty: it has none of its own."""


def check_ir(
    slots: tuple[Slot, ...],
    signature: Signature,
    ir_slots: tuple[Slot, ...],
    ir: Signature,
) -> None:
    """Raise MismatchError where Triton's IR has other types, promises or names.

    Signedness may differ, and a hint that the kernel was not compiled with: a caller may promise
    more than is needed.  So may names, unless one stands for another argument in the IR.
    """
    ours, theirs = _typed(slots, signature), _typed(ir_slots, ir)
    place = Source(ir.source.name, "")
    if len(ours) != len(theirs):
        raise MismatchError(
            Diagnostic(
                f"the signature has {len(ours)} parameters, the kernel's IR {len(theirs)}",
                source=place,
                details=(f"in {ir.source.name}: {ir}",),
                hint="without --signature the IR's own is taken",
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
        problem = f"{who} is {other.slot.type} in the kernel's IR"
        yield problem, f"declare '{own.slot.label}' as {other.slot.type}, or unsigned"
    if other.hint is not None and own.hint is not other.hint:
        problem = f"{who} lacks the hint ':{other.hint.value}' that the kernel was compiled with"
        hint = f"a value without that property gives wrong results: add ':{other.hint.value}'"
        yield problem, hint
    if own.name and own.name != other.name and own.name in names:
        problem = f"{who} stands where the kernel's IR has '{other.slot.label}'"
        yield problem, "arguments stand in the order in which the kernel takes them"


def _typed(slots: tuple[Slot, ...], signature: Signature) -> list[_Typed]:
    by_path = {leaf.path: leaf.argument for leaf in leaves(signature)}
    return [
        _Typed(
            slot=slot,
            type=_ir_type(slot.type),
            hint=by_path[slot.path].hint,
            name=by_path[slot.path].name,
        )
        for slot in slots
        if not is_hidden(slot)
    ]


def _ir_type(declared: str) -> str:
    name = declared.lstrip("*k")
    stars = "*" * declared.count("*")
    return f"{stars}{SCALARS[name].mlir if name in SCALARS else name}"
