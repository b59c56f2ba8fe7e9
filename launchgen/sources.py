"""KERNEL and the options around it, read: what one launcher is made from, all of it in agreement.

The files are chosen in ``kernel_files.py`` and read in ``readings.py``; ``signatures.py`` decides
what the kernel is called with and compares it with everything else that is known.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec.structs
from msgspec import Struct

from launchgen.agreement import check_launch
from launchgen.architecture import Architecture, capability_text
from launchgen.diagnostics import Diagnostic, UsageError, shortened
from launchgen.inputs import InputFile
from launchgen.kernel_files import METADATA_SUFFIX, KernelFiles, choose_files
from launchgen.limits import MOST_FATBIN, MOST_IMAGES, MOST_NAME, size_text
from launchgen.metadata import LaunchMetadata, Overrides
from launchgen.naming import CIdentifier, is_identifier
from launchgen.readings import (
    Candidate,
    Reading,
    candidates,
    is_cluster_compiled,
    read_files,
    written_capability,
)
from launchgen.signature import Signature
from launchgen.signatures import (
    EXAMPLE,
    Description,
    Found,
    compare,
    compare_hints,
    describe,
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
    readings = list(_readings(files))
    # First of what a user writes: its mistakes are shown even where the metadata is incomplete.
    given, written = given_signature(signature_text)
    listed = [
        each for reading in readings for each in candidates(reading, overrides, target=target)
    ]
    agreed = _agree(listed, given, target)
    if no_image:
        variants: tuple[Variant, ...] = (Variant(_only_launch(agreed.settled), None),)
    else:
        variants = tuple(Variant(launch, _image(each)) for each, launch in agreed.settled)
    parts = [part for reading in readings for part in reading.contents]
    inputs = tuple(dict.fromkeys(part.file for part in (*parts, *written)))
    notes = (*_notes(agreed, overrides), *agreed.notes, *_ambiguous(inputs))
    return KernelSource(
        name=_name(name, listed[0], overrides),
        signature=agreed.found.signature,
        origin=agreed.found.origin,
        variants=variants,
        inputs=inputs,
        notes=tuple(dict.fromkeys(notes)),
    )


def _readings(files: tuple[KernelFiles, ...]) -> Iterator[Reading]:
    """Read the files of each image, as many images as a launcher may have."""
    count = size = 0
    for each in files:
        reading = read_files(each)
        count += len(reading.images)
        size += sum(len(image.data) for image in reading.images)
        if count > MOST_IMAGES or size > MOST_FATBIN:
            most = f"{MOST_IMAGES} of {size_text(MOST_FATBIN)} together"
            problem = f"there are {count} images of {size:,} bytes: a launcher has at most {most}"
            hint = "emit several launchers, with names of their own"
            raise UsageError(Diagnostic(problem, hint=hint))
        yield reading


class _Agreed(NamedTuple):
    """Kernels, and the signature that all that is known of them agrees with."""

    found: Found
    settled: tuple[tuple[Candidate, LaunchMetadata], ...]
    notes: list[str]
    """What could not be compared."""


def _agree(listed: list[Candidate], given: Found | None, target: Target) -> _Agreed:
    """Compare everything with everything; without a given signature it is inferred first."""
    described = [describe(candidate) for candidate in listed]
    found = infer(*_best_described(listed, described)) if given is None else given
    launches = [settle(candidate, found, target=target) for candidate in listed]
    notes: list[str] = []
    for candidate, descriptions, launch in zip(listed, described, launches, strict=True):
        place = candidate.reading.place
        if candidate.entry is not None:
            check_launch(launch, candidate.entry, place=place)
        notes += compare(found, descriptions, launch, target=target)
        if given is None and not found.is_guess and not descriptions:
            notes.append(
                f"{place}: nothing beside it says its types and hints; they are taken "
                f"{found.origin}"
            )
    places = (candidate.reading.place for candidate in listed)
    compare_hints(list(zip(places, described, strict=True)))
    return _Agreed(found, tuple(zip(listed, launches, strict=True)), notes)


def _best_described(
    listed: list[Candidate], described: list[tuple[Description, ...]]
) -> tuple[Candidate, tuple[Description, ...]]:
    """Return the first kernel whose files say what it is called with, else the first of all."""
    pairs = list(zip(listed, described, strict=True))
    return next((pair for pair in pairs if pair[1]), pairs[0])


def _only_launch(settled: tuple[tuple[Candidate, LaunchMetadata], ...]) -> LaunchMetadata:
    """Return the one launch of a handle, which does not say of which image it is."""
    (first, launch), *others = settled
    for other, another in others:
        if msgspec.structs.replace(another, capability=launch.capability) != launch:
            names = f"{_shown(first)} and {_shown(other)}"
            problem = f"{names} need different launches, and a handle does not say which it is of"
            raise UsageError(Diagnostic(problem, hint="give one of them"))
    return launch


def _shown(candidate: Candidate) -> str:
    architecture = "" if candidate.image is None else f" ({candidate.image.facts.architecture})"
    return f"{candidate.reading.place}{architecture}"


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
        problem = f"{shortened(found)!a} cannot be the launcher's name: it is no ASCII identifier"
        hint = "letters, digits and underscores, as in --name add"
        raise UsageError(Diagnostic(problem, hint=hint))
    if len(found) > MOST_NAME:
        length = f"it has {len(found):,} characters"
        problem = f"{shortened(found)!a} cannot be the launcher's name: {length}"
        hint = f"files are called so: at most {MOST_NAME}, as in --name add"
        raise UsageError(Diagnostic(problem, hint=hint))
    return CIdentifier(found)


def _notes(agreed: _Agreed, overrides: Overrides) -> Iterator[str]:
    """Yield what nobody said and was taken for granted."""
    if agreed.found.is_guess:
        yield (
            "the signature is a guess: it has the sizes of the image's parameters, and neither "
            "names nor types; --signature says them"
        )
    entries = dict.fromkeys(
        launch.entry for _, launch in agreed.settled if launch.entry is not None
    )
    if len(entries) > 1:
        yield f"the images' kernels have different names: {', '.join(entries)}"
    for candidate, launch in agreed.settled:
        yield from _launch_notes(candidate, launch, overrides)


def _launch_notes(
    candidate: Candidate, launch: LaunchMetadata, overrides: Overrides
) -> Iterator[str]:
    raw, place = candidate.reading.raw, candidate.reading.place
    written = written_capability(candidate.reading)
    if candidate.image is not None:
        architecture = candidate.image.facts.architecture
        if overrides.shared is None and (raw is None or raw.shared is None):
            yield (
                f"{place}: an image does not say how much dynamic shared memory a launch needs: "
                "none is taken; --shared says it"
            )
        if written not in (None, architecture.capability):
            yield (
                f"{place} is compiled for {architecture}, and is launched as metadata for "
                f"capability {capability_text(written or 0)} says"
            )
        if launch.cluster_size > 1 and is_cluster_compiled(candidate.reading, overrides):
            yield (
                f"{place}: the cluster is the image's; the grid counts blocks, as nothing says "
                "otherwise: --num-ctas does"
            )
    if launch.triton_version is not None:
        return
    if candidate.entry is None and launch.hidden_scratch is None:
        yield (
            "no Triton version given: no hidden scratch slots; without them a kernel of Triton 3.3 "
            "or newer is launched wrong: --triton-version adds them"
        )
    elif candidate.entry is not None and launch.hidden_scratch:
        last = "parameter is" if launch.hidden_scratch == 1 else "two parameters are"
        yield f"{place}: no Triton version given: the last {last} taken for scratch memory"


def _ambiguous(inputs: tuple[InputFile, ...]) -> Iterator[str]:
    """Yield names that the banner's command cannot tell apart."""
    times = Counter(file.name for file in inputs)
    twice = [name for name, count in times.items() if count > 1]
    if twice:
        yield (
            f"several inputs are called {' or '.join(twice)}: the banner has names without "
            "folders, and its command cannot tell them apart"
        )
