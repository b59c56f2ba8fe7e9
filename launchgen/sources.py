"""KERNEL and the options around it: which files are read, and what one launcher is made from.

This is the only module that reads a user's input.  Text is read up to ``MOST_TEXT`` bytes; images
may have any size.
"""

from __future__ import annotations

import dataclasses
import hashlib
import stat
from pathlib import Path
from typing import Final, NoReturn

from msgspec import Struct

from launchgen.diagnostics import (
    Diagnostic,
    InputError,
    MetadataError,
    Source,
    UnsupportedError,
    UsageError,
)
from launchgen.metadata import (
    LaunchMetadata,
    Overrides,
    TritonMetadata,
    launch_metadata,
    read_metadata,
)
from launchgen.naming import CIdentifier, is_identifier
from launchgen.signature import Signature, parse
from launchgen.targets import Target

MOST_TEXT: Final = 16 * 2**20
"""Most bytes of a signature or of launch metadata; Triton's JSON has a few thousand."""

_METADATA_SUFFIX: Final = ".json"
_ELF: Final = b"\x7fELF"
_EXAMPLE: Final = '--signature "x_ptr: *fp32, n: i32, BLOCK: constexpr"'
# Beside a cache entry's metadata Triton keeps a list of the entry's files, of almost that name.
_GROUP: Final = "__grp__"
_MOST_LISTED: Final = 8


class InputFile(Struct, frozen=True):
    """A file whose content the output depends on."""

    path: Path
    """As the user gave it, or beside such a path."""
    name: str
    """Its last part, which is all of the path that output may mention."""
    sha256: str
    """Of its bytes, in lower-case hexadecimal digits."""


class Image(Struct, frozen=True):
    """A compiled kernel to embed."""

    data: bytes
    name: str
    """The file's name without folders."""
    sha256: str
    """Of ``data``, in lower-case hexadecimal digits."""


class KernelSource(Struct, frozen=True):
    """Everything that was read for one launcher."""

    name: CIdentifier
    """Prefix of what the launcher exports."""
    signature: Signature
    metadata: LaunchMetadata
    image: Image | None
    """None: the launcher takes a function handle."""
    inputs: tuple[InputFile, ...]
    """What was read, in this order: metadata, image, signature."""
    notes: tuple[str, ...]
    """What a user should know, for standard error."""


class _Chosen(Struct, frozen=True):
    """The files that KERNEL and the options come to; None: there is none."""

    metadata: Path | None
    image: Path | None


class _Content(Struct, frozen=True):
    file: InputFile
    data: bytes


def read_kernel(  # noqa: PLR0913 - one for each option that chooses input
    kernel: Path | None,
    *,
    signature_text: str | None,
    metadata: Path | None,
    images: tuple[Path, ...],
    no_image: bool,
    name: str | None,
    overrides: Overrides,
    target: Target,
) -> KernelSource:
    """Read what the command line names, and check that it is enough for a launcher.

    One file of launch metadata counts: ``metadata``, else the JSON beside an image given with
    ``--image``, else KERNEL.  ``signature_text`` is a signature, or ``@FILE``.

    Raises InputError for a file that cannot be read, UsageError for what is missing or
    contradicts itself, and whatever signature and metadata raise.
    """
    if kernel is None and signature_text is None:
        hint = f"launchgen emit NAME{_METADATA_SUFFIX} {_EXAMPLE}"
        raise UsageError(Diagnostic("neither KERNEL nor --signature is given", hint=hint))
    chosen = _choose(kernel, metadata, images, no_image=no_image, target=target)
    described = None if chosen.metadata is None else _read(chosen.metadata, MOST_TEXT)
    raw = None if described is None else read_metadata(_source(described))
    compiled = None if chosen.image is None else _read_image(chosen.image)
    nameless = overrides.entry is None and (raw is None or raw.name is None)
    if compiled is not None and nameless and not no_image:
        _refuse_nameless(compiled.file.path)
    launch = _launch_metadata(raw, described, overrides, target)
    text, written = _read_signature(signature_text)
    inputs = tuple(part.file for part in (described, compiled, written) if part is not None)
    image = None
    if compiled is not None and not no_image:
        image = Image(compiled.data, compiled.file.name, compiled.file.sha256)
    return KernelSource(
        name=_name(name, raw, overrides),
        signature=parse(text.text, name=text.name),
        metadata=launch,
        image=image,
        inputs=inputs,
        notes=_notes(launch),
    )


def _choose(
    kernel: Path | None,
    metadata: Path | None,
    images: tuple[Path, ...],
    *,
    no_image: bool,
    target: Target,
) -> _Chosen:
    if no_image and images:
        hint = "leave one of them out"
        raise UsageError(Diagnostic("--image and --no-image contradict each other", hint=hint))
    if metadata is not None:
        _refuse_group(metadata)
    described, own = _kernel_files(kernel, target)
    if no_image:
        # A bare image is still looked at: it is what the user means by KERNEL.
        return _Chosen(metadata or described, own if described is None else None)
    found = [own] if own is not None and (own == kernel or _mode(own)) else []
    found += [path for path in images if not any(_is_same(path, other) for other in found)]
    if len(found) > 1:
        shown = " and ".join(map(_shown, found))
        hint = "emit one launcher for each, with names of their own"
        problem = f"more than one image for one launcher is not possible yet: {shown}"
        raise UnsupportedError(Diagnostic(problem, hint=hint))
    if not found:
        if own is not None:
            _refuse_missing_image(own)
        return _Chosen(metadata or described, None)
    (image,) = found
    beside = image.with_suffix(_METADATA_SUFFIX)
    if image != own and stat.S_ISREG(_mode(beside)):
        described = beside
    return _Chosen(metadata or described, image)


def _kernel_files(kernel: Path | None, target: Target) -> tuple[Path | None, Path | None]:
    """Return KERNEL's metadata and image, as its suffix tells them; the image may be missing."""
    if kernel is None:
        return None, None
    _refuse_group(kernel)
    if stat.S_ISDIR(_mode(kernel)):
        names = _names(kernel, "", _METADATA_SUFFIX)
        hint = f"give a file in it: {names}" if names else "give the kernel's file"
        raise _input_error(kernel, "is a directory", hint)
    if kernel.suffix == _METADATA_SUFFIX:
        # Opened although --metadata may win: a file that is not there is a mistake.
        _read(kernel, 0)
        return kernel, kernel.with_suffix(target.image_suffix)
    if kernel.suffix == target.image_suffix:
        return None, kernel
    _read(kernel, 0)
    hint = f"KERNEL is NAME{_METADATA_SUFFIX} or NAME{target.image_suffix}"
    raise _input_error(kernel, f"a file called '*{kernel.suffix}' is no kernel", hint)


def _refuse_group(path: Path) -> None:
    if path.name.startswith(_GROUP):
        hint = f"give {path.name.removeprefix(_GROUP)}, which lies beside it"
        raise _input_error(path, "is Triton's list of a cache entry's files, no metadata", hint)


def _mode(path: Path) -> int:
    """Return what kind of file it is, 0 where there is none to be seen."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


def _refuse_missing_image(image: Path) -> NoReturn:
    names = _names(image.parent, f"{image.stem}.", "")
    raise _input_error(
        image,
        f"no such file, but the image is looked for beside the metadata; there is only {names}",
        "--image FILE names another, --no-image makes a launcher that takes a function handle",
    )


def _refuse_nameless(image: Path) -> NoReturn:
    hint = "--entry NAME says it, or --metadata FILE"
    beside = image.with_suffix(_METADATA_SUFFIX)
    if stat.S_ISREG(_mode(beside)):
        hint += f"; {_shown(beside)} lies beside it: give that as KERNEL"
    problem = "what the kernel in this image is called is not known"
    raise UsageError(Diagnostic(problem, source=Source(_shown(image), ""), hint=hint))


def _names(folder: Path, prefix: str, suffix: str) -> str:
    """Return the names of a folder's files of this form, for a message."""
    try:
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
    except OSError:
        return ""
    fitting = [
        name
        for name in names
        if name.startswith(prefix) and name.endswith(suffix) and not name.startswith(_GROUP)
    ]
    more = ", ..." if len(fitting) > _MOST_LISTED else ""
    return ", ".join(fitting[:_MOST_LISTED]) + more


def _launch_metadata(
    raw: TritonMetadata | None, described: _Content | None, overrides: Overrides, target: Target
) -> LaunchMetadata:
    """Return what the metadata comes to; its errors name the file."""
    try:
        return launch_metadata(raw, overrides, target=target)
    except (MetadataError, UnsupportedError) as error:
        if described is None:
            raise
        place = Source(_shown(described.file.path), "")
        found = [dataclasses.replace(each, source=place) for each in error.diagnostics]
        raise type(error)(*found) from None


def _read_signature(text: str | None) -> tuple[Source, _Content | None]:
    if text is None:
        raise UsageError(
            Diagnostic(
                "--signature is missing: reading it from the kernel's .ttir is not possible yet",
                hint=f"as in {_EXAMPLE}, or --signature @FILE",
            )
        )
    if not text.startswith("@"):
        return Source("--signature", text), None
    if text == "@":
        raise UsageError(
            Diagnostic("--signature @ lacks a file", hint="as in --signature @add.sig")
        )
    written = _read(Path(text[1:]), MOST_TEXT)
    return _source(written), written


def _name(name: str | None, raw: TritonMetadata | None, overrides: Overrides) -> CIdentifier:
    written = None if raw is None else raw.name
    found = next((each for each in (name, written, overrides.entry) if each is not None), None)
    if found is None:
        raise UsageError(
            Diagnostic(
                "what the launcher is called is not known",
                hint="--name NAME says it; NAME_launch is then its function",
            )
        )
    if not is_identifier(found):
        problem = f"{found!a} cannot be the launcher's name: it is no ASCII identifier"
        hint = "letters, digits and underscores, as in --name add"
        raise UsageError(Diagnostic(problem, hint=hint))
    return CIdentifier(found)


def _notes(launch: LaunchMetadata) -> tuple[str, ...]:
    if launch.triton_version is not None:
        return ()
    return ("no Triton version given: no hidden scratch slots; --triton-version adds them",)


def _read_image(path: Path) -> _Content:
    image = _read(path, None, magic=_ELF)
    if not image.data:
        raise _input_error(path, "is empty", "compile the kernel again")
    if not image.data.startswith(_ELF):
        raise _input_error(
            path,
            "is no compiled kernel: it does not begin as an ELF file does",
            "an image is what Triton or nvcc -cubin writes; PTX has to be assembled first",
        )
    return image


def _source(content: _Content) -> Source:
    try:
        # Some editors begin a file with a byte order mark.
        text = content.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"is no UTF-8 text: byte {error.start} is 0x{content.data[error.start]:02x}"
        raise _input_error(content.file.path, problem) from None
    return Source(_shown(content.file.path), text)


def _read(path: Path, most: int | None, *, magic: bytes = b"") -> _Content:
    """Return a file's bytes, and refuse one with more than ``most``; 0: only open it.

    Of a file that does not begin with ``magic`` no more than that is read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(len(magic))
            if data == magic and most != 0:
                data += file.read(-1 if most is None else most + 1)
    except IsADirectoryError:
        raise _input_error(path, "is a directory") from None
    except FileNotFoundError:
        raise _input_error(path, "no such file") from None
    except MemoryError:
        raise _input_error(path, "does not fit into memory") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise _input_error(path, f"cannot be read: {reason or error}") from None
    if most is not None and len(data) > most:
        raise _input_error(path, f"has more than {most // 2**20} MiB, which no such file needs")
    return _Content(InputFile(path, path.name, hashlib.sha256(data).hexdigest()), data)


def _input_error(path: Path, problem: str, hint: str | None = None) -> InputError:
    return InputError(Diagnostic(problem, source=Source(_shown(path), ""), hint=hint))


def _shown(path: Path) -> str:
    # A name need not be UTF-8, and then could not be printed.
    return str(path).encode("utf-8", "backslashreplace").decode()
