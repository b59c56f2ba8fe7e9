"""Time and memory of compiling a C launcher whose image is printed into the text or included.

The sizes at which both are about the same decide ``launchgen.variants.INLINE_BYTES``.
"""

from __future__ import annotations

import functools
import json
import os
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

from measure import KERNEL, SIGNATURE, emitted_compile, interleave, options

from launchgen import planning, variants
from launchgen.artifacts import ARTIFACTS
from launchgen.metadata import Overrides
from launchgen.rendering import render
from launchgen.sources import read_kernel
from launchgen.targets import TARGETS

SIZES = {
    "4 KiB": 4 << 10,
    "16 KiB": 16 << 10,
    "64 KiB": 64 << 10,
    "256 KiB": 256 << 10,
    "1 MiB": 1 << 20,
    "20 MiB": 20 << 20,
}
# Above it a single round says enough.
LARGE = 1 << 20


def main() -> None:
    """Measure and print."""
    parser = options(__doc__ or "", rounds=9)
    parser.add_argument(
        "--most", choices=list(SIZES), default="20 MiB", help="default: %(default)s"
    )
    arguments = parser.parse_args()
    sizes = dict(list(SIZES.items())[: list(SIZES).index(arguments.most) + 1])
    lines = []
    for name, size in sizes.items():
        found = measure(size, arguments.rounds)
        lines.append({"size": name} | found)
        if not arguments.json:
            if len(lines) == 1:
                print("Compiling a C launcher: its image printed inline, or included (.incbin)\n")
                print(f"{'':8}  {'inline':>10}  {'included':>10}  {'ratio':>6}  {'memory':>17}")
            print(
                f"{name:8}  {found['inline_ms']:7.0f} ms  {found['included_ms']:7.0f} ms  "
                f"{found['inline_ms'] / found['included_ms']:6.2f}  "
                f"{found['inline_mib']:5.0f} / {found['included_mib']:5.0f} MiB",
                flush=True,
            )
    if arguments.json:
        print(json.dumps({"title": "Embedding an image", "rows": lines}))


def measure(size: int, rounds: int) -> dict[str, float]:
    """Return medians of processor time, and the most memory, of both forms."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        kernel = folder / "add.json"
        kernel.write_bytes(KERNEL.read_bytes())
        image = KERNEL.with_suffix(".cubin").read_bytes()
        # Bytes behind an ELF file's end do not matter to who reads it.
        filling = random.Random(size).randbytes(max(size - len(image), 0))
        kernel.with_suffix(".cubin").write_bytes((image + filling)[:size])
        sides = {}
        for name, inline_bytes in {"inline": size, "included": 0}.items():
            emit_form(kernel, folder / name, inline_bytes)
            command = emitted_compile(folder / name, "libadd.so")
            sides[name] = functools.partial(usage, command, folder / name)
        memory = {name: side()[1] for name, side in sides.items()}
        few = 1 if size > LARGE else rounds
        found = interleave(
            {name: lambda side=side: side()[0] for name, side in sides.items()},
            rounds=few,
            warm_up=0,
        )
    return {f"{name}_ms": 1e3 * statistics.median(values) for name, values in found.items()} | {
        f"{name}_mib": value for name, value in memory.items()
    }


def emit_form(kernel: Path, out: Path, inline_bytes: int) -> None:
    """Emit the kernel, with the image in the text up to a size."""
    variants.INLINE_BYTES = inline_bytes  # type: ignore[misc]
    target = next(iter(TARGETS.values()))
    source = read_kernel(
        kernel,
        signature_text=SIGNATURE,
        metadata=None,
        images=(),
        no_image=False,
        name="add",
        overrides=Overrides(),
        target=target,
    )
    plan = planning.make_plan(source, target=target, command="")
    out.mkdir()
    for file in render(plan, artifacts=(ARTIFACTS["c"], ARTIFACTS["make"])).files:
        (out / file.name).write_bytes(file.content)


def usage(command: list[str], folder: Path) -> tuple[float, float]:
    """Run a compiler; return its seconds of processor time and its most memory in MiB."""
    with subprocess.Popen(command, cwd=folder) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{command[0]} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
