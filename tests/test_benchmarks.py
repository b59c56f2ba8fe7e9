"""``benchmarks/``: they run without a GPU as far as that goes, and measure what they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from launchgen.testing import RecordingDriver, read_log

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
