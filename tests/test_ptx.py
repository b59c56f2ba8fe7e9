"""PTX: what it says of its kernels, beside the cubins that ptxas made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchgen.image import read_cubin
from launchgen.ptx import read_ptx

KERNELS = sorted((Path(__file__).parent / "kernels").rglob("*.ptx"))


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_ptx_of_triton_says_what_its_cubin_says(path: Path) -> None:
    ptx = read_ptx(path.read_text(encoding="utf-8"))
    cubin = read_cubin(path.with_suffix(".cubin").read_bytes())
    assert ptx.entries == cubin.entries
    assert ptx.architecture.is_virtual
    assert ptx.architecture.capability == cubin.architecture.capability
    assert ptx.architecture.suffix == cubin.architecture.suffix
