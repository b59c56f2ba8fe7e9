"""Compiles the recording driver, once for each variant, into the user's cache.

A variant is a set of symbols that it lacks and a sanitizer.  ``dlsym`` cannot be told to hide a
symbol, so a driver that is too old for an entry point is a library of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from launchgen import caches
from launchgen.diagnostics import BuildError, Diagnostic, did_you_mean
from launchgen.testing._sanitizers import Sanitizer
from launchgen.toolchain import find_compiler, run

LIBRARY: Final = "libcuda.so.1"
"""File name, and the name by which the dynamic loader knows it."""

SOURCES: Final = Path(__file__).with_name("driver")

_FLAGS: Final = (
    f"-std=c11 -D_GNU_SOURCE -O2 -g -fPIC -shared -pthread -Wall -Wextra -Wl,-soname,{LIBRARY}"
)
_SANITIZED: Final[Mapping[Sanitizer, tuple[str, ...]]] = {
    "address": ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "thread": ("-O1", "-fsanitize=thread"),
}
_ENTRY: Final = re.compile(r"^LGR_ENTRY\((\w+), (\w+), (\d+)\)$", re.MULTILINE)
_CONTROL: Final = "lgr_control_*"


@dataclass(frozen=True, slots=True)
class _Variant:
    missing: tuple[str, ...]
    sanitize: Sanitizer | None


@cache
def entry_points() -> Mapping[str, int]:
    """Return the CUDA version that first had each symbol that the driver plays (12040 is 12.4)."""
    text = (SOURCES / "entry_points.h").read_text(encoding="ascii")
    return MappingProxyType({symbol: int(since) for symbol, _, since in _ENTRY.findall(text)})


def symbols_newer_than(driver_version: int) -> tuple[str, ...]:
    """Return the symbols that a driver of ``driver_version`` (12040 is CUDA 12.4) lacks."""
    return tuple(symbol for symbol, since in entry_points().items() if since > driver_version)


def check_symbol(name: str) -> None:
    """Raise ``ValueError`` where the driver plays no such symbol."""
    if name not in entry_points():
        hint = did_you_mean(name, entry_points())
        raise ValueError(
            f"the recording driver has no entry point {name!r}" + (f"; {hint}" if hint else "")
        )


def build(*, missing: Iterable[str] = (), sanitize: Sanitizer | None = None) -> Path:
    """Return the folder that holds a ``libcuda.so.1`` without the symbols ``missing``.

    Compiled where no process has yet.  Raises ``ValueError`` for a symbol that is none, and
    ``BuildError`` where there is no C compiler or it fails.
    """
    variant = _Variant(tuple(sorted(set(missing))), sanitize)
    for symbol in variant.missing:
        check_symbol(symbol)
    # nvcc would only hand all this on to the host's compiler.
    compiler = find_compiler(os.environ)
    if compiler.is_nvcc:
        compiler = find_compiler({key: os.environ[key] for key in os.environ if key != "CC"})
    command = (*compiler.words, *shlex.split(_FLAGS), *_variant_flags(variant))
    folder = _cache_folder() / f"recording-driver-{_key(command)}"
    if not (folder / LIBRARY).is_file():
        _compile(folder, command, variant)
    return folder


def _variant_flags(variant: _Variant) -> Iterator[str]:
    yield f'-DLGR_MISSING=",{",".join(variant.missing)},"'
    # A sanitizer's own functions are the program's, not the library's.
    yield from ("-Wl,-z,defs",) if variant.sanitize is None else _SANITIZED[variant.sanitize]


def _key(command: tuple[str, ...]) -> str:
    compiler = Path(command[0]).resolve()
    state = compiler.stat()
    digest = hashlib.sha256(repr((command, str(compiler), state.st_mtime_ns)).encode())
    for source in sorted(SOURCES.iterdir()):
        digest.update(f"{source.name}\0".encode() + source.read_bytes())
    return digest.hexdigest()[:20]


def _cache_folder() -> Path:
    """Return the folder among the user's caches, or another one of this user's."""
    folder = caches.cache_folder()
    if folder is not None:
        return folder
    # Others may write to the folder of temporary files, so ours is none that they made.
    path = Path(tempfile.gettempdir()) / f"launchgen-{os.getuid()}"
    folder = None if path.is_symlink() else caches.private_folder(path)
    if folder is None:
        raise BuildError(
            Diagnostic(
                f"'{path}' belongs to somebody else",
                hint="set XDG_CACHE_HOME to a folder of yours",
            )
        )
    return folder


def _compile(folder: Path, command: tuple[str, ...], variant: _Variant) -> None:
    """Fill ``folder`` under another name, then rename: of several processes the first one wins."""
    work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        exported = [name for name in entry_points() if name not in variant.missing]
        script = work / "exported.map"
        script.write_text(
            "{ global: " + "; ".join([*exported, _CONTROL]) + "; local: *; };\n", encoding="ascii"
        )
        sources = [str(path) for path in sorted(SOURCES.glob("*.c"))]
        done = run(
            [*command, f"-Wl,--version-script={script}", "-o", str(work / LIBRARY), *sources]
        )
        if done.returncode != 0:
            raise BuildError(
                Diagnostic(
                    f"cannot compile the recording driver: {Path(command[0]).name} failed with "
                    f"status {done.returncode}\n{done.stdout.rstrip()}"
                )
            )
        work.chmod(0o755)
        try:
            work.rename(folder)
        except OSError:
            if not (folder / LIBRARY).is_file():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
