"""THE table of outputs, one row each.

To add an artifact, add a row and the template it names; then run ``make golden``.  ``{name}`` in a
file name is the launcher's name; a file that serves every launcher has a name of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class Convention(NamedTuple):
    """How the Python launcher is called."""

    name: str
    summary: str
    module: str
    """The extension module; ``{name}`` is the launcher's name."""
    head: int = 0
    """Arguments before the kernel's, by position; 0: the launcher's own, also by keyword."""
    is_unwrapped: bool = False
    """Whether the caller does what Triton's launcher objects do: it has taken descriptors apart
    and brings scratch memory, in arguments that ``head`` does not count."""
    is_public: bool = True
    """Whether the command line offers it."""
    fragments: tuple[str, ...] = ()
    """The runtime's fragments that take such a call."""
    scratch_fragments: tuple[str, ...] = ()
    """Those besides for a kernel with hidden slots, whose values come with a call."""

    @property
    def brings_metadata(self) -> bool:
        """Whether a call brings the kernel's function and metadata, which its own do not."""
        return self.head > 0


DIRECT: Final = Convention(
    name="direct",
    summary="launch(grid, stream, *arguments)",
    module="{name}",
    fragments=(
        "python_gather",
        "python_grid",
        "python_stream",
        "python_allocator",
        "python_exec",
    ),
)
TRITON: Final = Convention(
    name="triton",
    summary="as Triton's generated launchers are",
    module="__triton_launcher",
    head=11,
    is_unwrapped=True,
    fragments=("python_call",),
    scratch_fragments=("python_pointer",),
)
LAUNCHER: Final = Convention(
    name="launcher",
    summary="as Triton's launcher objects are",
    module="__triton_launcher",
    head=9,
    is_public=False,
    fragments=("python_launcher",),
    scratch_fragments=("python_launcher_scratch",),
)

CONVENTIONS: Final[Mapping[str, Convention]] = MappingProxyType(
    {row.name: row for row in (DIRECT, TRITON, LAUNCHER)}
)
"""Conventions by name, in table order."""


class Face(NamedTuple):
    """What the C of an artifact compiles to, and with which flags.

    ``launchgen build`` and the emitted build scripts take the flags from here.
    """

    summary: str
    file: str
    """The product's file name; ``{suffix}`` is the interpreter's own suffix of extensions, and
    ``{module}`` what it imports there."""
    flags: tuple[str, ...] = ("-shared", "-O1")
    """Flags that gcc, clang and nvcc all take as they are."""
    host_flags: tuple[str, ...] = ("-fPIC", "-fvisibility=hidden")
    """Flags of the host compiler: nvcc wants ``-Xcompiler=`` before each."""
    plain_flags: tuple[str, ...] = ("-std=c11",)
    """Flags that nvcc does not get: it hands them to its C++ steps too."""
    nvcc_flags: tuple[str, ...] = ("-cudart=none",)
    """Flags that nvcc alone gets: it links the CUDA runtime into everything otherwise."""
    libraries: tuple[str, ...] = ("-ldl", "-lpthread")
    """Libraries, which stand behind the source."""
    companions: tuple[str, ...] = ()
    """Further sources of the folder that it is compiled from."""
    uses_headers: bool = True
    """Whether it includes the headers that are emitted."""
    needs_python: bool = False
    """Whether it includes ``Python.h``."""

    @property
    def forwarded_flags(self) -> tuple[str, ...]:
        """``host_flags`` as nvcc takes them."""
        return tuple(f"-Xcompiler={flag}" for flag in self.host_flags)


# Python's headers assert, which would end the process; interpreters are built without.
PYTHON_FLAGS: Final = ("-shared", "-O1", "-DNDEBUG")

LIBRARY: Final = Face(summary="C library", file="lib{name}.so")
EXTENSION: Final = Face(
    summary="Python extension module",
    file="{module}{suffix}",
    uses_headers=False,
    needs_python=True,
    flags=PYTHON_FLAGS,
)
UTILS: Final = Face(
    summary="Python extension module for every kernel",
    file="cuda_utils{suffix}",
    uses_headers=False,
    needs_python=True,
    flags=PYTHON_FLAGS,
)
PROGRAM: Final = Face(
    summary="example program",
    file="{name}_example",
    flags=("-O2",),
    host_flags=(),
    companions=("{name}.c",),
)


class Output(NamedTuple):
    """One file of an artifact."""

    file: str
    """``{name}`` is the launcher's, ``{module}`` what Python imports."""
    template: str
    """``{convention}`` is how the Python launcher is called."""
    executable: bool = False
    header: bool = False
    """Contained in the artifact's other file where a single one is printed."""


class Artifact(NamedTuple):
    """What ``--artifact NAME`` stands for."""

    name: str
    summary: str
    outputs: tuple[Output, ...]
    default: bool = False
    """Emitted where ``--artifact`` is not given."""
    face: Face | None = None
    """What its C compiles to; None for text that is no launcher."""
    is_called: bool = False
    """Whether it follows the convention by which Python calls the launcher."""
    needs: tuple[str, ...] = ()
    """Names of artifacts of which at least one must be emitted with it."""
    needs_kernel: bool = True
    """Whether it can only be made from a kernel or its signature."""
    serves_every_kernel: bool = False
    """Whether it is the same whatever is emitted with it: its plan is UtilsPlan."""
    describes_one: bool = False
    """Whether it can say what one image needs, and not what several do."""


_COMPILED: Final = ("c", "cpython", "cuda-utils")

_ROWS: Final = (
    Artifact(
        name="c",
        summary="a C library: {name}.h and {name}.c",
        outputs=(
            Output(file="{name}.h", template="c/launcher.h.jinja", header=True),
            Output(file="{name}.c", template="c/launcher.c.jinja"),
        ),
        default=True,
        face=LIBRARY,
    ),
    Artifact(
        name="cpython",
        summary="a Python extension module: {name}_py.c",
        outputs=(Output(file="{name}_py.c", template="cpython/{convention}.c.jinja"),),
        default=True,
        face=EXTENSION,
        is_called=True,
    ),
    Artifact(
        name="pyi",
        summary="a type stub of the Python module: {name}.pyi",
        outputs=(Output(file="{module}.pyi", template="cpython/{convention}.pyi.jinja"),),
        is_called=True,
    ),
    Artifact(
        name="example",
        summary="a C program that calls the C library: {name}_example.c",
        outputs=(Output(file="{name}_example.c", template="c/example.c.jinja"),),
        face=PROGRAM,
        needs=("c",),
    ),
    Artifact(
        name="cuda-utils",
        summary="a Python extension module of Triton's calls outside a launch: cuda_utils.c",
        outputs=(Output(file="cuda_utils.c", template="cpython/cuda_utils.c.jinja"),),
        face=UTILS,
        needs_kernel=False,
        serves_every_kernel=True,
    ),
    Artifact(
        name="make",
        summary="a Makefile that compiles what was emitted",
        outputs=(Output(file="Makefile", template="build/Makefile.jinja"),),
        default=True,
        needs=_COMPILED,
        needs_kernel=False,
    ),
    Artifact(
        name="sh",
        summary="a shell script that compiles what was emitted",
        outputs=(
            Output(
                file="build.sh",
                template="build/build.sh.jinja",
                executable=True,
            ),
        ),
        needs=_COMPILED,
        needs_kernel=False,
    ),
    Artifact(
        name="level0",
        summary='launch metadata as Meta\'s Triton writes it ("Level 0"): {name}.launch_metadata',
        outputs=(Output(file="{name}.launch_metadata", template="json/level0.json.jinja"),),
        describes_one=True,
    ),
)

ARTIFACTS: Final[Mapping[str, Artifact]] = MappingProxyType({row.name: row for row in _ROWS})
"""Artifacts by name, in table order."""
