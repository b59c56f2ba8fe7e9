"""Hostile names and values stay inside the comment, string or recipe that they are printed into.

Two launchers whose signatures differ in nothing but such text must have the same tokens, whatever
the artifact: comments are taken out and strings are emptied, by the language's own reader where
there is one.
"""

from __future__ import annotations

import ast
import io
import json
import re
import shutil
import sysconfig
import tokenize
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from launchgen.abi import slots
from launchgen.artifacts import ARTIFACTS
from launchgen.filters import c_comment, c_string, hash_comment
from launchgen.literals import write_literal
from launchgen.metadata import Overrides, launch_metadata
from launchgen.signature import parse
from launchgen.targets import TARGETS
from launchgen.testing import RecordingDriver
from tests.made_image import make_cubin
from tests.programs import (
    FOLDER,
    STRICT,
    CLibrary,
    Emitted,
    cc,
    compile_python,
    emit,
    import_module,
    new_folder,
    run,
)
from tests.zoo import Kernel

ADD = Kernel(FOLDER, "add")
CUDA = TARGETS["cuda"]
HOSTILE = (
    "*/",
    "/*",
    "//",
    "\n",
    "\r\n",
    "\\",
    "\\\n",
    '"',
    "'",
    "??/",
    "??/\n",
    "??'",
    "$(touch escaped)",
    "`touch escaped`",
    "${HOME}",
    "$@",
    "%",
    "%s%n",
    "#",
    "#define int",
    "\n#error escaped\n",
    "é",
    "\u2028",
    "\u202e",
    "\U0001f600",
    "\x01",
    "\x1b[31m",
    "\x7f",
    "\x85",
    "\t",
    "\v",
    "\f",
    "{{ plan.name }}",
    "{% raw %}",
    "coding: rot13",
    "-*- coding: utf-7 -*-",
    "type: int",
    "*/ #error escaped",
    '"; int escaped; "',
    "'''",
    '"""',
    "x" * 40,
)
texts = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=3), max_size=6).map("".join)
# As a kernel's name inside an image: a C string, so without NUL.
entries = texts.filter(lambda text: text and "\0" not in text and text.isprintable())
file_names = texts.map(lambda text: "k" + re.sub(r"[/\0]", "_", text)[:60] + ".json")

SLOW = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
QUICK = settings(SLOW, max_examples=6)


# ---- the filters ---------------------------------------------------------------------------------


@given(texts | st.text())
@example("*/*/")
@example("/*/")
@example("\\")
@example("??/")
def test_text_stays_inside_a_c_comment(text: str) -> None:
    shown = c_comment(text)
    assert shown.isascii()
    assert shown == "" or shown.isprintable()
    assert "*/" not in shown
    assert "/*" not in shown
    assert not shown.endswith(("\\", "??/"))


@given(texts | st.text())
def test_text_stays_inside_a_hash_comment(text: str) -> None:
    shown = hash_comment(text)
    assert shown.isascii()
    assert shown == "" or shown.isprintable()
    assert not shown.endswith("\\")
    for line in (f"#{shown}\n", f"#   {shown}\n", f"#   signature   {shown}\n"):
        module = ast.parse(line.encode() + b"x = 1\n", type_comments=True)
        assert len(module.body) == 1
        assert tokenize.detect_encoding(io.BytesIO(line.encode()).readline)[0] == "utf-8"


@pytest.mark.parametrize("name", ["coding", "encoding", "type"])
def test_python_takes_no_argument_of_a_stub_for_a_command(name: str) -> None:
    emitted = emit_hostile([], signature=f"{name}: i32, x: *fp32, {'y' * 66}: i32, {name}2: i32")
    text = (emitted.folder / "kernel.pyi").read_bytes()
    ast.parse(text, type_comments=True)
    long = emit_hostile([], signature=f"{'y' * 70}: i32, {name}: i32")
    text = (long.folder / "kernel.pyi").read_bytes()
    ast.parse(text, type_comments=True)


@given(texts | st.text(st.characters(exclude_categories=["Cs"])))
def test_a_c_string_is_the_bytes_of_the_text(text: str) -> None:
    literal = c_string(text)
    assert literal.isascii()
    assert literal.isprintable()
    assert "?" not in literal
    # Python reads these literals as C does: octal escapes of three digits.
    assert ast.literal_eval(f"b{literal}") == text.encode()


# ---- whole launchers -----------------------------------------------------------------------------

ARTIFACT_NAMES = tuple(ARTIFACTS)


def signature_of(values: list[str]) -> str:
    constants = ", ".join(
        f"C{index}: constexpr = {write_literal(value)}" for index, value in enumerate(values)
    )
    head = "x_ptr: *fp32, n: i32"
    return f"{head}, {constants}, y_ptr: *fp32:16" if constants else f"{head}, y_ptr: *fp32:16"


def emit_hostile(
    values: list[str],
    *,
    entry: str = "kernel_entry",
    file_name: str = "kernel.json",
    signature: str | None = None,
) -> Emitted:
    """Emit every artifact from metadata of that file name, with ``values`` as constants."""
    folder = new_folder()
    metadata = json.loads(ADD.json.read_text())
    path = folder / file_name
    path.write_text(json.dumps({**metadata, "name": entry}))
    text = signature if signature is not None else signature_of(values)
    found = launch_metadata(None, Overrides(num_warps=4, triton_version=(3, 6)), target=CUDA)
    shape = [(s.size, s.pointer) for s in slots(parse(text), found, target=CUDA)]
    called = entry if entry.isprintable() and entry else "kernel_entry"
    path.with_suffix(".cubin").write_bytes(make_cubin(called, shape))
    return emit(path, text, name="kernel", artifacts=ARTIFACT_NAMES)


def tokens(path: Path) -> object:
    """Return what a file says, without its comments and with empty strings."""
    if path.suffix in (".c", ".h"):
        copy = new_folder() / path.name
        copy.write_text(re.sub(r"^#include.*", "", path.read_text("ascii"), flags=re.MULTILINE))
        # -std=c11: trigraphs count.
        flags = ("-std=c11", "-Wall", "-E", "-P", "-DPY_VERSION_HEX=0x030B0000")
        done = run(["gcc", *flags, copy])
        assert (done.returncode, done.stderr) == (0, "")
        text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', done.stdout)
        # The image holds the entry's name.
        text = re.sub(r"(?:0x[0-9a-f]{2},\s*)+", "", text)
        return re.sub(r'== [0-9]+, ""', "", text)
    if path.suffix == ".pyi":
        return ast.dump(ast.parse(path.read_bytes(), type_comments=True))
    if path.suffix == ".launch_metadata":
        return shape_of(json.loads(path.read_text("ascii")))
    return [line for line in path.read_text("ascii").split("\n") if not line.startswith("#")]


def shape_of(value: object) -> object:
    """Return JSON with empty strings."""
    if isinstance(value, dict):
        return {key: shape_of(inner) for key, inner in value.items()}
    if isinstance(value, list):
        # How many lines a comment has depends on the length of what is in it.
        shapes = [shape_of(inner) for inner in value]
        return [""] if set(map(str, shapes)) == {""} else shapes
    return "" if isinstance(value, str) else value


def check_same(hostile: Emitted, benign: Emitted) -> None:
    names = sorted(path.name for path in hostile.folder.iterdir())
    assert names == sorted(path.name for path in benign.folder.iterdir())
    for name in names:
        text = (hostile.folder / name).read_text("ascii")
        assert all(line.isprintable() or line.startswith("\t") for line in text.split("\n"))
        assert tokens(hostile.folder / name) == tokens(benign.folder / name), name


def check_recipes(emitted: Emitted) -> None:
    folder = emitted.folder
    before = sorted(folder.iterdir())
    dry = run(["make", "-n", "CC=cc", "PYTHON=true"], cwd=folder)
    assert dry.returncode == 0, dry.stderr
    assert "escaped" not in dry.stdout
    for shell in ("sh", "bash"):
        parsed = run([shell, "-n", "build.sh"], cwd=folder)
        assert (parsed.returncode, parsed.stderr) == (0, "")
    # What it would run, run: a compiler that compiles nothing.
    traced = run(
        ["sh", "build.sh"],
        cwd=folder,
        env={"CC": "echo", "PATH": "/usr/bin:/bin", "PYTHON": shutil.which("python3") or "python3"},
    )
    assert "escaped" not in traced.stdout
    assert sorted(folder.iterdir()) == before


def check_compiles(emitted: Emitted) -> None:
    sources = sorted(path.name for path in emitted.folder.glob("*.c"))
    python = ("-isystem", sysconfig.get_path("include"))
    # Long strings are the user's own.
    flags = (*STRICT, "-Wno-overlength-strings", "-fsyntax-only", *python)
    cc(emitted.folder, "-std=c11", *flags, *sources)


CORPUS = list(HOSTILE)


def test_nothing_leaves_its_place_in_any_artifact() -> None:
    hostile = emit_hostile(CORPUS, entry="".join(filter(str.isprintable, CORPUS)))
    check_same(hostile, emit_hostile(["benign"] * len(CORPUS)))
    check_recipes(hostile)
    check_compiles(hostile)


@pytest.mark.parametrize("text", ["*/ #error escaped", "\\", "??/", '"', "$(touch escaped)`", "\n"])
def test_a_file_name_stays_inside_the_banner(text: str) -> None:
    name = text.replace("/", "_") if text != "??/" else "??_"
    hostile = emit_hostile([], file_name=f"{name}.json")
    check_same(hostile, emit_hostile([]))
    check_recipes(hostile)


@pytest.mark.parametrize("end", HOSTILE)
def test_a_constant_at_the_end_of_a_banner_line_stays_there(end: str) -> None:
    # Wrapped behind each argument, so every text ends a line of the banner once.
    values = ["x" * 60, end, "x" * 75, end]
    hostile = emit_hostile(values)
    benign = emit_hostile(["benign"] * 4)
    for name in ("kernel.h", "Makefile", "kernel.pyi"):
        assert tokens(hostile.folder / name) == tokens(benign.folder / name)


@QUICK
@given(st.lists(texts, min_size=1, max_size=8), entries, file_names)
def test_random_text_stays_in_its_place(values: list[str], entry: str, file_name: str) -> None:
    hostile = emit_hostile(values, entry=entry, file_name=file_name)
    check_same(hostile, emit_hostile(["benign"] * len(values)))
    check_recipes(hostile)


@pytest.mark.slow
@SLOW
@given(st.lists(texts, min_size=1, max_size=12), entries, file_names)
def test_much_random_text_stays_in_its_place(values: list[str], entry: str, file_name: str) -> None:
    hostile = emit_hostile(values, entry=entry, file_name=file_name)
    check_same(hostile, emit_hostile(["benign"] * len(values)))
    check_recipes(hostile)
    check_compiles(hostile)


# ---- the text arrives ----------------------------------------------------------------------------


def test_the_driver_is_asked_for_the_entry_as_it_is() -> None:
    entry = "".join(text for text in HOSTILE if text.isprintable())
    driver = RecordingDriver().load()
    launcher = CLibrary.of(emit_hostile([], entry=entry)).fresh()
    assert launcher.launch() == 0
    (asked,) = (call for call in driver.calls if call.name == "cuLibraryGetKernel")
    # The log holds bytes.
    assert asked.arguments["name"].encode("latin-1").decode() == entry
    # A message is text for a terminal: what it quotes is cut, not interpreted.
    driver.fail("cuLibraryGetKernel", 500)
    again = CLibrary.of(emit_hostile([], entry=entry)).fresh()
    assert again.launch() == 500
    assert "%s%n" in again.error


def test_python_says_the_signature_as_it_is() -> None:
    driver = RecordingDriver().load()
    emitted = emit_hostile(CORPUS, entry="é?")
    module = import_module(compile_python(emitted))
    assert module.signature == str(parse(signature_of(CORPUS)))
    assert module.metadata["name"] == "é?"
    driver.fail("cuLibraryGetKernel", 500)
    with pytest.raises(module.CudaError, match="é"):
        module.launch(1, None, 0x1000, 3, *["x"] * len(CORPUS), 0x1000)
    with pytest.raises(ValueError, match="y_ptr"):
        module.launch(1, None, 0x1000, 3, *["x"] * len(CORPUS), 0x1001)


@pytest.mark.parametrize("entry", ["", "a\0b", "a\nb", "\x1b[31m"])
def test_a_name_that_no_kernel_has_is_refused(entry: str) -> None:
    with pytest.raises(Exception, match="no kernel is called so"):
        emit_hostile([], entry=entry)
