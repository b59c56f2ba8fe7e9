"""What is read for a launcher: KERNEL, --image, --metadata, --signature and what is beside them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from launchgen import limits
from launchgen.diagnostics import (
    ImageError,
    InputError,
    LaunchgenError,
    MetadataError,
    MismatchError,
    SignatureError,
    UnsupportedError,
    UsageError,
)
from launchgen.images import read_images
from launchgen.inputs import InputFile
from launchgen.metadata import LaunchMetadata, Overrides
from launchgen.signature import parse
from launchgen.sources import Image, KernelSource, read_kernel
from launchgen.targets import TARGETS
from tests.made_image import make_cubin, make_fatbin
from tests.zoo import KERNELS, ZOO, Kernel

ADD = Kernel("triton-3.6.0-sm90", "add")
SIGNATURE = "x: *fp32, y: *fp32, out: *fp32, n: i32, alpha: fp32, BLOCK: constexpr"
WARPS = Overrides(num_warps=4)
PLAIN = Overrides(shared=0, triton_version=(3, 2))
BARE = Overrides(num_warps=4, entry="add_kernel", triton_version=(3, 6))


def read(
    kernel: Path | None = None,
    **options: Any,
) -> KernelSource:
    """Read a kernel; what is not given is as on a command line without it."""
    defaults: dict[str, Any] = {
        "signature_text": SIGNATURE,
        "metadata": None,
        "images": (),
        "no_image": False,
        "name": None,
        "overrides": Overrides(),
        "target": TARGETS["cuda"],
    }
    return read_kernel(kernel, **{**defaults, **options})


def refusal(
    error: type[LaunchgenError],
    kernel: Path | None = None,
    **options: Any,
) -> str:
    with pytest.raises(LaunchgenError) as caught:
        read(kernel, **options)
    assert type(caught.value) is error, caught.value
    return str(caught.value)


def launch(source: KernelSource) -> LaunchMetadata:
    return source.variants[0].metadata


def embedded(source: KernelSource) -> Image | None:
    (variant,) = source.variants
    return variant.image


def file(path: Path) -> InputFile:
    return InputFile(path, path.name, hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A folder like an entry of Triton's cache."""
    for path in ADD.json.parent.glob("add.*"):
        if not path.name.endswith(".signature.json"):
            shutil.copy(path, tmp_path)
    return tmp_path


@pytest.fixture
def entry(cache: Path) -> Path:
    return cache / "add.json"


@pytest.fixture
def image(cache: Path) -> Path:
    return cache / "add.cubin"


@pytest.fixture
def ir(cache: Path) -> Path:
    return cache / "add.ttir"


@pytest.fixture
def lonely(cache: Path) -> Path:
    """An image with nothing beside it."""
    for path in cache.glob("add.*"):
        if path.suffix != ".cubin":
            path.unlink()
    return cache / "add.cubin"


# What there can be


def test_a_cache_entry_is_its_json_with_image_and_ir_beside_it(
    entry: Path, image: Path, ir: Path
) -> None:
    source = read(entry)
    assert source.name == launch(source).entry == "add_kernel"
    assert source.signature == parse(SIGNATURE)
    assert launch(source).triton_version == (3, 6)
    found = embedded(source)
    assert found is not None
    assert found.data == ADD.cubin.read_bytes()
    assert found.name == "add.cubin"
    assert found.sha256 == hashlib.sha256(ADD.cubin.read_bytes()).hexdigest()
    assert source.inputs == (file(entry), file(image), file(ir))
    assert source.origin == ""
    assert source.notes == ()


def test_a_bare_image_takes_all_else_from_options(lonely: Path) -> None:
    source = read(lonely, overrides=replace(BARE, shared=0))
    assert source.name == launch(source).entry == "add_kernel"
    assert embedded(source) is not None
    assert source.inputs == (file(lonely),)
    assert source.notes == ()


def test_an_image_knows_its_entry_its_block_and_its_architecture(lonely: Path) -> None:
    source = read(lonely, overrides=Overrides(triton_version=(3, 6)))
    assert source.name == launch(source).entry == "add_kernel"
    assert launch(source).num_warps == 4
    assert launch(source).capability == 90
    found = embedded(source)
    assert found is not None
    assert str(found.architecture) == "sm_90a"
    assert "--shared" in " ".join(source.notes)


def test_an_image_stands_for_the_cache_entry_that_it_lies_in(
    entry: Path, image: Path, ir: Path
) -> None:
    source = read(image, signature_text=None)
    assert source.inputs == (file(entry), file(image), file(ir))
    assert source.notes == ()
    assert source == read(entry, signature_text=None)


def test_the_image_decides_how_many_hidden_parameters_there_are(lonely: Path) -> None:
    source = read(lonely)
    assert launch(source).hidden_scratch == 2
    assert "last two parameters are taken for scratch memory" in " ".join(source.notes)


def test_a_release_that_the_image_contradicts_is_refused(lonely: Path) -> None:
    text = refusal(MismatchError, lonely, overrides=replace(BARE, triton_version=(3, 4)))
    assert "--triton-version 3.5 fits" in text


def test_a_signature_alone_gives_a_launcher_without_an_image() -> None:
    source = read(name="add", overrides=Overrides(num_warps=4, triton_version=(3, 6)))
    assert (source.name, embedded(source), source.inputs) == ("add", None, ())
    assert launch(source).entry is None


def test_an_image_from_an_option_takes_the_json_of_its_name(
    entry: Path, image: Path, ir: Path
) -> None:
    source = read(images=(image,))
    assert launch(source).entry == "add_kernel"
    assert source.inputs == (file(entry), file(image), file(ir))
    assert read(images=(image,), signature_text=None).origin == "from add.ttir"


def test_an_image_from_an_option_stands_in_for_one_that_is_missing(
    entry: Path, image: Path, ir: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere.cubin"
    image.rename(elsewhere)
    source = read(entry, images=(elsewhere,))
    found = embedded(source)
    assert found is not None
    assert found.name == "elsewhere.cubin"
    assert source.inputs == (file(entry), file(elsewhere), file(ir))
    # KERNEL's own IR is that of an image that stands in for KERNEL's.
    assert read(entry, images=(elsewhere,), signature_text=None).origin == "from add.ttir"
    wrong = SIGNATURE.replace("n: i32", "n: fp32")
    assert "is i32 there" in refusal(
        MismatchError, entry, images=(elsewhere,), signature_text=wrong
    )


def test_the_image_beside_kernel_may_be_named_again(entry: Path, image: Path) -> None:
    again = image.parent / "." / ".." / image.parent.name / image.name
    assert embedded(read(entry, images=(again,))) == embedded(read(entry))


def test_without_an_image_the_metadata_of_kernel_still_counts(
    entry: Path, image: Path, ir: Path
) -> None:
    image.unlink()
    source = read(entry, no_image=True)
    assert embedded(source) is None
    assert launch(source).entry == "add_kernel"
    assert source.inputs == (file(entry), file(ir))


def test_an_image_that_is_not_embedded_is_checked_all_the_same(entry: Path, image: Path) -> None:
    source = read(entry, no_image=True)
    assert embedded(source) is None
    assert file(image) in source.inputs
    assert "has no argument" in refusal(
        MismatchError, entry, no_image=True, signature_text="x: *fp32"
    )
    image.write_bytes(b"no image")
    assert f"error: {image}: " in refusal(ImageError, entry, no_image=True)


def test_given_metadata_wins_over_that_of_kernel(entry: Path, image: Path, ir: Path) -> None:
    other = entry.with_name("other.json")
    written = {**json.loads(entry.read_text()), "shared": 64}
    other.write_text(json.dumps(written))
    entry.write_text("no JSON")
    source = read(entry, metadata=other)
    assert launch(source).shared == 64
    assert source.inputs == (file(other), file(image), file(ir))


def test_an_option_wins_over_every_file(entry: Path) -> None:
    source = read(entry, overrides=Overrides(shared=128, pdl=True))
    assert (launch(source).shared, launch(source).pdl) == (128, True)


def test_a_block_that_the_image_was_not_compiled_for_is_refused(entry: Path) -> None:
    text = refusal(MismatchError, entry, overrides=Overrides(num_warps=2))
    assert "num_warps is 2" in text
    assert "the image needs 128x1x1" in text


def test_name3_an_entry_that_the_image_lacks_lists_those_that_it_has(entry: Path) -> None:
    text = refusal(MismatchError, entry, overrides=Overrides(entry="add_kernl"))
    assert "holds no kernel called 'add_kernl': there is add_kernel" in text
    assert "did you mean 'add_kernel'?" in text


def test_name3_the_entry_may_have_another_name_than_the_launcher(entry: Path) -> None:
    source = read(entry, name="vector_add")
    assert (source.name, launch(source).entry) == ("vector_add", "add_kernel")


@pytest.mark.parametrize("folder", sorted(path.name for path in KERNELS.iterdir()))
def test_entries_of_every_release_are_read(folder: str) -> None:
    kernel = Kernel(folder, "tuple")
    source = read(kernel.json, signature_text=kernel.signature)
    assert source.name == "tuple_kernel"
    assert source.notes == ()


# Signature


def test_a_signature_is_read_from_a_file(entry: Path, tmp_path: Path) -> None:
    written = tmp_path / "add.sig"
    written.write_bytes(b"\xef\xbb\xbf" + SIGNATURE.replace(", ", ",\r\n").encode() + b"\n")
    source = read(entry, signature_text=f"@{written}")
    assert source.signature == parse(SIGNATURE)
    assert source.inputs[-1] == file(written)


def test_mistakes_in_a_signature_file_name_it(entry: Path, tmp_path: Path) -> None:
    written = tmp_path / "add.sig"
    written.write_text("n: i32,\nm: i23")
    assert f"error: {written}:2:4: " in refusal(SignatureError, entry, signature_text=f"@{written}")


def test_mistakes_in_a_signature_name_the_option(entry: Path) -> None:
    text = refusal(SignatureError, entry, signature_text="n: i23, m: foo")
    assert "error: --signature:1:4: " in text
    assert "error: --signature:1:12: " in text


def test_a_cache_entry_needs_no_signature(entry: Path) -> None:
    source = read(entry, signature_text=None)
    assert str(source.signature) == (
        "x_ptr: *fp32, y_ptr: *fp32, out_ptr: *fp32, n: i32, alpha: fp32"
    )
    assert source.origin == "from add.ttir"
    assert source.notes == ()


@pytest.mark.parametrize("kernel", ZOO, ids=str)
def test_every_cache_entry_says_what_it_is_called_with(kernel: Kernel) -> None:
    source = read(kernel.json, signature_text=None)
    assert source.origin == f"from {kernel.name}.ttir"
    assert source.notes == ()
    written = read(kernel.json, signature_text=kernel.signature)
    assert written.variants == source.variants


def test_without_the_ir_the_signature_is_a_guess_and_says_so(entry: Path, ir: Path) -> None:
    ir.unlink()
    source = read(entry, signature_text=None)
    assert str(source.signature) == "*i8, *i8, *i8, u32, u32"
    assert "guess" in source.origin
    assert any("the signature is a guess" in note for note in source.notes)


def test_an_image_alone_gives_a_guess_of_all_its_parameters(lonely: Path) -> None:
    source = read(lonely, signature_text=None)
    assert str(source.signature) == "*i8, *i8, *i8, u32, u32, *i8, *i8"
    known = read(lonely, signature_text=None, overrides=Overrides(triton_version=(3, 6)))
    assert str(known.signature) == "*i8, *i8, *i8, u32, u32"


def test_a_descriptor_is_guessed_as_its_parts(tmp_path: Path) -> None:
    kernel = Kernel("triton-3.6.0-sm90", "desc_copy")
    for suffix in (".json", ".cubin"):
        shutil.copy(kernel.json.with_suffix(suffix), tmp_path)
    source = read(tmp_path / "desc_copy.json", signature_text=None)
    assert str(source.signature) == ", ".join(["bytes[128], u32, u32, u64, u64"] * 2)


def test_a_signature_that_the_ir_contradicts_is_refused(entry: Path, ir: Path) -> None:
    text = refusal(MismatchError, entry, signature_text=SIGNATURE.replace("n: i32", "n: fp32"))
    assert f"error: {ir}: argument 3 'n' (fp32) is i32 there" in text
    # The image alone cannot tell.
    ir.unlink()
    read(entry, signature_text=SIGNATURE.replace("n: i32", "n: fp32"))


def test_an_ir_that_cannot_be_read_is_noted_where_a_signature_is_given(
    entry: Path, ir: Path
) -> None:
    ir.write_text(ir.read_text().replace("f32 loc", "f4E2M1 loc"))
    (note,) = read(entry).notes
    assert "add.ttir was not compared" in note
    assert "f4E2M1" in refusal(UnsupportedError, entry, signature_text=None)


def test_the_ttgir_of_a_gluon_kernel_is_read(entry: Path, ir: Path) -> None:
    ir.rename(ir.with_suffix(".ttgir"))
    assert read(entry, signature_text=None).origin == "from add.ttgir"


def test_a_signature_can_be_read_without_an_image_to_embed(entry: Path, image: Path) -> None:
    image.unlink()
    source = read(entry, signature_text=None, no_image=True)
    assert source.origin == "from add.ttir"


def test_nothing_at_all_says_what_there_could_be() -> None:
    text = refusal(UsageError, signature_text=None)
    assert "neither KERNEL nor --signature" in text
    assert "launchgen emit NAME.json" in text
    assert '--signature "x_ptr: *fp32' in text


def test_a_signature_file_without_a_name_is_refused(entry: Path) -> None:
    assert "lacks a file" in refusal(UsageError, entry, signature_text="@")


# Names


@pytest.mark.parametrize("name", ["", "añb", "1k", "a-b", "a b", "k\n", "_Z3addIfEvPT_::x"])
def test_a_name_that_is_no_identifier_is_refused(entry: Path, name: str) -> None:
    assert "--name add" in refusal(UsageError, entry, name=name)
    raw = json.loads(entry.read_text())
    entry.write_text(json.dumps({**raw, "name": name or "é"}))
    (entry.parent / "add.cubin").unlink()
    (entry.parent / "add.ttir").unlink()
    if name.isprintable():
        given = {"signature_text": SIGNATURE, "no_image": True}
        assert "--name add" in refusal(UsageError, entry, **given)


def test_a_launcher_without_any_name_asks_for_one() -> None:
    assert "hint: --name NAME" in refusal(UsageError, overrides=WARPS)


def test_the_entry_names_the_launcher_where_nothing_else_does() -> None:
    assert read(overrides=replace(WARPS, entry="add")).name == "add"


# Contradictions and what is missing


def test_warps_are_asked_for_where_nothing_says_them(entry: Path, image: Path) -> None:
    text = refusal(UsageError, name="add")
    assert "--num-warps" in text
    assert "--metadata" in text
    raw = json.loads(entry.read_text())
    del raw["num_warps"]
    entry.write_text(json.dumps(raw))
    assert launch(read(entry)).num_warps == 4  # the image's own
    image.unlink()
    assert "--num-warps" in refusal(MetadataError, entry, no_image=True)


# Several images


OLD_ADD = Kernel("triton-3.6.0-sm80", "add")


def test_name7_images_of_two_architectures_have_metadata_of_their_own(entry: Path) -> None:
    source = read(entry, images=(OLD_ADD.cubin,), signature_text=None)
    found = [(v.image.name, str(v.image.architecture)) for v in source.variants if v.image]
    assert found == [("add.cubin", "sm_90a"), ("add.cubin", "sm_80")]
    assert [v.metadata.capability for v in source.variants] == [90, 80]
    assert file(OLD_ADD.json) in source.inputs
    assert file(OLD_ADD.json.with_suffix(".ttir")) in source.inputs


def test_name7_an_image_without_metadata_beside_it_takes_that_of_kernel(
    entry: Path, tmp_path: Path
) -> None:
    other = tmp_path / "add80.cubin"
    shutil.copy(OLD_ADD.cubin, other)
    source = read(entry, images=(other,))
    first, second = source.variants
    assert first.metadata == replace(second.metadata, capability=90)


def test_name7_given_metadata_is_that_of_every_image(entry: Path, image: Path) -> None:
    source = read(images=(image, OLD_ADD.cubin), metadata=entry)
    assert file(entry) in source.inputs
    assert file(OLD_ADD.json) not in source.inputs


MATMUL = Kernel("triton-3.6.0-sm90", "matmul")
OLD_MATMUL = Kernel("triton-3.6.0-sm80", "matmul")


def copied(kernel: Kernel, folder: Path, *suffixes: str, name: str | None = None) -> Path:
    """Copy some of a kernel's files, and return the image's path there."""
    folder.mkdir(exist_ok=True)
    for suffix in suffixes:
        shutil.copy(kernel.json.with_suffix(suffix), folder / f"{name or kernel.name}{suffix}")
    return folder / f"{name or kernel.name}.cubin"


def test_an_image_as_kernel_lends_the_metadata_beside_it(tmp_path: Path) -> None:
    lonely = copied(OLD_MATMUL, tmp_path / "old", ".cubin")
    source = read(MATMUL.cubin, images=(lonely,), signature_text=None)
    assert [each.metadata.shared for each in source.variants] == [65536, 65536]
    (note,) = (each for each in source.notes if "is compiled for sm_80" in each)
    assert "is launched as metadata for capability 9.0 says" in note


def test_kernels_own_metadata_wins_over_what_lies_beside_it(tmp_path: Path) -> None:
    copied(MATMUL, tmp_path, ".json", ".cubin")
    written = tmp_path / "matmul.launch_metadata"
    fields = {"abi_version": 1, "entry_name": "matmul_kernel", "num_warps": 8}
    written.write_text(json.dumps({**fields, "shared_mem": 81920}))
    source = read(written, signature_text=MATMUL.signature)
    assert launch(source).shared == 81920
    assert file(tmp_path / "matmul.json") not in source.inputs


def test_a_signature_comes_from_whichever_image_has_one(tmp_path: Path) -> None:
    first = copied(ADD, tmp_path, ".json", ".cubin", name="a")
    second = copied(OLD_ADD, tmp_path, ".json", ".cubin", ".ttir", name="b")
    source = read(first, images=(second,), signature_text=None)
    assert source.origin == "from b.ttir"
    assert str(source.signature).startswith("x_ptr: *fp32, ")


def test_an_image_of_which_nothing_is_said_is_noted(tmp_path: Path) -> None:
    lonely = copied(OLD_ADD, tmp_path, ".cubin", ".json", name="old")
    (note,) = read(ADD.json, images=(lonely,), signature_text=None).notes
    assert f"{lonely}: nothing beside it says its types and hints" in note
    assert "they are taken from add.ttir" in note


def test_images_of_kernels_with_different_names_are_noted(tmp_path: Path) -> None:
    slot = [(8, True)] * 3
    for name, capability in (("one", 80), ("two", 90)):
        (tmp_path / f"{name}.cubin").write_bytes(make_cubin(name, slot, capability=capability))
    images = (tmp_path / "one.cubin", tmp_path / "two.cubin")
    chosen = replace(PLAIN, num_warps=4)
    source = read(images=images, signature_text="*i8, *i8, *i8", overrides=chosen)
    assert "the images' kernels have different names: one, two" in source.notes


CLUSTER = Kernel("triton-3.6.0-sm90", "matmul_cluster")


def test_what_tritons_grid_counts_is_not_guessed(tmp_path: Path) -> None:
    image = copied(CLUSTER, tmp_path, ".cubin", ".ttir")
    text = refusal(UsageError, image, signature_text=None, overrides=replace(BARE, entry=None))
    assert "is compiled for clusters of 2 blocks, and nothing says what the grid counts" in text
    assert "--num-ctas 2: clusters, as Triton does; --cluster 2,1,1: blocks" in text
    chosen = replace(BARE, entry=None, num_ctas=2)
    found = launch(read(image, signature_text=None, overrides=chosen))
    assert (found.cluster, found.grid_counts_clusters) == ((2, 1, 1), True)


def test_a_cluster_of_no_tritons_is_counted_in_blocks_and_noted() -> None:
    path = Path(__file__).parent / "images" / "ptxas13.5-sm_90-clusters.cubin"
    (facts,) = (each.facts for each in read_images(path.read_bytes()))
    entry = next(each for each in facts.entries if each.cluster and each.cluster > (1, 1, 1))
    chosen = Overrides(entry=entry.name, num_warps=1, shared=0)
    source = read(path, signature_text=None, overrides=chosen)
    assert launch(source).cluster == entry.cluster
    assert any("the grid counts blocks" in note for note in source.notes)


def test_metadata_of_another_compilation_is_refused(tmp_path: Path) -> None:
    copied(MATMUL, tmp_path, ".cubin", ".ttir")
    shutil.copy(OLD_MATMUL.json, tmp_path / "matmul.json")
    text = refusal(MismatchError, tmp_path / "matmul.json", signature_text=None)
    assert "is compiled for sm_90a, but the launch metadata beside it" in text
    assert "for capability 8.0" in text
    # Given for it by name, it is taken, and noted.
    chosen = {"metadata": tmp_path / "matmul.json", "signature_text": None}
    assert any("capability 8.0" in note for note in read(tmp_path / "matmul.cubin", **chosen).notes)


@pytest.mark.parametrize("text", ["{}", '{"hash": "x", "debug": false}'])
def test_json_that_is_no_metadata_is_refused(entry: Path, text: str) -> None:
    entry.write_text(text)
    assert "holds no field of launch metadata" in refusal(MetadataError, entry)


@pytest.mark.parametrize("missing", ["abi_version", "entry_name"])
def test_half_of_metas_metadata_is_refused(entry: Path, missing: str) -> None:
    written = {"abi_version": 1, "entry_name": "add_kernel", "num_warps": 4, "shared_mem": 64}
    del written[missing]
    entry.write_text(json.dumps(written))
    assert f"missing required field {missing}" in refusal(InputError, entry)


def test_shared_memory_that_nobody_gives_is_noted(entry: Path) -> None:
    raw = json.loads(entry.read_text())
    del raw["shared"]
    entry.write_text(json.dumps(raw))
    assert any("--shared" in note for note in read(entry).notes)


def test_a_handle_does_not_say_of_which_of_several_images_it_is(tmp_path: Path) -> None:
    fatbin = Path(__file__).parent / "images" / "fatbinary13.0-none.fatbin"
    chosen = Overrides(num_warps=1, shared=0)
    (one,) = read(fatbin, no_image=True, overrides=chosen, signature_text=None).variants
    assert one.image is None
    blocks = [
        make_cubin("k", [(8, True)], capability=10 * each, block=32 * each) for each in (8, 9)
    ]
    both = tmp_path / "both.fatbin"
    both.write_bytes(make_fatbin(blocks))
    text = refusal(UsageError, both, no_image=True, signature_text="x: *i8", overrides=PLAIN)
    assert "need different launches, and a handle does not say which it is of" in text


def test_names_that_the_banner_cannot_tell_apart_are_noted(entry: Path) -> None:
    (note,) = read(entry, images=(OLD_ADD.cubin,)).notes
    assert "several inputs are called add.json or add.cubin or add.ttir" in note


def test_the_same_image_twice_is_one(entry: Path, image: Path) -> None:
    assert len(read(entry, images=(image, image)).variants) == 1
    other = OLD_ADD.cubin
    assert len(read(entry, images=(other, other)).variants) == 2


def test_images_that_were_compiled_with_other_hints_are_refused(tmp_path: Path) -> None:
    div16 = Kernel("triton-3.6.0-sm90", "add_div16")
    text = refusal(MismatchError, div16.json, images=(OLD_ADD.cubin,), signature_text=None)
    assert "'x_ptr' was compiled with the hint ':16', but without a hint in" in text


def test_each_image_is_checked(entry: Path, tmp_path: Path) -> None:
    for name in ("scalars.cubin", "scalars.json"):
        shutil.copy(OLD_ADD.json.parent / name, tmp_path)
    text = refusal(MismatchError, entry, images=(tmp_path / "scalars.cubin",))
    assert f"error: {tmp_path / 'scalars.cubin'}: " in text


def test_hints_of_every_image_must_agree(entry: Path, tmp_path: Path) -> None:
    for suffix in (".cubin", ".json", ".ttir"):
        shutil.copy(OLD_ADD.json.parent / f"add_div16{suffix}", tmp_path)
    text = refusal(
        MismatchError, entry, images=(tmp_path / "add_div16.cubin",), signature_text=None
    )
    assert f"error: {tmp_path / 'add_div16.ttir'}: " in text
    assert "lacks the hint ':16'" in text


def test_image_and_no_image_contradict_each_other(image: Path) -> None:
    assert "contradict" in refusal(UsageError, images=(image,), no_image=True)


def test_metadata_that_no_launch_could_obey_names_its_file(entry: Path) -> None:
    raw = json.loads(entry.read_text())
    entry.write_text(json.dumps({**raw, "num_warps": 64}))
    assert f"error: {entry}: num_warps is 64" in refusal(MetadataError, entry)
    entry.write_text(json.dumps({**raw, "instrumentation_mode": "gsan"}))
    assert f"error: {entry}: instrumentation_mode" in refusal(UnsupportedError, entry)


def test_an_option_that_no_launch_could_obey_names_no_file(entry: Path) -> None:
    text = refusal(UsageError, entry, overrides=Overrides(num_ctas=0))
    assert text.startswith("error: --num-ctas is 0")


def test_scratch1_an_unknown_release_is_noted() -> None:
    (note,) = read(name="add", overrides=WARPS).notes
    assert "no hidden scratch slots" in note
    assert "--triton-version" in note


# Files


@pytest.mark.parametrize("suffix", [".json", ".cubin", ".ptx", ""])
def test_a_missing_file_is_named_as_given(
    suffix: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    missing = Path(f"no/where{suffix}")
    text = refusal(InputError, missing, overrides=BARE)
    assert f"error: no/where{suffix}: no such file" in text


@pytest.mark.parametrize("option", ["metadata", "images", "signature_text"])
def test_a_missing_file_of_an_option_is_named(entry: Path, option: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    (tmp_path / "add.cubin").unlink()
    value = {"metadata": missing, "images": (missing,), "signature_text": f"@{missing}"}[option]
    options = {"no_image": option != "images", option: value}
    assert f"error: {missing}: no such file" in refusal(InputError, entry, **options)


def test_a_missing_image_lists_what_is_there(entry: Path, image: Path) -> None:
    image.unlink()
    text = refusal(InputError, entry)
    assert f"error: {image}: no such file" in text
    assert "add.json, add.ttir" in text
    assert "--image FILE" in text
    assert "--no-image" in text


def test_a_folder_lists_the_metadata_in_it(cache: Path) -> None:
    (cache / "__grp__add.json").write_text("{}")
    text = refusal(InputError, cache)
    assert f"error: {cache}: is a directory" in text
    assert "hint: give a file in it: add.json" in text
    assert "__grp__" not in text


@pytest.mark.parametrize("option", ["metadata", "images", "signature_text"])
def test_a_folder_given_to_an_option_is_refused(entry: Path, option: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "add.cubin").unlink()
    value = {"metadata": folder, "images": (folder,), "signature_text": f"@{folder}"}[option]
    options = {"no_image": option != "images", option: value}
    assert f"error: {folder}: is a directory" in refusal(InputError, entry, **options)


def test_a_list_of_the_cache_is_told_from_metadata(cache: Path) -> None:
    group = cache / "__grp__add.json"
    group.write_text(json.dumps({"child_paths": {"add.json": "/x/add.json"}}))
    for text in (refusal(InputError, group), refusal(InputError, metadata=group)):
        assert "list of a cache entry's files" in text
        assert "hint: give add.json" in text


def test_a_file_of_another_kind_is_refused(cache: Path) -> None:
    text = refusal(InputError, cache / "add.ttir")
    assert "'*.ttir' is no kernel" in text
    assert "hint: KERNEL is NAME.json, NAME.launch_metadata, NAME.cubin" in text


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_named(entry: Path) -> None:
    entry.chmod(0)
    assert f"error: {entry}: cannot be read: Permission denied" in refusal(InputError, entry)


def test_a_path_that_no_system_takes_is_refused() -> None:
    assert "cannot be read" in refusal(InputError, Path("a\0b.json"))
    assert "cannot be read" in refusal(InputError, Path("a" * 5000 + ".json"))


def test_a_name_that_is_not_utf8_can_be_printed(tmp_path: Path) -> None:
    missing = tmp_path / os.fsdecode(b"\xff.json")
    assert "\\udcff.json: no such file" in refusal(InputError, missing).encode().decode()


@pytest.mark.parametrize(
    ("content", "error", "part"),
    [
        (b"", InputError, "is empty"),
        (b"\x7fE", ImageError, "no PTX"),
        (b"\x7fELF\x02\x01\x01", ImageError, "ends inside its ELF header"),
        (b"// PTX of some kind\n", ImageError, "no PTX"),
        (b"\x50\xed\x55\xba\x01\x00\x10\x00", ImageError, "fatbin ends inside"),
        (b"\xff\xfe\x00\x00", ImageError, "neither a cubin nor a fatbin"),
    ],
)
def test_an_image_that_is_none_is_refused(
    entry: Path, image: Path, content: bytes, error: type[LaunchgenError], part: str
) -> None:
    image.write_bytes(content)
    text = refusal(error, entry)
    assert f"error: {image}: " in text
    assert part in text


def test_of_a_file_that_is_no_image_little_is_read(entry: Path, image: Path) -> None:
    image.unlink()
    image.symlink_to("/dev/zero")
    assert "has more than 16 MiB" in refusal(InputError, entry)


def test_name8_images_of_any_size_are_read(entry: Path, image: Path) -> None:
    image.write_bytes(image.read_bytes() + bytes(20 << 20))
    found = embedded(read(entry))
    assert found is not None
    assert len(found.data) > 20 << 20


@pytest.mark.parametrize("option", ["metadata", "signature_text"])
def test_text_beyond_the_limit_is_refused(entry: Path, option: str, tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    huge.touch()
    os.truncate(huge, limits.MOST_TEXT + 1)
    value, most = {"metadata": (huge, "16 MiB"), "signature_text": (f"@{huge}", "256 KiB")}[option]
    assert f"error: {huge}: has more than {most}" in refusal(InputError, entry, **{option: value})


def test_a_file_without_an_end_is_refused(entry: Path) -> None:
    assert "more than 16 MiB" in refusal(InputError, entry, metadata=Path("/dev/zero"))


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b'{"num_warps": 4', "not JSON"),
        (b"\xff\xfe", "is no UTF-8 text: byte 0 is 0xff"),
        (b"[1]", "expected object, found array"),
        (b'{"num_warps": "4"}', "$.num_warps: expected int, found str"),
    ],
)
def test_json_that_is_none_names_the_file(entry: Path, content: bytes, part: str) -> None:
    entry.write_bytes(content)
    text = refusal(InputError, entry)
    assert f"error: {entry}:" in text
    assert part in text


def test_every_refusal_has_the_exit_code_of_its_kind(entry: Path, image: Path) -> None:
    def code(act: Callable[[], object]) -> int:
        with pytest.raises(LaunchgenError) as caught:
            act()
        return caught.value.exit_code

    assert code(lambda: read(entry, signature_text="n: i32")) == 2
    assert code(lambda: read(entry, signature_text="i23")) == 2
    assert code(lambda: read(Path("missing.json"))) == 3
    image.unlink()
    assert code(lambda: read(entry)) == 3
