"""What the benchmarks share: rounds in turn, ratios, a table, JSON, and the kernel they use."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
KERNEL: Final = ROOT / "tests" / "kernels" / "triton-3.6.0-sm90" / "add.json"
SIGNATURE: Final = (
    "x_ptr: *fp32, y_ptr: *fp32, out_ptr: *fp32, n: i32, alpha: fp32, BLOCK: constexpr"
)
ENTRY: Final = "add_kernel"
"""The kernel's name inside the image."""

NO_TRITON: Final = "skipped: Triton is not installed (python -m pip install triton==3.6.0)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One comparison."""

    what: str
    ours: float
    other: float
    unit: str
    ratio: float
    """Or whatever else is compared with the bar."""
    bar: float | None = None
    """The most that ``ratio`` may be."""
    note: str = ""
    rest: tuple[float, ...] = ()
    """What further sides took, for the columns behind the first two."""


def interleave(
    sides: Mapping[str, Callable[[], float]], *, rounds: int, warm_up: int = 2
) -> dict[str, list[float]]:
    """Run every side once in each round and return what each measured, without the first rounds.

    Every other round goes backwards, so that no side always follows the same one.
    """
    found: dict[str, list[float]] = {name: [] for name in sides}
    for index in range(warm_up + rounds):
        for name in reversed(list(sides)) if index % 2 else sides:
            value = sides[name]()
            if index >= warm_up:
                found[name].append(value)
    return found


def compare(  # noqa: PLR0913 - a row has as many columns
    what: str,
    ours: Sequence[float],
    other: Sequence[float],
    *,
    unit: str,
    bar: float | None = None,
    note: str = "",
    rest: Sequence[Sequence[float]] = (),
) -> Row:
    """Return the medians, and the median of the ratios within each round."""
    return Row(
        what=what,
        ours=statistics.median(ours),
        other=statistics.median(other),
        unit=unit,
        ratio=statistics.median(a / b for a, b in zip(ours, other, strict=True)),
        bar=bar,
        note=note or f"best of all rounds {min(ours) / min(other):.2f}",
        rest=tuple(map(statistics.median, rest)),
    )


def report(title: str, columns: tuple[str, ...], rows: Sequence[Row], *, as_json: bool) -> None:
    """Print a table, or the same as JSON; ``columns`` say what the sides are."""
    if as_json:
        print(json.dumps({"title": title, "sides": columns, "rows": [*map(asdict, rows)]}))
        return
    width = max(len(row.what) for row in rows)
    print(f"{title}\n")
    sides = "  ".join(f"{column:>14}" for column in columns)
    print(f"{'':{width}}  {sides}  {'':6}  {'ratio':>7}  {'bar':>6}")
    for row in rows:
        bar = "" if row.bar is None else f"{row.bar:g}"
        verdict = "" if row.bar is None else ("ok" if row.ratio <= row.bar else "MISSED")
        figures = "  ".join(f"{figure:14.3f}" for figure in (row.ours, row.other, *row.rest))
        print(
            f"{row.what:{width}}  {figures}  {row.unit:6}  "
            f"{row.ratio:7.2f}  {bar:>6}  {verdict:6}  {row.note}"
        )
    print()


def options(description: str, *, rounds: int) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def run(command: Sequence[str | Path], **rest: object) -> None:
    """Run a command; end with what it said if it fails."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **rest)  # type: ignore[call-overload]
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nfailed:\n{done.stdout}{done.stderr}")


def cpu_seconds(command: Sequence[str | Path], **rest: object) -> float:
    """Run a command and return its processor time, which other programs disturb least."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(command, **rest)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def emit_command(out: Path, name: str = "add") -> list[str]:
    """Return the command that emits ``add``, under a name, with the default artifacts."""
    return [
        *(sys.executable, "-m", "launchgen", "emit", str(KERNEL), "-s", SIGNATURE),
        *("--name", name, "-o", str(out)),
    ]


def emit(out: Path) -> None:
    """Emit ``add``."""
    run(emit_command(out), cwd=ROOT)


def emitted_compile(folder: Path, product: str) -> list[str]:
    """Return the command by which the emitted Makefile makes one product."""
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", "CC=gcc", f"PYTHON={sys.executable}", product],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("gcc "))
    return [word.strip("'") for word in line.split()]


def extension_suffix() -> str:
    """Return this interpreter's suffix of extension modules."""
    return str(sysconfig.get_config_var("EXT_SUFFIX"))


def python_include() -> str:
    """Return the folder of ``Python.h``."""
    return sysconfig.get_path("include")


def load_module(name: str, path: Path) -> ModuleType:
    """Import an extension module from a file."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True, slots=True)
class Seed:
    """Triton's own generated launcher for ``add``."""

    source: str
    include: Path

    def compile_command(self, source: Path, product: Path, *, libraries: Path) -> list[str]:
        """Return the command of ``triton.runtime.build``, with ``libcuda.so.1`` in a folder."""
        return [
            *("gcc", str(source), "-O3", "-shared", "-fPIC", "-Wno-psabi", "-o", str(product)),
            *("-l:libcuda.so.1", f"-L{libraries}"),
            *(f"-I{self.include}", f"-I{source.parent}", f"-I{python_include()}"),
        ]


def find_seed() -> Seed | None:
    """Return what Triton generates for the same kernel, or None where there is no Triton."""
    try:
        from triton.backends.nvidia import driver  # noqa: PLC0415
    except ImportError:
        return None
    types = [part.split(":")[1].strip() for part in SIGNATURE.split(",")]
    source = driver.make_launcher({}, dict(enumerate(types)), None)
    return Seed(source, Path(driver.__file__).parent / "include")


def build_noop_driver(folder: Path) -> Path:
    """Compile the driver that does nothing; return its file."""
    library = folder / "libcuda.so.1"
    run(
        [
            *("gcc", "-O2", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1"),
            *("-o", library, HERE / "noop_driver.c"),
        ]
    )
    return library


def with_bytecode() -> dict[str, str]:
    """Return an environment in which Python caches bytecode, as it does by default."""
    return {name: os.environ[name] for name in os.environ if name != "PYTHONDONTWRITEBYTECODE"}
