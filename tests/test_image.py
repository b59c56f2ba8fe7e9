"""Cubins, read by launchgen and by pyelftools, and damaged ones."""

from __future__ import annotations

import contextlib
import re
import struct
import time
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from hypothesis import given, settings
from hypothesis import strategies as st

from launchgen.architecture import Architecture
from launchgen.diagnostics import ImageError
from launchgen.elf import read_elf
from launchgen.image import Entry, ImageFacts, Parameter, read_cubin
from launchgen.nvinfo import MarkedParameter, read_kernel_info
from tests import cubin

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
    info = cubin.read_kernel_info(path, entry.name)
    found = tuple((at, p.offset, p.size) for at, p in enumerate(entry.parameters))
    assert found == info.parameters
    assert tuple(p.pointer for p in entry.parameters) == info.pointers
    assert (entry.total, entry.block) == (info.total, info.block)


# --- what cuobjdump says -----------------------------------------------------------------------

IMAGES = sorted((Path(__file__).parent / "images").glob("*.cubin"))
TABLES = [path for path in IMAGES if path.with_suffix(".txt").exists()]


def read_table(path: Path) -> ImageFacts:
    """Return what a table made by ``tests/images/make.py`` says."""
    head, *kernels = path.read_text(encoding="utf-8").strip().split("\n\n")
    target = re.fullmatch(r"target sm_(\d+)([af]?)\ncapability (\d+)", head)
    assert target
    assert target[1] == target[3]
    entries = tuple(map(read_entry, kernels))
    return ImageFacts(Architecture(int(target[1]), target[2]), entries)


def read_entry(text: str) -> Entry:
    name = text.split()[1]
    rows = [line.split() for line in text.splitlines()]
    parameters = [row for row in rows if row[0] == "parameter"]
    assert [int(row[1]) for row in parameters] == list(range(len(parameters)))
    is_marked = any(row[7] != "0" for row in parameters)
    return Entry(
        name=name,
        parameters=tuple(
            Parameter(int(row[3]), int(row[5]), pointer(row[5], row[7], is_marked=is_marked))
            for row in parameters
        ),
        total=next((int(row[1]) for row in rows if row[0] == "total"), 0),
        block=dimensions(rows, "block"),
        cluster=dimensions(rows, "cluster"),
    )


def pointer(size: str, space: str, *, is_marked: bool) -> bool | None:
    if size != "8":
        return False
    return space in {"3", "4", "5"} if is_marked else None


def dimensions(rows: list[list[str]], what: str) -> tuple[int, int, int] | None:
    for row in rows:
        if row[0] == what:
            x, y, z = map(int, row[1:])
            return x, y, z
    return None


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_images_are_read_as_cuobjdump_reads_them(path: Path) -> None:
    assert read_cubin(path.read_bytes()) == read_table(path.with_suffix(".txt"))


def test_tables_cover_every_release_and_architecture() -> None:
    targets = {str(read_table(path.with_suffix(".txt")).architecture) for path in TABLES}
    wanted = "50 70 75 80 90 90a 100 100a 100f 103a 103f 110 110a 120 120f 121 121f"
    assert targets == {f"sm_{target}" for target in wanted.split()}
    makers = {path.name.split("-")[0] for path in TABLES}
    assert makers == {
        "nvcc13.0",
        *(f"ptxas{it}" for it in ("11.8", "12.8", "12.9", "13.0", "13.5")),
    }


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_images_are_read_as_pyelftools_reads_them(path: Path) -> None:
    for entry in read_cubin(path.read_bytes()).entries:
        info = cubin.read_kernel_info(path, entry.name)
        found = tuple((at, p.offset, p.size) for at, p in enumerate(entry.parameters))
        assert found == info.parameters
        assert (entry.total, entry.block) == (info.total, info.block)


# --- what tells an architecture when the assembler's command line was stripped -------------------


def stripped(stem: str) -> bytes:
    """Return an image without the note of the tools that made it."""
    data = IMAGES[0].with_name(f"{stem}.cubin").read_bytes()
    return data.replace(b"-arch sm_", b"-xxxx sm_")


def of_isa_class(stem: str, isa_class: int) -> bytes:
    data = stripped(stem)
    at = struct.unpack_from("<Q", data, section(".nv.compat", data) + 24)[0]
    at = data.index(b"\x02\x02", at)
    return data[: at + 2] + bytes([isa_class]) + data[at + 3 :]


def architecture(data: bytes) -> str:
    return str(read_cubin(data).architecture)


def test_an_exact_image_is_known_without_its_command_line() -> None:
    assert architecture(stripped("nvcc13.0-sm_90a-kernels")) == "sm_90a"
    assert architecture(stripped("ptxas13.5-sm_100a-types")) == "sm_100a"
    assert architecture(stripped("ptxas12.9-sm_103a-types")) == "sm_103a"
    assert architecture(stripped("ptxas12.9-sm_90a-types")) == "sm_90a"


def test_the_instructions_of_an_image_say_which_devices_have_them() -> None:
    # Without any of its family, an image for sm_100f is one for sm_100.
    assert architecture(of_isa_class("ptxas12.9-sm_100f-types", 1)) == "sm_100"
    assert architecture(of_isa_class("ptxas12.9-sm_100f-types", 2)) == "sm_100f"
    assert architecture(of_isa_class("ptxas12.9-sm_100f-types", 3)) == "sm_100a"
    assert architecture(of_isa_class("nvcc13.0-sm_90-kernels", 3)) == "sm_90a"


def test_damage_in_what_is_said_of_devices_is_found() -> None:
    data = stripped("ptxas12.9-sm_100f-types")
    at = struct.unpack_from("<Q", data, section(".nv.compat", data) + 24)[0]
    message = "the image is damaged: its compatibility is described by a record of unknown format 9"
    assert problem(patched(at, "B", 9, data=data)) == message


# --- what an image cannot be ---------------------------------------------------------------------

SMALL = IMAGES[0].with_name("nvcc13.0-sm_80-small.cubin").read_bytes()

# Where things are in an ELF header.
TYPE, MACHINE, SECTIONS_AT, FLAGS, SECTION_SIZE, COUNT, NAMES = 16, 18, 40, 48, 58, 60, 62


def patched(at: int, form: str, *values: int, data: bytes = SMALL) -> bytes:
    """Return an image with some of its bytes replaced."""
    new = struct.pack(form, *values)
    return data[:at] + new + data[at + len(new) :]


def section(name: str, data: bytes = SMALL) -> int:
    """Return where a section's header is."""
    names = [found.name for found in read_elf(data).sections]
    return int(struct.unpack_from("<Q", data, SECTIONS_AT)[0]) + 64 * names.index(name)


def problem(data: bytes) -> str:
    with pytest.raises(ImageError) as caught:
        read_cubin(data)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the image does not begin as an ELF file does"),
        (b"\x7fELF", "the image ends inside its ELF header"),
        (SMALL[:63], "the image ends inside its ELF header"),
        (patched(4, "B", 1), "the image is no ELF file of 64 bits, little-endian"),
        (patched(5, "B", 2), "the image is no ELF file of 64 bits, little-endian"),
        (patched(7, "B", 0), "the image has OS/ABI 0, where a cubin has 51 or 65"),
        (patched(MACHINE, "<H", 62), "the image is an ELF file, but holds no GPU's code"),
        (patched(TYPE, "<H", 1), "the image is a relocatable object, which no driver loads"),
        (patched(TYPE, "<H", 4), "the image is an ELF file of type 4, which no cubin is"),
        (patched(FLAGS, "<I", 0), "the image is damaged: it does not say which GPU it is for"),
        (patched(SECTIONS_AT, "<Q", 2**64 - 1), "the image ends before its section headers"),
        (patched(COUNT, "<H", 0xFFFF), "the image ends inside its section headers"),
        (patched(SECTION_SIZE, "<H", 40), "the image has section headers of 40 bytes"),
        (patched(NAMES, "<H", 0x7FFF), "the image has no names for its sections"),
        (
            patched(section(".symtab") + 32, "<Q", 2**63),
            "the image ends inside one of its sections",
        ),
        (
            patched(section(".text.add") + 24, "<Q", 2**64 - 1),
            "the image ends inside one of its sections",
        ),
        (patched(section(".symtab") + 40, "<I", 999), "the image's table of symbols is damaged"),
        (patched(section(".symtab") + 32, "<Q", 25), "the image's table of symbols is damaged"),
        (patched(section(".shstrtab") + 32, "<Q", 3), "the image has a name that ends nowhere"),
        (
            patched(section(".nv.info.add") + 4, "<I", 2),
            "the image's table of symbols is damaged",
        ),
        (
            patched(section(".nv.info.add"), "<I", 1),
            "its entry 'add' lacks a description of its parameters",
        ),
    ],
)
def test_what_is_no_image_is_refused(data: bytes, message: str) -> None:
    assert message in problem(data)


def test_more_sections_than_a_header_can_count_are_read() -> None:
    at = struct.unpack_from("<Q", SMALL, SECTIONS_AT)[0]
    count, names = struct.unpack_from("<HH", SMALL, COUNT)
    many = patched(at + 32, "<QI", count, names, data=patched(COUNT, "<HH", 0, 0xFFFF))
    assert read_cubin(many) == read_cubin(SMALL)
    many = patched(at + 32, "<QI", 2**62, names, data=many)
    assert problem(many) == "the image ends inside its section headers"


def test_an_image_cut_off_anywhere_is_refused() -> None:
    for size in range(len(SMALL)):
        problem(SMALL[:size])


def test_relocatable_objects_are_told_from_images() -> None:
    path = IMAGES[0].with_name("nvcc13.0-sm_90a-relocatable.cubin")
    with pytest.raises(ImageError, match=r"hint: link it with nvcc -dlink -cubin, or compile"):
        read_cubin(path.read_bytes())


def test_an_image_without_entries_is_one() -> None:
    elf = SMALL
    symbols = struct.unpack_from("<Q", elf, section(".symtab") + 24)[0]
    size = struct.unpack_from("<Q", elf, section(".symtab") + 32)[0]
    for at in range(symbols, symbols + size, 24):
        elf = patched(at + 4, "<BB", 0, 0, data=elf)
    assert read_cubin(elf) == ImageFacts(Architecture(80), ())


def test_names_that_share_one_long_text_cost_no_time() -> None:
    # Each of 20,000 sections has another end of a name of a million bytes.
    table = b"\0" + b".nv.info." * 110_000 + b"\0"
    headers = [struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)]
    headers.append(struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64, len(table), 0, 0, 0, 0))
    headers += [struct.pack("<IIQQQQIIQQ", 9 * i, 1, 0, 0, 0, 0, 0, 0, 0, 0) for i in range(20_000)]
    head = SMALL[:SECTIONS_AT] + struct.pack(
        "<QIHHHHHH", 64 + len(table), 80, 64, 0, 0, 64, 20_002, 1
    )
    begin = time.process_time()
    assert problem(head + table + b"".join(headers)) == "the image's names of sections overlap"
    assert time.process_time() - begin < 1


# --- descriptions of parameters ------------------------------------------------------------------


def parameter(ordinal: int, offset: int, size: int, *, space: int = 0) -> bytes:
    bits = size << 18 | 0x1F000 | space << 8
    return struct.pack("<BBHIHHI", 4, 0x17, 12, 0, ordinal, offset, bits)


def large(ordinal: int, offset: int, size: int) -> bytes:
    return struct.pack("<BBHIHHHBB", 4, 0x45, 12, 0, ordinal, offset, size, 0, 0)


def total(size: int) -> bytes:
    return struct.pack("<BBH", 3, 0x19, size)


def three(attribute: int, x: int, y: int, z: int) -> bytes:
    return struct.pack("<BBHIII", 4, attribute, 12, x, y, z)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (b"\4\x17\x0c", "is described by a record without an end"),
        (b"\5\x17\0\0", "is described by a record of unknown format 5"),
        (b"\0\0\0\0", "is described by a record of unknown format 0"),
        (b"\4\xee\xff\xff" + bytes(100), "is described by a record that reaches past the others"),
        (b"\4\x17\x08\0" + bytes(8), "has 8 bytes as attribute 0x17, not 12"),
        (b"\3\x17\x08\0", "has 0 bytes as attribute 0x17, not 12"),
        (b"\4\x45\x0b\0" + bytes(11), "has 11 bytes as attribute 0x45, not 12"),
        (b"\4\x10\x04\0" + bytes(4), "has 4 bytes as attribute 0x10, not 12"),
        (b"\4\x19\x04\0" + bytes(4), "does not say how many bytes its parameters have"),
        (parameter(1, 0, 8) + total(8), "lacks parameter 0 of its 1 parameters"),
        (parameter(0, 0, 8) * 2 + total(8), "has two with 0 of its 2 parameters"),
        (parameter(0, 0, 0) + total(8), "has a parameter 0 of no bytes"),
        (
            parameter(0, 0, 8) + parameter(1, 4, 4) + total(8),
            "has parameters 0 and 1 that overlap",
        ),
        (
            parameter(0, 0, 8) + parameter(1, 8, 4) + total(8),
            "has parameters up to byte 12, but only 8 bytes of them",
        ),
        (total(8) + total(12), "has 8 and 12 bytes of parameters at once"),
        (three(0x10, 0, 1, 1), "requires a block of 0 x 1 x 1"),
        (three(0x3D, 2, 1, 0), "requires a cluster of 2 x 1 x 0"),
        (
            b"".join(large(i, i, 1) for i in range(32765)) + total(0xFFFF),
            "has 32765 parameters, where 32764 fit",
        ),
    ],
)
def test_what_describes_no_parameters_is_refused(records: bytes, message: str) -> None:
    with pytest.raises(ImageError) as caught:
        read_kernel_info(memoryview(records), "k")
    assert message in str(caught.value)
    assert "the image is damaged: its entry 'k'" in str(caught.value)


def test_a_texture_reference_is_named_as_what_it_is() -> None:
    records = struct.pack("<BBHIHHI", 4, 0x17, 12, 4, 0, 0xFFFF, 0x1F600) + total(0)
    with pytest.raises(ImageError, match="the entry 'k' takes a texture, sampler or surface"):
        read_kernel_info(memoryview(records), "k")


def test_unknown_attributes_are_skipped() -> None:
    unknown = b"\1\xee\0\0" + b"\2\xee\1\0" + b"\3\xee\1\1" + b"\4\xee\3\0abc"
    info = read_kernel_info(memoryview(unknown + parameter(0, 0, 4) + unknown + total(4)), "k")
    assert info.parameters == (MarkedParameter(0, 0, 4, 0),)


# --- anything at all -----------------------------------------------------------------------------

SEEDS = [path.read_bytes() for path in IMAGES if path.stat().st_size < 8000]


@settings(max_examples=300, deadline=None)
@given(
    image=st.sampled_from(SEEDS),
    edits=st.lists(st.tuples(st.integers(0, 8000), st.binary(min_size=1, max_size=8)), max_size=8),
    size=st.none() | st.integers(0, 8000),
)
def test_damage_is_nothing_but_an_image_error(
    image: bytes, edits: list[tuple[int, bytes]], size: int | None
) -> None:
    damaged = bytearray(image)
    for at, new in edits:
        damaged[at : at + len(new)] = new
    with contextlib.suppress(ImageError):
        read_cubin(bytes(damaged[:size]))
