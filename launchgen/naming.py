"""Names: what is an identifier, which are taken, and how a free one is found.

Every name that launchgen makes up starts with one of the prefixes below, so that no name of a
user can collide with it.
"""

from __future__ import annotations

import errno
import keyword
import re
from collections.abc import Container
from typing import Final

PREFIX_INTERNAL: Final = "lg_"
"""Functions, types and variables of the runtime; macros are ``LG_``."""
PREFIX_ARGUMENT: Final = "arg_"
"""An argument as the C launcher's caller gave it."""
PREFIX_OBJECT: Final = "obj_"
"""An argument as a Python object."""
PREFIX_SLOT: Final = "slot_"
"""The storage bits that the driver copies."""
PREFIX_WIDE: Final = "wide_"
"""A scalar that came from Python, before it is narrowed to storage bits."""
PREFIX_COPY: Final = "copy_"
"""The launcher's own copy of a struct, a tensor map or a descriptor."""
PREFIX_FILLED: Final = "filled_"
"""What the kernel takes of a descriptor beside what the caller gave."""

FUNCTION: Final = "function"
"""The launchers' own parameters, which templates read under these names; this one only where the
caller hands the kernel over."""
STREAM: Final = "stream"
GRID: Final = "grid"
"""In Python; in C it is three."""
GRID_AXES: Final = ("grid_x", "grid_y", "grid_z")

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class CIdentifier(str):
    """A string that is a C identifier: ASCII letters, digits and underscores.

    Raises ``ValueError`` for any other text, so that none reaches a template by accident.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> CIdentifier:
        """Check ``text``; it is kept as it is."""
        if not is_identifier(text):
            raise ValueError(f"not a C identifier: {text!r}")
        return super().__new__(cls, text)


def is_identifier(text: str) -> bool:
    """Return whether ``text`` is an ASCII identifier, in C and in Python, keywords included."""
    return _IDENTIFIER.fullmatch(text) is not None


# ISO/IEC 9899:2024 6.4.1 (C23, which contains C11's) and ISO/IEC 14882:2023 5.11 [lex.key].
_KEYWORDS: Final = frozenset(
    """
    _Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64
    _Generic _Imaginary _Noreturn _Pragma _Static_assert _Thread_local alignas alignof and
    and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class
    co_await co_return co_yield compl concept const const_cast consteval constexpr constinit
    continue decltype default delete do double dynamic_cast else enum explicit export extern
    false final float for friend goto if import inline int long module mutable namespace new
    noexcept not not_eq nullptr operator or or_eq override private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw true try typedef typeid
    typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor
    xor_eq
    """.split()  # noqa: SIM905 - a column of two hundred strings reads worse
)

# Names that a prototype relies on, and macros that common headers define in lower or upper case:
# the standard library's, glibc's sys/sysmacros.h, gcc's GNU mode, windows.h and CUDA's.
_MACROS: Final = frozenset(
    """
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t
    size_t ptrdiff_t intmax_t uintmax_t ssize_t BIG_ENDIAN BYTE_ORDER BUFSIZ CHAR_BIT CHAR_MAX
    CHAR_MIN CONST DOMAIN EOF ERROR FALSE FILE HUGE_VAL I IN INFINITY INT_MAX INT_MIN INLINE
    LITTLE_ENDIAN LONG_MAX LONG_MIN MAX MIN M_E M_PI NAN NDEBUG NULL OPTIONAL OUT OVERFLOW PI
    RAND_MAX SIZE_MAX STDIN_FILENO STRICT TRUE UINT_MAX UNDERFLOW assert complex cdecl environ
    errno far huge i386 imaginary interface linux major makedev math_errhandling max min minor
    near noreturn offsetof pascal setjmp small stderr stdin stdout unix va_arg va_copy va_end
    va_start __DATE__ __FILE__ __FUNCTION__ __LINE__ __PRETTY_FUNCTION__ __TIME__ __func__
    __global__ __device__ __host__ __shared__ __constant__ __managed__ __forceinline__
    __noinline__ __launch_bounds__ __align__ __restrict __restrict__ __inline __inline__ __asm
    __asm__ __attribute __attribute__ __const __const__ __volatile __volatile__ __signed
    __signed__ __typeof __typeof__ __alignof __alignof__ __extension__ __thread __int128
    __float128 __real__ __imag__ __complex__ __label__ __auto_type __null __STDC__ __cplusplus
    blockDim blockIdx gridDim threadIdx warpSize
    """.split()  # noqa: SIM905 - a column of two hundred strings reads worse
)


# Families of macros: limits and formats of the standard types, and what the headers define that
# launchers include, or that programs often include before a launcher's: <signal.h>, <fcntl.h>.
_FAMILIES: Final = re.compile(
    r"U?(INT|LONG|LLONG|SHRT|SCHAR|CHAR|SIZE|SSIZE|PTRDIFF|WCHAR|WINT|SIG_ATOMIC)\w*_(MAX|MIN|C|WIDTH)"
    r"|(FLT|DBL|LDBL)_[A-Z0-9_]+|FP_(NAN|INFINITE|ZERO|SUBNORMAL|NORMAL)|(PRI|SCN)[diouxX][A-Z0-9]+"
    r"|M_(E|LOG2E|LOG10E|LN2|LN10|PI|PI_2|PI_4|1_PI|2_PI|2_SQRTPI|SQRT2|SQRT1_2)"
    r"|(RTLD|PTHREAD|SEEK|METH|Py)_\w+|Py[A-Z]\w*|_[A-Z]\w*"
    r"|SIG[A-Z0-9]+|S_I[A-Z]+|O_(RDONLY|WRONLY|RDWR|APPEND|CREAT|EXCL|TRUNC|SYNC|[A-Z]*PATH|N[A-Z]+)",
    re.ASCII,
)


def is_reserved_in_c(name: str) -> bool:
    """Return whether C, C++ or a common macro already uses ``name``.

    Two underscores begin what compilers and system headers define (C11 7.1.3), ``__x`` and
    ``__x__``, and ``LG_`` this project's own.  One underscore more at the end frees any of them,
    which is what :func:`free_c_name` relies on.
    """
    end = len(name) - len(name.rstrip("_"))
    is_predefined = name.startswith("__") and end in (0, 2)
    is_own = name.startswith(("LG_", "LAUNCHGEN_")) and not name.endswith("_")
    is_family = _FAMILIES.fullmatch(name) is not None and not name.endswith("_")
    is_listed = name in _KEYWORDS or name in _MACROS or name in errno.errorcode.values()
    return is_listed or is_predefined or is_own or is_family


def is_reserved_in_python(name: str) -> bool:
    """Return whether ``name`` cannot be a keyword argument in Python source."""
    return keyword.iskeyword(name)


def free_c_name(name: str, *, taken: Container[str]) -> CIdentifier:
    """Return ``name`` with underscores appended until neither C nor ``taken`` uses it."""
    while is_reserved_in_c(name) or name in taken:
        name += "_"
    return CIdentifier(name)


def free_python_name(name: str, *, taken: Container[str]) -> CIdentifier:
    """Return ``name`` with underscores appended until neither Python nor ``taken`` uses it."""
    while is_reserved_in_python(name) or name in taken:
        name += "_"
    return CIdentifier(name)
