"""What a command asks for that cannot be, though each part of it is fine."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Iterable

from launchgen.artifacts import Artifact, Convention
from launchgen.diagnostics import Diagnostic, UsageError
from launchgen.sources import KernelSource


def refuse_kernel(given: tuple[str, ...]) -> None:
    """Refuse what is said of a kernel, as the help calls it, where nothing would come of it."""
    if given:
        problem = f"{' and '.join(given)}: --artifact names nothing that is made from a kernel"
        hint = "leave that out, or add what to make from the kernel to --artifact"
        raise UsageError(Diagnostic(problem, hint=hint))


def refuse_unfit(
    kernel: KernelSource, artifacts: tuple[Artifact, ...], *, convention: Convention
) -> None:
    """Refuse artifacts that this launcher cannot have."""
    module = convention.module.format(name=kernel.name)
    makes_module = any(row.face is not None and row.face.needs_python for row in artifacts)
    if makes_module and keyword.iskeyword(module):
        problem = f"Python has no way to import a module called '{module}'"
        raise UsageError(Diagnostic(problem, hint="give another --name, or only C artifacts"))
    _refuse_twice(kernel, module, artifacts)
    for row in artifacts:
        if row.describes_one and len(kernel.variants) > 1:
            problem = f"'{row.name}' describes one image, and there are {len(kernel.variants)}"
            raise UsageError(Diagnostic(problem, hint="emit it for each image on its own"))
        launch = kernel.variants[0].metadata
        if row.describes_one and launch.grid_counts_clusters and launch.cluster[1:] != (1, 1):
            problem = (
                f"'{row.name}' has no way to say a cluster that the grid counts and that is not "
                "along x"
            )
            raise UsageError(Diagnostic(problem, hint="leave this artifact out"))


def _refuse_twice(kernel: KernelSource, module: str, artifacts: Iterable[Artifact]) -> None:
    """Refuse a launcher with the name of a module that serves every kernel."""
    outputs = [output.file for row in artifacts for output in row.outputs]
    products = [row.face.file for row in artifacts if row.face is not None]
    for names in (outputs, products):
        times = Counter(
            name.format(name=kernel.name, module=module, suffix=".so") for name in names
        )
        name, most = times.most_common(1)[0] if times else ("", 0)
        if most > 1:
            problem = f"'{name}' would be made twice: '{kernel.name}' is another module's name"
            raise UsageError(Diagnostic(problem, hint="give another --name"))
