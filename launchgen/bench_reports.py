"""A benchmark as a table and as JSON."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from launchgen.call_values import Buffer, CallValue, Memory, Number, Tensor
from launchgen.consoles import new_console, stripped
from launchgen.image import dimensions_text

if TYPE_CHECKING:
    from launchgen.bench_records import Benchmark
    from launchgen.timings import Summary


def benchmark_text(found: Benchmark, *, is_terminal: bool) -> str:
    """Return what was timed, and how, around a table of the times."""
    from rich.text import Text  # noqa: PLC0415

    file = io.StringIO()
    console = new_console(file, is_terminal=is_terminal)
    console.print(Text(f"{found.launcher}({found.signature})", style="bold"))
    for name, text in _conditions(found):
        console.print(f"  {name:<12}{text}")
    console.print()
    console.print(_times(found))
    console.print()
    for line in _methods(found):
        console.print(Text(line, style="dim"))
    return stripped(file)


def _conditions(found: Benchmark) -> Iterator[tuple[str, str]]:
    device = found.device
    yield "device", f"{device.ordinal}, {device.name}, at most {device.clock_khz / 1000:.0f} MHz"
    yield "grid", dimensions_text(found.grid)
    memory = [
        *_described(found.values, Buffer),
        *_described(found.values, Tensor),
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
                case Tensor():
                    shape = "x".join(map(str, value.shape))
                    yield f"{value.label} {shape} in {_bytes(value.size)}"


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
        case Tensor():
            shape = {"shape": value.shape, "strides": value.strides}
            return {**argument, **shape, "bytes": value.size}


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
