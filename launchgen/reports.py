"""Facts as a table for people and as JSON for programs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from launchgen.agreement import describe
from launchgen.image import dimensions_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from launchgen.abi import Slot
    from launchgen.checkup import Checkup, Item
    from launchgen.image import Dimensions
    from launchgen.inspection import InspectedImage, InspectedKernel, Inspection
    from launchgen.pairing import Row

_UNLIMITED = 10_000
"""Columns of a table that goes into a file or a pipe: nothing is cut or folded there."""


def inspection_text(inspection: Inspection, *, is_terminal: bool) -> str:
    """Return every image's kernels as tables: in colour, as wide as the terminal, or plain."""
    from rich.text import Text  # noqa: PLC0415 - only a table needs it

    file = io.StringIO()
    console = _console(file, is_terminal=is_terminal)
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
    return _stripped(file)


def _console(file: io.StringIO, *, is_terminal: bool) -> Console:
    from rich.console import Console  # noqa: PLC0415

    return Console(
        file=file,
        width=None if is_terminal else _UNLIMITED,
        force_terminal=is_terminal,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )


def _stripped(file: io.StringIO) -> str:
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


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


def checkup_text(checkup: Checkup, *, is_terminal: bool) -> str:
    """Return what a machine has as a table, and what to do about what it lacks."""
    from rich.text import Text  # noqa: PLC0415

    file = io.StringIO()
    console = _console(file, is_terminal=is_terminal)
    console.print(_overview(checkup))
    for item in _items(checkup):
        # Libraries that were passed by on the way to the driver are worth knowing of.
        refused = item is checkup.driver and any(place.problem for place in item.looked)
        if item.problem is None and not refused:
            continue
        is_needed = item is checkup.compiler or (item is checkup.driver and checkup.is_refused)
        console.print()
        problem = item.problem or "where it was looked for"
        console.print(Text(f"{item.name}: {problem}", style="red" if is_needed else "bold"))
        if item.looked:
            console.print(_places(item))
        if item.hint is not None:
            console.print(f"  hint: {item.hint}")
    return _stripped(file)


def _items(checkup: Checkup) -> tuple[Item, ...]:
    """Return what has a problem worth a paragraph; that there is no clang is none."""
    return (
        checkup.system,
        checkup.compiler,
        checkup.python,
        checkup.headers,
        checkup.driver,
        checkup.triton,
    )


def _overview(checkup: Checkup) -> Table:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(no_wrap=True)
    first, second, *rest = _items(checkup)
    for item in (first, second, *checkup.compilers, *rest):
        indent = "  " if item in checkup.compilers else ""
        version = item.version or ("-" if item.path is None else "?")
        table.add_row(*map(Text, (indent + item.name, version, item.path or "")))
        if item is checkup.driver:
            for index, gpu in enumerate(checkup.gpus):
                major, minor = gpu.capability
                name = f"{gpu.name}, compute capability {major}.{minor}"
                table.add_row(*map(Text, (f"  GPU {index}", name, "")))
            if not checkup.gpus:
                table.add_row("  GPU", "-", "")
    return table


def _places(item: Item) -> Table:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(no_wrap=True)
    for place in item.looked:
        cells = (f"  {place.origin}", place.path or "-", place.problem or "taken")
        table.add_row(*map(Text, cells))
    return table


def checkup_json(checkup: Checkup) -> str:
    """Return all of it as JSON; null stands for what there is not."""
    gpus = [
        {"name": gpu.name, "compute_capability": ".".join(map(str, gpu.capability))}
        for gpu in checkup.gpus
    ]
    content = {
        "able": checkup.is_able,
        "system": _item(checkup.system),
        "compiler": _item(checkup.compiler),
        "compilers": [_item(item) for item in checkup.compilers],
        "python_headers": _item(checkup.python),
        "cuda_headers": _item(checkup.headers),
        "driver": _item(checkup.driver),
        "gpus": gpus,
        "triton": _item(checkup.triton),
    }
    return json.dumps(content, indent=1)


def _item(item: Item) -> dict[str, Any]:
    return {
        "name": item.name,
        "version": item.version,
        "path": item.path,
        "problem": item.problem,
        "hint": item.hint,
        "looked_at": [
            {"origin": place.origin, "path": place.path, "problem": place.problem}
            for place in item.looked
        ],
    }
