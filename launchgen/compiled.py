"""Extension modules compiled from generated source, kept by content between runs.

What a folder of the cache is called after covers what the module is made from: the source, the
compiler and the flags that the environment adds, the interpreter.  Folders appear by a rename, so
that processes may compile the same at once and whoever comes later reuses the first one's.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from launchgen import toolchain
from launchgen.caches import cache_folder, private_folder
from launchgen.diagnostics import BuildError, Diagnostic
from launchgen.locks import ForkableLock
from launchgen.rendering import GeneratedFiles

_FOLDER: Final = "modules"
_FLAGS: Final = ("CC", "CPPFLAGS", "CFLAGS", "LDFLAGS")
_lock: Final = ForkableLock()


def compiled_module(files: GeneratedFiles, *, environment: Mapping[str, str]) -> Path:
    """Return the extension module that ``files`` compile to for this interpreter.

    Raises BuildError where there is no compiler, no ``Python.h``, or the compiler fails.
    """
    base = _base()
    folder = base / _key(files, environment)
    found = _product(folder)
    if found is not None:
        return found
    # Threads of one process would only wait for the same processors.
    with _lock:
        return _product(folder) or _compile(files, folder, environment)


def _base() -> Path:
    kept = cache_folder()
    folder = None if kept is None else private_folder(kept / _FOLDER)
    return _temporary() if folder is None else folder


@cache
def _temporary() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="launchgen-"))
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: Path, owner: int) -> None:
    # A forked child inherits what is to be done at the end, but the folder is its parent's.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _key(files: GeneratedFiles, environment: Mapping[str, str]) -> str:
    compiler = toolchain.find_compiler(environment)
    parts = [
        sys.version,
        sysconfig.get_config_var("EXT_SUFFIX") or "",
        *compiler.words,
        _compiler_version(compiler.words),
        *(environment.get(name, "") for name in _FLAGS),
    ]
    digest = hashlib.sha256("\0".join(parts).encode(errors="surrogateescape"))
    for file in files.files:
        digest.update(f"\0{file.name}\0{len(file.content)}\0".encode() + file.content)
    return digest.hexdigest()[:32]


@cache
def _compiler_version(words: tuple[str, ...]) -> str:
    return toolchain.run([*words, "--version"]).stdout


def _product(folder: Path) -> Path | None:
    return next(folder.glob("*.so"), None)


def _compile(files: GeneratedFiles, folder: Path, environment: Mapping[str, str]) -> Path:
    made = folder
    try:
        made = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
        for file in files.files:
            (made / file.name).write_bytes(file.content)
        build = toolchain.plan_build(made, environment=environment, python=toolchain.this_python())
        for job in build.jobs:
            done = toolchain.run(job.command, folder=made, environment=environment)
            if done.returncode != 0:
                problem = f"{job.command[0]} failed with status {done.returncode}"
                raise BuildError(Diagnostic(problem, output=done.stdout.rstrip()))
            job.output.rename(job.product)
        _put(made, folder)
    except OSError as error:
        raise BuildError(
            Diagnostic(f"cannot compile in '{folder.parent}': {error.strerror or error}")
        ) from error
    finally:
        if made != folder:
            shutil.rmtree(made, ignore_errors=True)
    product = _product(folder)
    if product is None:
        raise BuildError(Diagnostic(f"'{folder}' was removed while it was made"))
    return product


def _put(made: Path, folder: Path) -> None:
    """Let ``made`` appear as ``folder``, unless another process's has."""
    try:
        made.rename(folder)
    except OSError:
        # Another process was first: its folder is as good, and perhaps already in use. Without a
        # module somebody cleaned up in it.
        if _product(folder) is None:
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)
