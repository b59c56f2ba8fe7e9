"""Reads PTX: what it is compiled for, its kernels and their parameters.

Bodies of kernels are passed over: only their braces are counted, so that a text that was cut off
is found, and what looks like a kernel in a comment, in a string or in debug information is not
taken for one.  Every expression that is searched for matches whatever it has begun to match, so
that no text makes it try twice.

Offsets are those that ptxas gives for the PTX's own target; where a parameter is aligned to more
than 16 bytes they can differ on another GPU.

Source: PTX ISA 9.0, "Directives" and "Kernel Function Parameters"; and for what that leaves open
(where a parameter lies that asks for less than its natural alignment, which memories count as an
address) what ptxas does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from launchgen.architecture import Architecture
from launchgen.diagnostics import Diagnostic, ImageError
from launchgen.image import Dimensions, Entry, ImageFacts, as_parameters
from launchgen.limits import MOST_ENTRY, MOST_PARAMETERS
from launchgen.nvinfo import (
    CONSTANT,
    GENERIC,
    GLOBAL,
    LOCAL,
    SHARED,
    UNMARKED,
    MarkedParameter,
)

_COMMENT: Final = r"//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)"
_STRING: Final = r'"[^"\n]*"?'  # a backslash is like any other character

# What is looked for between kernels, and what has to be stepped over on the way.
_MARK: Final = re.compile(
    rf"{_COMMENT}|{_STRING}"
    r"|\{|\}|\.(?<![\w$%.]\.)(?:version|target|address_size|entry)(?![\w$])"
)
_TOKEN: Final = re.compile(rf"\s+|{_COMMENT}|{_STRING}|\.?[\w$%]+|(?s:.)")
_NAME: Final = re.compile(r"(?a:[A-Za-z][\w$]*|[_$%][\w$]+)")
_NUMBER: Final = re.compile(
    r"(?:0[xX]([0-9a-fA-F]{1,8})|0[bB]([01]{1,32})|0([0-7]{0,11})|([1-9]\d{0,9}))U?", re.ASCII
)
_RADIXES: Final = (16, 2, 8, 10)
_ARCHITECTURE: Final = re.compile(r"sm_([1-9]\d{0,3})([af]?)", re.ASCII)

_SIZES: Final = {
    f".{kind}{8 * size}": size
    for size, kinds in {1: "bsu", 2: "bsuf", 4: "bsuf", 8: "bsuf", 16: "b"}.items()
    for kind in kinds
}
_OPAQUE: Final = (".texref", ".samplerref", ".surfref")
_SPACES: Final = {".global": GLOBAL, ".const": CONSTANT, ".local": LOCAL, ".shared": SHARED}
_MOST_DIMENSIONS: Final = 3

# Where parameters begin in the constant bank, from a capability on: each parameter is aligned as
# its address in the bank is, but before sm_70 as its offset in the list is.
_BASES: Final = {0: 0, 70: 0x160, 90: 0x210, 100: 0x380}
_ADDRESS_BITS: Final = 64


def read_ptx(text: str) -> ImageFacts:
    """Return what a PTX module says of itself; raises ImageError."""
    architectures: list[Architecture] = []
    entries: dict[str, Entry] = {}
    has_version = False
    for word, at in _directives(text):
        if word == ".version":
            has_version = True
            continue
        reader = _Reader(text, at)
        if word == ".entry":
            if not architectures:
                raise _error("the PTX has an entry before its .target directive", text, at)
            entry = reader.entry(_base(_newest(architectures)))
            if reader.token == ";":
                continue  # declared, to be defined further down
            if entry.name in entries:
                raise _error(f"the PTX has two entries {entry.name!r}", text, at)
            entries[entry.name] = entry
        elif word == ".target":
            architectures.append(reader.architecture())
        else:
            reader.address_size()
    if not has_version or not architectures:
        lacks = ".target" if has_version else ".version"
        raise _error(f"the text is no PTX: it has no {lacks} directive", text, 0)
    named = tuple(entries[name] for name in sorted(entries))
    return ImageFacts(_newest(architectures), named)


def _newest(architectures: list[Architecture]) -> Architecture:
    """Return the target of a module that may name several: it runs where the newest does."""
    return max(architectures, key=lambda found: found.rank)


def _base(target: Architecture) -> int:
    return max((since, base) for since, base in _BASES.items() if since <= target.capability)[1]


def _directives(text: str) -> Iterator[tuple[str, int]]:
    """Yield each directive that stands outside of braces, and where it ends."""
    depth = 0
    for mark in _MARK.finditer(text):
        word = mark[0]
        if word == "{":
            depth += 1
        elif word == "}":
            depth -= 1
            if depth < 0:
                raise _error("the PTX closes a brace that it never opened", text, mark.start())
        elif word[0] == "." and not depth:
            yield word, mark.end()
    if depth:
        raise _error("the PTX ends inside a pair of braces", text, len(text))


class _Reader:
    """Reads the directives of one statement, token by token."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self._tokens = self._significant(at)
        self.token, self.start = "", at
        self.next()

    def _significant(self, at: int) -> Iterator[tuple[str, int]]:
        for found in _TOKEN.finditer(self.text, at):
            token = found[0]
            if not token[0].isspace() and not token.startswith(("//", "/*")):
                yield token, found.start()
        while True:
            yield "", len(self.text)

    def next(self) -> str:
        """Step to the next token and return the one before it."""
        before = self.token
        self.token, self.start = next(self._tokens)
        return before

    def fail(self, wanted: str) -> ImageError:
        found = f"{self.token[:40]!r}" if self.token else "the end"
        return _error(f"the PTX has {found} where {wanted} should be", self.text, self.start)

    def name(self) -> str:
        if not _NAME.fullmatch(self.token):
            raise self.fail("a name")
        return self.next()

    def number(self) -> int:
        found = _NUMBER.fullmatch(self.token)
        if not found:
            raise self.fail("a number")
        self.next()
        digits = found[found.lastindex or 1]
        return int(digits or "0", _RADIXES[(found.lastindex or 1) - 1])

    def architecture(self) -> Architecture:
        while True:
            found = _ARCHITECTURE.fullmatch(self.token)
            if found:
                return Architecture(int(found[1]), found[2], is_virtual=True)
            self.name()
            if self.token != ",":
                raise self.fail("a target such as sm_90")
            self.next()

    def address_size(self) -> None:
        if self.number() != _ADDRESS_BITS:
            raise _error("the PTX has addresses of 32 bits", self.text, self.start)

    def entry(self, base: int) -> Entry:
        name = self.name()
        if len(name) > MOST_ENTRY:
            problem = f"has an entry whose name has more than {MOST_ENTRY:,} characters"
            raise _error(f"the PTX {problem}", self.text, self.start)
        marked: list[MarkedParameter] = []
        total = 0
        if self.token == "(":
            self.next()
            while self.token != ")":
                if marked:
                    if self.token != ",":
                        raise self.fail("a comma or the end of the parameters")
                    self.next()
                parameter = self.parameter(len(marked), base, base + total)
                marked.append(parameter)
                total = parameter.offset + parameter.size
                if total > MOST_PARAMETERS:
                    problem = f"takes more than {MOST_PARAMETERS} bytes of parameters"
                    raise _error(f"the PTX's entry {name!r} {problem}", self.text, self.start)
            self.next()
        block = cluster = None
        while self.token not in {"{", ";"}:
            directive = self.next()
            if directive == ".reqntid":
                block = self.dimensions()
            elif directive == ".reqnctapercluster":
                cluster = self.dimensions()
            elif directive in {"", ".entry", ".func"}:
                raise self.fail(f"the body of {name!r}")
        return Entry(name, as_parameters(marked), total, block, cluster)

    def parameter(self, ordinal: int, base: int, end: int) -> MarkedParameter:
        if self.token != ".param":
            raise self.fail("a .param")
        self.next()
        align, size, space = 1, 0, UNMARKED
        while self.token.startswith("."):
            word = self.token
            if word in _OPAQUE:
                raise self.fail("a parameter that a launch can pass")
            self.next()
            if word == ".align":
                # After the type it is about what the address points to.
                value = self.alignment()
                align = align if size else value
            elif word == ".ptr":
                space = GENERIC
            elif word in _SPACES and space != UNMARKED:
                space = _SPACES[word]
            elif word in _SIZES and not size:
                size = _SIZES[word]
            else:
                raise self.fail(f"something other than {word[:40]} before it")
        if not size:
            raise self.fail("a type")
        self.name()
        align = max(align, size)
        size *= self.count()
        offset = (end + align - 1) // align * align - base
        return MarkedParameter(ordinal, offset, size, space)

    def alignment(self) -> int:
        value = self.number()
        if value & (value - 1) or not value:
            raise _error(f"the PTX aligns a parameter to {value} bytes", self.text, self.start)
        return value

    def count(self) -> int:
        if self.token != "[":
            return 1
        self.next()
        count = self.number()
        if self.token != "]" or not count:
            raise self.fail("an array's end")
        self.next()
        return count

    def dimensions(self) -> Dimensions:
        found = [self.number()]
        while self.token == "," and len(found) < _MOST_DIMENSIONS:
            self.next()
            found.append(self.number())
        if 0 in found:
            raise _error("the PTX requires a block or cluster of nothing", self.text, self.start)
        x, y, z = (*found, 1, 1)[:_MOST_DIMENSIONS]
        return x, y, z


def _error(problem: str, text: str, at: int) -> ImageError:
    line = text.count("\n", 0, at) + 1
    return ImageError(Diagnostic(f"{problem} (line {line})"))
