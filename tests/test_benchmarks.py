"""``benchmarks/``: they run without a GPU as far as that goes, and measure what they say."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from launchgen.testing import RecordingDriver, read_log

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def run(
    *words: str, environment: dict[str, str] | None = None, code: int = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=BENCHMARKS,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_launchers_run_on_the_driver_that_does_nothing() -> None:
    done = run("launch.py", "--rounds", "1", "--json")
    c, python = map(json.loads, done.stdout.splitlines())
    assert c["rows"][0]["what"] == "time of a launch / bare loop"
    assert python["rows"][0]["what"] == "integers: call / empty call"


def test_descriptors_are_not_measured_without_a_driver(tmp_path: Path) -> None:
    environment = RecordingDriver().environment()
    # No library at all, in front of whatever this machine has.
    (tmp_path / "libcuda.so.1").write_text("")
    environment["LD_LIBRARY_PATH"] = str(tmp_path)
    done = run("descriptors.py", environment=environment, code=1)
    assert done.stdout == ""
    assert done.stderr.startswith("skipped: no NVIDIA driver (")


def test_maps_are_made_for_two_pairs_in_turn_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    environment = RecordingDriver().environment(log=log)
    done = run("descriptors.py", "--rounds", "1", "--json", environment=environment)
    found = json.loads(done.stdout)
    assert [row["what"] for row in found["rows"]] == ["from C", "from Python"]
    assert all(row["ratio"] > 0 for row in found["rows"])
    batches = [[0, 0]]
    for call in read_log(log):
        if call.name == "cuCtxSynchronize":
            batches.append([0, 0])
        batches[-1][0] += call.name == "cuLaunchKernelEx"
        batches[-1][1] += call.name == "cuTensorMapEncodeTiled"
    # A batch may begin with the pair that the one before ended with, or with the other.
    in_turn = {(400, 798), (400, 800)}
    kept = {(400, 0), (400, 2)}
    rounds = [tuple(batch) for batch in batches[1:]]
    assert len(rounds) == 12
    for index in range(3):
        sides = rounds[4 * index : 4 * index + 4]
        ordered = sides[::-1] if index % 2 else sides
        assert set(ordered[0::2]) <= kept
        assert set(ordered[1::2]) <= in_turn


# ---- triton_launch.py ---------------------------------------------------------------------------


@pytest.fixture
def triton_launch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("triton_launch")


def test_triton_is_not_measured_where_something_is_missing(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no', name='torch')")
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, '.']; import triton_launch as t; t.main()"
    )
    assert run("-c", code, code=1).stderr == "skipped: no PyTorch (no)\n"


def test_the_driver_alone_gets_zeros_for_every_parameter(
    triton_launch: ModuleType, recording_driver: RecordingDriver
) -> None:
    recording_driver.current_context = recording_driver.primary_context()
    function = recording_driver.make_function("k", [(8, 8), (128, 64), (4, 4)])
    library = triton_launch.build_bare_launch()
    batch = triton_launch.bare_launch(library, function, threads=96, shared=4104, stream=0)
    batch()
    assert len(recording_driver.launches) == triton_launch.LAUNCHES
    for launch in recording_driver.launches:
        assert (launch.grid, launch.block, launch.shared) == ((1, 1, 1), (96, 1, 1), 4104)
        assert (launch.attributes, launch.stream) == ((), 0)
        assert launch.values == (bytes(8), bytes(128), bytes(4))
    recording_driver.fail("cuLaunchKernelEx", 700)
    with pytest.raises(SystemExit, match="cuLaunchKernelEx failed with 700"):
        batch()


def test_a_case_is_a_row_of_each_table(
    triton_launch: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = {"ours": [8.0, 9.0, 9.0], "theirs": [10.0, 10.0, 9.0]}
    launcher = {"ours": [5.0, 6.0, 5.0], "theirs": [8.0, 8.0, 8.0], "bare": [4.0, 4.0, 3.0]}
    rows = triton_launch.rows_of("case", kernel, launcher)
    assert [row.ratio for row in rows] == [0.9, 0.625, 0.4]
    assert [(row.ours, row.other, row.rest) for row in rows] == [
        (9, 10, ()),
        (5, 8, (4,)),
        (2, 4, ()),
    ]
    assert [row.bar for row in rows] == [1.0, 0.6, None]
    assert [row.note for row in rows] == ["0.80 to 1.00", "0.62 to 0.75", "0.25 to 0.50"]
    (title, third), found = triton_launch.TABLES[1], rows[1]
    triton_launch.report(title, ("launchgen", "Triton", third), [found], as_json=False)
    _, _, head, line, *_ = capsys.readouterr().out.splitlines()
    assert head.split() == ["launchgen", "Triton", "driver", "alone", "ratio", "bar"]
    assert line.split()[:8] == ["case", "5.000", "8.000", "4.000", "ns", "0.62", "0.6", "MISSED"]
