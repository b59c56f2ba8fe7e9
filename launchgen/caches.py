"""Folders for what is kept between runs and executed then, so that nobody else may write there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_NAME: Final = "launchgen"
_OTHERS_WRITE: Final = 0o022


def cache_folder() -> Path | None:
    """Return launchgen's folder among the user's caches, made if need be.

    None where there is no home, or the folder is not :func:`private_folder`.
    """
    caches = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # The standard has relative paths ignored.
        base = Path(caches) if os.path.isabs(caches) else Path.home() / ".cache"  # noqa: PTH117
    except RuntimeError:
        return None
    return private_folder(base / _NAME)


def private_folder(folder: Path) -> Path | None:
    """Return ``folder``, made if need be; None unless this user can write there and no other."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
    except OSError:
        return None
    is_ours = state.st_uid == os.getuid() and not state.st_mode & _OTHERS_WRITE
    return folder if is_ours and os.access(folder, os.W_OK | os.X_OK) else None
