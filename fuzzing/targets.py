"""The table of what is fuzzed: each row a function that reads bytes and checks what comes of it.

A function returns where everything is as it has to be, also where the input was refused; whatever
it raises is a fault.  To add a target, add a function and a row, and seeds in ``seeds.py``.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import io
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

from fuzzing import seeds
from fuzzing.promises import check_facts, check_metadata, check_signature, promise, refusing
from launchgen.abi import slots
from launchgen.agreement import check_launch, check_parameters
from launchgen.artifacts import ARTIFACTS
from launchgen.banner import read_banner
from launchgen.call_values import (
    Sizes,
    choose_values,
    parse_grid,
    parse_quantiles,
    parse_settings,
    parse_sizes,
    parse_time,
)
from launchgen.diagnostics import (
    BuildError,
    ImageError,
    InputError,
    LaunchgenError,
    MetadataError,
    MismatchError,
    SignatureError,
    Source,
    UnsupportedError,
    UsageError,
)
from launchgen.emitted import find_launcher
from launchgen.filters import c_comment
from launchgen.guess import guess_signature
from launchgen.image import Entry
from launchgen.images import read_images
from launchgen.inputs import Content, InputFile, as_text
from launchgen.ir_agreement import check_ir
from launchgen.level0 import Level0, as_triton_metadata, read_arguments, read_level0
from launchgen.metadata import LaunchMetadata, TritonMetadata, launch_metadata, read_metadata
from launchgen.naming import CIdentifier
from launchgen.options import parse_artifacts
from launchgen.overrides import Overrides, parse_cluster, parse_scratch, parse_version
from launchgen.planning import make_plan
from launchgen.records import LaunchPlan
from launchgen.rendering import render
from launchgen.sections import parsed
from launchgen.signature import Signature, parse
from launchgen.sources import KernelSource, Variant, read_kernel
from launchgen.targets import TARGETS as GPUS
from launchgen.ttir import read_kernel_ir
from tests.zoo import Kernel

GPU = GPUS["cuda"]
NOTHING = Overrides()
ADD = Kernel("triton-3.6.0-sm90", "add_div16")


@dataclass(frozen=True, slots=True)
class Target:
    """Something that reads what a user wrote, or what lay on a disk."""

    name: str
    run: Callable[[bytes], object]
    """Reads an input; what it raises is a fault."""
    seeds: Callable[[], tuple[bytes, ...]]
    words: tuple[str, ...]
    """What means something in such an input."""


# --- signatures ----------------------------------------------------------------------------------


def run_signature(data: bytes) -> None:
    """Read a signature as the command line gives it, where bytes need not be UTF-8."""
    with refusing(SignatureError):
        signature = parse(data.decode(errors="surrogateescape"))
        check_signature(signature)
        with refusing(MetadataError, UnsupportedError):
            slots(signature, _launch(GPU.name), target=GPU)


def run_launcher(data: bytes) -> None:
    """Print the launchers of a signature, and read the C launcher's banner as ``bench`` does."""
    with contextlib.suppress(SignatureError):
        signature = parse(data.decode(errors="surrogateescape"))
        with refusing(MetadataError, UnsupportedError):
            _print(_plan(signature, _launch(GPU.name)), signature)


def _print(plan: LaunchPlan, signature: Signature) -> None:
    files = {file.name: file.content for file in render(plan, artifacts=_PRINTED).files}
    for name, content in files.items():
        promise(content.isascii() and content.endswith(b"\n"), f"{name} is no ASCII text")
        promise(b"\r" not in content, f"{name} has a carriage return")
    banner = read_banner(io.BytesIO(files["k.c"]))
    promise(banner is not None and banner.artifact == "c", "no banner on top of k.c")
    arguments = "" if banner is None else banner.signature.removeprefix("k(").removesuffix(")")
    again = str(parse(arguments))
    promise(c_comment(again) == c_comment(str(signature)), f"the banner says {again!a}")


_PRINTED = tuple(ARTIFACTS[name] for name in ("c", "cpython", "pyi"))


@functools.cache
def _launch(name: str) -> LaunchMetadata:
    """Return a plain launch of a release that takes most."""
    return launch_metadata(None, Overrides(num_warps=4, triton_version=(3, 9)), target=GPUS[name])


def _plan(signature: Signature, metadata: LaunchMetadata) -> LaunchPlan:
    """Decide everything about a launcher; raises where there can be none."""
    variants = (Variant(metadata, None),)
    source = KernelSource(CIdentifier("k"), signature, "", variants, (), ())
    return make_plan(source, target=GPU, command="launchgen emit")


# --- launch metadata -----------------------------------------------------------------------------


def run_metadata(data: bytes) -> None:
    """Read Triton's JSON of a kernel, by itself and beside the kernel's image."""
    with refusing(InputError):
        raw = read_metadata(_text("k.json", data))
        _read_beside_image("k.json", data)
        with refusing(MetadataError, UnsupportedError):
            metadata = launch_metadata(raw, NOTHING, target=GPU)
            check_metadata(metadata, GPU)
            _plan(parse(ADD.signature), metadata)


def run_level0(data: bytes) -> None:
    """Read Meta's JSON, what it says of arguments too; write what came of it, and read that."""
    with refusing(InputError, UnsupportedError):
        text = _text("k.launch_metadata", data)
        level0 = read_level0(text)
        _read_beside_image("k.launch_metadata", data)
        with refusing(MetadataError, SignatureError):
            metadata = launch_metadata(as_triton_metadata(level0), NOTHING, target=GPU)
            check_metadata(metadata, GPU)
            signature = read_arguments(level0, text)
            check_signature(signature)
            _write_again(_plan(signature, metadata), signature, metadata)


def _write_again(plan: LaunchPlan, signature: Signature, metadata: LaunchMetadata) -> None:
    (file,) = render(plan, artifacts=(ARTIFACTS["level0"],)).files
    text = _text(file.name, file.content)
    level0 = read_level0(text)
    again = launch_metadata(as_triton_metadata(level0), NOTHING, target=GPU)
    promise(replace(again, entry=metadata.entry) == metadata, f"{metadata} is written as {again}")
    listed = slots(read_arguments(level0, text), again, target=GPU)
    before = slots(signature, metadata, target=GPU)
    promise([it.type for it in listed] == [it.type for it in before], f"{before} as {listed}")


def _text(name: str, data: bytes) -> Source:
    return as_text(_content(name, data))


def _content(name: str, data: bytes) -> Content:
    return Content(InputFile(Path(name), name, hashlib.sha256(data).hexdigest()), data)


def _read_beside_image(name: str, data: bytes) -> None:
    """Read a file that lies beside the image of another kernel, with which it may not agree."""
    folder = _folder()
    path = folder / name
    path.write_bytes(data)
    try:
        with refusing(LaunchgenError):
            read_kernel(folder / "k.cubin", signature_text=None, target=GPU)
    finally:
        path.unlink()


_MEMORY = Path("/dev/shm")


@functools.cache
def _folder() -> Path:
    """Return a folder of this process with an image, and a library that was compiled last."""
    # In memory where that is to be had: a disk takes longer than all the reading.
    memory = _MEMORY if _MEMORY.is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="launchgen-fuzzing-", dir=memory))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copy(ADD.cubin, folder / "k.cubin")
    return folder


# --- images --------------------------------------------------------------------------------------


def run_images(data: bytes) -> None:
    """Read a file's images; guess what their kernels are called with, and compare it with them."""
    with refusing(ImageError):
        for image in read_images(data):
            check_facts(image.facts)
            for entry in image.facts.entries:
                with refusing(MetadataError, UnsupportedError):
                    _launch_guessed(entry)


def _launch_guessed(entry: Entry) -> None:
    options = Overrides(num_warps=None if entry.block else 4)
    metadata = launch_metadata(None, options, target=GPU, compiled=entry)
    check_metadata(metadata, GPU)
    guess = guess_signature(entry, hidden=0)
    check_signature(guess)
    listed = slots(guess, metadata, target=GPU)
    check_parameters(listed, entry, signature=guess, metadata=metadata, place="k.cubin")
    with refusing(MismatchError):
        # A block that is not of whole warps along x.
        check_launch(metadata, entry, place="k.cubin")


# --- Triton's IR ---------------------------------------------------------------------------------


def run_ir(data: bytes) -> None:
    """Read the IR of a kernel, which agrees with itself, and beside the kernel's image."""
    with refusing(InputError, UnsupportedError):
        found = read_kernel_ir(_text("k.ttir", data))
        signature, metadata = found.signature, _launch(GPU.name)
        check_signature(signature)
        _read_beside_image("k.ttir", data)
        promise(len(found.owners) == len(signature.arguments), "not an owner for each argument")
        listed = slots(signature, metadata, target=GPU)
        given = parse(str(signature))
        check_ir(slots(given, metadata, target=GPU), given, listed, signature, found.owners)


# --- what lay on a disk --------------------------------------------------------------------------


def run_emitted(data: bytes) -> None:
    """Look for a launcher in a folder with one source, as ``build`` and ``bench`` do."""
    banner = read_banner(io.BytesIO(data))
    if banner is not None:
        promise(all(len(each) == hashlib.sha256().digest_size * 2 for each in banner.hashes), "")
    folder = _emitted_folder()
    (folder / "k.c").write_bytes(data)
    (folder / "libk.so").touch()
    with refusing(BuildError, InputError, UsageError):
        launcher = find_launcher(folder, name=None)
        promise(banner is not None, "a launcher in a file that launchgen did not make")
        promise(launcher.name == "k", f"a launcher called {launcher.name!a}")
        check_signature(launcher.signature)


@functools.cache
def _emitted_folder() -> Path:
    folder = _folder() / "emitted"
    folder.mkdir()
    return folder


# --- options -------------------------------------------------------------------------------------

_CALLED = parse("flag: i1, x: *fp32:16, n: i32:16, m: u64, alpha: fp32, d: tensordesc<fp16[8, 64]>")


def run_options(data: bytes) -> None:
    """Read the value of every option that has a form of its own."""
    text = data.decode(errors="surrogateescape")
    for option, parse_value in _PARSERS.items():
        try:
            parsed(option, text, parse_value)
        except UsageError as error:
            says = error.diagnostics[0].message
            promise(
                says.startswith(option) and text.rpartition("=")[2].strip() in says,
                f"{says!a} of {text!a}",
            )
    with refusing(UsageError):
        parse_artifacts([text])
    for each in _overrides(text):
        with refusing(UsageError, MetadataError):
            check_metadata(launch_metadata(None, each, target=GPU), GPU)
    _choose(text)


_PARSERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "--cluster": parse_cluster,
        "--global-scratch": parse_scratch,
        "--triton-version": parse_version,
        "--grid": parse_grid,
        "--set": lambda text: parse_settings([text]),
        "--buffer": lambda text: parse_sizes([text], default="64MiB"),
        "--quantiles": parse_quantiles,
        "--time": parse_time,
    }
)


def _overrides(text: str) -> Iterator[Overrides]:
    """Yield the options about launch metadata that the text is a value of."""
    plain = Overrides(num_warps=4)
    with contextlib.suppress(ValueError):
        yield replace(plain, cluster=parse_cluster(text))
    with contextlib.suppress(ValueError):
        yield replace(plain, global_scratch=parse_scratch(text))
    yield replace(plain, entry=text)


def _choose(text: str) -> None:
    """Give the text to every argument of a call that has one."""
    given = {name: text for name in _CALLED.names if name != "x"}
    try:
        chosen = choose_values(_CALLED, settings=given, sizes=Sizes(each=64, named={}))
    except UsageError as error:
        says = [each.message for each in error.diagnostics]
        promise(all(it.startswith("argument '") for it in says), f"{says!a}")
    else:
        promise(len(chosen) == len(_CALLED.arguments), f"{len(chosen)} values")


# --- the table -----------------------------------------------------------------------------------

_TYPES = ("*", "*k", "fp32", "fp8e4nv", "i1", "u64", "i32:16", ":1", ":16", "constexpr", " = ")
_JSON = ("null", "true", "false", "{}", "[]", "-1", "1e400", "2147483648", "1152921504606846976")

TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        row.name: row
        for row in (
            Target(
                name="signature",
                run=run_signature,
                seeds=seeds.signatures,
                words=(
                    *(*_TYPES, "bytes[", "nvTmaDesc", "tensordesc<fp16[", "tensordesc_im2col<"),
                    *(",input_rank=", "inf", "nan", "None", "True", "\\x", "\\U", ",)"),
                ),
            ),
            Target(
                name="launcher",
                run=run_launcher,
                seeds=seeds.signatures,
                words=(*_TYPES, "bytes[8]", "nvTmaDesc", "tensordesc<fp16[64, 64]>", "*/", "??/"),
            ),
            Target(
                name="metadata",
                run=run_metadata,
                seeds=seeds.metadata,
                words=(
                    *(*_JSON, *(f'"{name}": ' for name in TritonMetadata.__struct_fields__)),
                    *('"3.6.0"', '"cuda"', '"gsan"'),
                ),
            ),
            Target(
                name="level0",
                run=run_level0,
                seeds=seeds.level0,
                words=(*_JSON, *_TYPES, *(f'"{name}": ' for name in Level0.__struct_fields__)),
            ),
            Target(
                name="cubin",
                run=run_images,
                seeds=partial(seeds.images, ".cubin"),
                words=(".nv.info.", ".symtab", ".nv.compat", ".note.nv.tkinfo", "-arch sm_90a"),
            ),
            Target(
                name="fatbin",
                run=run_images,
                seeds=partial(seeds.images, ".fatbin"),
                words=("\x50\xed\x55\xba", "\x7fELF", ".version 8.0\n", ".target sm_90\n"),
            ),
            Target(
                name="ptx",
                run=run_images,
                seeds=partial(seeds.images, ".ptx"),
                words=(
                    *(".version 8.0\n", ".target sm_90a", ".address_size 64", ".visible "),
                    *(".entry ", ".func ", ".param ", ".align ", ".b8 ", ".u64 ", ".f32 "),
                    *(".b128 ", ".ptr ", ".global ", ".texref ", ".reqntid "),
                    *(".reqnctapercluster ", "/*", "*/", "//", "4294967296"),
                ),
            ),
            Target(
                name="ir",
                run=run_ir,
                seeds=seeds.ir,
                words=(
                    *("tt.func public @k(", "%x: ", "!tt.ptr<f32>", "i64", "i1"),
                    *("!tt.tensordesc<tensor<64x64xf16>>", "!ttg.tensordesc_im2col<"),
                    " {tt.divisibility = 16 : i32}",
                    *(' loc("x")', " loc(#loc1)", '#loc1 = loc("x")\n', "tt.nv_tma_desc = 1", "->"),
                ),
            ),
            Target(
                name="emitted",
                run=run_emitted,
                seeds=seeds.emitted,
                words=(
                    "/* @generated by launchgen. DO NOT EDIT.\n",
                    *(" *   signature   k(", " *   artifact    c\n", " *   source      "),
                    *("#   ", '    "', "  sha256:", "PyMODINIT_FUNC PyInit_k(void);\n", *_TYPES),
                ),
            ),
            Target(
                name="options",
                run=run_options,
                seeds=seeds.options,
                words=(",", ":", "=", "x", "KiB", "GiB", "0.", "1e", "+git", "nan", "inf", "true"),
            ),
        )
    }
)
