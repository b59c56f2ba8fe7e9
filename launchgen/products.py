"""LaunchPlan and artifacts to what the build scripts compile."""

from __future__ import annotations

from collections.abc import Iterator

from launchgen.artifacts import Artifact, Face
from launchgen.build_records import PlanBuild, PlanProduct
from launchgen.naming import CIdentifier
from launchgen.records import LaunchPlan, PlanImage
from launchgen.utils_records import UtilsPlan


def plan_build(plan: LaunchPlan | UtilsPlan, artifacts: tuple[Artifact, ...]) -> PlanBuild:
    """Return every product of the artifacts that are emitted together."""
    products = tuple(_products(plan, artifacts))
    return PlanBuild(products=products, needs_python=any(p.needs_python for p in products))


def copied_images(plan: LaunchPlan | UtilsPlan) -> Iterator[PlanImage]:
    """Yield the images that the sources include from copies beside them."""
    if isinstance(plan, UtilsPlan):
        return
    for variant in plan.variants:
        if variant.image is not None and not variant.image.is_inline:
            yield variant.image


def _products(
    plan: LaunchPlan | UtilsPlan, artifacts: tuple[Artifact, ...]
) -> Iterator[PlanProduct]:
    module = module_of(plan)
    copies = tuple(image.file for image in copied_images(plan))
    emitted = tuple(
        output.file.format(name=plan.name, module=module)
        for artifact in artifacts
        for output in artifact.outputs
    )
    for artifact in artifacts:
        face = artifact.face
        if face is None:
            continue
        outputs = tuple(
            output.file.format(name=plan.name, module=module) for output in artifact.outputs
        )
        companions = tuple(name.format(name=plan.name) for name in face.companions)
        sources = (*(name for name in outputs if name.endswith(".c")), *companions)
        images = () if artifact.serves_every_kernel else copies
        headers = tuple(n for n in emitted if n.endswith(".h") and face.uses_headers)
        yield PlanProduct(
            summary=face.summary,
            make_file=_file(plan, face, "$(SUFFIX)"),
            sh_file=_file(plan, face, "$suffix"),
            target=CIdentifier(artifact.name.replace("-", "_")),
            sources=" ".join(sources),
            inputs=" ".join((*sources, *headers, *images)),
            flags=" ".join(face.flags),
            host_flags=" ".join((*face.plain_flags, *face.host_flags)),
            nvcc_flags=" ".join((*face.nvcc_flags, *face.forwarded_flags)),
            libraries=" ".join(face.libraries),
            needs_python=face.needs_python,
        )


def _file(plan: LaunchPlan | UtilsPlan, face: Face, suffix: str) -> str:
    return face.file.format(name=plan.name, module=module_of(plan), suffix=suffix)


def module_of(plan: LaunchPlan | UtilsPlan) -> CIdentifier:
    """Return what Python imports."""
    return plan.name if isinstance(plan, UtilsPlan) else (plan.called or plan).python.module
