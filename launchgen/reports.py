"""Facts as a table for people and as JSON for programs."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from launchgen.agreement import describe
from launchgen.call_values import Buffer, CallValue, Memory, Number
from launchgen.image import dimensions_text

if TYPE_CHECKING:
    from launchgen.abi import Slot
    from launchgen.bench_records import Benchmark
    from launchgen.image import Dimensions
    from launchgen.inspection import InspectedImage, InspectedKernel, Inspection
    from launchgen.pairing import Row
    from launchgen.timings import Summary

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
    return _text(file)


def _console(file: io.StringIO, *, is_terminal: bool) -> Any:  # noqa: ANN401 - rich's
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


def _text(file: io.StringIO) -> str:
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


def benchmark_text(found: Benchmark, *, is_terminal: bool) -> str:
    """Return what was timed, and how, around a table of the times."""
    from rich.text import Text  # noqa: PLC0415

    file = io.StringIO()
    console = _console(file, is_terminal=is_terminal)
    console.print(Text(f"{found.launcher}({found.signature})", style="bold"))
    for name, text in _conditions(found):
        console.print(f"  {name:<12}{text}")
    console.print()
    console.print(_times(found))
    console.print()
    for line in _methods(found):
        console.print(Text(line, style="dim"))
    return _text(file)


def _conditions(found: Benchmark) -> Iterator[tuple[str, str]]:
    device = found.device
    yield "device", f"{device.ordinal}, {device.name}, at most {device.clock_khz / 1000:.0f} MHz"
    yield "grid", dimensions_text(found.grid)
    memory = [
        *_described(found.values, Buffer),
        *(f"{n} {_bytes(size)}" for n, size in found.scratch),
    ]
    if memory:
        yield "memory", f"{', '.join(memory)}; all zero at first"
    values = [*_described(found.values, Number), *_described(found.values, Memory)]
    if values:
        yield "values", ", ".join(values)
    cleared = f"cleared before each run, by writing {_bytes(found.cleared)}"
    yield "L2", cleared if found.cleared else "as the last run left it"


def _methods(found: Benchmark) -> Iterator[str]:
    host = found.host
    warm = f"{found.warmup_runs} before them to warm up"
    yield f"kernel: {found.kernel.count} runs between CUDA events, {warm}; clocks were not locked"
    yield (
        f"launch: what it costs the host, in {host.summary.count} rounds of {host.launches}: "
        f"{_microseconds(host.call)} from Python, less {_microseconds(host.empty)} that a call "
        "with an empty grid takes"
    )


def _times(found: Benchmark) -> Any:  # noqa: ANN401 - rich's
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("", no_wrap=True)
    parts = [f"{100 * part:g} %" for part, _ in found.kernel.quantiles]
    for name in ("median", "mean", "min", *parts, "max"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, summary in (("kernel", found.kernel), ("launch", found.host.summary)):
        table.add_row(name, *map(_microseconds, _listed(summary)))
    return table


def _listed(summary: Summary) -> Iterator[float]:
    yield from (summary.median, summary.mean, summary.least)
    yield from (time for _, time in summary.quantiles)
    yield summary.most


_UNITS: Final = ((1e6, "s"), (1e3, "ms"))
_SIZES: Final = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def _microseconds(time: float) -> str:
    scale, unit = next((row for row in _UNITS if time >= row[0]), (1, "us"))
    return f"{time / scale:.2f} {unit}"


def _bytes(size: int) -> str:
    scale, unit = next((row for row in _SIZES if size and size % row[0] == 0), (1, "bytes"))
    return f"{size // scale} {unit}" if size else "null"


def _described(values: tuple[CallValue, ...], kind: type[CallValue]) -> Iterator[str]:
    for value in values:
        if isinstance(value, kind):
            match value:
                case Buffer(label, _, size):
                    yield f"{label} {_bytes(size)}"
                case Number(label):
                    yield f"{label} = {value.value}"
                case Memory(label, _, content):
                    yield f"{label} of {len(content)} bytes"


def _argument(value: CallValue) -> dict[str, Any]:
    argument = {"name": value.label, "type": value.declared}
    match value:
        case Buffer():
            return {**argument, "bytes": value.size}
        case Number():
            # JSON has neither infinity nor NaN.
            shown = value.value if math.isfinite(value.value) else str(value.value)
            return {**argument, "value": shown}
        case Memory():
            return {**argument, "bytes": len(value.content)}


def benchmark_json(found: Benchmark) -> str:
    """Return all of it as JSON, times in microseconds, with that of each run."""
    device, host = found.device, found.host
    content = {
        "launcher": found.launcher,
        "signature": found.signature,
        "grid": found.grid,
        "arguments": [_argument(value) for value in found.values],
        "scratch_bytes": dict(found.scratch),
        "device": {
            "ordinal": device.ordinal,
            "name": device.name,
            "capability": device.capability,
            "l2_bytes": device.l2_bytes,
            "most_mhz": device.clock_khz / 1000,
        },
        "l2_cleared_bytes": found.cleared,
        "kernel_us": {
            "warmup_runs": found.warmup_runs,
            **_summary(found.kernel),
            "times": found.times,
        },
        "launch_us": {
            "launches_a_round": host.launches,
            **_summary(host.summary),
            "call_from_python": host.call,
            "call_with_empty_grid": host.empty,
        },
        "notes": list(found.notes),
    }
    return json.dumps(content, indent=1)


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "count": summary.count,
        "median": summary.median,
        "mean": summary.mean,
        "min": summary.least,
        "max": summary.most,
        "quantiles": {f"{part:g}": time for part, time in summary.quantiles},
    }
