"""Facts as a table for people and as JSON for programs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from launchgen.agreement import describe
from launchgen.consoles import new_console, stripped
from launchgen.image import dimensions_text

if TYPE_CHECKING:
    from launchgen.abi import Slot
    from launchgen.image import Dimensions
    from launchgen.inspection import InspectedImage, InspectedKernel, Inspection
    from launchgen.pairing import Row


def inspection_text(inspection: Inspection, *, is_terminal: bool) -> str:
    """Return every image's kernels as tables: in colour, as wide as the terminal, or plain."""
    from rich.text import Text  # noqa: PLC0415 - only a table needs it

    file = io.StringIO()
    console = new_console(file, is_terminal=is_terminal)
    for image in inspection.images:
        count = len(image.kernels)
        plural = "" if count == 1 else "s"
        console.print(f"{inspection.place}: {image.architecture}, {count} kernel{plural}")
        for kernel in image.kernels:
            console.print()
            console.print(Text(f"{kernel.entry.name}({kernel.signature})", style="bold"))
            for name, text in _facts(kernel):
                console.print(f"  {name:<12}{text}")
            if kernel.rows:
                console.print()
                console.print(_table(kernel))
            for problem in kernel.problems:
                console.print()
                # The table above is its own.
                console.print(Text(str(problem._replace(details=())), style="red"))
        console.print()
    return stripped(file)


def _facts(kernel: InspectedKernel) -> Iterator[tuple[str, str]]:
    yield "signature", kernel.origin or "as given"
    yield "block", _dimensions(kernel.entry.block, "any")
    yield "cluster", _dimensions(kernel.entry.cluster, "not stated")
    yield "parameters", f"{len(kernel.entry.parameters)}, {kernel.entry.total} bytes"
    if kernel.unhinted:
        yield "without :16", ", ".join(kernel.unhinted)


def _dimensions(dimensions: Dimensions | None, otherwise: str) -> str:
    return otherwise if dimensions is None else dimensions_text(dimensions)


def _table(kernel: InspectedKernel) -> Any:  # noqa: ANN401 - rich's, imported only here
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("", no_wrap=True)
    for name in ("#", "offset", "bytes"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("address", "signature", ""):
        table.add_column(name, no_wrap=True)
    problems = describe(kernel.rows)
    for at, row in enumerate(kernel.rows):
        mark = "" if row.agrees else ">"
        cells = (mark, *_image_cells(row), _slot_cell(row.slot), problems.get(at, ""))
        table.add_row(*map(Text, cells), style=None if row.agrees else "red")
    return table


def _image_cells(row: Row) -> tuple[str, str, str, str]:
    parameter = row.parameter
    if parameter is None:
        return "-", "", "", ""
    address = {True: "yes", False: "no", None: "?"}[parameter.pointer]
    return str(row.ordinal), str(parameter.offset), str(parameter.size), address


def _slot_cell(slot: Slot | None) -> str:
    return "-" if slot is None else f"{slot.label}: {slot.type}"


def inspection_json(inspection: Inspection) -> str:
    """Return all of it as JSON; null stands for what the image does not say."""
    content = {
        "file": inspection.place,
        "agrees": inspection.agrees,
        "images": [_image(image) for image in inspection.images],
        "notes": list(inspection.notes),
    }
    return json.dumps(content, indent=1)


def _image(image: InspectedImage) -> dict[str, Any]:
    return {
        "architecture": str(image.architecture),
        "kernels": [_kernel(kernel) for kernel in image.kernels],
    }


def _kernel(kernel: InspectedKernel) -> dict[str, Any]:
    entry = kernel.entry
    problems = describe(kernel.rows)
    return {
        "name": entry.name,
        "signature": str(kernel.signature),
        "signature_origin": kernel.origin,
        "signature_is_guess": kernel.is_guess,
        "block": entry.block,
        "cluster": entry.cluster,
        "parameter_bytes": entry.total,
        "parameters": [_row(row, problems.get(at)) for at, row in enumerate(kernel.rows)],
        "without_alignment_hint": list(kernel.unhinted),
        "problems": [problem.message for problem in kernel.problems],
    }


def _row(row: Row, problem: str | None) -> dict[str, Any]:
    slot, parameter = row.slot, row.parameter
    return {
        "index": row.ordinal,
        "offset": None if parameter is None else parameter.offset,
        "bytes": None if parameter is None else parameter.size,
        "address": None if parameter is None else parameter.pointer,
        "argument": None if slot is None else slot.label,
        "type": None if slot is None else slot.type,
        "problem": problem,
    }
