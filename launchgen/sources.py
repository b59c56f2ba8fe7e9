"""KERNEL and the options around it, read: what one launcher is made from, all of it in agreement.

The files are chosen in ``kernel_files.py`` and read in ``readings.py``; ``signatures.py`` decides
what the kernel is called with and compares it with everything else that is known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from launchgen.agreement import check_launch
from launchgen.architecture import Architecture
from launchgen.diagnostics import Diagnostic, UsageError
from launchgen.inputs import InputFile
from launchgen.kernel_files import METADATA_SUFFIX, choose_files
from launchgen.metadata import LaunchMetadata, Overrides
from launchgen.naming import CIdentifier, is_identifier
from launchgen.readings import Candidate, candidates, read_files
from launchgen.signature import Signature
from launchgen.signatures import (
    EXAMPLE,
    Found,
    compare_ir,
    given_signature,
    infer,
    settle,
)
from launchgen.targets import Target

_NO_OVERRIDES: Final = Overrides()


class Image(Struct, frozen=True):
    """A compiled kernel to embed."""

    data: bytes
    name: str
    """The file's name without folders."""
    sha256: str
    """Of ``data``, in lower-case hexadecimal digits."""
    architecture: Architecture
    """What it was compiled for."""


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
    origin: str
    """Where the signature is from, in words; empty where it was given."""
    variants: tuple[Variant, ...]
    """At least one, in the order in which their images were given."""
    inputs: tuple[InputFile, ...]
    """What was read, each once: metadata, image and IR of each variant, then the signature."""
    notes: tuple[str, ...]
    """What a user should know, for standard error."""


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
    """Read what the command line names, and check that all of it agrees.

    ``signature_text`` is a signature, or ``@FILE``; None: it is read from what lies beside the
    kernel.  ``images`` may hold several each; of all images the launcher picks one at run time.

    Raises InputError for a file that cannot be read, UsageError for what is missing or contradicts
    itself, MismatchError where signature, metadata, image and IR disagree, and whatever signature
    and metadata raise.
    """
    if kernel is None and signature_text is None and not images:
        hint = f"launchgen emit NAME{METADATA_SUFFIX}, or {EXAMPLE}"
        raise UsageError(Diagnostic("neither KERNEL nor --signature is given", hint=hint))
    files = choose_files(kernel, metadata=metadata, images=images, no_image=no_image, target=target)
    readings = [read_files(each) for each in files]
    # First of what a user writes: its mistakes are shown even where the metadata is incomplete.
    given, written = given_signature(signature_text)
    listed = [
        each for reading in readings for each in candidates(reading, overrides, target=target)
    ]
    found = infer(listed[0]) if given is None else given
    launches = [settle(candidate, found, target=target) for candidate in listed]
    for candidate, launch in zip(listed, launches, strict=True):
        if candidate.entry is not None:
            check_launch(launch, candidate.entry, place=candidate.reading.place)
    compared = [
        compare_ir(candidate, found, launch, target=target)
        for candidate, launch in zip(listed, launches, strict=True)
    ]
    variants = tuple(
        Variant(launch, None if no_image else _image(candidate))
        for candidate, launch in zip(listed, launches, strict=True)
    )
    parts = [part for reading in readings for part in reading.contents]
    return KernelSource(
        name=_name(name, listed[0], overrides),
        signature=found.signature,
        origin=found.origin,
        variants=variants[:1] if no_image else variants,
        inputs=tuple(dict.fromkeys(part.file for part in (*parts, *written))),
        notes=(*_notes(listed[0], launches[0], found, overrides), *filter(None, compared)),
    )


def _image(candidate: Candidate) -> Image | None:
    image, compiled = candidate.image, candidate.reading.compiled
    if image is None or compiled is None:
        return None
    is_whole = len(image.data) == len(compiled.data)
    sha256 = compiled.file.sha256 if is_whole else hashlib.sha256(image.data).hexdigest()
    return Image(image.data, compiled.file.name, sha256, image.facts.architecture)


def _name(name: str | None, candidate: Candidate, overrides: Overrides) -> CIdentifier:
    raw, entry = candidate.reading.raw, candidate.entry
    named = (
        name,
        None if raw is None else raw.name,
        overrides.entry,
        None if entry is None else entry.name,
    )
    found = next((each for each in named if each is not None), None)
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


def _notes(
    candidate: Candidate, launch: LaunchMetadata, found: Found, overrides: Overrides
) -> Iterator[str]:
    """Yield what nobody said and was taken for granted."""
    if found.is_guess:
        yield (
            "the signature is a guess: it has the sizes of the image's parameters, and neither "
            "names nor types; --signature says them"
        )
    if candidate.image is not None and candidate.reading.raw is None and overrides.shared is None:
        yield (
            "an image does not say how much dynamic shared memory a launch needs: none is taken; "
            "--shared says it"
        )
    if launch.triton_version is not None:
        return
    if candidate.entry is None and launch.hidden_scratch is None:
        yield (
            "no Triton version given: no hidden scratch slots; without them a kernel of Triton 3.3 "
            "or newer is launched wrong: --triton-version adds them"
        )
    elif candidate.entry is not None and launch.hidden_scratch:
        yield (
            f"no Triton version given: the image's last {launch.hidden_scratch} parameters are "
            "taken for scratch memory"
        )
