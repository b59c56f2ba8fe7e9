"""LaunchPlan and artifacts to files in memory, through the one Jinja environment."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jinja2
import jinja2.bccache
import jinja2.compiler
import jinja2.lexer
import jinja2.parser
from msgspec import Struct

from launchgen import filters
from launchgen.artifacts import Artifact
from launchgen.filters import FILTERS
from launchgen.plan import LaunchPlan
from launchgen.products import plan_build


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
    plan: LaunchPlan, *, artifacts: tuple[Artifact, ...], cache_folder: Path | None = None
) -> GeneratedFiles:
    """Render every output of the artifacts, in the order of their table.

    A standalone plan's headers are not rendered: its sources contain them.  Templates compiled to
    Python's bytecode are kept in ``cache_folder``, which is made if need be: with them a whole
    ``launchgen emit`` takes half the time.  The files are the same with any cache or none.
    """
    environment = _environment(cache_folder)
    return GeneratedFiles(
        (*_copies(plan, artifacts), *_outputs(plan, artifacts, environment=environment))
    )


def _copies(plan: LaunchPlan, artifacts: tuple[Artifact, ...]) -> Iterator[GeneratedFile]:
    has_launcher = any(artifact.face is not None for artifact in artifacts)
    if plan.image is not None and not plan.image.is_inline and has_launcher:
        yield GeneratedFile(plan.image.file, plan.image.content, artifact="", copied=True)


def _outputs(
    plan: LaunchPlan, artifacts: tuple[Artifact, ...], *, environment: jinja2.Environment
) -> Iterator[GeneratedFile]:
    build = plan_build(plan, artifacts)
    for artifact in artifacts:
        for output in artifact.outputs:
            if output.header and plan.is_standalone:
                continue
            template = environment.get_template(output.template)
            text = template.render(plan=plan, artifact=artifact, build=build)
            yield GeneratedFile(
                name=output.file.format(name=plan.name),
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


class _CompiledTemplates(jinja2.FileSystemBytecodeCache):
    """Jinja's own cache, for which a folder that cannot be used is no error."""

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


# What a template is compiled with; Jinja itself notices when the template's text has changed.
_COMPILERS = (jinja2.compiler.__file__, jinja2.lexer.__file__, jinja2.parser.__file__)


def _compiled_templates(folder: Path) -> jinja2.BytecodeCache | None:
    """Return the cache in ``folder``, or None where it is not ours: what is in it is executed."""
    digest = hashlib.sha256()
    for path in (*_COMPILERS, __file__, filters.__file__):
        digest.update(Path(path).read_bytes())
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            return None
    except OSError:
        return None
    return _CompiledTemplates(str(folder), f"template-{digest.hexdigest()[:20]}-%s.bin")


@cache
def _environment(cache_folder: Path | None) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("launchgen"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        finalize=_finalize,
        bytecode_cache=None if cache_folder is None else _compiled_templates(cache_folder),
    )
    environment.filters.update(FILTERS)
    return environment
