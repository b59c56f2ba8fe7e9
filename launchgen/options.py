"""The options of ``launchgen emit``, one entry each, and the command line that they came from.

To add an option, add an entry to ``EMIT`` and a field to :class:`Emit`.  Their values stay text
until :mod:`launchgen.cli` hands them to the module that knows what they mean, so that the help
costs no more than click.  The module is as long as the table is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, NamedTuple

import click
from click.core import ParameterSource

from launchgen.artifacts import ARTIFACTS, CONVENTIONS, DIRECT, Artifact
from launchgen.diagnostics import Diagnostic, UsageError, did_you_mean
from launchgen.sections import PROGRAM, Option
from launchgen.targets import TARGETS

_KERNEL: Final = "Kernel"
_METADATA: Final = "Launch metadata, each over what the kernel's own says"
_OUTPUT: Final = "Output"
_BUILD: Final = "Checks and build systems"

_DEFAULT: Final = tuple(row for row in ARTIFACTS.values() if row.default)


class Emit(NamedTuple):
    """What was given to ``launchgen emit``, unchecked; None or empty: not given."""

    kernel: str | None
    signature: str | None
    name: str | None
    image: tuple[str, ...]
    no_image: bool
    target: str
    metadata: str | None
    entry: str | None
    num_warps: int | None
    num_ctas: int | None
    shared: int | None
    cluster: str | None
    cooperative: bool | None
    pdl: bool | None
    global_scratch: str | None
    profile_scratch: str | None
    triton_version: str | None
    artifact: tuple[str, ...]
    convention: str
    out: str | None
    stamp_version: bool
    force: bool
    check: bool
    diff: bool
    list_outputs: bool
    depfile: str | None


EMIT: Final[tuple[click.Parameter, ...]] = (
    click.Argument(["kernel"], required=False),
    Option(
        "-s",
        "--signature",
        section=_KERNEL,
        metavar="TEXT",
        help="The kernel's arguments, as in 'x_ptr: *fp32, n: i32, BLOCK: constexpr'; "
        "@FILE reads them.  [default: read from what lies beside KERNEL]",
    ),
    Option(
        "--name",
        "-n",
        section=_KERNEL,
        metavar="NAME",
        help="Prefix of all that is exported.  [default: the kernel's name]",
    ),
    Option(
        "--image",
        section=_KERNEL,
        metavar="FILE",
        multiple=True,
        path=True,
        help="Image to embed beside KERNEL's own; once for each architecture.",
    ),
    Option(
        "--no-image",
        section=_KERNEL,
        is_flag=True,
        help="Embed none: the launcher takes a function handle.",
    ),
    Option(
        "--target",
        "-t",
        section=_KERNEL,
        general=True,
        type=click.Choice(list(TARGETS)),
        default=next(iter(TARGETS)),
        show_default=True,
        help="What the kernel was compiled for.",
    ),
    Option(
        "--metadata",
        section=_METADATA,
        metavar="FILE",
        path=True,
        help="Launch metadata to use in place of KERNEL's.",
    ),
    Option(
        "--entry", section=_METADATA, metavar="NAME", help="The kernel's name inside the image."
    ),
    Option("--num-warps", section=_METADATA, type=int, metavar="N", help="Warps of one block."),
    Option(
        "--num-ctas",
        section=_METADATA,
        type=int,
        metavar="N",
        help="Blocks that Triton spread one program over.",
    ),
    Option("--shared", section=_METADATA, type=int, metavar="BYTES", help="Dynamic shared memory."),
    Option(
        "--cluster",
        section=_METADATA,
        metavar="X,Y,Z",
        help="Blocks of one cluster; the grid counts blocks.",
    ),
    Option(
        "--cooperative/--no-cooperative",
        section=_METADATA,
        default=None,
        help="Launch all blocks at once.",
    ),
    Option(
        "--pdl/--no-pdl", section=_METADATA, default=None, help="Programmatic dependent launch."
    ),
    Option(
        "--global-scratch",
        section=_METADATA,
        metavar="SIZE[:ALIGN]",
        help="Scratch memory: bytes for one block, and the buffer's alignment.",
    ),
    Option(
        "--profile-scratch",
        section=_METADATA,
        metavar="SIZE[:ALIGN]",
        help="The same for Triton's profiler.",
    ),
    Option(
        "--triton-version",
        section=_METADATA,
        metavar="VERSION",
        help="The release that compiled the kernel: it decides which hidden parameters there are.",
    ),
    Option(
        "--artifact",
        "-a",
        section=_OUTPUT,
        metavar="LIST",
        multiple=True,
        help=f"What to make, separated by commas: {', '.join(ARTIFACTS)}.  "
        f"[default: {','.join(row.name for row in _DEFAULT)}]",
    ),
    Option(
        "--convention",
        section=_OUTPUT,
        type=click.Choice([row.name for row in CONVENTIONS.values() if row.is_public]),
        default=DIRECT.name,
        show_default=True,
        help="How the Python launcher is called: "
        + "; ".join(f"{row.name}, {row.summary}" for row in CONVENTIONS.values() if row.is_public)
        + ".",
    ),
    Option(
        "--out",
        "-o",
        section=_OUTPUT,
        metavar="DIR",
        reproduced=False,
        help="Where to; '-' prints a single file.  [default: a folder called after the name]",
    ),
    Option(
        "--stamp-version",
        section=_OUTPUT,
        is_flag=True,
        help=f"Put {PROGRAM}'s version in the banner.",
    ),
    Option(
        "--force",
        section=_OUTPUT,
        is_flag=True,
        reproduced=False,
        help=f"Overwrite files that {PROGRAM} did not make.",
    ),
    Option(
        "--check",
        section=_BUILD,
        is_flag=True,
        reproduced=False,
        help="Write nothing; exit 1 and name each file that differs, is missing or is extra.",
    ),
    Option(
        "--diff",
        section=_BUILD,
        is_flag=True,
        reproduced=False,
        help="The same, with the differences.",
    ),
    Option(
        "--list-outputs",
        section=_BUILD,
        is_flag=True,
        reproduced=False,
        help="Write nothing; print the path of each file, one a line.",
    ),
    Option(
        "--depfile",
        section=_BUILD,
        metavar="FILE",
        reproduced=False,
        help="Also write a make rule that names all outputs and what they were made from.",
    ),
)
"""Sorted as the help shows them, which is the order in the banner's command as well."""


def parse_artifacts(lists: Iterable[str]) -> tuple[Artifact, ...]:
    """Return the artifacts that ``--artifact`` names, each once, in the table's order.

    Raises UsageError for unknown ones and for one that lacks what it needs.
    """
    words = [word.strip() for text in lists for word in text.split(",")]
    names = frozenset(filter(None, words))
    unknown = sorted(names.difference(ARTIFACTS))
    if unknown:
        raise UsageError(*map(_unknown_artifact, unknown))
    if words and not names:
        raise UsageError(
            Diagnostic("--artifact names nothing", hint=f"known are {', '.join(ARTIFACTS)}")
        )
    chosen = tuple(row for row in ARTIFACTS.values() if row.name in names) or _DEFAULT
    lacking = [
        Diagnostic(
            f"artifact '{row.name}' has nothing to work on without {' or '.join(row.needs)}",
            hint=f"as in --artifact {row.needs[0]},{row.name}",
        )
        for row in chosen
        if row.needs and not {other.name for other in chosen}.intersection(row.needs)
    ]
    if lacking:
        raise UsageError(*lacking)
    return chosen


def _unknown_artifact(word: str) -> Diagnostic:
    near = did_you_mean(word, ARTIFACTS)
    known = f"known are {', '.join(ARTIFACTS)}"
    return Diagnostic(f"unknown artifact '{word}'", hint=f"{near} {known}" if near else known)


def command_words(
    ctx: click.Context, artifacts: tuple[Artifact, ...], *, signature: str | None
) -> tuple[str, ...]:
    """Return the command that makes the same output from the same files, in any folder.

    Options stand in the order of ``EMIT``, only those that are not the default, with file names
    without folders.  ``signature`` is the canonical form of one that was given as text: ASCII, and
    the same for every way to write it; None: no kernel has a part in the output.
    """
    words = [PROGRAM, "emit"]
    given = ctx.params | {"artifact": _spell_artifacts(artifacts)}
    if given["signature"] is not None and not given["signature"].startswith("@"):
        given["signature"] = signature
    if given["kernel"] is not None and signature is not None:
        name = os.path.basename(given["kernel"])  # noqa: PTH119 - keeps any text
        words.append(f"./{name}" if name.startswith("-") else name)
    for option in EMIT:
        if not isinstance(option, Option) or (signature is None and _is_about_kernel(option)):
            continue
        if option.reproduced and option.name is not None:
            words += _spell(option, given[option.name])
    return tuple(words)


def _is_about_kernel(option: Option) -> bool:
    return option.section in (_KERNEL, _METADATA) and not option.general


def about_kernel(ctx: click.Context) -> tuple[str, ...]:
    """Return what was given that is about a kernel, as the help calls it."""
    named = (
        (option, max(option.opts, key=len) if isinstance(option, Option) else "KERNEL")
        for option in EMIT
    )
    return tuple(
        word
        for option, word in named
        if (not isinstance(option, Option) or _is_about_kernel(option))
        and ctx.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    )


def _spell_artifacts(artifacts: tuple[Artifact, ...]) -> tuple[str, ...]:
    return () if artifacts == _DEFAULT else (",".join(row.name for row in artifacts),)


def _spell(option: Option, value: object) -> list[str]:
    if isinstance(value, tuple):
        return [word for single in value for word in _spell(option, single)]
    if isinstance(value, bool):
        if option.secondary_opts:
            return [option.opts[0] if value else option.secondary_opts[0]]
        return [option.opts[0]] if value else []
    if value is None or value == option.default:
        return []
    text = str(value)
    if option.path:
        text = os.path.basename(text)  # noqa: PTH119
    elif text.startswith("@"):
        text = "@" + os.path.basename(text[1:])  # noqa: PTH119
    return [option.opts[0], text]
