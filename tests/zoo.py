"""The real kernels under ``tests/kernels``: Triton's own output of several releases.

``NAME.signature.json`` is what was compiled; ``signature_text`` turns it into launchgen's notation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launchgen.signature import is_reserved

KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True)
class Kernel:
    folder: str
    name: str  # of the files; the entry's name is in the metadata

    @property
    def json(self) -> Path:
        return KERNELS / self.folder / f"{self.name}.json"

    @property
    def cubin(self) -> Path:
        return KERNELS / self.folder / f"{self.name}.cubin"

    @property
    def entry(self) -> str:
        return str(json.loads(self.json.read_text())["name"])

    @property
    def signature(self) -> str:
        """Return the signature in launchgen's notation, hints and constants included."""
        described = json.loads((KERNELS / self.folder / f"{self.name}.signature.json").read_text())
        return signature_text(described)

    def __str__(self) -> str:
        return f"{self.folder}/{self.name}"


def signature_text(described: Mapping[str, Any]) -> str:
    constants, hints = described["constants"], described["hints"]
    return ", ".join(
        _argument(name, (index,), type_, constants, hints.get(name))
        for index, (name, type_) in enumerate(described["signature"].items())
    )


def _argument(
    name: str, path: tuple[int, ...], type_: object, constants: Mapping[str, Any], hint: int | None
) -> str:
    # A name that is a type token, as `u8` here, gets an underscore.
    text = f"{name}{'_' * is_reserved(name)}: {_type(path, type_, constants)}"
    if type_ == "constexpr" and name in constants:
        return f"{text} = {constants[name]!r}"
    return text if hint is None else f"{text}:{hint}"


def _type(path: tuple[int, ...], type_: object, constants: Mapping[str, Any]) -> str:
    if isinstance(type_, list):
        leaves = [_type((*path, i), leaf, constants) for i, leaf in enumerate(type_)]
        return f"({', '.join(leaves)}{',' if len(leaves) == 1 else ''})"
    if type_ == "constexpr" and str(path) in constants:
        return repr(constants[str(path)])
    return str(type_)


ZOO = tuple(Kernel(path.parent.name, path.stem) for path in sorted(KERNELS.glob("*/*.cubin")))
