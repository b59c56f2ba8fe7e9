"""The README's commands do what it says, as printed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from launchgen.cli import main
from launchgen.testing import RecordingDriver
from tests.zoo import KERNELS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
LINES = re.sub(r" \\\n +", " ", README)


def commands(start: str) -> list[str]:
    found = [line.strip() for line in LINES.splitlines() if line.startswith(f"    {start}")]
    assert found, f"README shows no '{start}'"
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for suffix in (".json", ".cubin", ".ttir"):
        shutil.copy(KERNELS / "triton-3.6.0-sm90" / f"add{suffix}", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str) -> None:
    # `launchgen` is this one, whatever the path has.
    script = f'launchgen() {{ "{sys.executable}" -m launchgen "$@"; }}; {command}'
    done = subprocess.run(["/bin/sh", "-ec", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_cache_entry_becomes_a_library_and_a_module(folder: Path) -> None:
    emit = commands("launchgen emit add.json")[0]
    run(emit)
    run(f'{commands("make -C build/add")[0]} PYTHON="{sys.executable}"')
    assert (folder / "build/add/libadd.so").exists()
    assert list((folder / "build/add").glob("add.*.so"))
    prototype = re.search(r"```c\n(int add_launch\(.*?\);)", README, re.DOTALL)
    assert prototype
    header = re.sub(r"/\*.*?\*/", "", (folder / "build/add/add.h").read_text(), flags=re.DOTALL)
    assert _tokens(prototype[1]) in _tokens(header)


def test_what_triton_calls_outside_a_launch_needs_no_kernel(folder: Path) -> None:
    run(commands("launchgen emit --artifact cuda-utils")[0])
    run(f'{commands("make -C build/utils")[0]} PYTHON="{sys.executable}"')
    assert list((folder / "build/utils").glob("cuda_utils.*.so"))


def test_a_signature_alone_becomes_a_launcher_of_handles(folder: Path) -> None:
    (command,) = commands("launchgen emit -s")
    run(command)
    assert "void *function," in (folder / "add/add.h").read_text()


def test_a_mistake_is_shown_as_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder
    run(commands("launchgen inspect")[0])
    (command,) = (line for line in commands("launchgen emit add.json") if "i64" in line)
    assert main(shlex.split(command)[1:]) == 2
    shown = capsys.readouterr().err
    assert textwrap.indent(shown, "    ").rstrip() in README


def test_a_compiled_launcher_is_timed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert folder
    run(commands("launchgen emit add.json")[0])
    run("launchgen build build/add")
    for name, value in RecordingDriver().environment().items():
        monkeypatch.setenv(name, value)
    (command,) = commands("launchgen bench")
    # As printed it fills gigabytes: no GPU does that here.
    run(f"{command} --buffer 1MiB --time 0 --warmup 0 --no-clear-l2")


def test_every_option_that_the_readme_names_exists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emit", "--help"]) == main(["bench", "--help"]) == 0
    text = capsys.readouterr().out
    for option in set(re.findall(r"`(--[a-z-]+)`", README)):
        assert option in text, option


def _tokens(text: str) -> str:
    return " ".join(re.findall(r"\w+|[^\w\s]", text))
