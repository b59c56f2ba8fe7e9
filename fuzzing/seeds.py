"""What is begun with: the kernels, images, cases and errors that the tests have already."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Iterable
from pathlib import Path

from tests.made_image import make_cubin, make_fatbin
from tests.zoo import ZOO

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
LARGEST = 16_384
"""Bytes of a seed; what longer ones add takes longer to find than a change of a shorter one."""

OPTIONS = (
    "2,1,1",
    "256:128",
    "3.6.0+git123",
    "3.5.0rc1",
    "64KiB",
    "x=2GiB",
    "n=1024",
    "flag=true",
    "alpha=-1.5e3",
    "d=4096x64",
    "0.2,0.8",
    "100.5",
    "c,cpython,make",
    "-1",
    "0x10",
)


def signatures() -> tuple[bytes, ...]:
    """Return signatures of real kernels, of cases, and wrong ones."""
    kernels = [kernel.signature for kernel in ZOO]
    errors = [path.read_text("utf-8") for path in sorted((TESTS / "errors").glob("*.txt"))]
    return _unique(text.encode() for text in (*kernels, *_cases(), *errors))


def _cases() -> list[str]:
    """Return the signatures on the command lines of ``tests/cases``."""
    found = []
    for path in sorted((TESTS / "cases").glob("*.txt")):
        words = shlex.split(path.read_text("utf-8"), comments=True)
        found += [
            value
            for option, value in itertools.pairwise(words)
            if option in {"-s", "--signature"} and not value.startswith("@")
        ]
    return found


def metadata() -> tuple[bytes, ...]:
    """Return Triton's JSON of each release."""
    return _unique(kernel.json.read_bytes() for kernel in ZOO)


def level0() -> tuple[bytes, ...]:
    """Return Meta's JSON: what is emitted, and the same with every field set."""
    (path,) = (ROOT / "snapshots").rglob("*.launch_metadata")
    text = path.read_bytes()
    full = {
        **json.loads(text),
        "cluster_dims": [2, 1, 1],
        "preferred_cluster_dims": [4, 1, 1],
        "launch_cluster": True,
        "global_scratch_size": 256,
        "global_scratch_align": 128,
        "args": [
            {"name": "p", "type": "('*fp32', ('i32', 'constexpr'))", "index": 0},
            {"name": "d", "type": "tensordesc<fp16[64, 64]>", "index": 1},
            {"name": "n", "type": "i64", "index": 3, "divisible_by": 16},
        ],
        "constants": {"2": "relu", "(0, 1)": 4, "4": None, "5": 1.5, "6": [1]},
        "tensordesc_meta": [
            {"swizzle": 3, "elem_size": 2, "elem_type": 6, "block_size": [64, 64]},
        ],
    }
    return _unique((text, json.dumps(full).encode()))


def ir() -> tuple[bytes, ...]:
    """Return the IR of each kernel and release."""
    return _unique(path.read_bytes() for path in (TESTS / "kernels").rglob("*.ttir"))


def images(suffix: str) -> tuple[bytes, ...]:
    """Return the images in files of one kind, and short ones that are made up."""
    folders = (TESTS / "images", TESTS / "kernels")
    paths = [path for folder in folders for path in sorted(folder.rglob(f"*{suffix}"))]
    cubins = (make_cubin("k", ()), make_cubin("k", ((8, True), (4, False), (24, False)), block=128))
    made_up = {".cubin": cubins, ".fatbin": (make_fatbin(cubins),)}
    return _unique((*(path.read_bytes() for path in paths), *made_up.get(suffix, ())))


def emitted() -> tuple[bytes, ...]:
    """Return beginning and end of each emitted source: its banner, and the module's name."""
    most = LARGEST // 8
    sources = [path.read_bytes() for path in (ROOT / "snapshots").rglob("*.c")]
    return _unique(data[:most] + data[-most:] for data in sources)


def options() -> tuple[bytes, ...]:
    """Return values of options."""
    return _unique(text.encode() for text in OPTIONS)


def _unique(found: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return each that is no longer than ``LARGEST`` once, in an order that no disk decides."""
    return tuple(sorted({data for data in found if len(data) <= LARGEST}))


def kept(target: str) -> dict[str, bytes]:
    """Return the inputs of ``tests/fuzzed/`` by their names."""
    folder = TESTS / "fuzzed" / target
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return {path.name: path.read_bytes() for path in paths}
