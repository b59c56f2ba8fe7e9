"""Output changes where a commit says so, and nowhere else: ``snapshots/`` is what it looks like.

``pytest --snapshot-update tests/test_golden.py`` writes the tree anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from launchgen.cli import main
from tests.golden import CASES, PLANS, SNAPSHOTS, TESTS, BinaryTree, Case, PlanTree, TextTree
from tests.plan_text import plan_text

_BINARY = {".cubin"}


@pytest.fixture
def emitted(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(TESTS)
    assert main([*case.arguments, "--out", str(tmp_path)]) == 0
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=str)
def test_output_is_the_committed_one(
    case: Case, emitted: Path, snapshot: SnapshotAssertion
) -> None:
    for path in sorted(emitted.iterdir()):
        content = path.read_bytes()
        name = f"{case}/{path.name}"
        if path.suffix in _BINARY:
            assert content == snapshot(name=name, extension_class=BinaryTree)
        else:
            assert content.decode("ascii") == snapshot(name=name, extension_class=TextTree)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_text_has_the_house_shape(case: Case, emitted: Path) -> None:
    for path in sorted(emitted.iterdir()):
        if path.suffix in _BINARY:
            continue
        text = path.read_text("ascii")
        assert "\r" not in text, path.name
        assert text.endswith("\n"), path.name
        assert not text.endswith("\n\n"), path.name
        assert "\n\n\n" not in text, path.name
        trailing = [line for line in text.split("\n") if line != line.rstrip()]
        assert not trailing, f"{path.name}: {trailing}"
        if path.suffix in {".c", ".h"}:
            assert "\t" not in text, path.name
            # A banner's lines are as long as a hash and a command are.
            code = text[text.index("*/") :]
            assert [line for line in code.splitlines() if len(line) > 100] == [], path.name


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_plan_is_the_committed_one(
    case: Case, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(TESTS)
    assert plan_text(case) == snapshot(name=f"{case}.txt", extension_class=PlanTree)


def test_nothing_is_committed_that_no_case_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(TESTS)
    made = set()
    for case in CASES:
        main([*case.arguments, "--out", str(tmp_path / case.name)])
        made |= {f"{case}/{path.name}" for path in (tmp_path / case.name).iterdir()}
    committed = {
        str(path.relative_to(SNAPSHOTS)) for path in SNAPSHOTS.rglob("*") if path.is_file()
    }
    assert committed - made == set(), "delete these from snapshots/"
    plans = {path.stem for path in PLANS.iterdir()}
    assert plans - {case.name for case in CASES} == set(), "delete these from tests/plans/"
