"""A small reader of cubins for tests: what ``.nv.info.<kernel>`` says of parameters and block.

It is deliberately apart from launchgen's own reader, so that the two can be compared.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

Parameter = tuple[int, int, int]  # ordinal, offset, size

_PARAMETER, _WIDE_PARAMETER, _BANK, _TOTAL, _BLOCK = 0x17, 0x45, 0x0A, 0x19, 0x10
_MACHINE = 190


@dataclass(frozen=True)
class KernelInfo:
    parameters: tuple[Parameter, ...]
    pointers: tuple[bool, ...]  # marked as an address in global or constant memory
    total: int
    bank_base: int
    block: tuple[int, int, int] | None


def read_kernel_info(path: Path, entry: str) -> KernelInfo:
    """Return what the image at ``path`` says of ``entry``, parameters sorted by ordinal."""
    parameters: dict[int, tuple[int, int, int]] = {}
    total, bank_base, block = 0, 0, None
    for attribute, payload in _records(_section(path, f".nv.info.{entry}")):
        if attribute == _PARAMETER:
            _, ordinal, offset, bits = struct.unpack("<IHHI", payload)
            parameters[ordinal] = (offset, bits >> 18, bits >> 8 & 15)
        elif attribute == _WIDE_PARAMETER:
            ordinal, offset, size = struct.unpack_from("<HHH", payload, 4)
            parameters[ordinal] = (offset, size, payload[-1])
        elif attribute == _BANK:
            _, bank_base, _ = struct.unpack("<IHH", payload)
        elif attribute == _TOTAL:
            (total,) = struct.unpack("<H", payload)
        elif attribute == _BLOCK:
            x, y, z = struct.unpack("<III", payload)
            block = (x, y, z)
    ordered = sorted(parameters.items())
    return KernelInfo(
        parameters=tuple((ordinal, offset, size) for ordinal, (offset, size, _) in ordered),
        pointers=tuple(space == 4 for _, (_, _, space) in ordered),
        total=total,
        bank_base=bank_base,
        block=block,
    )


def read_parameters(path: Path, entry: str) -> list[Parameter]:
    """Return (ordinal, offset, size) of each parameter, sorted by ordinal."""
    return list(read_kernel_info(path, entry).parameters)


def _section(path: Path, name: str) -> bytes:
    image = ELFFile(io.BytesIO(path.read_bytes()))
    assert image["e_machine"] in (_MACHINE, "EM_CUDA"), f"{path} is no cubin"
    section = image.get_section_by_name(name)
    assert section is not None, f"{path} has no {name}"
    data: bytes = section.data()
    return data


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        form, attribute, value = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == 4:
            yield attribute, data[at : at + value]
            at += value
        else:
            yield attribute, struct.pack("<H", value)
