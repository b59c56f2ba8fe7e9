"""THE table of what is read at most: each limit once, with its reason.

``docs/limits.md`` has the same for users, with what happens beyond each.  Time and memory grow in
proportion to the input up to here; what has a greater size is refused, because nothing that is
right is so large and a trap may be.  To add a limit, add it here and a row there.
"""

from __future__ import annotations

from typing import Final

_KIB: Final = 2**10
_MIB: Final = 2**20

# --- signatures ----------------------------------------------------------------------------------

MOST_SIGNATURE: Final = 256 * _KIB
"""Characters of a signature, and bytes of its file: enough for as many arguments as there can be,
each with the longest name.  A token takes a hundred times the memory of its text."""
MOST_ARGUMENTS: Final = 1024
"""Arguments and elements of tuples, constants included: real kernels have up to 105, and a C
compiler's time grows with the square of a function's parameters."""
MOST_DEPTH: Final = 64
"""Tuples inside each other: they are read, and printed, by recursion."""
MOST_STARS: Final = 64
"""Stars of one pointer; only the first decides anything."""
MOST_NAME: Final = 200
"""Characters of an argument's or the launcher's name, which is a part of file names: those have up
to 255 bytes, and an extension module's ending up to 40."""
MOST_STRING: Final = 4096
"""Characters of a constant's text and of a descriptor's layout: C promises 4,095 of one string."""
MOST_BITS: Final = 2048
"""Bits of an integer constant, below CPython's least limit for printing one in decimal (640
digits): every integer that is read can also be written."""
MOST_RANK: Final = 5
"""Dimensions of a tensor descriptor, as of a tensor map; the launchers' structs have as many."""
MOST_ALIGNMENT: Final = 4096
"""Bytes that a struct is aligned to: compilers align variables on the stack to hardly more."""
MOST_MISTAKES: Final = 100
"""Mistakes of a signature after which reading stops: nobody mends more of them at once."""

# --- files ---------------------------------------------------------------------------------------

MOST_TEXT: Final = 16 * _MIB
"""Bytes of launch metadata, of IR and of PTX; Triton's have a few thousand, a few of them more."""
MOST_IMAGE: Final = 256 * _MIB
"""Bytes of one compiled image, also when it is unpacked: a thousand times those of Triton's."""
MOST_FATBIN: Final = 512 * _MIB
"""Bytes of a fatbin, and of all its images when they are unpacked."""
MOST_IMAGES: Final = 64
"""Images of one launcher, and of one fatbin: twice as many as there are architectures."""
MOST_PRINTED: Final = 4 * _MIB
"""Bytes of an image that stands in the source as numbers, where ``-o -`` allows no file beside it:
in text it has six times as many, and a C compiler takes thirty times the memory of those."""
MOST_SECTIONS: Final = 2**18
"""Sections of a cubin; each of its kernels has about five."""
MOST_ENTRY: Final = 64 * _KIB
"""Characters of a kernel's name inside an image: those of C++ templates have thousands."""
MOST_PARAMETERS: Final = 32764
"""Bytes of a parameter list, as PTX has it ("Kernel Function Parameters")."""


def size_text(size: int) -> str:
    """Return a number of bytes in words: ``256 KiB``."""
    for unit, name in ((_MIB, "MiB"), (_KIB, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size:,} bytes"
