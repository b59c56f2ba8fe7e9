"""``launchgen bench``: what reaches the driver, what the times say, and what is refused."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from launchgen import gpu
from launchgen.banner import read_banner
from launchgen.call_values import (
    Sizes,
    Tensor,
    choose_values,
    parse_grid,
    parse_quantiles,
    parse_settings,
    parse_sizes,
    parse_time,
)
from launchgen.checkup import Item
from launchgen.cli import main
from launchgen.diagnostics import UsageError
from launchgen.signature import parse
from launchgen.testing import Call, RecordingDriver
from launchgen.timings import count_rounds, count_runs, summarise
from tests.made_image import make_cubin
from tests.programs import stub_library
from tests.zoo import Kernel

FOLDER = "triton-3.6.0-sm90"
ADD = ("--set", "n=1024", "--set", "alpha=2.5")
SMALL = ("--buffer", "4KiB")
QUICK = ("--time", "0", "--warmup", "0", "--no-clear-l2")
MIB = 2**20

Emit = Callable[..., Path]
Bench = Callable[..., tuple[str, str]]


@pytest.fixture(scope="session")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> Emit:
    """Return a function that emits and compiles a real kernel, once, and gives its folder."""
    made: dict[str, Path] = {}

    def emit(name: str) -> Path:
        if name not in made:
            kernel = Kernel(FOLDER, name)
            made[name] = compiled(
                tmp_path_factory.mktemp(name),
                *(str(kernel.json), "--name", name, "--signature", kernel.signature),
            )
        return made[name]

    return emit


def compiled(folder: Path, *words: str, artifacts: str = "c") -> Path:
    assert main(["emit", *words, "--artifact", artifacts, "--out", str(folder)]) == 0
    assert main(["build", str(folder)]) == 0
    return folder


@pytest.fixture
def bench(recording_driver: RecordingDriver, capsys: pytest.CaptureFixture[str]) -> Bench:
    """Return a function that runs the command in this process, over the recording driver."""

    def run(folder: Path, *words: str, code: int = 0) -> tuple[str, str]:
        capsys.readouterr()
        ended = main(["bench", str(folder), *words])
        out, err = capsys.readouterr()
        assert ended == code, err
        assert "Traceback" not in err
        assert "internal error" not in err
        assert code == 0 or not out
        assert recording_driver.current_context is None
        return out, err

    return run


def named(driver: RecordingDriver, *names: str) -> list[Call]:
    return [call for call in driver.calls if call.name in names]


def handed_out(driver: RecordingDriver, name: str, key: str) -> list[int]:
    return [call.arguments[key] for call in named(driver, name) if call.result == 0]


# ---- what reaches the driver --------------------------------------------------------------------


def test_each_argument_arrives_as_given(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    words = ("--grid", "3,2,1", *SMALL, *ADD, "--buffer", "y_ptr=0", *QUICK)
    bench(emitted("add"), *words)
    x, out = handed_out(recording_driver, "cuMemAlloc_v2", "address")
    (stream,) = handed_out(recording_driver, "cuStreamCreate", "stream")
    assert handed_out(recording_driver, "cuMemAlloc_v2", "size") == [4096, 4096]
    for launch in recording_driver.launches:
        assert launch.values == (
            *(address.to_bytes(8, "little") for address in (x, 0, out)),
            (1024).to_bytes(4, "little"),
            struct.pack("<f", 2.5),
            *(bytes(8), bytes(8)),
        )
        assert (launch.grid, launch.stream, launch.device) == ((3, 2, 1), stream, 0)


def test_every_scalar_is_passed_as_its_own_type(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    given = {
        "b1": "True", "s8": "-128", "s16": "-32768", "s32": "-0x80000000", "s64": str(-(2**63)),
        "u8_": "255", "u16_": "0xffff", "u32_": "4_294_967_295", "u64_": str(2**64 - 1),
        "h": "1.0009765625", "bh": "1.00390625", "f": "1e-3", "d": "-inf",
    }  # fmt: skip
    words = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
    bench(emitted("scalars"), "--grid", "1", *SMALL, *words, *QUICK)
    assert [value.hex() for value in recording_driver.launches[0].values[1:14]] == [
        "01", "80", "0080", "00000080", "0000000000000080",
        "ff", "ffff", "ffffffff", "ffffffffffffffff",
        # bf16 has no such number: the nearest even one is 1.
        "013c", "803f", struct.pack("<f", 1e-3).hex(), struct.pack("<d", float("-inf")).hex(),
    ]  # fmt: skip


def test_elements_of_tuples_have_their_labels(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    settings = ("--set", "shape.0=5", "--set", "shape.1=-6", "--set", "scale=0.5")
    sizes = ("--buffer", "64", "--buffer", "ptrs.1.0=128")
    bench(emitted("tuple"), "--grid", "1", *settings, *sizes, *QUICK)
    assert handed_out(recording_driver, "cuMemAlloc_v2", "size") == [64, 128, 64]
    addresses = handed_out(recording_driver, "cuMemAlloc_v2", "address")
    values = recording_driver.launches[0].values
    integers = [int.from_bytes(value, "little", signed=True) for value in values[:4]]
    assert integers == [*addresses[:2], 5, -6]
    assert values[4] == struct.pack("<f", 0.5)
    assert int.from_bytes(values[5], "little") == addresses[2]


def test_scratch_memory_is_as_large_as_the_grid_needs(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    settings = ("--set", "rows=64", "--set", "cols=64", "--buffer", "8192")
    out, _ = bench(emitted("device_desc"), "--grid", "3,2", *settings, *QUICK, "--json")
    scratch, *_ = handed_out(recording_driver, "cuMemAlloc_v2", "address")
    assert handed_out(recording_driver, "cuMemAlloc_v2", "size") == [256 * 6, 8192, 8192]
    assert int.from_bytes(recording_driver.launches[0].values[4], "little") == scratch
    assert json.loads(out)["scratch_bytes"] == {"global_scratch": 256 * 6}


@pytest.fixture(scope="session")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a launcher with a struct, a promise and an argument that is always 1."""
    folder = tmp_path_factory.mktemp("made_up")
    (folder / "k.cubin").write_bytes(make_cubin("k", [(8, True), (24, False), (4, False)]))
    signature = 'x: *fp32:16, params: bytes[24], n: i32:16, one: i64:1, ptrs: (1, "a*/b")'
    words = (str(folder / "k.cubin"), "-s", signature, "--num-warps", "4", "--name", "k")
    return compiled(folder / "out", *words, "--triton-version", "3.2")


def test_a_struct_comes_from_a_file_and_a_one_of_itself(
    bench: Bench, made_up: Path, recording_driver: RecordingDriver, tmp_path: Path
) -> None:
    content = bytes(range(24))
    (tmp_path / "params").write_bytes(content)
    settings = ("--set", f"params=@{tmp_path / 'params'}", "--set", "n=32")
    bench(made_up, "--grid", "1", *settings, *SMALL, *QUICK)
    assert recording_driver.launches[0].values[1:] == (content, (32).to_bytes(4, "little"))
    bench(made_up, "--grid", "1", *settings, "--set", "one=1", *SMALL, *QUICK)


def test_a_descriptor_is_of_zeroed_memory_for_its_sizes(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    # A row of 60 fp16 takes 120 bytes, but the next begins at a multiple of 16.
    words = ("--set", "src=64x128", "--set", "dst=70x60")
    out, err = bench(emitted("desc_copy"), "--grid", "1,2", *words, *QUICK, "--json")
    assert handed_out(recording_driver, "cuMemAlloc_v2", "size") == [16384, 70 * 128]
    addresses = handed_out(recording_driver, "cuMemAlloc_v2", "address")
    fills = named(recording_driver, "cuMemsetD8Async")
    assert [fill.arguments["address"] for fill in fills] == addresses
    encoded = named(recording_driver, "cuTensorMapEncodeTiled")
    tensors = [
        [call.arguments[key] for key in ("address", "sizes", "strides", "fill")] for call in encoded
    ]
    assert tensors == [[addresses[0], [128, 64], [256], 0], [addresses[1], [60, 70], [128], 0]]
    for launch in recording_driver.launches:
        assert len(launch.values) == 12
        assert launch.values[5].startswith(b"LGRTMAP1")
        assert launch.values[6:10] == (
            *((size).to_bytes(4, "little") for size in (70, 60)),
            *((stride).to_bytes(8, "little") for stride in (64, 1)),
        )
    declared = "tensordesc<fp16[64, 64]>"
    assert json.loads(out)["arguments"] == [
        {"name": "src", "type": declared, "shape": [64, 128], "strides": [128, 1], "bytes": 16384},
        {"name": "dst", "type": declared, "shape": [70, 60], "strides": [64, 1], "bytes": 8960},
    ]
    assert "without clearing" in err
    assert_all_is_given_back(recording_driver)
    out, _ = bench(emitted("desc_copy"), "--grid", "1,2", *words, *QUICK)
    assert "  memory      src 64x128 in 16 KiB, dst 70x60 in 8960 bytes; all zero at first\n" in out


def test_descriptors_of_images_begin_without_corners(
    bench: Bench, recording_driver: RecordingDriver, tmp_path: Path
) -> None:
    meta = {"swizzle": 3, "elem_size": 2, "elem_type": 6, "block_size": [256, 64]}
    described = {"name": "k", "num_warps": 4, "num_ctas": 1, "shared": 0, "triton_version": "3.9.0"}
    metas = [meta | {"is_im2col": True}, meta | {"swizzle": 0, "block_size": [8]}]
    (tmp_path / "k.json").write_text(json.dumps(described | {"tensordesc_meta": metas}))
    slots = [(128, False), *[(4, False)] * 4, *[(8, False)] * 4]
    slots += [(4, False), (128, False), (4, False), (8, False), *[(8, True)] * 2]
    (tmp_path / "k.cubin").write_bytes(make_cubin("k", slots))
    signature = "im: tensordesc_im2col<fp16[256, 64],input_rank=4>, t: (i32, tensordesc<fp16[8]>)"
    folder = compiled(tmp_path / "out", str(tmp_path / "k.json"), "-s", signature)
    words = ("--set", "im=2x10x12x60", "--set", "t.0=5", "--set", "t.1=9")
    bench(folder, "--grid", "1", *words, *QUICK)
    image, row = handed_out(recording_driver, "cuMemAlloc_v2", "address")
    assert handed_out(recording_driver, "cuMemAlloc_v2", "size") == [2 * 10 * 12 * 128, 18]
    (call,) = named(recording_driver, "cuTensorMapEncodeIm2col")
    found = {key: call.arguments[key] for key in ("address", "sizes", "strides", "element_strides")}
    assert found == {
        "address": image,
        "sizes": [60, 12, 10, 2],
        "strides": [128, 12 * 128, 10 * 12 * 128],
        "element_strides": [1, 1, 1, 1],
    }
    assert (call.arguments["lower"], call.arguments["upper"]) == ([0, 0], [0, 0])
    (call,) = named(recording_driver, "cuTensorMapEncodeTiled")
    assert (call.arguments["address"], call.arguments["sizes"]) == (row, [9])


def test_memory_is_zero_and_given_back(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    bench(emitted("add"), "--grid", "1", *SMALL, *ADD, *QUICK)
    fills = [(call.arguments["address"], call.arguments["size"])
             for call in named(recording_driver, "cuMemsetD8Async")]  # fmt: skip
    addresses = handed_out(recording_driver, "cuMemAlloc_v2", "address")
    assert fills == [(address, 4096) for address in addresses]
    assert_all_is_given_back(recording_driver)


def assert_all_is_given_back(driver: RecordingDriver) -> None:
    for made, gone, key in (
        ("cuMemAlloc_v2", "cuMemFree_v2", "address"),
        ("cuEventCreate", "cuEventDestroy_v2", "event"),
        ("cuStreamCreate", "cuStreamDestroy_v2", "stream"),
        ("cuLibraryLoadData", "cuLibraryUnload", "library"),
    ):
        assert sorted(handed_out(driver, made, key)) == sorted(handed_out(driver, gone, key)), made
    retained = named(driver, "cuDevicePrimaryCtxRetain")
    assert len(retained) == len(named(driver, "cuDevicePrimaryCtxRelease_v2")) == 1


def test_the_context_of_before_is_current_again(
    emitted: Emit, recording_driver: RecordingDriver
) -> None:
    context = recording_driver.new_context()
    recording_driver.current_context = context
    assert main(["bench", str(emitted("add")), "--grid", "1", *SMALL, *ADD, *QUICK]) == 0
    assert recording_driver.current_context == context
    assert {launch.context for launch in recording_driver.launches} == {
        recording_driver.primary_context()
    }


def test_the_other_device_is_the_one_timed(
    emitted: Emit, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = RecordingDriver(devices=2).load()
    words = ("--grid", "1", *SMALL, *ADD, *QUICK, "--device", "1", "--json")
    assert main(["bench", str(emitted("add")), *words]) == 0
    assert {launch.device for launch in driver.launches} == {1}
    assert json.loads(capsys.readouterr().out)["device"] == {
        "ordinal": 1,
        "name": "Recording device 1",
        "capability": [9, 0],
        "l2_bytes": 60 * MIB,
        "most_mhz": 1980.0,
    }


# ---- how it is timed ----------------------------------------------------------------------------


def test_the_l2_is_cleared_before_each_run_and_not_timed(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    recording_driver.take_times([7.5])
    words = ("--grid", "1", *SMALL, *ADD, "--time", "0", "--warmup", "0")
    out, err = bench(emitted("add"), *words, "--json")
    found = json.loads(out)
    assert err == ""
    assert found["l2_cleared_bytes"] == 256 * MIB
    assert found["kernel_us"]["times"] == [7.5] * 5
    steps = {"cuMemsetD8Async": "clear", "cuEventRecord": "event", "cuLaunchKernelEx": "launch"}
    order = [steps[call.name] for call in named(recording_driver, *steps)]
    # Three buffers and the place for clearing are zeroed; one launch loads the kernel.
    assert order[:5] == ["clear"] * 4 + ["launch"]
    estimate = ["event", *["clear", "launch"] * 5, "event"]
    assert order[5:17] == estimate
    assert order[17:37] == ["clear", "event", "launch", "event"] * 5
    assert order[37:] == ["launch"] * 10
    place = handed_out(recording_driver, "cuMemAlloc_v2", "address")[-1]
    clears = named(recording_driver, "cuMemsetD8Async")[3:]
    (stream,) = handed_out(recording_driver, "cuStreamCreate", "stream")
    for call in clears:
        assert dict(call.arguments) == {"address": place, "size": 256 * MIB, "stream": stream}
    records = named(recording_driver, "cuEventRecord")
    assert {call.arguments["stream"] for call in records} == {stream}


def test_an_l2_larger_than_half_of_that_is_cleared_twice_over(
    bench: Bench, emitted: Emit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("launchgen.benchmark._LEAST_CLEARED", MIB)
    words = ("--grid", "1", *SMALL, *ADD, "--time", "0", "--warmup", "0")
    out, _ = bench(emitted("add"), *words, "--json")
    assert json.loads(out)["l2_cleared_bytes"] == 120 * MIB


def test_known_times_give_known_figures(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    recording_driver.take_times([50] + [10] * 5 + [3, 5, 4, 9, 4.25] + [1])
    words = ("--grid", "1", *SMALL, *ADD, *QUICK, "--quantiles", "0.75,0,0.25")
    out, err = bench(emitted("add"), *words, "--json")
    found = json.loads(out)
    assert found["kernel_us"] == {
        "warmup_runs": 0,
        "count": 5,
        "median": 4.25,
        "mean": pytest.approx(5.05),
        "min": 3,
        "max": 9,
        "quantiles": {"0": 3, "0.25": 4, "0.75": 5},
        "times": [3, 5, 4, 9, 4.25],
    }
    assert (found["l2_cleared_bytes"], len(found["notes"])) == (0, 1)
    assert err == f"note: {found['notes'][0]}\n"
    assert "without clearing the L2" in err


def test_runs_fill_the_time_that_they_were_given(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    recording_driver.take_times([100] * 2000)
    words = ("--grid", "1", *SMALL, *ADD, "--time", "4", "--warmup", "1.5", "--no-clear-l2")
    out, err = bench(emitted("add"), *words, "--json")
    found = json.loads(out)
    assert found["kernel_us"]["count"] == len(found["kernel_us"]["times"]) == 40
    assert found["kernel_us"]["warmup_runs"] == 15
    assert (found["launch_us"]["count"], found["launch_us"]["launches_a_round"]) == (4, 10)
    assert len(recording_driver.launches) == 1 + 5 + 15 + 40 + 40
    assert err == ""


def test_the_host_cost_is_that_of_a_launch_without_pythons(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    recording_driver.slow("cuLaunchKernelEx", 2)
    out, _ = bench(emitted("add"), "--grid", "1", *SMALL, *ADD, *QUICK, "--json")
    host = json.loads(out)["launch_us"]
    assert host["median"] > 2000
    assert 0 < host["call_with_empty_grid"] < 1000
    assert host["median"] == pytest.approx(host["call_from_python"] - host["call_with_empty_grid"])
    assert set(host) == {
        "launches_a_round", "count", "median", "mean", "min", "max", "quantiles",
        "call_from_python", "call_with_empty_grid",
    }  # fmt: skip


def test_json_says_all_that_was_asked_for(bench: Bench, emitted: Emit) -> None:
    out, _ = bench(emitted("add"), "--grid", "4,2", *SMALL, *ADD, *QUICK, "--json")
    found = json.loads(out)
    assert list(found) == [
        "launcher", "signature", "grid", "arguments", "scratch_bytes", "device",
        "l2_cleared_bytes", "kernel_us", "launch_us", "notes",
    ]  # fmt: skip
    assert (found["launcher"], found["grid"]) == ("add", [4, 2, 1])
    assert str(parse(found["signature"])) == Kernel(FOLDER, "add").signature
    assert found["arguments"] == [
        *({"name": f"{name}_ptr", "type": "*fp32", "bytes": 4096} for name in ("x", "y", "out")),
        {"name": "n", "type": "i32", "value": 1024},
        {"name": "alpha", "type": "fp32", "value": 2.5},
    ]


def test_json_has_no_infinity(bench: Bench, emitted: Emit) -> None:
    words = ("--grid", "1", *SMALL, "--set", "n=1", "--set", "alpha=inf", *QUICK, "--json")
    out, _ = bench(emitted("add"), *words)
    assert json.loads(out)["arguments"][4]["value"] == "inf"


def test_the_table_says_it_for_people(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    recording_driver.take_times([1] * 6 + [3, 5, 4, 1500, 2e6] + [1])
    out, _ = bench(emitted("add"), "--grid", "4", *SMALL, *ADD, "--buffer", "x_ptr=0", *QUICK)
    lines = out.splitlines()
    assert lines[0].startswith("add(x_ptr: *fp32, y_ptr: *fp32, out_ptr: *fp32, n: i32, ")
    assert lines[1:6] == [
        "  device      0, Recording device 0, at most 1980 MHz",
        "  grid        4x1x1",
        "  memory      x_ptr null, y_ptr 4 KiB, out_ptr 4 KiB; all zero at first",
        "  values      n = 1024, alpha = 2.5",
        "  L2          as the last run left it",
    ]
    head, kernel, launch = lines[7:10]
    assert head.split() == ["median", "mean", "min", "20", "%", "80", "%", "max"]
    assert re.findall(r"[\d.]+ \w+", kernel) == [
        "5.00 us", "400.30 ms", "3.00 us", "3.80 us", "401.20 ms", "2.00 s",
    ]  # fmt: skip
    assert re.fullmatch(r"launch( +-?[\d.]+ us){6}", launch)
    assert lines[11] == (
        "kernel: 5 runs between CUDA events, 0 before them to warm up; clocks were not locked"
    )
    assert lines[12].startswith("launch: what it costs the host, in 1 rounds of 10: ")
    assert "that a call with an empty grid takes" in lines[12]


# ---- figures ------------------------------------------------------------------------------------


def test_a_quantile_lies_between_two_times_in_proportion() -> None:
    found = summarise([4.0, 1.0, 3.0, 2.0], (0.0, 0.1, 0.5, 1.0))
    assert (found.count, found.median, found.mean, found.least, found.most) == (4, 2.5, 2.5, 1, 4)
    assert [part for part, _ in found.quantiles] == [0.0, 0.1, 0.5, 1.0]
    assert [time for _, time in found.quantiles] == pytest.approx([1.0, 1.3, 2.5, 4.0])
    assert summarise([7.0], (0.2,)).quantiles == ((0.2, 7.0),)


@pytest.mark.parametrize(
    ("budget", "each", "runs", "rounds"),
    [
        (100_000, 10, 10_000, (20, 100)),
        (100_000, 0, 10_000, (20, 100)),
        (100_000, 1000, 100, (10, 10)),
        (100_000, 600, 166, (16, 10)),
        (100_000, 1e6, 5, (1, 10)),
        (0, 1000, 5, (1, 10)),
        (0, 0, 5, (1, 10)),
    ],
)
def test_runs_and_rounds_fit_the_time_but_are_never_few(
    budget: float, each: float, runs: int, rounds: tuple[int, int]
) -> None:
    assert count_runs(budget, each) == runs
    assert count_rounds(budget, each) == rounds


# ---- options that are refused -------------------------------------------------------------------


def test_options_are_read() -> None:
    assert [parse_grid(text) for text in ("7", "7,8", " 7, 8 ,9")] == [
        (7, 1, 1), (7, 8, 1), (7, 8, 9),
    ]  # fmt: skip
    assert parse_settings(["a=1", "b = x=y"]) == {"a": "1", "b": "x=y"}
    sizes = parse_sizes(["a=64k", "1GiB", "b=0", "c=3MB"], default="5")
    assert sizes == Sizes(2**30, {"a": 65536, "b": 0, "c": 3 * MIB})
    assert parse_sizes(["a=1"], default="256MiB").each == 256 * MIB
    assert [parse_time(text) for text in ("100", " 0.5 ", "0")] == [100_000, 500, 0]
    assert parse_quantiles("0.9, .1,1,0.9") == (0.1, 0.9, 1.0)


def test_blanks_around_a_number_are_any_that_text_has() -> None:
    assert parse_grid("\x1c1,2\u2003") == (1, 2, 1)
    assert parse_time("\x1c5\u2003") == 5000


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--grid", "0"), "--grid: '0' is an empty grid, of which nothing is launched"),
        (("--grid", "1,2,3,4"), "--grid: '1,2,3,4' is not X, X,Y or X,Y,Z"),
        (("--grid", "-1"), "--grid: '-1' is not X, X,Y or X,Y,Z"),
        (("--grid", "1,\x1c2,a"), "--grid: '1,\\x1c2,a' is not X, X,Y or X,Y,Z"),
        (("--grid", "4294967296"), "is too large: no axis may exceed 4294967295"),
        (("--grid", "1", "--set", "n"), "--set: 'n' is not NAME=VALUE, as in n=1024"),
        (("--grid", "1", "--set", "n="), "--set: 'n=' is not NAME=VALUE"),
        (("--grid", "1", "--set", "n=1", "--set", "n=2"), "--set: 'n' is given twice"),
        (("--grid", "1", "--buffer", "1TiB"), "--buffer: '1TiB' is no size, as in 4096, 64KiB"),
        (("--grid", "1", "--buffer", "x_ptr=-1"), "--buffer: '-1' is no size"),
        (("--grid", "1", "--buffer", "9999999999G"), "is no size"),
        (("--grid", "1", "--buffer", "1", "--buffer", "2"), "both 1 and 2 are given for all"),
        (("--grid", "1", "--quantiles", "2"), "--quantiles: '2' is no list of numbers from 0 to 1"),
        (("--grid", "1", "--quantiles", "0.1,,"), "is no list of numbers"),
        ((), "Missing option '--grid'"),
        (("--grid", "1", "--warmup", "nan"), "--warmup: 'nan' is no number of milliseconds"),
        (("--grid", "1", "--time", "-1"), "--time: '-1' is no number of milliseconds"),
    ],
)
def test_a_bad_option_is_named(bench: Bench, emitted: Emit, words: Any, text: str) -> None:
    _, err = bench(emitted("add"), *words, code=2)
    assert text in err


def refusal(signature: str, *settings: str, sizes: Sequence[str] = ()) -> list[str]:
    with pytest.raises(UsageError) as caught:
        choose_values(
            parse(signature),
            settings=parse_settings(settings),
            sizes=parse_sizes(sizes, default="1"),
        )
    return [str(each).removeprefix("error: ") for each in caught.value.diagnostics]


def test_all_that_is_missing_is_told_at_once(bench: Bench, emitted: Emit, made_up: Path) -> None:
    _, err = bench(emitted("add"), "--grid", "1", code=2)
    assert err == (
        "error: no value is given for n (i32), alpha (fp32)\n"
        "  hint: add --set n=VALUE --set alpha=VALUE\n"
    )
    _, err = bench(made_up, "--grid", "1", code=2)
    assert "no value is given for params (bytes[24]), n (i32:16)\n" in err
    assert "hint: add --set params=@FILE --set n=VALUE\n" in err
    _, err = bench(emitted("desc_copy"), "--grid", "1", "--set", "src=8x8", code=2)
    assert err == (
        "error: no value is given for dst (tensordesc<fp16[64, 64]>)\n"
        "  hint: add --set dst=SIZES; SIZES as in 4096x4096\n"
    )


@pytest.mark.parametrize(
    ("declared", "value", "problem"),
    [
        ("i8", "128", "128 is out of range, which is -128 to 127"),
        ("u8", "-1", "-1 is out of range, which is 0 to 255"),
        ("u64", str(2**64), f"{2**64} is out of range"),
        ("i1", "2", "'2' is no bool"),
        ("i32", "1.5", "'1.5' is no signed integer"),
        ("u32", "ten", "'ten' is no unsigned integer"),
        ("i64", "9" * 5000, "is no signed integer"),
        ("fp32", "1,5", "'1,5' is no float"),
        ("i32:16", "24", "24 breaks the promise that it is a multiple of 16"),
        ("i32:1", "2", "2 breaks the promise that it is 1"),
        ("bytes[8]", "0", "its 8 bytes are read from a file, as in --set NAME=@FILE"),
        ("bytes[8]", f"@{__file__}", "bytes, and 8 are passed"),
    ],
)
def test_a_value_that_cannot_be_passed_is_refused(declared: str, value: str, problem: str) -> None:
    (text,) = refusal(f"a: {declared}", f"a={value}")
    assert text.startswith(f"argument 'a' ({declared}): ")
    assert problem in text


@pytest.mark.parametrize(
    ("declared", "sizes", "strides", "size"),
    [
        ("tensordesc<fp16[64]>", "63", (1,), 126),
        ("tensordesc<u8[16, 16]>", "3x17", (32, 1), 96),
        ("tensordesc<fp64[4, 2]>", "3x3", (4, 1), 96),
        ("tensordesc<fp32[1, 1, 2, 4]>", "2x3x4x5", (96, 32, 8, 1), 768),
        ("tensordesc_im2col<fp16[8, 8],input_rank=3>", "2x3x8", (24, 8, 1), 96),
    ],
)
def test_rows_of_a_tensor_begin_at_multiples_of_16_bytes(
    declared: str, sizes: str, strides: tuple[int, ...], size: int
) -> None:
    (found,) = choose_values(parse(f"a: {declared}"), settings={"a": sizes}, sizes=Sizes(1, {}))
    assert isinstance(found, Tensor)
    assert (found.strides, found.size) == (strides, size)


@pytest.mark.parametrize(
    ("sizes", "problem"),
    [
        ("4096", "'4096' has 1 size, and the tensor 2, outermost first"),
        ("4x4x4", "'4x4x4' has 3 sizes, and the tensor 2, outermost first"),
        ("4,4", "'4,4' is no list of sizes, as in 4096x4096"),
        ("4x", "'4x' is no list of sizes"),
        ("4x-4", "'4x-4' is no list of sizes"),
        ("4x0", "'4x0' is out of range, which is 1 to 2147483647 for each size"),
        ("2147483648x1", "'2147483648x1' is out of range"),
        ("2147483647x2147483647", "takes more memory than there are addresses"),
        ("9" * 5000 + "x1", "is no list of sizes"),
    ],
)
def test_sizes_that_no_tensor_has_are_refused(sizes: str, problem: str) -> None:
    declared = "tensordesc<fp32[64, 64]>"
    (text,) = refusal(f"a: {declared}", f"a={sizes}")
    assert text.startswith(f"argument 'a' ({declared}): ")
    assert problem in text


def test_sizes_out_of_range_end_with_2(bench: Bench, emitted: Emit) -> None:
    words = ("--grid", "1", "--set", "dst=8x8", "--set", "src=1x549755813888", *QUICK)
    _, err = bench(emitted("desc_copy"), *words, code=2)
    assert "argument 'src' (tensordesc<fp16[64, 64]>): '1x549755813888' is out of range" in err


def test_an_argument_that_bench_cannot_make_is_refused() -> None:
    problem = "a tensor map is made for memory that bench does not know"
    assert refusal("a: nvTmaDesc") == [f"argument 'a' (nvTmaDesc): {problem}"]


def test_a_name_that_is_none_is_refused_with_those_that_are() -> None:
    signature = "x: *fp32, count: i32, pair: (i32, (i32, 5)), B: constexpr = 4, i32"
    given = ("count=1", "pair.0=1", "pair.1.0=2", "arg4=1")
    assert refusal(signature, *given, "coutn=2") == [
        f"--set: there is no argument 'coutn'\n  hint: did you mean 'count'? it takes {signature}"
    ]
    assert refusal(signature, *given, "pair=2") == [
        "--set: 'pair' is a tuple\n  hint: its elements are pair.0, pair.1.0, pair.1.1"
    ]
    assert refusal(signature, *given, "x=2") == [
        "--set: 'x' is a pointer, and gets memory of its own\n  hint: --buffer x=SIZE says how much"
    ]
    assert refusal(signature, *given, "B=2", "pair.1.1=5") == [
        "--set: 'B' is a constant, compiled into the kernel",
        "--set: 'pair.1.1' is a constant, compiled into the kernel",
    ]
    assert refusal(signature, *given, sizes=["count=8", "y=8"]) == [
        "--buffer: 'count' is no pointer (i32)\n  hint: --set count=VALUE gives a value",
        f"--buffer: there is no argument 'y'\n  hint: it takes {signature}",
    ]
    assert refusal("a: tensordesc<fp16[64, 64]>", "a=8x8", sizes=["a=4096"]) == [
        "--buffer: 'a' is a descriptor, and gets what its tensor takes\n"
        "  hint: --set a=SIZES says how large that is, as in 4096x4096"
    ]
    assert refusal("", "n=1") == ["--set: there is no argument 'n', nor any other"]


def test_a_file_that_is_not_there_ends_with_3(bench: Bench, made_up: Path) -> None:
    settings = ("--set", "params=@nowhere", "--set", "n=16")
    _, err = bench(made_up, "--grid", "1", *settings, code=3)
    assert "error: nowhere: no such file" in err


# ---- folders that are refused -------------------------------------------------------------------


def test_a_folder_without_a_launcher_is_refused(bench: Bench, tmp_path: Path) -> None:
    _, err = bench(tmp_path / "none", "--grid", "1", code=3)
    assert "cannot read" in err
    _, err = bench(tmp_path, "--grid", "1", code=3)
    assert "no C that launchgen emitted" in err


def test_a_launcher_for_python_alone_is_refused(bench: Bench, tmp_path: Path) -> None:
    kernel = Kernel(FOLDER, "add")
    words = ("emit", str(kernel.json), "-n", "add", "-a", "cpython", "-o", str(tmp_path))
    assert main(list(words)) == 0
    _, err = bench(tmp_path, "--grid", "1", code=2)
    assert f"there is no C launcher in '{tmp_path}'" in err


def test_of_several_launchers_one_has_to_be_chosen(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver, tmp_path: Path
) -> None:
    for name in ("add", "tuple"):
        shutil.copytree(emitted(name), tmp_path, dirs_exist_ok=True)
    rest = ("--grid", "1", *SMALL, *ADD, *QUICK)
    _, err = bench(tmp_path, *rest, code=2)
    assert "there are several launchers in" in err
    assert "add, tuple\n  hint: choose one, as in --name add\n" in err
    _, err = bench(tmp_path, *rest, "--name", "ad", code=2)
    assert "there is no launcher called 'ad'" in err
    assert "did you mean 'add'?" in err
    bench(tmp_path, *rest, "--name", "add")
    assert {launch.entry for launch in recording_driver.launches} == {"add_kernel"}


def test_a_launcher_that_is_not_compiled_says_how(
    bench: Bench, emitted: Emit, tmp_path: Path
) -> None:
    folder = tmp_path / "my add"
    shutil.copytree(emitted("add"), folder)
    library = folder / "libadd.so"
    os.utime(library, ns=(0, 0))
    _, err = bench(folder, "--grid", "1", *ADD, code=3)
    assert "libadd.so: is older than add.c, which it is compiled from" in err
    assert f"run 'make -C '{folder}'' or 'launchgen build '{folder}''" in err
    library.unlink()
    _, err = bench(folder, "--grid", "1", *ADD, code=3)
    assert "libadd.so: no such file: the launcher is not compiled" in err


def test_a_library_that_is_none_ends_with_3(bench: Bench, emitted: Emit, tmp_path: Path) -> None:
    folder = tmp_path / "add"
    shutil.copytree(emitted("add"), folder)
    (folder / "libadd.so").write_text("text")
    _, err = bench(folder, "--grid", "1", *ADD, code=3)
    assert "libadd.so: cannot be loaded: " in err
    shutil.copy(emitted("tuple") / "libtuple.so", folder / "libadd.so")
    os.utime(folder / "libadd.so")
    _, err = bench(folder, "--grid", "1", *ADD, code=3)
    assert "libadd.so: exports no add_launch" in err


def test_a_banner_that_was_edited_ends_with_3(bench: Bench, emitted: Emit, tmp_path: Path) -> None:
    folder = tmp_path / "add"
    shutil.copytree(emitted("add"), folder)
    source = folder / "add.c"
    text = source.read_text()
    for old, new, problem in (
        ("add(x_ptr: *fp32,", "add(x_ptr: *fp33,", "add.c, banner:1:9: argument 0"),
        ("   signature ", "   signed ", "the banner does not say what 'add' is called with"),
        ("   signature   add(", "   signature   mul(", "the banner does not say what 'add'"),
    ):
        source.write_text(text.replace(old, new, 1))
        os.utime(folder / "libadd.so")
        _, err = bench(folder, "--grid", "1", *ADD, code=3)
        assert problem in err


def test_a_launcher_of_handles_is_refused(bench: Bench, tmp_path: Path) -> None:
    words = ("-s", "n: i32", "--name", "k", "--num-warps", "4", "--triton-version", "3.6.0")
    folder = compiled(tmp_path / "k", *words)
    _, err = bench(folder, "--grid", "1", "--set", "n=1", code=2)
    assert "'k' takes a function handle, and bench has none to give" in err


@pytest.mark.parametrize("name", ["add", "scalars", "tuple", "device_desc"])
def test_the_banner_holds_the_whole_signature(emitted: Emit, name: str) -> None:
    signature = str(parse(Kernel(FOLDER, name).signature))
    for file in (f"{name}.c", f"{name}.h"):
        with (emitted(name) / file).open("rb") as source:
            banner = read_banner(source)
        assert banner is not None
        assert banner.signature == f"{name}({signature})"


@pytest.mark.parametrize("suffix", ["Makefile", "build.sh", "k.pyi", "k.launch_metadata"])
def test_a_banner_of_another_file_has_the_signature_or_none(tmp_path: Path, suffix: str) -> None:
    words = ("-s", f"{'a' * 90}: i32, n: i32", "--name", "k", "--num-warps", "4")
    rest = ("--triton-version", "3.6.0", "-a", "c,cpython,pyi,make,sh,level0")
    assert main(["emit", *words, *rest, "-o", str(tmp_path)]) == 0
    with (tmp_path / suffix).open("rb") as file:
        banner = read_banner(file)
    assert banner is not None
    expected = "" if suffix.endswith("metadata") else f"k( {'a' * 90}: i32, n: i32)"
    assert banner.signature == expected


# ---- a driver that refuses ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "failure",
    [
        ("cuInit", 999, "cuInit failed: CUDA_ERROR_UNKNOWN (999): unknown error"),
        ("cuDevicePrimaryCtxRetain", 2, "cuDevicePrimaryCtxRetain failed: CUDA_ERROR_OUT_OF"),
        ("cuCtxPushCurrent_v2", 201, "cuCtxPushCurrent_v2 failed: CUDA_ERROR_INVALID_CONTEXT"),
        ("cuStreamCreate", 2, "cuStreamCreate failed"),
        ("cuDeviceGetAttribute", 1, "cuDeviceGetAttribute failed: CUDA_ERROR_INVALID_VALUE (1)"),
        ("cuMemAlloc_v2", 2, "cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"),
        ("cuMemsetD8Async", 1, "cuMemsetD8Async failed"),
        ("cuEventCreate", 2, "cuEventCreate failed"),
        ("cuEventRecord", 400, "cuEventRecord failed: CUDA_ERROR_INVALID_HANDLE (400)"),
        ("cuEventElapsedTime", 600, "cuEventElapsedTime failed: CUDA_ERROR_NOT_READY (600)"),
        ("cuLibraryLoadData", 209, "add_launch returned 209: add: "),
        ("cuLaunchKernelEx", 701, "add_launch returned 701: add: cuLaunchKernelEx failed"),
    ],
    ids=lambda failure: failure[0],
)
def test_a_failed_call_is_told_and_all_is_given_back(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver, failure: tuple[str, int, str]
) -> None:
    name, code, text = failure
    recording_driver.fail(name, code)
    _, err = bench(emitted("add"), "--grid", "1", *SMALL, *ADD, *QUICK, code=3)
    assert text in err
    if name not in {"cuInit", "cuDevicePrimaryCtxRetain"}:
        assert_all_is_given_back(recording_driver)
    # The next one is none the worse for it.
    bench(emitted("add"), "--grid", "1", *SMALL, *ADD, *QUICK)


def test_a_launch_that_fails_later_is_told(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    recording_driver.fail("cuLaunchKernelEx", 719, nth=15)
    _, err = bench(emitted("add"), "--grid", "1", *SMALL, *ADD, *QUICK, code=3)
    assert "add_launch returned 719" in err
    assert "CUDA_ERROR_LAUNCH_FAILED" in err


def test_a_kernel_that_goes_wrong_has_a_hint(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    recording_driver.fail("cuStreamSynchronize", 700, nth=2)
    _, err = bench(emitted("add"), "--grid", "1", *SMALL, *ADD, *QUICK, code=3)
    assert "cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)" in err
    assert "memory that is too small for its sizes (--buffer)" in err


def test_an_error_without_a_text_is_told_by_its_number(
    bench: Bench, emitted: Emit, recording_driver: RecordingDriver
) -> None:
    recording_driver.fail("cuMemAlloc_v2", 2)
    recording_driver.forget_texts()
    _, err = bench(emitted("add"), "--grid", "1", *SMALL, *ADD, *QUICK, code=3)
    assert "cuMemAlloc_v2 failed: unknown error (2): the driver has no text for it" in err


def test_what_the_launcher_refuses_is_told_in_its_words(bench: Bench, emitted: Emit) -> None:
    words = ("--grid", "1,65536", *SMALL, *ADD, *QUICK)
    _, err = bench(emitted("add"), *words, code=3)
    assert "add_launch returned 1: add: a grid of 1 x 65536 x 1 blocks is too large" in err


def test_a_device_that_is_not_there_is_refused(bench: Bench, emitted: Emit) -> None:
    _, err = bench(emitted("add"), "--grid", "1", *ADD, "--device", "1", code=2)
    assert "--device: there is no device 1; the driver counts 1" in err


def test_without_a_driver_it_says_so(
    bench: Bench, emitted: Emit, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = ctypes.CDLL

    def refuse(name: str, mode: int = ctypes.DEFAULT_MODE) -> ctypes.CDLL:
        if name == "libcuda.so.1":
            raise OSError(f"{name}: cannot open shared object file")
        return load(name, mode)

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    monkeypatch.setattr(gpu, "find_driver", lambda *_: (Item("driver", problem="none"), ()))
    _, err = bench(emitted("add"), "--grid", "1", *ADD, code=3)
    assert "error: no NVIDIA driver was found\n" in err
    assert "hint: bench runs the kernel: it needs a machine with a GPU" in err
    assert "'launchgen doctor' shows where it was looked for" in err


@pytest.mark.parametrize("beside", ["nothing", "a stub"])
def test_the_driver_is_where_launchers_find_it(
    emitted: Emit, recording_driver: RecordingDriver, tmp_path: Path, beside: str
) -> None:
    log = tmp_path / "log"
    environment = recording_driver.environment(log=log)
    environment["TRITON_LIBCUDA_PATH"] = str(recording_driver.path)
    environment["LD_LIBRARY_PATH"] = str(stub_library() if beside == "a stub" else tmp_path)
    words = ("--grid", "1", *SMALL, *ADD, *QUICK)
    command = [sys.executable, "-m", "launchgen", "bench", str(emitted("add")), *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "cuLaunchKernelEx" in log.read_text()


def test_a_driver_that_is_too_old_is_told_before_anything_is_timed(emitted: Emit) -> None:
    command = [sys.executable, "-m", "launchgen", "bench", str(emitted("add")), "--grid", "1", *ADD]
    environment = RecordingDriver(driver_version=10020).environment()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "error: the driver has no cuDevicePrimaryCtxRelease_v2\n" in done.stderr
    assert "hint: bench needs one of CUDA 11 or newer" in done.stderr
