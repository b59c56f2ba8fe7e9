"""Meta's "Level 0" launch metadata, read and written."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from launchgen.cli import main
from launchgen.diagnostics import (
    InputError,
    LaunchgenError,
    MetadataError,
    MismatchError,
    SignatureError,
    Source,
    UnsupportedError,
)
from launchgen.level0 import as_triton_metadata, read_arguments, read_level0
from launchgen.metadata import LaunchMetadata, Overrides, launch_metadata, read_metadata
from launchgen.signature import parse
from launchgen.sources import read_kernel
from launchgen.targets import TARGETS
from tests.zoo import ZOO, Kernel

CUDA = TARGETS["cuda"]
ADD = Kernel("triton-3.6.0-sm90", "add_div16")

WRITTEN: dict[str, Any] = {
    "abi_version": 1,
    "entry_name": "add_kernel",
    "num_warps": 4,
    "num_ctas": 1,
    "shared_mem": 64,
    "cluster_dims": [1, 1, 1],
    "preferred_cluster_dims": [0, 0, 0],
    "launch_cooperative_grid": False,
    "launch_cluster": False,
    "launch_pdl": False,
    "global_scratch_size": 0,
    "global_scratch_align": 128,
    "profile_scratch_size": 0,
    "profile_scratch_align": 1,
    "tmem_size": 0,
    "args": [
        {"name": "x_ptr", "type": "*fp32", "index": 0, "divisible_by": 16},
        {"name": "y_ptr", "type": "*fp32", "index": 1, "divisible_by": 16},
        {"name": "out_ptr", "type": "*fp32", "index": 2, "divisible_by": 16},
        {"name": "n", "type": "i32", "index": 3, "divisible_by": 16},
        {"name": "alpha", "type": "fp32", "index": 4},
    ],
    "constants": {"5": 1024},
    "tensordesc_meta": [],
    "auto_tma_recipes": [],
}
KEYS = 19


def source(**changes: Any) -> Source:
    return Source("add.launch_metadata", json.dumps({**WRITTEN, **changes}))


def signature(**changes: Any) -> str:
    text = source(**changes)
    found = read_arguments(read_level0(text), text)
    assert parse(str(found)) == found
    return str(found)


def launch(**changes: Any) -> LaunchMetadata:
    raw = as_triton_metadata(read_level0(source(**changes)))
    return launch_metadata(raw, Overrides(), target=CUDA)


def refusal(error: type[LaunchgenError], **changes: Any) -> str:
    def read() -> None:
        signature(**changes)
        launch(**changes)

    with pytest.raises(LaunchgenError) as caught:
        read()
    assert type(caught.value) is error
    return str(caught.value)


# --- reading -------------------------------------------------------------------------------------


def test_it_has_fields_that_tritons_own_never_has() -> None:
    assert len(WRITTEN) == KEYS
    assert read_metadata(source()).abi_version == 1
    for kernel in ZOO:
        raw = read_metadata(Source(kernel.json.name, kernel.json.read_text()))
        assert (raw.abi_version, raw.entry_name) == (None, None)


def test_arguments_and_constants_make_the_signature() -> None:
    text = "x_ptr: *fp32:16, y_ptr: *fp32:16, out_ptr: *fp32:16, n: i32:16, alpha: fp32, 1024"
    assert signature() == text
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("args", "constants", "expected"),
    [
        ([], {}, ""),
        ([("p", "('*fp32', ('*fp32', 'constexpr'))", 0)], {"(0, 1, 1)": 3},
         "p: (*fp32, (*fp32, constexpr))"),
        ([("u8", "u8", 0), ("u8_", "i32", 1)], {}, "u8_: u8, u8__: i32"),
        ([("b", "i1", 2)], {"0": "relu", "1": None}, '"relu", None, b: i1'),
        ([("b", "i1", 3)], {"1": 1.5, "0": True}, "True, 1.5, constexpr, b: i1"),
        ([("größe", "i32", 0)], {"1": [1, 2]}, "i32, constexpr"),
        ([("d", "tensordesc<fp16[64, 64]>", 0)], {}, "d: tensordesc<fp16[64, 64]>"),
        ([], {"BLOCK": 3}, ""),
    ],
)  # fmt: skip
def test_forms_of_arguments(
    args: list[tuple[str, str, int]], constants: dict[str, Any], expected: str
) -> None:
    written = [{"name": name, "type": type_, "index": at} for name, type_, at in args]
    found = signature(args=written, constants=constants)
    assert found == expected
    assert str(parse(found)) == expected


def test_the_launch_is_that_of_the_fields() -> None:
    found = launch(
        launch_cooperative_grid=True,
        launch_pdl=True,
        global_scratch_size=256,
        profile_scratch_size=16,
        tmem_size=128,
    )
    assert (found.entry, found.num_warps, found.shared) == ("add_kernel", 4, 64)
    assert (found.cooperative, found.pdl, found.tmem_size) == (True, True, 128)
    assert (found.global_scratch.size, found.global_scratch.align) == (256, 128)
    assert (found.profile_scratch.size, found.profile_scratch.align) == (16, 1)
    assert found.triton_version is None


def test_a_cluster_of_its_own_is_not_counted_by_the_grid() -> None:
    found = launch(cluster_dims=[2, 1, 2])
    assert (found.cluster, found.grid_counts_clusters) == ((2, 1, 2), False)


def test_several_ctas_are_a_cluster_along_x_whatever_the_dims_say() -> None:
    found = launch(num_ctas=4, cluster_dims=[1, 4, 1])
    assert (found.cluster, found.grid_counts_clusters) == ((4, 1, 1), True)


def test_another_number_of_ctas_than_blocks_of_the_cluster_is_refused() -> None:
    text = refusal(MetadataError, num_ctas=2, cluster_dims=[4, 1, 1])
    assert "num_ctas is 2: the cluster is [4, 1, 1]" in text
    assert launch(num_ctas=2, cluster_dims=[1, 1, 1]).cluster == (2, 1, 1)


def test_a_preferred_cluster_is_kept_where_it_is_greater() -> None:
    assert launch().preferred_cluster is None
    assert launch(preferred_cluster_dims=[1, 1, 1]).preferred_cluster is None
    found = launch(cluster_dims=[2, 1, 1], preferred_cluster_dims=[4, 1, 1])
    assert found.preferred_cluster == (4, 1, 1)


@pytest.mark.parametrize("preferred", [[3, 1, 1], [0, 4, 1], [2, 1, -1]])
def test_a_preferred_cluster_that_is_no_multiple_is_refused(preferred: list[int]) -> None:
    text = refusal(MetadataError, cluster_dims=[2, 1, 1], preferred_cluster_dims=preferred)
    assert "no multiple of the cluster, [2, 1, 1]" in text


def test_what_no_launcher_can_do_is_refused_by_name() -> None:
    assert "abi_version is 2: only 1" in refusal(UnsupportedError, abi_version=2)
    assert "auto_tma_recipes" in refusal(UnsupportedError, auto_tma_recipes=[{"rank": 2}])
    assert "more than 16 blocks" in refusal(
        MetadataError, cluster_dims=[2, 1, 1], preferred_cluster_dims=[32, 1, 1]
    )
    assert "the cluster is [32, 1, 1]" in refusal(MetadataError, cluster_dims=[32, 1, 1])


def test_two_arguments_of_one_name_are_refused() -> None:
    twice = [{"name": "a\x1b[31m", "type": "i32", "index": at} for at in range(2)]
    text = refusal(MetadataError, args=twice)
    assert "args: 2 arguments are called 'a\\x1b[31m'" in text


def test_an_argument_called_as_the_place_of_another_gets_an_underscore() -> None:
    written = [{"name": name, "type": "i32", "index": at} for at, name in ((2, "arg1"), (0, "é"))]
    assert signature(args=written, constants={"1": 8}) == "i32, 8, arg1_: i32"
    written = [{"name": "arg0", "type": "i32", "index": 1}]
    assert signature(args=written, constants={}) == "constexpr, arg0_: i32"


def test_an_integer_without_a_literal_is_a_constant_of_unknown_value() -> None:
    found = signature(args=[], constants={"0": 2**2048 - 1, "1": 2**2048, "2": -(10**4000)})
    assert found == f"{2**2048 - 1}, constexpr, constexpr"


def test_two_constants_at_one_place_are_refused() -> None:
    text = refusal(MetadataError, args=[], constants={"0": 1, "00": 2})
    assert "constants: index 0 is there twice" in text


def test_two_arguments_at_one_place_are_refused() -> None:
    twice = [{"name": name, "type": "i32", "index": 0} for name in ("a", "b")]
    assert "'b' has index 0, as another" in refusal(MetadataError, args=twice)
    assert "'a' has index -1, which is no place" in refusal(
        MetadataError, args=[{**twice[0], "index": -1}]
    )
    assert "index 99999999" in refusal(MetadataError, args=[{**twice[0], "index": 99999999}])
    assert "index 0 is that of argument 'a'" in refusal(
        MetadataError, args=twice[:1], constants={"0": 1024}
    )


def test_types_that_are_none_are_refused_with_a_caret() -> None:
    bad = [{"name": "f", "type": "Function(fn=1)", "index": 0}]
    assert "add.launch_metadata (args, type of 'f'):1:1: " in refusal(SignatureError, args=bad)


@pytest.mark.parametrize(
    "type_", ["", "i32, m: fp32", "*fp32, *fp32", "i32:16", "constexpr", "1024", "x: i32"]
)
def test_a_type_is_one_type_and_nothing_else(type_: str) -> None:
    bad = [{"name": "f", "type": type_, "index": 0}]
    assert "which is no type" in refusal(MetadataError, args=bad)


def test_a_promise_that_no_type_takes_is_ignored() -> None:
    half = [{"name": "a", "type": "fp32", "index": 0, "divisible_by": 16}]
    assert signature(args=half, constants={}) == "a: fp32"
    assert signature(args=[{**half[0], "type": "i32", "divisible_by": 8}], constants={}) == "a: i32"


def test_a_far_constant_and_a_long_key_take_no_long_time() -> None:
    begin = time.process_time()
    assert signature(args=[], constants={"1023": 1}).endswith(", 1")
    for far in ("1024", "9" * 5000):
        with pytest.raises(MetadataError, match="is no place in a call"):
            signature(args=[], constants={far: 2})
    assert time.process_time() - begin < 5


def test_fields_of_a_wrong_type_name_their_place() -> None:
    with pytest.raises(InputError, match=r"\$\.cluster_dims"):
        read_level0(source(cluster_dims=[1, 1]))
    with pytest.raises(InputError, match=r"\$\.args\[0\]"):
        read_level0(source(args=[{"name": "x"}]))


# --- as KERNEL -----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".launch_metadata", ".json"])
def test_it_is_a_kernel_with_the_image_beside_it(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"add{suffix}"
    path.write_text(source().text)
    shutil.copy(ADD.cubin, tmp_path / "add.cubin")
    found = read_kernel(path, signature_text=None, target=CUDA)
    assert str(found.signature) == signature()
    assert found.origin == f"from add{suffix}"
    (variant,) = found.variants
    assert variant.metadata.hidden_scratch == 2


def test_without_an_image_both_scratch_parameters_are_passed(tmp_path: Path) -> None:
    path = tmp_path / "add.launch_metadata"
    path.write_text(source(global_scratch_size=64).text)
    found = read_kernel(path, signature_text=None, no_image=True, target=CUDA)
    assert found.variants[0].metadata.hidden_scratch == 2
    assert found.notes == ()
    chosen = Overrides(triton_version=(3, 4))
    older = read_kernel(path, signature_text=None, no_image=True, target=CUDA, overrides=chosen)
    assert older.variants[0].metadata.hidden_scratch is None


def test_a_signature_is_compared_with_it(tmp_path: Path) -> None:
    path = tmp_path / "add.launch_metadata"
    path.write_text(source().text)
    shutil.copy(ADD.cubin, tmp_path / "add.cubin")
    wrong = "a: *fp32:16, b: *fp32:16, c: *fp32:16, n: fp32, alpha: fp32"
    with pytest.raises(MismatchError, match=r"argument 3 'n' \(fp32\) is i32"):
        read_kernel(path, signature_text=wrong, target=CUDA)
    with pytest.raises(MismatchError, match="lacks the hint ':16'"):
        read_kernel(path, signature_text=wrong.replace("n: fp32", "n: i32"), target=CUDA)


def test_that_of_another_kernel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "add.launch_metadata"
    path.write_text(source(entry_name="other").text)
    shutil.copy(ADD.cubin, tmp_path / "add.cubin")
    chosen = Overrides(entry="add_kernel")
    with pytest.raises(MismatchError, match="describes 'other', not add_kernel"):
        read_kernel(path, signature_text=None, target=CUDA, overrides=chosen)


# --- writing -------------------------------------------------------------------------------------


def emit(folder: Path, kernel: Path, *options: str) -> dict[str, Any]:
    assert main(["emit", str(kernel), "-a", "level0", "-o", str(folder), *options]) == 0
    (path,) = folder.glob("*.launch_metadata")
    found: dict[str, Any] = json.loads(path.read_text("ascii"))
    return found


def test_what_is_written_has_the_19_keys_and_a_comment(tmp_path: Path) -> None:
    found = emit(tmp_path, ADD.json, "-s", ADD.signature)
    comment = found.pop("comment")
    assert list(found) == list(WRITTEN)
    assert found == {**WRITTEN, "shared_mem": 0, "global_scratch_align": 1}
    assert comment[0] == "@generated by launchgen. DO NOT EDIT."
    assert any("add_div16.json  sha256:" in line for line in comment)


def test_what_is_written_can_be_read_again(tmp_path: Path) -> None:
    kernel = Kernel("triton-3.6.0-sm90", "tuple")
    text = f'{kernel.signature}, flag: i32:1, act: constexpr = "relu", inf, x: constexpr'
    first = emit(tmp_path / "1", kernel.json, "-s", text, "--no-image", "--name", "tuple_kernel")
    assert first["constants"] == {"4": 1, "5": "relu", "6": "inf"}
    again = tmp_path / "tuple_kernel.launch_metadata"
    shutil.copy(tmp_path / "1" / again.name, again)
    second = emit(tmp_path / "2", again, "--no-image")
    del first["comment"], second["comment"]
    assert first == second


def test_launchgen_knows_the_file_as_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["emit", str(ADD.json), "-a", "level0", "-o", str(tmp_path)]
    emit(tmp_path, ADD.json)
    emit(tmp_path, ADD.json, "--pdl")
    assert main([*words, "--pdl", "--check"]) == 0
    (path,) = tmp_path.glob("*.launch_metadata")
    path.write_text(json.dumps(WRITTEN))
    assert main(words) == 3
    assert path.name in capsys.readouterr().err


def test_it_describes_one_image_and_not_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Kernel("triton-3.6.0-sm80", "add_div16")
    words = ["emit", str(ADD.json), "--image", str(other.cubin), "-a", "level0"]
    assert main([*words, "-o", str(tmp_path)]) == 2
    assert "'level0' describes one image" in capsys.readouterr().err


def test_a_cluster_that_it_cannot_say_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = Kernel("triton-3.4.0-sm90", "matmul_cluster")
    raw = json.loads(kernel.json.read_text())
    shutil.copy(kernel.cubin, tmp_path / "k.cubin")
    (tmp_path / "k.json").write_text(json.dumps({**raw, "cluster_dims": [1, 2, 1]}))
    words = ["emit", str(tmp_path / "k.json"), "-s", kernel.signature, "-o", str(tmp_path / "o")]
    assert main([*words, "-a", "level0"]) == 2
    assert "a cluster that the grid counts and that is not along x" in capsys.readouterr().err
    assert main([*words, "-a", "c"]) == 0
