"""PTX: what it says of its kernels, beside the cubins that ptxas made of it."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launchgen.diagnostics import ImageError
from launchgen.image import Entry, read_cubin
from launchgen.images import read_images
from launchgen.ptx import read_ptx
from tests.images.make import retarget

KERNELS = sorted((Path(__file__).parent / "kernels").rglob("*.ptx"))


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_ptx_of_triton_says_what_its_cubin_says(path: Path) -> None:
    ptx = read_ptx(path.read_text(encoding="utf-8"))
    cubin = read_cubin(path.with_suffix(".cubin").read_bytes())
    assert ptx.entries == cubin.entries
    assert ptx.architecture.is_virtual
    assert ptx.architecture.capability == cubin.architecture.capability
    assert ptx.architecture.suffix == cubin.architecture.suffix


# --- what ptxas makes of it ----------------------------------------------------------------------

ASSEMBLED = [
    path
    for source in ("types", "clusters", "many")
    for path in sorted((Path(__file__).parent / "images").glob(f"ptxas*-{source}.cubin"))
]


@pytest.mark.parametrize("path", ASSEMBLED, ids=lambda path: path.stem)
def test_every_type_and_alignment_is_laid_out_as_ptxas_does(path: Path) -> None:
    _, target, source = path.stem.split("-")
    text = path.with_name(f"{source}.ptx").read_text(encoding="utf-8")
    facts = read_ptx(retarget(text, "9.9", target.removeprefix("sm_")))
    image = read_cubin(path.read_bytes())
    assert facts.entries == image.entries
    assert str(facts.architecture) == str(image.architecture).replace("sm", "compute")


# --- texts ---------------------------------------------------------------------------------------

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"


def entry(text: str) -> Entry:
    (found,) = read_ptx(HEAD + text).entries
    return found


def parameters(text: str) -> list[tuple[int, int, bool | None]]:
    found = entry(f".visible .entry k({text}) {{ ret; }}").parameters
    return [(p.offset, p.size, p.pointer) for p in found]


def test_pointers_are_told_as_far_as_the_text_tells_them() -> None:
    assert parameters(".param .u64 a") == [(0, 8, None)]
    assert parameters(".param .u64 a, .param .u32 b") == [(0, 8, None), (8, 4, False)]
    assert parameters(".param .u64 .ptr a, .param .u64 b") == [(0, 8, True), (8, 8, False)]
    assert parameters(".param .u64 .ptr .shared a") == [(0, 8, False)]
    assert parameters(".param .u32 .ptr .global a, .param .u64 b") == [(0, 4, False), (8, 8, False)]


def test_an_alignment_after_the_type_is_not_the_parameters_own() -> None:
    assert parameters(".param .b8 a, .param .u64 .ptr .global .align 16 b") == [
        (0, 1, False),
        (8, 8, True),
    ]
    assert parameters(".param .b8 a, .param .u64 .align 64 b") == [(0, 1, False), (8, 8, None)]
    # In sm_90's constant bank the list begins at 0x210, which is no multiple of 64.
    assert parameters(".param .align 64 .u64 a") == [(48, 8, None)]


def test_what_looks_like_an_entry_is_not_always_one() -> None:
    assert (
        read_ptx(
            HEAD
            + '// .entry a()\n/* .entry b() { */ .file 1 ".entry c() {"\n'
            + ".visible .func d() { ret; } { .entry e() }\n"
            + '.section .debug_str { .b8 46 }\n.pragma "a\\";'
        ).entries
        == ()
    )


def test_the_newest_of_several_targets_counts() -> None:
    text = ".version 8.0\n.target sm_80\n.target sm_90, texmode_unified, debug\n.target sm_70\n"
    assert str(read_ptx(text).architecture) == "compute_90"
    text = ".version 8.0\n.target texmode_unified, /* a */ sm_100f // b\n"
    assert str(read_ptx(text).architecture) == "compute_100f"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is no PTX: it has no .version directive (line 1)"),
        (".version 8.0", "the text is no PTX: it has no .target directive (line 1)"),
        (".target sm_90", "the text is no PTX: it has no .version directive (line 1)"),
        (".version 8.0\n.target debug\n", "the end where a target such as sm_90 should be"),
        (".version 8.0\n.target sm_0\n", "the end where a target such as sm_90 should be"),
        (".version 8.0\n.target sm_090\n", "the end where a target such as sm_90 should be"),
        (".version 8.0\n.target ;\n", "the PTX has ';' where a name should be (line 2)"),
        (HEAD + "}", "the PTX closes a brace that it never opened (line 4)"),
        (HEAD + ".func f() {", "the PTX ends inside a pair of braces (line 4)"),
        (HEAD + "/* .entry k() {", ""),
        (HEAD + ".entry", "the PTX has the end where a name should be (line 4)"),
        (HEAD + ".entry 1k", "the PTX has '1k' where a name should be (line 4)"),
        (HEAD + ".entry k", "the PTX has the end where the body of 'k' should be (line 4)"),
        (HEAD + ".entry k()\n.entry l() {}", "where the body of 'k' should be (line 5)"),
        (HEAD + ".entry k(", "the PTX has the end where a .param should be (line 4)"),
        (HEAD + ".entry k(.reg .u64 a)", "the PTX has '.reg' where a .param should be (line 4)"),
        (HEAD + ".entry k(.param a)", "the PTX has 'a' where a type should be (line 4)"),
        (HEAD + ".entry k(.param .u64)", "the PTX has ')' where a name should be (line 4)"),
        (HEAD + ".entry k(.param .u64 a b)", "where a comma or the end of the parameters"),
        (HEAD + ".entry k(.param .pred a)", "something other than .pred before it"),
        (HEAD + ".entry k(.param .texref a)", "'.texref' where a parameter that a launch can pass"),
        (HEAD + ".entry k(.param .b8 a[0])", "where an array's end should be"),
        (HEAD + ".entry k(.param .b8 a[x])", "the PTX has 'x' where a number should be"),
        (HEAD + ".entry k(.param .b8 a[4)", "where an array's end should be"),
        (HEAD + ".entry k(.param .align 3 .b8 a)", "the PTX aligns a parameter to 3 bytes"),
        (HEAD + ".entry k(.param .align 0 .b8 a)", "the PTX aligns a parameter to 0 bytes"),
        (HEAD + ".entry k(.param .b8 a[32765]) {}", "takes more than 32764 bytes of parameters"),
        (HEAD + ".entry k(.param .b8 a[9999999999])", "takes more than 32764 bytes of parameters"),
        (HEAD + f".entry k(.param .b8 a[{'9' * 5000}])", "where a number should be"),
        (HEAD + ".entry k() .reqntid 0 {}", "the PTX requires a block or cluster of nothing"),
        (HEAD + ".entry k() .reqntid {}", "the PTX has '{' where a number should be"),
        (HEAD + ".entry k() {} .entry k() {}", "the PTX has two entries 'k'"),
        (".version 8.0\n.entry k() {}", "the PTX has an entry before its .target directive"),
        (".version 8.0\n.target sm_90\n.address_size 32", "the PTX has addresses of 32 bits"),
    ],
)
def test_what_is_no_ptx_is_refused(text: str, message: str) -> None:
    if not message:
        assert read_ptx(text).entries == ()
        return
    with pytest.raises(ImageError) as caught:
        read_ptx(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "part",
    [
        "/*", "//", '"', '\\"', "/", "*", "{", ".", ".entry ", ".entry a ", ".entry a(", "\n", " ",
        ".visible .entry a() ", ".param .u64 a, ", "a", ".target sm_90, ", ".version ", "/**", "}{",
    ],
)  # fmt: skip
def test_no_text_takes_more_than_its_share_of_time(part: str) -> None:
    for text in (HEAD + part * (2**20 // len(part)), HEAD + ".entry k(" + part * 50_000):
        begin = time.process_time()
        with contextlib.suppress(ImageError):
            read_ptx(text)
        assert time.process_time() - begin < 2


TEXTS = [path.read_text(encoding="utf-8") for path in KERNELS if path.stem in {"scalars", "tuple"}]
WORDS = ["{", "}", "(", ")", ",", ";", '"', "/*", "*/", "//", "[", "]", ".entry k", ".param .u64 a"]


@settings(max_examples=300, deadline=None)
@given(
    text=st.sampled_from(TEXTS),
    edits=st.lists(
        st.tuples(st.integers(0, 3000), st.integers(0, 40), st.sampled_from(WORDS) | st.text()),
        max_size=6,
    ),
)
def test_damage_is_nothing_but_an_image_error(text: str, edits: list[tuple[int, int, str]]) -> None:
    for at, size, new in edits:
        text = text[:at] + new + text[at + size :]
    with contextlib.suppress(ImageError):
        read_ptx(text)


def test_a_byte_order_mark_is_no_part_of_the_image() -> None:
    text = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"
    (found,) = read_images(b"\xef\xbb\xbf" + text + b"\0")
    assert found.data == text
    with pytest.raises(ImageError, match="a zero byte in the middle"):
        read_images(text + b"\0\0more")
