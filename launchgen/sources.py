"""KERNEL and the options around it: which files are read, and what one launcher is made from."""

from __future__ import annotations

import dataclasses
import stat
from pathlib import Path
from typing import Final, NoReturn

from msgspec import Struct

from launchgen.architecture import Architecture
from launchgen.diagnostics import (
    Diagnostic,
    MetadataError,
    Source,
    UnsupportedError,
    UsageError,
)
from launchgen.inputs import (
    MOST_TEXT,
    Content,
    InputFile,
    as_text,
    file_mode,
    input_error,
    is_same,
    read_file,
    read_image,
    shown_path,
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

_METADATA_SUFFIX: Final = ".json"
_EXAMPLE: Final = '--signature "x_ptr: *fp32, n: i32, BLOCK: constexpr"'
# Beside a cache entry's metadata Triton keeps a list of the entry's files, of almost that name.
_GROUP: Final = "__grp__"
_MOST_LISTED: Final = 8
_NO_OVERRIDES: Final = Overrides()


class Image(Struct, frozen=True):
    """A compiled kernel to embed."""

    data: bytes
    name: str
    """The file's name without folders."""
    sha256: str
    """Of ``data``, in lower-case hexadecimal digits."""
    architecture: Architecture | None = None
    """What it was compiled for; None: not known, it is tried on any device."""


class Variant(Struct, frozen=True):
    """One way to launch the kernel: an image, and what every launch of it needs."""

    metadata: LaunchMetadata
    image: Image | None
    """None: the launcher takes a function handle, and there are no other variants."""


class KernelSource(Struct, frozen=True):
    """Everything that was read for one launcher."""

    name: CIdentifier
    """Prefix of what the launcher exports."""
    signature: Signature
    variants: tuple[Variant, ...]
    """At least one, in the order in which their images were given."""
    inputs: tuple[InputFile, ...]
    """What was read, each once: metadata and image of each variant, then the signature."""
    notes: tuple[str, ...]
    """What a user should know, for standard error."""


class _Chosen(Struct, frozen=True):
    """The files of one variant that KERNEL and the options come to; None: there is none."""

    metadata: Path | None
    image: Path | None


class _Read(Struct, frozen=True):
    """What was read from the files of one variant."""

    described: Content | None
    raw: TritonMetadata | None
    compiled: Content | None


def read_kernel(  # noqa: PLR0913 - one for each option that chooses input
    kernel: Path | None,
    *,
    signature_text: str | None,
    target: Target,
    metadata: Path | None = None,
    images: tuple[Path, ...] = (),
    no_image: bool = False,
    name: str | None = None,
    overrides: Overrides = _NO_OVERRIDES,
) -> KernelSource:
    """Read what the command line names, and check that it is enough for a launcher.

    For each image one file of launch metadata counts: ``metadata``, else the JSON beside an image
    given with ``--image``, else KERNEL.  ``signature_text`` is a signature, or ``@FILE``.

    Raises InputError for a file that cannot be read, UsageError for what is missing or
    contradicts itself, and whatever signature and metadata raise.
    """
    if kernel is None and signature_text is None:
        hint = f"launchgen emit NAME{_METADATA_SUFFIX} {_EXAMPLE}"
        raise UsageError(Diagnostic("neither KERNEL nor --signature is given", hint=hint))
    chosen = _choose(kernel, metadata, images, no_image=no_image, target=target)
    found = tuple(map(_read, chosen))
    for each in found:
        nameless = overrides.entry is None and (each.raw is None or each.raw.name is None)
        if each.compiled is not None and nameless and not no_image:
            _refuse_nameless(each.compiled.file.path)
    # First of what a user writes: its mistakes are shown even where the metadata is incomplete.
    text, written = _read_signature(signature_text)
    signature = parse(text.text, name=text.name)
    variants = tuple(
        Variant(launch, None if no_image else _image(each.compiled, launch, among=len(found)))
        for each in found
        for launch in (_launch_metadata(each.raw, each.described, overrides, target),)
    )
    parts = (part for each in found for part in (each.described, each.compiled))
    inputs = dict.fromkeys(part.file for part in (*parts, written) if part is not None)
    return KernelSource(
        name=_name(name, found[0].raw, overrides),
        signature=signature,
        variants=variants,
        inputs=tuple(inputs),
        notes=_notes(variants),
    )


def _read(chosen: _Chosen) -> _Read:
    described = None if chosen.metadata is None else read_file(chosen.metadata, MOST_TEXT)
    raw = None if described is None else read_metadata(as_text(described))
    return _Read(described, raw, None if chosen.image is None else read_image(chosen.image))


def _image(compiled: Content | None, launch: LaunchMetadata, *, among: int) -> Image | None:
    if compiled is None:
        return None
    # FIXME: the image itself says it, once there is a reader; a suffix is not in the metadata.
    capability = launch.capability if among > 1 else None
    architecture = None if capability is None else Architecture(capability)
    return Image(compiled.data, compiled.file.name, compiled.file.sha256, architecture)


def _choose(
    kernel: Path | None,
    metadata: Path | None,
    images: tuple[Path, ...],
    *,
    no_image: bool,
    target: Target,
) -> tuple[_Chosen, ...]:
    if no_image and images:
        hint = "leave one of them out"
        raise UsageError(Diagnostic("--image and --no-image contradict each other", hint=hint))
    if metadata is not None:
        _refuse_group(metadata)
    described, own = _kernel_files(kernel, target)
    if no_image:
        # A bare image is still looked at: it is what the user means by KERNEL.
        return (_Chosen(metadata or described, own if described is None else None),)
    found = [own] if own is not None and (own == kernel or file_mode(own)) else []
    found += [path for path in images if not any(is_same(path, other) for other in found)]
    if not found:
        if own is not None:
            _refuse_missing_image(own)
        return (_Chosen(metadata or described, None),)
    return tuple(_Chosen(metadata or _beside(path, own) or described, path) for path in found)


def _beside(image: Path, own: Path | None) -> Path | None:
    """Return the metadata beside an image that is not KERNEL's own, None where there is none."""
    beside = image.with_suffix(_METADATA_SUFFIX)
    return beside if image != own and stat.S_ISREG(file_mode(beside)) else None


def _kernel_files(kernel: Path | None, target: Target) -> tuple[Path | None, Path | None]:
    """Return KERNEL's metadata and image, as its suffix tells them; the image may be missing."""
    if kernel is None:
        return None, None
    _refuse_group(kernel)
    if stat.S_ISDIR(file_mode(kernel)):
        names = _names(kernel, "", _METADATA_SUFFIX)
        hint = f"give a file in it: {names}" if names else "give the kernel's file"
        raise input_error(kernel, "is a directory", hint)
    if kernel.suffix == _METADATA_SUFFIX:
        # Opened although --metadata may win: a file that is not there is a mistake.
        read_file(kernel, 0)
        return kernel, kernel.with_suffix(target.image_suffix)
    if kernel.suffix == target.image_suffix:
        return None, kernel
    read_file(kernel, 0)
    hint = f"KERNEL is NAME{_METADATA_SUFFIX} or NAME{target.image_suffix}"
    raise input_error(kernel, f"a file called '*{kernel.suffix}' is no kernel", hint)


def _refuse_group(path: Path) -> None:
    if path.name.startswith(_GROUP):
        hint = f"give {path.name.removeprefix(_GROUP)}, which lies beside it"
        raise input_error(path, "is Triton's list of a cache entry's files, no metadata", hint)


def _refuse_missing_image(image: Path) -> NoReturn:
    names = _names(image.parent, f"{image.stem}.", "")
    raise input_error(
        image,
        f"no such file, but the image is looked for beside the metadata; there is only {names}",
        "--image FILE names another, --no-image makes a launcher that takes a function handle",
    )


def _refuse_nameless(image: Path) -> NoReturn:
    hint = "--entry NAME says it, or --metadata FILE"
    beside = image.with_suffix(_METADATA_SUFFIX)
    if stat.S_ISREG(file_mode(beside)):
        hint += f"; {shown_path(beside)} lies beside it: give that as KERNEL"
    problem = "what the kernel in this image is called is not known"
    raise UsageError(Diagnostic(problem, source=Source(shown_path(image), ""), hint=hint))


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
    raw: TritonMetadata | None, described: Content | None, overrides: Overrides, target: Target
) -> LaunchMetadata:
    """Return what the metadata comes to; its errors name the file."""
    try:
        return launch_metadata(raw, overrides, target=target)
    except (MetadataError, UnsupportedError) as error:
        if described is None:
            raise
        place = Source(shown_path(described.file.path), "")
        found = [dataclasses.replace(each, source=place) for each in error.diagnostics]
        raise type(error)(*found) from None


def _read_signature(text: str | None) -> tuple[Source, Content | None]:
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
    written = read_file(Path(text[1:]), MOST_TEXT)
    return as_text(written), written


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


def _notes(variants: tuple[Variant, ...]) -> tuple[str, ...]:
    if all(variant.metadata.triton_version is not None for variant in variants):
        return ()
    return (
        "no Triton version given: no hidden scratch slots; without them a kernel of Triton 3.3 or "
        "newer is launched wrong: --triton-version adds them",
    )
