"""Asks the CUDA driver of this process what it does in cases that a launcher may meet.

``python tests/driver_probe/probe.py`` prints a line for each case.  Run on two H200 with driver
580.159.04 (CUDA 13.0) it printed ``h200.txt``, to which the recording driver is held.
``static_shared.cubin`` is ``static_shared.ptx``, assembled by ptxas 12.9 for sm_90.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KERNELS = HERE.parent / "kernels"
CUDA = ctypes.CDLL("libcuda.so.1")

Case = Callable[[], None]
CASES: list[Case] = []


def case(function: Case) -> Case:
    CASES.append(function)
    return function


def say(label: str, *values: object) -> None:
    print(f"{label}: {' '.join(map(str, values))}", flush=True)


def call(name: str, *arguments: object) -> int:
    result: int = getattr(CUDA, name)(*arguments)
    return result


def must(name: str, *arguments: object) -> None:
    result = call(name, *arguments)
    if result:
        raise RuntimeError(f"{name} returned {result}")


def image(name: str, folder: str = "triton-3.6.0-sm90") -> bytes:
    return (KERNELS / folder / f"{name}.cubin").read_bytes()


class LaunchAttribute(ctypes.Structure):
    _fields_ = (("id", c_int), ("pad", c_int), ("value", c_uint * 16))


class LaunchConfig(ctypes.Structure):
    _fields_ = (
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared", c_uint),
        ("stream", c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("count", c_uint),
    )


def primary(device: int = 0) -> c_void_p:
    context = c_void_p()
    must("cuDevicePrimaryCtxRetain", byref(context), device)
    return context


def start() -> c_void_p:
    must("cuInit", 0)
    context = primary()
    must("cuCtxSetCurrent", context)
    return context


def module_function(name: str, entry: str) -> tuple[c_void_p, c_void_p]:
    module, function = c_void_p(), c_void_p()
    must("cuModuleLoadData", byref(module), image(name))
    must("cuModuleGetFunction", byref(function), module, entry.encode())
    return module, function


def library_kernel(name: str, entry: str) -> tuple[c_void_p, c_void_p]:
    library, kernel = c_void_p(), c_void_p()
    must("cuLibraryLoadData", byref(library), image(name), None, None, 0, None, None, 0)
    must("cuLibraryGetKernel", byref(kernel), library, entry.encode())
    return library, kernel


def new_stream() -> c_void_p:
    stream = c_void_p()
    must("cuStreamCreate", byref(stream), 1)
    return stream


# Pointers are null and counts zero: on a GPU nothing is read or written.
_ZERO = (c_uint64 * 2)()


def launch(
    function: c_void_p,
    *,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    shared: int = 0,
    stream: c_void_p | None = None,
    attributes: tuple[tuple[int, tuple[int, ...]], ...] = (),
    parameters: bool = True,
    extra: ctypes.Array[c_void_p] | None = None,
    wait: bool = True,
) -> int:
    array = (LaunchAttribute * max(1, len(attributes)))()
    for entry, (number, values) in zip(array, attributes, strict=False):
        entry.id = number
        for index, value in enumerate(values):
            entry.value[index] = value
    config = LaunchConfig(
        (c_uint * 3)(*grid), (c_uint * 3)(*block), shared, stream, array, len(attributes)
    )
    pointers = (c_void_p * 32)(*[ctypes.addressof(_ZERO)] * 32) if parameters else None
    result = call("cuLaunchKernelEx", byref(config), function, pointers, extra)
    if not result and wait:
        result = call("cuCtxSynchronize")
    return result


def attribute(function: c_void_p, number: int) -> object:
    value = c_int(-77)
    result = call("cuFuncGetAttribute", byref(value), number, function)
    return value.value if result == 0 else f"error {result}"


@case
def before_init() -> None:
    value, text, address, status = c_int(), c_char_p(), c_void_p(), c_int(-1)
    say("count before init", call("cuDeviceGetCount", byref(value)))
    say("version before init", call("cuDriverGetVersion", byref(value)))
    say("error name before init", call("cuGetErrorName", 3, byref(text)), text.value)
    say(
        "address before init",
        call("cuGetProcAddress_v2", b"cuInit", byref(address), 12000, c_uint64(0), byref(status)),
        status.value,
    )
    say("context before init", call("cuCtxGetCurrent", byref(address)))
    say("retain before init", call("cuDevicePrimaryCtxRetain", byref(address), 0))
    say("pointer before init", call("cuPointerGetAttribute", byref(address), 3, c_uint64(64)))
    say(
        "library before init",
        call("cuLibraryLoadData", byref(address), image("add"), None, None, 0, None, None, 0),
    )
    say("init with flags", call("cuInit", 1))


@case
def error_texts() -> None:
    for code in (*range(1200), 9999, -1):
        name, text = c_char_p(b"kept"), c_char_p(b"kept")
        results = (
            call("cuGetErrorName", code, byref(name)),
            call("cuGetErrorString", code, byref(text)),
        )
        if results != (1, 1) or code in (6, 1000, 9999, -1):
            say(f"error {code}", *results, name.value, text.value)


@case
def addresses() -> None:
    for name, version in (
        ("cuNoSuchThing", 12000),
        ("cuLibraryLoadData", 11000),
        ("cuLibraryLoadData", 12000),
        ("cuLibraryLoadData_v2", 12000),
        ("cuMemAlloc", 12000),
        ("cuMemAlloc_v2", 12000),
        ("cuStreamGetCtx", 9000),
        ("cuInit", 1000),
    ):
        address, status = c_void_p(1), c_int(-1)
        word, zero = name.encode(), c_uint64(0)
        result = call("cuGetProcAddress_v2", word, byref(address), version, zero, byref(status))
        say(f"address of {name} at {version}", result, status.value, bool(address))
        address = c_void_p(1)
        result = call("cuGetProcAddress_v2", word, byref(address), version, zero, None)
        say(f"address of {name} at {version} without status", result, bool(address))
        address = c_void_p(1)
        result = call("cuGetProcAddress", word, byref(address), version, zero)
        say(f"old address of {name} at {version}", result, bool(address))
    which = {}
    for version in (12000, 12050):
        address = c_void_p()
        call(
            "cuGetProcAddress_v2",
            b"cuStreamGetCtx",
            byref(address),
            version,
            c_uint64(0),
            byref(c_int()),
        )
        which[version] = address.value
    say("stream context has two versions", which[12000] != which[12050])


@case
def without_context() -> None:
    must("cuInit", 0)
    handle, number = c_void_p(), c_int(-7)
    say("current", call("cuCtxGetCurrent", byref(handle)), handle.value)
    say("context device", call("cuCtxGetDevice", byref(number)))
    say("pop", call("cuCtxPopCurrent_v2", byref(handle)))
    say("synchronize", call("cuCtxSynchronize"))
    say("module", call("cuModuleLoadData", byref(handle), image("add")))
    say("stream", call("cuStreamCreate", byref(handle), 0))
    say("stream context", call("cuStreamGetCtx", None, byref(handle)))
    say("pointer", call("cuPointerGetAttribute", byref(handle), 3, c_uint64(4096)))
    say("pointer ordinal", call("cuPointerGetAttribute", byref(number), 9, c_uint64(4096)))
    say("allocate", call("cuMemAlloc_v2", byref(handle), c_size_t(64)))
    say("release unretained", call("cuDevicePrimaryCtxRelease_v2", 0))
    say("set none", call("cuCtxSetCurrent", None))
    say("push none", call("cuCtxPushCurrent_v2", None))
    say("device 99", call("cuDeviceGet", byref(number), 99))
    say("retain 99", call("cuDevicePrimaryCtxRetain", byref(handle), 99))
    say("attribute of device 99", call("cuDeviceGetAttribute", byref(number), 75, 99))
    say("attribute 9999", call("cuDeviceGetAttribute", byref(number), 9999, 0))
    say("attribute 0", call("cuDeviceGetAttribute", byref(number), 0, 0))
    flags, active = c_uint(7), c_int(7)
    say("state", call("cuDevicePrimaryCtxGetState", 0, byref(flags), byref(active)), active.value)


@case
def kernel_without_context() -> None:
    must("cuInit", 0)
    library, kernel = library_kernel("add", "add_kernel")
    handle, value, size, offset = c_void_p(), c_int(), c_size_t(), c_size_t()
    say("kernel launch", launch(kernel))
    say("kernel function", call("cuKernelGetFunction", byref(handle), kernel))
    say(
        "kernel parameter",
        call("cuKernelGetParamInfo", kernel, c_size_t(0), byref(offset), byref(size)),
    )
    say("kernel attribute", call("cuKernelGetAttribute", byref(value), 8, kernel, 0), value.value)
    say("kernel set attribute", call("cuKernelSetAttribute", 8, 65536, kernel, 0))
    say("kernel as function set", call("cuFuncSetAttribute", kernel, 8, 65536))
    say("kernel as function get", attribute(kernel, 8))
    say("kernel of no name", call("cuLibraryGetKernel", byref(handle), library, b"nothing"))
    say("unload", call("cuLibraryUnload", library))


@case
def kernel_stream_without_context() -> None:
    start()
    stream = new_stream()
    _, kernel = library_kernel("no_args", "no_args_kernel")
    must("cuCtxSetCurrent", None)
    config = LaunchConfig((c_uint * 3)(1, 1, 1), (c_uint * 3)(32, 1, 1), 0, stream, None, 0)
    pointers = (c_void_p * 32)(*[ctypes.addressof(_ZERO)] * 32)
    say("launch", call("cuLaunchKernelEx", byref(config), kernel, pointers, None))
    context, device = c_void_p(), c_int(-7)
    say("stream context", call("cuStreamGetCtx", stream, byref(context)), bool(context))
    say("stream synchronize", call("cuStreamSynchronize", stream))
    say("stream capturing", call("cuStreamIsCapturing", stream, byref(device)), device.value)
    if hasattr(CUDA, "cuStreamGetDevice"):
        say("stream device", call("cuStreamGetDevice", stream, byref(device)), device.value)
        say("default stream device", call("cuStreamGetDevice", None, byref(device)))


@case
def bad_images() -> None:
    start()
    handle = c_void_p()
    for label, data in (
        ("garbage", b"garbage" * 64),
        ("zeros", bytes(512)),
        ("another machine", Path(sys.executable).resolve().read_bytes()),
        ("older architecture", image("add", "triton-3.6.0-sm80")),
    ):
        say(f"module of {label}", call("cuModuleLoadData", byref(handle), data))
        say(
            f"library of {label}",
            call("cuLibraryLoadData", byref(handle), data, None, None, 0, None, None, 0),
        )
    say("module of nothing", call("cuModuleLoadData", byref(handle), None))
    say(
        "library of nothing",
        call("cuLibraryLoadData", byref(handle), None, None, None, 0, None, None, 0),
    )
    module, _ = module_function("add", "add_kernel")
    say("function of no name", call("cuModuleGetFunction", byref(handle), module, b"nothing"))


@case
def function_attributes() -> None:
    start()
    _, function = module_function("add", "add_kernel")
    _, matmul = module_function("matmul", "matmul_kernel")
    opt_in = c_int()
    must("cuDeviceGetAttribute", byref(opt_in), 97, 0)
    for number in (0, 1, 6, 8, 9, 10, 11, 14, 15, 18, -1):
        say(f"attribute {number} of add", attribute(function, number))
    for number in (0, 1, 8):
        say(f"attribute {number} of matmul", attribute(matmul, number))
    say("opt-in", opt_in.value)
    for number, value in (
        (8, opt_in.value),
        (8, opt_in.value + 1),
        (8, -1),
        (8, 0),
        (9, 50),
        (9, 101),
        (9, -2),
        (14, 1),
        (14, 2),
        (0, 5),
        (1, 5),
        (15, 1),
        (99, 1),
    ):
        say(f"set {number} to {value}", call("cuFuncSetAttribute", function, number, value))
    _, kernel = library_kernel("add", "add_kernel")
    say("kernel as function set", call("cuFuncSetAttribute", kernel, 8, 65536))
    found = c_int()
    must("cuKernelGetAttribute", byref(found), 8, kernel, 0)
    say("kernel then has", found.value)
    must("cuKernelSetAttribute", 8, 70000, kernel, 0)
    handle = c_void_p()
    must("cuKernelGetFunction", byref(handle), kernel)
    say("its function then has", attribute(handle, 8))
    say("kernel on device 99", call("cuKernelSetAttribute", 8, 1, kernel, 99))


@case
def parameters() -> None:
    start()
    _, function = module_function("add", "add_kernel")
    offset, size = c_size_t(), c_size_t()
    for index in range(8):
        result = call("cuFuncGetParamInfo", function, c_size_t(index), byref(offset), byref(size))
        say(f"parameter {index}", result, *((offset.value, size.value) if not result else ()))
    say("size left out", call("cuFuncGetParamInfo", function, c_size_t(0), byref(offset), None))
    say("offset left out", call("cuFuncGetParamInfo", function, c_size_t(0), None, byref(size)))


@case
def geometry() -> None:
    start()
    _, function = module_function("no_args", "no_args_kernel")
    for grid in (
        (1, 1, 1),
        (0, 1, 1),
        (1, 0, 1),
        (1, 1, 0),
        (2**31, 1, 1),
        (1, 65536, 1),
        (1, 1, 65536),
    ):
        say(f"grid {grid}", launch(function, grid=grid))
    for block in (
        (32, 1, 1),
        (0, 1, 1),
        (1, 1, 0),
        (64, 1, 1),
        (1, 32, 1),
        (256, 1, 1),
        (1025, 1, 1),
        (1, 1, 65),
    ):
        say(f"block {block}", launch(function, block=block))


@case
def shared_memory() -> None:
    start()
    _, function = module_function("no_args", "no_args_kernel")
    say("48 KiB", launch(function, shared=49152))
    say("one more", launch(function, shared=49153))
    must("cuFuncSetAttribute", function, 8, 60000)
    say("as set", launch(function, shared=60000))
    say("one more than set", launch(function, shared=60001))
    must("cuFuncSetAttribute", function, 8, 100)
    say("set lower", launch(function, shared=200))


@case
def clusters() -> None:
    start()
    _, function = module_function("no_args", "no_args_kernel")
    for size, grid in (
        ((2, 1, 1), (2, 1, 1)),
        ((2, 1, 1), (3, 1, 1)),
        ((1, 1, 1), (3, 1, 1)),
        ((0, 1, 1), (2, 1, 1)),
        ((8, 1, 1), (8, 1, 1)),
        ((2, 2, 2), (4, 4, 4)),
        ((3, 1, 1), (3, 1, 1)),
        ((16, 1, 1), (16, 1, 1)),
        ((9, 1, 1), (9, 1, 1)),
    ):
        say(f"cluster {size} of {grid}", launch(function, grid=grid, attributes=((4, size),)))
    must("cuFuncSetAttribute", function, 14, 1)
    for blocks in (9, 10, 12, 16, 17, 32):
        say(
            f"large cluster {blocks}",
            launch(function, grid=(blocks, 1, 1), attributes=((4, (blocks, 1, 1)),)),
        )
    say(
        "cluster and policy",
        launch(function, grid=(2, 1, 1), attributes=((4, (2, 1, 1)), (5, (1,)))),
    )
    say("policy alone", launch(function, attributes=((5, (1,)),)))
    say("policy 7", launch(function, attributes=((4, (1, 1, 1)), (5, (7,)))))
    say("serialization", launch(function, attributes=((6, (1,)),)))
    say("cooperative", launch(function, attributes=((2, (1,)),)))
    say("cooperative, large", launch(function, grid=(10**6, 1, 1), attributes=((2, (1,)),)))
    say("ignored", launch(function, attributes=((0, ()),)))
    say("unknown attribute", launch(function, attributes=((200, (1,)),)))
    say("attributes missing", launch_without_attributes(function))


def launch_without_attributes(function: c_void_p) -> int:
    config = LaunchConfig((c_uint * 3)(1, 1, 1), (c_uint * 3)(32, 1, 1), 0, None, None, 1)
    pointers = (c_void_p * 32)(*[ctypes.addressof(_ZERO)] * 32)
    return call("cuLaunchKernelEx", byref(config), function, pointers, None)


@case
def image_with_cluster() -> None:
    start()
    _, function = module_function("matmul_cluster", "matmul_kernel")
    for number in (10, 11, 12, 13):
        say(f"attribute {number}", attribute(function, number))
    must("cuFuncSetAttribute", function, 8, 131072)
    say("no cluster given", launch(function, grid=(2, 1, 1), block=(128, 1, 1), shared=131072))
    say(
        "another cluster given",
        launch(
            function, grid=(4, 1, 1), block=(128, 1, 1), shared=131072, attributes=((4, (4, 1, 1)),)
        ),
    )
    say("grid no multiple", launch(function, grid=(3, 1, 1), block=(128, 1, 1), shared=131072))


@case
def parameter_arrays() -> None:
    start()
    _, function = module_function("add", "add_kernel")
    say("no array", launch(function, block=(128, 1, 1), parameters=False))
    _, none = module_function("no_args", "no_args_kernel")
    say("none, where there are hidden ones", launch(none, parameters=False))
    extra = (c_void_p * 1)(None)
    say("both arrays", launch(function, block=(128, 1, 1), extra=extra))


@case
def other_contexts() -> None:
    first = start()
    mine = new_stream()
    _, function = module_function("no_args", "no_args_kernel")
    _, kernel = library_kernel("no_args", "no_args_kernel")
    second = c_void_p()
    must("cuCtxCreate_v2", byref(second), 0, 0)
    theirs = new_stream()
    bound = c_void_p()
    must("cuKernelGetFunction", byref(bound), kernel)
    say("function, default stream, other context", launch(function))
    say("function, its stream, other context", launch(function, stream=mine))
    say("function, other stream, other context", launch(function, stream=theirs))
    say("kernel, first stream, second context", launch(kernel, stream=mine))
    say("kernel, second stream, second context", launch(kernel, stream=theirs))
    say("kernel, default stream, second context", launch(kernel))
    say("kernel's function, first stream", launch(bound, stream=mine))
    say("kernel's function, second stream", launch(bound, stream=theirs))
    must("cuCtxSetCurrent", first)
    say("function, other stream", launch(function, stream=theirs))
    say("function, its stream", launch(function, stream=mine))
    say("kernel, second stream, first context", launch(kernel, stream=theirs))
    say("kernel's function, default stream, first context", launch(bound))
    say("legacy stream", launch(function, stream=c_void_p(1)))
    say("per-thread stream", launch(function, stream=c_void_p(2)))


@case
def released_context() -> None:
    context = start()
    _, kernel = library_kernel("no_args", "no_args_kernel")
    module_function("no_args", "no_args_kernel")
    say("launch", launch(kernel))
    say("release", call("cuDevicePrimaryCtxRelease_v2", 0))
    say("release again", call("cuDevicePrimaryCtxRelease_v2", 0))
    current, device = c_void_p(), c_int(-7)
    say(
        "current",
        call("cuCtxGetCurrent", byref(current)),
        current.value == context.value if current.value else current.value,
    )
    say("device", call("cuCtxGetDevice", byref(device)))
    say("launch after release", launch(kernel))
    say("allocate after release", call("cuMemAlloc_v2", byref(current), c_size_t(64)))
    say("same handle", primary().value == context.value)
    say("launch after retain", launch(kernel))


@case
def memory() -> None:
    start()
    address, number, pointer = c_uint64(), c_int(-7), c_uint64()
    say("allocate nothing", call("cuMemAlloc_v2", byref(address), c_size_t(0)))
    say("free nothing", call("cuMemFree_v2", c_uint64(0)))
    must("cuMemAlloc_v2", byref(address), c_size_t(4096))
    inside = c_uint64(address.value + 100)
    buffer = ctypes.create_string_buffer(4096)
    host = c_uint64(ctypes.addressof(buffer))
    say(
        "device pointer",
        call("cuPointerGetAttribute", byref(pointer), 3, inside),
        pointer.value == inside.value,
    )
    say("memory type", call("cuPointerGetAttribute", byref(number), 2, inside), number.value)
    say("ordinal", call("cuPointerGetAttribute", byref(number), 9, inside), number.value)
    say("managed", call("cuPointerGetAttribute", byref(number), 8, inside), number.value)
    for label, value in (("host", host), ("null", c_uint64(0)), ("wild", c_uint64(0x1000))):
        for attribute_id in (1, 2, 3, 8, 9):
            say(
                f"{label} pointer, attribute {attribute_id}",
                call("cuPointerGetAttribute", byref(pointer), attribute_id, value),
            )
    say("attribute 99", call("cuPointerGetAttribute", byref(pointer), 99, inside))
    say("copy in", call("cuMemcpyHtoD_v2", inside, buffer, c_size_t(4096 - 100)))
    say("copy nothing", call("cuMemcpyHtoD_v2", inside, buffer, c_size_t(0)))
    say("free inside", call("cuMemFree_v2", inside))
    say("free", call("cuMemFree_v2", address))
    say("free again", call("cuMemFree_v2", address))


def encode(**changes: Any) -> int:
    storage = ctypes.create_string_buffer(128 + 128)
    given: dict[str, Any] = {
        "align": 0,
        "type": 7,
        "rank": 2,
        "address": 1 << 20,
        "sizes": (64, 64),
        "strides": (256,),
        "box": (32, 32),
        "steps": (1, 1),
        "interleave": 0,
        "swizzle": 3,
        "promotion": 2,
        "fill": 0,
    }
    given.update(changes)
    place = -(-ctypes.addressof(storage) // 128) * 128 + given["align"]
    return call(
        "cuTensorMapEncodeTiled",
        c_void_p(place),
        given["type"],
        given["rank"],
        c_void_p(given["address"]),
        (c_uint64 * 5)(*given["sizes"]),
        (c_uint64 * 5)(*given["strides"]),
        (c_uint * 5)(*given["box"]),
        (c_uint * 5)(*given["steps"]),
        given["interleave"],
        given["swizzle"],
        given["promotion"],
        given["fill"],
    )


@case
def tensor_maps() -> None:
    say("before init", encode())
    must("cuInit", 0)
    say("without context", encode())
    start()
    for label, changes in (
        ("plain", {}),
        ("base 8", {"address": (1 << 20) + 8}),
        ("null base", {"address": 0}),
        ("rank 0", {"rank": 0}),
        ("rank 1", {"rank": 1}),
        ("rank 6", {"rank": 6}),
        ("stride 264", {"strides": (264,)}),
        ("stride 0", {"strides": (0,)}),
        ("stride below row", {"strides": (128,)}),
        ("stride 2^40", {"strides": (1 << 40,)}),
        ("stride 2^40 - 16", {"strides": ((1 << 40) - 16,)}),
        ("size 0", {"sizes": (0, 64)}),
        ("size 2^32", {"sizes": (64, 1 << 32)}),
        ("size 2^32 + 1", {"sizes": (64, (1 << 32) + 1)}),
        ("box 0", {"box": (0, 32)}),
        ("box 257", {"box": (32, 257)}),
        ("box 256", {"box": (32, 256)}),
        ("inner box 12 bytes", {"box": (3, 32), "swizzle": 0}),
        ("inner box 16 bytes", {"box": (4, 32), "swizzle": 0}),
        ("inner box beyond swizzle", {"box": (64, 32)}),
        ("inner box beyond 64", {"box": (32, 32), "swizzle": 2}),
        ("step 0", {"steps": (0, 1)}),
        ("step 8", {"steps": (1, 8)}),
        ("step 9", {"steps": (1, 9)}),
        ("fill", {"fill": 1}),
        ("fill of integers", {"fill": 1, "type": 3}),
        ("fill 2", {"fill": 2}),
        ("type 16", {"type": 16}),
        ("type 17", {"type": 17}),
        ("swizzle 4", {"swizzle": 4}),
        ("swizzle 7", {"swizzle": 7}),
        ("promotion 4", {"promotion": 4}),
        ("interleave 3", {"interleave": 3}),
        ("fp64 fill", {"type": 8, "fill": 1, "strides": (512,), "box": (16, 32)}),
        ("tf32", {"type": 11}),
        ("fp4 padded", {"type": 14, "sizes": (128, 64), "box": (128, 32), "strides": (64,)}),
    ):
        say(label, encode(**changes))


@case
def static_shared_memory() -> None:
    start()
    module, function = c_void_p(), c_void_p()
    data = (HERE / "static_shared.cubin").read_bytes()
    must("cuModuleLoadData", byref(module), data)
    must("cuModuleGetFunction", byref(function), module, b"static_kernel")
    for number in (0, 1, 8):
        say(f"attribute {number}", attribute(function, number))
    most = 232448 - 3000
    say("opt-in minus static", call("cuFuncSetAttribute", function, 8, most))
    say("one more", call("cuFuncSetAttribute", function, 8, most + 1))
    say("launch with all", launch(function, shared=most))


@case
def lazy_library() -> None:
    start()
    garbage = b"garbage" * 64
    older = image("add", "triton-3.6.0-sm80")
    for label, data in (("garbage", garbage), ("older architecture", older)):
        library, kernel = c_void_p(), c_void_p()
        arguments = (None, None, 0, None, None, 0)
        say(f"{label}: load", call("cuLibraryLoadData", byref(library), data, *arguments))
        say(f"{label}: kernel", call("cuLibraryGetKernel", byref(kernel), library, b"add_kernel"))
        if kernel:
            bound = c_void_p()
            say(f"{label}: function", call("cuKernelGetFunction", byref(bound), kernel))
            say(f"{label}: launch", launch(kernel, block=(128, 1, 1)))
        say(f"{label}: unload", call("cuLibraryUnload", library))


@case
def lazy_library_without_context() -> None:
    must("cuInit", 0)
    garbage = b"garbage" * 64
    older = image("add", "triton-3.6.0-sm80")
    for label, data in (("garbage", garbage), ("older architecture", older)):
        library, kernel = c_void_p(), c_void_p()
        arguments = (None, None, 0, None, None, 0)
        say(f"{label}: load", call("cuLibraryLoadData", byref(library), data, *arguments))
        say(f"{label}: kernel", call("cuLibraryGetKernel", byref(kernel), library, b"add_kernel"))
        value = c_int()
        if kernel:
            say(f"{label}: set", call("cuKernelSetAttribute", 8, 65536, kernel, 0))
            say(f"{label}: get", call("cuKernelGetAttribute", byref(value), 8, kernel, 0))


@case
def function_stream_without_context() -> None:
    start()
    stream = new_stream()
    _, function = module_function("no_args", "no_args_kernel")
    _, kernel = library_kernel("no_args", "no_args_kernel")
    bound = c_void_p()
    must("cuKernelGetFunction", byref(bound), kernel)
    must("cuCtxSetCurrent", None)
    say("module's function, its stream", launch(function, stream=stream, wait=False))
    say("kernel's function, its stream", launch(bound, stream=stream, wait=False))
    say("module's function, default stream", launch(function, wait=False))
    say("kernel's function, default stream", launch(bound, wait=False))
    say("module's function, attribute", attribute(function, 8))
    say("module's function, set", call("cuFuncSetAttribute", function, 8, 1000))
    offset, size = c_size_t(), c_size_t()
    say(
        "module's function, parameter",
        call("cuFuncGetParamInfo", function, c_size_t(0), byref(offset), byref(size)),
    )


@case
def pointer_without_context() -> None:
    start()
    address, number, pointer = c_uint64(), c_int(-7), c_uint64()
    must("cuMemAlloc_v2", byref(address), c_size_t(4096))
    must("cuCtxSetCurrent", None)
    for number_of in (1, 2, 3, 8, 9):
        result = call("cuPointerGetAttribute", byref(pointer), number_of, address)
        say(f"attribute {number_of}", result)
    say("ordinal", call("cuPointerGetAttribute", byref(number), 9, address), number.value)
    say("free", call("cuMemFree_v2", address))


@case
def kernel_as_function() -> None:
    start()
    _, kernel = library_kernel("add", "add_kernel")
    offset, size = c_size_t(), c_size_t()
    say("attribute", attribute(kernel, 8))
    say("parameter", call("cuFuncGetParamInfo", kernel, c_size_t(0), byref(offset), byref(size)))


@case
def null_handles() -> None:
    start()
    handle = c_void_p()
    say("launch", launch(c_void_p()))
    say("unload module", call("cuModuleUnload", None))
    say("unload library", call("cuLibraryUnload", None))
    say("function", call("cuModuleGetFunction", byref(handle), None, b"add_kernel"))
    say("kernel", call("cuLibraryGetKernel", byref(handle), None, b"add_kernel"))
    say("set attribute", call("cuFuncSetAttribute", None, 8, 1000))
    say("destroy stream", call("cuStreamDestroy_v2", None))
    say("destroy context", call("cuCtxDestroy_v2", None))


@case
def cooperative_limit() -> None:
    start()
    _, function = module_function("no_args", "no_args_kernel")
    _, large = module_function("matmul", "matmul_kernel")
    must("cuFuncSetAttribute", function, 8, 100000)
    say("registers of no_args", attribute(function, 4))
    say("registers of matmul", attribute(large, 4))
    for grid in (132 * 32, 132 * 32 + 1):
        say(f"{grid} blocks", launch(function, grid=(grid, 1, 1), attributes=((2, (1,)),)))
    for grid in (264, 265):
        result = launch(function, grid=(grid, 1, 1), shared=100000, attributes=((2, (1,)),))
        say(f"{grid} blocks with much shared memory", result)


@case
def destroyed_context() -> None:
    first = start()
    second, current = c_void_p(), c_void_p()
    must("cuCtxCreate_v2", byref(second), 0, 0)
    say("destroy", call("cuCtxDestroy_v2", second))
    say("then current", call("cuCtxGetCurrent", byref(current)), current.value == first.value)
    must("cuCtxCreate_v2", byref(second), 0, 0)
    must("cuCtxPushCurrent_v2", first)
    say("destroy below the top", call("cuCtxDestroy_v2", second))
    must("cuCtxPopCurrent_v2", byref(current))
    say("then current", call("cuCtxGetCurrent", byref(current)), current.value == second.value)
    say("then launch", launch(library_kernel("no_args", "no_args_kernel")[1], wait=False))


@case
def set_released_context() -> None:
    context = start()
    must("cuDevicePrimaryCtxRelease_v2", 0)
    must("cuCtxSetCurrent", None)
    say("set", call("cuCtxSetCurrent", context))


@case
def two_devices() -> None:
    count = c_int()
    must("cuInit", 0)
    must("cuDeviceGetCount", byref(count))
    if count.value < 2:
        raise RuntimeError("one device only")
    first, second = primary(0), primary(1)
    must("cuCtxSetCurrent", second)
    address, pointer, number = c_uint64(), c_uint64(), c_int(-7)
    must("cuMemAlloc_v2", byref(address), c_size_t(4096))
    theirs = new_stream()
    _, their_function = module_function("no_args", "no_args_kernel")
    must("cuCtxSetCurrent", first)
    _, function = module_function("no_args", "no_args_kernel")
    _, kernel = library_kernel("no_args", "no_args_kernel")
    for number_of in (1, 2, 3, 8):
        result = call("cuPointerGetAttribute", byref(pointer), number_of, address)
        say(f"other device's pointer, attribute {number_of}", result)
    say("its ordinal", call("cuPointerGetAttribute", byref(number), 9, address), number.value)
    say("kernel, other device's stream", launch(kernel, stream=theirs))
    say("function, other device's stream", launch(function, stream=theirs))
    say("their function, their stream", launch(their_function, stream=theirs))
    say("their function, default stream", launch(their_function))
    context = c_void_p()
    say(
        "stream context",
        call("cuStreamGetCtx", theirs, byref(context)),
        context.value == second.value,
    )
    say("set for the other device", call("cuKernelSetAttribute", 8, 65536, kernel, 1))
    value = c_int()
    must("cuKernelGetAttribute", byref(value), 8, kernel, 0)
    say("then here", value.value)
    say("launch there", launch(kernel, stream=theirs, shared=65536))
    say("launch here", launch(kernel, shared=65536))
    say("set their function", call("cuFuncSetAttribute", their_function, 8, 65536))


@case
def map_alignment() -> None:
    start()
    for align in (0, 64, 32, 16, 8, 4):
        say(f"map aligned {align}", encode(align=align))


def text(target: str, version: str = "8.0") -> str:
    return (
        f".version {version}\n.target {target}\n.address_size 64\n"
        ".visible .entry text_kernel(.param .u64 p, .param .b32 q) { ret; }\n"
    )


def module_of(source: str) -> tuple[int, c_void_p]:
    module = c_void_p()
    return call("cuModuleLoadData", byref(module), source.encode() + b"\0"), module


def kernel_of(source: str) -> tuple[int, int, c_void_p]:
    library, kernel = c_void_p(), c_void_p()
    data = source.encode() + b"\0"
    loaded = call("cuLibraryLoadData", byref(library), data, None, None, 0, None, None, 0)
    return loaded, call("cuLibraryGetKernel", byref(kernel), library, b"text_kernel"), kernel


def parameter(name: str, function: c_void_p, index: int) -> int:
    return call(name, function, c_size_t(index), byref(c_size_t()), byref(c_size_t()))


@case
def text_images() -> None:
    start()
    for target in ("sm_80", "sm_90", "sm_90a", "sm_91", "sm_90f", "sm_100", "sm_100a", "sm_100f"):
        source = text(target, "8.8")
        say(f"{target}: module, library, kernel", module_of(source)[0], *kernel_of(source)[:2])
    odd = {
        "newer version": text("sm_80", "9.9"),
        "comments": f"// a\n/* b */\n\n{text('sm_80')}",
        "blanks": f" \n{text('sm_80')}",
        "no target": ".version 8.0\n",
        "no version": "hello",
        "comment alone": "// a\n",
        "nothing": "",
    }
    for label, source in odd.items():
        say(f"{label}: module, library, kernel", module_of(source)[0], *kernel_of(source)[:2])


@case
def text_functions() -> None:
    start()
    function = c_void_p()
    must("cuModuleGetFunction", byref(function), module_of(text("sm_80"))[1], b"text_kernel")
    say("binary version", attribute(function, 6))
    asked = [parameter("cuFuncGetParamInfo", function, index) for index in range(3)]
    say("parameters of a module's function", *asked)
    kernel = kernel_of(text("sm_80"))[2]
    must("cuKernelGetFunction", byref(function), kernel)
    asked = [parameter("cuFuncGetParamInfo", function, index) for index in range(3)]
    say("parameters of a kernel's function", *asked)


@case
def preferred_clusters() -> None:
    start()
    function = c_void_p()
    must("cuModuleGetFunction", byref(function), module_of(text("sm_90"))[1], b"text_kernel")
    for label, attributes in {
        "cluster 2": ((4, (2, 1, 1)),),
        "preferred 4": ((11, (4, 1, 1)),),
        "cluster 2, preferred 4": ((4, (2, 1, 1)), (11, (4, 1, 1))),
        "cluster 2, preferred 3": ((4, (2, 1, 1)), (11, (3, 1, 1))),
    }.items():
        say(label, launch(function, grid=(8, 1, 1), block=(32, 1, 1), attributes=attributes))


@case
def limits() -> None:
    must("cuInit", 0)
    value = c_size_t()
    say("limit without context", call("cuCtxGetLimit", byref(value), 1))
    say("limit set without context", call("cuCtxSetLimit", 1, c_size_t(1 << 21)))
    must("cuCtxSetCurrent", primary())
    for number in (1, 2, 10, -1):
        result = call("cuCtxGetLimit", byref(value), number)
        say(f"limit {number}", result, *((value.value,) if not result else ()))
    for size in (1 << 21, 1 << 20, 0):
        result = call("cuCtxSetLimit", 1, c_size_t(size))
        must("cuCtxGetLimit", byref(value), 1)
        say(f"limit 1 set to {size}", result, value.value)
    say("limit 10 set", call("cuCtxSetLimit", 10, c_size_t(1)))
    say("limit nowhere", call("cuCtxGetLimit", None, 1))


@case
def cache_config() -> None:
    start()
    _, function = module_function("no_args", "no_args_kernel")
    for config in (0, 1, 2, 3, 4, -1):
        say(f"cache config {config}", call("cuFuncSetCacheConfig", function, config))
    _, kernel = library_kernel("no_args", "no_args_kernel")
    say("cache config of a kernel", call("cuFuncSetCacheConfig", kernel, 1))
    say("cache config of nothing", call("cuFuncSetCacheConfig", None, 1))


def active_clusters_of(
    function: c_void_p | None,
    *,
    size: tuple[int, int, int] | None = (2, 1, 1),
    grid: tuple[int, int, int] = (2, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    shared: int = 0,
) -> tuple[int, str]:
    array = (LaunchAttribute * 1)()
    array[0].id = 4
    for index, value in enumerate(size or ()):
        array[0].value[index] = value
    config = LaunchConfig(
        (c_uint * 3)(*grid), (c_uint * 3)(*block), shared, None, array, 1 if size else 0
    )
    count = c_int(-77)
    result = call("cuOccupancyMaxActiveClusters", byref(count), function, byref(config))
    return result, "some" if count.value > 0 else str(count.value)


@case
def active_clusters() -> None:
    start()
    _, function = module_function("no_args", "no_args_kernel")
    for size in ((1, 1, 1), (2, 1, 1), (8, 1, 1), (16, 1, 1), (0, 1, 1), (3, 1, 1)):
        say(f"active {size}", *active_clusters_of(function, size=size, grid=size))
    say("active, no cluster", *active_clusters_of(function, size=None))
    say("active, another grid", *active_clusters_of(function, grid=(3, 1, 1)))
    say("active, no grid", *active_clusters_of(function, grid=(0, 1, 1)))
    say("active, another block", *active_clusters_of(function, block=(64, 1, 1)))
    say("active, much shared", *active_clusters_of(function, shared=60000))
    must("cuFuncSetAttribute", function, 8, 60000)
    say("active, shared as set", *active_clusters_of(function, shared=60000))
    must("cuFuncSetAttribute", function, 14, 1)
    large = (16, 1, 1)
    say("active, large allowed", *active_clusters_of(function, size=large, grid=large))
    say("active, larger", *active_clusters_of(function, size=(32, 1, 1), grid=(32, 1, 1)))
    say("active of nothing", *active_clusters_of(None))
    _, kernel = library_kernel("no_args", "no_args_kernel")
    say("active of a kernel", *active_clusters_of(kernel))
    _, required = module_function("matmul_cluster", "matmul_kernel")
    say(
        "active as required",
        *active_clusters_of(required, size=None, block=(128, 1, 1)),
    )


@case
def stale_handles() -> None:
    start()
    module, function = module_function("no_args", "no_args_kernel")
    library, kernel = library_kernel("no_args", "no_args_kernel")
    must("cuModuleUnload", module)
    must("cuLibraryUnload", library)
    say("kernel of an unloaded library", launch(kernel))
    say("function of an unloaded module", launch(function))


def main() -> None:
    for function in CASES:
        print(f"== {function.__name__}", flush=True)
        child = os.fork()
        if child == 0:
            try:
                function()
            except RuntimeError as error:
                say("stopped", error)
            finally:
                sys.stdout.flush()
                os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            say("died of signal", os.WTERMSIG(status))


if __name__ == "__main__":
    main()
