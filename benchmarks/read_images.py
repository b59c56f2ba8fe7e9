"""Reads every image of a folder on one core, infers each kernel's signature and checks it.

With ``--cuobjdump`` some of them are compared with what NVIDIA's own reader says.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from measure import ROOT

from launchgen.abi import slots
from launchgen.agreement import check_parameters
from launchgen.diagnostics import LaunchgenError
from launchgen.guess import guess_signature
from launchgen.image import Entry
from launchgen.images import CompiledImage, read_images
from launchgen.metadata import Overrides, launch_metadata
from launchgen.signature import parse
from launchgen.targets import TARGETS

sys.path.append(str(ROOT))

from tests.cuobjdump import dump, tables

BAR = 400
"""Files a second, read from the page cache."""


@dataclass
class Found:
    """What was found so far."""

    files: int = 0
    bytes: int = 0
    images: int = 0
    entries: int = 0
    parameters: int = 0
    largest: int = 0
    most: int = 0
    architectures: Counter[str] = field(default_factory=Counter)
    errors: list[tuple[Path, str]] = field(default_factory=list)


CUDA = TARGETS["cuda"]
METADATA = launch_metadata(None, Overrides(num_warps=1), target=CUDA)


def read_file(path: Path, found: Found) -> None:
    """Read one file, infer the signatures of its kernels from it, and check them."""
    data = path.read_bytes()
    found.files += 1
    found.bytes += len(data)
    try:
        images = read_images(data)
        for image in images:
            for entry in image.facts.entries:
                infer_and_check(entry, path.name)
    except LaunchgenError as error:
        found.errors.append((path, str(error)))
        return
    count(images, found)


def infer_and_check(entry: Entry, place: str) -> None:
    """Guess a signature, read it back from its text, and compare it with the image."""
    signature = parse(str(guess_signature(entry, hidden=0)))
    listed = slots(signature, METADATA, target=CUDA)
    check_parameters(listed, entry, signature=signature, metadata=METADATA, place=place)


def count(images: tuple[CompiledImage, ...], found: Found) -> None:
    """Count what is in the images of a file."""
    for image in images:
        found.images += 1
        found.architectures[str(image.facts.architecture)] += 1
        for entry in image.facts.entries:
            found.entries += 1
            found.parameters += len(entry.parameters)
            sizes = [parameter.size for parameter in entry.parameters]
            found.largest = max([found.largest, *sizes])
            found.most = max(found.most, len(sizes))


def table(image: CompiledImage) -> str:
    """Return what cuobjdump's table of an image has to be; see ``tests/cuobjdump.py``."""
    lines = [f"capability {image.facts.architecture.capability}"]
    for entry in image.facts.entries:
        lines += ["", f"entry {entry.name}", *rows(entry)]
    return "\n".join(lines) + "\n"


def rows(entry: Entry) -> list[str]:
    """Return an entry's rows, in order of their text."""
    found = [f"parameter {at} {p.offset} {p.size}" for at, p in enumerate(entry.parameters)]
    found += [f"total {entry.total}"] if entry.total else []
    for what, size in (("block", entry.block), ("cluster", entry.cluster)):
        found += [f"{what} {' '.join(map(str, size))}"] if size else []
    return sorted(found)


def simplified(text: str) -> str:
    """Return cuobjdump's table without marks of memory, each entry's rows in order."""
    kernels = []
    for part in text.strip().split("\n\n"):
        head, *found = part.splitlines()
        words = (row.split() for row in found)
        kept = (
            f"parameter {row[1]} {row[3]} {row[5]}" if row[0] == "parameter" else " ".join(row)
            for row in words
        )
        kernels.append("\n".join([head, *sorted(kept)]))
    return "\n\n".join(kernels) + "\n"


def main() -> None:
    """Read and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--suffix", default=".cubin", help="default: %(default)s")
    parser.add_argument("--cuobjdump", type=Path, help="compare with it")
    parser.add_argument("--sample", type=int, default=200, help="so many; default: %(default)s")
    arguments = parser.parse_args()
    paths = sorted(arguments.folder.rglob(f"*{arguments.suffix}"))
    if not paths:
        sys.exit(f"{arguments.folder}: no files *{arguments.suffix}")
    for path in paths:  # into the page cache
        path.read_bytes()
    found = Found()
    begin = time.perf_counter()
    for path in paths:
        read_file(path, found)
    seconds = time.perf_counter() - begin
    report(found, seconds)
    if arguments.cuobjdump:
        bad = {path for path, _ in found.errors}
        good = [path for path in paths if path not in bad]
        sample = random.Random(0).sample(good, min(arguments.sample, len(good)))
        different = [path for path in sample if not agrees(path, arguments.cuobjdump)]
        print(f"\n{len(sample)} compared with cuobjdump, {len(different)} different")
        for path in different:
            print(f"  {path}")
        sys.exit(bool(different))


def agrees(path: Path, cuobjdump: Path) -> bool:
    """Return whether both readers say the same of a cubin."""
    (image,) = read_images(path.read_bytes())
    return table(image) == simplified(tables(dump(cuobjdump, path)))


def report(found: Found, seconds: float) -> None:
    """Print what was found, and how fast."""
    speed = found.files / seconds
    print(f"{found.files} files, {found.bytes / 2**20:.0f} MiB, {len(found.errors)} errors")
    print(f"{speed:.0f} files/s (bar {BAR}: {'ok' if speed >= BAR else 'MISSED'})")
    print(f"{found.images} images, {found.entries} entries, {found.parameters} parameters")
    print(f"largest parameter {found.largest} bytes, most parameters {found.most}")
    print(", ".join(f"{name} {times}" for name, times in sorted(found.architectures.items())))
    for path, error in found.errors[:20]:
        print(f"{path}: {error}")


if __name__ == "__main__":
    main()
