"""Damages real cubins, PTX and fatbins in every way, and reads what comes of it.

Only ImageError may come of it, within a second and within 2 GiB of address space.  Of an input
that does otherwise the report says where it was written.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from measure import ROOT

from launchgen.diagnostics import ImageError
from launchgen.images import read_images

SUFFIXES = (".cubin", ".ptx", ".fatbin")
MOST_MEMORY = 2 * 2**30
LARGEST = 40_000
"""Bytes of an image that is taken."""

INTERESTING = (
    *(0, 1, 2, 3, 4, 7, 8, 12, 16, 24, 63, 64, 65, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000),
    *(0xFFFE, 0xFFFF, 0x10000, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1),
)
WORDS = (
    *(b".entry ", b".visible ", b".param ", b".align ", b".b8 ", b".u64 ", b".ptr ", b".target "),
    *(
        b".version ",
        b"{",
        b"}",
        b"(",
        b")",
        b"[",
        b"]",
        b",",
        b";",
        b'"',
        b"/*",
        b"*/",
        b"//",
        b"\n",
    ),
    *(b"sm_90a", b".reqntid ", b"0x", b"99999999999", b"\x00", b"\xff", b"\xed\xa0\x80"),
)

Mutation = Callable[[bytearray, random.Random], None]


def flip(data: bytearray, chance: random.Random) -> None:
    """Flip some bits."""
    for _ in range(chance.choice((1, 2, 8, 64))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def overwrite(data: bytearray, chance: random.Random) -> None:
    """Replace a number by one that programs get wrong."""
    form = chance.choice("BHIQ")
    size = struct.calcsize(form)
    if len(data) < size:
        return
    at = chance.randrange(len(data) - size + 1)
    value = chance.choice((*INTERESTING, len(data), len(data) - at))
    struct.pack_into(f"<{form}", data, at, value & (256**size - 1))


def overwrite_head(data: bytearray, chance: random.Random) -> None:
    """Replace a number near the beginning, where headers of files are."""
    head = data[:160]
    overwrite(head, chance)
    data[:160] = head


def truncate(data: bytearray, chance: random.Random) -> None:
    """Cut it off."""
    del data[chance.randrange(len(data)) :]


def splice(data: bytearray, chance: random.Random) -> None:
    """Copy a piece to another place, over what is there or between."""
    begin = chance.randrange(len(data))
    piece = data[begin : begin + chance.choice((1, 8, 24, 64, 500))]
    at = chance.randrange(len(data))
    data[at : at + chance.choice((0, len(piece)))] = piece


def insert_word(data: bytearray, chance: random.Random) -> None:
    """Insert a word of PTX."""
    at = chance.randrange(len(data))
    data[at:at] = chance.choice(WORDS) * chance.choice((1, 1, 1, 2, 1000))


def remove(data: bytearray, chance: random.Random) -> None:
    """Take out a piece."""
    at = chance.randrange(len(data))
    del data[at : at + chance.choice((1, 4, 8, 64))]


def edit_section(data: bytearray, chance: random.Random) -> None:
    """Replace a number in a section's header."""
    if len(data) < 64:
        return
    (at,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    if not count or at + 64 * count > len(data):
        return
    field, form = chance.choice(((0, "I"), (4, "I"), (24, "Q"), (32, "Q"), (40, "I"), (44, "I")))
    place = at + 64 * chance.randrange(count) + field
    (old,) = struct.unpack_from(f"<{form}", data, place)
    value = chance.choice((*INTERESTING, old + 1, old - 1, old * 2, len(data)))
    struct.pack_into(f"<{form}", data, place, value & (256 ** struct.calcsize(form) - 1))


def swap_sections(data: bytearray, chance: random.Random) -> None:
    """Give a section's header to another section."""
    if len(data) < 64:
        return
    (at,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    if not count or at + 64 * count > len(data):
        return
    here, there = (at + 64 * chance.randrange(count) for _ in range(2))
    data[here : here + 64] = data[there : there + 64]


MUTATIONS: tuple[Mutation, ...] = (
    *(flip, overwrite, overwrite_head, truncate, splice, insert_word, remove),
    *(edit_section, edit_section, swap_sections),
)


def seeds() -> list[Path]:
    """Return the images that are damaged."""
    folders = (ROOT / "tests" / "images", ROOT / "tests" / "kernels")
    found = (path for folder in folders for path in sorted(folder.rglob("*")))
    return [p for p in found if p.suffix in SUFFIXES and p.stat().st_size < LARGEST]


def damaged(images: list[bytes], seed: int, run: int) -> bytes:
    """Return the input of a run."""
    chance = random.Random(seed * 1_000_003 + run)
    data = bytearray(chance.choice(images))
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        if data:
            chance.choice(MUTATIONS)(data, chance)
    if chance.random() < 0.1:
        data += chance.choice(images)
    return bytes(data)


class TooSlow(Exception):
    """An input took longer than it may."""


def on_alarm(_number: int, _frame: FrameType | None) -> None:
    raise TooSlow


def outcome(data: bytes, limit: float) -> str:
    """Return what came of reading an input; what is wrong begins with ``!``."""
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        read_images(data)
    except ImageError:
        return "ImageError"
    except TooSlow:
        return f"!more than {limit:g} s"
    except BaseException as error:
        return f"!{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return "read"


def main() -> None:
    """Damage and read."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--limit", type=float, default=1, help="seconds; default: %(default)s")
    arguments = parser.parse_args()
    images = [path.read_bytes() for path in seeds()]
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    signal.signal(signal.SIGALRM, on_alarm)
    found: Counter[str] = Counter()
    slowest = 0.0
    begin = time.perf_counter()
    for run in range(arguments.runs):
        data = damaged(images, arguments.seed, run)
        start = time.perf_counter()
        result = outcome(data, arguments.limit)
        slowest = max(slowest, time.perf_counter() - start)
        found[result] += 1
        if result.startswith("!"):
            with tempfile.NamedTemporaryFile(delete=False, suffix=f"-run{run}") as file:
                file.write(data)
            print(f"run {run}: {result[1:]} ({file.name})")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{arguments.runs} runs over {len(images)} images in {time.perf_counter() - begin:.0f} s")
    print(", ".join(f"{times} {name}" for name, times in sorted(found.items())))
    print(f"slowest {1e3 * slowest:.0f} ms, most memory {memory:.0f} MiB")
    sys.exit(any(name.startswith("!") for name in found))


if __name__ == "__main__":
    main()
