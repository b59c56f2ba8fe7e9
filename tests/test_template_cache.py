"""Compiled templates between runs, and the folder that they are kept in."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from launchgen import caches, cli, rendering, template_cache

EMIT = ["emit", "-s", "n: i32", "--name", "k", "--num-warps", "4", "--triton-version", "3.6.0"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def emit(out: str) -> dict[str, bytes]:
    # As a new process does, in which no template is loaded yet.
    rendering._environment.cache_clear()
    template_cache.compiled_templates.cache_clear()
    assert cli.main([*EMIT, "--out", out]) == 0
    return {path.name: path.read_bytes() for path in Path(out).iterdir()}


def kept(home: Path) -> list[Path]:
    return sorted((home / "cache" / "launchgen").iterdir())


def test_templates_are_kept_and_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = emit("first")
    files = kept(home)
    assert files
    assert all(path.suffix == ".bin" for path in files)
    monkeypatch.setattr("jinja2.Environment.compile", None)
    assert emit("second") == first
    assert kept(home) == files


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"garbage",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: bytes(range(256)) * 40,
        lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
        # What Jinja's own cache would unpickle: a name in a module that is not there.
        lambda data: data[32:50] + b"cnowhere\nnothing\n.",
    ],
    ids=["empty", "garbage", "half", "cut", "longer", "noise", "bit", "pickle"],
)
def test_a_damaged_file_is_a_missing_one(home: Path, damage: Callable[[bytes], bytes]) -> None:
    expected = emit("first")
    whole = {path: path.read_bytes() for path in kept(home)}
    for path, data in whole.items():
        path.write_bytes(damage(data))
    assert emit("second") == expected
    assert {path: len(path.read_bytes()) for path in kept(home)} == {
        path: len(data) for path, data in whole.items()
    }


def test_a_folder_in_a_files_place_is_no_error(home: Path) -> None:
    expected = emit("first")
    for path in kept(home):
        path.unlink()
        path.mkdir()
    assert emit("second") == expected
    assert all(path.is_dir() for path in kept(home))


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(home: Path, mode: int) -> None:
    folder = home / "cache" / "launchgen"
    folder.mkdir(parents=True)
    folder.chmod(mode)
    emit("first")
    assert kept(home) == []


def test_a_folder_of_somebody_elses_is_not_used(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "cache" / "launchgen"
    assert caches.cache_folder() == folder
    owner = folder.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert caches.cache_folder() is None


def test_the_folder_is_made_for_its_owner_alone(home: Path) -> None:
    folder = caches.cache_folder()
    assert folder == home / "cache" / "launchgen"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_relative_path_in_the_environment_is_ignored(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(home / "user"))
    assert caches.cache_folder() == home / "user" / ".cache" / "launchgen"


def test_without_a_home_there_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    assert caches.cache_folder() is None
    emit("first")
