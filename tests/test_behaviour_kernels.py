"""Real kernels, launched from C and from Python: what arrives is what their images declare."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from launchgen.signature import (
    Argument,
    Constant,
    DescriptorType,
    Hint,
    PointerType,
    ScalarType,
    TupleType,
    leaves,
)
from tests.cubin import read_kernel_info
from tests.exact import FORMATS, rounded
from tests.launchers import (
    FACES,
    Descriptor,
    Face,
    Host,
    Launcher,
    Refused,
    of_cache_entry,
    of_kernel,
    other_host,
)
from tests.zoo import ZOO, Kernel

COOPERATIVE, CLUSTER, POLICY, SERIALIZATION = 2, 4, 5, 6
SPREAD = 1
SCRATCH = 0x7F00_0008_0000

SM90 = [kernel for kernel in ZOO if "sm90" in kernel.folder]
SM80 = [kernel for kernel in ZOO if "sm80" in kernel.folder]

# One value for each type that no neighbour and no other width has the bits of.
VALUES: dict[str, Any] = {
    "i1": True,
    "i8": -100,
    "i16": -30_000,
    "i32": -2_000_000_000,
    "i64": -(2**62) - 12_345,
    "u8": 200,
    "u16": 60_000,
    "u32": 4_000_000_000,
    "u64": 2**64 - 54_321,
    "fp16": 0.1,
    "bf16": 1.00585937,
    "fp32": 0.1,
    "fp64": 0.1,
}
INTEGERS = {
    **{f"i{bits}": f"<{code}" for bits, code in ((8, "b"), (16, "h"), (32, "i"), (64, "q"))},
    **{f"u{bits}": f"<{code}" for bits, code in ((8, "B"), (16, "H"), (32, "I"), (64, "Q"))},
    "i1": "<B",
}


def value_for(argument: Argument, number: int) -> Any:
    """Return a value that ``argument`` takes, different for each ``number``."""
    kind = argument.type
    if isinstance(kind, TupleType):
        return tuple(value_for(each, 10 * number + i) for i, each in enumerate(kind.elements))
    if isinstance(kind, PointerType):
        return 0x7F00_0000_1000 + 0x100 * number
    if isinstance(kind, ScalarType):
        return 64 * (number + 1) if argument.hint else VALUES[kind.scalar.name]
    if isinstance(kind, DescriptorType):
        return Descriptor(0x7F00_0000_1000 + 0x100 * number, (128, 96 + number), (136, 1))
    assert isinstance(kind, Constant)
    return object()


# What the recording driver's tensor maps begin with.
MAP = b"LGRTMAP1"


def values_for(launcher: Launcher) -> list[Any]:
    arguments = launcher.signature.arguments
    return [value_for(argument, number) for number, argument in enumerate(arguments)]


def expected_bytes(launcher: Launcher, values: Sequence[Any], face: Face) -> Iterator[bytes]:
    """Yield what each slot of the kernel has to hold."""
    for leaf in leaves(launcher.signature):
        kind = leaf.argument.type
        if isinstance(kind, Constant) or leaf.argument.hint is Hint.EQUALS_1:
            continue
        value: Any = values
        for index in leaf.path:
            value = value[index]
        if isinstance(kind, PointerType):
            yield struct.pack("<Q", value)
            continue
        if isinstance(kind, DescriptorType):
            yield from descriptor_bytes(launcher, value)
            continue
        assert isinstance(kind, ScalarType)
        name = kind.scalar.name
        if name in INTEGERS:
            yield struct.pack(INTEGERS[name], value)
            continue
        if face is Face.C and name != "fp64":
            (value,) = struct.unpack("<f", rounded(value, "fp32"))
        assert name in FORMATS
        yield rounded(value, name)


def descriptor_bytes(launcher: Launcher, given: Descriptor) -> Iterator[bytes]:
    """Yield a descriptor's slots; of a map no more than its beginning."""
    shape, strides = struct.pack("<2i", *given.shape), struct.pack("<2q", *given.strides)
    if launcher.metadata.tensor_descriptors:
        yield MAP
    else:
        # Of Triton 3.6: a flag for padding with NaN.
        wide = struct.pack("<Q2q", given.base, *given.shape)
        yield from (part for (part,) in struct.iter_unpack("8s", wide + strides))
        yield bytes(1)
    yield from (part for (part,) in struct.iter_unpack("4s", shape))
    yield from (part for (part,) in struct.iter_unpack("8s", strides))


def expected_attributes(kernel: Kernel) -> list[tuple[int, tuple[int, ...]]]:
    """Return what the launch has to ask for, in Triton's own order."""
    raw = json.loads(kernel.json.read_text())
    found: list[tuple[int, tuple[int, ...]]] = []
    if raw["launch_pdl"]:
        found.append((SERIALIZATION, (1,)))
    if raw["launch_cooperative_grid"]:
        found.append((COOPERATIVE, (1,)))
    if raw["num_ctas"] != 1:
        found.append((CLUSTER, (raw["num_ctas"], 1, 1)))
        found.append((POLICY, (SPREAD,)))
    return found


def check_launch(
    host: Host, kernel: Kernel, face: Face, make: Callable[[Kernel], Launcher] = of_kernel
) -> None:
    launcher = make(kernel)
    values = values_for(launcher)
    raw = json.loads(kernel.json.read_text())
    scratch = (SCRATCH,) if raw.get("global_scratch_size") else ()
    if face is Face.PYTHON and scratch:
        host.module(launcher).set_allocator(lambda size, alignment, stream: SCRATCH)
    launch = host.launched(face, launcher, (3, 2, 5), None, values, scratch=scratch)

    info = read_kernel_info(kernel.cubin, kernel.entry)
    shape = [(i, p.offset, p.size) for i, p in enumerate(launch.parameters)]
    assert shape == list(info.parameters)
    given = list(expected_bytes(launcher, values, face))
    hidden = [struct.pack("<Q", address) for address in scratch]
    hidden += [bytes(8)] * (len(shape) - len(given) - len(hidden))
    found = [MAP if value.startswith(MAP) else value for value in launch.values]
    assert found == [*given, *hidden]

    assert launch.entry == kernel.entry
    assert launch.grid == (3 * raw["num_ctas"], 2, 5)
    assert launch.block == (32 * raw["num_warps"], 1, 1)
    assert info.block in (None, launch.block)
    assert launch.shared == raw["shared"]
    asked = [(attribute.id, attribute.numbers) for attribute in launch.attributes]
    assert asked == expected_attributes(kernel)


def test_the_zoo_holds_what_this_file_is_about() -> None:
    folders = {kernel.folder for kernel in ZOO}
    assert folders >= {"triton-3.4.0-sm90", "triton-3.6.0-sm90", "triton-3.9.0-sm90"}
    assert len([kernel for kernel in ZOO if kernel.folder == "triton-3.6.0-sm90"]) == 14
    assert SM80


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("kernel", SM90, ids=str)
def test_scratch1_what_arrives_is_what_the_image_declares(
    host: Host, kernel: Kernel, face: Face
) -> None:
    check_launch(host, kernel, face)


@pytest.mark.parametrize("face", FACES, ids=str)
def test_what_arrives_is_what_images_of_an_older_device_declare(face: Face) -> None:
    with other_host(capability=80) as host:
        for kernel in SM80:
            check_launch(host, kernel, face)


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("kernel", SM90, ids=str)
def test_what_arrives_is_right_without_a_signature(host: Host, kernel: Kernel, face: Face) -> None:
    check_launch(host, kernel, face, of_cache_entry)


@pytest.mark.parametrize("face", FACES, ids=str)
def test_what_arrives_is_right_without_a_signature_on_an_older_device(face: Face) -> None:
    with other_host(capability=80) as host:
        for kernel in SM80:
            check_launch(host, kernel, face, of_cache_entry)


@pytest.mark.parametrize("face", FACES, ids=str)
def test_name7_an_image_for_another_device_is_refused(host: Host, face: Face) -> None:
    kernel = next(kernel for kernel in SM80 if kernel.name == "add")
    launcher = of_kernel(kernel)
    cuda_error = host.module(launcher).CudaError
    text = host.refusal(face, launcher, 1, None, values_for(launcher), raises=cuda_error, code=209)
    assert "no image fits device 0 of capability 9.0; at hand is sm_80" in text


@pytest.mark.parametrize("face", FACES, ids=str)
def test_launches_go_on_after_unload_and_the_kernel_is_loaded_once_each_time(
    host: Host, face: Face
) -> None:
    launcher = of_kernel(SM90[0])
    values = values_for(launcher)
    with_unload = [True, False, True]
    host.unload(face, launcher)
    host.driver.reset()
    for unload in with_unload:
        host.call(face, launcher, 1, None, values)
        if unload:
            host.unload(face, launcher)
    names = [call.name for call in host.driver.calls]
    assert names.count("cuLibraryLoadData") == names.count("cuLibraryUnload") == 2
    assert len(host.driver.launches) == 3


@pytest.mark.parametrize("face", FACES, ids=str)
def test_load_ahead_leaves_nothing_but_the_launch_to_do(host: Host, face: Face) -> None:
    launcher = of_kernel(SM90[0])
    host.load(face, launcher)
    host.driver.reset()
    host.driver.current_context = host.driver.primary_context()
    host.call(face, launcher, 1, None, values_for(launcher))
    assert [call.name for call in host.driver.calls] == ["cuLaunchKernelEx"]


@pytest.mark.parametrize("code", [1, 209, 700, 719])
@pytest.mark.parametrize("face", FACES, ids=str)
def test_error4_a_failed_launch_says_call_code_kernel_and_geometry(
    host: Host, face: Face, code: int
) -> None:
    launcher = of_kernel(SM90[0])
    host.driver.current_context = host.driver.primary_context()
    host.driver.fail("cuLaunchKernelEx", code)
    error = host.module(launcher).CudaError
    with pytest.raises((Refused, error)) as caught:
        host.call(face, launcher, (7, 2), None, values_for(launcher))
    assert caught.value.code == code
    text = str(caught.value)
    assert text.startswith(f"{launcher.name}: cuLaunchKernelEx failed: ")
    for word in (f"({code})", "CUDA_ERROR_", "grid 7x2x1", "block 128x1x1", "device 0"):
        assert word in text
    if face is Face.PYTHON:
        assert caught.value.name.startswith("CUDA_ERROR_")
    assert host.driver.launches == ()
