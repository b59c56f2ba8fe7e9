"""Time of a whole ``launchgen emit`` against that of importing its libraries alone."""

from __future__ import annotations

import functools
import sys
import tempfile
from pathlib import Path

from measure import (
    ROOT,
    compare,
    cpu_seconds,
    emit_command,
    interleave,
    options,
    report,
    run,
    with_bytecode,
)

BAR = 1.7


def main() -> None:
    """Measure and print."""
    arguments = options(__doc__ or "", rounds=40).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # Caches of its own, filled by the first rounds, so that nothing else is disturbed.
        environment = with_bytecode() | {
            "PYTHONPYCACHEPREFIX": f"{folder}/bytecode",
            "XDG_CACHE_HOME": f"{folder}/cache",
        }
        launchgen = emit_command(Path(folder) / "add")
        imports = [sys.executable, "-c", "import click, jinja2"]
        help_text = [sys.executable, "-m", "launchgen", "--help"]
        click = [sys.executable, "-c", "import click"]
        for command in (launchgen, imports, help_text, click):
            run(command, cwd=ROOT, env=environment)
        found = interleave(
            {
                name: functools.partial(cpu_seconds, command, cwd=ROOT, env=environment)
                for name, command in {
                    "launchgen": launchgen,
                    "imports": imports,
                    "help": help_text,
                    "click": click,
                }.items()
            },
            rounds=arguments.rounds,
        )
    milliseconds = {name: [1e3 * value for value in values] for name, values in found.items()}
    rows = [
        compare(
            "emit / import click, jinja2",
            milliseconds["launchgen"],
            milliseconds["imports"],
            unit="ms",
            bar=BAR,
        ),
        compare("--help / import click", milliseconds["help"], milliseconds["click"], unit="ms"),
    ]
    report(
        "launchgen as a whole process (processor time, bytecode cached)",
        ("launchgen", "imports"),
        rows,
        as_json=arguments.json,
    )


if __name__ == "__main__":
    main()
