"""Extension modules loaded from their files, each once."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Final

from launchgen.locks import ForkableLock

_lock: Final = ForkableLock()
_loaded: Final[dict[Path, ModuleType]] = {}


def load_extension(path: Path, *, name: str) -> ModuleType:
    """Return the extension module in a file; ``sys.modules`` is left as it is."""
    with _lock:
        if path not in _loaded:
            loader = importlib.machinery.ExtensionFileLoader(name, str(path))
            spec = importlib.util.spec_from_file_location(name, path, loader=loader)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
            _loaded[path] = module
        return _loaded[path]
