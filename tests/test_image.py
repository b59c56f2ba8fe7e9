"""Cubins, read by launchgen and by pyelftools, and damaged ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from launchgen.architecture import Architecture
from launchgen.image import Entry, read_cubin
from tests.cubin import read_kernel_info

KERNELS = sorted((Path(__file__).parent / "kernels").rglob("*.cubin"))


def entry_names(path: Path) -> list[str]:
    """Return the names of entries as pyelftools sees them."""
    with path.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return sorted(
            symbol.name
            for symbol in table.iter_symbols()
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF"
        )


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_kernels_of_triton_are_read_as_another_reader_reads_them(path: Path) -> None:
    facts = read_cubin(path.read_bytes())
    exact = "a" if "sm90" in path.parent.name else ""
    capability = 90 if exact else 80
    assert facts.architecture == Architecture(capability, exact)
    assert [entry.name for entry in facts.entries] == entry_names(path)
    for entry in facts.entries:
        assert_like_another_reader(path, entry)


def assert_like_another_reader(path: Path, entry: Entry) -> None:
    info = read_kernel_info(path, entry.name)
    found = tuple((at, p.offset, p.size) for at, p in enumerate(entry.parameters))
    assert found == info.parameters
    assert tuple(p.pointer for p in entry.parameters) == info.pointers
    assert (entry.total, entry.block) == (info.total, info.block)
