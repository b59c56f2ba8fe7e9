"""Hypothesis strategies for launches and tensor maps: every type, and what Triton gets right.

Where Triton is known to be wrong, values are kept out, and the comment says which: there launchgen
differs on purpose.  ``first`` draws as many as asked for, the same ones each time.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from launchgen.scalars import SCALARS
from tests.triton_side import memory
from tests.triton_side.cases import (
    CONSTEXPR,
    TENSOR_MAP,
    Call,
    Case,
    Descriptor,
    Im2col,
    Release,
    Tensor,
    Tiled,
    Type,
    Value,
    is_descriptor,
    rank_of,
)

T = TypeVar("T")


def first(
    count: int, strategy: st.SearchStrategy[T], *, key: Callable[[T], object] = repr
) -> tuple[T, ...]:
    """Return ``count`` examples of a strategy, of which no two have the same key."""
    found: dict[object, T] = {}
    # One long run would vary each example several times before it draws the next.
    for number in itertools.count():
        if len(found) >= count:
            break
        assert number < 10 * count, f"only {len(found)} distinct examples"
        _draw_a_few(strategy, number, lambda example: found.setdefault(key(example), example))
    return tuple(found.values())[:count]


def _draw_a_few(strategy: st.SearchStrategy[T], number: int, take: Callable[[T], object]) -> None:
    @seed(number)
    @settings(
        # The first is the simplest one, which the strategy has once.
        max_examples=3,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: T) -> None:
        take(example)

    collect()


# ---- numbers -------------------------------------------------------------------------------------

# Strategies are made once: to make one takes longer than to draw from it.
_integers = cache(st.integers)


@cache
def _one_of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


def _range(bits: int, *, signed: bool) -> st.SearchStrategy[int]:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return st.integers(low, high) | st.sampled_from([low, high, 0, 1])


def _bf16(bits: int) -> float:
    """Return the number of which ``bits`` are the bf16."""
    (number,) = struct.unpack("<f", struct.pack("<I", bits << 16))
    return float(number)


_odd_floats = st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 0.1, -1.5])
# One NaN: what becomes of another's bits is nowhere said.
_doubles = st.floats(allow_nan=False) | _odd_floats
_FLOATS: Final[Mapping[str, st.SearchStrategy[float]]] = {
    # Beyond 65,520 Triton launches with an undefined half and raises afterwards.
    "fp16": st.floats(-65519.0, 65519.0) | _odd_floats,
    # Triton cuts off what a bf16 has no bits for, so only numbers that are one.
    "bf16": st.integers(0, 0xFFFF).map(_bf16).filter(lambda number: not math.isnan(number)),
    "fp32": _doubles,
    "f32": _doubles,
    "fp64": _doubles,
}
# Out of range Triton wraps unsigned integers, from 3.7 on signed ones too, and takes any as a bool.
_INTEGERS: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    **{f"i{bits}": _range(bits, signed=True) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": _range(bits, signed=False) for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("i1", "u1"), st.booleans() | st.integers(0, 1)),
}
SCALAR_TYPES: Final = (*_INTEGERS, *_FLOATS)


@cache
def _addresses(multiple: int = 1) -> st.SearchStrategy[int]:
    """Return addresses of memory that the driver knows."""
    starts = st.sampled_from([memory.DEVICE, memory.MANAGED, memory.PINNED])
    offsets = _integers(0, (memory.SIZE - 1) // multiple)
    return st.builds(lambda start, offset: start + offset * multiple, starts, offsets)


@cache
def _tensors(multiple: int = 1) -> st.SearchStrategy[Tensor]:
    return _addresses(multiple).map(Tensor)


# Of 2**64 and more, and of negative ones, Triton launches all ones and raises afterwards.
_pointers = st.none() | _range(64, signed=False) | _tensors() | st.just(Tensor(0))
_ignored = st.none() | st.integers(-5, 5) | st.sampled_from(["relu", 1.5, ()])


# ---- tensor maps ---------------------------------------------------------------------------------

# Element types that a map can have: device's number, host's number, bytes, name.
_UNPADDED: Final = (
    (0, 0, 1, "u8"), (1, 1, 2, "u16"), (2, 2, 4, "u32"), (3, 3, 4, "i32"), (4, 4, 8, "u64"),
    (5, 5, 8, "i64"), (6, 6, 2, "fp16"), (7, 7, 4, "fp32"), (8, 10, 4, "fp32"), (9, 8, 8, "fp64"),
    (10, 9, 2, "bf16"), (11, 11, 4, "fp32"), (12, 12, 4, "fp32"),
)  # fmt: skip
_HALF: Final = (6, 6, 2, "fp16")
_FP4: Final = (14, 14, 1, "u8")
_FLOAT_TYPES: Final = range(6, 13)
_FP32: Final = 7
_SPANS: Final = (256 * 8, 32, 64, 128)
"""Bytes that the innermost box may have, of each swizzle."""
_MOST_STRIDE: Final = 1 << 40
_MOST_SIZE: Final = 1 << 32
_MOST_I32: Final = (1 << 31) - 1

Element = tuple[int, int, int, str]
# Those that kernels have most stand there more than once.
_elements = st.sampled_from([*_UNPADDED, *[_HALF] * 2, *[_FP4] * 3])
_booleans = st.booleans()


def _tiles(
    draw: st.DrawFn, element: Element, rank: int, *, most_size: int = _MOST_SIZE
) -> dict[str, Any]:
    """Return swizzle, block, shape and strides of a map that the encoder takes."""
    padded = element is _FP4
    size = element[2]
    swizzle = draw(_one_of(0, 3) if padded else _one_of(0, 1, 2, 3))
    multiple = 16 // size
    inner = min(256, _SPANS[swizzle] // size)
    box = 128 if padded else multiple * draw(_integers(1, inner // multiple))
    # A map of FP4 is twice as long as the tensor of bytes, and wants a multiple of 128.
    last = 64 * draw(_integers(1, most_size // 128)) if padded else draw(_sizes(most_size))
    step = (32 if padded else 16) // size
    outer = draw(_several(_steps((_MOST_STRIDE - 1) // size // step), rank - 1))
    return {
        "swizzle": swizzle,
        "block": (*draw(_several(_integers(1, 256), rank - 1)), box),
        "shape": (*draw(_several(_sizes(most_size), rank - 1)), last),
        "strides": (*(step * number for number in outer), 1),
    }


@cache
def _several(strategy: st.SearchStrategy[int], count: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[strategy] * count)


@cache
def _sizes(most: int) -> st.SearchStrategy[int]:
    return st.integers(1, 64) | st.integers(1, most) | st.just(most)


@cache
def _steps(most: int) -> st.SearchStrategy[int]:
    return st.integers(1, 4096) | st.integers(1, most)


@cache
def _corners(rank: int) -> st.SearchStrategy[tuple[int, ...]]:
    most = {3: 1 << 15, 4: 1 << 7, 5: 1 << 4}[rank]
    return _several(st.integers(-most, most - 1), rank - 2)


def _tiled(draw: st.DrawFn, release: Release) -> Tiled:
    element = draw(_elements)
    fields = _tiles(draw, element, draw(_integers(1, 5)))
    if element is _FP4:
        fields["shape"] = (*fields["shape"][:-1], 2 * fields["shape"][-1])
    may_pad = release.padding and element[1] in _FLOAT_TYPES
    return Tiled(
        address=draw(_addresses(32)),
        elem_size=element[2],
        elem_type=element[1],
        padding=may_pad and draw(_booleans),
        **fields,
    )


@st.composite
def tiled(draw: st.DrawFn, release: Release) -> Tiled:
    """Return what the release's function that fills a map is called with."""
    return _tiled(draw, release)


@st.composite
def im2col(draw: st.DrawFn, release: Release) -> Im2col:
    """Return the same for a map of pixels; 3.8 was the first with them."""
    rank = draw(_integers(3, 5))
    element = draw(_one_of(*_UNPADDED))
    fields = _tiles(draw, element, rank)
    channels = fields.pop("block")[-1]
    tensor = Tiled(
        address=draw(_addresses(16)),
        elem_size=element[2],
        elem_type=element[1],
        block=(draw(_integers(1, 1024)), channels),
        padding=release.padding and element[1] in _FLOAT_TYPES and draw(_booleans),
        **fields,
    )
    lower, upper = draw(_corners(rank)), draw(_corners(rank))
    return Im2col(tensor, lower, upper, draw(_several(_integers(1, 8), rank)))


# ---- signatures ----------------------------------------------------------------------------------

_pointees = st.sampled_from(list(SCALARS))
_pointer_types = st.builds(
    lambda stars, constant, pointee: f"{stars}{constant}{pointee}",
    st.sampled_from(["*", "*", "*", "**"]),
    st.sampled_from(["", "k"]),
    _pointees,
)
_PLAIN_KINDS: Final = (*("scalar", "pointer") * 3, "constant")
_KINDS: Final = (*_PLAIN_KINDS, "map", "descriptor", "descriptor", "descriptor")
_LAYOUT: Final = ",NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, cga_layout=[])"


def _descriptor_text(
    element: str, block: tuple[int, ...], layout: str, input_rank: int | None
) -> str:
    sizes = ", ".join(map(str, block))
    if input_rank is None:
        return f"tensordesc<{element}[{sizes}]{layout}>"
    return f"tensordesc_im2col<{element}[{sizes}],input_rank={input_rank}{layout}>"


def _descriptor(draw: st.DrawFn, release: Release) -> tuple[str, dict[str, Any]]:
    """Return a descriptor's word, and its entry of the metadata."""
    element = draw(_elements)
    layout = draw(_one_of("", _LAYOUT))
    pixels = release.nested and element is not _FP4 and draw(_booleans)
    rank = draw(_integers(3, 5) if pixels else _integers(1, 5))
    fields = _tiles(draw, element, rank, most_size=_MOST_I32)
    block = (draw(_integers(1, 1024)), fields["block"][-1]) if pixels else fields["block"]
    meta = {
        "swizzle": fields["swizzle"],
        "elem_size": element[2],
        "elem_type": element[0],
        "block_size": list(block),
        "fp4_padded": element is _FP4,
    }
    if release.nested:
        meta["is_im2col"] = pixels
    return _descriptor_text(element[3], block, layout, rank if pixels else None), meta


def _types(draw: st.DrawFn, release: Release) -> tuple[tuple[Type, ...], tuple[Any, ...]]:
    """Return a signature's types and, in the order of its descriptors, their metadata."""
    metas: list[Any] = []
    kinds = _KINDS if draw(_booleans) else _PLAIN_KINDS
    inner = tuple(kind for kind in kinds if kind != "descriptor")

    def leaf(*, top: bool) -> Type:
        match draw(_one_of(*(kinds if top or release.nested else inner))):
            case "scalar":
                word: str = draw(_one_of(*SCALAR_TYPES))
                return word
            case "pointer":
                return draw(_pointer_types)
            case "constant":
                return CONSTEXPR
            case "map":
                return TENSOR_MAP
            case _:
                text, meta = _descriptor(draw, release)
                metas.append(meta)
                return text

    def element(depth: int) -> Type:
        if depth < 3 and draw(_integers(0, 4)) == 0:
            return tuple(element(depth + 1) for _ in range(draw(_integers(0, 3))))
        return leaf(top=depth == 0)

    types = tuple(element(0) for _ in range(draw(_integers(0, 8))))
    return types, tuple(metas)


# ---- values --------------------------------------------------------------------------------------


def _described(draw: st.DrawFn, text: str, meta: Mapping[str, Any], release: Release) -> Descriptor:
    """Return an object for a descriptor, of which ``meta`` says how its map is filled."""
    rank = rank_of(text)
    element = next(each for each in (*_UNPADDED, _FP4) if each[0] == meta["elem_type"])
    fields = _tiles(draw, element, rank, most_size=_MOST_I32)
    host = element[1]
    more: dict[str, Any] = {}
    if release.padding and host in _FLOAT_TYPES:
        more["padding"] = draw(_one_of("zero", "nan"))
    if release.rounding and host == _FP32:
        more["round_tf32"] = draw(_booleans)
    if meta.get("is_im2col", False):
        more |= {"lower": draw(_corners(rank)), "upper": draw(_corners(rank))}
        strides = draw(_several(_integers(1, 8), rank))
        more["element_strides"] = strides if draw(_booleans) else None
    # Triton hands the encoder an address as it is, where launchgen asks the driver for the GPU's.
    base = Tensor(memory.DEVICE + draw(_integers(0, (memory.SIZE - 1) // 32)) * 32)
    return Descriptor(base, fields["shape"], fields["strides"], **more)


def _numbers(type_: str, release: Release) -> st.SearchStrategy[Any]:
    if type_.startswith("*"):
        return _pointers
    if type_ == CONSTEXPR:
        return _ignored
    if type_ == "i8" and not release.negative_i8:
        return _integers(0, 127)
    return _FLOATS[type_] if type_ in _FLOATS else _INTEGERS[type_]


def _values(
    draw: st.DrawFn, types: tuple[Type, ...], metas: tuple[Any, ...], release: Release
) -> tuple[Value, ...]:
    left = iter(metas)

    def value(type_: Type) -> Value:
        if isinstance(type_, tuple):
            return tuple(map(value, type_))
        if is_descriptor(type_):
            return _described(draw, type_, next(left), release)
        if type_ == TENSOR_MAP:
            return _tiled(draw, release)
        return draw(_numbers(type_, release))

    return tuple(map(value, types))


# ---- launches ------------------------------------------------------------------------------------

_OVERSIZED: Final = 228 * 1024
"""From one byte more on, 3.8 and newer ask for it with an attribute of its own."""
_shared = st.sampled_from([0, 48 * 1024, 48 * 1024 + 1]) | st.integers(0, 227 * 1024)
_oversized = _shared | st.sampled_from([_OVERSIZED, _OVERSIZED + 1, 299 * 1024])
_scratch = st.tuples(st.sampled_from([0, 0, 1, 384]), st.sampled_from([1, 16, 128]))


def _cluster(draw: st.DrawFn, release: Release) -> tuple[int, int, int]:
    blocks: int = draw(_one_of(1, 1, 1, 2, 4, 8, *([16] if release.large_clusters else [])))
    others = [(2, 2, 1), (1, 2, 1), (2, 1, 4)] if release.cluster_dims else []
    chosen: tuple[int, int, int] = draw(_one_of((blocks, 1, 1), (blocks, 1, 1), *others))
    return chosen


def _grid(draw: st.DrawFn, *, few: bool) -> tuple[int, int, int]:
    """Return a grid; of ``few`` blocks all run at once, however large a cluster is."""
    x, y, z = draw(_several(_integers(1, 2) if few else _integers(0, 9), 3))
    # Triton multiplies the three in 32 bits: of a larger product it launches nothing, in silence.
    large = [(6000 * x, y, 2), (1, 900 * y, 2), (2, 3, 900 * z)]
    chosen: tuple[int, int, int] = draw(_one_of((x, y, z), (x, 1, 1), *([] if few else large)))
    return chosen


@st.composite
def cases(draw: st.DrawFn, release: Release) -> Case:
    """Return a kernel and launches of it, for all of which the release's launcher is right."""
    types, metas = _types(draw, release)
    cooperative = draw(_booleans)
    calls = tuple(
        Call(
            _grid(draw, few=cooperative),
            _values(draw, types, metas, release),
            on_stream=draw(_booleans),
            hooks=draw(_booleans),
        )
        for _ in range(draw(_integers(1, 3)))
    )
    cluster, shared = (
        _cluster(draw, release),
        draw(_oversized if release.oversized_shared else _shared),
    )
    # All at once are five attributes, for which Triton has room for four: it crashes.
    pdl = draw(_booleans) and not (cooperative and cluster != (1, 1, 1) and shared > _OVERSIZED)
    return Case(
        types=types,
        calls=calls,
        # Below sm_90 there are no maps: one kernel's descriptors are all decomposed, or none is.
        metas=metas if draw(_integers(0, 2)) else (),
        num_warps=draw(_one_of(1, 2, 4, 8, 12, 16, 32)),
        cluster=cluster,
        shared=shared,
        cooperative=cooperative,
        pdl=pdl,
        scratch=(draw(_scratch), draw(_scratch) if release.hidden > 1 else (0, 1)),
    )
