"""Meta's "Level 0" launch metadata: the JSON that its Triton leaves beside an image.

One file says all that a launch needs, arguments included.  Reading it gives what Triton's own JSON
gives, and a signature; ``templates/json/level0.json.jinja`` writes it.

Source: ``make_launch_metadata`` in facebookexperimental/triton, ``backend/compiler.py``, and what
its ``launch.h`` makes of each field.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from launchgen.argument_names import argument_names
from launchgen.diagnostics import Diagnostic, MetadataError, Source, UnsupportedError, shown
from launchgen.level0_records import ABI_VERSION
from launchgen.limits import MOST_ARGUMENTS
from launchgen.notation import (
    Argument,
    Constant,
    Signature,
    Unknown,
    divisibility_hint,
)
from launchgen.readers import is_writable
from launchgen.signature import parse
from launchgen.triton_json import TensorDescriptorMeta, TritonMetadata, decode_json


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
    args: tuple[Level0Argument, ...] | None = None
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


def read_arguments(level0: Level0, source: Source) -> Signature:
    """Return the arguments as a signature, constants at their places.

    Raises SignatureError for a type that is none, MetadataError for two arguments at one place.
    """
    arguments = level0.args or ()
    written_names = Counter(argument.name for argument in arguments)
    name, times = next(iter(written_names.most_common(1)), ("", 1))
    if times > 1:
        problem = f"args: {times} arguments are called {shown(name)}"
        raise MetadataError(Diagnostic(problem, source=Source(source.name, "")))
    wanted: dict[int, str] = {}
    found: dict[int, Argument] = {}
    for written in arguments:
        if not 0 <= written.index < MOST_ARGUMENTS:
            raise _misplaced(written, source, "which is no place in a call")
        if written.index in found:
            raise _misplaced(written, source, "as another argument has")
        wanted[written.index] = written.name
        found[written.index] = _argument(written, source)
    for index, constant in _constants(level0, source):
        if index in found:
            another = (
                f"that of argument {shown(wanted[index])}" if index in wanted else "there twice"
            )
            problem = f"constants: index {index} is {another}"
            raise MetadataError(Diagnostic(problem, source=Source(source.name, "")))
        found[index] = Argument(constant)
    unknown = Argument(Constant(Unknown(), declared=True))
    places = range(max(found, default=-1) + 1)
    # By place and not as listed: a constant's is a name that no argument may have.
    names = argument_names([wanted.get(index, "") for index in places])
    listed = (found.get(index, unknown) for index in places)
    return Signature(tuple(map(Argument.renamed, listed, names)), source)


def _misplaced(written: Level0Argument, source: Source, problem: str) -> MetadataError:
    text = f"args: {shown(written.name)} has index {written.index}, {problem}"
    return MetadataError(Diagnostic(text, source=Source(source.name, "")))


def _argument(written: Level0Argument, source: Source) -> Argument:
    # Triton writes a tuple as Python's, its types as strings.
    text = written.type.replace("'", "").replace('"', "")
    parsed = parse(text, name=f"{source.name} (args, type of {shown(written.name)})").arguments
    plain = len(parsed) == 1 and parsed[0].hint is None and not parsed[0].name
    if not plain or isinstance(parsed[0].type, Constant):
        problem = f"args: {shown(written.name)} has type {shown(written.type)}, which is no type"
        raise MetadataError(Diagnostic(problem, source=Source(source.name, "")))
    type_ = parsed[0].type
    return Argument(type_, divisibility_hint(type_, written.divisible_by or 0))


def _constants(level0: Level0, source: Source) -> Iterator[tuple[int, Constant]]:
    for key, value in level0.constants.items():
        # An element of a tuple is not a number: its type says that it is a constant.
        if _INDEX.fullmatch(key):
            if len(key) > _MOST_DIGITS or int(key) >= MOST_ARGUMENTS:
                problem = f"constants: index {shown(key)} is no place in a call"
                raise MetadataError(Diagnostic(problem, source=Source(source.name, "")))
            is_value = value is None or isinstance(value, bool | int | float | str)
            is_literal = is_value and is_writable(value)
            constant = Constant(value if is_literal else Unknown(), declared=not is_literal)
            yield int(key), constant


_INDEX: Final = re.compile(r"[0-9]+", re.ASCII)
_MOST_DIGITS: Final = 6
