"""KERNEL and the options around it, to paths: which files each image's launch is read from.

Beside a compiled kernel Triton leaves its launch metadata and its IR, under the same name:

    add.json  add.cubin  add.ttir  add.ptx
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final, NoReturn

from msgspec import Struct

from launchgen.diagnostics import Diagnostic, UsageError, listed
from launchgen.inputs import file_mode, input_error, is_same, read_file, shown_path
from launchgen.limits import MOST_IMAGES
from launchgen.targets import Target

METADATA_SUFFIX: Final = ".json"
_DESCRIBED: Final = (METADATA_SUFFIX, ".launch_metadata")
"""Launch metadata: Triton's own, and what Meta's Triton leaves as well."""
_IR: Final = (".ttir", ".ttgir")
"""Triton's IR; Gluon's kernels have the second."""
# Beside a cache entry's metadata Triton keeps a list of the entry's files, of almost that name.
_GROUP: Final = "__grp__"


class KernelFiles(Struct, frozen=True):
    """Where one launch is read from; None: there is no such file."""

    metadata: Path | None
    image: Path | None
    """A file with one image or several."""
    ir: Path | None
    is_entry: bool = False
    """Whether the metadata is the image's own: it lies beside it, under the same name."""


def choose_files(
    kernel: Path | None,
    *,
    metadata: Path | None,
    images: tuple[Path, ...],
    no_image: bool,
    target: Target,
) -> tuple[KernelFiles, ...]:
    """Return the files of each image that is given, or of the one launch without an image.

    ``metadata`` wins over what lies beside an image, which wins over KERNEL's.

    Raises InputError for a file that is not there, UsageError for options that contradict each
    other.
    """
    if no_image and images:
        hint = "leave one of them out"
        raise UsageError(Diagnostic("--image and --no-image contradict each other", hint=hint))
    if len(images) > MOST_IMAGES:
        problem = f"--image is given {len(images):,} times: a launcher has at most {MOST_IMAGES}"
        hint = "emit several launchers, with names of their own"
        raise UsageError(Diagnostic(problem, hint=hint))
    if metadata is not None:
        _refuse_group(metadata)
    own = _kernel_files(kernel, target)
    found = [own.image] if own.image is not None and _is_there(own.image, kernel) else []
    for path in images:
        if not any(is_same(path, other) for other in found):
            found.append(path)
    if not found:
        if own.image is not None and not no_image:
            _refuse_missing_image(own.image)
        return (KernelFiles(metadata or own.metadata, None, own.ir),)
    return tuple(
        KernelFiles(metadata or own.metadata, path, own.ir, metadata is None)
        if path == own.image
        else _image_files(path, own, metadata)
        for path in found
    )


def _image_files(image: Path, own: KernelFiles, metadata: Path | None) -> KernelFiles:
    """Return the files of an image that an option names.

    One without metadata of its own is KERNEL's, IR included.
    """
    beside, ir = _beside(image, _DESCRIBED), _beside(image, _IR)
    if beside is None and ir is None:
        ir = own.ir
    is_entry = metadata is None and beside is not None
    return KernelFiles(metadata or beside or own.metadata, image, ir, is_entry)


def _is_there(image: Path, kernel: Path | None) -> bool:
    # An image that KERNEL names is opened whether it is there or not, which says what is wrong.
    return image == kernel or file_mode(image) != 0


def _kernel_files(kernel: Path | None, target: Target) -> KernelFiles:
    """Return KERNEL's files, as its suffix tells them; the image may be missing."""
    if kernel is None:
        return KernelFiles(None, None, None)
    _refuse_group(kernel)
    if stat.S_ISDIR(file_mode(kernel)):
        names = _names(kernel, "", METADATA_SUFFIX)
        hint = f"give a file in it: {names}" if names else "give the kernel's file"
        raise input_error(kernel, "is a directory", hint)
    ir = _beside(kernel, _IR)
    if kernel.suffix in _DESCRIBED:
        # Looked for although --metadata may win: a file that is not there is a mistake.
        _require(kernel)
        return KernelFiles(kernel, kernel.with_suffix(target.image_suffix), ir)
    if kernel.suffix in target.image_suffixes:
        return KernelFiles(_beside(kernel, _DESCRIBED), kernel, ir)
    _require(kernel)
    suffixes = [*_DESCRIBED, *target.image_suffixes]
    hint = f"KERNEL is {', '.join(f'NAME{suffix}' for suffix in suffixes)}"
    problem = f"a file called '*{kernel.suffix}' is no kernel"
    if not kernel.suffix:
        problem = "a file whose name has no ending is no kernel"
    raise input_error(kernel, problem, hint)


def _require(path: Path) -> None:
    # A pipe is not opened before it is read.
    if not file_mode(path):
        read_file(path, 0)


def _beside(path: Path, suffixes: tuple[str, ...]) -> Path | None:
    """Return the file of the same name with the first of ``suffixes`` that there is."""
    for suffix in suffixes if path.name else ():  # a root has none
        beside = path.with_suffix(suffix)
        if beside != path and stat.S_ISREG(file_mode(beside)):
            return beside
    return None


def _refuse_group(path: Path) -> None:
    if path.name.startswith(_GROUP):
        hint = f"give {path.name.removeprefix(_GROUP)}, which lies beside it"
        raise input_error(path, "is Triton's list of a cache entry's files, no metadata", hint)


def _refuse_missing_image(image: Path) -> NoReturn:
    names = _names(image.parent, f"{image.stem}.", "") or "nothing of that name"
    raise input_error(
        image,
        f"no such file, but the image is looked for beside the metadata; there is only {names}",
        "with emit, --image FILE names another, and --no-image makes a launcher that takes a "
        "function handle",
    )


def _names(folder: Path, prefix: str, suffix: str) -> str:
    """Return the names of a folder's files of this form, for a message."""
    try:
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
    except OSError:
        return ""
    fitting = [
        shown_path(Path(name))
        for name in names
        if name.startswith(prefix) and name.endswith(suffix) and not name.startswith(_GROUP)
    ]
    return listed(fitting, str)
