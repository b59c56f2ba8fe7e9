"""Time of compiling what is emitted for ``add`` against Triton's generated launcher."""

from __future__ import annotations

import functools
import sys
import tempfile
from pathlib import Path

from measure import (
    NO_TRITON,
    Row,
    build_noop_driver,
    compare,
    cpu_seconds,
    emit,
    emitted_compile,
    extension_suffix,
    find_seed,
    interleave,
    options,
    report,
)

BAR_C = 0.4
BAR_PYTHON = 0.85


def main() -> None:
    """Measure and print."""
    arguments = options(__doc__ or "", rounds=15).parse_args()
    seed = find_seed()
    if seed is None:
        sys.exit(NO_TRITON)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        emit(folder / "add")
        build_noop_driver(folder)
        (folder / "seed.c").write_text(seed.source, encoding="utf-8")
        seed_command = seed.compile_command(folder / "seed.c", folder / "seed.so", libraries=folder)
        commands = {
            "seed": (seed_command, folder),
            "c": (emitted_compile(folder / "add", "libadd.so"), folder / "add"),
            "python": (
                emitted_compile(folder / "add", f"add{extension_suffix()}"),
                folder / "add",
            ),
        }
        found = interleave(
            {
                name: functools.partial(cpu_seconds, command, cwd=place)
                for name, (command, place) in commands.items()
            },
            rounds=arguments.rounds,
        )
    milliseconds = {name: [1e3 * value for value in values] for name, values in found.items()}
    rows: list[Row] = [
        compare("C launcher", milliseconds["c"], milliseconds["seed"], unit="ms", bar=BAR_C),
        compare(
            "Python launcher",
            milliseconds["python"],
            milliseconds["seed"],
            unit="ms",
            bar=BAR_PYTHON,
        ),
    ]
    report(
        "Compiling with gcc (processor time)",
        ("launchgen", "Triton 3.6.0"),
        rows,
        as_json=arguments.json,
    )


if __name__ == "__main__":
    main()
