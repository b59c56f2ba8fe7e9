"""Which signature a kernel has, and whether everything that is known of it agrees.

One that is given is checked; else it is read from Triton's IR or Meta's metadata, and guessed from
the image's sizes where there is nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from launchgen.abi import MOST_HIDDEN, Slot, hidden_slots, slots
from launchgen.agreement import check_parameters
from launchgen.diagnostics import (
    Diagnostic,
    InputError,
    LaunchgenError,
    MismatchError,
    Source,
    UnsupportedError,
    UsageError,
)
from launchgen.image import Entry
from launchgen.inputs import MOST_TEXT, Content, as_text, read_file
from launchgen.metadata import LaunchMetadata
from launchgen.pairing import fits
from launchgen.readings import Candidate
from launchgen.signature import Hint, Signature, parse
from launchgen.targets import Target

EXAMPLE: Final = '--signature "x_ptr: *fp32, n: i32, BLOCK: constexpr"'


class Found(Struct, frozen=True):
    """A signature and where it is from."""

    signature: Signature
    origin: str
    """In words, ``from add.ttir``; empty where it was given."""
    is_guess: bool = False
    """Whether it is from sizes alone."""


def given_signature(text: str | None) -> tuple[Found | None, tuple[Content, ...]]:
    """Return what ``--signature`` says, and the file that it names; None: it was not given.

    Raises SignatureError for its mistakes, UsageError for a file without a name.
    """
    if text is None:
        return None, ()
    if not text.startswith("@"):
        return Found(parse(text, name="--signature"), ""), ()
    if text == "@":
        raise UsageError(
            Diagnostic("--signature @ lacks a file", hint="as in --signature @add.sig")
        )
    content = read_file(Path(text[1:]), MOST_TEXT)
    written = as_text(content)
    return Found(parse(written.text, name=written.name), ""), (content,)


def is_described(candidate: Candidate) -> bool:
    """Return whether the kernel's files say more of its arguments than the image does."""
    return candidate.reading.level0 is not None or candidate.reading.ir is not None


def without_description(candidate: Candidate) -> Candidate:
    """Return the kernel as if its files said no more of its arguments than the image does."""
    return replace(candidate, reading=replace(candidate.reading, level0=None, ir=None))


def infer(candidate: Candidate) -> Found:
    """Return the signature that the kernel's files say.

    Raises UsageError where they say none, and what :func:`launchgen.ttir.read_signature` raises.
    """
    reading, entry = candidate.reading, candidate.entry
    if reading.level0 is not None and reading.described is not None:
        from launchgen.level0 import read_arguments  # noqa: PLC0415 - each kind alone

        signature = read_arguments(reading.level0, reading.described)
        return Found(signature, f"from {_file(reading.described)}")
    if reading.ir is not None:
        from launchgen.ttir import read_signature  # noqa: PLC0415 - each kind alone

        signature = read_signature(reading.ir, entry=candidate.metadata.entry)
        return Found(signature, f"from {_file(reading.ir)}")
    if entry is not None:
        from launchgen.guess import guess_signature  # noqa: PLC0415 - each kind alone

        hidden = _last_addresses(entry, candidate.metadata)
        guess = guess_signature(entry, hidden=hidden)
        return Found(guess, "guessed from the sizes of the image's parameters", is_guess=True)
    raise UsageError(
        Diagnostic(
            "--signature is missing: there is neither Triton's IR nor an image to read it from",
            hint=f"as in {EXAMPLE}, or --signature @FILE",
        )
    )


def _file(source: Source) -> str:
    return source.name.replace("\\", "/").rpartition("/")[2]


def _last_addresses(entry: Entry, metadata: LaunchMetadata) -> int:
    """Return how many of the last parameters are the release's scratch memory."""
    hidden = hidden_slots(metadata.triton_version, metadata.hidden_scratch)
    last = entry.parameters[len(entry.parameters) - len(hidden) :]
    return len(hidden) if len(last) == len(hidden) and all(map(fits, hidden, last)) else 0


def settle(candidate: Candidate, found: Found, *, target: Target) -> LaunchMetadata:
    """Return the launch of a kernel with this signature, after comparing it with the image.

    Without a release the image decides how many hidden parameters there are.

    Raises MismatchError where the two disagree, and what :func:`launchgen.abi.slots` raises.
    """
    signature, entry, metadata = found.signature, candidate.entry, candidate.metadata
    if found.is_guess:
        # A guess has a descriptor's parts as parameters of their own.
        metadata = replace(metadata, tensor_descriptors=())
    if entry is None:
        slots(signature, metadata, target=target)
        return metadata
    if metadata.triton_version is None and not found.is_guess:
        metadata = _with_hidden(signature, metadata, entry, target)
    listed = slots(signature, metadata, target=target)
    place = candidate.reading.place
    check_parameters(listed, entry, signature=signature, metadata=metadata, place=place)
    return metadata


def _with_hidden(
    signature: Signature, metadata: LaunchMetadata, entry: Entry, target: Target
) -> LaunchMetadata:
    """Return the metadata with as many hidden parameters as make it agree, if any number does."""
    for count in range(MOST_HIDDEN + 1):
        tried = replace(metadata, hidden_scratch=count)
        if len(entry.parameters) >= count and _agrees(_slots(signature, tried, target), entry):
            return tried
    return metadata


def _slots(
    signature: Signature, metadata: LaunchMetadata, target: Target
) -> tuple[Slot, ...] | None:
    try:
        return slots(signature, metadata, target=target)
    except LaunchgenError:
        return None  # scratch memory that has no parameter with so few


def _agrees(listed: tuple[Slot, ...] | None, entry: Entry) -> bool:
    if listed is None or len(listed) != len(entry.parameters):
        return False
    return all(map(fits, listed, entry.parameters))


def compare_ir(
    candidate: Candidate, found: Found, metadata: LaunchMetadata, *, target: Target
) -> str | None:
    """Compare a signature with the IR beside the kernel; return a note where none can be.

    Raises MismatchError where the two disagree.
    """
    reading = candidate.reading
    if reading.ir is None or found.signature.source is reading.ir:
        return None
    from launchgen.ir_agreement import check_ir  # noqa: PLC0415 - where there is an IR

    other = _read_ir(candidate)
    if isinstance(other, Diagnostic):
        return f"{_file(reading.ir)} was not compared with the signature: {other.message}"
    check_ir(
        slots(found.signature, metadata, target=target),
        found.signature,
        slots(other, metadata, target=target),
        other,
    )
    return None


def _read_ir(candidate: Candidate) -> Signature | Diagnostic:
    """Return the IR's signature, or why it cannot be understood.

    Raises MismatchError for the IR of another kernel.
    """
    from launchgen.ttir import read_signature  # noqa: PLC0415 - where there is an IR

    if candidate.reading.ir is None:
        return Diagnostic("there is none")
    try:
        return read_signature(candidate.reading.ir, entry=candidate.metadata.entry)
    except (InputError, UnsupportedError) as error:
        return error.diagnostics[0]


def compare_hints(listed: Sequence[Candidate]) -> None:
    """Raise MismatchError where images were compiled with different promises.

    One launcher makes the same promises to all of them.
    """
    described = [each for each in listed if each.reading.ir is not None]
    irs = [(_read_ir(each), each.reading.place) for each in described]
    read = [(each, place) for each, place in irs if isinstance(each, Signature)]
    for (one, first), (other, second) in itertools.pairwise(read):
        hints = [
            (a.hint, b.hint, one.names[at])
            for at, (a, b) in enumerate(zip(one.arguments, other.arguments, strict=False))
            if a.hint is not b.hint
        ]
        if hints:
            mine, theirs, name = hints[0]
            problem = f"'{name}' was compiled {_promise(mine)}, but {_promise(theirs)} in {second}"
            hint = "compile both alike, or emit one launcher for each"
            raise MismatchError(Diagnostic(problem, source=Source(first, ""), hint=hint))


def _promise(hint: Hint | None) -> str:
    return "without a hint" if hint is None else f"with the hint ':{hint.value}'"
