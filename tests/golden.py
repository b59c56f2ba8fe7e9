"""Golden trees: files under a folder of this repository, compared one by one."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex

TESTS = Path(__file__).parent
SNAPSHOTS = TESTS.parent / "snapshots"
PLANS = TESTS / "plans"


@dataclass(frozen=True)
class Case:
    """A file of ``tests/cases``: comment lines, then one command over several lines."""

    name: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def _read_case(path: Path) -> Case:
    words = shlex.split(path.read_text(), comments=True)
    assert words[:2] == ["launchgen", "emit"], path
    return Case(path.stem, tuple(words[1:]))


CASES = tuple(_read_case(path) for path in sorted((TESTS / "cases").glob("*.txt")))


class _TreeExtension(SingleFileSnapshotExtension):
    """One file for each name, under ``root``, with the name's own extension."""

    file_extension = ""
    root: Path

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(cls.root)

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        return str(index)

    @classmethod
    def get_location(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        return str(cls.root / str(index))


class TextTree(_TreeExtension):
    _write_mode = WriteMode.TEXT
    root = SNAPSHOTS


class BinaryTree(_TreeExtension):
    root = SNAPSHOTS


class PlanTree(_TreeExtension):
    _write_mode = WriteMode.TEXT
    root = PLANS
