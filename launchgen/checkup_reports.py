"""What a machine has, as a table and as JSON."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from launchgen.consoles import new_console, stripped
from launchgen.diagnostics import printable

if TYPE_CHECKING:
    from rich.table import Table

    from launchgen.checkup import Checkup, Item


def checkup_text(checkup: Checkup, *, is_terminal: bool) -> str:
    """Return what a machine has as a table, and what to do about what it lacks."""
    from rich.text import Text  # noqa: PLC0415

    file = io.StringIO()
    console = new_console(file, is_terminal=is_terminal)
    console.print(_overview(checkup))
    for item in _items(checkup):
        # Libraries that were passed by on the way to the driver are worth knowing of.
        refused = item is checkup.driver and any(place.problem for place in item.looked)
        if item.problem is None and not refused:
            continue
        is_needed = item is checkup.compiler or (item is checkup.driver and checkup.is_refused)
        console.print()
        problem = item.problem or "where it was looked for"
        console.print(
            Text(printable(f"{item.name}: {problem}"), style="red" if is_needed else "bold")
        )
        if item.looked:
            console.print(_places(item))
        if item.hint is not None:
            console.print(printable(f"  hint: {item.hint}"))
    return stripped(file)


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
        cells = (indent + item.name, version, item.path or "")
        table.add_row(*map(Text, map(printable, cells)))
        if item is checkup.driver:
            for index, gpu in enumerate(checkup.gpus):
                major, minor = gpu.capability
                name = f"{gpu.name}, compute capability {major}.{minor}"
                table.add_row(*map(Text, (f"  GPU {index}", printable(name), "")))
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
        table.add_row(*map(Text, map(printable, cells)))
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
