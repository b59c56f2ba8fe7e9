"""THE table of scalar types: everything launchgen knows about a type token, one row each.

To add a scalar, add a row to ``_ROWS`` (and, if its bits are not what a C compiler makes of its
carrier, a fragment in ``templates/runtime/``); then run ``pytest --snapshot-update``.

Sizes and meaning follow Triton's type tokens (``triton/backends/nvidia/driver.py``,
``ty_to_cpp``, 3.6.0), except where its launcher and its kernels disagree: the kernel is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from msgspec import Struct


class Kind(Enum):
    """What values a scalar holds; decides which hints and which conversions it takes."""

    BOOL = "bool"
    SIGNED = "signed integer"
    UNSIGNED = "unsigned integer"
    FLOAT = "float"


class Scalar(Struct, frozen=True, kw_only=True, eq=False):
    """One scalar type.

    ``size`` is in bytes and equals the alignment of the kernel's slot.  The three C types are
    three different roles: what lies in the slot, what the caller passes, and what a pointer to it
    points to.
    """

    name: str
    """The token in a signature, in its canonical spelling."""
    kind: Kind
    size: int
    """Bytes of the slot, and its alignment."""
    mlir: str
    """What Triton's IR calls it; signedness is not in the IR."""
    storage_c: str
    """C type whose bits the kernel reads."""
    carrier_c: str
    """C type of the parameter in the C launcher's prototype."""
    pointee_c: str
    """C type that a pointer to it points to in the prototype; ``void`` where C has none."""
    argument: bool = True
    """False: legal after ``*`` only."""
    round_c: str = ""
    """Runtime function from carrier to storage bits that can refuse; empty: plain assignment."""
    python: str = ""
    """Type of the Python argument, as in the stub."""
    python_wide_c: str = ""
    """C type that the Python launcher reads a value into before it is narrowed."""
    python_convert_c: str = ""
    """Runtime function or function-like macro from a Python object to storage bits."""
    python_limits_c: str = ""
    """What that function needs to know of the type: bounds of an integer, narrowing of a float."""
    fragments: tuple[str, ...] = ()
    """Runtime fragments that both launchers need for it, in order."""
    python_fragments: tuple[str, ...] = ()
    """Runtime fragments that the Python launcher needs for it, in order."""
    aliases: tuple[str, ...] = ()
    """Other spellings that parse to this row and print as ``name``."""
    known_as: tuple[str, ...] = ()
    """What C, NumPy, PyTorch and MLIR call it, in lower case: not accepted, but suggested."""

    @property
    def is_integer(self) -> bool:
        """Whether the hints ``:16`` and ``:1`` may stand on it."""
        return self.kind is not Kind.FLOAT


_DOUBLE: Final = 8
"""Bytes of the widest float, which is also Python's own."""


def _signed(bits: int, known_as: tuple[str, ...]) -> Scalar:
    return Scalar(
        name=f"i{bits}",
        kind=Kind.SIGNED,
        size=bits // 8,
        storage_c=f"int{bits}_t",
        carrier_c=f"int{bits}_t",
        pointee_c=f"int{bits}_t",
        python="int",
        python_wide_c="int64_t",
        python_convert_c="lg_signed_from_object",
        python_fragments=("python_signed",),
        python_limits_c=f"INT{bits}_MIN, INT{bits}_MAX",
        mlir=f"i{bits}",
        known_as=(f"int{bits}", f"int{bits}_t", *known_as),
    )


def _unsigned(bits: int, known_as: tuple[str, ...]) -> Scalar:
    return Scalar(
        name=f"u{bits}",
        kind=Kind.UNSIGNED,
        size=bits // 8,
        storage_c=f"uint{bits}_t",
        carrier_c=f"uint{bits}_t",
        pointee_c=f"uint{bits}_t",
        python="int",
        python_wide_c="uint64_t",
        python_convert_c="lg_unsigned_from_object",
        python_fragments=("python_unsigned",),
        python_limits_c=f"UINT{bits}_MAX",
        mlir=f"i{bits}",
        known_as=(f"uint{bits}", f"uint{bits}_t", *known_as),
    )


def _bool(name: str, pointee_c: str, known_as: tuple[str, ...] = ()) -> Scalar:
    return Scalar(
        name=name,
        kind=Kind.BOOL,
        size=1,
        storage_c="uint8_t",
        carrier_c="bool",
        pointee_c=pointee_c,
        python="bool",
        python_wide_c="uint64_t",
        python_convert_c="lg_bool_from_object",
        python_fragments=("python_unsigned", "python_bool"),
        python_limits_c="1",
        mlir="i1",
        known_as=known_as,
    )


def _half(name: str, mlir: str, known_as: tuple[str, ...]) -> Scalar:
    """Return a 16-bit float: no C type, so its bits are rounded by a function of the runtime."""
    return Scalar(
        name=name,
        kind=Kind.FLOAT,
        size=2,
        storage_c="uint16_t",
        carrier_c="float",
        pointee_c="void",
        round_c=f"lg_{name}_from_double",
        python="float",
        python_wide_c="double",
        python_convert_c="lg_double_from_object",
        python_fragments=("python_double",),
        python_limits_c="LG_NARROWS",
        fragments=(f"round_{name}",),
        mlir=mlir,
        known_as=known_as,
    )


def _float(  # noqa: PLR0913 - one for each column in which they differ
    name: str,
    size: int,
    c_type: str,
    *,
    mlir: str,
    known_as: tuple[str, ...],
    aliases: tuple[str, ...] = (),
) -> Scalar:
    return Scalar(
        name=name,
        kind=Kind.FLOAT,
        size=size,
        storage_c=c_type,
        carrier_c=c_type,
        pointee_c=c_type,
        python="float",
        python_wide_c="double",
        python_convert_c="lg_double_from_object",
        python_fragments=("python_double",),
        python_limits_c="LG_NARROWS" if size < _DOUBLE else "LG_KEEPS",
        aliases=aliases,
        mlir=mlir,
        known_as=known_as,
    )


def _float8(name: str, mlir: str, known_as: tuple[str, ...] = ()) -> Scalar:
    return Scalar(
        name=name,
        kind=Kind.FLOAT,
        size=1,
        storage_c="uint8_t",
        carrier_c="void",
        pointee_c="void",
        argument=False,
        mlir=mlir,
        known_as=known_as,
    )


_ROWS: Final = (
    _bool("i1", pointee_c="uint8_t", known_as=("bool", "bool_", "_bool", "boolean")),
    _bool("u1", pointee_c="uint8_t"),
    _signed(8, ("char", "schar")),
    _signed(16, ("short",)),
    _signed(32, ("int", "integer")),
    _signed(64, ("long", "longlong", "ssize_t", "ptrdiff_t", "intptr_t")),
    _unsigned(8, ("uchar", "byte")),
    _unsigned(16, ("ushort",)),
    _unsigned(32, ("uint", "unsigned")),
    _unsigned(64, ("ulong", "ulonglong", "size_t", "uintptr_t")),
    _half("fp16", "f16", ("half", "float16", "f16", "__half")),
    _half("bf16", "bf16", ("bfloat16", "bfloat", "__nv_bfloat16")),
    _float(
        "fp32", 4, "float", mlir="f32", aliases=("f32",), known_as=("float", "float32", "single")
    ),
    _float("fp64", 8, "double", mlir="f64", known_as=("double", "float64", "f64")),
    _float8("fp8e4nv", "f8E4M3FN", ("float8_e4m3fn", "float8e4nv", "f8e4m3fn", "fp8e4m3", "fp8")),
    _float8("fp8e4b8", "f8E4M3FNUZ", ("float8_e4m3fnuz", "float8e4b8", "f8e4m3fnuz")),
    _float8("fp8e4b15", "f8E4M3B11FNUZ", ("float8e4b15",)),
    _float8("fp8e5", "f8E5M2", ("float8_e5m2", "float8e5", "f8e5m2", "fp8e5m2")),
    _float8("fp8e5b16", "f8E5M2FNUZ", ("float8_e5m2fnuz", "float8e5b16", "f8e5m2fnuz")),
)

SCALARS: Final[Mapping[str, Scalar]] = MappingProxyType({row.name: row for row in _ROWS})
"""Scalars by canonical name, in table order."""

IR_SPELLINGS: Final[Mapping[str, Scalar]] = MappingProxyType(
    {row.mlir: row for row in reversed(_ROWS)}
)
"""Scalars by what Triton's IR calls them: of those it does not tell apart, the first."""

SPELLINGS: Final[Mapping[str, Scalar]] = MappingProxyType(
    {spelling: row for row in _ROWS for spelling in (row.name, *row.aliases)}
)
"""Scalars by every spelling that a signature may use."""
