"""Launchers of unusual shape: many parameters, awkward names, no image, every attribute."""

from __future__ import annotations

import itertools
import re
import struct
import subprocess
from typing import Any

import pytest

from launchgen.metadata import Scratch
from tests.launchers import FACES, Face, Host, Launcher, of_kernel, of_signature, other_host
from tests.zoo import ZOO

COOPERATIVE, CLUSTER, POLICY, SERIALIZATION = 2, 4, 5, 6
MAX_DYNAMIC_SHARED, NON_PORTABLE = 8, 14
ADD = next(k for k in ZOO if str(k) == "triton-3.6.0-sm90/add")
ADD_VALUES = (0x1000, 0x2000, 0x3000, 7, 0.5)


# ---- many parameters -----------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES, ids=str)
def test_a_thousand_parameters_arrive_in_order(host: Host, face: Face) -> None:
    launcher = of_signature(", ".join(["i32"] * 1000))
    values = tuple(range(-500, 500))
    launch = host.launched(face, launcher, 1, None, values)
    assert launch.values == tuple(struct.pack("<i", value) for value in values)


# ---- names ---------------------------------------------------------------------------------------

# Name in the signature: in the C header, in Python.
NAMES = {
    "stream": ("stream_", "stream_"),
    "int": ("int_", "int"),
    "int_": ("int__", "int_"),
    "do": ("do_", "do"),
    "args": ("args", "args"),
    "num_warps": ("num_warps", "num_warps"),
    "k": ("k", "k"),
    "K": ("K", "K"),
    "grid": ("grid", "grid_"),
    "grid_x": ("grid_x_", "grid_x"),
    "function": ("function", "function_"),
    "lambda": ("lambda", "lambda_"),
    "errno": ("errno_", "errno"),
    "lg_x": ("lg_x", "lg_x"),
    "class": ("class_", "class_"),
    "_x": ("_x", "_x"),
    "x_": ("x_", "x_"),
    "self": ("self", "self"),
    "this": ("this_", "this"),
    "NULL": ("NULL_", "NULL"),
    "uint32_t": ("uint32_t_", "uint32_t"),
    "bool": ("bool_", "bool"),
    "stream_": ("stream__", "stream__"),
    "slots": ("slots", "slots"),
    "status": ("status", "status"),
    "kernel": ("kernel", "kernel"),
    "module": ("module_", "module"),
    "row": ("row", "row"),
    "obj_0": ("obj_0", "obj_0"),
    "slot_x": ("slot_x", "slot_x"),
    "main": ("main", "main"),
    "printf": ("printf", "printf"),
    "k_launch": ("k_launch", "k_launch"),
    "__init__": ("__init___", "__init__"),
    "LG_LIMIT": ("LG_LIMIT_", "LG_LIMIT"),
    "linux": ("linux_", "linux"),
    "global_scratch": ("global_scratch", "global_scratch"),
}
SIGNATURE = ", ".join(f"{name}: i32" for name in NAMES)


def c_parameters(launcher: Launcher) -> list[str]:
    """Return the names in the header's prototype of the launch."""
    prototype = re.search(rf"int {launcher.name}_launch\((.*?)\);", launcher.header(), re.DOTALL)
    assert prototype is not None
    bare = re.sub(r"/\*.*?\*/", "", prototype[1])
    return [re.findall(r"\w+", part)[-1] for part in bare.split(",")]


@pytest.mark.parametrize("name", ["k", "lg_x", "launch", "printf", "errno", "int", "_", "K9_"])
@pytest.mark.parametrize("face", FACES, ids=str)
def test_awkward_names_of_arguments_and_launchers_work(host: Host, face: Face, name: str) -> None:
    launcher = of_signature(SIGNATURE, name=name)
    values = tuple(range(100, 100 + len(NAMES)))
    launch = host.launched(face, launcher, 1, None, values)
    assert launch.values == tuple(struct.pack("<i", value) for value in values)


def test_the_header_appends_underscores_until_a_name_is_free() -> None:
    own = ["stream", "grid_x", "grid_y", "grid_z"]
    with_image = of_kernel(ADD)
    assert c_parameters(with_image)[:5] == [*own, "x_ptr"]
    launcher = of_signature(SIGNATURE)
    # Without an image `function` is the launcher's own.
    expected = [in_c for in_c, _ in NAMES.values()]
    expected[list(NAMES).index("function")] = "function_"
    assert c_parameters(launcher) == ["function", *own, *expected]


@pytest.mark.parametrize("compiler", [["gcc", "-std=c11"], ["g++", "-x", "c++", "-std=c++17"]])
def test_the_header_is_clean_in_c_and_cpp_whatever_the_names(
    compiler: list[str], tmp_path: Any
) -> None:
    launcher = of_signature(SIGNATURE)
    source = tmp_path / "user.c"
    source.write_text(
        "#include <complex.h>\n#include <errno.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        if "c++" not in compiler
        else "#include <cerrno>\n#include <cstdio>\n#include <complex>\n"
    )
    with source.open("a") as file:
        file.write(f'#include "{launcher.folder / "k.h"}"\n')
    command = [*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_names_are_pythons_keywords_by_the_same_rule(host: Host) -> None:
    launcher = of_signature(SIGNATURE)
    named = {in_python: number for number, (_, in_python) in enumerate(NAMES.values())}
    assert len(named) == len(NAMES)
    function = host.function(launcher)
    host.module(launcher).launch(function=function, grid=2, stream=None, **named)
    (launch,) = host.driver.launches
    assert launch.values == tuple(struct.pack("<i", number) for number in range(len(NAMES)))


@pytest.mark.parametrize("name", ["stream", "int", "class", "grid", "K"])
def test_errors_use_the_signatures_names(host: Host, name: str) -> None:
    launcher = of_signature(SIGNATURE)
    values = [0] * len(NAMES)
    values[list(NAMES).index(name)] = 2**31
    text = host.refusal(Face.PYTHON, launcher, 1, None, values, raises=OverflowError)
    assert f"argument {list(NAMES).index(name)} '{name}' (i32): " in text


@pytest.mark.parametrize("face", FACES, ids=str)
def test_a_parameter_called_like_the_scratch_that_the_kernel_needs(host: Host, face: Face) -> None:
    launcher = of_signature(
        "global_scratch: i32, copy_x: bytes[4], x: bytes[4], wide_x: i8",
        triton_version=(3, 6),
        global_scratch=Scratch(16, 16),
    )
    host.module(launcher).set_allocator(lambda *_: 0x40)
    values = (5, b"abcd", b"efgh", 3)
    launch = host.launched(face, launcher, 1, None, values, scratch=(0x40,))
    assert launch.values[:4] == (struct.pack("<i", 5), b"abcd", b"efgh", b"\3")
    assert launch.values[4] == struct.pack("<Q", 0x40)


def test_automatic_names_and_tuple_leaves_have_names_too(host: Host) -> None:
    launcher = of_signature("i32, t: (i32, (constexpr, i32)), t_0: i32")
    names = c_parameters(launcher)[5:]
    assert names == ["arg0", "t_0", "t_1_1", "t_0_"]
    function = host.function(launcher)
    host.module(launcher).launch(function, 1, None, arg0=1, t=(2, (0, 3)), t_0=4)
    assert host.driver.launches[-1].values == tuple(struct.pack("<i", n) for n in (1, 2, 3, 4))


# ---- attributes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize(
    ("pdl", "cooperative", "num_ctas"),
    list(itertools.product((False, True), (False, True), (1, 2))),
)
def test_attr1_attr5_every_combination_asks_for_exactly_its_attributes(
    host: Host, face: Face, pdl: bool, cooperative: bool, num_ctas: int
) -> None:
    launcher = of_signature("n: i32", pdl=pdl, cooperative=cooperative, num_ctas=num_ctas)
    launch = host.launched(face, launcher, 4, None, (5,))
    expected: list[tuple[int, tuple[int, ...]]] = []
    expected += [(SERIALIZATION, (1,))] * pdl + [(COOPERATIVE, (1,))] * cooperative
    if num_ctas == 2:
        expected += [(CLUSTER, (2, 1, 1)), (POLICY, (1,))]
    assert [(each.id, each.numbers) for each in launch.attributes] == expected
    assert len(expected) == (2 if num_ctas == 2 else 0) + pdl + cooperative
    metadata = host.module(launcher).metadata
    assert metadata["launch_pdl"] is pdl
    assert metadata["launch_cooperative_grid"] is cooperative
    assert metadata["num_ctas"] == num_ctas


def attributes_set(host: Host) -> list[tuple[int, int]]:
    """Return each attribute of a function that was set, and the value."""
    return [
        (call.arguments["attribute"], call.arguments["value"])
        for call in host.driver.calls
        if call.name in ("cuFuncSetAttribute", "cuKernelSetAttribute")
    ]


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize(("num_ctas", "allowed"), [(8, False), (16, True)])
def test_a_cluster_of_more_than_8_is_allowed_once_when_the_image_is_loaded(
    host: Host, face: Face, num_ctas: int, allowed: bool
) -> None:
    launcher = of_kernel(ADD, num_ctas=num_ctas)
    for x in (1, 2):
        launch = host.launched(face, launcher, x, None, ADD_VALUES)
        assert launch.grid == (num_ctas * x, 1, 1)
        assert launch.attribute(CLUSTER) == (num_ctas, 1, 1)
    assert attributes_set(host) == [(NON_PORTABLE, 1)] * allowed


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize(("shared", "raised"), [(48 * 1024, False), (48 * 1024 + 16, True)])
def test_shared_memory_above_48_kib_is_asked_for_once_when_the_image_is_loaded(
    host: Host, face: Face, shared: int, raised: bool
) -> None:
    launcher = of_kernel(ADD, shared=shared)
    for _ in range(2):
        assert host.launched(face, launcher, 1, None, ADD_VALUES).shared == shared
    assert attributes_set(host) == [(MAX_DYNAMIC_SHARED, shared)] * raised


@pytest.mark.parametrize("face", FACES, ids=str)
def test_shared_memory_beyond_the_device_is_refused_with_both_numbers(
    host: Host, face: Face
) -> None:
    launcher = of_kernel(ADD, shared=300_000)
    text = host.refusal(face, launcher, 1, None, ADD_VALUES)
    assert "needs 300000 bytes of dynamic shared memory, but device 0 allows 232448" in text


# ---- no image ------------------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES, ids=str)
def test_without_an_image_the_handle_is_prepared_at_each_launch(host: Host, face: Face) -> None:
    launcher = of_signature("n: i32", shared=100_000, num_ctas=16)
    host.driver.current_context = host.driver.primary_context()
    for _ in range(2):
        launch = host.launched(face, launcher, 1, None, (5,))
        assert (launch.shared, launch.grid) == (100_000, (16, 1, 1))
    assert attributes_set(host) == [(MAX_DYNAMIC_SHARED, 100_000), (NON_PORTABLE, 1)] * 2


@pytest.mark.parametrize("face", FACES, ids=str)
def test_without_an_image_nothing_is_set_that_is_not_needed(host: Host, face: Face) -> None:
    launcher = of_signature("n: i32", shared=48 * 1024, num_ctas=8)
    host.driver.current_context = host.driver.primary_context()
    host.call(face, launcher, 1, None, (5,))
    assert attributes_set(host) == []


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("shared", [0, 100_000])
def test_without_an_image_a_thread_without_a_context_gets_one(
    host: Host, face: Face, shared: int
) -> None:
    launcher = of_signature("n: i32", shared=shared)
    launch = host.launched(face, launcher, 1, None, (5,))
    assert (launch.device, launch.shared) == (0, shared)
    assert host.driver.current_context == host.driver.primary_context()


@pytest.mark.parametrize("face", FACES, ids=str)
def test_without_an_image_the_streams_device_gives_the_context(face: Face) -> None:
    launcher = of_signature("n: i32", shared=100_000)
    with other_host(devices=2) as host:
        stream = host.driver.new_stream(host.driver.primary_context(1))
        assert host.launched(face, launcher, 1, stream, (5,)).device == 1


@pytest.mark.parametrize("face", FACES, ids=str)
def test_without_an_image_a_kernel_handle_does_as_well_as_a_functions(
    host: Host, face: Face
) -> None:
    real = of_kernel(ADD)
    host.unload(Face.C, real)
    host.call(Face.C, real, 1, None, ADD_VALUES)
    kernels = [c.arguments["function"] for c in host.driver.calls if c.name == "cuLibraryGetKernel"]
    launcher = of_signature(ADD.signature, shared=100_000, triton_version=(3, 6))
    launch = host.launched(face, launcher, 3, None, ADD_VALUES, function=kernels[0])
    assert (launch.entry, launch.shared, launch.grid) == (ADD.entry, 100_000, (3, 1, 1))


def test_without_an_image_there_is_nothing_to_load_or_unload(host: Host) -> None:
    launcher = of_signature("n: i32")
    assert not hasattr(host.module(launcher), "load")
    assert not hasattr(host.module(launcher), "unload")
    assert not hasattr(host.library(launcher), "k_load")
    assert "k_load" not in launcher.header()


# ---- what the module says of itself --------------------------------------------------------------


def test_a_module_says_what_it_launches(host: Host) -> None:
    launcher = of_kernel(ADD)
    module = host.module(launcher)
    assert module.signature == str(launcher.signature)
    assert module.__name__ == "add"
    assert dict(module.metadata) == {
        "name": ADD.entry,
        "images": ("sm_90a",),
        "num_warps": 4,
        "num_ctas": 1,
        "cluster": (1, 1, 1),
        "threads": 128,
        "shared": 0,
        "launch_cooperative_grid": False,
        "launch_pdl": False,
        "global_scratch_size": 0,
        "global_scratch_align": 1,
        "profile_scratch_size": 0,
        "profile_scratch_align": 1,
        "triton_version": "3.6",
    }
    with pytest.raises(TypeError):
        module.metadata["num_warps"] = 8
    assert issubclass(module.CudaError, RuntimeError)
    assert module.CudaError.__module__ == "add"
