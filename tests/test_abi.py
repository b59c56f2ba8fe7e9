"""Slots: their order, sizes and offsets, against the parameter tables of real images."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from launchgen.abi import Slot, SlotRole, hidden_slots, layout, slots, total_bytes
from launchgen.diagnostics import LaunchgenError, MetadataError, Source, UnsupportedError
from launchgen.metadata import (
    LaunchMetadata,
    Overrides,
    Scratch,
    TensorDescriptorMeta,
    launch_metadata,
    read_metadata,
)
from launchgen.signature import Hint, leaves, parse
from launchgen.targets import TARGETS
from tests.cubin import read_kernel_info, read_parameters
from tests.zoo import ZOO, Kernel

CUDA = TARGETS["cuda"]
PLAIN = launch_metadata(None, Overrides(num_warps=4), target=CUDA)
TILED = TensorDescriptorMeta(swizzle=3, elem_size=2, elem_type=6, block_size=(64, 64))
IM2COL = replace(TILED, is_im2col=True)


def of_release(version: tuple[int, int] | None, *described: TensorDescriptorMeta) -> LaunchMetadata:
    return replace(PLAIN, triton_version=version, tensor_descriptors=described)


def parameters(text: str, metadata: LaunchMetadata = PLAIN) -> tuple[Slot, ...]:
    return slots(parse(text), metadata, target=CUDA)


def types(text: str, metadata: LaunchMetadata = PLAIN) -> str:
    return " ".join(slot.type for slot in parameters(text, metadata))


def labels(text: str, metadata: LaunchMetadata = PLAIN) -> list[str]:
    return [slot.label for slot in parameters(text, metadata)]


def refusal(error: type[LaunchgenError], text: str, metadata: LaunchMetadata) -> str:
    with pytest.raises(LaunchgenError) as caught:
        parameters(text, metadata)
    assert type(caught.value) is error
    assert "hint: " in str(caught.value)
    return str(caught.value)


# The truth


def zoo_slots(kernel: Kernel) -> tuple[Slot, ...]:
    raw = read_metadata(Source(kernel.json.name, kernel.json.read_text()))
    return slots(
        parse(kernel.signature), launch_metadata(raw, Overrides(), target=CUDA), target=CUDA
    )


@pytest.mark.parametrize("kernel", ZOO, ids=str)
def test_slots_equal_the_parameter_table_of_the_real_image(kernel: Kernel) -> None:
    found = zoo_slots(kernel)
    info = read_kernel_info(kernel.cubin, kernel.entry)
    placed = [
        (ordinal, offset, slot.size)
        for ordinal, (offset, slot) in enumerate(layout(found, base=info.bank_base))
    ]
    assert placed == read_parameters(kernel.cubin, kernel.entry)
    assert total_bytes(found, base=info.bank_base) == info.total
    assert tuple(slot.pointer for slot in found) == info.pointers


@pytest.mark.parametrize("kernel", ZOO, ids=str)
def test_real_signatures_survive_the_trip_to_text_and_back(kernel: Kernel) -> None:
    signature = parse(kernel.signature)
    assert parse(str(signature)) == signature


def test_the_zoo_has_hints_tuples_and_descriptors_of_both_forms() -> None:
    hinted = [leaf for kernel in ZOO for leaf in leaves(parse(kernel.signature))]
    assert any(leaf.argument.hint is Hint.DIVISIBLE_BY_16 for leaf in hinted)
    assert any(len(leaf.path) == 3 for leaf in hinted)
    roles = {slot.role for kernel in ZOO for slot in zoo_slots(kernel)}
    assert roles == set(SlotRole)


# Order


def test_shape7_an_argument_that_equals_1_has_no_slot_and_shifts_no_other() -> None:
    found = parameters("p: *fp32, q: *i64, one: i32:1, n: i32")
    assert [(slot.label, slot.path) for slot in found] == [("p", (0,)), ("q", (1,)), ("n", (3,))]


def test_shape1_constants_have_no_slot() -> None:
    assert types("") == types("constexpr, constexpr") == types("1024") == ""
    assert types("", of_release((3, 6))) == "*i8 *i8"


def test_shape3_tuples_are_their_leaves_in_order() -> None:
    found = parameters("t: (*fp32, i32, (i64, constexpr)), (), (u8,), u: (i32:1, 3)")
    assert [(slot.label, slot.type, slot.path) for slot in found] == [
        ("t.0", "*fp32", (0, 0)),
        ("t.1", "i32", (0, 1)),
        ("t.2.0", "i64", (0, 2, 0)),
        ("arg2.0", "u8", (2, 0)),
    ]


def test_shape10_constants_in_tuples_keep_the_place_of_the_others() -> None:
    found = parameters("s: ((i64, i64), (i64, constexpr), i32)")
    assert [slot.path for slot in found] == [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 2)]


def test_every_type_has_its_size_and_alignment() -> None:
    found = parameters(
        "*kfp8e5, **fp32, i1, i16, fp64, bf16, bytes[24:8], bytes[960:64], nvTmaDesc"
    )
    assert [(slot.type, slot.size, slot.align) for slot in found] == [
        ("*kfp8e5", 8, 8),
        ("**fp32", 8, 8),
        ("i1", 1, 1),
        ("i16", 2, 2),
        ("fp64", 8, 8),
        ("bf16", 2, 2),
        (str(parse("bytes[24:8]")), 24, 8),
        ("bytes[960:64]", 960, 64),
        ("nvTmaDesc", 128, 64),
    ]
    assert [slot.pointer for slot in found] == [True, True] + [False] * 7
    assert {slot.role for slot in found} == {SlotRole.ARGUMENT}


def test_padding_is_natural() -> None:
    found = parameters("i8, i64, i8, i16, fp32, nvTmaDesc, i1")
    assert [offset for offset, _ in layout(found)] == [0, 8, 16, 18, 20, 64, 192]
    assert total_bytes(found) == 193
    assert total_bytes(()) == 0


# Hidden slots


@pytest.mark.parametrize(
    ("version", "count"),
    [
        (None, 0),
        ((2, 1), 0),
        ((3, 2), 0),
        ((3, 3), 1),
        ((3, 4), 1),
        ((3, 5), 2),
        ((3, 6), 2),
        ((3, 9), 2),
        ((3, 10), 2),
        ((4, 0), 2),
    ],
)
def test_scratch1_the_release_decides_how_many_hidden_slots_follow(
    version: tuple[int, int] | None, count: int
) -> None:
    found = parameters("n: i32", of_release(version))
    assert found[1:] == hidden_slots(version)
    expected = [SlotRole.GLOBAL_SCRATCH, SlotRole.PROFILE_SCRATCH][:count]
    assert [slot.role for slot in hidden_slots(version)] == expected
    for slot in hidden_slots(version):
        assert (slot.size, slot.align, slot.pointer, slot.path) == (8, 8, True, ())
        assert slot.label == slot.role.value


def test_scratch_that_the_kernel_cannot_be_told_of_is_refused() -> None:
    needy = replace(PLAIN, global_scratch=Scratch(384, 128))
    text = refusal(MetadataError, "n: i32", needy)
    assert "384 bytes of global scratch" in text
    assert "--triton-version" in text
    assert "of Triton 3.2 has no" in refusal(
        MetadataError, "n: i32", replace(needy, triton_version=(3, 2))
    )
    profiled = replace(of_release((3, 4)), profile_scratch=Scratch(1))
    assert "profile scratch" in refusal(MetadataError, "n: i32", profiled)
    assert len(parameters("n: i32", replace(needy, triton_version=(3, 3)))) == 2


# Descriptors


def test_a_descriptor_with_an_entry_is_a_tensor_map_and_its_extents() -> None:
    found = parameters("src: tensordesc<fp16[64, 64]>", of_release((3, 4), TILED))
    assert [(slot.label, slot.type) for slot in found[:-1]] == [
        ("src.map", "nvTmaDesc"),
        ("src.shape[0]", "i32"),
        ("src.shape[1]", "i32"),
        ("src.strides[0]", "i64"),
        ("src.strides[1]", "i64"),
    ]
    assert [slot.role for slot in found[:3]] == [
        SlotRole.TENSOR_MAP,
        SlotRole.SHAPE,
        SlotRole.SHAPE,
    ]
    assert [slot.part for slot in found[1:5]] == [0, 1, 0, 1]
    assert {slot.path for slot in found[:-1]} == {(0,)}


@pytest.mark.parametrize(
    ("version", "flags"),
    [
        ((3, 4), []),
        ((3, 5), ["nan_padding"]),
        ((3, 6), ["nan_padding"]),
        ((3, 7), ["nan_padding", "round_tf32"]),
        ((3, 8), ["nan_padding", "round_tf32"]),
        ((3, 9), ["nan_padding", "round_tf32"]),
    ],
)
def test_a_descriptor_without_an_entry_is_decomposed_as_its_release_does(
    version: tuple[int, int], flags: list[str]
) -> None:
    metadata = of_release(version)
    text = "d: tensordesc<bf16[8, 8, 64],layout<a=[1, 2]>>, n: i32"
    body = "*bf16 i64 i64 i64 i64 i64 i64" + " i1" * len(flags) + " i32 i32 i32 i64 i64 i64"
    hidden = " *i8" * len(hidden_slots(version))
    assert types(text, metadata) == f"{body} i32{hidden}"
    assert [label for label in labels(text, metadata) if "_" in label] == [
        f"d.{flag}" for flag in flags
    ]
    base = parameters(text, metadata)[0]
    assert (base.role, base.label, base.pointer) == (SlotRole.BASE, "d.base", True)
    found = [slot for slot in parameters(text, metadata) if slot.role is SlotRole.FLAG]
    assert [slot.part for slot in found] == list(range(len(flags)))


@pytest.mark.parametrize("described", [(TILED,), ()])
def test_shape3_descriptors_inside_tuples_come_with_3_8(
    described: tuple[TensorDescriptorMeta, ...],
) -> None:
    text = "(tensordesc<fp16[64, 64]>, i32)"
    found = parameters(text, of_release((3, 8), *described))
    assert {slot.path for slot in found[:-3]} == {(0, 0)}
    assert found[-3].path == (0, 1)
    refused = refusal(MetadataError, text, of_release((3, 7), *described))
    assert "Triton 3.7 takes no tensor descriptors inside tuples" in refused


def test_the_rank_of_an_im2col_descriptor_is_that_of_its_input() -> None:
    text = "tensordesc_im2col<fp16[128, 64],input_rank=4>"
    found = types(text, of_release((3, 8), IM2COL))
    assert found == "nvTmaDesc i32 i32 i32 i32 i64 i64 i64 i64 *i8 *i8"
    refused = refusal(MetadataError, text, of_release((3, 7), IM2COL))
    assert "Triton 3.7 has no im2col descriptors" in refused


def test_each_descriptor_has_the_entry_of_its_place() -> None:
    text = "a: tensordesc<fp16[64, 64]>, n: i32, b: tensordesc<fp16[16]>"
    one = replace(TILED, block_size=(16,))
    found = types(text, of_release((3, 6), TILED, one))
    assert found == "nvTmaDesc i32 i32 i64 i64 i32 nvTmaDesc i32 i64 *i8 *i8"
    refused = refusal(MetadataError, text, of_release((3, 6), one, TILED))
    assert "tensordesc<fp16[64, 64]> has rank 2, its block_size in tensordesc_meta 1" in refused
    assert "--signature:1:1" in refused


@pytest.mark.parametrize(
    ("text", "metadata", "part"),
    [
        ("tensordesc<fp16[8, 8]>", of_release(None), "depends on the release"),
        ("tensordesc<fp16[8, 8]>", of_release((3, 3)), "Triton 3.3 has no tensor descriptors"),
        ("tensordesc<fp16[8, 8]>", of_release((3, 6), TILED, TILED), "1 tensor descriptors"),
        ("n: i32", of_release((3, 6), TILED), "the signature has 0 tensor descriptors"),
        ("tensordesc<fp16[8, 8]>", of_release((3, 8), IM2COL), "does not fit is_im2col"),
        ("tensordesc<fp16[1, 1, 1, 1, 1, 1]>", of_release((3, 6), TILED), "has rank 6"),
    ],
)
def test_metadata_that_contradicts_a_descriptor_is_refused(
    text: str, metadata: LaunchMetadata, part: str
) -> None:
    assert part in refusal(MetadataError, text, metadata)


# The limit


def test_a_thousand_arguments_fit() -> None:
    text = ", ".join(["*fp32:16"] * 1000)
    assert total_bytes(parameters(text, of_release((3, 6)))) == 8016


@pytest.mark.parametrize(
    ("capability", "limit"), [(None, 32764), (70, 32764), (90, 32764), (61, 4352)]
)
def test_a_parameter_list_over_the_limit_is_refused_with_its_size(
    capability: int | None, limit: int
) -> None:
    metadata = replace(PLAIN, capability=capability)
    most = f"bytes[{limit}:4]"
    assert total_bytes(parameters(most, metadata)) == limit
    text = refusal(UnsupportedError, f"{most}, i8", metadata)
    assert f"{limit + 1:,} bytes" in text
    assert f"at most {limit:,}" in text
