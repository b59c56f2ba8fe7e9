"""Meta's "Level 0" launch metadata: the JSON that its Triton leaves beside an image.

One file says all that a launch needs, arguments included.  Reading it gives what Triton's own JSON
gives, and a signature; ``templates/json/level0.json.jinja`` writes it.

Source: ``make_launch_metadata`` in facebookexperimental/triton, ``backend/compiler.py``, and what
its ``launch.h`` makes of each field.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from launchgen.argument_names import argument_names
from launchgen.diagnostics import Diagnostic, MetadataError, Source, UnsupportedError
from launchgen.level0_records import ABI_VERSION
from launchgen.literals import write_literal
from launchgen.triton_json import TensorDescriptorMeta, TritonMetadata, decode_json

_PROMISED: Final = 16


class Level0Argument(Struct, frozen=True):
    """One run-time argument, at its place among the source arguments."""

    name: str
    type: str
    index: int
    divisible_by: int | None = None


class Level0(Struct, frozen=True):
    """The file, as written; None: not there."""

    abi_version: int
    entry_name: str
    num_warps: int | None = None
    num_ctas: int | None = None
    shared_mem: int | None = None
    cluster_dims: tuple[int, int, int] | None = None
    """Counts where ``num_ctas`` is 1: a cluster that the grid does not count."""
    preferred_cluster_dims: tuple[int, int, int] | None = None
    launch_cooperative_grid: bool | int | None = None
    launch_cluster: bool | int | None = None
    launch_pdl: bool | int | None = None
    global_scratch_size: int | None = None
    global_scratch_align: int | None = None
    profile_scratch_size: int | None = None
    profile_scratch_align: int | None = None
    tmem_size: int | None = None
    args: tuple[Level0Argument, ...] = ()
    constants: dict[str, Any] = {}
    """By the index of the source argument, as text; of an element of a tuple, ``(0, 1)``."""
    tensordesc_meta: tuple[TensorDescriptorMeta, ...] = ()
    auto_tma_recipes: tuple[Any, ...] = ()


def read_level0(source: Source) -> Level0:
    """Decode the JSON; raises InputError as for Triton's own, UnsupportedError for what is new."""
    found = decode_json(source, Level0)
    if found.abi_version != ABI_VERSION:
        problem = f"abi_version is {found.abi_version}: only {ABI_VERSION} is known"
        raise UnsupportedError(Diagnostic(problem, source=Source(source.name, "")))
    if found.auto_tma_recipes:
        raise UnsupportedError(
            Diagnostic(
                "auto_tma_recipes is not empty: the compiler gave the kernel tensor maps that no "
                "launcher of launchgen makes",
                source=Source(source.name, ""),
                hint="compile the kernel without automatic TMA",
            )
        )
    return found


def as_triton_metadata(level0: Level0) -> TritonMetadata:
    """Return the same launch in the fields of Triton's JSON."""
    return TritonMetadata(
        name=level0.entry_name,
        num_warps=level0.num_warps,
        num_ctas=level0.num_ctas,
        ctas_per_cga=level0.cluster_dims,
        preferred_ctas_per_cga=level0.preferred_cluster_dims,
        launch_cluster=level0.launch_cluster,
        shared=level0.shared_mem,
        launch_cooperative_grid=level0.launch_cooperative_grid,
        launch_pdl=level0.launch_pdl,
        global_scratch_size=level0.global_scratch_size,
        global_scratch_align=level0.global_scratch_align,
        profile_scratch_size=level0.profile_scratch_size,
        profile_scratch_align=level0.profile_scratch_align,
        tensordesc_meta=level0.tensordesc_meta,
        tmem_size=level0.tmem_size,
    )


def signature_text(level0: Level0, source: Source) -> str:
    """Return the arguments in launchgen's notation, constants at their places.

    Raises MetadataError where two arguments have one place.
    """
    names = argument_names([argument.name for argument in level0.args])
    texts: dict[int, str] = {}
    for argument, name in zip(level0.args, names, strict=True):
        hint = f":{_PROMISED}" if _promises(argument) else ""
        if argument.index in texts or not 0 <= argument.index < _MOST_ARGUMENTS:
            problem = f"args: index {argument.index} of {name!r} is no place of its own"
            raise MetadataError(Diagnostic(problem, source=Source(source.name, "")))
        # Triton writes a tuple as Python's, its types as strings.
        type_ = argument.type.replace("'", "").replace('"', "")
        texts[argument.index] = f"{name}: {type_}{hint}" if name else f"{type_}{hint}"
    constants = dict(_constants(level0))
    last = max([*texts, *constants], default=-1)
    return ", ".join(texts.get(at, constants.get(at, "constexpr")) for at in range(last + 1))


_MOST_ARGUMENTS: Final = 65_536


def _promises(argument: Level0Argument) -> bool:
    return bool(argument.divisible_by) and (argument.divisible_by or 1) % _PROMISED == 0


def _constants(level0: Level0) -> Iterator[tuple[int, str]]:
    for key, value in level0.constants.items():
        if not key.isdecimal() or int(key) >= _MOST_ARGUMENTS:
            continue  # an element of a tuple: its type says that it is a constant
        is_literal = value is None or isinstance(value, bool | int | float | str)
        yield int(key), write_literal(value) if is_literal else "constexpr"
