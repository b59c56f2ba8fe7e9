"""Launches and tensor maps that Triton's launcher and launchgen's are asked for: plain data.

A case is handed to a child process, which calls one of the two, and what reached the recording
driver comes back.  Sizes of the kernel's parameters are worked out here, apart from launchgen, as
the release that compiled the kernel laid them out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Type = str | tuple["Type", ...]
"""Triton's: a word of its signature, or a tuple of such."""

CONSTEXPR: Final = "constexpr"
TENSOR_MAP: Final = "nvTmaDesc"
_MAP_SIZE: Final = (128, 64)
"""Bytes and alignment: a parameter is aligned to 64 whatever ``cuda.h`` says."""
_WIDE: Final = 8
_SIZES: Final[Mapping[str, int]] = {
    **{f"{letter}{bits}": bits // 8 for letter in "iu" for bits in (8, 16, 32, 64)},
    "i1": 1,
    "u1": 1,
    "fp16": 2,
    "bf16": 2,
    "fp32": 4,
    "f32": 4,
    "fp64": 8,
}


@dataclass(frozen=True)
class Release:
    """What a release's launcher takes; where it is wrong, the values that it is right for."""

    name: str
    module: bool
    """Each signature has a module of its own, which the launcher class calls."""
    hidden: int
    """Hidden parameters: global scratch, then profile scratch."""
    flags: int
    """Of a decomposed descriptor: padding, then rounding to tf32."""
    padding: bool
    """Descriptors say how to fill what lies outside."""
    rounding: bool
    """Descriptors say whether to round to tf32, and maps are mended for old drivers."""
    nested: bool
    """Descriptors stand in tuples as well, and there are those of im2col."""
    cluster_dims: bool
    """The metadata has a cluster of three numbers."""
    large_clusters: bool
    """16 blocks are launched; before, the driver refused them."""
    negative_i8: bool
    """Before, ``i8`` took 0 to 255: negative numbers were refused, and 200 arrived as -56."""
    oversized_shared: bool
    """More shared memory than any device had is asked for with an attribute of its own."""

    @property
    def version(self) -> tuple[int, ...]:
        return tuple(map(int, self.name.split(".")))


RELEASES: Final = (
    Release(
        "3.4.0",
        module=True,
        hidden=1,
        flags=0,
        padding=False,
        rounding=False,
        nested=False,
        cluster_dims=True,
        large_clusters=False,
        negative_i8=False,
        oversized_shared=False,
    ),
    Release(
        "3.5.1",
        module=True,
        hidden=2,
        flags=1,
        padding=True,
        rounding=False,
        nested=False,
        cluster_dims=True,
        large_clusters=False,
        negative_i8=False,
        oversized_shared=False,
    ),
    Release(
        "3.6.0",
        module=True,
        hidden=2,
        flags=1,
        padding=True,
        rounding=False,
        nested=False,
        cluster_dims=False,
        large_clusters=True,
        negative_i8=False,
        oversized_shared=False,
    ),
    Release(
        "3.7.0",
        module=False,
        hidden=2,
        flags=2,
        padding=True,
        rounding=True,
        nested=False,
        cluster_dims=False,
        large_clusters=True,
        negative_i8=True,
        oversized_shared=False,
    ),
    Release(
        "3.8.0",
        module=False,
        hidden=2,
        flags=2,
        padding=True,
        rounding=True,
        nested=True,
        cluster_dims=False,
        large_clusters=True,
        negative_i8=True,
        oversized_shared=True,
    ),
    Release(
        "3.9.0",
        module=False,
        hidden=2,
        flags=2,
        padding=True,
        rounding=True,
        nested=True,
        cluster_dims=False,
        large_clusters=True,
        negative_i8=True,
        oversized_shared=True,
    ),
)


# ---- values --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tensor:
    """An object with ``data_ptr``."""

    address: int


@dataclass(frozen=True)
class Tiled:
    """What a tensor map is filled with, as Triton's ``fill_tma_descriptor`` takes it."""

    address: int
    swizzle: int
    elem_size: int
    elem_type: int
    """In the host's numbering."""
    block: tuple[int, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    padding: bool = False

    @property
    def span(self) -> int:
        """Return the bytes from the first element to the last one."""
        steps = zip(self.shape, self.strides, strict=True)
        return sum((size - 1) * stride * self.elem_size for size, stride in steps)


@dataclass(frozen=True)
class Im2col:
    """The same of ``fill_tma_descriptor_im2col``."""

    tensor: Tiled
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    element_strides: tuple[int, ...]


Map = Tiled | Im2col


@dataclass(frozen=True)
class Descriptor:
    """An object that describes a tensor, as the caller of a kernel has it."""

    base: Tensor
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    padding: str = "zero"
    round_tf32: bool = False
    lower: tuple[int, ...] | None = None
    upper: tuple[int, ...] | None = None
    element_strides: tuple[int, ...] | None = None


Value = Any
"""A number, None, a text, a tuple of values, or one of the classes above; a Tiled is its map."""


# ---- cases ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    grid: tuple[int, int, int]
    values: tuple[Value, ...]
    on_stream: bool = False
    hooks: bool = False


@dataclass(frozen=True)
class Case:
    """A kernel, and the launches of it."""

    types: tuple[Type, ...]
    calls: tuple[Call, ...]
    metas: tuple[Mapping[str, Any], ...] = ()
    """``tensordesc_meta``; empty: descriptors are decomposed."""
    num_warps: int = 4
    cluster: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0
    cooperative: bool = False
    pdl: bool = False
    scratch: tuple[tuple[int, int], tuple[int, int]] = field(default=((0, 1), (0, 1)))
    """Size and alignment of global and of profile scratch."""

    @property
    def num_ctas(self) -> int:
        x, y, z = self.cluster
        return x * y * z

    @property
    def leaves(self) -> tuple[str, ...]:
        return tuple(_leaves(self.types))

    @property
    def text(self) -> str:
        """Return the signature in launchgen's notation."""
        return ", ".join(map(_text, self.types))

    def metadata(self, release: Release) -> dict[str, Any]:
        """Return the kernel's metadata as the release has it."""
        (size, align), (profile_size, profile_align) = self.scratch
        fields: dict[str, Any] = {
            "name": "k",
            "triton_version": release.name,
            "num_warps": self.num_warps,
            "num_ctas": self.num_ctas,
            "shared": self.shared,
            "launch_cooperative_grid": self.cooperative,
            "launch_pdl": self.pdl,
            "global_scratch_size": size,
            "global_scratch_align": align,
            "tensordesc_meta": [dict(meta) for meta in self.metas],
        }
        if release.hidden > 1:
            fields |= {
                "profile_scratch_size": profile_size,
                "profile_scratch_align": profile_align,
            }
        if release.cluster_dims:
            fields["cluster_dims"] = list(self.cluster)
        return fields

    def slots(self, release: Release) -> tuple[tuple[str, int, int], ...]:
        """Return each parameter of the kernel: its type, size and alignment."""
        words = [word for leaf in self.leaves for word in self._expanded(leaf, release)]
        listed = [(word, *_size(word)) for word in words if word != CONSTEXPR]
        scratch = ("global scratch", "profile scratch")[: release.hidden]
        return (*listed, *((word, _WIDE, _WIDE) for word in scratch))

    def _expanded(self, leaf: str, release: Release) -> tuple[str, ...]:
        if not is_descriptor(leaf):
            return (leaf,)
        rank = rank_of(leaf)
        behind = ("i32",) * rank + ("i64",) * rank
        if self.metas:
            return (TENSOR_MAP, *behind)
        return ("*", *("i64",) * (2 * rank), *("i1",) * release.flags, *behind)


def is_descriptor(type_: Type) -> bool:
    return isinstance(type_, str) and type_.startswith("tensordesc")


def rank_of(descriptor: str) -> int:
    given = re.search(r",input_rank=(\d+)", descriptor)
    sizes = descriptor.partition("[")[2].partition("]")[0]
    return int(given[1]) if given else sizes.count(",") + 1


def _leaves(types: tuple[Type, ...]) -> Iterator[str]:
    for type_ in types:
        if isinstance(type_, tuple):
            yield from _leaves(type_)
        else:
            yield type_


def _text(type_: Type) -> str:
    if isinstance(type_, str):
        return type_
    return f"({', '.join(map(_text, type_))}{',' if len(type_) == 1 else ''})"


def _size(word: str) -> tuple[int, int]:
    if word == TENSOR_MAP:
        return _MAP_SIZE
    size = _WIDE if word.startswith("*") else _SIZES[word]
    return size, size


# ---- what came of them ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Encoded:
    """A call that made a tensor map, and what became of the map."""

    symbol: str
    arguments: Mapping[str, Any]
    words: tuple[int, ...]
    """The map's own; that in which the recording driver numbers it is 0."""


@dataclass(frozen=True)
class Launched:
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    on_stream: bool
    attributes: tuple[tuple[int, str], ...]
    """Numbers and bytes, sorted: the driver takes them in any order."""
    values: tuple[str | Encoded, ...]
    """Of each parameter its bytes in hexadecimal, or where its map came from."""


@dataclass(frozen=True)
class Outcome:
    """What one call did."""

    error: str | None = None
    launches: tuple[Launched, ...] = ()
    hooks: tuple[tuple[str, Any], ...] = ()
    allocations: tuple[tuple[int, int], ...] = ()


# ---- what a child is asked for -------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """Work for a child; ``side`` is whose launcher it calls."""

    side: str
    release: Release
    driver: Mapping[str, Any]
    cases: tuple[Case, ...] = ()
    maps: tuple[Map, ...] = ()
    built: tuple[str, ...] = ()
    """Of launchgen's side: the module of each case, or the one that fills maps."""


Answers = tuple[tuple[Outcome, ...], ...]
"""Of each case, what each call did."""
