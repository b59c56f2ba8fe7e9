"""The files of one launch, read: images and their entries, launch metadata, Triton's IR."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from launchgen.abi import MOST_HIDDEN
from launchgen.architecture import capability_text
from launchgen.diagnostics import (
    Diagnostic,
    ImageError,
    LaunchgenError,
    MetadataError,
    MismatchError,
    Source,
    UnsupportedError,
    UsageError,
    did_you_mean,
    listed,
    shortened,
)
from launchgen.image import Entry
from launchgen.images import CompiledImage, read_images
from launchgen.inputs import Content, as_text, read_file, read_image, shown_path
from launchgen.kernel_files import KernelFiles
from launchgen.limits import MOST_TEXT
from launchgen.metadata import (
    LaunchMetadata,
    Overrides,
    TritonMetadata,
    entry_name,
    launch_metadata,
    read_metadata,
)
from launchgen.targets import Target

if TYPE_CHECKING:
    from launchgen.level0 import Level0


class Reading(Struct, frozen=True):
    """What the files of one launch say; None and empty: there is no such file."""

    files: KernelFiles
    contents: tuple[Content, ...]
    """What was read, in this order: metadata, image, IR."""
    described: Source | None
    raw: TritonMetadata | None
    level0: Level0 | None
    """The metadata where it is Meta's, which describes the arguments as well."""
    compiled: Content | None
    images: tuple[CompiledImage, ...]
    ir: Source | None

    @property
    def place(self) -> str:
        """What messages call the image."""
        return "" if self.compiled is None else shown_path(self.compiled.file.path)


class Candidate(Struct, frozen=True):
    """A kernel, and the launch that its files describe; no signature has been looked at yet."""

    reading: Reading
    image: CompiledImage | None
    entry: Entry | None
    """The kernel in the image; None without one."""
    metadata: LaunchMetadata


def read_files(files: KernelFiles) -> Reading:
    """Read and decode what there is.

    Raises InputError for what cannot be read, ImageError for a file that holds no image.
    """
    described = None if files.metadata is None else read_file(files.metadata, MOST_TEXT)
    compiled = None if files.image is None else read_image(files.image)
    written = None if files.ir is None else read_file(files.ir, MOST_TEXT)
    text = None if described is None else as_text(described)
    raw, level0 = (None, None) if text is None else _metadata(text)
    return Reading(
        files=files,
        contents=tuple(part for part in (described, compiled, written) if part is not None),
        described=text,
        raw=raw,
        level0=level0,
        compiled=compiled,
        images=() if compiled is None else _images(compiled),
        ir=None if written is None else as_text(written),
    )


def _metadata(text: Source) -> tuple[TritonMetadata, Level0 | None]:
    raw = read_metadata(text)
    if raw == TritonMetadata():
        problem = "holds no field of launch metadata"
        hint = "give the JSON that Triton writes beside a compiled kernel"
        raise MetadataError(Diagnostic(problem, source=Source(text.name, ""), hint=hint))
    if raw.abi_version is None and raw.entry_name is None:
        return raw, None
    from launchgen.level0 import as_triton_metadata, read_level0  # noqa: PLC0415 - seldom needed

    level0 = read_level0(text)
    return as_triton_metadata(level0), level0


def _images(content: Content) -> tuple[CompiledImage, ...]:
    place = Source(shown_path(content.file.path), "")
    try:
        found = read_images(content.data)
    except ImageError as error:
        raise _placed(error, place) from None
    if not found:
        raise ImageError(Diagnostic("holds no image", source=place))
    return found


def candidates(reading: Reading, overrides: Overrides, *, target: Target) -> tuple[Candidate, ...]:
    """Return the kernel of each image of a reading, or the one launch without an image.

    Raises what :func:`choose_entry` and :func:`launchgen.metadata.launch_metadata` raise.
    """
    if not reading.images:
        metadata = launch(reading, overrides, None, target=target)
        if reading.level0 is not None and metadata.triton_version is None:
            # Meta's Triton has both, and its metadata no version.
            metadata = replace(metadata, hidden_scratch=MOST_HIDDEN)
        return (Candidate(reading, None, None, metadata),)
    return tuple(
        candidate(reading, image, choose_entry(reading, image, overrides), overrides, target)
        for image in reading.images
    )


def candidate(
    reading: Reading, image: CompiledImage, entry: Entry, overrides: Overrides, target: Target
) -> Candidate:
    """Return one kernel of an image with the launch that its files describe.

    Raises MismatchError for metadata of another compilation.
    """
    check_architecture(reading, image)
    _check_cluster(reading, entry, overrides)
    metadata = launch(reading, overrides, (image, entry), target=target)
    return Candidate(reading, image, entry, metadata)


def is_cluster_compiled(reading: Reading, overrides: Overrides) -> bool:
    """Return whether nothing but the image says in which clusters the kernel is launched."""
    written = None if reading.raw is None else reading.raw.num_ctas
    return written is None and overrides.num_ctas is None and overrides.cluster is None


def _check_cluster(reading: Reading, entry: Entry, overrides: Overrides) -> None:
    """Refuse to guess what the grid of Triton's kernel counts."""
    size = math.prod(entry.cluster or (1,))
    version = overrides.triton_version or (reading.raw and reading.raw.triton_version)
    is_triton = version is not None or reading.ir is not None
    if size > 1 and is_triton and is_cluster_compiled(reading, overrides):
        dimensions = ",".join(map(str, entry.cluster or ()))
        raise UsageError(
            Diagnostic(
                f"is compiled for clusters of {size} blocks, and nothing says what the grid counts",
                source=Source(reading.place, ""),
                hint=f"--num-ctas {size}: clusters, as Triton does; --cluster {dimensions}: blocks",
            )
        )


def check_architecture(reading: Reading, image: CompiledImage) -> None:
    """Refuse an entry of the cache whose metadata is that of another compilation.

    Metadata that was given for several images, or for one elsewhere, may be meant to fit.
    """
    written, compiled = written_capability(reading), image.facts.architecture
    is_alone = len(reading.images) == 1
    if reading.files.is_entry and is_alone and written not in (None, compiled.capability):
        place = "" if reading.described is None else reading.described.name
        raise MismatchError(
            Diagnostic(
                f"is compiled for {compiled}, but the launch metadata beside it, {place}, for "
                f"capability {capability_text(written or 0)}",
                source=Source(reading.place, ""),
                hint="with emit, --metadata FILE names the image's own, or says that this one fits",
            )
        )


def written_capability(reading: Reading) -> int | None:
    """Return the capability that the metadata was written for, None where it has none."""
    target = None if reading.raw is None else reading.raw.target
    return target.arch if target is not None and isinstance(target.arch, int) else None


def choose_entry(reading: Reading, image: CompiledImage, overrides: Overrides) -> Entry:
    """Return the kernel that the options name, else the metadata, else the only one.

    Raises MismatchError where it is not there, UsageError where there are several to choose from.
    """
    place = Source(reading.place, "")
    entries = {entry.name: entry for entry in image.facts.entries}
    with _at_metadata(reading):
        wanted = entry_name(reading.raw, overrides)
    if wanted in entries:
        return entries[wanted]
    names = listed(tuple(entries), shortened)
    if not entries:
        problem = f"holds no kernel for {image.facts.architecture}"
        raise MismatchError(Diagnostic(problem, source=place))
    if wanted is not None:
        near = did_you_mean(wanted, entries)
        hint = f"{near or ''} --entry chooses one".strip()
        problem = f"holds no kernel called {shortened(wanted)!a}: there is {names}"
        raise MismatchError(Diagnostic(problem, source=place, hint=hint))
    if len(entries) > 1:
        problem = f"holds {len(entries)} kernels: {names}"
        raise UsageError(Diagnostic(problem, source=place, hint="--entry NAME chooses one"))
    return image.facts.entries[0]


def launch(
    reading: Reading,
    overrides: Overrides,
    compiled: tuple[CompiledImage, Entry] | None,
    *,
    target: Target,
) -> LaunchMetadata:
    """Return what a launch needs; the metadata's errors name its file."""
    entry = None if compiled is None else compiled[1]
    with _at_metadata(reading):
        found = launch_metadata(reading.raw, overrides, target=target, compiled=entry)
    if compiled is None:
        return found
    return replace(found, capability=compiled[0].facts.architecture.capability)


@contextlib.contextmanager
def _at_metadata(reading: Reading) -> Iterator[None]:
    """Have errors about metadata name its file."""
    try:
        yield
    except (MetadataError, UnsupportedError) as error:
        if reading.described is None:
            raise
        raise _placed(error, Source(reading.described.name, "")) from None


def _placed(error: LaunchgenError, place: Source) -> LaunchgenError:
    found = [each._replace(source=place) for each in error.diagnostics]
    return type(error)(*found)
