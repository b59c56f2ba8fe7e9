"""Signatures from Triton's IR, against what was compiled, and what is refused."""

from __future__ import annotations

import contextlib
import re
import time

import pytest

from launchgen.abi import slots
from launchgen.diagnostics import (
    InputError,
    LaunchgenError,
    MismatchError,
    Source,
    UnsupportedError,
)
from launchgen.metadata import Overrides, launch_metadata, read_metadata
from launchgen.scalars import SCALARS
from launchgen.signature import Signature, parse
from launchgen.targets import TARGETS
from launchgen.ttir import read_kernel_ir, read_signature
from tests.zoo import ZOO, Kernel

CUDA = TARGETS["cuda"]

# As Triton 3.6 prints it by default, with line information and a name that is not ASCII.
WITH_LINES = r"""
#loc = loc("kernels.py":9:0)
#loc6 = loc("x_ptr"(#loc))
module {
  tt.func public @plain(%x_ptr: !tt.ptr<i32> {tt.divisibility = 16 : i32} loc("x_ptr"(#loc)),
    %ptrs: !tt.ptr<f8E4M3FN> {tt.divisibility = 16 : i32} loc("ptrs"(#loc)),
    %ptrs_0: !tt.ptr<i1> loc("ptrs"(#loc)), %flag: i1 loc("flag"(#loc)),
    %grC3B6C39Fe: i32 loc("gr\C3\B6\C3\9Fe"(#loc)), %arg1: i32 loc("arg1"(#loc)),
    %i32: i32 loc("i32"(#loc))) attributes {noinline = false} {
    %0 = arith.addi %flag, %grC3B6C39Fe : i32 loc(#loc1)
    tt.return loc(#loc5)
  } loc(#loc)
} loc(#loc)
"""

# A Gluon kernel's .ttgir of Triton 3.6.
GLUON = """
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], order = [0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false}>
module attributes {"ttg.num-ctas" = 1 : i32, ttg.target = "cuda:90"} {
  tt.func public @gk(%desc: !tt.tensordesc<tensor<64x64xf16, #shared>> loc("desc"(#loc1)), \
%desc_0: i32 loc("desc"(#loc1)), %desc_1: i32 loc("desc"(#loc1)), %desc_2: i64 loc("desc"(#loc1)), \
%desc_3: i64 loc("desc"(#loc1)), %out_ptr: !tt.ptr<i32> loc(#loc7), %n: i32 loc(unknown)) {
    %1 = tt.addptr %0, %offs : tensor<128x!tt.ptr<i32>, #blocked>
"""
ALIAS = '#loc7 = loc("out"(#loc1))\n'


def infer(text: str, entry: str | None = None) -> Signature:
    return read_signature(Source("k.ttir", text), entry=entry)


def header(parameters: str) -> str:
    return f"module {{\n  tt.func public @k({parameters}) attributes {{noinline = false}} {{\n"


def refused(error: type[LaunchgenError], text: str, entry: str | None = None) -> str:
    with pytest.raises(LaunchgenError) as caught:
        infer(text, entry)
    assert type(caught.value) is error
    return str(caught.value)


# --- the zoo -------------------------------------------------------------------------------------


def flattened(kernel: Kernel, signature: Signature) -> list[str]:
    """Return type and hint of every slot but the hidden ones, without signedness."""
    raw = read_metadata(Source(kernel.json.name, kernel.json.read_text()))
    metadata = launch_metadata(raw, Overrides(), target=CUDA)
    found = []
    for slot in slots(signature, metadata, target=CUDA):
        if slot.path:
            hint = signature.arguments[slot.path[0]].hint
            scalar = SCALARS.get(slot.type)
            found.append(f"{scalar.mlir if scalar else slot.type}{hint}")
    return found


@pytest.mark.parametrize("kernel", ZOO, ids=str)
def test_what_was_compiled_is_inferred(kernel: Kernel) -> None:
    found = infer(kernel.json.with_suffix(".ttir").read_text(), kernel.entry)
    assert flattened(kernel, found) == flattened(kernel, parse(kernel.signature))
    assert parse(str(found)) == found


@pytest.mark.parametrize(
    ("folder", "name", "expected"),
    [
        ("triton-3.6.0-sm90", "add_div16", "x_ptr y_ptr out_ptr n alpha"),
        ("triton-3.6.0-sm90", "tuple", "ptrs_0 ptrs_1 shape_0 shape_1 scale out_ptr"),
        ("triton-3.9.0-sm90", "tuple", "ptrs_0 ptrs_1_0 shape_0 shape_1 scale out_ptr"),
        ("triton-3.9.0-sm90", "desc_copy", "src dst"),
        ("triton-3.6.0-sm90", "scalars", "out_ptr b1 s8 s16 s32 s64 u8_ u16_ u32_ u64_ h bh f d"),
        ("triton-3.4.0-sm90", "add", "arg0 arg1 arg2 arg3 arg4"),
        (
            "triton-3.6.0-sm80",
            "desc_copy",
            " ".join(f"{d}_{i}" for d in ("src", "dst") for i in range(10)),
        ),
    ],
)
def test_names_are_the_kernels_own(folder: str, name: str, expected: str) -> None:
    kernel = Kernel(folder, name)
    found = infer(kernel.json.with_suffix(".ttir").read_text())
    assert " ".join(found.names) == expected


def test_a_descriptor_keeps_its_type() -> None:
    for folder in ("triton-3.4.0-sm90", "triton-3.6.0-sm90", "triton-3.9.0-sm90"):
        text = Kernel(folder, "desc_copy").json.with_suffix(".ttir").read_text()
        types = [str(argument.type) for argument in infer(text).arguments]
        assert types == ["tensordesc<fp16[64, 64]>"] * 2


# --- forms of the IR -----------------------------------------------------------------------------


def test_line_information_holds_the_names() -> None:
    found = infer(WITH_LINES)
    assert str(found) == (
        "x_ptr: *i32:16, ptrs_0: *fp8e4nv:16, ptrs_1: *i1, flag: i1, i32, arg1: i32, i32_: i32"
    )
    assert found.names[4] == "arg4"  # 'größe' is no ASCII identifier
    assert parse(str(found)) == found


def test_gluon_leaves_a_ttgir_with_the_same_header() -> None:
    found = infer(GLUON + ALIAS)
    assert str(found) == "desc: tensordesc<fp16[64, 64]>, out: *i32, n: i32"


def test_a_name_that_is_taken_gets_an_underscore() -> None:
    text = header('%a: i32 loc("x"), %b: i32 loc("x"), %c: i32 loc("x_0"), %d: i32 loc("arg4"), '
                  '%arg0: i32')  # fmt: skip
    assert infer(text).names == ("x_0", "x_1", "x_0_", "arg4_", "arg4")


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("%p: !tt.ptr<f32, 1>", "p: *fp32"),
        ("%p: !tt.ptr<f32, 1 : i32>", "p: *fp32"),
        ("%p: !tt.ptr<!tt.ptr<bf16>>", "p: **bf16"),
        ("%p: !tt.ptr<!tt.ptr<i64, 1>, 1> {tt.divisibility = 16 : i32}", "p: **i64:16"),
        ("%p: !tt.ptr<f8E5M2>", "p: *fp8e5"),
        ("%m: !tt.ptr<i8, 0> {tt.nv_tma_desc = 1 : i32}", "m: nvTmaDesc"),
        ("%m: !tt.ptr<i8> {tt.divisibility = 64 : i32, tt.nv_tma_desc = 1 : i32}", "m: nvTmaDesc"),
        ("%n: i32 {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}", "n: i32:16"),
        ("%n: i32 {tt.divisibility = 32 : i32}", "n: i32:16"),
        ("%n: i32 {tt.divisibility = 8 : i32}", "n: i32"),
        ("%x: f64 {tt.divisibility = 16 : i32}", "x: fp64"),
        ('%n: i32 {note = "a, b) {", tt.divisibility = 16 : i32} loc("q"(#loc1))', "q: i32:16"),
        ("%n: i32 {f = () -> ()}, %m: i64", "n: i32, m: i64"),
        ("", ""),
        (
            "%d: !ttng.tensordesc_im2col<tensor<32x64xf16, #shared>>, %s0: i32, %s1: i32, %s2: i32,"
            " %s3: i32, %t0: i64, %t1: i64, %t2: i64, %t3: i64, %n: i32",
            "d: tensordesc_im2col<fp16[32, 64],input_rank=4>, n: i32",
        ),
    ],
)
def test_types_and_hints(parameter: str, expected: str) -> None:
    assert str(infer(header(parameter))) == expected


def test_the_source_argument_of_each_part_is_told() -> None:
    def owners(parameters: str) -> tuple[str, ...]:
        return read_kernel_ir(Source("k.ttir", header(parameters))).owners

    assert owners('%a: i32 loc("x"), %b: i32 loc("x"), %c: i32 loc("x_0")') == ("x", "x", "x_0_")
    assert owners('%a: i32 loc("x"), %b: i32 loc("x_1")') == ("x", "x_1")
    assert owners('%a: i32 loc("p.0"), %b: i32 loc("p.1.0"), %c: i64') == ("p", "p", "c")
    assert owners('%a: i32 loc("u8"), %b: i32 loc("u8")') == ("u8_", "u8_")
    assert owners("%arg0: i32, %arg1: i32") == ("", "")


def test_an_im2col_descriptor_without_its_sizes_is_refused() -> None:
    text = header("%d: !ttng.tensordesc_im2col<tensor<8x8xf16>>, %n: i64")
    assert "shape and strides are missing" in refused(UnsupportedError, text)


def test_the_entry_chooses_one_of_several_kernels() -> None:
    text = header("%a: i32") + header("%b: i64").replace("@k", "@other")
    assert str(infer(text, "other")) == "b: i64"
    assert "several kernels: 'k', 'other'" in refused(InputError, text)
    assert "no kernel called 'third', only 'k', 'other'" in refused(MismatchError, text, "third")
    assert "several kernels" in refused(InputError, text.replace("@other", "@k"), "k")
    commented = text + "// tt.func public @k(%c: i8)\n"
    assert str(infer(commented, "k")) == "a: i32"


def test_a_private_function_is_no_kernel() -> None:
    text = header("%a: i32").replace("public", "private")
    assert "there is no 'tt.func public'" in refused(InputError, text)


@pytest.mark.parametrize(
    "type_", ["!tt.ptr<i4>", "i4", "f8E5M2", "tensor<4xi32>", "!x.y", "memref"]
)
def test_a_type_that_no_launcher_passes_is_refused(type_: str) -> None:
    text = refused(UnsupportedError, header(f"%a: i32, %b: {type_}"))
    assert f"type '{type_}' is none" in text
    assert "--signature" in text
    assert re.search(r"\n +\^~", text)


@pytest.mark.parametrize("size", ["0", "1000000000"])
def test_a_descriptor_of_a_size_that_no_signature_can_say_is_refused(size: str) -> None:
    parts = "%a: i32, %b: i32, %c: i64, %d: i64"
    text = header(f"%t: !tt.tensordesc<tensor<{size}x8xf16>>, {parts}")
    assert f"tensor<{size}x8xf16>>' is none" in refused(UnsupportedError, text)


def test_a_descriptor_without_its_shape_is_refused() -> None:
    text = header("%d: !tt.tensordesc<tensor<8x8xf16>>, %a: i32, %b: i32, %c: i64")
    assert "shape and strides are missing" in refused(UnsupportedError, text)


@pytest.mark.parametrize(
    "text",
    [
        header("%a: i32, %b i32"),
        header("%a: i32, junk"),
        header("%a: i32]"),
        "tt.func public @k(%a: i32, %b: !tt.ptr<f32>",
        "tt.func public @k(%a: i32 {",
    ],
)
def test_a_header_that_cannot_be_read_is_refused_where_it_breaks(text: str) -> None:
    assert "cannot be read here" in refused(InputError, text)


LONG = {
    "brackets": "tt.func public @k(" + "(" * 200_000,
    "pointers": "tt.func public @k(" + "%a: !tt.ptr<" * 100_000,
    "a string": 'tt.func public @k("' + '\\"' * 200_000,
    "strings": "tt.func public @k(" + '"\n' * 200_000,
    "aliases": header(", ".join(f"%a{i}: i32 loc(#l{i})" for i in range(3000)))
    + "#loc = loc(unknown)\n" * 200_000,
    "a type": header("%a: !tt.ptr<" + "f32, " * 100_000 + ">"),
    "digits": header(f"%a: !tt.tensordesc<tensor<{'9' * 5000}x4xf32>>"),
    "arguments": header(", ".join(f'%a{i}: i32 loc("x")' for i in range(20_000))),
    "descriptors": header(", ".join(f"%d{i}: !tt.tensordesc_im2col<1xf16>" for i in range(20_000))),
    "functions": "tt.func public @k(\n" * 100_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_long_text_takes_no_long_time(text: str) -> None:
    begin = time.process_time()
    with contextlib.suppress(LaunchgenError):
        slots(infer(text), launch_metadata(None, Overrides(num_warps=1), target=CUDA), target=CUDA)
    assert time.process_time() - begin < 5
