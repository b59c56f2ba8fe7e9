"""LaunchPlan and artifacts to files in memory, through the one Jinja environment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import jinja2
from msgspec import Struct

from launchgen.artifacts import Artifact, Output
from launchgen.filters import FILTERS
from launchgen.products import copied_images, module_of, plan_build
from launchgen.records import LaunchPlan
from launchgen.utils_records import UtilsPlan


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
    plan: LaunchPlan | UtilsPlan,
    *,
    artifacts: tuple[Artifact, ...],
    utils: UtilsPlan | None = None,
    cache: jinja2.BytecodeCache | None = None,
) -> GeneratedFiles:
    """Render every output of the artifacts, in the order of their table.

    Those that serve every kernel are printed from ``utils``, where that is given, all others from
    ``plan``.  A standalone plan's headers are not rendered: its sources contain them.  Templates
    compiled to Python's bytecode may come from ``cache``; the files are the same with any cache or
    none.
    """
    environment = _environment(cache)
    return GeneratedFiles(
        (
            *_copies(plan, artifacts),
            *_outputs(plan, plan if utils is None else utils, artifacts, environment=environment),
        )
    )


def _copies(
    plan: LaunchPlan | UtilsPlan, artifacts: tuple[Artifact, ...]
) -> Iterator[GeneratedFile]:
    if any(row.face is not None and not row.serves_every_kernel for row in artifacts):
        for image in copied_images(plan):
            yield GeneratedFile(image.file, image.content, artifact="", copied=True)


def _outputs(
    plan: LaunchPlan | UtilsPlan,
    utils: LaunchPlan | UtilsPlan,
    artifacts: tuple[Artifact, ...],
    *,
    environment: jinja2.Environment,
) -> Iterator[GeneratedFile]:
    build = plan_build(plan, artifacts)
    for artifact in artifacts:
        shown = _shown(artifact, plan, utils)
        _refuse_unfit(shown, artifact)
        for output in artifact.outputs:
            if output.header and isinstance(shown, LaunchPlan) and shown.is_standalone:
                continue
            template = environment.get_template(_template(output, shown))
            text = template.render(plan=shown, artifact=artifact, build=build)
            yield GeneratedFile(
                name=output.file.format(name=plan.name, module=module_of(shown)),
                content=text.encode("ascii"),
                artifact=artifact.name,
                executable=output.executable,
            )


def _shown(
    artifact: Artifact, plan: LaunchPlan | UtilsPlan, utils: LaunchPlan | UtilsPlan
) -> LaunchPlan | UtilsPlan:
    """Return the plan that an artifact is printed from."""
    if artifact.serves_every_kernel:
        return utils
    # What Python calls may be another function than C's, with a plan of its own.
    if artifact.is_called and isinstance(plan, LaunchPlan) and plan.called is not None:
        return plan.called
    return plan


def _template(output: Output, plan: LaunchPlan | UtilsPlan) -> str:
    convention = plan.python.convention if isinstance(plan, LaunchPlan) else ""
    return output.template.format(convention=convention)


def _refuse_unfit(plan: LaunchPlan | UtilsPlan, artifact: Artifact) -> None:
    """Refuse a plan that the artifact's templates cannot print: a mistake of a library's caller."""
    if artifact.serves_every_kernel and not isinstance(plan, UtilsPlan):
        raise TypeError(f"'{artifact.name}' is printed from a UtilsPlan: give it as utils=")
    if artifact.needs_kernel and not isinstance(plan, LaunchPlan):
        raise TypeError(f"'{artifact.name}' is printed from the LaunchPlan of a kernel")


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
