"""Our own declarations of the driver's types, numbers and prototypes, beside the real cuda.h."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest

from launchgen import testing
from launchgen.filters import fragment

DRIVER = Path(testing.__file__).with_name("driver")

PACKAGES = {"cuda12": "nvidia-cuda-runtime-cu12", "cuda13": "nvidia-cuda-runtime"}

# --- what stands for what ------------------------------------------------------------------------

# Ours, theirs, and each member's name in both.
LAYOUTS = {
    "lg_launch_attribute": ("CUlaunchAttribute", {"id": "id", "pad": "pad", "value": "value"}),
    "lg_launch_config": (
        "CUlaunchConfig",
        {
            "grid_x": "gridDimX",
            "grid_y": "gridDimY",
            "grid_z": "gridDimZ",
            "block_x": "blockDimX",
            "block_y": "blockDimY",
            "block_z": "blockDimZ",
            "shared_bytes": "sharedMemBytes",
            "stream": "hStream",
            "attributes": "attrs",
            "attribute_count": "numAttrs",
        },
    ),
    "lg_tensor_map": ("CUtensorMap", {"opaque": "opaque"}),
}

# The words of an attribute's value that a launcher sets, by their place in lg_launch_attribute.
WORDS = {
    "cooperative": 0,
    "clusterDim.x": 0,
    "clusterDim.y": 1,
    "clusterDim.z": 2,
    "clusterSchedulingPolicyPreference": 0,
    "programmaticStreamSerializationAllowed": 0,
}

# LG_ERROR_ stands for CUDA_ERROR_ but for those named here.
NUMBERS = {
    "LG_SUCCESS": "CUDA_SUCCESS",
    "LG_ERROR_SYMBOL_NOT_FOUND": "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND",
    "LG_ERROR_LIBRARY_NOT_FOUND": "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED",
    "LG_ATTRIBUTE_COOPERATIVE": "CU_LAUNCH_ATTRIBUTE_COOPERATIVE",
    "LG_ATTRIBUTE_CLUSTER_DIMENSION": "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION",
    "LG_ATTRIBUTE_CLUSTER_POLICY": "CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE",
    "LG_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION": (
        "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION"
    ),
    "LG_ATTRIBUTE_PREFERRED_CLUSTER": "CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION",
    "LG_CLUSTER_POLICY_SPREAD": "CU_CLUSTER_SCHEDULING_POLICY_SPREAD",
    "LG_DEVICE_CAPABILITY_MAJOR": "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
    "LG_DEVICE_CAPABILITY_MINOR": "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
    "LG_DEVICE_SHARED_OPTIN": "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "LG_FUNCTION_STATIC_SHARED": "CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES",
    "LG_FUNCTION_MAX_DYNAMIC_SHARED": "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
    "LG_FUNCTION_NON_PORTABLE_CLUSTER": "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
    "LG_POINTER_DEVICE_POINTER": "CU_POINTER_ATTRIBUTE_DEVICE_POINTER",
    "LG_POINTER_DEVICE_ORDINAL": "CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL",
    "LG_PROMOTE_L2_128": "CU_TENSOR_MAP_L2_PROMOTION_L2_128B",
    "LG_TENSOR_FLOAT16": "CU_TENSOR_MAP_DATA_TYPE_FLOAT16",
    "LG_TENSOR_TFLOAT32": "CU_TENSOR_MAP_DATA_TYPE_TFLOAT32",
    "LG_TENSOR_TFLOAT32_FTZ": "CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ",
    "LG_TENSOR_FP4_PADDED": "CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B",
}

# In no cuda.h that is at hand; source: triton/backends/nvidia/driver.c, 3.8.0.
NEWER_THAN_HEADERS = {
    "LG_ATTRIBUTE_SHARED_MEMORY_MODE",
    "LG_FUNCTION_SHARED_MEMORY_MODE",
    "LG_SHARED_MEMORY_OVERSIZED",
}

# Of the recording driver, beside those that have cuda.h's own names.
DRIVER_NUMBERS = {
    "LGR_FUNC_MAX_THREADS": "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK",
    "LGR_FUNC_STATIC_SHARED": "CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES",
    "LGR_FUNC_REGISTERS": "CU_FUNC_ATTRIBUTE_NUM_REGS",
    "LGR_FUNC_BINARY_VERSION": "CU_FUNC_ATTRIBUTE_BINARY_VERSION",
    "LGR_FUNC_MAX_DYNAMIC_SHARED": "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
    "LGR_FUNC_CARVEOUT": "CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT",
    "LGR_FUNC_MUST_SET_CLUSTER": "CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET",
    "LGR_FUNC_CLUSTER_WIDTH": "CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH",
    "LGR_FUNC_NON_PORTABLE_CLUSTER": "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
    "LGR_FUNC_CLUSTER_POLICY": "CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE",
    "LGR_FUNC_SHARED_MODE": "CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE",
    "LGR_EVENT_BLOCKING_SYNC": "CU_EVENT_BLOCKING_SYNC",
    "LGR_EVENT_DISABLE_TIMING": "CU_EVENT_DISABLE_TIMING",
    "LGR_EVENT_INTERPROCESS": "CU_EVENT_INTERPROCESS",
    "LGR_LIMIT_STACK": "CU_LIMIT_STACK_SIZE",
    "LGR_LIMIT_PRINTF": "CU_LIMIT_PRINTF_FIFO_SIZE",
    "LGR_LIMIT_HEAP": "CU_LIMIT_MALLOC_HEAP_SIZE",
    "LGR_CACHE_NONE": "CU_FUNC_CACHE_PREFER_NONE",
    "LGR_CACHE_EQUAL": "CU_FUNC_CACHE_PREFER_EQUAL",
    "LGR_LAUNCH_COOPERATIVE": "CU_LAUNCH_ATTRIBUTE_COOPERATIVE",
    "LGR_LAUNCH_CLUSTER": "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION",
    "LGR_LAUNCH_CLUSTER_POLICY": "CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE",
    "LGR_LAUNCH_PREFERRED_CLUSTER": "CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION",
    "LGR_POINTER_CONTEXT": "CU_POINTER_ATTRIBUTE_CONTEXT",
    "LGR_POINTER_MEMORY_TYPE": "CU_POINTER_ATTRIBUTE_MEMORY_TYPE",
    "LGR_POINTER_DEVICE_POINTER": "CU_POINTER_ATTRIBUTE_DEVICE_POINTER",
    "LGR_POINTER_IS_MANAGED": "CU_POINTER_ATTRIBUTE_IS_MANAGED",
    "LGR_POINTER_DEVICE_ORDINAL": "CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL",
    "LGR_MEMORYTYPE_HOST": "CU_MEMORYTYPE_HOST",
    "LGR_MEMORYTYPE_DEVICE": "CU_MEMORYTYPE_DEVICE",
    "LGR_PROC_FOUND": "CU_GET_PROC_ADDRESS_SUCCESS",
    "LGR_PROC_NOT_FOUND": "CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND",
    "LGR_PROC_VERSION_NOT_SUFFICIENT": "CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT",
}

# Only count our own.
NO_NUMBER_OF_CUDA = {"LGR_FUNC_COUNT", "LGR_LIMIT_COUNT"}

# --- C that compares -----------------------------------------------------------------------------

INCLUDES = """\
#include <assert.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
"""

# Old prototypes too, and no macros that turn old names into new ones: symbols are found by name.
CUDA = """\
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
"""

# Two functions are called alike if each parameter has the same size and kind.  Enumerations pass as
# int, handles and what is not looked into as void *.
ALIKE = """\
#include <type_traits>

template <class Ours, class Theirs> constexpr bool alike();

template <class Ours, class Theirs> constexpr bool point_alike() {
    if constexpr (std::is_const_v<Ours> != std::is_const_v<Theirs>)
        return false;
    else if constexpr (std::is_void_v<Ours>)
        return true;
    else if constexpr (std::is_void_v<Theirs>)
        return false;
    else if constexpr (std::is_class_v<Ours> && std::is_class_v<Theirs>)
        return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) <= alignof(Theirs);
    else
        return alike<std::remove_cv_t<Ours>, std::remove_cv_t<Theirs>>();
}

template <class Ours, class Theirs> constexpr bool alike() {
    if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>)
        return point_alike<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>();
    else if constexpr (std::is_floating_point_v<Ours>)
        return std::is_same_v<Ours, Theirs>;
    else if constexpr (std::is_integral_v<Ours> && std::is_enum_v<Theirs>)
        return sizeof(Ours) == sizeof(Theirs);
    else if constexpr (std::is_integral_v<Ours> && std::is_integral_v<Theirs>)
        return sizeof(Ours) == sizeof(Theirs) &&
               std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
    else
        return false;
}

template <class Ours, class Theirs> constexpr bool called_alike = false;

template <class R, class... A, class S, class... B>
constexpr bool called_alike<R (*)(A...), S (*)(B...)> = [] {
    if constexpr (sizeof...(A) == sizeof...(B))
        return alike<R, S>() && (true && ... && alike<A, B>());
    else
        return false;
}();
"""


@dataclass(frozen=True)
class Cuda:
    name: str
    folder: Path

    @property
    def header(self) -> str:
        return (self.folder / "cuda.h").read_text(encoding="utf-8")

    @property
    def typedefs(self) -> str:
        return (self.folder / "cudaTypedefs.h").read_text(encoding="utf-8")


def find_cuda(name: str) -> Cuda:
    package = PACKAGES[name]
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        problem = f"no CUDA headers: python -m pip install {package}"
        if os.environ.get("CI"):
            pytest.fail(problem)
        pytest.skip(problem)
    (found,) = (file for file in files if file.match("include/cuda.h"))
    return Cuda(name, Path(str(found.locate())).parent)


@pytest.fixture(scope="module", params=PACKAGES)
def cuda(request: pytest.FixtureRequest) -> Cuda:
    return find_cuda(request.param)


def compiled(source: str, cuda: Cuda, tmp_path: Path, *, standard: str) -> str:
    """Return what the compiler says: nothing if every assertion holds."""
    compiler = shutil.which("g++" if "++" in standard else "gcc")
    if compiler is None:
        pytest.skip("no gcc or g++")
    file = tmp_path / ("compare.cpp" if "++" in standard else "compare.c")
    file.write_text(source, encoding="ascii")
    done = subprocess.run(
        [compiler, f"-std={standard}", "-fsyntax-only", "-w", f"-I{cuda.folder}", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr


def claims(expressions: Iterable[str]) -> str:
    return "".join(f'static_assert({expression}, "{expression}");\n' for expression in expressions)


def equal(numbers: Mapping[str, str], cuda: Cuda, *, scope: str = "") -> Iterator[str]:
    for ours, theirs in numbers.items():
        if re.search(rf"\b{theirs}\b", cuda.header):
            yield f"(int){scope}{ours} == (int){theirs}"


def enumerators(text: str) -> list[str]:
    bodies = re.findall(r"enum \{([^}]*)\}", text)
    return [name for body in bodies for name in re.findall(r"\b(\w+) =", body)]


def members(text: str, struct: str) -> list[str]:
    (body,) = re.findall(rf"typedef struct {struct} \{{(.*?)\n\}}", text, re.DOTALL)
    return re.findall(r"(\w+)(?:\[\d+\])?;", body)


TYPES = fragment("cuda_types")
LAUNCHER = (
    "\n\n".join(map(fragment, ("prologue", "cuda_types", "error", "process", "cuda_driver"))) + "\n"
)
SAME_ERRORS = {
    name: name.replace("LG_", "CUDA_", 1)
    for name in enumerators(TYPES)
    if name.startswith("LG_ERROR_") and name not in NUMBERS
}
ENTRY_POINTS = dict(re.findall(r"LG_ENTRY\((\w+), \"(\w+)\", [01]\)", LAUNCHER))


def launcher_claims(cuda: Cuda) -> Iterator[str]:
    for ours, (theirs, pairs) in LAYOUTS.items():
        yield f"sizeof({ours}) == sizeof({theirs})"
        for own, other in pairs.items():
            yield f"offsetof({ours}, {own}) == offsetof({theirs}, {other})"
            yield f"sizeof((({ours} *)0)->{own}) == sizeof((({theirs} *)0)->{other})"
    for member, word in WORDS.items():
        yield (
            f"offsetof(lg_launch_attribute, value[{word}]) == "
            f"offsetof(CUlaunchAttribute, value.{member})"
        )
        yield f"sizeof(((CUlaunchAttribute *)0)->value.{member}) == sizeof(uint32_t)"
    yield from equal(NUMBERS | SAME_ERRORS, cuda)


# --- the launchers -------------------------------------------------------------------------------


@pytest.mark.parametrize("standard", ["c11", "c++17"])
def test_launcher_types_and_numbers_equal_cuda_h(cuda: Cuda, standard: str, tmp_path: Path) -> None:
    source = INCLUDES + CUDA + LAUNCHER + claims(launcher_claims(cuda))

    assert compiled(source, cuda, tmp_path, standard=standard) == ""


def test_launcher_attribute_is_aligned_as_in_cuda_h(cuda: Cuda, tmp_path: Path) -> None:
    claim = "_Alignof(lg_launch_attribute) == _Alignof(CUlaunchAttribute)"
    source = INCLUDES + CUDA + LAUNCHER + claims([claim])

    assert compiled(source, cuda, tmp_path, standard="c11") == ""


def test_launcher_tensor_map_is_aligned_as_cuda_12_and_the_kernel_have_it(
    cuda: Cuda, tmp_path: Path
) -> None:
    claim = "_Alignof(lg_tensor_map) == 64 && _Alignof(CUtensorMap) % 64 == 0"
    source = INCLUDES + CUDA + LAUNCHER + claims([claim])

    assert compiled(source, cuda, tmp_path, standard="c11") == ""


def test_launcher_prototypes_are_called_as_those_of_cuda_h(cuda: Cuda, tmp_path: Path) -> None:
    expressions = (
        f"called_alike<decltype(lg_driver::{member}), decltype(&::{symbol})>"
        for member, symbol in ENTRY_POINTS.items()
    )
    source = INCLUDES + ALIKE + CUDA + LAUNCHER + claims(expressions)

    assert compiled(source, cuda, tmp_path, standard="c++17") == ""


def test_default_streams_are_the_handles_up_to_2(cuda: Cuda, tmp_path: Path) -> None:
    expressions = ("(uintptr_t)CU_STREAM_LEGACY == 1", "(uintptr_t)CU_STREAM_PER_THREAD == 2")

    assert compiled(INCLUDES + CUDA + claims(expressions), cuda, tmp_path, standard="c11") == ""


def test_every_declaration_of_the_launcher_is_compared() -> None:
    compared = NUMBERS.keys() | SAME_ERRORS.keys() | NEWER_THAN_HEADERS
    assert set(enumerators(TYPES)) == compared
    assert {struct: members(TYPES, struct) for struct in LAYOUTS} == {
        struct: list(pairs) for struct, (_, pairs) in LAYOUTS.items()
    }
    assert len(re.findall(r"typedef struct", TYPES)) == len(LAYOUTS)
    (table,) = re.findall(r"typedef struct lg_driver \{(.*?)\n\}", LAUNCHER, re.DOTALL)
    assert len(re.findall(r"\(\*\w+\)\(", table)) == len(ENTRY_POINTS)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("LG_ERROR_INVALID_CONTEXT = 201", "LG_ERROR_INVALID_CONTEXT = 202"),
        ("    uint32_t block_z;\n    uint32_t shared_bytes;", "    uint64_t shared_bytes;"),
        ("int (*context_device)(int *device)", "int (*context_device)(int device)"),
        ("int (*pointer_attribute)(void *value,", "int (*pointer_attribute)("),
        ("const void *image)", "void *image)"),
        ("int attribute, uint64_t pointer)", "int attribute, uint32_t pointer)"),
    ],
)
def test_a_wrong_declaration_is_noticed(cuda: Cuda, right: str, wrong: str, tmp_path: Path) -> None:
    assert LAUNCHER.count(right) == 1
    expressions = (
        *launcher_claims(cuda),
        *(
            f"called_alike<decltype(lg_driver::{member}), decltype(&::{symbol})>"
            for member, symbol in ENTRY_POINTS.items()
        ),
    )
    source = INCLUDES + ALIKE + CUDA + LAUNCHER.replace(right, wrong) + claims(expressions)

    assert "static assertion failed" in compiled(source, cuda, tmp_path, standard="c++17")


# --- the recording driver ------------------------------------------------------------------------

DRIVER_ABI = (DRIVER / "cuda_abi.h").read_text(encoding="ascii")
DRIVER_TYPES = {
    "CUlaunchAttribute": ("id", "pad", "value"),
    "CUlaunchConfig": tuple(LAYOUTS["lg_launch_config"][1].values()),
    "CUtensorMap": (),
}
DRIVER_ENTRIES = re.findall(
    r"^LGR_ENTRY\((\w+), (\w+), (\d+)\)$",
    (DRIVER / "entry_points.h").read_text(encoding="ascii"),
    re.MULTILINE,
)
SAME_NAMES = {name: name for name in enumerators(DRIVER_ABI) if name.startswith("CUDA_")}

# In a namespace, as it has cuda.h's own names, and before cuda.h, which makes macros of some.
PLAYED = f"""\
#define _Static_assert static_assert
namespace ours {{
{DRIVER_ABI}
}}
"""


def test_recording_driver_types_and_numbers_equal_cuda_h(cuda: Cuda, tmp_path: Path) -> None:
    expressions = [*equal(DRIVER_NUMBERS | SAME_NAMES, cuda, scope="ours::")]
    for struct, names in DRIVER_TYPES.items():
        expressions.append(f"sizeof(ours::{struct}) == sizeof({struct})")
        for name in names:
            expressions += (
                f"offsetof(ours::{struct}, {name}) == offsetof({struct}, {name})",
                f"sizeof(ours::{struct}::{name}) == sizeof({struct}::{name})",
            )
    source = INCLUDES + PLAYED + CUDA + claims(expressions)

    assert compiled(source, cuda, tmp_path, standard="c++17") == ""


def test_recording_driver_prototypes_are_called_as_those_of_cuda_h(
    cuda: Cuda, tmp_path: Path
) -> None:
    expressions = [
        f"called_alike<decltype(&ours::{symbol}), decltype(&::{symbol})>"
        for symbol, _, _ in DRIVER_ENTRIES
        if re.search(rf"\b{symbol}\b", cuda.header)
    ]
    source = INCLUDES + ALIKE + PLAYED + CUDA + claims(expressions)

    assert len(expressions) > 40
    assert compiled(source, cuda, tmp_path, standard="c++17") == ""


def test_recording_driver_has_cuda_h_names_of_errors(cuda: Cuda) -> None:
    played = {
        name: int(code)
        for code, name in re.findall(
            r"\{(\d+), \"(CUDA_\w+)\",", (DRIVER / "errors.c").read_text(encoding="ascii")
        )
    }
    real = {
        name: int(code)
        for name, code in re.findall(r"^ +(CUDA_(?:SUCCESS|ERROR_\w+)) += (\d+)", cuda.header, re.M)
    }

    assert len(real) > 90
    assert {name: code for name, code in played.items() if real.get(name, code) != code} == {}
    if cuda.name == "cuda13":
        assert sorted(played.keys() - real.keys()) == []


def test_recording_driver_has_cuda_h_names_of_launch_attributes(cuda: Cuda) -> None:
    source = (DRIVER / "calls_launch.c").read_text(encoding="ascii")
    played = re.findall(r"\{(\d+), .*?\}, +/\* (\w+) \*/", source)
    real = dict(re.findall(r"^ +,? ?CU_LAUNCH_ATTRIBUTE_(\w+) += (\d+)", cuda.header, re.M))

    assert len(played) > 10
    assert [pair for pair in played if real.get(pair[1], pair[0]) != pair[0]] == []
    if cuda.name == "cuda13":
        assert [name for _, name in played if name not in real] == []


def test_recording_driver_knows_since_when_each_entry_point_exists(cuda: Cuda) -> None:
    known = set(re.findall(r"\bPFN_(cu\w+?)_v(\d+)", cuda.typedefs))
    versions = {name: {int(since) for found, since in known if found == name} for name, _ in known}

    unlike = [
        (symbol, since)
        for symbol, name, since in DRIVER_ENTRIES
        if name in versions and int(since) not in versions[name]
    ]

    assert unlike == []
    if cuda.name == "cuda13":
        assert [symbol for symbol, name, _ in DRIVER_ENTRIES if name not in versions] == []


def test_every_declaration_of_the_recording_driver_is_compared() -> None:
    names = set(enumerators(DRIVER_ABI))

    assert names == DRIVER_NUMBERS.keys() | SAME_NAMES.keys() | NO_NUMBER_OF_CUDA
    assert re.findall(r"^\} (\w+);", DRIVER_ABI, re.MULTILINE) == list(DRIVER_TYPES)
    assert re.findall(r"^CUresult (\w+)\(", DRIVER_ABI, re.MULTILINE) == [
        symbol for symbol, _, _ in DRIVER_ENTRIES
    ]


def test_cuda_13_has_every_number_that_is_compared() -> None:
    header = find_cuda("cuda13").header

    wanted = {*(NUMBERS | SAME_ERRORS).values(), *DRIVER_NUMBERS.values(), *SAME_NAMES.values()}
    assert [name for name in sorted(wanted) if not re.search(rf"\b{name}\b", header)] == []
