"""What ``cuobjdump -elf`` prints of a cubin's kernels, as small tables of text.

NVIDIA's own reader of images is compared with launchgen's: by the tables under ``tests/images/``,
which need no CUDA, and by ``benchmarks/read_images.py``.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

_SECTION = re.compile(r"^\.nv\.info\.(.+)$")
_ATTRIBUTE = re.compile(r"^\tAttribute:\t(\w+)")
_PARAMETER = re.compile(
    r"Ordinal : 0x(\w+)\tOffset  : 0x(\w+)\tSize    : 0x(\w+)\n.*Space : 0x(\w+)", re.MULTILINE
)
_ELF_HEADER = re.compile(r"^64-?bit elf: .*\bsm=(\d+)", re.MULTILINE | re.IGNORECASE)
_ENTRY = re.compile(r"^ +\S+ +\S+ +\S+ +0x[0-9a-f]*2 +0x10 +\S+ +(.+?) *$", re.MULTILINE)


def dump(cuobjdump: Path, image: Path) -> str:
    """Return what it prints of an image."""
    done = subprocess.run(
        [cuobjdump, "-elf", image], capture_output=True, check=True, encoding="utf-8"
    )
    return done.stdout


def tables(text: str) -> str:
    """Return the capability and every kernel's table, kernels in order of their names."""
    capability = _ELF_HEADER.search(text)
    assert capability, text[:200]
    kernels = dict(_kernels(text))
    lines = [f"capability {capability[1]}"]
    for name in sorted(set(_ENTRY.findall(text))):
        lines += ["", f"entry {name}", *kernels.get(name, [])]
    return "\n".join(lines) + "\n"


def _kernels(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each kernel's name and the lines of its table."""
    name, found = "", ""
    for line in [*text.splitlines(), ".nv.info.end"]:
        if section := _SECTION.match(line):
            if name:
                yield name, list(_lines(found))
            name, found = section[1], ""
        elif name and not line.startswith("\t") and line.strip():
            yield name, list(_lines(found))
            name = ""
        elif name:
            found += line + "\n"


def _lines(attributes: str) -> Iterator[str]:
    parameters = []
    for part in re.split(r"^\t<0x.*>\n", attributes, flags=re.MULTILINE):
        attribute = _ATTRIBUTE.match(part)
        value = part.partition("\tValue:\t")[2].strip()
        match attribute[1] if attribute else "":
            case "EIATTR_REQNTID":
                yield f"block {_numbers(value)}"
            case "EIATTR_CTA_PER_CLUSTER":
                yield f"cluster {_numbers(value)}"
            case "EIATTR_CBANK_PARAM_SIZE":
                yield f"total {int(value, 16)}"
            case "EIATTR_KPARAM_INFO" | "EIATTR_KPARAM_INFO_V2":
                numbers = _PARAMETER.search(part)
                assert numbers, part
                parameters.append(tuple(int(number, 16) for number in numbers.groups()))
            case _:
                pass
    for ordinal, offset, size, space in sorted(parameters):
        yield f"parameter {ordinal} offset {offset} size {size} space {space}"


def _numbers(value: str) -> str:
    return " ".join(str(int(word, 16)) for word in value.split())
