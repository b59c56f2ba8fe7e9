"""Whether a signature and launch metadata agree with the image, and what to say if not.

A kernel that is handed another list of parameters than it was compiled for reads whatever lies
there.  The image has the exact list of sizes, so that nothing has to be believed.  What it cannot
show is which of the types of one size a parameter has (``i32``, ``u32``, ``fp32``), and hints;
types and hints are in Triton's IR (``ir_agreement.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from launchgen.abi import ADDRESS_BYTES, Slot, is_hidden, release_with, slot_text
from launchgen.diagnostics import Diagnostic, MismatchError, Source
from launchgen.image import Dimensions, Entry, Parameter, dimensions_text
from launchgen.metadata import LaunchMetadata, Version
from launchgen.notation import Constant, Hint, Signature, leaf_label, leaves
from launchgen.pairing import Row, fits, pair
from launchgen.scalars import SCALARS


def check_parameters(
    slots: tuple[Slot, ...],
    entry: Entry,
    *,
    signature: Signature,
    metadata: LaunchMetadata,
    place: str,
) -> None:
    """Raise MismatchError where the image's parameters are not the signature's slots.

    ``place`` is what the image is called.
    """
    if len(slots) == len(entry.parameters) and all(map(fits, slots, entry.parameters)):
        return
    rows = pair(slots, entry.parameters)
    problems = describe(rows)
    wrong = next(at for at, row in enumerate(rows) if not row.agrees)
    first = _shifts(rows, wrong)
    raise MismatchError(
        Diagnostic(
            f"{_among(rows, first, wrong)}{problems[wrong]}",
            source=Source(place, ""),
            details=(f"{entry.name} in {place}, beside the signature:", *table(rows)),
            hint=_cause(rows, range(first, wrong + 1), signature, metadata),
        )
    )


def describe(rows: Sequence[Row]) -> dict[int, str]:
    """Return what is wrong with each row that disagrees, by its index.

    A launcher says the same of a kernel that it loaded: ``templates/runtime/parameters.c``.
    """
    count = sum(row.parameter is not None for row in rows)
    return {at: _describe(row, count) for at, row in enumerate(rows) if not row.agrees}


def _describe(row: Row, count: int) -> str:
    slot, parameter = row.slot, row.parameter
    if slot is None:
        size = parameter.size if parameter is not None else 0
        return f"parameter {row.ordinal} of the image has no argument ({size} bytes)"
    if parameter is None:
        return f"{slot_text(slot)} has no parameter in the image, which has {count}"
    if slot.size != parameter.size:
        return (
            f"{slot_text(slot)} has {slot.size} bytes, but parameter {row.ordinal} of the image "
            f"has {parameter.size}"
        )
    if slot.pointer:
        return f"{slot_text(slot)} is an address, but parameter {row.ordinal} of the image is none"
    return f"{slot_text(slot)} is no address, but parameter {row.ordinal} of the image is one"


def _shifts(rows: Sequence[Row], wrong: int) -> int:
    """Return the first row at which the gap may be as well: what follows fits one place on."""
    gap = rows[wrong]
    first = wrong
    while first and (gap.slot is None or gap.parameter is None):
        before, behind = rows[first - 1], rows[first]
        slot = before.slot if gap.slot is None else behind.slot
        parameter = behind.parameter if gap.slot is None else before.parameter
        if slot is None or parameter is None or not fits(slot, parameter):
            break
        first -= 1
    return first


def _among(rows: Sequence[Row], first: int, wrong: int) -> str:
    """Return which slots or parameters the one too many may be, where several may be."""
    if first == wrong:
        return ""
    if rows[wrong].slot is None:
        ordinals = f"{rows[first].ordinal} to {rows[wrong].ordinal}"
        return f"one of parameters {ordinals} is not in the signature: "
    names = [f"'{row.slot.label}'" for row in rows[first : wrong + 1] if row.slot is not None]
    if len(names) <= _MOST_NAMED:
        return f"one of {', '.join(names)} is too much: "
    return f"one of {names[0]} to {names[-1]} is too much: "


_MOST_NAMED: Final = 8
_AROUND: Final = 12


def table(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the rows as lines, the first wrong one marked; of a long list what is around it."""
    wrong = next((at for at, row in enumerate(rows) if not row.agrees), 0)
    begin, end = max(0, wrong - _AROUND), min(len(rows), wrong + _AROUND + 1)
    cells = [("", "slot", "signature", "bytes", "image")]
    for at, row in enumerate(rows[begin:end], begin):
        mark = "" if row.agrees else ">" if at == wrong else "!"
        cells.append((mark, *_cells(row)))
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = [
        f"{mark:1} {slot:>{widths[1]}}  {text:{widths[2]}}  {size:>{widths[3]}}  {image}".rstrip()
        for mark, slot, text, size, image in cells
    ]
    before = [f"  ... {begin} more"] if begin else []
    after = [f"  ... {len(rows) - end} more"] if end < len(rows) else []
    return (lines[0], *before, *lines[1:], *after)


def _cells(row: Row) -> tuple[str, str, str, str]:
    slot, parameter = row.slot, row.parameter
    text = f"{slot.label}: {slot.type}" if slot is not None else "-"
    size = str(slot.size) if slot is not None else ""
    number = "" if row.ordinal is None else str(row.ordinal)
    if parameter is None:
        return number, text, size, "-"
    return number, text, size, f"{parameter.size}{', an address' if parameter.pointer else ''}"


def _cause(
    rows: Sequence[Row], wrong: range, signature: Signature, metadata: LaunchMetadata
) -> str:
    """Return the likely cause of the first disagreement, and what to do about it.

    ``wrong`` are the rows that it may be at.
    """
    slot, parameter = rows[wrong[-1]].slot, rows[wrong[-1]].parameter
    hidden = _hidden_cause(rows, metadata)
    if slot is None:
        missing = _missing_cause(rows, wrong, signature)
        return missing if hidden is None else f"{hidden}; or {missing}"
    if hidden is not None:
        return hidden
    if parameter is not None:
        return _type_cause(slot, parameter)
    if slot.pointer:
        return "an argument that was None when the kernel was compiled is a constexpr"
    return (
        "an argument that was a constexpr when the kernel was compiled is one in the signature "
        "too, and an integer that was always 1 has the hint ':1'"
    )


def _hidden_cause(rows: Sequence[Row], metadata: LaunchMetadata) -> str | None:
    """Return what to say where all arguments agree and only the scratch parameters do not."""
    if any(not row.agrees and row.slot is not None and not is_hidden(row.slot) for row in rows):
        return None
    slots = [row.slot for row in rows if row.slot is not None]
    arguments = [slot for slot in slots if not is_hidden(slot)]
    passed = len(slots) - len(arguments)
    parameters = [row.parameter for row in rows if row.parameter is not None]
    rest = parameters[len(arguments) :]
    release = release_with(len(rest))
    if release is None or not all(map(_is_address, rest)):
        return None
    version = metadata.triton_version
    who = "a kernel of no Triton" if version is None else f"Triton {_dotted(version)}"
    cause = (
        f"{who} has {_counted(passed, 'hidden parameter')} for scratch memory, this image "
        f"{len(rest)}: --triton-version {_dotted(release)} fits"
    )
    declared = passed - len(rest)
    last = arguments[len(arguments) - declared :] if 0 < declared <= len(arguments) else []
    if last and all(slot.pointer for slot in last):
        names = " and ".join(f"'{slot.label}'" for slot in last)
        return f"{cause}; or leave out {names}: the launcher passes scratch memory itself"
    return cause


def _is_address(parameter: Parameter) -> bool:
    return parameter.size == ADDRESS_BYTES and parameter.pointer is not False


def _dotted(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _type_cause(slot: Slot, parameter: Parameter) -> str:
    name = f"'{slot.label}'"
    if parameter.pointer:
        return f"declare {name} as a pointer, such as *fp32"
    fitting = [row.name for row in SCALARS.values() if row.argument and row.size == parameter.size]
    if not fitting:
        return f"declare {name} as bytes[{parameter.size}]"
    return f"declare {name} as one of {', '.join(fitting)}: the image does not tell which"


def _missing_cause(rows: Sequence[Row], wrong: range, signature: Signature) -> str:
    """Return which argument without a slot may stand where the image has a parameter."""
    before = [row.slot.path for row in rows[: wrong[0]] if row.slot is not None and row.slot.path]
    after = [row.slot.path for row in rows[wrong[-1] :] if row.slot is not None and row.slot.path]
    suspects = [
        f"'{leaf_label(signature, leaf.path)}'"
        for leaf in leaves(signature)
        if (isinstance(leaf.argument.type, Constant) or leaf.argument.hint is Hint.EQUALS_1)
        and (not before or leaf.path > before[-1])
        and (not after or leaf.path < after[0])
    ]
    where = f" behind '{leaf_label(signature, before[-1])}'" if before else ""
    missing = f"an argument is missing in the signature{where}"
    if not suspects:
        return missing
    which = " or ".join(suspects[:_MOST_NAMED])
    return f"{missing}, or {which} is no constant: the kernel takes it at run time"


# --- launch metadata and image -------------------------------------------------------------------


def check_launch(metadata: LaunchMetadata, entry: Entry, *, place: str) -> None:
    """Raise MismatchError where the image needs another block or cluster than is launched."""
    found = []
    block, cluster = (metadata.threads, 1, 1), metadata.cluster
    source = Source(place, "")
    if entry.block is not None and entry.block != block:
        problem = (
            f"num_warps is {metadata.num_warps}, which is a block of {dimensions_text(block)} "
            f"threads, but the image needs {dimensions_text(entry.block)}"
        )
        cause = _block_cause(entry.block, metadata.warp_size)
        found.append(Diagnostic(problem, source=source, hint=cause))
    if entry.cluster is not None and entry.cluster != cluster:
        problem = (
            f"a cluster is {dimensions_text(cluster)} blocks by the launch metadata, but the "
            f"image needs {dimensions_text(entry.cluster)}"
        )
        wanted = ",".join(map(str, entry.cluster))
        blocks = math.prod(entry.cluster)
        cause = (
            f"--num-ctas {blocks} says it of Triton's kernels, --cluster {wanted} where the grid "
            "counts blocks"
        )
        found.append(Diagnostic(problem, source=source, hint=cause))
    if found:
        raise MismatchError(*found)


def _block_cause(block: Dimensions, warp_size: int) -> str:
    if block[1:] != (1, 1) or block[0] % warp_size:
        return "launchgen launches whole warps along x; compile the kernel for such a block"
    return f"--num-warps {block[0] // warp_size} fits, if this is the metadata of another kernel"
