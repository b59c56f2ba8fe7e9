"""Launch metadata: Triton's JSON of every release, options over it, and what is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from launchgen.diagnostics import (
    InputError,
    LaunchgenError,
    MetadataError,
    Source,
    UnsupportedError,
    UsageError,
)
from launchgen.image import Entry
from launchgen.metadata import (
    LaunchMetadata,
    Overrides,
    Scratch,
    TensorDescriptorMeta,
    TritonMetadata,
    launch_metadata,
    read_metadata,
)
from launchgen.overrides import Cluster, parse_cluster, parse_scratch, parse_version
from launchgen.targets import TARGETS
from tests.cubin import read_kernel_info
from tests.zoo import ZOO, Kernel

CUDA = TARGETS["cuda"]
NOTHING = Overrides()


def read(overrides: Overrides = NOTHING, **written: object) -> LaunchMetadata:
    """Launch metadata of a small JSON: four warps unless ``written`` says otherwise."""
    text = json.dumps({"name": "k", "num_warps": 4, **written})
    return launch_metadata(read_metadata(Source("k.json", text)), overrides, target=CUDA)


def zoo_metadata(kernel: Kernel) -> LaunchMetadata:
    source = Source(kernel.json.name, kernel.json.read_text())
    return launch_metadata(read_metadata(source), NOTHING, target=CUDA)


def refusal(error: type[LaunchgenError], overrides: Overrides = NOTHING, **written: object) -> str:
    """Text of the one error of this kind, which has a hint."""
    with pytest.raises(LaunchgenError) as caught:
        read(overrides, **written)
    assert type(caught.value) is error
    return str(caught.value)


def decoding_error(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read_metadata(Source("k.json", text))
    assert caught.value.exit_code == 3
    return str(caught.value)


@pytest.mark.parametrize("kernel", ZOO, ids=str)
def test_real_metadata_of_every_release_agrees_with_its_image(kernel: Kernel) -> None:
    metadata = zoo_metadata(kernel)
    assert metadata.entry is not None
    info = read_kernel_info(kernel.cubin, metadata.entry)
    assert (metadata.threads, 1, 1) == info.block
    release, _, architecture = kernel.folder.removeprefix("triton-").partition("-sm")
    assert metadata.triton_version == parse_version(release)
    assert metadata.capability == int(architecture)


def test_real_fields_are_read() -> None:
    by_name = {str(kernel): zoo_metadata(kernel) for kernel in ZOO}
    cluster = by_name["triton-3.4.0-sm90/matmul_cluster"]
    assert (cluster.num_ctas, cluster.cluster, cluster.grid_counts_clusters) == (2, (2, 1, 1), True)
    assert by_name["triton-3.9.0-sm90/matmul_cluster"].cluster == (2, 1, 1)
    assert by_name["triton-3.6.0-sm90/grid_coop"].cooperative
    assert by_name["triton-3.6.0-sm90/grid_pdl"].pdl
    assert by_name["triton-3.6.0-sm90/device_desc"].global_scratch == Scratch(256, 128)
    assert by_name["triton-3.6.0-sm90/matmul"].shared > CUDA.default_shared
    entry = TensorDescriptorMeta(swizzle=3, elem_size=2, elem_type=6, block_size=(64, 64))
    for folder in ("triton-3.4.0-sm90", "triton-3.6.0-sm90", "triton-3.9.0-sm90"):
        assert by_name[f"{folder}/desc_copy"].tensor_descriptors == (entry, entry)
    assert by_name["triton-3.6.0-sm80/desc_copy"].tensor_descriptors == ()


def test_metadata_of_triton_3_2_has_neither_version_nor_scratch() -> None:
    metadata = read(
        target={"backend": "cuda", "arch": 90, "warp_size": 32},
        cluster_dims=[1, 1, 1],
        num_ctas=1,
        shared=12288,
        ids_of_folded_args=[],
    )
    assert metadata.triton_version is None
    assert metadata.global_scratch == metadata.profile_scratch == Scratch(0, 1)
    assert not metadata.cooperative
    assert metadata.shared == 12288


def test_nothing_but_warps_gives_a_plain_launch() -> None:
    assert launch_metadata(None, Overrides(num_warps=4), target=CUDA) == LaunchMetadata(
        entry=None,
        num_warps=4,
        warp_size=32,
        num_ctas=1,
        cluster=(1, 1, 1),
        grid_counts_clusters=False,
        shared=0,
        cooperative=False,
        pdl=False,
        global_scratch=Scratch(),
        profile_scratch=Scratch(),
        tensor_descriptors=(),
        triton_version=None,
        tmem_size=0,
        hidden_scratch=None,
        preferred_cluster=None,
        capability=None,
    )


def test_an_option_wins_over_its_field() -> None:
    overrides = Overrides(
        entry="other",
        num_warps=8,
        num_ctas=4,
        shared=1024,
        cluster=(2, 2, 1),
        cooperative=False,
        pdl=True,
        global_scratch=Scratch(64, 16),
        profile_scratch=Scratch(8),
        triton_version=(3, 9),
    )
    metadata = read(
        overrides,
        num_ctas=2,
        cluster_dims=[2, 1, 1],
        launch_cooperative_grid=True,
        global_scratch_size=5,
        global_scratch_align=4,
        triton_version="3.4.0",
    )
    assert metadata == LaunchMetadata(
        entry="other",
        num_warps=8,
        warp_size=32,
        num_ctas=4,
        cluster=(2, 2, 1),
        grid_counts_clusters=True,
        shared=1024,
        cooperative=False,
        pdl=True,
        global_scratch=Scratch(64, 16),
        profile_scratch=Scratch(8, 1),
        tensor_descriptors=(),
        triton_version=(3, 9),
        tmem_size=0,
        hidden_scratch=None,
        preferred_cluster=None,
        capability=None,
    )
    assert metadata.cluster_size == 4


# Warps


@pytest.mark.parametrize("warps", [1, 3, 12, 32])
def test_up_to_1024_threads_are_taken(warps: int) -> None:
    assert read(num_warps=warps).threads == 32 * warps


@pytest.mark.parametrize("warps", [0, -1, 33, 64, 10**30])
def test_grid5_a_block_beyond_1024_threads_is_refused_at_generation(warps: int) -> None:
    text = refusal(MetadataError, num_warps=warps)
    assert text.startswith("error: num_warps is ")
    assert "1024 threads" in text
    assert "hint: 1 to 32 warps" in text
    assert "--num-warps is" in refusal(UsageError, Overrides(num_warps=warps))


def test_grid5_three_warps_are_fine_since_warp_specialised_kernels_have_any_number() -> None:
    assert read(num_warps=3).threads == 96


def test_the_warp_size_of_the_metadata_counts() -> None:
    assert read(warp_size=16, num_warps=64).threads == 1024
    assert read(target={"warp_size": 16}, num_warps=64).threads == 1024
    assert "warp_size is 0" in refusal(MetadataError, warp_size=0)
    assert "warp_size is 2048" in refusal(MetadataError, warp_size=2048)


def test_missing_warps_name_the_options_that_give_them() -> None:
    with pytest.raises(UsageError) as caught:
        launch_metadata(None, NOTHING, target=CUDA)
    assert "--num-warps" in str(caught.value)
    assert "--metadata" in str(caught.value)
    text = refusal(MetadataError, num_warps=None)
    assert "num_warps is missing" in text
    assert "--num-warps" in text
    assert "--metadata" in text


# Clusters


def test_old_cluster_dims_are_kept_axis_by_axis() -> None:
    metadata = read(num_ctas=4, cluster_dims=[1, 2, 2])
    assert (metadata.cluster, metadata.grid_counts_clusters) == ((1, 2, 2), True)


def test_cluster_dims_do_not_count_where_num_ctas_is_1() -> None:
    metadata = read(num_ctas=1, cluster_dims=[2, 1, 1])
    assert (metadata.cluster, metadata.grid_counts_clusters) == ((1, 1, 1), False)


def test_an_option_that_changes_num_ctas_leaves_old_cluster_dims_behind() -> None:
    metadata = read(Overrides(num_ctas=4), num_ctas=2, cluster_dims=[2, 1, 1])
    assert metadata.cluster == (4, 1, 1)


def test_grid6_a_cluster_without_num_ctas_leaves_the_grid_in_blocks() -> None:
    metadata = read(Overrides(cluster=(2, 1, 1)))
    assert (metadata.num_ctas, metadata.cluster) == (1, (2, 1, 1))
    assert not metadata.grid_counts_clusters


@pytest.mark.parametrize(
    ("written", "part"),
    [
        ({"num_ctas": 0}, "num_ctas is 0"),
        ({"num_ctas": 17}, "num_ctas is 17: it must be 1 to 16"),
        (
            {"num_ctas": 2, "cluster_dims": [2, 2, 1]},
            "cluster_dims is [2, 2, 1], but num_ctas is 2",
        ),
        ({"num_ctas": 2, "cluster_dims": [-2, -1, 1]}, "cluster_dims is [-2, -1, 1]"),
        ({"num_ctas": 2, "cluster_dims": [2, 0, 1]}, "cluster_dims is [2, 0, 1]"),
    ],
)
def test_impossible_clusters_in_the_metadata_are_refused(
    written: dict[str, Any], part: str
) -> None:
    assert part in refusal(MetadataError, **written)


@pytest.mark.parametrize(
    ("overrides", "part"),
    [
        (Overrides(cluster=(0, 1, 1)), "--cluster is 0,1,1"),
        (Overrides(cluster=(-4, -4, 1)), "--cluster is -4,-4,1"),
        (Overrides(cluster=(4, 4, 2)), "a cluster has 1 to 16 blocks"),
        (Overrides(cluster=(2, 1, 1), num_ctas=4), "--cluster is 2,1,1, but --num-ctas is 4"),
        (Overrides(num_ctas=0), "--num-ctas is 0"),
    ],
)
def test_impossible_cluster_options_are_refused(overrides: Overrides, part: str) -> None:
    assert part in refusal(UsageError, overrides)


def test_a_cluster_option_must_agree_with_the_num_ctas_of_the_metadata() -> None:
    text = refusal(UsageError, Overrides(cluster=(2, 2, 1)), num_ctas=2)
    assert "--cluster is 2,2,1, but num_ctas is 2" in text


@pytest.mark.parametrize("cluster", [(17, 1, 1), (2, 1, 2**32 - 1)])
def test_a_cluster_of_the_image_that_no_launch_can_have_is_refused(cluster: Cluster) -> None:
    entry = Entry("k", (), 0, (128, 1, 1), cluster)
    with pytest.raises(UnsupportedError, match=r"the image needs clusters of \w+ blocks"):
        launch_metadata(None, NOTHING, target=CUDA, compiled=entry)


# Everything else


@pytest.mark.parametrize(
    ("written", "part"),
    [
        ({"shared": -1}, "shared is -1"),
        ({"shared": 2**31}, "shared is 2147483648"),
        ({"shared": 10**400}, "shared is a number of more than 64 bits"),
        ({"global_scratch_size": -1}, "global_scratch_size is -1"),
        ({"global_scratch_align": 3}, "global_scratch_align is 3: an alignment is a power of two"),
        ({"profile_scratch_align": -2}, "profile_scratch_align is -2"),
        ({"profile_scratch_align": 2**200}, "profile_scratch_align is a number"),
        ({"launch_pdl": 2}, "launch_pdl is 2"),
        ({"launch_cooperative_grid": -1}, "launch_cooperative_grid is -1"),
        ({"target": {"backend": "hip", "arch": "gfx942"}}, "target.backend is 'hip'"),
        ({"target": {"backend": "cuda", "arch": "sm90"}}, "target.arch is 'sm90'"),
        ({"target": {"arch": 10**9}}, "target.arch is 1000000000"),
        ({"triton_version": "soon"}, "triton_version is 'soon'"),
        ({"name": ""}, "name is ''"),
        ({"name": "a\x00b"}, "name is 'a\\x00b'"),
    ],
)
def test_values_that_no_launch_could_obey_are_refused(written: dict[str, Any], part: str) -> None:
    assert part in refusal(MetadataError, **written)


@pytest.mark.parametrize(
    ("overrides", "part"),
    [
        (Overrides(shared=-1), "--shared is -1"),
        (Overrides(global_scratch=Scratch(-1)), "SIZE of --global-scratch is -1"),
        (Overrides(profile_scratch=Scratch(8, 12)), "ALIGN of --profile-scratch is 12"),
        (Overrides(entry=""), "--entry is ''"),
        (Overrides(entry="a\nb"), "--entry is 'a\\nb'"),
    ],
)
def test_options_that_no_launch_could_obey_are_refused(overrides: Overrides, part: str) -> None:
    assert part in refusal(UsageError, overrides)


def test_an_alignment_of_0_means_none() -> None:
    assert read(global_scratch_size=8, global_scratch_align=0).global_scratch == Scratch(8, 1)


def test_a_flag_that_was_passed_as_a_number_is_read() -> None:
    metadata = read(launch_pdl=1, launch_cooperative_grid=0)
    assert (metadata.pdl, metadata.cooperative) == (True, False)


def test_a_field_that_is_null_is_not_there() -> None:
    nulls = dict.fromkeys(
        ["shared", "num_ctas", "cluster_dims", "launch_pdl", "tensordesc_meta", "triton_version"]
    )
    assert read(NOTHING, **nulls) == read()


def test_kernels_of_the_sanitizer_are_refused_by_name() -> None:
    text = refusal(UnsupportedError, instrumentation_mode="gsan")
    assert "instrumentation_mode is 'gsan'" in text
    assert read(instrumentation_mode="").num_warps == 4


# JSON


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "k.json: not JSON: it is empty"),
        ("\n \t", "k.json: not JSON: it is empty"),
        ("{", "k.json:1:2: not JSON: it ends too early"),
        ('{\n "a": 1,\n "b" 2}', "k.json:3:6: not JSON: expected ':'"),
        ('{"é": "ü",\n "éé" 2}', "k.json:2:7: not JSON: expected ':'"),
        ('{"num_warps": NaN}', "k.json:1:15: not JSON"),
        ('{"x": [Infinity]}', "k.json:1:8: not JSON"),
        ("num_warps: 4", "k.json:1:5: not JSON"),
        ('{"a": 1} 2', "k.json:1:11: not JSON: trailing characters"),
        ("\x7fELF\x02\x01", "k.json:1:1: not JSON"),
        ('{"name": "\ud800"}', "not JSON"),
        ('{"name": "\\ud800"}', "not JSON"),
        ('{"a": ' + "[" * 200_000, "nested too deeply"),
        ("[]", "k.json: $: expected object, found array"),
        ("3", "k.json: $: expected object, found int"),
        ('"text"', "k.json: $: expected object, found str"),
        ("null", "k.json: $: expected object, found null"),
    ],
)
def test_text_that_is_no_metadata_is_refused_with_its_place(text: str, part: str) -> None:
    assert part in decoding_error(text)


@pytest.mark.parametrize("text", ["{", '{"num_warps": 4', '{"a": 1} 2', '{"é'])
def test_a_place_in_metadata_lies_in_the_text(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_metadata(Source("k.json", text))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span is not None
    assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"num_warps": "4"}', "$.num_warps: expected int, found str"),
        ('{"num_warps": 4.0}', "$.num_warps: expected int, found float"),
        ('{"num_warps": true}', "$.num_warps: expected int, found bool"),
        ('{"num_warps": {}}', "$.num_warps: expected int, found object"),
        ('{"num_warps": 1e400}', "$.num_warps: number out of range"),
        ('{"num_warps": ' + "9" * 5000 + "}", "$.num_warps: integer value out of range"),
        ('{"launch_pdl": "yes"}', "$.launch_pdl: expected bool | int, found str"),
        ('{"name": 3}', "$.name: expected str, found int"),
        ('{"target": 90}', "$.target: expected object, found int"),
        ('{"target": {"arch": [90]}}', "$.target.arch: expected int | str, found array"),
        ('{"cluster_dims": [1, 2]}', "$.cluster_dims: expected array of length 3"),
        ('{"cluster_dims": [1, 2, "3"]}', "$.cluster_dims[2]: expected int, found str"),
        ('{"tensordesc_meta": [{}]}', "$.tensordesc_meta[0]: object missing required field"),
        ('{"tensordesc_meta": {}}', "$.tensordesc_meta: expected array, found object"),
        ('{"triton_version": 3.6}', "$.triton_version: expected str, found float"),
    ],
)
def test_a_field_of_a_wrong_type_is_named_with_what_was_expected(text: str, part: str) -> None:
    assert part in decoding_error(text)


def test_an_error_shows_no_control_character_of_the_metadata() -> None:
    text = refusal(MetadataError, target={"backend": "c\x1b[2J\ud7ffda"})
    assert "target.backend is 'c\\x1b[2J\\ud7ffda'" in text


def test_unknown_fields_are_ignored_whatever_they_hold() -> None:
    text = '{"num_warps": 4, "x": {"y": [1e999, null, {"z": ' + "9" * 5000 + "}]}}"
    raw = read_metadata(Source("k.json", text))
    assert launch_metadata(raw, NOTHING, target=CUDA).num_warps == 4


def test_of_a_key_that_stands_twice_the_last_counts() -> None:
    raw = read_metadata(Source("k.json", '{"num_warps": 4, "num_warps": 8}'))
    assert raw.num_warps == 8


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
_JSON = _SCALARS | st.lists(_SCALARS, max_size=4) | st.dictionaries(st.text(max_size=3), _SCALARS)
_FIELDS = st.sampled_from([field.name for field in fields(TritonMetadata)])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(_FIELDS, _JSON))
def test_no_json_crashes(values: dict[str, Any]) -> None:
    with suppress(LaunchgenError):
        raw = read_metadata(Source("k.json", json.dumps(values)))
        launch_metadata(raw, NOTHING, target=CUDA)


@settings(deadline=None)
@given(st.text())
def test_no_text_crashes(text: str) -> None:
    with suppress(InputError):
        read_metadata(Source("k.json", text))


# Options as text


@pytest.mark.parametrize(
    "text",
    ["3.6", "3.6.0", "3.6.0+git123", "3.6.0rc1", "3.6.0.dev20260101", "3.6.0.post1", "3.6-fork"],
)
def test_a_version_is_its_first_two_numbers(text: str) -> None:
    assert parse_version(text) == (3, 6)


def test_a_version_may_have_two_digits() -> None:
    assert parse_version("3.10.1") == (3, 10)


@pytest.mark.parametrize(
    "text", ["", "3", "3.", ".6", "v3.6", "3,6", " 3.6", "3.6 ", "3.6\n", "٣.٦"]
)
def test_other_versions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no version of Triton"):
        parse_version(text)


def test_a_cluster_is_three_numbers() -> None:
    assert parse_cluster("2,1,1") == (2, 1, 1)
    assert parse_cluster(" 2, 1 ,1") == (2, 1, 1)


@pytest.mark.parametrize(
    "text", ["", "2", "2,1", "2,1,1,1", "2,1,x", "2,1,-1", "2x1x1", "2,,1", "²,1,1"]
)
def test_other_clusters_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not X,Y,Z"):
        parse_cluster(text)


def test_scratch_is_a_size_and_maybe_an_alignment() -> None:
    assert parse_scratch("256") == Scratch(256, 1)
    assert parse_scratch("256:128") == Scratch(256, 128)


@pytest.mark.parametrize("text", ["", ":", "256:", ":128", "1:2:3", "-1", "1k", "0x10", "9" * 5000])
def test_other_scratch_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not SIZE or SIZE:ALIGN"):
        parse_scratch(text)


def test_records_are_frozen() -> None:
    metadata = read()
    with pytest.raises(AttributeError):
        metadata.num_warps = 8  # type: ignore[misc]
    assert replace(metadata, num_warps=8).threads == 256
