"""Records of the plan for build scripts: what they compile, and from what."""

from __future__ import annotations

from msgspec import Struct

from launchgen.naming import CIdentifier


class PlanProduct(Struct, frozen=True, kw_only=True):
    """One thing that the build scripts compile."""

    summary: str
    make_file: str
    """Name of the product, as a Makefile writes it."""
    sh_file: str
    """The same, as a shell script writes it."""
    target: CIdentifier
    """Name of the variable or rule that stands for it."""
    sources: str
    """Names of the C files, which hold no blank."""
    inputs: str
    """Everything that it has to be made again for: sources, headers, images."""
    flags: str
    host_flags: str
    """Flags of the host compiler, where it is called itself."""
    nvcc_flags: str
    """Flags of nvcc instead, which calls the host compiler."""
    libraries: str
    needs_python: bool


class PlanBuild(Struct, frozen=True, kw_only=True):
    """What the build scripts compile, in order."""

    products: tuple[PlanProduct, ...]
    needs_python: bool
