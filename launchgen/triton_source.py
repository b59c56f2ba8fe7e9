"""A kernel as Triton has compiled it in this process to the source of its launcher.

Triton hands its launcher class two things: ``src`` has the signature, a dict of types by argument,
and ``metadata`` is what its JSON says of the kernel.  Neither is imported: both are read by their
attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from launchgen.argument_names import argument_names
from launchgen.artifacts import ARTIFACTS, LAUNCHER
from launchgen.diagnostics import Diagnostic, MetadataError
from launchgen.metadata import Overrides, Version, launch_metadata
from launchgen.naming import CIdentifier, is_identifier
from launchgen.planning import make_plan
from launchgen.rendering import GeneratedFiles, render
from launchgen.signature import parse
from launchgen.sources import KernelSource, Variant
from launchgen.targets import TARGETS
from launchgen.triton_json import TensorDescriptorMeta, TritonMetadata

_EXTENSION: Final = next(row for row in ARTIFACTS.values() if row.is_called and row.face)
# That of Triton's backend whose launcher class is replaced.
_TARGET: Final = next(iter(TARGETS.values()))
_DEFAULT_NAME: Final = "kernel"


def launcher_files(src: Any, metadata: Any, version: Version) -> GeneratedFiles:
    """Return the source of the extension module that launches a kernel for Triton.

    Raises SignatureError and MetadataError for what no right launcher can be made for.
    """
    name = _name(getattr(src, "name", ""))
    source = KernelSource(
        name=name,
        signature=parse(signature_text(src.signature)),
        origin="from Triton, as it compiled the kernel",
        variants=(Variant(_metadata(metadata, version), image=None),),
        inputs=(),
        notes=(),
    )
    plan = make_plan(source, target=_TARGET, command=_COMMAND, convention=LAUNCHER)
    return render(plan, artifacts=(_EXTENSION,))


_COMMAND: Final = "launchgen.triton.install()"


def _name(text: str) -> CIdentifier:
    """Return what C calls the kernel: its name as far as that is an identifier."""
    plain = re.sub(r"\W", "_", text.lstrip("@"), flags=re.ASCII)
    return CIdentifier(plain if is_identifier(plain) else _DEFAULT_NAME)


def _metadata(metadata: Any, version: Version) -> Any:
    """Return launch metadata with what the source depends on; the rest comes with each call."""
    metas = getattr(metadata, "tensordesc_meta", None) or ()
    raw = TritonMetadata(
        num_warps=1,
        triton_version=".".join(map(str, version)),
        tensordesc_meta=tuple(map(_descriptor, metas)),
    )
    return launch_metadata(raw, Overrides(), target=_TARGET)


def _descriptor(meta: object) -> TensorDescriptorMeta:
    try:
        return msgspec.convert(meta, TensorDescriptorMeta)
    except msgspec.ValidationError as error:
        problem = f"an entry of tensordesc_meta is {meta!r}: {error}"
        raise MetadataError(Diagnostic(problem)) from error


def signature_text(signature: Mapping[object, object]) -> str:
    """Return Triton's signature in launchgen's notation.

    An argument keeps its name where that is an identifier that the notation has no other use for.
    """
    names = argument_names([key if isinstance(key, str) else "" for key in signature])
    named = zip(names, signature.values(), strict=True)
    return ", ".join(f"{name}: {_type(type_)}" if name else _type(type_) for name, type_ in named)


def _type(type_: object) -> str:
    if isinstance(type_, str):
        return type_
    assert isinstance(type_, Iterable), type_
    parts = [_type(each) for each in type_]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
