"""The options of ``emit`` to plans: what is read, what is refused, and what is decided."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

import launchgen
from launchgen import overrides, planning, refusals, sources, utils_plan
from launchgen.artifacts import CONVENTIONS, Artifact
from launchgen.options import Emit, about_kernel, command_words
from launchgen.overrides import Overrides
from launchgen.records import LaunchPlan
from launchgen.sections import parsed
from launchgen.targets import TARGETS
from launchgen.utils_records import UtilsPlan

T = TypeVar("T")


def plan_launcher(
    ctx: click.Context,
    given: Emit,
    artifacts: tuple[Artifact, ...],
    *,
    note: Callable[[str], None],
) -> tuple[LaunchPlan | UtilsPlan, tuple[str, ...]]:
    """Decide everything about the launcher; return what was read for it as well.

    ``note`` is told what the user should know of what was read, also where it is then refused.
    """
    if not any(row.needs_kernel for row in artifacts):
        refusals.refuse_kernel(about_kernel(ctx))
        return _kernel_less_plan(ctx, given, artifacts), ()

    target = TARGETS[given.target]
    kernel = sources.read_kernel(
        _path(given.kernel),
        signature_text=given.signature,
        metadata=_path(given.metadata),
        images=tuple(map(Path, given.image)),
        no_image=given.no_image,
        name=given.name,
        overrides=_overrides(given),
        target=target,
    )
    for text in kernel.notes:
        note(text)
    convention = CONVENTIONS[given.convention]
    refusals.refuse_unfit(kernel, artifacts, convention=convention)
    plan = planning.make_plan(
        kernel,
        target=target,
        command=shlex.join(command_words(ctx, artifacts, signature=str(kernel.signature))),
        version=_stamp(given),
        standalone=given.out == "-",
        convention=convention,
    )
    return plan, tuple(str(file.path) for file in kernel.inputs)


def plan_shared(
    ctx: click.Context, given: Emit, artifacts: tuple[Artifact, ...]
) -> UtilsPlan | None:
    """Decide about what stands beside the launchers of many kernels, and is the same for all."""
    shared = tuple(row for row in artifacts if row.serves_every_kernel)
    return _kernel_less_plan(ctx, given, shared) if shared else None


def _kernel_less_plan(
    ctx: click.Context, given: Emit, artifacts: tuple[Artifact, ...]
) -> UtilsPlan:
    command = shlex.join(command_words(ctx, artifacts, signature=None))
    return utils_plan.plan_utils(TARGETS[given.target], command=command, version=_stamp(given))


def _stamp(given: Emit) -> str | None:
    return launchgen.__version__ if given.stamp_version else None


def _overrides(given: Emit) -> Overrides:
    return overrides.Overrides(
        entry=given.entry,
        num_warps=given.num_warps,
        num_ctas=given.num_ctas,
        shared=given.shared,
        cluster=_convert("--cluster", given.cluster, overrides.parse_cluster),
        cooperative=given.cooperative,
        pdl=given.pdl,
        global_scratch=_convert("--global-scratch", given.global_scratch, overrides.parse_scratch),
        profile_scratch=_convert(
            "--profile-scratch", given.profile_scratch, overrides.parse_scratch
        ),
        triton_version=_convert("--triton-version", given.triton_version, overrides.parse_version),
    )


def _convert(option: str, text: str | None, parse: Callable[[str], T]) -> T | None:
    return None if text is None else parsed(option, text, parse)


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
