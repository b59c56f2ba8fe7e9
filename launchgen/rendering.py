"""LaunchPlan and artifacts to files in memory, through the one Jinja environment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import jinja2
from msgspec import Struct

from launchgen.artifacts import Artifact
from launchgen.filters import FILTERS
from launchgen.products import copied_images, plan_build
from launchgen.records import LaunchPlan


class GeneratedFile(Struct, frozen=True):
    """One file of the output."""

    name: str
    """Inside the output folder."""
    content: bytes
    artifact: str
    """Name of the artifact that it belongs to; empty for a copied image."""
    executable: bool = False
    copied: bool = False
    """An image beside the sources that include it.  It has no banner: it is launchgen's own where
    its sha256 stands in the banner of a generated file of the folder."""


class GeneratedFiles(Struct, frozen=True):
    """What one command makes, copied images first."""

    files: tuple[GeneratedFile, ...]


def render(
    plan: LaunchPlan,
    *,
    artifacts: tuple[Artifact, ...],
    cache: jinja2.BytecodeCache | None = None,
) -> GeneratedFiles:
    """Render every output of the artifacts, in the order of their table.

    A standalone plan's headers are not rendered: its sources contain them.  Templates compiled to
    Python's bytecode may come from ``cache``; the files are the same with any cache or none.
    """
    environment = _environment(cache)
    return GeneratedFiles(
        (*_copies(plan, artifacts), *_outputs(plan, artifacts, environment=environment))
    )


def _copies(plan: LaunchPlan, artifacts: tuple[Artifact, ...]) -> Iterator[GeneratedFile]:
    if any(artifact.face is not None for artifact in artifacts):
        for image in copied_images(plan):
            yield GeneratedFile(image.file, image.content, artifact="", copied=True)


def _outputs(
    plan: LaunchPlan, artifacts: tuple[Artifact, ...], *, environment: jinja2.Environment
) -> Iterator[GeneratedFile]:
    build = plan_build(plan, artifacts)
    for artifact in artifacts:
        for output in artifact.outputs:
            if output.header and plan.is_standalone:
                continue
            # What Python calls may be another function than C's, with a plan of its own.
            called = plan.called if plan.called is not None and artifact.is_called else plan
            convention = called.python.convention
            template = environment.get_template(output.template.format(convention=convention))
            text = template.render(plan=called, artifact=artifact, build=build)
            yield GeneratedFile(
                name=output.file.format(name=plan.name, module=called.python.module),
                content=text.encode("ascii"),
                artifact=artifact.name,
                executable=output.executable,
            )


def _finalize(value: object) -> object:
    """Refuse what would print as a Python word into C: None, True, a tuple."""
    if isinstance(value, jinja2.Undefined):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TypeError(f"a template may print str and int only, not {value!r}")
    return value


@lru_cache(maxsize=4)
def _environment(cache: jinja2.BytecodeCache | None) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("launchgen"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        finalize=_finalize,
        bytecode_cache=cache,
    )
    environment.filters.update(FILTERS)
    return environment
