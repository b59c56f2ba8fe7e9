"""Reads a user's files, for which this is the only module, and says what is wrong with one.

How much of each kind is read stands in ``limits.py``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from launchgen import formats
from launchgen.diagnostics import Diagnostic, InputError, Source, printable
from launchgen.limits import MOST_FATBIN, MOST_IMAGE, MOST_TEXT, size_text

_MAGIC_BYTES: Final = 4
_NONE_LARGER: Final[Mapping[bytes, int]] = MappingProxyType({})


class InputFile(Struct, frozen=True):
    """A file whose content the output depends on."""

    path: Path
    """As the user gave it, or beside such a path."""
    name: str
    """Its last part, which is all of the path that output may mention."""
    sha256: str
    """Of its bytes, in lower-case hexadecimal digits."""


class Content(Struct, frozen=True):
    """A file and the bytes that were read from it."""

    file: InputFile
    data: bytes


def read_image(path: Path) -> Content:
    """Return a file with compiled kernels: as many bytes as its kind has, text fewest.

    Raises InputError for a file that is empty or cannot be read.
    """
    larger = {formats.CUBIN: MOST_IMAGE, formats.FATBIN: MOST_FATBIN}
    image = read_file(path, MOST_TEXT, larger=larger)
    if not image.data:
        raise input_error(path, "is empty", "compile the kernel again")
    return image


def as_text(content: Content) -> Source:
    """Return the text of a file; raises InputError where it is not UTF-8."""
    try:
        # Some editors begin a file with a byte order mark.
        text = content.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"is no UTF-8 text: byte {error.start} is 0x{content.data[error.start]:02x}"
        raise input_error(content.file.path, problem) from None
    return Source(shown_path(content.file.path), text)


def read_file(path: Path, most: int, *, larger: Mapping[bytes, int] = _NONE_LARGER) -> Content:
    """Return a file's bytes, and refuse one with more than ``most``; 0: only open it.

    One that begins with four bytes of ``larger`` may have so many.  Raises InputError.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAGIC_BYTES) if most else b""
            most = larger.get(data, most)
            # One that says how large it is need not be read to be refused.
            size = os.fstat(file.fileno()).st_size
            if most and size <= most:
                data += file.read(most + 1 - len(data))
    except IsADirectoryError:
        raise input_error(path, "is a directory") from None
    except FileNotFoundError:
        raise input_error(path, "no such file") from None
    except MemoryError:
        raise input_error(path, "does not fit into memory") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise input_error(path, f"cannot be read: {reason or error}") from None
    if most and max(size, len(data)) > most:
        raise input_error(path, f"has more than {size_text(most)}, which no such file needs")
    return Content(InputFile(path, path.name, hashlib.sha256(data).hexdigest()), data)


def input_error(path: Path, problem: str, hint: str | None = None) -> InputError:
    """Return the error that says what is wrong with a file."""
    return InputError(Diagnostic(problem, source=Source(shown_path(path), ""), hint=hint))


def shown_path(path: Path) -> str:
    """Return a path as a message can have it."""
    # A name need not be UTF-8, and then could not be printed.
    return printable(str(path))


def file_mode(path: Path) -> int:
    """Return what kind of file it is, 0 where there is none to be seen."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def is_same(path: Path, other: Path) -> bool:
    """Return whether both are the same file, which is there."""
    try:
        return path.samefile(other)
    except OSError:
        return False
