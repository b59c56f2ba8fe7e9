"""Real kernels on a real GPU compute the right numbers, from C and from Python.

``pytest -m gpu`` runs these; they need PyTorch and an sm_90 device (Hopper), and skip without.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import json
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

import pytest

from launchgen.cli import main
from launchgen.signature import (
    Constant,
    DescriptorType,
    PointerType,
    ScalarType,
    Signature,
    leaves,
    parse,
)
from launchgen.sources import read_kernel
from launchgen.targets import TARGETS
from tests.zoo import Kernel

torch: Any = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0),
        reason="no sm_90 GPU",
    ),
]

FOLDER: Final = "triton-3.6.0-sm90"
POINTERS: Final = ctypes.c_void_p
SCALARS: Final[dict[str, Any]] = {
    "i1": ctypes.c_bool,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8,
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "fp16": ctypes.c_float,
    "bf16": ctypes.c_float,
    "fp32": ctypes.c_float,
    "fp64": ctypes.c_double,
}

Launch = Callable[..., None]


class Descriptor(NamedTuple):
    """A tensor as Triton's own descriptors have it."""

    base: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    padding: str = "zero"


class Launcher:
    """One kernel through one of the two launchers, called the same way.

    ``launch(grid, stream, *arguments)`` takes the arguments of the signature, constants left out
    at the end.
    """

    def __init__(
        self, face: str, name: str, folder: Path, signature: Signature | None = None
    ) -> None:
        self.face = face
        self.name = name
        self.signature = signature or parse(Kernel(FOLDER, name).signature)
        self.module = _import(name, folder) if face == "python" else None
        self.library = ctypes.CDLL(str(folder / f"lib{name}.so")) if face == "c" else None

    def __call__(self, grid: tuple[int, int, int], stream: Any, *arguments: Any) -> None:
        if self.module is not None:
            self.module.launch(grid, stream, *arguments)
        else:
            self._call_c(grid, stream, (), arguments)

    def with_scratch(
        self, grid: tuple[int, int, int], stream: Any, scratch: Any, *arguments: Any
    ) -> None:
        self._call_c(grid, stream, (scratch.data_ptr(),), arguments)

    def _call_c(
        self, grid: tuple[int, int, int], stream: Any, scratch: Any, arguments: Any
    ) -> None:
        assert self.library is not None
        function = getattr(self.library, f"{self.name}_launch")
        handle = 0 if stream is None else stream.cuda_stream
        given = [_value(leaf, arguments) for leaf in self._passed(arguments)]
        flat = [ctypes.byref(_struct(v)) if isinstance(v, Descriptor) else v for v in given]
        types = [_c_type(leaf.argument.type) for leaf in self._passed(arguments)]
        function.argtypes = [
            POINTERS,
            *[ctypes.c_uint32] * 3,
            *[POINTERS] * len(scratch),
            *types,
        ]
        status = function(handle, *grid, *scratch, *flat)
        if status:
            error = getattr(self.library, f"{self.name}_error")
            error.restype = ctypes.c_char_p
            raise RuntimeError(error().decode())

    def _passed(self, arguments: Any) -> list[Any]:
        return [
            leaf
            for leaf in leaves(self.signature)
            if leaf.path[0] < len(arguments) and not isinstance(leaf.argument.type, Constant)
        ]


def _value(leaf: Any, arguments: Any) -> Any:
    value = arguments
    for index in leaf.path:
        value = value[index]
    return value.data_ptr() if hasattr(value, "data_ptr") else value


def _struct(given: Descriptor) -> Any:
    """Return what the C launcher's header declares for a descriptor of rank 2."""
    fields = [("base", POINTERS), ("shape", ctypes.c_int64 * 2), ("strides", ctypes.c_int64 * 2)]
    flags = [("nan_padding", ctypes.c_bool), ("round_tf32", ctypes.c_bool)]
    made = type("desc_2", (ctypes.Structure,), {"_fields_": [*fields, *flags]})
    sizes = ((ctypes.c_int64 * 2)(*each) for each in (given.shape, given.strides))
    return made(given.base.data_ptr(), *sizes, given.padding == "nan", False)


def _c_type(type_: object) -> Any:
    if isinstance(type_, PointerType | DescriptorType):
        return POINTERS
    assert isinstance(type_, ScalarType)
    return SCALARS[type_.scalar.name]


def _import(name: str, folder: Path) -> ModuleType:
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}{suffix}")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["c", "python"])
def face(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Emit and build each kernel once, as a user would."""
    built: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in built:
            folder = tmp_path_factory.mktemp(name)
            kernel = Kernel(FOLDER, name)
            signature = ["--signature", kernel.signature]
            assert main(["emit", str(kernel.json), "-n", name, *signature, "-o", str(folder)]) == 0
            assert main(["build", str(folder)]) == 0
            built[name] = folder
        return built[name]

    return build


@pytest.fixture
def launcher(face: str, folders: Callable[[str], Path]) -> Iterator[Callable[[str], Launcher]]:
    yield lambda name: Launcher(face, name, folders(name))
    torch.cuda.synchronize()


def cuda(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(*shape, device="cuda", dtype=dtype)


@pytest.mark.parametrize("name", ["add", "add_div16"])
def test_add(launcher: Callable[[str], Launcher], name: str) -> None:
    n = 100_000
    x, y, out = cuda(n), cuda(n), torch.zeros(n, device="cuda")
    launcher(name)((-(-n // 1024), 1, 1), None, x, y, out, n, 2.5)
    torch.testing.assert_close(out, x * 2.5 + y)


def test_add_in_half_precision_with_a_half_scalar(launcher: Callable[[str], Launcher]) -> None:
    n = 100_001
    half = torch.float16
    x, y, out = cuda(n, dtype=half), cuda(n, dtype=half), torch.zeros(n, device="cuda", dtype=half)
    launcher("add_fp16")((-(-n // 256), 1, 1), None, x, y, out, n, 1.5)
    torch.testing.assert_close(out, x * 1.5 + y, rtol=2e-3, atol=2e-3)


def test_every_scalar_arrives_as_given(launcher: Callable[[str], Launcher]) -> None:
    out = torch.zeros(13, device="cuda", dtype=torch.int64)
    launcher("scalars")(
        (1, 1, 1),
        None,
        *(out, True, -113, -32768, -(2**31), -(2**63), 255, 65535, 2**32 - 1, 2**64 - 1),
        *(42.0, 1.00585937, 0.125, 0.1),
    )
    got = out.cpu()
    assert got[:9].tolist() == [1, -113, -32768, -(2**31), -(2**63), 255, 65535, 2**32 - 1, -1]
    assert got[9:].view(torch.float64).tolist() == [42.0, 1.0078125, 0.125, 0.1]


def test_nested_tuples(launcher: Callable[[str], Launcher]) -> None:
    a, b, out = cuda(1), cuda(1), torch.zeros(2, device="cuda")
    launcher("tuple")((1, 1, 1), None, (a, (b, 3)), (5, 6), 1.5, out)
    torch.testing.assert_close(out, torch.stack([(a[0] + b[0]) * 1.5, torch.tensor(30.0).cuda()]))


def test_wide(launcher: Callable[[str], Launcher]) -> None:
    out = torch.zeros(2, device="cuda", dtype=torch.int64)
    integers = [i - 10 for i in range(20)]
    floats = [i / 4 for i in range(20)]
    launcher("wide")((1, 1, 1), None, out, *integers, *floats)
    assert out[:1].tolist() == [sum(integers)]
    assert out[1:].cpu().view(torch.float64).tolist() == [sum(floats)]


@pytest.mark.parametrize("name", ["matmul", "matmul_cluster"])
def test_matmul(launcher: Callable[[str], Launcher], name: str) -> None:
    m, n, k = 512, 384, 256
    half = torch.float16
    a, b = cuda(m, k, dtype=half), cuda(k, n, dtype=half)
    c = torch.zeros(m, n, device="cuda", dtype=half)
    grid = (m // 128, n // 128, 1)
    launcher(name)(grid, None, a, b, c, m, n, k, a.stride(0), 1, b.stride(0), 1, c.stride(0))
    torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=1e-1)


def test_descriptors_made_on_the_device_use_scratch(launcher: Callable[[str], Launcher]) -> None:
    rows, cols = 128, 192
    source = cuda(rows, cols, dtype=torch.float16)
    copy = torch.zeros_like(source)
    grid = (rows // 64, cols // 64, 1)
    launch = launcher("device_desc")
    if launch.module is not None:
        sizes = []

        def allocate(size: int, alignment: int, stream: int) -> Any:
            sizes.append((size, alignment, stream))
            return torch.empty(size, device="cuda", dtype=torch.uint8)

        launch.module.set_allocator(allocate)
        launch(grid, None, source, copy, rows, cols)
        assert sizes == [(256 * 6, 128, 0)]
    else:
        scratch = torch.empty(256 * 6, device="cuda", dtype=torch.uint8)
        launch.with_scratch(grid, None, scratch, source, copy, rows, cols)
    assert torch.equal(source, copy)


def described(tensor: Any, padding: str = "zero") -> Descriptor:
    return Descriptor(tensor, tuple(tensor.shape), tensor.stride(), padding)


def test_descriptors_from_the_host_are_maps(launcher: Callable[[str], Launcher]) -> None:
    launch = launcher("desc_copy")
    for rows, cols in ((64, 64), (128, 192), (100, 72)):
        source = cuda(rows, cols, dtype=torch.float16)
        copy = torch.zeros_like(source)
        grid = (-(-rows // 64), -(-cols // 64), 1)
        launch(grid, None, described(source), described(copy))
        assert torch.equal(source, copy)


def test_maps_are_those_of_the_tensors_given_last(launcher: Callable[[str], Launcher]) -> None:
    launch = launcher("desc_copy")
    sources = [cuda(64, 64, dtype=torch.float16) for _ in range(3)]
    copies = [torch.zeros_like(source) for source in sources]
    for index in (0, 1, 1, 2, 0):
        launch((1, 1, 1), None, described(sources[index]), described(copies[index]))
    assert all(torch.equal(a, b) for a, b in zip(sources, copies, strict=True))


def test_attr6_descriptors_and_scratch_can_be_captured_and_replayed(
    launcher: Callable[[str], Launcher],
) -> None:
    launch = launcher("desc_copy")
    source = cuda(128, 128, dtype=torch.float16)
    copy = torch.zeros_like(source)
    launch((2, 2, 1), None, described(source), described(copy))
    torch.cuda.synchronize()
    copy.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch((2, 2, 1), torch.cuda.current_stream(), described(source), described(copy))
    assert copy.abs().sum().item() == 0
    source.copy_(cuda(128, 128, dtype=torch.float16))
    graph.replay()
    assert torch.equal(source, copy)


@pytest.mark.parametrize("name", ["grid", "grid_coop", "grid_pdl"])
def test_every_block_of_a_grid_runs(launcher: Callable[[str], Launcher], name: str) -> None:
    grid = (7, 5, 3)
    out = torch.zeros(7 * 5 * 3 + 1, device="cuda", dtype=torch.int32)
    launcher(name)(grid, None, out)
    assert out.sum().item() == 7 * 5 * 3


def test_grid1_a_grid_of_two_to_the_31_blocks_runs(launcher: Callable[[str], Launcher]) -> None:
    out = torch.zeros(2**31, device="cuda", dtype=torch.int32)
    launcher("grid")((65536, 32768, 1), None, out)
    assert out.sum(dtype=torch.int64).item() == 2**31


def test_a_kernel_without_arguments(launcher: Callable[[str], Launcher]) -> None:
    launcher("no_args")((4, 1, 1), None)
    torch.cuda.synchronize()


def test_a_stream_of_the_framework(launcher: Callable[[str], Launcher]) -> None:
    n = 4096
    stream = torch.cuda.Stream()
    x, y, out = cuda(n), cuda(n), torch.zeros(n, device="cuda")
    torch.cuda.synchronize()
    launcher("add")((4, 1, 1), stream, x, y, out, n, 0.5)
    stream.synchronize()
    torch.testing.assert_close(out, x * 0.5 + y)


def test_attr6_a_loaded_kernel_can_be_captured_and_replayed(
    launcher: Callable[[str], Launcher],
) -> None:
    n = 4096
    x, y, out = cuda(n), cuda(n), torch.zeros(n, device="cuda")
    launch = launcher("add")
    if launch.module is not None:
        launch.module.load()
    else:
        assert launch.library is not None
        assert launch.library.add_load() == 0
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch((4, 1, 1), torch.cuda.current_stream(), x, y, out, n, 3.0)
    assert out.abs().sum().item() == 0
    graph.replay()
    torch.testing.assert_close(out, x * 3.0 + y)


def test_a_thread_that_never_used_the_gpu_can_launch(
    launcher: Callable[[str], Launcher],
) -> None:
    n = 4096
    x, y, out = cuda(n), cuda(n), torch.zeros(n, device="cuda")
    torch.cuda.synchronize()
    launch = launcher("add")
    failures: list[BaseException] = []

    def work() -> None:
        try:
            launch((4, 1, 1), None, *(t.data_ptr() for t in (x, y, out)), n, 4.0)
            torch.cuda.synchronize()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failures == []
    torch.testing.assert_close(out, x * 4.0 + y)


def test_a_tensor_in_a_thread_that_never_used_the_gpu(
    folders: Callable[[str], Path],
) -> None:
    add = _import("add", folders("add"))
    n = 4096
    x, y, out = cuda(n), cuda(n), torch.zeros(n, device="cuda")
    torch.cuda.synchronize()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            add.launch(4, None, x, y, out, n, 4.0)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failures == []
    torch.cuda.synchronize()
    torch.testing.assert_close(out, x * 4.0 + y)


def test_ptr6_host_memory_is_refused_by_name_and_pinned_memory_translated(
    folders: Callable[[str], Path],
) -> None:
    add = _import("add", folders("add"))
    n = 4096
    y, out = cuda(n), torch.zeros(n, device="cuda")
    with pytest.raises(ValueError, match=r"argument 0 'x_ptr' \(\*fp32\).*host memory"):
        add.launch(4, None, torch.randn(n), y, out, n, 2.0)
    pinned = torch.randn(n).pin_memory()
    add.launch(4, None, pinned, y, out, n, 2.0)
    torch.testing.assert_close(out, pinned.cuda() * 2.0 + y)
    with pytest.raises(ValueError, match="host memory"):
        add.launch(4, None, torch.randn(n).numpy(), y, out, n, 2.0)


def test_arrays_of_cupy_pass_as_they_are(folders: Callable[[str], Path]) -> None:
    cupy = pytest.importorskip("cupy")
    add = _import("add", folders("add"))
    n = 4096
    x, y = cupy.arange(n, dtype="float32"), cupy.ones(n, dtype="float32")
    out = cupy.zeros(n, dtype="float32")
    add.launch(4, None, x, y, out, n, 2.0)
    assert bool((out == x * 2 + y).all())


def test_the_next_launch_after_an_unload_loads_again(launcher: Callable[[str], Launcher]) -> None:
    n = 4096
    x, y = cuda(n), cuda(n)
    launch = launcher("add")
    for alpha in (1.0, 2.0):
        out = torch.zeros(n, device="cuda")
        launch((4, 1, 1), None, x, y, out, n, alpha)
        torch.cuda.synchronize()
        torch.testing.assert_close(out, x * alpha + y)
        if launch.module is not None:
            launch.module.unload()
        else:
            assert launch.library is not None
            assert launch.library.add_unload() == 0


def _load(path: Path, entry: str, *, as_kernel: bool) -> int:
    """Load an image as the driver's user would, and return a CUkernel or a CUfunction."""
    driver = ctypes.CDLL("libcuda.so.1")
    image = ctypes.create_string_buffer(path.read_bytes())
    loaded, function = ctypes.c_void_p(), ctypes.c_void_p()
    if as_kernel:
        none = (None, None, 0)
        assert driver.cuLibraryLoadData(ctypes.byref(loaded), image, *none, *none) == 0
        assert driver.cuLibraryGetKernel(ctypes.byref(function), loaded, entry.encode()) == 0
    else:
        assert driver.cuModuleLoadData(ctypes.byref(loaded), image) == 0
        assert driver.cuModuleGetFunction(ctypes.byref(function), loaded, entry.encode()) == 0
    assert function.value is not None
    return function.value


@pytest.mark.parametrize("as_kernel", [False, True], ids=["function", "kernel"])
def test_a_handle_of_either_kind_gets_the_shared_memory_it_needs(
    tmp_path: Path, as_kernel: bool
) -> None:
    kernel = Kernel(FOLDER, "matmul")
    options = ["-n", "handle", "--no-image", "-a", "cpython", "-o", str(tmp_path)]
    assert main(["emit", str(kernel.json), "-s", kernel.signature, *options]) == 0
    assert main(["build", str(tmp_path)]) == 0
    module = _import("handle", tmp_path)
    m, n, k = 256, 128, 192
    half = torch.float16
    a, b = cuda(m, k, dtype=half), cuda(k, n, dtype=half)
    c = torch.zeros(m, n, device="cuda", dtype=half)
    function = _load(kernel.cubin, kernel.entry, as_kernel=as_kernel)
    strides = (a.stride(0), 1, b.stride(0), 1, c.stride(0))
    module.launch(function, (m // 128, n // 128), None, a, b, c, m, n, k, *strides)
    torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=1e-1)


# The value lands in the first word of what x points to.
STORE: Final = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .{n} n, .param .f32 a) {{
    .reg .b64 %rd<3>;
    .reg .b{bits} %v;
    ld.param.u64 %rd0, [x];
    cvta.to.global.u64 %rd1, %rd0;
    ld.param.{n} %v, [n];
    st.global.{n} [%rd1], %v;
    ret;
}}
"""


def test_a_handle_that_the_driver_gives_to_another_kernel_is_refused(tmp_path: Path) -> None:
    options = ["--num-warps", "1", "--triton-version", "3.2", "-a", "cpython", "-o", str(tmp_path)]
    assert main(["emit", "-n", "k", "-s", "x: *i32, n: i32, a: fp32", *options]) == 0
    assert main(["build", str(tmp_path)]) == 0
    module = _import("k", tmp_path)
    driver = ctypes.CDLL("libcuda.so.1")
    x = torch.zeros(2, device="cuda", dtype=torch.int32)
    narrow, wide = (STORE.format(n=n, bits=n[1:]).encode() for n in ("u32", "u64"))
    given: set[int] = set()
    again = 0
    for at in range(200):
        loaded, function = ctypes.c_void_p(), ctypes.c_void_p()
        # One after the other in no order: so the wide one gets what was the narrow one's.
        is_wide = at % 3 == 2
        image = wide if is_wide else narrow
        assert driver.cuModuleLoadData(ctypes.byref(loaded), image) == 0
        assert driver.cuModuleGetFunction(ctypes.byref(function), loaded, b"k") == 0
        assert function.value is not None
        x.zero_()
        if is_wide:
            again += function.value in given
            with pytest.raises(ValueError, match=r"'n' \(i32\) has 4 bytes.* has 8"):
                module.launch(function.value, 1, None, x, 7, 1.0)
        else:
            given.add(function.value)
            module.launch(function.value, 1, None, x, 7, 1.0)
        assert x.tolist() == [0 if is_wide else 7, 0]
        assert driver.cuModuleUnload(loaded) == 0
    assert again > 0, "the driver gave no handle again: this shows nothing"


@pytest.mark.parametrize("as_kernel", [False, True], ids=["function", "kernel"])
def test_a_handle_with_other_parameters_is_refused(tmp_path: Path, as_kernel: bool) -> None:
    kernel = Kernel(FOLDER, "add")
    # This release's kernels have one hidden parameter, those of 3.6 have two.
    options = ["--num-warps", "4", "--triton-version", "3.4", "-a", "cpython", "-o", str(tmp_path)]
    assert main(["emit", "-n", "old", "-s", kernel.signature, *options]) == 0
    assert main(["build", str(tmp_path)]) == 0
    module = _import("old", tmp_path)
    x = torch.zeros(64, device="cuda")
    function = _load(kernel.cubin, kernel.entry, as_kernel=as_kernel)
    for _ in range(2):
        with pytest.raises(ValueError, match="parameter 6 of the kernel has no argument"):
            module.launch(function, 1, None, x, x, x, 64, 1.0)


def test_of_two_images_the_devices_is_launched(tmp_path: Path, face: str) -> None:
    m, n, k = 256, 128, 192
    half = torch.float16
    kernel, older = Kernel(FOLDER, "matmul"), Kernel("triton-3.6.0-sm80", "matmul")
    options = ["--image", str(older.cubin), "-n", "matmul", "-o", str(tmp_path)]
    assert main(["emit", str(kernel.json), "-s", kernel.signature, *options]) == 0
    assert main(["build", str(tmp_path)]) == 0
    a, b = cuda(m, k, dtype=half), cuda(k, n, dtype=half)
    c = torch.zeros(m, n, device="cuda", dtype=half)
    strides = (a.stride(0), 1, b.stride(0), 1, c.stride(0))
    launch = Launcher(face, "matmul", tmp_path)
    launch((m // 128, n // 128, 1), None, a, b, c, m, n, k, *strides)
    torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=1e-1)


def _of_cache_entry(face: str, name: str, folder: Path, *images: Path) -> Launcher:
    """Emit and build a kernel of which only its files are known."""
    kernel = Kernel(FOLDER, name)
    words = [word for image in images for word in ("--image", str(image))]
    assert main(["emit", str(kernel.json), "-n", name, *words, "-o", str(folder)]) == 0
    assert main(["build", str(folder)]) == 0
    source = read_kernel(kernel.json, signature_text=None, target=TARGETS["cuda"])
    return Launcher(face, name, folder, source.signature)


def test_add_from_a_cache_entry_without_a_signature(tmp_path: Path, face: str) -> None:
    n = 100_000
    x, y, out = cuda(n), cuda(n), torch.zeros(n, device="cuda")
    launch = _of_cache_entry(face, "add", tmp_path)
    launch((-(-n // 1024), 1, 1), None, x, y, out, n, 2.5)
    torch.testing.assert_close(out, x * 2.5 + y)


def test_matmul_from_a_cache_entry_without_a_signature(tmp_path: Path, face: str) -> None:
    m, n, k = 256, 128, 192
    half = torch.float16
    a, b = cuda(m, k, dtype=half), cuda(k, n, dtype=half)
    c = torch.zeros(m, n, device="cuda", dtype=half)
    launch = _of_cache_entry(face, "matmul", tmp_path)
    launch((m // 128, n // 128, 1), None, a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0))
    torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=1e-1)


def test_scalars_from_a_cache_entry_without_a_signature(tmp_path: Path, face: str) -> None:
    out = torch.zeros(13, device="cuda", dtype=torch.int64)
    # The IR does not know signedness: what is unsigned there is signed here.
    _of_cache_entry(face, "scalars", tmp_path)(
        (1, 1, 1),
        None,
        *(out, True, -113, -32768, -(2**31), -(2**63), -1, -1, -1, -1),
        *(42.0, 1.00585937, 0.125, 0.1),
    )
    got = out.cpu()
    assert got[:9].tolist() == [1, -113, -32768, -(2**31), -(2**63), 255, 65535, 2**32 - 1, -1]
    assert got[9:].view(torch.float64).tolist() == [42.0, 1.0078125, 0.125, 0.1]


def test_ptx_is_the_last_resort(tmp_path: Path, face: str) -> None:
    older = Kernel("triton-3.6.0-sm80", "add")
    ptx = ["--image", str(older.json.with_suffix(".ptx"))]
    assert main(["emit", str(older.json), "-n", "add", *ptx, "-o", str(tmp_path)]) == 0
    assert main(["build", str(tmp_path)]) == 0
    n = 100_000
    x, y, out = cuda(n), cuda(n), torch.zeros(n, device="cuda")
    launch = Launcher(face, "add", tmp_path)
    launch((-(-n // 1024), 1, 1), None, x, y, out, n, 2.5)
    torch.testing.assert_close(out, x * 2.5 + y)


def test_a_launcher_with_another_image_refuses_when_it_loads(tmp_path: Path, face: str) -> None:
    # Both are matmul_kernel; 3.4 has one hidden parameter, 3.6 has two.
    made_for, replaced_by = Kernel("triton-3.4.0-sm90", "matmul"), Kernel(FOLDER, "matmul")
    words = ["-s", made_for.signature, "-n", "matmul", "-o", str(tmp_path)]
    assert main(["emit", str(made_for.json), *words]) == 0
    image = replaced_by.cubin.read_bytes()
    copy = tmp_path / "matmul.cubin"
    assert len(image) <= copy.stat().st_size
    copy.write_bytes(image)
    assert main(["build", str(tmp_path)]) == 0
    half = torch.float16
    a, b, c = (torch.zeros(128, 128, device="cuda", dtype=half) for _ in range(3))
    launch = Launcher(face, "matmul", tmp_path)
    said = "parameter 10 of the image has no argument .8 bytes.; the launcher was made for another"
    for _ in range(2):
        with pytest.raises(RuntimeError, match=said):
            launch((1, 1, 1), None, a, b, c, 128, 128, 128, 128, 1, 128, 1, 128)


def test_a_device_that_no_image_fits_is_told_what_is_at_hand(tmp_path: Path, face: str) -> None:
    older = Kernel("triton-3.6.0-sm80", "add")
    words = ["-s", older.signature, "-n", "add", "-o", str(tmp_path)]
    assert main(["emit", str(older.json), *words]) == 0
    assert main(["build", str(tmp_path)]) == 0
    x = torch.zeros(64, device="cuda")
    with pytest.raises(
        RuntimeError, match=r"no image fits device 0 of capability 9\.0; at hand is"
    ):
        Launcher(face, "add", tmp_path)((1, 1, 1), None, x, x, x, 64, 1.0)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_two_devices_one_image_and_no_stream_of_the_other(
    launcher: Callable[[str], Launcher],
) -> None:
    m, n, k = 256, 256, 128
    half = torch.float16
    launch = launcher("matmul")
    for device in (0, 1, 0):
        with torch.cuda.device(device):
            a, b = cuda(m, k, dtype=half), cuda(k, n, dtype=half)
            c = torch.zeros(m, n, device="cuda", dtype=half)
            grid = (m // 128, n // 128, 1)
            strides = (a.stride(0), 1, b.stride(0), 1, c.stride(0))
            torch.cuda.synchronize()  # the other stream waits for nothing
            launch(grid, torch.cuda.Stream(), a, b, c, m, n, k, *strides)
            torch.cuda.synchronize()
            torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=1e-1)
            other = torch.cuda.Stream(device=1 - device)
            with pytest.raises((ValueError, RuntimeError), match="the stream belongs to device"):
                launch(grid, other, a, b, c, m, n, k, *strides)


def test_bench_times_a_kernel_and_its_launch(
    folders: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    n = 1 << 20
    words = ["--grid", str(n // 1024), "--set", f"n={n}", "--set", "alpha=2.5"]
    folder = str(folders("add"))
    capsys.readouterr()
    assert main(["bench", folder, *words, "--buffer", "4MiB", "--time", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    kernel, host = found["kernel_us"], found["launch_us"]
    assert kernel["count"] == len(kernel["times"]) >= 5
    # 12 MiB move at no more than 10 TB/s, and a kernel this small takes no millisecond.
    assert 1.2 < kernel["min"] <= kernel["quantiles"]["0.2"] <= kernel["median"]
    assert kernel["median"] <= kernel["quantiles"]["0.8"] <= kernel["max"]
    assert kernel["median"] < 1000
    assert 0.5 < host["median"] < 1000
    # Nothing of the last run is in the cache, so a run takes no less than one with it.
    assert main(["bench", folder, *words, "--buffer", "4MiB", "--no-clear-l2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["l2_cleared_bytes"] == 0
    torch.cuda.synchronize()


def test_bench_tells_of_a_kernel_that_goes_wrong(folders: Callable[[str], Path]) -> None:
    # In a process of its own: the context is of no use afterwards.
    words = ["--grid", "1000000", "--set", "n=1000000000", "--set", "alpha=1", "--buffer", "4KiB"]
    command = [sys.executable, "-m", "launchgen", "bench", str(folders("add")), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "(700)" in done.stderr
    assert "--buffer" in done.stderr


# ---- a storm -------------------------------------------------------------------------------------

CALLS: Final = 100_000
EACH: Final = 64
"""Elements that a good call writes, of a place that no other call has."""


def _bad_python(good: tuple[Any, ...]) -> list[tuple[type[Exception], tuple[Any, ...]]]:
    """Return calls that have to be refused, each with what it raises."""
    grid, stream, x, y, out, n, alpha = good
    return [
        (ValueError, (grid, stream, x.cpu(), y, out, n, alpha)),
        (ValueError, ((1, 65536), stream, x, y, out, n, alpha)),
        (ValueError, (-1, stream, x, y, out, n, alpha)),
        (OverflowError, (grid, stream, x, y, 2**64, n, alpha)),
        (OverflowError, (grid, stream, x, -8, out, n, alpha)),
        (OverflowError, (grid, stream, x, y, out, 2**31, alpha)),
        (TypeError, (grid, stream, x, y, out, 1.5, alpha)),
        (TypeError, (grid, stream, x, y, out, n, "x")),
        (TypeError, (grid, stream, x, y, out, n)),
        (TypeError, (*good, 1024, 7)),
        (TypeError, (grid, "stream", x, y, out, n, alpha)),
        (TypeError, (grid, stream, object(), y, out, n, alpha)),
    ]


def _bad_c(good: tuple[Any, ...]) -> list[tuple[type[Exception], tuple[Any, ...]]]:
    _, stream, *rest = good
    return [
        (RuntimeError, (grid, stream, *rest))
        for grid in ((1, 65536, 1), (2**31, 1, 1), (1, 1, 2**32 - 1))
    ]


def test_a_storm_of_good_and_bad_calls_leaves_every_result_right(
    launcher: Callable[[str], Launcher], face: str
) -> None:
    add = launcher("add")
    drawn = random.Random(20_26)
    bad = _bad_c if face == "c" else _bad_python
    x, y = torch.rand(2, CALLS, EACH, device="cuda")
    out = torch.full((CALLS, EACH), float("nan"), device="cuda")
    alphas = torch.full((CALLS, 1), float("nan"))
    streams = [None, torch.cuda.Stream(), torch.cuda.Stream()]
    torch.cuda.synchronize()
    refused = 0
    for call in range(CALLS):
        alpha = drawn.randrange(1, 1 << 12) / 16
        place = (x[call], y[call], out[call])
        good = ((1, 1, 1), drawn.choice(streams), *place, EACH, alpha)
        if drawn.random() < 1 / 3:
            error, arguments = drawn.choice(bad(good))
            with pytest.raises(error):
                add(*arguments)
            refused += 1
        else:
            add(*good)
            alphas[call] = alpha
        if drawn.random() < 1 / 5_000 and face == "python":
            torch.cuda.synchronize()
            assert add.module is not None
            add.module.unload()
    torch.cuda.synchronize()
    expected = torch.addcmul(y, x, alphas.cuda())
    written = ~out.isnan().all(dim=1)
    assert written.sum().item() == CALLS - refused
    assert torch.equal(written, ~alphas.cuda().isnan().squeeze(1))
    assert torch.allclose(out[written], expected[written], rtol=1e-6, atol=0)
    # The context is as healthy as before.
    assert torch.equal(torch.arange(9, device="cuda").cpu(), torch.arange(9))
    add((1, 1, 1), None, x[0], y[0], out[0], EACH, 2.0)
    torch.cuda.synchronize()
    assert torch.allclose(out[0], x[0] * 2 + y[0])
