"""What holds of every input, and of everything that was read from one.

A reader refuses with an error of the project's own, which points into the text and can be printed,
or what it returns keeps these.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

from launchgen.diagnostics import LaunchgenError
from launchgen.image import Entry, ImageFacts
from launchgen.metadata import LaunchMetadata
from launchgen.nvinfo import MOST_PARAMETERS
from launchgen.overrides import Cluster, Scratch
from launchgen.signature import Signature, leaves, parse
from launchgen.targets import Target


class BrokenPromiseError(Exception):
    """What was read, or the error about it, is not as it always has to be."""


def promise(kept: bool, what: str) -> None:
    """Raise :class:`BrokenPromiseError` where a promise is not kept."""
    if not kept:
        raise BrokenPromiseError(what)


@contextlib.contextmanager
def refusing(*kinds: type[LaunchgenError]) -> Iterator[None]:
    """Let errors of these kinds pass, whose places and words are right; nothing else."""
    try:
        yield
    except kinds as error:
        check_error(error)


def check_error(error: LaunchgenError) -> None:
    """Check that a caret lies inside the text, and that a terminal can show every line."""
    promise(bool(error.diagnostics), "an error says nothing")
    for each in error.diagnostics:
        promise(bool(each.message), "a diagnostic has no message")
        if each.span is not None:
            size = -1 if each.source is None else len(each.source.text)
            start, end = each.span
            promise(0 <= start <= end <= size, f"{each.span} is not in a text of {size}")
    text = str(error)
    is_shown = all(c.isprintable() or c in "\n\t" for c in text)
    promise(is_shown, f"an error cannot be printed: {text!a}")


def check_signature(signature: Signature) -> None:
    """Check that what it prints is one line of ASCII, and says the same once more."""
    text = str(signature)
    promise(text.isascii() and text.isprintable(), f"not one line of ASCII: {text!a}")
    try:
        again = parse(text)
    except LaunchgenError as error:
        raise BrokenPromiseError(f"the canonical form {text!a} cannot be read: {error}") from None
    promise(again == signature, f"{text!a} is read as another signature, {str(again)!a}")
    names = signature.names
    promise(len(set(names)) == len(names), f"a name is there twice: {names}")
    size = len(signature.source.text)
    for leaf in leaves(signature):
        start, end = leaf.argument.span
        promise(0 <= start <= end <= size, f"argument {leaf.path} is not in the text")


def check_metadata(metadata: LaunchMetadata, target: Target) -> None:
    """Check that a launch could obey each of its fields."""
    promise(1 <= metadata.threads <= target.max_threads, f"{metadata.threads} threads")
    promise(metadata.entry is None or metadata.entry.isprintable(), f"{metadata.entry!a}")
    _check_cluster(metadata.cluster, target)
    promise(
        not metadata.grid_counts_clusters or metadata.num_ctas == metadata.cluster_size,
        f"{metadata.num_ctas} CTAs in a cluster of {metadata.cluster}",
    )
    if metadata.preferred_cluster is not None:
        _check_cluster(metadata.preferred_cluster, target)
        pairs = zip(metadata.preferred_cluster, metadata.cluster, strict=True)
        promise(all(it % least == 0 for it, least in pairs), f"{metadata.preferred_cluster}")
    promise(0 <= metadata.shared < 2**31, f"{metadata.shared} bytes of shared memory")
    for scratch in (metadata.global_scratch, metadata.profile_scratch):
        _check_scratch(scratch)


def _check_cluster(cluster: Cluster, target: Target) -> None:
    x, y, z = cluster
    promise(min(cluster) >= 1 and x * y * z <= target.most_cluster, f"a cluster of {cluster}")


def _check_scratch(scratch: Scratch) -> None:
    size, align = scratch.size, scratch.align
    promise(0 <= size < 2**63 and align >= 1 and align & (align - 1) == 0, f"{scratch}")


def check_facts(facts: ImageFacts) -> None:
    """Check that entries are in order, each once, and their parameters lie side by side."""
    names = [entry.name for entry in facts.entries]
    promise(names == sorted(set(names)), f"entries out of order: {names!a}")
    promise(facts.architecture.capability > 0, "an image for no GPU")
    for first, last in facts.architecture.ranges:
        promise(last is None or first <= last, f"no device runs {facts.architecture}")
    for entry in facts.entries:
        _check_entry(entry)


def _check_entry(entry: Entry) -> None:
    promise(entry.name.isprintable() and entry.name != "", f"an entry called {entry.name!a}")
    for before, after in itertools.pairwise(entry.parameters):
        promise(before.offset + before.size <= after.offset, f"{entry.name!a} overlaps: {after}")
    end = max((each.offset + each.size for each in entry.parameters), default=0)
    promise(end <= entry.total, f"{end} bytes of parameters, and {entry.total} in all")
    promise(len(entry.parameters) <= MOST_PARAMETERS, f"{len(entry.parameters)} parameters")
    promise(all(each.size > 0 and each.offset >= 0 for each in entry.parameters), "no bytes")
    for dimensions in (entry.block, entry.cluster):
        promise(dimensions is None or min(dimensions) >= 1, f"{dimensions}")
