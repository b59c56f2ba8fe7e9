"""Which signature a kernel has, and whether everything that is known of it agrees.

One that is given is checked; else it is read from Triton's IR or Meta's metadata, and guessed from
the image's sizes where there is nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

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
    shortened,
)
from launchgen.image import Entry
from launchgen.inputs import Content, as_text, read_file
from launchgen.limits import MOST_SIGNATURE
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
    content = read_file(Path(text[1:]), MOST_SIGNATURE)
    written = as_text(content)
    return Found(parse(written.text, name=written.name), ""), (content,)


class Description(NamedTuple):
    """What a file beside the image says of the kernel's arguments, or why it cannot be used."""

    name: str
    """The file's name."""
    signature: Signature | None
    owners: tuple[str, ...]
    """For each argument the name of the source argument that it is, or is a part of."""
    error: LaunchgenError | None


def describe(candidate: Candidate) -> tuple[Description, ...]:
    """Return what Meta's metadata and Triton's IR say, in this order.

    Raises MismatchError for what is said of another kernel.
    """
    reading, entry = candidate.reading, candidate.metadata.entry
    level0 = reading.level0
    found = []
    if level0 is not None and level0.args is not None and reading.described is not None:
        from launchgen.level0 import read_arguments  # noqa: PLC0415 - each kind alone

        if entry not in (None, level0.entry_name):
            problem = f"describes {shortened(level0.entry_name)!a}, not {shortened(entry or '')}"
            place = Source(reading.described.name, "")
            raise MismatchError(Diagnostic(problem, source=place, hint="--entry chooses a kernel"))
        signature = read_arguments(level0, reading.described)
        owners = tuple(each.name for each in signature.arguments)
        found.append(Description(_file(reading.described), signature, owners, None))
    if reading.ir is not None:
        from launchgen.ttir import read_kernel_ir  # noqa: PLC0415 - each kind alone

        name = _file(reading.ir)
        try:
            found.append(Description(name, *read_kernel_ir(reading.ir, entry=entry), None))
        except (InputError, UnsupportedError) as error:
            found.append(Description(name, None, (), error))
    return tuple(found)


def infer(candidate: Candidate, described: tuple[Description, ...]) -> Found:
    """Return the signature that the kernel's files say, the first of ``described``, else a guess.

    Raises the error of a description that cannot be used, UsageError where there is nothing.
    """
    if described:
        first = described[0]
        if first.signature is None:
            raise first.error or AssertionError(first)
        return Found(first.signature, f"from {first.name}")
    entry = candidate.entry
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


def compare(
    found: Found,
    described: tuple[Description, ...],
    metadata: LaunchMetadata,
    *,
    target: Target,
) -> Iterator[str]:
    """Compare a signature with what lies beside a kernel; yield notes on what cannot be compared.

    Raises MismatchError where the two disagree.
    """
    for each in described:
        if each.signature is None:
            why = each.error.diagnostics[0].message if each.error is not None else ""
            yield f"{each.name} was not compared with the signature: {why}"
        elif each.signature is not found.signature:
            from launchgen.ir_agreement import check_ir  # noqa: PLC0415 - where there is one

            check_ir(
                slots(found.signature, metadata, target=target),
                found.signature,
                slots(each.signature, metadata, target=target),
                each.signature,
                each.owners,
            )


def compare_hints(described: Sequence[tuple[str, tuple[Description, ...]]]) -> None:
    """Raise MismatchError where images, by the names that stand first, have different promises.

    One launcher makes the same promises to all of them.
    """
    read = [
        (place, each.signature)
        for place, descriptions in described
        for each in descriptions[:1]
        if each.signature is not None
    ]
    for (first, one), (second, other) in itertools.pairwise(read):
        for name, mine, theirs in _hints(one, other):
            if mine is not theirs:
                problem = (
                    f"'{name}' was compiled {_promise(mine)}, but {_promise(theirs)} in {second}"
                )
                hint = "compile both alike, or emit one launcher for each"
                raise MismatchError(Diagnostic(problem, source=Source(first, ""), hint=hint))


def _hints(one: Signature, other: Signature) -> Iterator[tuple[str, Hint | None, Hint | None]]:
    pairs = zip(one.names, one.arguments, other.arguments, strict=False)
    return ((name, mine.hint, theirs.hint) for name, mine, theirs in pairs)


def _promise(hint: Hint | None) -> str:
    return "without a hint" if hint is None else f"with the hint ':{hint.value}'"
