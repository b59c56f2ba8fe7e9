"""Files that are all replaced or none, whatever goes wrong in between.

Everything is first written to temporary files in the folders where it belongs, then renamed: a
reader sees an old file or a new one, and processes that write the same folder at once end with
whole files.  A symbolic link in a file's place is replaced, never written through, so that nothing
outside the folder changes; the folder itself may be a link.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from launchgen.diagnostics import Diagnostic, OutputError

_TEMPORARY: Final = ".launchgen-"


class NewFile(Struct, frozen=True):
    """What shall stand at ``path``."""

    path: Path
    content: bytes
    executable: bool = False


def os_failure(action: str, path: Path, error: OSError) -> OutputError:
    """Return the error that says what could not be done with ``path``, and why."""
    return OutputError(Diagnostic(f"cannot {action} '{path}': {error.strerror or error}"))


def temporary_path(folder: Path) -> Path:
    """Return an unused path in ``folder``, for something that is renamed when it is whole."""
    return folder / f"{_TEMPORARY}{os.urandom(8).hex()}.tmp"


def replace_all(items: Sequence[NewFile]) -> None:
    """Write every item or none; missing folders are made.

    The renames are in the order of the items.  Raises ``OutputError``; then, and after an
    interrupt, files and folders are as before.
    """
    temporaries: list[Path] = []
    folders: list[Path] = []
    try:
        for item in items:
            _make_folder(item.path.parent, folders)
        staged = [(_stage(item, temporaries), item.path) for item in items]
        with _signals_held():
            _commit(staged, temporaries)
            folders.clear()
    finally:
        with _signals_held():
            for path in (*temporaries, *reversed(folders)):
                # What is left in a folder is another process's, and so is the folder then.
                with contextlib.suppress(OSError):
                    path.rmdir() if path in folders else path.unlink()


def _make_folder(folder: Path, made: list[Path]) -> None:
    missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
    try:
        for path in reversed(missing):
            made.append(path)
            path.mkdir(exist_ok=True)
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    except OSError as error:
        raise os_failure("make the folder", folder, error) from error


def _noted(path: Path, temporaries: list[Path]) -> Path:
    """Note a path before the file exists, so that none is ever forgotten."""
    temporaries.append(path)
    return path


def _stage(item: NewFile, temporaries: list[Path]) -> Path:
    path = _noted(temporary_path(item.path.parent), temporaries)
    try:
        # The kernel takes the umask off these bits, as for a compiler's output.
        mode = 0o777 if item.executable else 0o666
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, no path
            file.write(item.content)
    except OSError as error:
        raise os_failure("write", item.path, error) from error
    return path


def _commit(staged: Sequence[tuple[Path, Path]], temporaries: list[Path]) -> None:
    """Rename in order; if one rename fails, put back what the earlier ones replaced."""
    done: list[tuple[Path, Path | None]] = []
    for temporary, path in staged:
        try:
            backup = _backup(path, temporaries)
            temporary.replace(path)
        except OSError as error:
            for replaced, old in reversed(done):
                with contextlib.suppress(OSError):
                    replaced.unlink() if old is None else old.replace(replaced)
            raise os_failure("write", path, error) from error
        done.append((path, backup))


def _backup(path: Path, temporaries: list[Path]) -> Path | None:
    """Return a second name of the file at ``path``, or None where there is none."""
    backup = _noted(temporary_path(path.parent), temporaries)
    with contextlib.suppress(FileNotFoundError):
        try:
            os.link(path, backup, follow_symlinks=False)
        except OSError:  # no such file, or a file system without hard links
            shutil.copy2(path, backup, follow_symlinks=False)
        return backup
    return None


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Let an interrupt wait until the block is done.

    Handlers are exchanged, and no mask is set: with other threads about, a masked signal would
    only be taken by one of them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    old = {
        number: signal.signal(number, lambda number, _: arrived.append(number))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        # None: whoever embeds the interpreter handles it, which could not be put back.
        if signal.getsignal(number) is not None
    }
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
        for late in arrived:
            signal.raise_signal(late)
