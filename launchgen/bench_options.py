"""The options of ``launchgen bench``, one entry each; ``call_values.py`` knows what most mean."""

from __future__ import annotations

from typing import Final, NamedTuple

import click

from launchgen.sections import Option

_LAUNCH: Final = "Launch"
_TIMING: Final = "Timing"
_OUTPUT: Final = "Output"

DEFAULT_BUFFER: Final = "256MiB"

BENCH_HELP: Final = """Time the C launcher that was emitted to DIR and compiled there.

Runs it on the GPU: each pointer gets memory of its own, full of zeros, and each scalar the value
that --set gives; each tensor descriptor gets memory for the sizes that --set gives.  Shown are what
the kernel takes, between CUDA events and with the L2 cleared before each run, and what a launch
costs the host.

\b
launchgen bench build/add --grid 977 --set n=1000000 --set alpha=2.5
"""


class Bench(NamedTuple):
    """What was given to ``launchgen bench``, unchecked; None or empty: not given."""

    folder: str
    name: str | None
    grid: str
    set: tuple[str, ...]
    buffer: tuple[str, ...]
    device: int
    warmup: str
    time: str
    quantiles: str
    clear_l2: bool
    as_json: bool


BENCH: Final[tuple[click.Parameter, ...]] = (
    click.Argument(["folder"], metavar="DIR"),
    Option(
        "--name", "-n", section=_LAUNCH, metavar="NAME", help="The launcher, where DIR has several."
    ),
    Option(
        "--grid",
        "-g",
        section=_LAUNCH,
        metavar="X[,Y[,Z]]",
        required=True,
        help="Programs to launch, counted as the launcher does.",
    ),
    Option(
        "--set",
        "-s",
        section=_LAUNCH,
        metavar="NAME=VALUE",
        multiple=True,
        help="The value of a scalar, once for each but those that are promised to be 1; @FILE "
        "holds that of a struct; SIZES as in 4096x4096, outermost first, are those of a "
        "descriptor's tensor.  An element of a tuple is called as in ptrs.1.0, an argument "
        "without a name arg0.",
    ),
    Option(
        "--buffer",
        "-b",
        section=_LAUNCH,
        metavar="[NAME=]SIZE",
        multiple=True,
        help="Memory behind a pointer, or behind each, as in 4096, 64KiB or 2GiB; 0 is a null "
        f"pointer.  [default: {DEFAULT_BUFFER} each]",
    ),
    Option(
        "--device",
        section=_LAUNCH,
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        metavar="N",
        help="The GPU, as the driver counts them.",
    ),
    Option(
        "--warmup",
        section=_TIMING,
        default="25",
        show_default=True,
        metavar="MS",
        help="Milliseconds of runs before those that count.",
    ),
    Option(
        "--time",
        section=_TIMING,
        default="100",
        show_default=True,
        metavar="MS",
        help="Milliseconds of runs that count, clearing included; five runs at least.",
    ),
    Option(
        "--clear-l2/--no-clear-l2",
        section=_TIMING,
        default=True,
        show_default=True,
        help="Overwrite what the last run left in the GPU's cache.",
    ),
    Option(
        "--quantiles",
        section=_OUTPUT,
        default="0.2,0.8",
        show_default=True,
        metavar="LIST",
        help="Which to show beside the median, from 0 to 1.",
    ),
    Option(
        "--json",
        "as_json",
        section=_OUTPUT,
        is_flag=True,
        help="Print JSON, for programs: the time of each run is in it.",
    ),
)
"""Sorted as the help shows them."""
