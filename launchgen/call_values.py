"""A signature and what the command line says of each argument, to the values of a launch.

Everything here is decided without a GPU.  To let ``bench`` take another kind of argument, add a
record and an arm of ``_value``; ``benchmark.py`` makes C values of the records.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from msgspec import Struct

from launchgen.diagnostics import Diagnostic, UsageError, did_you_mean
from launchgen.inputs import read_file
from launchgen.scalars import Kind, Scalar
from launchgen.signature import (
    Argument,
    BytesType,
    Constant,
    DescriptorType,
    Hint,
    PointerType,
    ScalarType,
    Signature,
    TensorMapType,
    TupleType,
    leaf_label,
    leaves,
)

Grid = tuple[int, int, int]

T = TypeVar("T")

_AXES: Final = 3
_LARGEST_AXIS: Final = 2**32 - 1
"""What the C launcher's parameter holds; what a launch takes it knows itself."""
_LARGEST_BUFFER: Final = 2**63 - 1
_LARGEST_STRUCT: Final = 2**20
"""Far more than all parameters of a kernel may have together."""
_UNITS: Final = MappingProxyType({"": 1, "K": 2**10, "M": 2**20, "G": 2**30})
_SIZE: Final = re.compile(r"([0-9]{1,19})(?:([KMG])(?:I?B)?)?", re.ASCII | re.IGNORECASE)
_SHAPE: Final = re.compile(r"[0-9]{1,19}(x[0-9]{1,19})*", re.ASCII)
_LARGEST_EXTENT: Final = 2**31 - 1
"""The kernel takes each size of a tensor in 32 bits."""
_ROW_MULTIPLE: Final = 16
"""Bytes: a tensor map takes no other distance between rows."""
_BOOLS: Final = MappingProxyType({"0": False, "1": True, "false": False, "true": True})


class Buffer(Struct, frozen=True):
    """Memory of the device, which an argument points to; of size 0: a null pointer."""

    label: str
    declared: str
    size: int


class Number(Struct, frozen=True):
    """A scalar."""

    label: str
    declared: str
    scalar: Scalar
    value: bool | int | float


class Memory(Struct, frozen=True):
    """A struct by value, of which the launcher takes the host's address."""

    label: str
    declared: str
    content: bytes


class Tensor(Struct, frozen=True):
    """Memory of the device, and the descriptor of a tensor that lies in it row by row."""

    label: str
    declared: str
    type: DescriptorType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements, the last one 1."""
    size: int
    """Bytes, with what fills the end of each row."""


CallValue = Buffer | Number | Memory | Tensor


class Sizes(Struct, frozen=True):
    """How large the memory behind each pointer is."""

    each: int
    named: Mapping[str, int]


def parse_grid(text: str) -> Grid:
    """Return the three numbers of ``X[,Y[,Z]]``; raises ValueError, its text for a user."""
    words = [word.strip() for word in text.split(",")]
    if len(words) > _AXES or not all(re.fullmatch(r"[0-9]{1,20}", word) for word in words):
        raise ValueError(f"'{text}' is not X, X,Y or X,Y,Z: numbers, as in 128 or 64,2,1")
    numbers = [*map(int, words), 1, 1]
    if 0 in numbers:
        raise ValueError(f"'{text}' is an empty grid, of which nothing is launched")
    if max(numbers) > _LARGEST_AXIS:
        raise ValueError(f"'{text}' is too large: no axis may exceed {_LARGEST_AXIS}")
    x, y, z = numbers[:_AXES]
    return x, y, z


def parse_settings(texts: Iterable[str]) -> Mapping[str, str]:
    """Return what each ``NAME=VALUE`` says; raises ValueError, its text for a user."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise ValueError(f"'{text}' is not NAME=VALUE, as in n=1024")
        _keep(found, name.strip(), value.strip())
    return found


def parse_sizes(texts: Sequence[str], *, default: str) -> Sizes:
    """Return what each ``NAME=SIZE`` says, and the ``SIZE`` of all others.

    Raises ValueError, its text for a user.
    """
    named: dict[str, int] = {}
    plain = [text for text in texts if "=" not in text]
    if len(plain) > 1:
        raise ValueError(f"both {plain[0]} and {plain[1]} are given for all pointers")
    for text in texts:
        name, equals, size = text.partition("=")
        if equals:
            _keep(named, name.strip(), _parse_size(size))
    return Sizes(_parse_size(plain[0] if plain else default), named)


def parse_quantiles(text: str) -> tuple[float, ...]:
    """Return the numbers of a list as ``0.2,0.8``, sorted; raises ValueError, for a user."""
    words = [word.strip() for word in text.split(",")]
    good = [word for word in words if re.fullmatch(r"0?\.[0-9]{1,15}|[01](\.0{1,15})?", word)]
    if good != words:
        raise ValueError(f"'{text}' is no list of numbers from 0 to 1, as in 0.2,0.8")
    return tuple(sorted(set(map(float, words))))


def parse_time(text: str) -> float:
    """Return the microseconds of so many milliseconds; raises ValueError, its text for a user."""
    # Stripped once: float() takes fewer characters for blanks than text does.
    number = text.strip()
    if not re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,9})?", number, re.ASCII):
        raise ValueError(f"'{text}' is no number of milliseconds, as in 100 or 0.5")
    return 1000 * float(number)


def _keep(found: dict[str, T], name: str, value: T) -> None:
    if name in found:
        raise ValueError(f"'{name}' is given twice")
    found[name] = value


def _parse_size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    size = int(match[1]) * _UNITS[(match[2] or "").upper()] if match else -1
    if not 0 <= size <= _LARGEST_BUFFER:
        raise ValueError(f"'{text}' is no size, as in 4096, 64KiB, 256MiB or 2GiB")
    return size


def choose_values(
    signature: Signature, *, settings: Mapping[str, str], sizes: Sizes
) -> tuple[CallValue, ...]:
    """Return a value for each parameter of the C launcher, in order.

    Raises UsageError with everything that is missing or wrong, InputError for a file that cannot
    be read.
    """
    given = _Given(settings, sizes)
    problems = [*_misplaced(signature, settings, sizes)]
    values: list[CallValue] = []
    missing: list[str] = []
    for leaf in leaves(signature):
        label = leaf_label(signature, leaf.path)
        try:
            found = _value(label, leaf.argument, given)
        except _MissingError:
            missing.append(label)
        except ValueError as error:
            problems.append(Diagnostic(f"argument '{label}' ({leaf.argument.declared}): {error}"))
        else:
            values += found
    if missing:
        problems.append(_missing(signature, missing))
    if problems:
        raise UsageError(*problems)
    return tuple(values)


class _Given(Struct, frozen=True):
    settings: Mapping[str, str]
    sizes: Sizes


class _MissingError(Exception):
    """An argument has no value, and none that could be guessed."""


def _value(label: str, argument: Argument, given: _Given) -> Iterator[CallValue]:
    """Return the value of a parameter, nothing for a constant; raises ValueError, for a user."""
    kind, text = argument.type, given.settings.get(label)
    match kind:
        case PointerType():
            size = given.sizes.named.get(label, given.sizes.each)
            return iter([Buffer(label, argument.declared, size)])
        case ScalarType(scalar):
            value = _number(scalar, argument.hint, text)
            return iter([Number(label, argument.declared, scalar, value)])
        case BytesType(size):
            return iter([Memory(label, argument.declared, _content(text, size))])
        case Constant():
            return iter(())
        case TensorMapType():
            raise ValueError("a tensor map is made for memory that bench does not know")
        case DescriptorType():
            return iter([_tensor(label, argument.declared, kind, text)])
        case TupleType():
            raise AssertionError(f"not a leaf: {kind}")


def _number(scalar: Scalar, hint: Hint | None, text: str | None) -> bool | int | float:
    if text is None:
        if hint is Hint.EQUALS_1:
            return _READ[scalar.kind]("1")
        raise _MissingError
    try:
        value = _READ[scalar.kind](text)
    except (ValueError, KeyError):
        raise ValueError(f"'{text}' is no {scalar.kind.value}") from None
    least, most = _limits(scalar)
    if not least <= value <= most and scalar.is_integer:
        raise ValueError(f"{text} is out of range, which is {least} to {most}")
    if hint is Hint.EQUALS_1 and value != 1:
        raise ValueError(f"{text} breaks the promise that it is 1")
    if hint is Hint.DIVISIBLE_BY_16 and value % 16:
        raise ValueError(f"{text} breaks the promise that it is a multiple of 16")
    return value


def _limits(scalar: Scalar) -> tuple[int, int]:
    bits = 8 * scalar.size
    match scalar.kind:
        case Kind.SIGNED:
            return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        case Kind.UNSIGNED:
            return 0, 2**bits - 1
        case Kind.BOOL | Kind.FLOAT:
            return 0, 1


def _integer(text: str) -> int:
    return int(text, 0)


_READ: Final[Mapping[Kind, Callable[[str], bool | int | float]]] = MappingProxyType(
    {
        Kind.BOOL: lambda text: _BOOLS[text.lower()],
        Kind.SIGNED: _integer,
        Kind.UNSIGNED: _integer,
        Kind.FLOAT: float,
    }
)


def _content(text: str | None, size: int) -> bytes:
    if text is None:
        raise _MissingError
    if not text.startswith("@"):
        raise ValueError(f"its {size} bytes are read from a file, as in --set NAME=@FILE")
    content = read_file(Path(text[1:]), _LARGEST_STRUCT).data
    if len(content) != size:
        raise ValueError(f"'{text[1:]}' has {len(content)} bytes, and {size} are passed")
    return content


def _tensor(label: str, declared: str, kind: DescriptorType, text: str | None) -> Tensor:
    if text is None:
        raise _MissingError
    shape = _read_shape(text, kind.rank)
    multiple = max(1, _ROW_MULTIPLE // kind.element.size)
    row = -(-shape[-1] // multiple) * multiple
    extents = (*shape[1:-1], row)
    strides = (*(math.prod(extents[axis:]) for axis in range(len(shape) - 1)), 1)
    size = shape[0] * strides[0] * kind.element.size
    if size > _LARGEST_BUFFER:
        raise ValueError(f"'{text}' takes more memory than there are addresses")
    return Tensor(label, declared, kind, shape, strides, size)


def _read_shape(text: str, rank: int) -> tuple[int, ...]:
    if not _SHAPE.fullmatch(text):
        raise ValueError(f"'{text}' is no list of sizes, {_AS_IN_SIZES}")
    shape = tuple(map(int, text.split("x")))
    if len(shape) != rank:
        counted = f"{len(shape)} size{'s' * (len(shape) != 1)}"
        raise ValueError(f"'{text}' has {counted}, and the tensor {rank}, outermost first")
    if not all(1 <= extent <= _LARGEST_EXTENT for extent in shape):
        raise ValueError(f"'{text}' is out of range, which is 1 to {_LARGEST_EXTENT} for each size")
    return shape


_AS_IN_SIZES: Final = "as in 4096x4096"
_WORDS: Final = MappingProxyType({BytesType: "@FILE", DescriptorType: "SIZES"})
"""What ``--set`` takes for an argument that is no number."""


def _missing(signature: Signature, labels: list[str]) -> Diagnostic:
    declared = {leaf_label(signature, leaf.path): leaf.argument for leaf in leaves(signature)}
    words = ", ".join(f"{label} ({declared[label].declared})" for label in labels)
    wanted = {label: _WORDS.get(type(declared[label].type), "VALUE") for label in labels}
    options = " ".join(f"--set {label}={word}" for label, word in wanted.items())
    example = f"; SIZES {_AS_IN_SIZES}" if "SIZES" in wanted.values() else ""
    return Diagnostic(f"no value is given for {words}", hint=f"add {options}{example}")


def _misplaced(
    signature: Signature, settings: Mapping[str, str], sizes: Sizes
) -> Iterator[Diagnostic]:
    """Yield what is wrong with the names that were given, whatever their values."""
    known = {leaf_label(signature, leaf.path): leaf.argument.type for leaf in leaves(signature)}
    for option, names in (("--set", settings), ("--buffer", sizes.named)):
        for name in names:
            kind = known.get(name)
            is_pointer = isinstance(kind, PointerType)
            if kind is None:
                yield _unknown(option, name, signature, known)
            elif isinstance(kind, Constant):
                yield Diagnostic(f"{option}: '{name}' is a constant, compiled into the kernel")
            elif is_pointer and option == "--set":
                problem = f"--set: '{name}' is a pointer, and gets memory of its own"
                yield Diagnostic(problem, hint=f"--buffer {name}=SIZE says how much")
            elif isinstance(kind, DescriptorType) and option == "--buffer":
                problem = f"--buffer: '{name}' is a descriptor, and gets what its tensor takes"
                hint = f"--set {name}=SIZES says how large that is, {_AS_IN_SIZES}"
                yield Diagnostic(problem, hint=hint)
            elif not is_pointer and option == "--buffer":
                problem = f"--buffer: '{name}' is no pointer ({kind})"
                yield Diagnostic(problem, hint=f"--set {name}=VALUE gives a value")


def _unknown(
    option: str, name: str, signature: Signature, known: Mapping[str, object]
) -> Diagnostic:
    elements = [label for label in known if label.startswith(f"{name}.")]
    if elements:
        problem = f"{option}: '{name}' is a tuple"
        return Diagnostic(problem, hint=f"its elements are {', '.join(elements)}")
    if not known:
        return Diagnostic(f"{option}: there is no argument '{name}', nor any other")
    near = did_you_mean(name, known)
    names = f"it takes {signature}"
    problem = f"{option}: there is no argument '{name}'"
    return Diagnostic(problem, hint=f"{near} {names}" if near else names)
