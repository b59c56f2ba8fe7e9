"""Launch metadata: what Triton's JSON says and the options over it, to one checked record.

To obey another field of the JSON, add it to ``triton_json.py`` and decide its value in
:func:`launch_metadata`; to obey another option, add it to ``overrides.py`` as well.
"""

from __future__ import annotations

import math
from typing import Final, NoReturn

from msgspec import Struct

from launchgen.diagnostics import (
    Diagnostic,
    LaunchgenError,
    MetadataError,
    UnsupportedError,
    UsageError,
    shortened,
)
from launchgen.image import Entry, dimensions_text
from launchgen.limits import MOST_ENTRY
from launchgen.overrides import Cluster, Overrides, Scratch, Version, parse_version
from launchgen.targets import Target
from launchgen.triton_json import (
    TensorDescriptorMeta,
    TritonMetadata,
    TritonTarget,
    read_metadata,
)

__all__ = [
    "LaunchMetadata",
    "Overrides",
    "Scratch",
    "TensorDescriptorMeta",
    "TritonMetadata",
    "Version",
    "launch_metadata",
    "read_metadata",
]

_MOST_SHARED: Final = 2**31 - 1
_MOST_SCRATCH: Final = 2**63 - 1
_MOST_ALIGN: Final = 2**30
_ARCHITECTURES: Final = range(10, 10_000)


class LaunchMetadata(Struct, frozen=True):
    """What every launch of a kernel needs besides its arguments, checked.  Sizes are in bytes."""

    entry: str | None
    """The kernel's name inside the image; None where nothing says it."""
    num_warps: int
    warp_size: int
    num_ctas: int
    """CTAs of one program: 1 unless Triton spread it over a cluster."""
    cluster: Cluster
    """Blocks of one cluster along x, y and z; all 1: no cluster."""
    grid_counts_clusters: bool
    """True: the caller's grid is multiplied by ``cluster`` axis by axis; False: it is in blocks."""
    preferred_cluster: Cluster | None
    """A greater cluster that the device may use where it has room; None: there is none."""
    shared: int
    """Dynamic shared memory."""
    cooperative: bool
    pdl: bool
    """Programmatic dependent launch."""
    global_scratch: Scratch
    profile_scratch: Scratch
    tensor_descriptors: tuple[TensorDescriptorMeta, ...]
    tmem_size: int
    """Tensor memory, in Triton's unit; a launch has nothing to do for it."""
    triton_version: Version | None
    """Major and minor; None: no Triton compiled it, or it is not known which."""
    hidden_scratch: int | None
    """Hidden parameters for scratch memory, as the image has them; None: the release decides."""
    capability: int | None
    """Compute capability that the image was compiled for, as in 90; None: not known."""

    @property
    def threads(self) -> int:
        """Threads of one block, all along x."""
        return self.num_warps * self.warp_size

    @property
    def cluster_size(self) -> int:
        """Blocks of one cluster."""
        return math.prod(self.cluster)


def launch_metadata(
    raw: TritonMetadata | None,
    overrides: Overrides,
    *,
    target: Target,
    compiled: Entry | None = None,
) -> LaunchMetadata:
    """Merge the JSON (None: there is none) with the options over it, and check every value.

    What neither says is taken from the image, where ``compiled`` has it: name, block, cluster.

    Raises MetadataError for a field that no launch could obey, UsageError for such an option or
    for one that is missing, UnsupportedError for a kernel that takes parameters of its own.
    """
    fields = raw if raw is not None else TritonMetadata()
    machine = fields.target if fields.target is not None else TritonTarget()
    _check_origin(fields, machine, target)
    num_ctas = _given("--num-ctas", overrides.num_ctas, "num_ctas", fields.num_ctas, default=1)
    num_ctas.check_range(1, target.most_cluster)
    shared = _given("--shared", overrides.shared, "shared", fields.shared, default=0)
    shared.check_range(0, _MOST_SHARED)
    cluster = _cluster(fields, overrides, num_ctas, target, compiled)
    warp_size = _first(fields.warp_size, machine.warp_size, target.warp_size)
    cooperative, pdl = fields.launch_cooperative_grid, fields.launch_pdl
    return LaunchMetadata(
        entry=entry_name(raw, overrides) or (None if compiled is None else compiled.name),
        num_warps=_num_warps(raw, overrides, warp_size, target, compiled),
        warp_size=warp_size,
        num_ctas=num_ctas.value,
        cluster=cluster,
        grid_counts_clusters=num_ctas.value != 1,
        preferred_cluster=_preferred_cluster(fields, cluster, target),
        shared=shared.value,
        cooperative=_flag(overrides.cooperative, "launch_cooperative_grid", cooperative),
        pdl=_flag(overrides.pdl, "launch_pdl", pdl),
        global_scratch=_scratch(
            "global_scratch",
            overrides.global_scratch,
            fields.global_scratch_size,
            fields.global_scratch_align,
        ),
        profile_scratch=_scratch(
            "profile_scratch",
            overrides.profile_scratch,
            fields.profile_scratch_size,
            fields.profile_scratch_align,
        ),
        tensor_descriptors=fields.tensordesc_meta or (),
        tmem_size=fields.tmem_size or 0,
        triton_version=overrides.triton_version or _field_version(fields),
        hidden_scratch=None,
        capability=_capability(machine),
    )


class _Given(Struct, frozen=True):
    """A number and the name of the option or the field that it came from."""

    name: str
    value: int
    error: type[LaunchgenError]
    hint: str | None = None

    def refuse(self, problem: str, *, hint: str | None = None) -> NoReturn:
        """Raise the error of this value's origin."""
        text = f"{self.name} is {_shown(self.value)}: {problem}"
        raise self.error(Diagnostic(text, hint=hint or self.hint))

    def check_range(self, least: int, most: int) -> None:
        """Refuse a value outside ``least`` to ``most``."""
        if not least <= self.value <= most:
            self.refuse(f"it must be {least} to {most}")


def _given(
    option: str, chosen: int | None, field: str, written: int | None, *, default: int
) -> _Given:
    if chosen is not None:
        return _Given(option, chosen, UsageError)
    value = default if written is None else written
    return _Given(field, value, MetadataError, hint=f"{option} overrides it")


def _shown(value: int) -> str:
    return str(value) if abs(value) < 2**64 else "a number of more than 64 bits"


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)


def _check_origin(fields: TritonMetadata, machine: TritonTarget, target: Target) -> None:
    if machine.backend not in (None, target.name):
        raise MetadataError(
            Diagnostic(
                f"target.backend is '{shortened(machine.backend or '')}': the kernel was not "
                f"compiled for {target.name}",
                hint="emit a launcher for a kernel of the same target",
            )
        )
    if is_sanitized(fields.instrumentation_mode or ""):
        raise UnsupportedError(
            Diagnostic(
                "instrumentation_mode is 'gsan': Triton's sanitizer gives the kernel parameters "
                "that no launcher of launchgen passes",
                hint="compile the kernel without the sanitizer",
            )
        )


def entry_name(raw: TritonMetadata | None, overrides: Overrides) -> str | None:
    """Return what the options, else the metadata, call the kernel in its image.

    Raises UsageError or MetadataError for what no kernel can be called.
    """
    fields = raw if raw is not None else TritonMetadata()
    if overrides.entry is not None:
        problem = _entry_problem(overrides.entry)
        if problem is not None:
            hint = "give the kernel's name inside the image"
            raise UsageError(Diagnostic(f"--entry {problem}", hint=hint))
        return overrides.entry
    if fields.name is None:
        return None
    problem = _entry_problem(fields.name)
    if problem is not None:
        raise MetadataError(Diagnostic(f"name {problem}", hint="--entry overrides it"))
    return fields.name


def _entry_problem(name: str) -> str | None:
    if len(name) > MOST_ENTRY:
        return f"has {len(name):,} characters: a kernel's name has at most {MOST_ENTRY:,}"
    if not name or not name.isprintable():
        return f"is {shortened(name)!a}: no kernel is called so"
    return None


def _num_warps(
    raw: TritonMetadata | None,
    overrides: Overrides,
    warp_size: int,
    target: Target,
    compiled: Entry | None,
) -> int:
    written = None if raw is None else raw.num_warps
    if written is None and compiled is not None and compiled.block is not None:
        # A block that is no such number of warps is refused where the two are compared.
        written = max(1, math.prod(compiled.block) // max(1, warp_size))
    warps = _given("--num-warps", overrides.num_warps, "num_warps", written, default=0)
    if overrides.num_warps is None and written is None and raw is None:
        raise UsageError(
            Diagnostic(
                "how many warps a block has is not known",
                hint="--num-warps says it, or --metadata with the kernel's launch metadata",
            )
        )
    if overrides.num_warps is None and written is None:
        raise MetadataError(
            Diagnostic(
                "num_warps is missing in the launch metadata",
                hint="--num-warps gives it, or another file with --metadata",
            )
        )
    if not 1 <= warp_size <= target.max_threads:
        size = _Given("warp_size", warp_size, MetadataError)
        size.refuse(f"{target.name} has warps of {target.warp_size} threads")
    # Any number will do, not only powers of two: warp-specialised kernels have 12, for example.
    most = target.max_threads // warp_size
    if not 1 <= warps.value <= most:
        problem = f"a block has at most {target.max_threads} threads, {most} warps of {warp_size}"
        warps.refuse(problem, hint=f"1 to {most} warps are possible")
    return warps.value


def _cluster(
    fields: TritonMetadata,
    overrides: Overrides,
    num_ctas: _Given,
    target: Target,
    compiled: Entry | None,
) -> Cluster:
    """Return the blocks of one cluster: of ``--cluster``, else as ``num_ctas`` says.

    Where neither does, the image knows the cluster of a kernel that has a fixed one.
    """
    if overrides.cluster is not None:
        dims = overrides.cluster
        shown = ",".join(map(_shown, dims))
        if min(dims) < 1 or math.prod(dims) > target.most_cluster:
            problem = f"--cluster is {shown}: a cluster has 1 to {target.most_cluster} blocks"
            raise UsageError(Diagnostic(problem, hint="as in --cluster 2,1,1"))
        if num_ctas.value not in (1, math.prod(dims)):
            problem = f"--cluster is {shown}, but {num_ctas.name} is {num_ctas.value}"
            hint = "the three numbers multiply to it; with --num-ctas 1 the grid counts blocks"
            raise UsageError(Diagnostic(problem, hint=hint))
        return dims
    # Triton looks at cluster_dims only when num_ctas is not 1, and they are no longer right when
    # an option changed num_ctas.
    written = fields.cluster_dims if overrides.num_ctas in (None, fields.num_ctas) else None
    own = fields.ctas_per_cga
    if num_ctas.value != 1 and own is not None and math.prod(own) not in (1, num_ctas.value):
        shown = ", ".join(map(_shown, own))
        num_ctas.refuse(f"the cluster is [{shown}], which is another number of blocks")
    if num_ctas.value == 1:
        return _uncounted_cluster(fields, overrides, target, compiled)
    if written is None:
        return num_ctas.value, 1, 1
    if min(written) < 1 or math.prod(written) != num_ctas.value:
        shown = ", ".join(map(_shown, written))
        problem = f"cluster_dims is [{shown}], but num_ctas is {num_ctas.value}"
        hint = "the three numbers must multiply to it; --cluster overrides them"
        raise MetadataError(Diagnostic(problem, hint=hint))
    return written


def _uncounted_cluster(
    fields: TritonMetadata, overrides: Overrides, target: Target, compiled: Entry | None
) -> Cluster:
    """Return the cluster of a kernel whose grid counts blocks."""
    written = fields.ctas_per_cga
    if written is not None and max(written) > 1:
        if min(written) < 1 or math.prod(written) > target.most_cluster:
            shown = ", ".join(map(_shown, written))
            problem = f"the cluster is [{shown}]: it has 1 to {target.most_cluster} blocks"
            raise MetadataError(Diagnostic(problem, hint="--cluster overrides it"))
        return written
    is_open = fields.num_ctas is None or bool(fields.launch_cluster)
    if is_open and overrides.num_ctas is None and compiled is not None and compiled.cluster:
        if math.prod(compiled.cluster) > target.most_cluster:
            problem = f"the image needs clusters of {dimensions_text(compiled.cluster)} blocks"
            hint = f"a cluster has 1 to {target.most_cluster}"
            raise UnsupportedError(Diagnostic(problem, hint=hint))
        return compiled.cluster
    return 1, 1, 1


def _preferred_cluster(fields: TritonMetadata, cluster: Cluster, target: Target) -> Cluster | None:
    """Return the cluster that a launch would rather have: a multiple of its own."""
    preferred = fields.preferred_ctas_per_cga
    if preferred is None or max(preferred) < 1 or preferred == cluster:
        return None
    is_multiple = all(
        ours > 0 and ours % least == 0 for ours, least in zip(preferred, cluster, strict=True)
    )
    if not is_multiple or math.prod(preferred) > target.most_cluster:
        shown = ", ".join(map(_shown, preferred))
        least = ", ".join(map(_shown, cluster))
        problem = f"the preferred cluster is [{shown}]: no multiple of the cluster, [{least}]"
        if is_multiple:
            problem = f"the preferred cluster is [{shown}]: more than {target.most_cluster} blocks"
        raise MetadataError(Diagnostic(problem))
    return preferred


def _flag(chosen: bool | None, field: str, written: bool | int | None) -> bool:
    if chosen is not None:
        return chosen
    # A kernel's author may have passed the option as a number, as in launch_pdl=1.
    if written not in (None, 0, 1):
        raise MetadataError(Diagnostic(f"{field} is {_shown(written)}: it must be true or false"))
    return bool(written)


def _scratch(name: str, chosen: Scratch | None, size: int | None, align: int | None) -> Scratch:
    option = f"--{name.replace('_', '-')}"
    if chosen is None:
        sized = _given(option, None, f"{name}_size", size, default=0)
        aligned = _given(option, None, f"{name}_align", align, default=1)
    else:
        sized = _Given(f"SIZE of {option}", chosen.size, UsageError)
        aligned = _Given(f"ALIGN of {option}", chosen.align, UsageError)
    sized.check_range(0, _MOST_SCRATCH)
    aligned.check_range(0, _MOST_ALIGN)
    if aligned.value & (aligned.value - 1):
        aligned.refuse("an alignment is a power of two")
    return Scratch(sized.value, max(1, aligned.value))


def _field_version(fields: TritonMetadata) -> Version | None:
    if fields.triton_version is None:
        return None
    try:
        return parse_version(fields.triton_version)
    except ValueError:
        problem = f"triton_version is {shortened(fields.triton_version)!a}: no version of Triton"
        raise MetadataError(Diagnostic(problem, hint="--triton-version overrides it")) from None


def _capability(machine: TritonTarget) -> int | None:
    if machine.arch is None:
        return None
    if isinstance(machine.arch, str) or machine.arch not in _ARCHITECTURES:
        arch = (
            f"{shortened(machine.arch)!a}"
            if isinstance(machine.arch, str)
            else _shown(machine.arch)
        )
        problem = f"target.arch is {arch}: no compute capability"
        raise MetadataError(Diagnostic(problem, hint="as in 90, for capability 9.0"))
    return machine.arch


def is_sanitized(modes: str) -> bool:
    """Return whether Triton's sanitizer is among the instrumentation modes: names and commas."""
    return "gsan" in {mode.strip() for mode in modes.split(",")}
