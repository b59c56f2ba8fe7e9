"""The names that ``import launchgen`` offers, and the example in its docstring."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import launchgen
from tests.zoo import KERNELS

NAMES = sorted(set(launchgen.__all__) - {"__version__"})
MODULES = sorted(path.stem for path in Path(launchgen.__file__).parent.glob("[a-z]*.py"))


def in_a_process(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_a_function_before_and_after_any_import(name: str, tmp_path: Path) -> None:
    say = f"print(launchgen.{name}.__module__, launchgen.{name}.__qualname__)"
    load = f"import {', '.join(f'launchgen.{module}' for module in MODULES)}"
    first = in_a_process(f"import launchgen; {say}; {load}; {say}", tmp_path).splitlines()
    last = in_a_process(f"{load}; {say}; from launchgen import {name}; {say}", tmp_path)
    assert first == last.splitlines()
    assert first[0] == first[1]


def test_no_public_name_is_a_module() -> None:
    assert set(NAMES).isdisjoint(MODULES)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(launchgen, "nothing")
    assert set(launchgen.__all__) <= set(dir(launchgen))


def test_the_example_in_the_docstring_runs(tmp_path: Path) -> None:
    for suffix in (".json", ".cubin"):
        shutil.copy(KERNELS / "triton-3.6.0-sm90" / f"add{suffix}", tmp_path)
    _, example = inspect.cleandoc(launchgen.__doc__ or "").split("::\n\n", 1)
    lines = [line for line in example.splitlines() if line.startswith("    ") or not line]
    in_a_process(textwrap.dedent("\n".join(lines)), tmp_path)
    made = {path.name for path in (tmp_path / "build/add").iterdir()}
    assert made == {"add.c", "add.h", "Makefile"}
