"""Whether a signature agrees with Triton's IR of the kernel: types, hints and order.

The image has sizes alone; the IR beside it tells ``i32`` from ``fp32`` and knows which promises the
kernel was compiled with.  Signedness it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

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
    names = frozenset(name for typed in theirs for name in (typed.name, _unnumbered(typed.name)))
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
        yield problem, f"declare '{own.slot.label}' as {' or '.join(_spellings(other.type))}"
    if other.hint is not None and own.hint is not other.hint:
        problem = f"{who} lacks the hint ':{other.hint.value}' that the kernel was compiled with"
        hint = f"a value without that property gives wrong results: add ':{other.hint.value}'"
        yield problem, hint
    is_same = own.name in (other.name, _unnumbered(other.name))
    if own.name and own.name in names and not is_same:
        problem = f"{who} stands where the kernel's IR has '{other.slot.label}'"
        yield problem, "arguments stand in the order in which the kernel takes them"


def _typed(slots: tuple[Slot, ...], signature: Signature) -> list[_Typed]:
    by_path = {leaf.path: leaf.argument for leaf in leaves(signature)}
    return [
        _Typed(
            slot=slot,
            type=_ir_type(slot.type),
            hint=by_path[slot.path].hint,
            name=signature.arguments[slot.path[0]].name,
        )
        for slot in slots
        if not is_hidden(slot)
    ]


# The IR repeats the name of a tuple for its elements, which are numbered when it is read.
_NUMBER: Final = re.compile(r"(?:_[0-9]+)+", re.ASCII)


def _unnumbered(name: str) -> str:
    """Return the name of the tuple whose element this may be."""
    numbers = [match for match in _NUMBER.finditer(name) if match.end() == len(name)]
    return name[: numbers[0].start()] if numbers else name


def _spellings(type_: str) -> list[str]:
    """Return the types of a signature that the IR calls so."""
    stars, name = "*" * type_.count("*"), type_.lstrip("*")
    found = [f"{stars}{row.name}" for row in SCALARS.values() if row.mlir == name]
    return found or [type_]


def _ir_type(declared: str) -> str:
    name = declared.lstrip("*k")
    stars = "*" * declared.count("*")
    return f"{stars}{SCALARS[name].mlir if name in SCALARS else name}"
