"""Compiled templates between runs: with them a whole ``launchgen emit`` takes half the time.

Jinja's own cache unpickles and executes whatever lies in a file.  Here a file begins with the
SHA-256 of the rest, so that one cut short or damaged is none; who may write to the folder is
decided in ``caches.py``.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
from functools import lru_cache
from pathlib import Path
from typing import Final

import jinja2
import jinja2.bccache
import jinja2.compiler
import jinja2.lexer
import jinja2.parser

from launchgen import filters, rendering
from launchgen.atomic import temporary_path

# What a template is compiled with; Jinja itself notices when the template's text has changed.
_COMPILERS: Final = (
    *(jinja2.compiler.__file__, jinja2.lexer.__file__, jinja2.parser.__file__),
    *(rendering.__file__, filters.__file__, __file__),
)
_DIGEST: Final = hashlib.sha256().digest_size


class _CompiledTemplates(jinja2.BytecodeCache):
    """One file for each template; a folder that cannot be used is no error."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder
        self._key = key

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Fill the bucket if there is a whole file for it."""
        with contextlib.suppress(OSError):
            data = self._path(bucket).read_bytes()
            content = data[_DIGEST:]
            if hashlib.sha256(content).digest() == data[:_DIGEST]:
                bucket.bytecode_from_string(content)

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Write the bucket's file, whole or not at all."""
        content = bucket.bytecode_to_string()
        temporary = temporary_path(self._folder)
        with contextlib.suppress(OSError):
            try:
                temporary.write_bytes(hashlib.sha256(content).digest() + content)
                temporary.replace(self._path(bucket))
            finally:
                temporary.unlink(missing_ok=True)

    def _path(self, bucket: jinja2.bccache.Bucket) -> Path:
        return self._folder / f"template-{self._key}-{bucket.key}.bin"


@lru_cache(maxsize=4)
def compiled_templates(folder: Path) -> jinja2.BytecodeCache:
    """Return the cache in ``folder``, where nobody may write who could not change launchgen too."""
    digest = hashlib.sha256(sys.version.encode())
    for path in _COMPILERS:
        digest.update(Path(path).read_bytes())
    return _CompiledTemplates(folder, digest.hexdigest()[:20])
