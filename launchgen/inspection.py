"""What an image says, beside what its signature says: the facts behind ``launchgen inspect``.

Nothing is refused here that can be shown: a disagreement is part of the answer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from launchgen.abi import Slot, slots
from launchgen.agreement import check_launch
from launchgen.architecture import Architecture
from launchgen.diagnostics import Diagnostic, LaunchgenError
from launchgen.image import Entry
from launchgen.images import CompiledImage
from launchgen.kernel_files import choose_files
from launchgen.metadata import Overrides
from launchgen.notation import Signature, unhinted_pointers
from launchgen.pairing import Row, pair
from launchgen.readings import (
    Candidate,
    Reading,
    check_architecture,
    choose_entry,
    launch,
    read_files,
)
from launchgen.signatures import Description, Found, compare, describe, infer, settle
from launchgen.targets import Target

_ANY_WARPS = 1


class InspectedKernel(Struct, frozen=True):
    """One entry of an image beside its signature."""

    entry: Entry
    signature: Signature
    origin: str
    """Where the signature is from, in words; empty where it was given."""
    is_guess: bool
    rows: tuple[Row, ...]
    problems: tuple[Diagnostic, ...]
    """Every disagreement."""
    unhinted: tuple[str, ...]
    """Pointers without a promise of alignment."""


class InspectedImage(Struct, frozen=True):
    """One image of a file."""

    architecture: Architecture
    kernels: tuple[InspectedKernel, ...]


class Inspection(Struct, frozen=True):
    """A file's images."""

    place: str
    """What the file is called."""
    images: tuple[InspectedImage, ...]
    notes: tuple[str, ...]
    """What could not be compared."""

    @property
    def agrees(self) -> bool:
        """Whether nothing disagrees."""
        kernels = (kernel for image in self.images for kernel in image.kernels)
        return not any(kernel.problems for kernel in kernels)


def inspect(
    path: Path, *, signature: Signature | None, entry: str | None, target: Target
) -> Inspection:
    """Return what a file's images hold, and how it goes with what lies beside them.

    ``entry`` chooses a kernel where an image has several; without it a given signature needs an
    image with one, and all are shown where there is none.

    Raises InputError for what cannot be read, UsageError and MismatchError for an entry that
    cannot be chosen, and what reading metadata and IR raises.
    """
    (files,) = choose_files(path, metadata=None, images=(), no_image=False, target=target)
    reading = read_files(files)
    overrides = Overrides(entry=entry)
    images = []
    notes: list[str] = []
    for image in reading.images:
        kernels = []
        for each in _entries(reading, image, overrides, is_given=signature is not None):
            candidate = _candidate(reading, image, each, target)
            kernel, further = _kernel(candidate, each, given=signature, target=target)
            kernels.append(kernel)
            notes += further
        images.append(InspectedImage(image.facts.architecture, tuple(kernels)))
    return Inspection(reading.place, tuple(images), tuple(dict.fromkeys(notes)))


def _entries(
    reading: Reading, image: CompiledImage, overrides: Overrides, *, is_given: bool
) -> tuple[Entry, ...]:
    is_named = overrides.entry is not None or (reading.raw is not None and reading.raw.name)
    if is_named or is_given:
        return (choose_entry(reading, image, overrides),)
    return image.facts.entries


def _candidate(reading: Reading, image: CompiledImage, entry: Entry, target: Target) -> Candidate:
    """Return the kernel; where nothing says how many warps it has, that is no reason to fail."""
    chosen = Overrides(entry=entry.name)
    if reading.raw is None or reading.raw.num_warps is None:
        chosen = Overrides(entry=entry.name, num_warps=_ANY_WARPS)
    metadata = launch(reading, chosen, (image, entry), target=target)
    return Candidate(reading, image, entry, metadata)


def _problems(check: Callable[[], object]) -> tuple[Diagnostic, ...]:
    """Return what a check refuses; nothing is where all can be shown."""
    try:
        check()
    except LaunchgenError as error:
        return error.diagnostics
    return ()


def _kernel(
    candidate: Candidate, entry: Entry, *, given: Signature | None, target: Target
) -> tuple[InspectedKernel, list[str]]:
    """Return the kernel, and notes on what could not be compared."""
    problems: list[Diagnostic] = []
    described: tuple[Description, ...] = ()
    found = None if given is None else Found(given, "")
    try:
        described = describe(candidate)
        found = found or infer(candidate, described)
    except LaunchgenError as error:
        problems += error.diagnostics
        found = found or infer(candidate, ())
    metadata = candidate.metadata
    if found.is_guess:
        metadata = replace(metadata, tensor_descriptors=())
    notes: list[str] = []
    listed: tuple[Slot, ...] = ()
    try:
        metadata = settle(candidate, found, target=target)
        notes += compare(found, described, metadata, target=target)
    except LaunchgenError as error:
        problems += error.diagnostics
    with contextlib.suppress(LaunchgenError):  # one of the problems already
        listed = slots(found.signature, metadata, target=target)
    reading, image = candidate.reading, candidate.image
    if image is not None:
        problems += _problems(lambda: check_architecture(reading, image))
    if reading.raw is not None and reading.raw.num_warps is not None:
        problems += _problems(lambda: check_launch(metadata, entry, place=reading.place))
    kernel = InspectedKernel(
        entry=entry,
        signature=found.signature,
        origin=found.origin,
        is_guess=found.is_guess,
        rows=pair(listed, entry.parameters),
        problems=tuple(problems),
        unhinted=unhinted_pointers(found.signature),
    )
    return kernel, notes
