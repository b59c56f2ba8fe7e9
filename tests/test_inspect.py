"""``launchgen inspect``: what an image holds, beside its signature, for people and programs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from launchgen.cli import main
from launchgen.images import read_images
from tests.zoo import ZOO, Kernel

ADD = Kernel("triton-3.6.0-sm90", "add_div16")
IMAGES = Path(__file__).parent / "images"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like an entry of Triton's cache, where the command runs."""
    for suffix in (".json", ".cubin", ".ttir"):
        shutil.copy(ADD.json.with_suffix(suffix), tmp_path / f"add{suffix}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str, expected: int = 0) -> str:
    code = main(["inspect", *words])
    out, err = capsys.readouterr()
    assert code == expected, err
    assert "Traceback" not in err
    return out if expected in {0, 2} and out else err


def as_json(capsys: pytest.CaptureFixture[str], *words: str, expected: int = 0) -> Any:
    return json.loads(run(capsys, *words, "--json", expected=expected))


def test_the_table_shows_image_and_signature(
    folder: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert folder
    assert run(capsys, "add.json") == snapshot


def test_a_disagreement_is_marked_and_ends_with_2(
    folder: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert folder
    wrong = "x: *fp32:16, y: *fp32:16, out: *fp32:16, n: i64:16, alpha: fp32, BLOCK: i32"
    assert run(capsys, "add.json", "-s", wrong, expected=2) == snapshot


def test_json_is_for_programs(
    folder: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert folder
    assert run(capsys, "add.json", "--json") == snapshot


@pytest.mark.parametrize("kernel", ZOO, ids=str)
def test_every_kernel_agrees_with_what_was_compiled(
    kernel: Kernel, capsys: pytest.CaptureFixture[str]
) -> None:
    found = as_json(capsys, str(kernel.json), "-s", kernel.signature)
    assert found["agrees"]
    (image,) = found["images"]
    (shown,) = image["kernels"]
    (facts,) = (compiled.facts for compiled in read_images(kernel.cubin.read_bytes()))
    (entry,) = facts.entries
    assert image["architecture"] == str(facts.architecture)
    assert shown["name"] == kernel.entry
    assert [row["bytes"] for row in shown["parameters"]] == [p.size for p in entry.parameters]
    assert all(row["argument"] and not row["problem"] for row in shown["parameters"])


def test_metadata_of_another_kernel_is_a_disagreement(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = json.loads((folder / "add.json").read_text())
    (folder / "add.json").write_text(json.dumps({**raw, "num_warps": 8}))
    found = as_json(capsys, "add.json", expected=2)
    (problem,) = found["images"][0]["kernels"][0]["problems"]
    assert "num_warps is 8" in problem


def test_metadata_of_another_compilation_is_a_disagreement(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = Kernel("triton-3.6.0-sm80", "add_div16")
    shutil.copy(older.json, folder / "add.json")
    found = as_json(capsys, "add.json", expected=2)
    (problem,) = found["images"][0]["kernels"][0]["problems"]
    assert "is compiled for sm_90a, but the launch metadata beside it" in problem


def test_an_image_alone_is_shown_with_a_guess(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("add.json", "add.ttir"):
        (folder / name).unlink()
    assert "guessed from the sizes" in run(capsys, "add.cubin")
    found = as_json(capsys, "add.cubin")
    shown = found["images"][0]["kernels"][0]
    assert shown["signature_is_guess"]
    assert shown["signature"] == "*i8, *i8, *i8, u32, u32, *i8, *i8"


def test_ptx_and_the_pointers_without_a_promise_are_shown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = Kernel("triton-3.6.0-sm90", "add")
    shutil.copy(plain.json.with_suffix(".ttir"), folder / "add.ttir")
    text = run(capsys, "add.json")
    assert "without :16 x_ptr, y_ptr, out_ptr" in text
    assert as_json(capsys, "add.json")["images"][0]["kernels"][0]["without_alignment_hint"] == [
        "x_ptr", "y_ptr", "out_ptr",
    ]  # fmt: skip


def test_an_entry_that_is_not_there_names_those_that_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert folder
    text = run(capsys, "add.cubin", "--entry", "mul_kernel", expected=2)
    assert "holds no kernel called 'mul_kernel': there is add_kernel" in text


@pytest.mark.parametrize(
    ("content", "part"),
    [(b"", "is empty"), (b"\x7fELF\x02\x01\x01", "ends inside"), (b"text", "no PTX")],
)
def test_a_file_that_is_no_image_ends_with_3(
    content: bytes, part: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "add.cubin").write_bytes(content)
    assert part in run(capsys, "add.json", expected=3)


def test_a_bad_signature_ends_with_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder
    assert "did you mean" in run(capsys, "add.json", "-s", "n: i31", expected=2)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("@add_kernel", "@mul_kernel", "holds no kernel called 'add_kernel', only 'mul_kernel'"),
        ("f32>", "f4E2M1>", "is none that a launcher passes"),
        ("tt.func", "func", "there is no 'tt.func public'"),
    ],
)
def test_an_ir_that_cannot_be_used_is_shown_beside_a_guess(
    old: str, new: str, problem: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "add.ttir"
    path.write_text(path.read_text().replace(old, new))
    found = as_json(capsys, "add.json", expected=2)
    (shown,) = found["images"][0]["kernels"]
    assert shown["signature_is_guess"]
    assert len(shown["parameters"]) == 7
    assert any(problem in each for each in shown["problems"])
