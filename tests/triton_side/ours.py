"""launchgen's side: emitted by its command line, compiled, and named for a child to load.

What launchgen cannot do yet is asked of its command line, so that the tests of it begin to run with
the change that brings it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from launchgen.cli import main
from tests.triton_side.cases import Case, Release

_SUFFIX: Final = sysconfig.get_config_var("EXT_SUFFIX")


def build_launchers(
    cases: Sequence[Case], release: Release, convention: str, folder: Path
) -> tuple[str, ...]:
    """Return each case's compiled module."""
    folders = [_emit(case, release, convention, folder / str(i)) for i, case in enumerate(cases)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return tuple(
            pool.map(lambda each: _compile(each / "k_py.c", each / f"k{_SUFFIX}"), folders)
        )


def build_cuda_utils(folder: Path) -> str:
    """Return the compiled module that fills tensor maps as every release's own does."""
    _launchgen("-a", "cuda-utils", "-o", str(folder))
    return _compile(folder / "cuda_utils.c", folder / f"cuda_utils{_SUFFIX}")


def write_metadata(case: Case, release: Release, path: Path) -> Path:
    """Write what Triton leaves beside the kernel, and return where it is."""
    path.write_text(json.dumps(case.metadata(release)))
    return path


def _emit(case: Case, release: Release, convention: str, folder: Path) -> Path:
    folder.mkdir(parents=True)
    metadata = write_metadata(case, release, folder / "metadata.json")
    signature = folder / "signature.txt"
    signature.write_text(case.text)
    _launchgen(
        *("-s", f"@{signature}", "-n", "k", "--no-image", "--metadata", str(metadata)),
        *("--convention", convention, "--triton-version", release.name),
        *("-a", "cpython", "-o", str(folder)),
    )
    return folder


def _launchgen(*words: str) -> None:
    assert main(["emit", *words]) == 0, f"launchgen emit {' '.join(words)}"


def _compile(source: Path, product: Path) -> str:
    include = ("-isystem", sysconfig.get_path("include"))
    done = subprocess.run(
        ["gcc", "-O0", "-shared", "-fPIC", *include, "-o", product, source],
        cwd=source.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return str(product)
