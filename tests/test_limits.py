"""Each limit reached and passed, and what it takes to get there.

At the limit everything works; one beyond is refused with an error of the project's own, and
nothing is written.  Up to there time and memory grow in proportion to the input.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import re
import struct
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from launchgen import limits
from launchgen.artifacts import ARTIFACTS, CONVENTIONS
from launchgen.cli import main
from launchgen.cursor import Cursor
from launchgen.diagnostics import Diagnostic, ImageError, LaunchgenError, Source, Span, did_you_mean
from launchgen.elf import read_elf
from launchgen.fatbin import read_fatbin
from launchgen.filters import c_bytes
from launchgen.images import read_images
from launchgen.inputs import read_image
from launchgen.level0 import read_arguments, read_level0
from launchgen.limits import (
    MOST_ALIGNMENT,
    MOST_ARGUMENTS,
    MOST_BITS,
    MOST_DEPTH,
    MOST_ENTRY,
    MOST_FATBIN,
    MOST_IMAGE,
    MOST_IMAGES,
    MOST_MISTAKES,
    MOST_NAME,
    MOST_PARAMETERS,
    MOST_PRINTED,
    MOST_RANK,
    MOST_SECTIONS,
    MOST_SIGNATURE,
    MOST_STARS,
    MOST_STRING,
    MOST_TEXT,
    size_text,
)
from launchgen.metadata import Overrides
from launchgen.planning import make_plan
from launchgen.provenance import make_banner
from launchgen.ptx import read_ptx
from launchgen.rendering import render
from launchgen.signature import parse
from launchgen.sources import read_kernel
from launchgen.targets import TARGETS
from launchgen.triton_json import read_metadata
from launchgen.ttir import read_kernel_ir
from launchgen.utils_plan import plan_utils
from launchgen.writer import write
from tests.launchers import Face, Host, Launcher, of_signature
from tests.made_image import make_cubin, make_fatbin
from tests.programs import FOLDER, cc
from tests.zoo import KERNELS

ROOT: Final = Path(__file__).parent.parent
CUDA: Final = TARGETS["cuda"]
Record = Callable[[str, object], None]

# --- the page --------------------------------------------------------------------------------

# The page's rows in order, each the limit that it is about.
ROWS: Final = {
    "text of a signature": size_text(MOST_SIGNATURE),
    "arguments": f"{MOST_ARGUMENTS:,}",
    "tuples": f"{MOST_DEPTH}",
    "stars": f"{MOST_STARS}",
    "characters of a name": f"{MOST_NAME}",
    "characters of a constant": f"{MOST_STRING:,}",
    "bits": f"{MOST_BITS:,}",
    "dimensions": f"{MOST_RANK}",
    "bytes that": f"{MOST_ALIGNMENT:,}",
    "mistakes": f"{MOST_MISTAKES}",
    "bytes of all parameters": f"{MOST_PARAMETERS:,}",
    "launch metadata": size_text(MOST_TEXT),
    "one image": size_text(MOST_IMAGE),
    "a fatbin": size_text(MOST_FATBIN),
    "images": f"{MOST_IMAGES}",
    "an image printed": size_text(MOST_PRINTED),
    "sections": f"{MOST_SECTIONS:,}",
    "characters of a kernel": f"{MOST_ENTRY:,}",
}


def test_the_page_says_what_the_code_does() -> None:
    page = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (.+?) \|", page, re.MULTILINE)[1:]
    assert [value for _, value in rows] == list(ROWS.values())
    for (what, _), beginning in zip(rows, ROWS, strict=True):
        assert what.startswith(beginning)
    assert len([name for name in vars(limits) if name.startswith("MOST_")]) == len(ROWS)


def test_the_driver_takes_as_many_bytes_as_the_format_has() -> None:
    assert CUDA.large_parameter_bytes == MOST_PARAMETERS


# --- reached, and passed: signatures and options ---------------------------------------------


class Result(NamedTuple):
    code: int
    error: str
    files: list[str]


class Emit:
    """``launchgen emit`` into a new folder each time."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.count = 0

    def __call__(self, *words: str | Path, out: str | None = None) -> Result:
        self.count += 1
        made = self.folder / f"out{self.count}"
        code = main(["emit", *map(str, words), "--out", out or str(made)])
        error = self.capsys.readouterr().err
        assert "Traceback" not in error
        assert "internal error" not in error
        return Result(code, error, sorted(path.name for path in made.glob("*")))

    def of(self, signature: str, *words: str) -> Result:
        """Emit a launcher of a handle."""
        own = ("--name", "k") if "--name" not in words else ()
        return self("-s", signature, "--num-warps", "4", "--triton-version", "3.8", *own, *words)


@pytest.fixture
def emit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Emit:
    return Emit(tmp_path, capsys)


def nested(depth: int) -> str:
    return "(" * depth + "i32" + ",)" * depth


def descriptor(rank: int) -> str:
    return f"tensordesc<fp16[{', '.join(['16'] * rank)}]>"


# A signature for a number, that which is the most, and what is said beyond it.
SIGNATURES: Final[dict[str, tuple[Callable[[int], str], int, str]]] = {
    "text": ("x: i32".ljust, MOST_SIGNATURE, "at most 256 KiB are read"),
    "arguments": (lambda n: ", ".join(["i8"] * n), MOST_ARGUMENTS, "at most 1,024"),
    "constants": (lambda n: ", ".join(["constexpr"] * n), MOST_ARGUMENTS, "at most 1,024"),
    "elements": (lambda n: f"({'i8,' * (n - 1)})", MOST_ARGUMENTS, "at most 1,024"),
    "empty tuples": (lambda n: ", ".join(["()"] * n), MOST_ARGUMENTS, "at most 1,024"),
    "depth": (nested, MOST_DEPTH, "at most 64 may nest"),
    "stars": (lambda n: "*" * n + "i8", MOST_STARS, "a pointer has at most 64"),
    "name": (lambda n: "x" * n + ": i32", MOST_NAME, "a name has at most 200"),
    "string": (lambda n: f"'{'x' * n}'", MOST_STRING, "more than 4,096 characters"),
    "layout": (
        lambda n: f"tensordesc<fp16[16]{'x' * n}>",
        MOST_STRING,
        "a layout has at most 4,096",
    ),
    "bits": (lambda n: str(2**n - 1), MOST_BITS, "more than 2048 bits"),
    "hexadecimal": (lambda n: hex(-(2**n) + 1), MOST_BITS, "more than 2048 bits"),
    "rank": (descriptor, MOST_RANK, "at most rank 5"),
    "input_rank": (
        lambda n: f"tensordesc_im2col<fp16[64, 64],input_rank={n}>",
        MOST_RANK,
        "at most rank 5",
    ),
    "alignment": (
        lambda n: f"bytes[1:{1 << n - 1}]",
        MOST_ALIGNMENT.bit_length(),
        "at most 4,096 bytes",
    ),
}


@pytest.mark.parametrize("kind", SIGNATURES)
def test_a_signature_at_its_limit_is_read_and_one_beyond_refused(
    kind: str, emit: Emit, record_property: Record
) -> None:
    make, most, message = SIGNATURES[kind]
    done = emit.of(make(most))
    assert (done.code, done.error) == (0, "")
    assert done.files == ["Makefile", "k.c", "k.h", "k_py.c"]
    bad = [make(most + 1), make(2 * most)]
    # A second way in.
    path = emit.folder / "x.sig"
    for text in bad:
        path.write_text(text)
        for given in (text, f"@{path}"):
            refused = emit.of(given)
            in_file = given != text and kind == "text"
            assert refused.code == (3 if in_file else 2)
            assert ("more than 256 KiB" if in_file else message) in refused.error
            assert refused.files == []
            assert max(map(len, refused.error.splitlines())) < 5_000
    record_property("bad inputs", 2 * len(bad))


def test_parameters_have_as_many_bytes_as_the_driver_takes(
    emit: Emit, record_property: Record
) -> None:
    old = ("--triton-version", "3.2")
    assert emit.of(f"bytes[{MOST_PARAMETERS}]", *old).code == 0
    refused = emit.of(f"bytes[{MOST_PARAMETERS + 1}]", *old)
    assert (refused.code, refused.files) == (2, [])
    assert "passes at most 32,764" in refused.error
    record_property("bad inputs", 1)


def test_a_decomposed_descriptor_of_a_thousand_million_dimensions_is_refused_at_once(
    emit: Emit, record_property: Record
) -> None:
    begin = time.process_time()
    bad = ("tensordesc_im2col<fp16[64, 64],input_rank=999999999>", descriptor(20_000))
    for text in bad:
        assert emit.of(text).code == 2
    assert time.process_time() - begin < 10
    record_property("bad inputs", len(bad))


def test_a_launcher_has_a_name_that_files_can_have(emit: Emit, record_property: Record) -> None:
    everything = ("-a", ",".join(row for row in ARTIFACTS if row != "cuda-utils"))
    done = emit.of("x: i32", "--name", "k" * MOST_NAME, *everything)
    assert done.code == 0
    assert max(map(len, done.files)) + len(".cpython-313t-aarch64-linux-gnu.so") < 255
    refused = emit.of("x: i32", "--name", "k" * (MOST_NAME + 1))
    assert (refused.code, refused.files) == (2, [])
    assert "it has 201 characters" in refused.error
    record_property("bad inputs", 1)


def test_mistakes_are_shown_up_to_the_limit(emit: Emit, record_property: Record) -> None:
    for count, shown in ((MOST_MISTAKES - 1, MOST_MISTAKES - 1), (5_000, MOST_MISTAKES)):
        refused = emit.of(", ".join(["i23"] * count))
        assert refused.code == 2
        assert refused.error.count("unknown type") == shown
        assert ("reading stopped" in refused.error) is (count > MOST_MISTAKES)
    record_property("bad inputs", 2)


def test_every_option_that_is_text_may_be_long(emit: Emit, record_property: Record) -> None:
    fields = ("--cluster", "--global-scratch", "--triton-version", "--entry", "--num-warps")
    options = (*fields, "-a", "--metadata", "--image", "--no-such-option", "--convention")
    for option in options:
        refused = emit("-s", "x: i32", "--name", "k", "--num-warps", "4", option, "1" * 100_000)
        assert refused.code in (2, 3), option
        assert refused.files == []
    record_property("bad inputs", len(options))


# --- reached, and passed: files --------------------------------------------------------------


def entry(folder: Path, name: str = "k", **fields: Any) -> Path:
    """Write a cache entry of a kernel without parameters."""
    path = folder / "k.json"
    path.write_text(json.dumps({"name": name, "num_warps": 4, "shared": 0, **fields}))
    path.with_suffix(".cubin").write_bytes(make_cubin("k" if len(name) > MOST_ENTRY else name, []))
    return path


def padded(path: Path, size: int, filling: str) -> None:
    path.write_text(path.read_text() + filling * (size - path.stat().st_size))


PTX: Final = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { ret; }\n"


def test_text_at_its_limit_is_read_and_one_beyond_refused(
    emit: Emit, tmp_path: Path, record_property: Record
) -> None:
    path = entry(tmp_path)
    ir, ptx = path.with_suffix(".ttir"), path.with_suffix(".ptx")
    ir.write_text("tt.func public @k() {\n")
    ptx.write_text(PTX)
    for file, words, filling in ((path, [path], " "), (ir, [path], "\n"), (ptx, [ptx], "\n")):
        text = file.read_text()
        for size, code in ((MOST_TEXT, 0), (MOST_TEXT + 1, 3)):
            file.write_text(text)
            padded(file, size, filling)
            done = emit(*words)
            assert done.code == code
            assert ("has more than 16 MiB" in done.error) is (code == 3)
            assert bool(done.files) is (code == 0)
        file.write_text(text)
    record_property("bad inputs", 3)


def test_ptx_of_a_fatbin_is_limited_as_a_file_is(record_property: Record) -> None:
    def member(text: bytes) -> bytes:
        body = text + bytes(-len(text) % 8)
        head = struct.pack("<HHIQ48x", 1, 0x101, 64, len(body))
        return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64 + len(body)) + head + body

    text = PTX.encode()
    (image,) = read_images(member(text + b"\n" * (MOST_TEXT - len(text))))
    assert len(image.data) == MOST_TEXT
    with pytest.raises(ImageError, match="the PTX has more than 16 MiB"):
        read_images(member(text + b"\n" * (MOST_TEXT + 1 - len(text))))
    record_property("bad inputs", 1)


@pytest.mark.parametrize(
    ("most", "image"), [("MOST_IMAGE", make_cubin("k", [])), ("MOST_FATBIN", b"\x50\xed\x55\xba")]
)
def test_an_image_at_its_limit_is_read_and_one_beyond_refused(
    most: str,
    image: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Record,
) -> None:
    path = tmp_path / "k.bin"
    path.write_bytes(image)
    # The real one is not read, because its size says enough.
    begin = time.process_time()
    os.truncate(path, getattr(limits, most) + 1)
    with pytest.raises(LaunchgenError, match=r"has more than (256|512) MiB"):
        read_image(path)
    assert time.process_time() - begin < 1
    monkeypatch.setattr(f"launchgen.inputs.{most}", 65_536)
    os.truncate(path, 65_536)
    assert len(read_image(path).data) == 65_536
    os.truncate(path, 65_537)
    with pytest.raises(LaunchgenError, match="has more than 64 KiB"):
        read_image(path)
    record_property("bad inputs", 2)


def test_a_member_of_a_fatbin_is_limited_packed_or_not(
    monkeypatch: pytest.MonkeyPatch, record_property: Record
) -> None:
    cubin = make_cubin("k", [])
    cubin += bytes(-len(cubin) % 8)
    monkeypatch.setattr("launchgen.fatbin.MOST_IMAGE", len(cubin))
    assert len(read_fatbin(make_fatbin([cubin]))) == 1
    monkeypatch.setattr("launchgen.fatbin.MOST_IMAGE", len(cubin) - 1)
    with pytest.raises(ImageError, match="has a member of more than"):
        read_fatbin(make_fatbin([cubin]))
    record_property("bad inputs", 1)


def test_a_small_fatbin_cannot_ask_for_much_memory(record_property: Record) -> None:
    def packed(flags: int, size: int) -> bytes:
        body = bytes(64)
        head = struct.pack(
            "<HHIQIIHHIIIQQQ", *(2, 0x101, 64, 64, 64, 0, 0, 0, 0, 0, 0), flags, 0, size
        )
        return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 128) + head + body

    bad = [
        (flags, size) for flags in (0x2000, 0x8000) for size in (MOST_IMAGE + 1, 2**63, 2**64 - 1)
    ]
    tracemalloc.start()
    for flags, size in bad:
        with pytest.raises(ImageError, match="has a member of more than 256 MiB"):
            read_fatbin(packed(flags, size))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20
    record_property("bad inputs", len(bad))


def cubins(count: int) -> list[bytes]:
    return [make_cubin("k", [], capability=50 + each) for each in range(count)]


def test_a_launcher_has_as_many_images_as_the_limit_says(
    emit: Emit, tmp_path: Path, record_property: Record
) -> None:
    options = ("-s", "", "--name", "k", "--num-warps", "4", "--shared", "0")
    fatbin = tmp_path / "k.fatbin"
    for count, code in ((MOST_IMAGES, 0), (MOST_IMAGES + 1, 3), (5_000, 3)):
        fatbin.write_bytes(make_fatbin(cubins(min(count, 100)) * (1 + count // 100)))
        done = emit(fatbin, *options)
        assert done.code == code
        assert ("the fatbin has more than 64 images" in done.error) is (code == 3)
        assert bool(done.files) is (code == 0)
    paths = []
    for at, cubin in enumerate(cubins(MOST_IMAGES + 1)):
        paths.append(tmp_path / f"k{at}.cubin")
        paths[-1].write_bytes(cubin)
    listed = [word for path in paths for word in ("--image", str(path))]
    assert emit(*listed[:-2], *options).code == 0
    refused = emit(*listed, *options)
    assert (refused.code, refused.files) == (2, [])
    assert "--image is given 65 times: a launcher has at most 64" in refused.error
    # Together, too.
    fatbin.write_bytes(make_fatbin(cubins(MOST_IMAGES)))
    refused = emit(fatbin, "--image", paths[-1], *options)
    assert (refused.code, refused.files) == (2, [])
    assert "there are 65 images" in refused.error
    record_property("bad inputs", 4)


def test_all_images_together_have_a_limit(
    emit: Emit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Record
) -> None:
    one, other = tmp_path / "a.cubin", tmp_path / "b.cubin"
    one.write_bytes(make_cubin("k", [], capability=80))
    other.write_bytes(make_cubin("k", [], capability=90))
    words = (one, "--image", other, "-s", "", "--name", "k", "--num-warps", "4", "--shared", "0")
    both = one.stat().st_size + other.stat().st_size
    monkeypatch.setattr("launchgen.sources.MOST_FATBIN", both)
    assert emit(*words).code == 0
    monkeypatch.setattr("launchgen.sources.MOST_FATBIN", both - 1)
    refused = emit(*words)
    assert (refused.code, refused.files) == (2, [])
    record_property("bad inputs", 1)


def test_an_image_is_printed_up_to_its_limit(
    emit: Emit, tmp_path: Path, record_property: Record
) -> None:
    path = entry(tmp_path)
    image = path.with_suffix(".cubin")
    os.truncate(image, MOST_PRINTED)
    assert emit(path, "-s", "", "-a", "c", out="-").code == 0
    os.truncate(image, MOST_PRINTED + 1)
    refused = emit(path, "-s", "", "-a", "c", out="-")
    assert refused.code == 2
    assert "'-o -' prints at most 4,194,304" in refused.error
    assert emit(path, "-s", "").code == 0
    record_property("bad inputs", 1)


def many_sections(count: int) -> bytes:
    """Return an ELF file whose first section says how many there are."""
    small = make_cubin("k", [])
    head = struct.pack("<QIHHHHHH", 72, 0, 64, 0, 0, 64, 0, 1)
    first = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, count, 0, 0, 0, 0)
    names = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64, 1, 0, 0, 0, 0)
    return small[:40] + head + bytes(8) + first + names + bytes(64 * (count - 2))


def test_a_cubin_has_as_many_sections_as_the_limit_says(record_property: Record) -> None:
    assert len(read_elf(many_sections(MOST_SECTIONS)).sections) == MOST_SECTIONS
    with pytest.raises(ImageError, match="at most 262,144 are read"):
        read_elf(many_sections(MOST_SECTIONS + 1))
    record_property("bad inputs", 1)


def test_a_kernel_has_a_name_up_to_the_limit(
    emit: Emit, tmp_path: Path, record_property: Record
) -> None:
    longest = "k" * MOST_ENTRY
    assert emit(entry(tmp_path, longest), "-s", "", "--name", "k").code == 0
    refused = emit(entry(tmp_path, f"{longest}k"), "-s", "", "--name", "k")
    assert (refused.code, refused.files) == (2, [])
    said = "has 65,537 characters: a kernel's name has at most 65,536"
    assert f"name {said}" in refused.error
    refused = emit(entry(tmp_path), "-s", "", "--entry", f"{longest}k")
    assert refused.code == 2
    assert f"error: --entry {said}" in refused.error
    with pytest.raises(ImageError, match="whose name has more than 65,536 characters"):
        read_images(make_cubin(f"{longest}k", []))
    text = PTX.replace(".entry k(", f".entry {longest}(")
    assert read_ptx(text).entries[0].name == longest
    with pytest.raises(ImageError, match="whose name has more than 65,536 characters"):
        read_ptx(text.replace(f"{longest}(", f"{longest}k("))
    record_property("bad inputs", 4)


def test_an_entry_of_ptx_has_as_many_bytes_as_the_limit_says(record_property: Record) -> None:
    text = PTX.replace("k()", "k(.param .align 4 .b8 a[SIZE])")
    (kernel,) = read_ptx(text.replace("SIZE", str(MOST_PARAMETERS))).entries
    assert kernel.total == MOST_PARAMETERS
    with pytest.raises(ImageError, match="takes more than 32764 bytes of parameters"):
        read_ptx(text.replace("SIZE", str(MOST_PARAMETERS + 1)))
    record_property("bad inputs", 1)


def level0(**fields: Any) -> str:
    return json.dumps(
        {"abi_version": 1, "entry_name": "k", "num_warps": 4, "args": [], "constants": {}, **fields}
    )


def test_metas_metadata_is_limited_as_a_signature_is(
    emit: Emit, tmp_path: Path, record_property: Record
) -> None:
    path = tmp_path / "k.json"
    one = {"name": "x", "type": "i32"}

    def refused(**fields: Any) -> None:
        path.write_text(level0(**fields))
        done = emit(path, "--no-image")
        assert (done.code, done.files) == (2, [])

    path.write_text(level0(args=[{**one, "index": MOST_ARGUMENTS - 1}]))
    assert emit(path, "--no-image").code == 0
    refused(args=[{**one, "index": MOST_ARGUMENTS}])
    refused(constants={str(MOST_ARGUMENTS): 1})
    refused(constants={"9" * 5_000: 1})
    refused(args=[{"name": "x", "index": 0, "type": "*" * (MOST_STARS + 1) + "i8"}])
    refused(args=[{"name": "x", "index": 0, "type": f"({'i8,' * MOST_ARGUMENTS})"}])
    refused(args=[{"name": "x", "index": 0, "type": descriptor(MOST_RANK + 1)}])
    # What cannot be written as a literal is a constant without a value, and a name too long none.
    source = Source(
        "k",
        level0(
            args=[{**one, "name": "x" * (MOST_NAME + 1), "index": 3}],
            constants={"0": "x" * MOST_STRING, "1": "x" * (MOST_STRING + 1), "2": 1},
        ),
    )
    found = read_arguments(read_level0(source), source)
    assert [str(each) for each in found.arguments[1:]] == ["constexpr", "1", "i32"]
    assert parse(str(found)) == found
    record_property("bad inputs", 6)


def test_ir_is_limited_as_a_signature_is(
    emit: Emit, tmp_path: Path, record_property: Record
) -> None:
    path = entry(tmp_path)
    ir = path.with_suffix(".ttir")

    def written(count: int) -> None:
        ir.write_text(f"tt.func public @k({', '.join(f'%a{i}: i8' for i in range(count))}) {{\n")
        path.with_suffix(".cubin").write_bytes(make_cubin("k", [(1, False)] * count))

    written(MOST_ARGUMENTS)
    assert emit(path).code == 0
    written(MOST_ARGUMENTS + 1)
    refused = emit(path)
    assert (refused.code, refused.files) == (2, [])
    ir.write_text(f"tt.func public @k(%a: !tt.tensordesc<{'16x' * 6}f16>) {{\n")
    assert emit(path).code == 2
    record_property("bad inputs", 2)


@pytest.mark.parametrize("opening", ['{"name": ', '{"unknown": ', '{"tensordesc_meta": '])
def test_json_that_nests_too_deeply_is_refused(
    opening: str, emit: Emit, tmp_path: Path, record_property: Record
) -> None:
    path = entry(tmp_path)
    for inner in ("[" * 1_000_000, '{"a":' * 1_000_000):
        path.write_text(opening + inner)
        refused = emit(path, "-s", "")
        assert (refused.code, refused.files) == (3, [])
    record_property("bad inputs", 2)


# --- growth ----------------------------------------------------------------------------------

Work = Callable[[int], Callable[[], object]]


def on(read: Callable[[Any], object], make: Callable[[int], Any]) -> Work:
    def prepared(count: int) -> Callable[[], object]:
        given = make(count)
        return lambda: read(given)

    return prepared


def refusing(read: Callable[[Any], object]) -> Callable[[Any], object]:
    def tried(given: Any) -> object:
        try:
            return read(given)
        except LaunchgenError as error:
            return str(error)

    return tried


def whole(signature: str) -> None:
    """Read, decide and render every artifact, in every convention."""
    kernel = read_kernel(
        None,
        signature_text=signature,
        name="k",
        no_image=True,
        overrides=Overrides(num_warps=4, triton_version=(3, 8)),
        target=CUDA,
    )
    utils = plan_utils(CUDA, command="launchgen emit")
    for convention in CONVENTIONS.values():
        plan = make_plan(kernel, target=CUDA, command="launchgen emit", convention=convention)
        rows = [row for row in ARTIFACTS.values() if convention.head == 0 or row.name == "cpython"]
        render(plan, artifacts=tuple(rows), utils=utils)


def text_of(read: Callable[[Source], object]) -> Callable[[Any], object]:
    return refusing(lambda text: read(Source("k", text)))


def ir_of(parameter: str, count: int) -> str:
    listed = ", ".join(parameter.replace("@", str(at)) for at in range(count))
    return f"tt.func public @k({listed}) {{\n"


def ptx_of(each: str, count: int) -> str:
    return PTX + "".join(each.replace("@", str(at)) for at in range(count))


PARSE: Final = refusing(parse)
IR: Final = text_of(read_kernel_ir)
METADATA: Final = text_of(read_metadata)
IMAGES: Final = refusing(read_images)
ANY_PTX: Final = refusing(read_ptx)

# What is done for a size, and the greatest size that is tried.
GROWTH: Final[dict[str, tuple[Work, int]]] = {
    "tokens": (on(lambda text: Cursor(Source("", text)), lambda n: "i8," * n), 40_000),
    "brackets": (on(PARSE, lambda n: "(" * n + "]" * n), 30_000),
    "mistakes": (on(PARSE, lambda n: "i23, " * n), 20_000),
    "names twice": (on(PARSE, lambda n: ", ".join(["x: i8"] * n)), 16_000),
    "a long word": (on(PARSE, lambda n: "x" * n), 200_000),
    "a long name": (on(PARSE, lambda n: "x" * n + ": i8"), 200_000),
    "a long string": (on(PARSE, lambda n: "'" + "\\n" * n + "'"), 100_000),
    "a long number": (on(PARSE, lambda n: "1" * n), 200_000),
    "a long float": (on(PARSE, lambda n: "1." + "1" * n), 200_000),
    "blanks of a layout": (on(PARSE, lambda n: f"tensordesc<i8[1],{' ' * n}b>"), 200_000),
    "lines of a layout": (on(PARSE, lambda n: f"tensordesc<i8[1],{'a  ' * n}>"), 80_000),
    "a caret": (
        on(
            lambda text: str(Diagnostic("", Source("", text), Span(len(text) // 2, len(text)))),
            "x".__mul__,
        ),
        2_000_000,
    ),
    "a banner": (
        on(
            lambda kernel: make_banner(kernel, CUDA, command="", version=None),
            lambda n: read_kernel(
                None,
                signature_text=", ".join(["i8"] * n),
                name="k",
                no_image=True,
                overrides=Overrides(num_warps=4),
                target=CUDA,
            ),
        ),
        MOST_ARGUMENTS,
    ),
    "arguments": (on(whole, lambda n: ", ".join(f"a{i}: i32" for i in range(n))), MOST_ARGUMENTS),
    "pointers": (on(whole, lambda n: ", ".join(["*fp32:16"] * n)), MOST_ARGUMENTS),
    "constants": (on(whole, lambda n: ", ".join(["'relu'"] * n)), MOST_ARGUMENTS),
    "tuples": (on(whole, lambda n: ", ".join(["(i8, fp16)"] * n)), MOST_ARGUMENTS // 3),
    "depth": (on(whole, lambda n: "(" * n + "i8," * 200 + ")," * (n - 1) + ")"), MOST_DEPTH),
    "descriptors": (on(whole, lambda n: ", ".join([descriptor(5)] * n)), 40),
    "slots of IR": (on(IR, lambda n: ir_of('%a@: i32 loc("a@"(#loc))', n)), 16_000),
    "one name in IR": (on(IR, lambda n: ir_of('%a: i32 loc("a"(#loc))', n)), 16_000),
    "brackets of IR": (on(IR, lambda n: f"tt.func public @k(%a: {'<' * n}{'>' * n})"), 200_000),
    "blanks of IR": (on(IR, lambda n: ir_of(f"%a: !tt.ptr<f32,{' ' * n}>", 1)), 400_000),
    "functions of IR": (on(IR, lambda n: "tt.func public @k() {\n" * n), 40_000),
    "keys of JSON": (
        on(METADATA, lambda n: json.dumps({f"k{i}": i for i in range(n)})),
        400_000,
    ),
    "entries of PTX": (on(ANY_PTX, lambda n: ptx_of(".entry k@(.param .u64 a) { }\n", n)), 10_000),
    "braces of PTX": (on(ANY_PTX, lambda n: ptx_of("{", n)), 400_000),
    "a comment of PTX": (on(ANY_PTX, lambda n: PTX + "/*" + "* /" * n), 1_000_000),
    "parameters of PTX": (
        on(ANY_PTX, lambda n: PTX.replace("k()", f"k({','.join(['.param .u8 a'] * n)})")),
        MOST_PARAMETERS,
    ),
    "images": (on(IMAGES, lambda n: make_fatbin(cubins(n))), MOST_IMAGES),
    "zeros behind a fatbin": (on(IMAGES, lambda n: make_fatbin(cubins(1)) + bytes(n)), 2**26),
    "bytes of an image": (on(c_bytes, bytes), 2**21),
    "a word that is long": (
        on(lambda word: did_you_mean(word, ["ab" * 40]), "ab".__mul__),
        500_000,
    ),
    "words to choose from": (
        on(
            lambda known: did_you_mean("kernel_one", known),
            lambda n: [f"kernel_{i}" for i in range(n)],
        ),
        4_000,
    ),
}


def seconds(work: Callable[[], object], *, runs: int) -> float:
    best = float("inf")
    gc.disable()  # what it takes depends on all that other tests have left
    for _ in range(runs):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    gc.enable()
    return best


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# What takes less tells nothing: clocks and caches are coarser.
ENOUGH_SECONDS: Final = 0.02
ENOUGH_BYTES: Final = 2**18


@pytest.mark.slow
@pytest.mark.parametrize("kind", GROWTH)
def test_time_and_memory_grow_with_the_input_and_no_faster(kind: str) -> None:
    prepare, most = GROWTH[kind]
    small, large = prepare(most // 4), prepare(most)
    small()  # what is imported or compiled once is no part of either
    assert peak(large) < 8 * max(peak(small), ENOUGH_BYTES)
    # Once is enough where nothing else runs; else the best of several.
    ratios = (
        seconds(large, runs=n) / max(seconds(small, runs=n), ENOUGH_SECONDS) for n in (1, 3, 9)
    )
    assert any(ratio < 8 for ratio in ratios)


def test_writing_an_image_takes_no_more_than_its_size(tmp_path: Path) -> None:
    def written(size: int) -> int:
        folder = tmp_path / str(size)
        folder.mkdir()
        path = entry(folder)
        os.truncate(path.with_suffix(".cubin"), size)
        kernel = read_kernel(path, signature_text="", target=CUDA)
        plan = make_plan(kernel, target=CUDA, command="launchgen emit")
        files = render(plan, artifacts=(ARTIFACTS["c"], ARTIFACTS["cpython"]))

        def twice() -> None:
            write(files, folder / "out")
            write(files, folder / "out")

        return peak(twice)

    assert written(2**24) < 2**24 + 3 * 2**20


# --- the widest launcher ---------------------------------------------------------------------

WIDE: Final = ("i8", "u16", "i32", "*fp32:16", "fp64", "i1", "u64", "bf16", "fp16", "fp32")
FORMATS: Final = dict(zip(WIDE, ("b", "H", "i", "Q", "d", "B", "Q", "H", "e", "f"), strict=True))
C_TYPES: Final = {
    "i8": "int8_t",
    "u16": "uint16_t",
    "i32": "int32_t",
    "*fp32:16": "float *",
    "fp64": "double",
    "i1": "bool",
    "u64": "uint64_t",
    "bf16": "float",
    "fp16": "float",
    "fp32": "float",
}


def wide_values() -> list[Any]:
    """Return a value for each argument, so that two of one type that were exchanged show."""
    made: dict[str, Callable[[int], Any]] = {
        "i8": lambda n: n % 256 - 128,
        "u16": lambda n: 60_000 + n,
        "i32": lambda n: -7 * n,
        "*fp32:16": lambda n: 4096 + 16 * n,
        "fp64": lambda n: n / 3,
        "i1": lambda n: n % 3 == 0,
        "u64": lambda n: 2**64 - 1 - n,
        "bf16": lambda n: float(n % 128),
        "fp16": lambda n: n / 8,
        "fp32": lambda n: n / 4,
    }
    return [made[WIDE[at % len(WIDE)]](at) for at in range(MOST_ARGUMENTS)]


def wide_bits(values: Sequence[Any]) -> tuple[bytes, ...]:
    kinds = [WIDE[at % len(WIDE)] for at in range(len(values))]
    return tuple(
        # The upper half of a float whose lower half is zero.
        struct.pack("<f", value)[2:] if kind == "bf16" else struct.pack(f"<{FORMATS[kind]}", value)
        for kind, value in zip(kinds, values, strict=True)
    )


@pytest.mark.slow
def test_the_widest_launcher_is_compiled_and_passes_every_argument(
    host: Host, tmp_path: Path
) -> None:
    kinds = [WIDE[at % len(WIDE)] for at in range(MOST_ARGUMENTS)]
    launcher = of_signature(", ".join(kinds), name="wide")
    values = wide_values()
    expected = wide_bits(values)
    begin = time.process_time() + os.times().children_user
    assert host.launched(Face.PYTHON, launcher, 1, None, values).values == expected
    spent = time.process_time() + os.times().children_user - begin
    assert spent < 120
    assert launch_from_c(host, launcher, kinds, values, tmp_path) == expected


def launch_from_c(
    host: Host, launcher: Launcher, kinds: Sequence[str], values: Sequence[Any], folder: Path
) -> tuple[bytes, ...]:
    """Launch by way of an array: ctypes itself passes at most 1,024 arguments."""
    listed = ",\n    ".join(f"*({C_TYPES[kind]} const *)v[{at}]" for at, kind in enumerate(kinds))
    (folder / "array.c").write_text(
        f'#include "wide.h"\nint call(void *f, void *const *v)\n'
        f"{{\n    return wide_launch(f, 0, 1, 1, 1,\n    {listed});\n}}\n"
    )
    library = folder / "array.so"
    words = ("-std=c11", "-O1", "-fPIC", "-shared", "-I", launcher.folder)
    cc(folder, *words, "array.c", launcher.folder / "wide.c", "-o", library, "-ldl", "-lpthread")
    packing = {"float": "f", "float *": "Q", "bool": "?"}
    cells = [
        ctypes.create_string_buffer(struct.pack(packing.get(C_TYPES[kind], FORMATS[kind]), value))
        for kind, value in zip(kinds, values, strict=True)
    ]
    addresses = (ctypes.c_void_p * len(cells))(*map(ctypes.addressof, cells))
    before = len(host.driver.launches)
    function = ctypes.c_void_p(host.function(launcher))
    assert ctypes.CDLL(str(library)).call(function, addresses) == 0
    (launch,) = host.driver.launches[before:]
    return tuple(launch.values)


def test_the_kernels_of_triton_are_far_from_every_limit() -> None:
    for path in KERNELS.glob(f"{FOLDER}/*"):
        assert 4 * path.stat().st_size < MOST_PRINTED
