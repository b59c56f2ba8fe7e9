"""What the recording driver wrote down, as data.

One line of a log is one call; the same lines come from a file and from memory.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a launched kernel: the bytes that the kernel would have read."""

    offset: int
    """Bytes from where the kernel's parameters begin."""
    size: int
    """Bytes; the image says how many, whatever the launcher believed."""
    value: bytes


@dataclass(frozen=True, slots=True)
class Attribute:
    """One launch attribute: ``id`` is its number in ``cuda.h``.

    ``value`` holds the bytes that an attribute of this id has, all 64 for an id that is unknown.
    """

    id: int
    value: bytes

    @property
    def numbers(self) -> tuple[int, ...]:
        """The value as unsigned 32-bit numbers: ``(2, 1, 1)`` for a cluster."""
        return tuple(number for (number,) in struct.iter_unpack("<I", self._words))

    @property
    def _words(self) -> bytes:
        return self.value[: len(self.value) // 4 * 4]


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch that took place.  Handles are numbers; sizes are in bytes, grid and block counts."""

    sequence: int
    """Place in the log."""
    thread: int
    """The caller's thread, as ``threading.get_native_id`` has it."""
    function: int
    entry: str
    """The kernel's name in its image."""
    device: int
    """Ordinal of the device that the launch went to."""
    context: int
    """Handle of the context that the launch went to."""
    stream: int
    """Handle as the launcher gave it; 0 is the default stream."""
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    """Dynamic shared memory."""
    attributes: tuple[Attribute, ...]
    parameters: tuple[Parameter, ...]

    @property
    def values(self) -> tuple[bytes, ...]:
        """The bytes of each parameter, in order."""
        return tuple(parameter.value for parameter in self.parameters)

    def attribute(self, number: int) -> tuple[int, ...] | None:
        """Return the numbers of the attribute with this id, or None where it was not given."""
        found = (entry.numbers for entry in self.attributes if entry.id == number)
        return next(found, None)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the driver, successful or not."""

    sequence: int
    process: int
    thread: int
    name: str
    """The symbol that was called: ``cuCtxPopCurrent_v2``."""
    result: int
    """The ``CUresult`` that was returned."""
    forced: bool
    """Whether it failed because a test asked for that."""
    arguments: Mapping[str, Any]
    """What went in and, where the call succeeded, came out, by name."""
    launch: Launch | None
    """What was launched; None for other calls and for launches that failed."""


def parse_log(lines: Iterable[str]) -> tuple[Call, ...]:
    """Return the calls that ``lines`` hold, in order; raises ``ValueError`` for a foreign line."""
    return tuple(_call(json.loads(line)) for line in lines)


def read_log(path: Path | str) -> tuple[Call, ...]:
    """Return the calls in a file that ``LAUNCHGEN_RECORD`` named; none where it does not exist.

    A last line that is not complete, of a process that was killed, is left out.  Raises
    ``OSError`` for a file that cannot be read, ``ValueError`` for one that is no log.
    """
    path = Path(path)
    if not path.exists():
        return ()
    lines = path.read_text(encoding="ascii").splitlines(keepends=True)
    return parse_log(line for line in lines if line.endswith("\n"))


def _call(record: dict[str, Any]) -> Call:
    try:
        return Call(
            sequence=record["seq"],
            process=record["process"],
            thread=record["thread"],
            name=record["call"],
            result=record["result"],
            forced=record["forced"],
            arguments=MappingProxyType(record["args"]),
            launch=_launch(record, record["launch"]) if "launch" in record else None,
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a record of the recording driver: {record!r}") from error


def _launch(record: dict[str, Any], launch: dict[str, Any]) -> Launch:
    arguments = record["args"]
    return Launch(
        sequence=record["seq"],
        thread=record["thread"],
        function=arguments["function"],
        entry=launch["entry"],
        device=launch["device"],
        context=launch["context"],
        stream=arguments["stream"],
        grid=_three(arguments["grid"]),
        block=_three(arguments["block"]),
        shared=arguments["shared"],
        attributes=tuple(
            Attribute(entry["id"], bytes.fromhex(entry["value"]))
            for entry in arguments["attributes"]
        ),
        parameters=tuple(
            Parameter(entry["offset"], entry["size"], bytes.fromhex(entry["value"]))
            for entry in launch["parameters"]
        ),
    )


def _three(numbers: list[int]) -> tuple[int, int, int]:
    x, y, z = numbers
    return x, y, z
