"""What people who launch kernels ran into, by the ids that tests carry: ``test_float1_…``.

Each is a report in public, named in the test or its data; the words here say what a user gets now.
To add one, add a row and a test whose name begins with its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

CASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "FLOAT-1": "an fp32 scalar arrives in C as its four bytes",
        "FLOAT-2": "fp16 and bf16 fill two bytes, fp32 four, fp64 eight",
        "FLOAT-4": "the signature alone decides a float's width",
        "FLOAT-6": "bf16 is rounded to nearest even; NaN stays NaN",
        "FLOAT-8": "infinities and NaN as constants leave no bare word in what is emitted",
        "INT-1": "i8 takes -128 to 127 and nothing else",
        "INT-2": "unsigned integers out of range are refused",
        "INT-4": "i1 is one byte, 0 or 1",
        "INT-5": "u64 takes all of its range",
        "INT-7": "an unknown type is an error, never a default",
        "INT-8": "what has __index__ is an integer, floats are none",
        "PTR-1": "a negative address is refused",
        "PTR-2": "what data_ptr() raises is kept",
        "PTR-4": "memory of another device is named as that",
        "PTR-6": "host memory is named with its argument",
        "PTR-8": "a pointer that breaks its promise is refused",
        "PTR-9": "pointers without a promise are listed",
        "SHAPE-1": "no arguments, or only constants, compile and launch",
        "SHAPE-3": "tuples are flattened, descriptors in them too",
        "SHAPE-5": "commas inside brackets part nothing",
        "SHAPE-7": "an argument that equals 1 is kept in C and not passed",
        "SHAPE-9": "a tensor map by value has a C parameter",
        "SHAPE-10": "constants inside tuples take any object",
        "SCRATCH-1": "hidden parameters are those of the release, checked against the image",
        "SCRATCH-3": "scratch that a kernel needs is never null",
        "SCRATCH-5": "scratch is checked for alignment and held until the launch returned",
        "SCRATCH-6": "a missing allocator is said before anything runs",
        "SCRATCH-7": "the allocator serves all threads; sizes are 64-bit",
        "SCRATCH-8": "what the driver returns is always looked at",
        "GRID-1": "a grid is tested by its axes, not by their product",
        "GRID-2": "an empty grid is a success that launches nothing",
        "GRID-3": "negative sizes are refused",
        "GRID-5": "a block has 1 to 32 warps",
        "GRID-6": "clusters are counted or divided into, never rounded",
        "GRID-7": "a grid may be a list, and shorter than three",
        "ATTR-1": "every combination of attributes is exact",
        "ATTR-3": "programmatic launch can be left out of captures",
        "ATTR-5": "C launchers have every attribute too",
        "ATTR-6": "a kernel can be loaded before a capture",
        "TMA-1": "a tensor map's alignment suits CUDA 12 and 13",
        "TMA-2": "a broken rule of the encoder is named before it is called",
        "TMA-3": "padded fp4 by the rule of each release",
        "TMA-5": "small tensors are mended, and the mending can be switched off",
        "TMA-7": "a driver without the encoder is named; others need none",
        "TMA-8": "the header says where stores may spill",
        "CTX-1": "a thread without a context is given one first",
        "CTX-3": "one load for each context, or for all where the driver can",
        "CTX-5": "threads that come first together load once",
        "CTX-7": "more than 48 KiB of shared memory is asked for, exactly",
        "CTX-9": "after unload the next launch loads again",
        "PYAPI-1": "ten thousand launches leak nothing",
        "PYAPI-3": "what a hook raises is kept, and nothing launched",
        "PYAPI-5": "no hook, an empty chain and a callable all work",
        "PYAPI-6": "free-threaded interpreters stay so",
        "PYAPI-8": "no private API; clean with each version's headers",
        "PYAPI-10": "the fast calling convention leaks nothing",
        "TOOLCHAIN-1": "the driver is found at run time, by libcuda.so.1",
        "TOOLCHAIN-3": "a system without ldconfig is no error",
        "TOOLCHAIN-4": "libraries of another architecture are passed over",
        "TOOLCHAIN-5": "WSL's folder is looked in",
        "TOOLCHAIN-6": "the toolkit's stub is never taken for a driver",
        "TOOLCHAIN-7": "missing Python headers are said before a compiler runs",
        "TOOLCHAIN-9": "the language standard is stated",
        "TOOLCHAIN-11": "nvcc gets host options the way it takes them",
        "TOOLCHAIN-12": "what is emitted is C++ as well",
        "TOOLCHAIN-13": "folders may have any name",
        "DISPATCH-1": "hints are data, not digits of a name",
        "DISPATCH-3": "where no variant fits an error is returned",
        "DISPATCH-5": "the C prototype keeps every argument with its own type",
        "DISPATCH-7": "two signatures of one kernel never answer for each other",
        "DISPATCH-8": "the grid is given at each launch, as numbers",
        "DISPATCH-9": "hints that make no sense are refused with the reason",
        "NAME-1": "everything internal is hidden",
        "NAME-3": "the entry's name is the image's, and named where it is missing",
        "NAME-5": "a failed look-up says kernel and entry",
        "NAME-7": "several architectures in one launcher",
        "NAME-8": "big images are cheap to compile",
        "NAME-9": "headers are for C++ as well",
        "BUILD-1": "nothing links the driver",
        "BUILD-3": "commands stay short however many launchers there are",
        "BUILD-5": "processes that write one folder at once end right",
        "BUILD-6": "threads too",
        "BUILD-7": "what is kept is kept by all that it depends on",
        "ERROR-1": "nothing is printed and no process ended",
        "ERROR-3": "after a failed conversion nothing reaches the driver",
        "ERROR-4": "a failed launch says call, code, kernel, grid, block, shared and device",
        "ERROR-5": "the example launches as it says",
    }
)

_ID: Final = re.compile(r"([a-z]+)(\d+)_")


def cases_of(test: str) -> Iterator[str]:
    """Yield the ids that a test's name begins with; other words of that form are none."""
    rest = test.removeprefix("test_")
    while (found := _ID.match(rest)) is not None:
        case = f"{found[1].upper()}-{found[2]}"
        if case not in CASES:
            return
        yield case
        rest = rest[found.end() :]
