"""One launcher, several images: which one a device gets, and what it is launched with."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from launchgen.architecture import Architecture
from launchgen.diagnostics import UnsupportedError, UsageError
from launchgen.metadata import Overrides, Scratch
from launchgen.planning import make_plan
from launchgen.signature import parse
from launchgen.sources import Image, KernelSource, Variant, read_kernel
from launchgen.targets import TARGETS
from launchgen.testing import RecordingDriver
from launchgen.variants import arrange, shared_slots
from tests import children
from tests.programs import (
    FOLDER,
    OLDER,
    CLauncher,
    CLibrary,
    Emitted,
    apart,
    cc,
    compile_python,
    emit_source,
    emit_zoo,
    import_module,
    names,
    run,
)
from tests.zoo import KERNELS, Kernel

CUDA = TARGETS["cuda"]
IMAGES = Path(__file__).parent / "images"
POINTERS = (0x10000, 0x20000, 0x30000)
ADD = (*POINTERS, 64, 2.0)
MATMUL = (*POINTERS, 64, 64, 64, 16, 1, 16, 1, 16)
SHARED = {90: 65536, 80: 49152}
"""Of matmul's two images."""
BOTH = ("c", "cpython")
Faces = pytest.mark.parametrize("face", BOTH)


# ---- launchers -----------------------------------------------------------------------------------


def ptx(target: str, *, parameters: str = ".param .u64 p") -> bytes:
    return (
        f".version 8.8 .target {target} .address_size 64 .entry k({parameters}) {{ ret; }}".encode()
    )


def image(data: bytes, architecture: Architecture, name: str = "k") -> Image:
    """Return an image; PTX that stands in for a cubin has its own zero at the end."""
    if not (architecture.is_virtual or data.startswith(b"\x7f")):
        data += b"\0"
    return Image(data, f"{name}.{architecture}", hashlib.sha256(data).hexdigest(), architecture)


def made_up(
    *images: Image, signature: str = "p: *fp32", name: str = "k", **changes: Sequence[Any]
) -> KernelSource:
    """Return a kernel with these images: the first has one warp, the second two, and so on.

    ``changes`` are further fields of each one's metadata.
    """
    overrides = Overrides(num_warps=1, entry="k", triton_version=(3, 2))
    source = read_kernel(
        None, signature_text=signature, target=CUDA, name=name, no_image=True, overrides=overrides
    )
    (plain,) = source.variants
    fields = [
        dict(zip(changes, values, strict=True)) for values in zip(*changes.values(), strict=True)
    ]
    metadata = [
        msgspec.structs.replace(plain.metadata, num_warps=number + 1, **each)
        for number, each in enumerate(fields or [{}] * len(images))
    ]
    variants = tuple(map(Variant, metadata, images))
    return msgspec.structs.replace(source, variants=variants)


@functools.cache
def two(kernel: str) -> Emitted:
    return emit_zoo(kernel, others=(OLDER,), artifacts=BOTH)


@functools.cache
def c_library(kernel: str) -> CLibrary:
    return CLibrary.of(two(kernel))


@functools.cache
def python_module(kernel: str) -> Path:
    return compile_python(two(kernel))


class Program:
    """A launcher as C or Python calls it, which has loaded nothing yet."""

    def __init__(self, face: str, library: CLibrary | None, module: Path | None) -> None:
        self.launcher: CLauncher | None = None
        self.module: ModuleType | None = None
        if face == "c" and library is not None:
            self.launcher = library.fresh()
        elif module is not None:
            self.module = import_module(module)

    def launch(self, values: Sequence[Any], grid: tuple[int, int, int] = (2, 3, 1)) -> str:
        """Return what went wrong, with its code; nothing where nothing did."""
        if self.launcher is not None:
            given = [value for value in values if value != 1]  # constants have no parameter in C
            status = self.launcher.launch(grid=grid, values=given)
            return f"{status} {self.launcher.error}" if status else ""
        return self._try(lambda module: module.launch(grid, None, *values))

    def load(self) -> str:
        if self.launcher is not None:
            status = self.launcher.load()
            return f"{status} {self.launcher.error}" if status else ""
        return self._try(lambda module: module.load())

    def unload(self) -> str:
        if self.launcher is not None:
            return str(self.launcher.unload() or "")
        return self._try(lambda module: module.unload())

    def _try(self, work: Callable[[Any], object]) -> str:
        assert self.module is not None
        try:
            work(self.module)
        except self.module.CudaError as error:
            return f"{error.code} {error}"
        except ValueError as error:
            return f"1 {error}"
        return ""


def of(face: str, emitted: Emitted) -> Program:
    return Program(
        face,
        CLibrary.of(emitted) if face == "c" else None,
        compile_python(emitted) if face != "c" else None,
    )


def zoo(face: str, kernel: str) -> Program:
    return Program(face, c_library(kernel), python_module(kernel))


# ---- which image ---------------------------------------------------------------------------------


@Faces
@pytest.mark.parametrize(("capability", "expected"), [(80, 80), (86, 80), (89, 80), (90, 90)])
def test_a_device_gets_the_image_of_its_architecture(
    face: str, capability: int, expected: int
) -> None:
    driver = RecordingDriver(capability=capability).load()
    program = zoo(face, "matmul")
    assert program.launch(MATMUL) == ""
    (launch,) = driver.launches
    assert launch.shared == SHARED[expected]
    assert names(driver).count("cuLibraryLoadData") == 1


@Faces
@pytest.mark.parametrize("capability", [75, 100, 103, 120])
def test_a_device_without_an_image_is_told_what_is_at_hand(face: str, capability: int) -> None:
    driver = RecordingDriver(capability=capability).load()
    program = zoo(face, "matmul")
    shown = f"{capability // 10}.{capability % 10}"
    text = f"209 matmul: no image fits device 0 of capability {shown}; at hand are sm_90a, sm_80"
    assert [program.launch(MATMUL), program.load(), program.launch(MATMUL)] == [text] * 3
    assert not any(name.startswith(("cuLibrary", "cuModule")) for name in names(driver))


@Faces
def test_a_single_image_that_does_not_fit_is_refused_before_it_is_loaded(face: str) -> None:
    driver = RecordingDriver(capability=75).load()
    program = of(face, emit_source(made_up(image(ptx("sm_80"), Architecture(80))), artifacts=BOTH))
    assert program.load() == "209 k: no image fits device 0 of capability 7.5; at hand is sm_80"
    assert "cuLibraryLoadData" not in names(driver)


def test_python_names_the_refusals_that_no_driver_made() -> None:
    RecordingDriver(capability=75).load()
    module = import_module(python_module("matmul"))
    with pytest.raises(module.CudaError) as caught:
        module.load()
    assert (caught.value.code, caught.value.name) == (209, "CUDA_ERROR_NO_BINARY_FOR_GPU")


def test_python_tells_the_images_of_a_module() -> None:
    module = import_module(python_module("matmul"))
    assert module.metadata["images"] == ("sm_90a", "sm_80")
    assert module.metadata["shared"] == SHARED[90]


def cubin(capability: int, suffix: str = "") -> bytes:
    """Return the image of ``add`` as one for another architecture."""
    data = bytearray(Kernel(FOLDER, "add").cubin.read_bytes())
    data[7] = 65
    data[48:52] = (capability << 8 | (8 if suffix else 0)).to_bytes(4, "little")
    return bytes(data)


ARCHITECTURES = (
    *(Architecture(80), Architecture(86), Architecture(90), Architecture(90, "a")),
    *(Architecture(100), Architecture(100, "a"), Architecture(120)),
    *(Architecture(75, is_virtual=True), Architecture(90, is_virtual=True)),
    *(Architecture(100, "f", is_virtual=True), Architecture(120, "f", is_virtual=True)),
    Architecture(103, "a", is_virtual=True),
)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_of_many_images_the_best_that_runs_is_picked(step: int) -> None:
    """Take all of them, or some, and ask on every device."""
    chosen = ARCHITECTURES[::step]
    add = "(.param .u64 x, .param .u64 y, .param .u64 o, .param .b32 n, .param .f32 a)"
    images = [
        image(
            ptx(str(each).replace("compute", "sm"), parameters=add[1:-1])
            if each.is_virtual
            else cubin(each.capability, each.suffix),
            each,
        )
        for each in chosen
    ]
    source = made_up(
        *images,
        signature="x: *fp32, y: *fp32, o: *fp32, n: i32, a: fp32",
        entry=["k" if each.is_virtual else "add_kernel" for each in chosen],
        triton_version=[(3, 2) if each.is_virtual else (3, 6) for each in chosen],
        shared=[16 * number for number in range(len(chosen))],
        cluster=[(1, 1, 1)] * len(chosen),
    )
    # The cubins want their block.
    source = msgspec.structs.replace(
        source,
        variants=tuple(
            Variant(msgspec.structs.replace(each.metadata, num_warps=4), each.image)
            for each in source.variants
        ),
    )
    library = CLibrary.of(emit_source(source))
    for capability in (70, 75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121, 130):
        driver = RecordingDriver(capability=capability).load()
        launcher = library.fresh()
        status = launcher.launch()
        fitting = [each for each in chosen if each.runs_on(capability)]
        if not fitting:
            assert status == 209, capability
            continue
        assert status == 0, (capability, launcher.error)
        best = max(fitting, key=lambda each: each.rank)
        assert driver.launches[0].shared == 16 * chosen.index(best), capability


# ---- devices -------------------------------------------------------------------------------------


@Faces
def test_devices_of_one_architecture_share_a_library(face: str) -> None:
    driver = RecordingDriver(devices=4, capability=(90, 80, 90, 86)).load()
    program = zoo(face, "matmul")
    for device in (0, 1, 2, 3, 3, 2, 1, 0):
        driver.current_context = driver.primary_context(device)
        assert program.launch(MATMUL) == ""
    found = [(launch.device, launch.shared) for launch in driver.launches]
    expected = [(device, SHARED[80 if device % 2 else 90]) for device in range(4)]
    assert found == [*expected, *reversed(expected)]
    assert names(driver).count("cuLibraryLoadData") == 2
    assert program.unload() == ""
    assert names(driver).count("cuLibraryUnload") == 2
    assert program.launch(MATMUL) == ""
    assert names(driver).count("cuLibraryLoadData") == 3


@Faces
def test_a_device_without_an_image_leaves_the_others_alone(face: str) -> None:
    driver = RecordingDriver(devices=3, capability=(75, 80, 100)).load()
    program = zoo(face, "matmul")
    found = []
    for device in (0, 1, 2, 1):
        driver.current_context = driver.primary_context(device)
        found.append(program.launch(MATMUL).partition(" ")[0])
    assert found == ["209", "", "209", ""]
    assert {launch.device for launch in driver.launches} == {1}


def test_a_driver_without_libraries_loads_the_image_of_each_device() -> None:
    found = apart(children.devices_in_turn, c_library("matmul"), ["cuLibraryLoadData"], [90, 80])
    assert found["status"] == [0] * 4
    assert found["shared"] == [SHARED[90], SHARED[80]] * 2
    assert found["calls"].count("cuModuleLoadData") == 2
    assert found["unloaded"] == 0
    assert found["after"].count("cuModuleUnload") == 2


def test_a_failing_second_image_leaves_the_first_usable() -> None:
    driver = RecordingDriver(devices=2, capability=(90, 80)).load()
    launcher = c_library("matmul").fresh()
    driver.current_context = driver.primary_context(0)
    assert launcher.launch() == 0
    driver.fail("cuLibraryLoadData", 2)
    driver.current_context = driver.primary_context(1)
    assert [launcher.launch(), launcher.launch()] == [2, 0]
    driver.fail("cuLibraryUnload", 719)
    assert launcher.unload() == 719
    assert names(driver).count("cuLibraryUnload") == 2
    assert launcher.launch() == 0


# ---- what an image is launched with --------------------------------------------------------------


@Faces
def test_the_grid_counts_what_the_devices_image_says(face: str) -> None:
    source = made_up(
        image(ptx("sm_90"), Architecture(90)),
        image(ptx("sm_80"), Architecture(80)),
        signature="p: *fp32",
        cluster=[(2, 1, 1), (1, 1, 1)],
        grid_counts_clusters=[True, False],
        num_ctas=[2, 1],
    )
    # PTX stands in for cubins here: it fits more devices, but the launcher does not know.
    emitted = emit_source(source, artifacts=BOTH)
    header = (emitted.folder / "k.h").read_text()
    assert " *   sm_90 clusters of 2 blocks\n *   sm_80 blocks\n" in header
    large = (2**30, 1, 1)
    for capability, blocks, block, refused in ((90, 14, 32, True), (80, 7, 64, False)):
        driver = RecordingDriver(capability=capability).load()
        program = of(face, emitted)
        assert program.launch((16,), (7, 1, 1)) == ""
        (launch,) = driver.launches
        assert (launch.grid, launch.block) == ((blocks, 1, 1), (block, 1, 1))
        assert launch.attribute(4) == ((2, 1, 1) if capability == 90 else None)
        text = program.launch((16,), large)
        assert ("a grid of 2147483648 x 1 x 1 blocks is too large" in text) is refused
        assert len(driver.launches) == (1 if refused else 2)


@Faces
def test_a_kernel_with_fewer_hidden_slots_ignores_the_rest(face: str) -> None:
    older = Kernel("triton-3.4.0-sm90", "add")
    newer = Kernel(OLDER, "add")
    source = read_kernel(
        older.json,
        signature_text=older.signature,
        images=(newer.cubin,),
        name="add",
        target=CUDA,
    )
    emitted = emit_source(source, artifacts=BOTH)
    for capability, hidden in ((90, 1), (80, 2)):
        driver = RecordingDriver(capability=capability).load()
        assert of(face, emitted).launch(ADD) == ""
        assert driver.launches[0].values[5:] == (bytes(8),) * hidden


def test_scratch_is_what_the_neediest_image_needs() -> None:
    parameters = ".param .u64 p, .param .u64 g, .param .u64 h"
    source = made_up(
        image(ptx("sm_90", parameters=parameters), Architecture(90)),
        image(ptx("sm_80", parameters=parameters), Architecture(80)),
        signature="p: *fp32",
        triton_version=[(3, 6), (3, 6)],
        cluster=[(2, 1, 1), (1, 1, 1)],
        grid_counts_clusters=[True, False],
        global_scratch=[Scratch(100, 16), Scratch(150, 256)],
        profile_scratch=[Scratch(0, 1), Scratch(8, 8)],
    )
    emitted = emit_source(source, artifacts=BOTH)
    asked: list[tuple[int, int, int]] = []

    def allocate(size: int, align: int, stream: int) -> int:
        asked.append((size, align, stream))
        return 0x1000 * len(asked)

    for capability in (90, 80):
        driver = RecordingDriver(capability=capability).load()
        launcher = CLibrary.of(emitted).fresh()
        size = launcher.cdll.k_global_scratch_size
        size.restype = ctypes.c_uint64
        assert size(2, 3, 5) == 200 * 30
        assert launcher.launch(values=(0x10100, 0x18, 16)) == 0
        assert launcher.launch(values=(0x10010, 0x18, 16)) == 1
        assert "global scratch at 0x10010 is not aligned to 256 bytes" in launcher.error
        module = import_module(compile_python(emitted))
        module.set_allocator(allocate)
        module.launch((2, 3), None, 16)
        assert asked == [(1200, 256, 0), (48, 8, 0)]
        assert len(driver.launches) == 2
        asked.clear()


# ---- text ----------------------------------------------------------------------------------------

# As long as alignment would hide a missing zero from the one behind it.
TEXT = ptx("sm_80").ljust(6400)


@pytest.mark.parametrize("inline", [True, False])
def test_ptx_ends_with_a_zero(inline: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("launchgen.variants.INLINE_BYTES", 8192 if inline else 0)
    newer, older = Architecture(90, is_virtual=True), Architecture(80, is_virtual=True)
    one = emit_source(made_up(image(TEXT, older), name="one"), artifacts=BOTH)
    several = made_up(image(TEXT, older), image(TEXT.replace(b"80", b"90"), newer), name="both")
    two = emit_source(several, artifacts=BOTH)
    files = {path.name for each in (one, two) for path in each.folder.iterdir()}
    copies = {name for name in files if name.endswith(".ptx")}
    assert copies == (
        set() if inline else {"one.ptx", "both.compute_90.ptx", "both.compute_80.ptx"}
    )
    for emitted in (one, two):
        name = emitted.name
        for copy in copies & {path.name for path in emitted.folder.iterdir()}:
            assert b"\0" not in (emitted.folder / copy).read_bytes()
        words = ("-std=c11", "-g", "-fsanitize=address", "-I.")
        (emitted.folder / "main.c").write_text(
            f'#include "{name}.h"\nint main(void) {{ return {name}_load(); }}\n'
        )
        cc(emitted.folder, *words, "main.c", f"{name}.c", "-o", "main", "-ldl")
        driver = RecordingDriver(sanitize="address")
        done = run([emitted.folder / "main"], env=driver.environment())
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        if not inline:
            cc(emitted.folder, "-std=c11", "-c", f"{name}.c", "-o", "object.o")
            for variant in emitted.plan.variants:
                assert variant.image is not None
                section = f".rodata.lg_image_{name}_c{variant.suffix}"
                path = emitted.folder / "image"
                done = run(["objcopy", "-O", "binary", "-j", section, "object.o", path.name],
                           cwd=emitted.folder)  # fmt: skip
                assert done.returncode == 0, done.stderr
                assert path.read_bytes() == variant.image.content + b"\0"


def test_ptx_is_taken_by_newer_devices_alone() -> None:
    architecture = Architecture(80, is_virtual=True)
    library = CLibrary.of(emit_source(made_up(image(ptx("sm_80"), architecture))))
    for capability, status in ((75, 209), (80, 0), (90, 0), (121, 0)):
        driver = RecordingDriver(capability=capability).load()
        launcher = library.fresh()
        assert launcher.launch() == status
        assert len(driver.launches) == (status == 0)
    RecordingDriver(capability=75).load()
    launcher = library.fresh()
    assert launcher.load() == 209
    assert launcher.error == ("k: no image fits device 0 of capability 7.5; at hand is compute_80")


@pytest.mark.parametrize("mode", ["none", "size", "balance"])
def test_a_fatbin_is_as_many_images_as_it_holds(mode: str) -> None:
    path = IMAGES / f"fatbinary13.0-{mode}.fatbin"
    chosen = Overrides(num_warps=1, shared=0)
    text = "x: *fp32, y: *fp32, out: *fp32, n: u32"
    source = read_kernel(path, signature_text=text, target=CUDA, overrides=chosen)
    assert source.notes == ()
    emitted = emit_source(source)
    images = [each.architecture for each in emitted.plan.variants]
    assert images == ["sm_90a", "sm_90", "sm_80", "compute_80"]
    library = CLibrary.of(emitted)
    for capability in (80, 89, 90, 100, 121):
        driver = RecordingDriver(capability=capability).load()
        launcher = library.fresh()
        assert launcher.launch(values=(*POINTERS, 64)) == 0, launcher.error
        (launch,) = driver.launches
        assert launch.entry == "add"
        assert [len(value) for value in launch.values] == [8, 8, 8, 4]


# ---- images that do not go together --------------------------------------------------------------


def variant(architecture: Architecture, name: str, **fields: Any) -> Variant:
    source = made_up(image(b"", architecture, name))
    (one,) = source.variants
    return Variant(msgspec.structs.replace(one.metadata, **fields), one.image)


def test_the_best_image_stands_first() -> None:
    several = [variant(each, "k") for each in ARCHITECTURES]
    ordered = [str(each.image.architecture) for each in arrange(tuple(several)) if each.image]
    assert " ".join(ordered) == (
        "sm_120 sm_100a sm_100 sm_90a sm_90 sm_86 sm_80 "
        "compute_120f compute_103a compute_100f compute_90 compute_75"
    )
    assert arrange(tuple(reversed(several))) == arrange(tuple(several))


def test_two_images_for_one_architecture_are_refused_with_both_names() -> None:
    pair = (variant(Architecture(90), "one"), variant(Architecture(90), "two"))
    with pytest.raises(UsageError, match=r"one\.sm_90 and two\.sm_90 are both compiled for sm_90"):
        arrange(pair)


def test_images_that_take_an_argument_in_two_forms_are_refused_with_both_names() -> None:
    signature = parse("d: tensordesc<fp16[64, 64]>")
    older = variant(Architecture(80), "old", triton_version=(3, 6))
    newer = variant(Architecture(90), "new", triton_version=(3, 7))
    with pytest.raises(UnsupportedError) as caught:
        shared_slots(signature, (newer, older), target=CUDA)
    assert re.search(
        r"new\.sm_90 and old\.sm_80 take different parameters: "
        r"argument 0 'd\.round_tf32' \(i1\) of 1 bytes against "
        r"argument 0 'd\.shape\[0\]' \(i32\) of 4 bytes",
        str(caught.value),
    )


def test_a_kernel_without_an_image_has_one_variant() -> None:
    overrides = Overrides(num_warps=1, triton_version=(3, 6))
    source = read_kernel(None, signature_text="n: i32", target=CUDA, name="k", overrides=overrides)
    (plan,) = make_plan(source, target=CUDA, command="").variants
    assert (plan.architecture, plan.suffix) == ("", "")


def test_every_kernel_that_was_compiled_twice_has_a_launcher_of_both() -> None:
    kernels = {path.stem for path in (KERNELS / OLDER).glob("*.cubin")} - {"desc_copy"}
    assert kernels
    for name in sorted(kernels):
        emitted = emit_zoo(name, others=(OLDER,))
        assert [each.architecture for each in emitted.plan.variants] == ["sm_90a", "sm_80"]
        cc(emitted.folder, "-std=c11", "-Wall", "-Wextra", "-Werror", "-c", f"{name}.c")
