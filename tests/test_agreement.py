"""A signature against the image: every single mistake is refused, and the right argument named."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from launchgen.abi import slots
from launchgen.agreement import check_launch, check_parameters
from launchgen.cli import main
from launchgen.diagnostics import MismatchError, Source
from launchgen.guess import guess_signature
from launchgen.image import Entry, Parameter, read_cubin
from launchgen.ir_agreement import check_ir
from launchgen.limits import MOST_ARGUMENTS
from launchgen.metadata import LaunchMetadata, Overrides, launch_metadata, read_metadata
from launchgen.pairing import pair
from launchgen.signature import (
    Argument,
    BytesType,
    Constant,
    Hint,
    Signature,
    TupleType,
    Unknown,
    leaf_label,
    leaves,
    parse,
)
from launchgen.targets import TARGETS
from launchgen.ttir import read_kernel_ir
from tests.zoo import ZOO, Kernel

CUDA = TARGETS["cuda"]
KERNELS = pytest.mark.parametrize("kernel", ZOO, ids=str)


@functools.cache
def metadata_of(kernel: Kernel) -> LaunchMetadata:
    raw = read_metadata(Source(kernel.json.name, kernel.json.read_text()))
    return launch_metadata(raw, Overrides(), target=CUDA)


@functools.cache
def entry_of(kernel: Kernel) -> Entry:
    (found,) = read_cubin(kernel.cubin.read_bytes()).entries
    return found


def check(kernel: Kernel, signature: Signature, metadata: LaunchMetadata | None = None) -> None:
    used = metadata_of(kernel) if metadata is None else metadata
    check_parameters(
        slots(signature, used, target=CUDA),
        entry_of(kernel),
        signature=signature,
        metadata=used,
        place=kernel.cubin.name,
    )


def refusal(kernel: Kernel, signature: Signature, metadata: LaunchMetadata | None = None) -> str:
    with pytest.raises(MismatchError) as caught:
        check(kernel, signature, metadata)
    text = str(caught.value)
    assert caught.value.exit_code == 2
    assert "\n  > " in text
    assert "\n  hint: " in text
    return text


@KERNELS
def test_what_was_compiled_agrees(kernel: Kernel) -> None:
    check(kernel, parse(kernel.signature))
    check_launch(metadata_of(kernel), entry_of(kernel), place="x")


# --- mutations of one slot -----------------------------------------------------------------------


OTHERS = ("i8", "i16", "i32", "i64", "fp32", "bytes[24]", "*fp32", "nvTmaDesc")


def type_of(text: str) -> Argument:
    return parse(text).arguments[0]


def size_of(argument: Argument) -> tuple[int, bool]:
    (slot,) = slots(Signature((argument,)), metadata_of(ZOO[-1]), target=CUDA)[:1]
    return slot.size, slot.pointer


def put(
    arguments: tuple[Argument, ...], path: tuple[int, ...], *new: Argument
) -> tuple[Argument, ...]:
    """Return ``arguments`` with ``new`` in place of what stands at ``path``."""
    at = path[0]
    old = arguments[at]
    if len(path) > 1:
        assert isinstance(old.type, TupleType)
        inner = put(old.type.elements, path[1:], *new)
        new = (Argument(TupleType(inner), old.hint, old.name),)
    return (*arguments[:at], *new, *arguments[at + 1 :])


def run_time(signature: Signature) -> Iterator[tuple[tuple[int, ...], Argument]]:
    for path, argument in leaves(signature):
        if not isinstance(argument.type, Constant) and argument.hint is not Hint.EQUALS_1:
            yield path, argument


@KERNELS
def test_a_type_of_another_width_is_refused_by_name(kernel: Kernel) -> None:
    signature = parse(kernel.signature)
    for path, argument in run_time(signature):
        for text in OTHERS:
            new = type_of(text)
            if "tensordesc" not in str(argument.type) and size_of(new) == size_of(argument):
                continue
            mutated = Argument(new.type, None, argument.name)
            wrong = Signature(put(signature.arguments, path, mutated))
            label = leaf_label(signature, path)
            if "tensordesc" in str(argument.type):
                # Several slots for one: refused, and no single one of them is to blame.
                wrong_metadata = replace(metadata_of(kernel), tensor_descriptors=())
                refusal(kernel, wrong, wrong_metadata)
            else:
                assert f"'{label}'" in refusal(kernel, wrong).splitlines()[0]


@KERNELS
def test_one_argument_more_is_refused_by_name(kernel: Kernel) -> None:
    signature = parse(kernel.signature)
    for at in range(len(signature.arguments) + 1):
        for text in ("i8", "i16", "i32", "i64", "fp64", "*fp32", "bytes[24]"):
            extra = Argument(type_of(text).type, None, "extra")
            arguments = (*signature.arguments[:at], extra, *signature.arguments[at:])
            assert "'extra'" in refusal(kernel, Signature(arguments)).splitlines()[0]


@KERNELS
def test_one_argument_less_is_refused_where_it_is_missing(kernel: Kernel) -> None:
    signature = parse(kernel.signature)
    for path, argument in run_time(signature):
        if "tensordesc" in str(argument.type):
            continue
        wrong = Signature(put(signature.arguments, path))
        message = refusal(kernel, wrong)
        first = message.splitlines()[0].split("signature: ")[-1]
        assert "has no argument" in first
        assert "an argument is missing in the signature" in message
        # Without the parameter that is named, the two agree.
        ordinal = int(first.split("parameter ")[1].split(" ")[0])
        rest = entry_of(kernel).parameters[:ordinal] + entry_of(kernel).parameters[ordinal + 1 :]
        rows = pair(slots(wrong, metadata_of(kernel), target=CUDA), rest)
        assert all(row.agrees for row in rows)


@KERNELS
def test_a_constant_that_is_none_is_named_as_the_cause(kernel: Kernel) -> None:
    signature = parse(kernel.signature)
    for path, argument in run_time(signature):
        if "tensordesc" in str(argument.type) or len(path) > 1:
            continue
        constant = Argument(Constant(Unknown(), declared=True), None, argument.name)
        message = refusal(kernel, Signature(put(signature.arguments, path, constant)))
        assert f"'{argument.name}'" in message.splitlines()[-1]
        assert "is no constant: the kernel takes it at run time" in message


# --- causes --------------------------------------------------------------------------------------

ADD = Kernel("triton-3.6.0-sm90", "add")
OLD_ADD = Kernel("triton-3.4.0-sm90", "add")
PLAIN = "x_ptr: *fp32, y_ptr: *fp32, out_ptr: *fp32, n: i32, alpha: fp32, BLOCK: constexpr"


def test_the_table_shows_both_sides_and_marks_the_first_wrong_line() -> None:
    message = refusal(ADD, parse(PLAIN.replace("n: i32", "n: i64")))
    assert message == (
        "error: add.cubin: argument 3 'n' (i64) has 8 bytes, but parameter 3 of the image has 4\n"
        "  add_kernel in add.cubin, beside the signature:\n"
        "    slot  signature             bytes  image\n"
        "       0  x_ptr: *fp32              8  8, an address\n"
        "       1  y_ptr: *fp32              8  8, an address\n"
        "       2  out_ptr: *fp32            8  8, an address\n"
        "  >    3  n: i64                    8  4\n"
        "       4  alpha: fp32               4  4\n"
        "       5  global scratch: *i8       8  8, an address\n"
        "       6  profile scratch: *i8      8  8, an address\n"
        "  hint: declare 'n' as one of i32, u32, fp32: the image does not tell which"
    )


def test_a_forgotten_constexpr_is_a_likely_cause() -> None:
    message = refusal(ADD, parse(PLAIN.replace("BLOCK: constexpr", "BLOCK: i32")))
    assert "one of 'n', 'alpha', 'BLOCK' is too much: argument 5 'BLOCK' (i32)" in message
    assert "has no parameter in the image, which has 7" in message
    assert "constexpr" in message.splitlines()[-1]


def test_a_hint_of_one_on_a_run_time_argument_is_a_likely_cause() -> None:
    message = refusal(ADD, parse(PLAIN.replace("n: i32", "n: i32:1")))
    assert "one of parameters 3 to 4 is not in the signature: parameter 4" in message
    assert "or 'n' or 'BLOCK' is no constant: the kernel takes it at run time" in message


@pytest.mark.parametrize(
    ("kernel", "version", "text"),
    [
        (ADD, (3, 4), "Triton 3.4 has 1 hidden parameter for scratch memory, this image 2"),
        (ADD, (3, 2), "Triton 3.2 has 0 hidden parameters for scratch memory, this image 2"),
        (ADD, None, "a kernel of no Triton has 0 hidden parameters"),
        (OLD_ADD, (3, 6), "Triton 3.6 has 2 hidden parameters for scratch memory, this image 1"),
    ],
)
def test_scratch_slots_of_another_release_are_a_likely_cause(
    kernel: Kernel, version: tuple[int, int] | None, text: str
) -> None:
    wrong = replace(metadata_of(kernel), triton_version=version)
    message = refusal(kernel, parse(PLAIN), wrong)
    assert text in message
    assert "the launcher passes scratch memory itself" not in message
    fitting = message.split("--triton-version ")[1].split(" ")[0]
    right = replace(wrong, triton_version=tuple(map(int, fitting.split("."))))
    check(kernel, parse(PLAIN), right)


def test_scratch_memory_that_is_declared_by_hand_is_named() -> None:
    message = refusal(ADD, parse(f"{PLAIN}, gs: *i8, ps: *i8"))
    assert "or leave out 'gs' and 'ps': the launcher passes scratch memory itself" in message


def test_an_address_and_an_integer_of_its_size_differ_where_the_image_tells() -> None:
    message = refusal(ADD, parse(PLAIN.replace("y_ptr: *fp32", "y_ptr: i64")))
    assert "argument 1 'y_ptr' (i64) is no address, but parameter 1 of the image is one" in message
    wide = Kernel("triton-3.6.0-sm90", "add_fp16")
    assert "'n' (*fp16) is an address, but parameter 3 of the image is none" in refusal(
        wide, parse(wide.signature.replace("n: i64", "n: *fp16"))
    )


def test_an_image_that_marks_no_addresses_takes_either() -> None:
    entry = Entry("k", (Parameter(0, 8, None),), 8, None, None)
    for text in ("x: i64", "x: *fp32", "x: fp64", "x: bytes[8]"):
        signature = parse(text)
        plain = launch_metadata(None, Overrides(num_warps=1), target=CUDA)
        listed = slots(signature, plain, target=CUDA)
        check_parameters(listed, entry, signature=signature, metadata=plain, place="k.cubin")


def test_what_the_image_cannot_show_is_not_refused() -> None:
    for text in ("n: u32", "n: fp32"):
        check(ADD, parse(PLAIN.replace("n: i32", text)))


def test_a_long_table_shows_what_is_around_the_mistake() -> None:
    many = [f"a{at}: i32" for at in range(1000)]
    parameters = tuple(Parameter(4 * at, 4, False) for at in range(1000))
    entry = Entry("k", parameters, 4000, None, None)
    many[500] = "a500: i64"
    signature = parse(", ".join(many))
    plain = launch_metadata(None, Overrides(num_warps=1), target=CUDA)
    with pytest.raises(MismatchError) as caught:
        check_parameters(
            slots(signature, plain, target=CUDA), entry,
            signature=signature, metadata=plain, place="k.cubin",
        )  # fmt: skip
    text = str(caught.value)
    assert "  >  500  a500: i64" in text
    assert "... 488 more" in text
    assert "... 487 more" in text
    assert len(text.splitlines()) < 35


def test_as_many_parameters_as_there_can_be_take_no_long_time() -> None:
    begin = time.process_time()
    count = MOST_ARGUMENTS - 1
    entry = _entry_of_bytes(count)
    signature = guess_signature(entry, hidden=0)
    plain = launch_metadata(None, Overrides(num_warps=1), target=CUDA)
    listed = slots(parse(str(signature)), plain, target=CUDA)
    check_parameters(listed, entry, signature=signature, metadata=plain, place="k.cubin")
    longer = slots(parse(f"{signature}, n: i64"), plain, target=CUDA)
    with pytest.raises(MismatchError, match=f"argument {count} 'n'"):
        check_parameters(longer, entry, signature=signature, metadata=plain, place="k.cubin")
    # An image may have as many as fit.
    wide = _entry_of_bytes(16_000)
    with pytest.raises(MismatchError, match=f"parameter {count} of the image has no argument"):
        check_parameters(listed, wide, signature=signature, metadata=plain, place="k.cubin")
    assert time.process_time() - begin < 5


def _entry_of_bytes(count: int) -> Entry:
    return Entry("k", tuple(Parameter(at, 1, False) for at in range(count)), count, None, None)


def test_two_mistakes_are_both_marked() -> None:
    message = refusal(ADD, parse("x: *fp32, y: i32, out: *fp32, n: i64, alpha: fp32"))
    marks = [line[2] for line in message.splitlines() if line.startswith("  ")]
    assert marks.count(">") == 1
    assert marks.count("!") == 1


# --- block and cluster ---------------------------------------------------------------------------


def launch_refusal(kernel: Kernel, metadata: LaunchMetadata) -> str:
    with pytest.raises(MismatchError) as caught:
        check_launch(metadata, entry_of(kernel), place="add.cubin")
    return str(caught.value)


def test_a_block_that_the_image_does_not_have_is_refused() -> None:
    text = launch_refusal(ADD, replace(metadata_of(ADD), num_warps=8))
    assert (
        "num_warps is 8, which is a block of 256x1x1 threads, but the image needs 128x1x1" in text
    )
    assert "--num-warps 4" in text


def test_a_cluster_that_the_image_does_not_have_is_refused() -> None:
    pair_of_blocks = Kernel("triton-3.6.0-sm90", "matmul_cluster")
    text = launch_refusal(pair_of_blocks, replace(metadata_of(pair_of_blocks), cluster=(1, 1, 1)))
    assert "a cluster is 1x1x1 blocks by the launch metadata, but the image needs 2x1x1" in text


def test_a_block_along_y_is_refused_with_what_is_possible() -> None:
    entry = replace(entry_of(ADD), block=(16, 8, 1))
    with pytest.raises(MismatchError, match="whole warps along x"):
        check_launch(metadata_of(ADD), entry, place="x.cubin")


# --- a guess -------------------------------------------------------------------------------------


@KERNELS
def test_a_guess_has_the_widths_of_the_image(kernel: Kernel) -> None:
    hidden = 1 if "3.4" in kernel.folder else 2
    guess = guess_signature(entry_of(kernel), hidden=hidden)
    check(kernel, guess, replace(metadata_of(kernel), tensor_descriptors=()))
    assert parse(str(guess)) == guess
    everything = guess_signature(entry_of(kernel), hidden=0)
    assert len(everything.arguments) == len(entry_of(kernel).parameters)


def test_a_guess_spells_structs_and_what_it_cannot_tell() -> None:
    parameters = (
        Parameter(0, 1280, None),
        Parameter(1280, 8, None),
        Parameter(1288, 12, None),
        Parameter(1300, 16, None),
        Parameter(1316, 1, False),
        Parameter(1318, 2, False),
        Parameter(1320, 4, False),
        Parameter(1328, 8, True),
    )
    guess = guess_signature(Entry("k", parameters, 1336, None, None), hidden=0)
    assert str(guess) == "bytes[1280], u64, bytes[12], bytes[16:4], u8, u16, u32, *i8"
    assert all(isinstance(guess.arguments[at].type, BytesType) for at in (0, 2, 3))


# --- the IR --------------------------------------------------------------------------------------


def compare_ir(kernel: Kernel, signature: Signature) -> None:
    path = kernel.json.with_suffix(".ttir")
    ir, owners = read_kernel_ir(Source(path.name, path.read_text()))
    metadata = metadata_of(kernel)
    ours, theirs = (slots(each, metadata, target=CUDA) for each in (signature, ir))
    check_ir(ours, signature, theirs, ir, owners)


def ir_refusal(kernel: Kernel, text: str) -> str:
    with pytest.raises(MismatchError) as caught:
        compare_ir(kernel, parse(text))
    return str(caught.value)


@KERNELS
def test_what_was_compiled_agrees_with_the_ir(kernel: Kernel) -> None:
    compare_ir(kernel, parse(kernel.signature))


DIV16 = Kernel("triton-3.6.0-sm90", "add_div16")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("n: i32:16", "n: fp32", "argument 3 'n' (fp32) is i32 there"),
        ("alpha: fp32", "alpha: u32", "argument 4 'alpha' (u32) is fp32 there"),
        ("y_ptr: *fp32", "y_ptr: *fp16", "argument 1 'y_ptr' (*fp16) is *fp32 there"),
        ("y_ptr: *fp32", "y_ptr: **fp32", "argument 1 'y_ptr' (**fp32) is *fp32"),
        ("x_ptr: *fp32:16", "x_ptr: *fp32", "argument 0 'x_ptr' (*fp32) lacks the hint ':16'"),
        ("n: i32:16", "n: i32", "argument 3 'n' (i32) lacks the hint ':16'"),
        ("x_ptr: *fp32:16, y_ptr", "y_ptr: *fp32:16, x_ptr", "'y_ptr' (*fp32) stands in the place"),
        ("n: i32:16, ", "", "describes 5 parameters, and the signature has 4"),
    ],
)
def test_what_the_image_cannot_show_the_ir_does(old: str, new: str, expected: str) -> None:
    assert old in DIV16.signature
    assert expected in ir_refusal(DIV16, DIV16.signature.replace(old, new))


def test_a_tuple_that_stands_for_another_argument_is_refused() -> None:
    kernel = Kernel("triton-3.6.0-sm90", "tuple")
    swapped = "scale: (*fp32, *fp32), shape: (i32, i32), ptrs: fp32, out_ptr: *fp32"
    assert "argument 0 'scale.0' (*fp32) stands in the place of 'ptrs_0'" in ir_refusal(
        kernel, swapped
    )
    compare_ir(kernel, parse("a: (*fp32, (*fp32, 3)), shape: (i32, i32), s: fp32, o: *fp32"))


def test_the_hint_lists_what_the_ir_calls_so() -> None:
    assert "declare 'n' as i32 or u32" in ir_refusal(ADD, PLAIN.replace("n: i32", "n: fp32"))
    text = ir_refusal(ADD, PLAIN.replace("x_ptr: *fp32", "x_ptr: *i32"))
    assert text.endswith("declare 'x_ptr' as *fp32")


def test_more_hints_other_names_and_signedness_are_no_mistakes() -> None:
    compare_ir(
        ADD, parse("a: *kfp32:16, b: *fp32, c: *fp32:16, d: u32:16, e: fp32, BLOCK: constexpr")
    )
    compare_ir(ADD, parse("*fp32, *fp32, *fp32, u32, fp32, 1024"))
    compare_ir(Kernel("triton-3.6.0-sm90", "grid"), parse("out_ptr: *u32"))


# --- as a user sees it ---------------------------------------------------------------------------


@KERNELS
def test_a_mutation_ends_the_command_with_2_and_writes_nothing(
    kernel: Kernel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    signature = parse(kernel.signature)
    extra = Argument(type_of("i64").type, None, "extra")
    mutations = [Signature((*signature.arguments, extra)), Signature((extra, *signature.arguments))]
    leaf = next(iter(run_time(signature)), None)
    if leaf is not None and "tensordesc" not in str(leaf[1].type):
        mutations.append(Signature(put(signature.arguments, leaf[0])))
        narrow = Argument(type_of("i16").type, None, leaf[1].name)
        mutations.append(Signature(put(signature.arguments, leaf[0], narrow)))
    for mutation in mutations:
        words = ["emit", str(kernel.json), "-s", str(mutation), "-o", str(tmp_path / "out")]
        assert main(words) == 2
        shown = capsys.readouterr().err
        assert shown.startswith("error: ")
        assert "\n  > " in shown
        assert not (tmp_path / "out").exists()
