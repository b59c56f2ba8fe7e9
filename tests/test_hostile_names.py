"""Hostile names of files, folders and kernels: in what is emitted, in builds, and on a terminal.

``test_injection.py`` has what a signature can say.  Here everything comes by way of the command
line, so that its own words, which the banner repeats, are hostile as well.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import string
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from launchgen import writer
from launchgen.artifacts import ARTIFACTS, LAUNCHER
from launchgen.cli import main
from launchgen.diagnostics import LaunchgenError, OutputError, printable
from launchgen.metadata import Overrides
from launchgen.planning import make_plan
from launchgen.rendering import render
from launchgen.signature import parse
from launchgen.sources import read_kernel
from launchgen.targets import TARGETS
from tests.made_image import make_cubin
from tests.programs import Emitted, emit_zoo, new_folder, run
from tests.test_injection import HOSTILE, check_recipes, check_same, emit_hostile, texts, tokens

CUDA: Final = TARGETS["cuda"]
Record = Callable[[str, object], None]
Run = Callable[[Sequence[str]], tuple[int, str, str]]
SOME = settings(
    deadline=None,
    max_examples=15,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.function_scoped_fixture,
    ],
)
MANY = settings(SOME, max_examples=25)

# What a terminal obeys, or what makes it show something else than is there.
TERMINAL: Final = (
    *("\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\r", "\n", "\b", "\x7f", "\u202e", "\u2066"),
    *("\u200b", "\u2028", "\x85", "\udc9b", "\udcff", "\nerror: ", "[red]", "%s%n", "x" * 300),
)
# Names of files: no slash, no NUL, at most 255 bytes; any byte else, UTF-8 or not.
file_texts = (
    st.lists(st.sampled_from((*HOSTILE, *TERMINAL)) | st.text(max_size=3), max_size=5)
    .map(lambda parts: re.sub(r"[/\0\ud800-\udc7f\udd00-\udfff]", "_", "".join(parts))[:50])
    .filter(lambda name: name.lstrip("."))
)


@pytest.fixture
def command(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Return what runs a command; everything that it prints is read as a terminal would."""

    def call(words: Sequence[str]) -> tuple[int, str, str]:
        code = main(words)
        out, error = capfdbinary.readouterr()
        return code, os.fsdecode(out), os.fsdecode(error)

    return call


# ---- terminals ------------------------------------------------------------------------------


def check_terminal(error: str) -> None:
    assert "Traceback" not in error
    assert "internal error" not in error
    for line in error.split("\n"):
        assert line.isprintable(), ascii(line)
        assert not line.startswith("error: error: ")


@given(texts | st.text() | st.sampled_from(TERMINAL))
def test_what_is_printable_is_shown_as_it_is_and_the_rest_as_python_writes_it(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    if text.isprintable():
        assert shown == text
    for character in text:
        assert character in shown or ascii(character)[1:-1] in shown


# Where a command line takes text; each fails, or says something of what it took.
PLACES: Final[tuple[tuple[str, ...], ...]] = (
    ("emit", "@.json"),
    ("emit", "@"),
    ("emit", "@.cubin", "--no-image"),
    ("emit", "--image", "@"),
    ("emit", "--metadata", "@", "-s", "i32", "--name", "k"),
    ("emit", "-s", "@@", "--name", "k"),
    ("emit", "-s", "@", "--name", "k", "--num-warps", "4"),
    ("emit", "-s", "x: i32:@", "--name", "k"),
    ("emit", "-s", "i32", "--num-warps", "4", "--name", "@"),
    ("emit", "-s", "i32", "--num-warps", "4", "--name", "k", "--entry", "@", "--list-outputs"),
    ("emit", "-s", "i32", "--num-warps", "4", "--name", "k", "--triton-version", "@"),
    ("emit", "-s", "i32", "--num-warps", "4", "--name", "k", "--cluster", "@"),
    ("emit", "-s", "i32", "--num-warps", "4", "--name", "k", "--global-scratch", "@"),
    ("emit", "-s", "i32", "--num-warps", "@"),
    ("emit", "-s", "i32", "--name", "k", "-a", "@"),
    ("emit", "-s", "i32", "--name", "k", "--convention", "@"),
    ("emit", "-s", "i32", "--name", "k", "-t", "@"),
    ("emit", "--@"),
    ("emit", "a.json", "@"),
    ("@",),
    ("inspect", "@.json"),
    ("inspect", "taken.cubin", "--entry", "@"),
    ("inspect", "taken.cubin", "-s", "@"),
    ("build", "@"),
    ("build", ".", "-j", "@"),
    ("bench", "@", "--grid", "1"),
    ("bench", ".", "--grid", "@"),
    ("bench", ".", "--grid", "1", "--set", "@"),
    ("bench", ".", "--grid", "1", "--buffer", "@"),
    ("bench", ".", "--grid", "1", "--time", "@"),
)


@pytest.mark.parametrize("words", PLACES, ids=" ".join)
def test_no_error_carries_what_a_terminal_obeys(
    words: tuple[str, ...],
    command: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Record,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken.cubin").write_bytes(make_cubin("k", []))
    tried = 0
    for text in (*TERMINAL, *HOSTILE):
        given = [word.replace("@", text, 1) if word != "@@" else f"@{text}" for word in words]
        if "\0" in text or "" in given:
            continue
        code, out, error = command(given)
        assert code in (0, 2, 3), given
        check_terminal(error)
        check_terminal(out)
        assert not re.search(r"^error: ", out, re.MULTILINE)
        tried += 1
    record_property("hostile texts", tried)


def test_doctor_names_a_driver_for_a_terminal(command: Run, record_property: Record) -> None:
    # It starts compilers each time.
    hostile = "".join(TERMINAL)
    code, out, error = command(["doctor", "--libcuda", hostile])
    assert code == 3
    check_terminal(out)
    check_terminal(error)
    assert not re.search(r"^error: ", out, re.MULTILINE)
    record_property("hostile texts", 1)


# Fields of metadata that a message may repeat.
FIELDS: Final[tuple[dict[str, Any], ...]] = (
    {"name": "@"},
    {"target": {"backend": "@"}},
    {"target": {"arch": "@"}},
    {"triton_version": "@"},
    {"instrumentation_mode": "gsan,@"},
    {"num_warps": "@"},
    {"@": 1, "num_warps": "x"},
    {"abi_version": 1, "entry_name": "@", "args": []},
    {"abi_version": "@", "entry_name": "k"},
    {"abi_version": 1, "entry_name": "k", "args": [{"name": "@", "type": "@", "index": 0}]},
    {"abi_version": 1, "entry_name": "k", "args": [{"name": "x", "type": "@", "index": -1}]},
    {"abi_version": 1, "entry_name": "k", "args": [], "constants": {"0": "@", "@": 1}},
)


def filled(value: Any, text: str) -> Any:
    """Return a value with ``text`` in each place."""
    match value:
        case dict():
            return {filled(key, text): filled(inner, text) for key, inner in value.items()}
        case list():
            return [filled(inner, text) for inner in value]
        case str():
            return value.replace("@", text)
        case _:
            return value


@pytest.mark.parametrize("fields", FIELDS, ids=json.dumps)
def test_no_error_about_metadata_carries_what_a_terminal_obeys(
    fields: dict[str, Any], command: Run, tmp_path: Path, record_property: Record
) -> None:
    path = tmp_path / "k.json"
    known = [text for text in (*TERMINAL, *HOSTILE) if not re.search("[\ud800-\udfff]", text)]
    for text in known:
        path.write_text(json.dumps({"num_warps": 4, **filled(fields, text)}))
        words = ("-s", "i32", "--no-image", "--out", str(tmp_path / "out"))
        for own in ((), ("--name", "k")):
            code, _, error = command(["emit", str(path), *words, *own])
            assert code in (0, 2, 3)
            check_terminal(error)
    record_property("hostile texts", len(known))


@pytest.mark.parametrize(
    "text",
    [
        ".version 8.0\n.target @\n",
        ".version 8.0\n.target sm_90\n.entry @() { }",
        ".version 8.0\n.target sm_90\n.entry k(.param @ x) { }",
        "tt.func public @@(%x: i32) {",
        'tt.func public @"@"(%x: i32) {',
        "tt.func public @k(%x: @) {",
        'tt.func public @k(%x: i32 loc("@")) {',
    ],
)
def test_no_error_about_a_text_carries_what_a_terminal_obeys(
    text: str, command: Run, tmp_path: Path, record_property: Record
) -> None:
    (tmp_path / "k.json").write_text(json.dumps({"name": "k", "num_warps": 4, "shared": 0}))
    (tmp_path / "k.cubin").write_bytes(make_cubin("k", [(4, False)]))
    path = tmp_path / ("k.ptx" if text.startswith(".") else "k.ttir")
    kernel = path if path.suffix == ".ptx" else tmp_path / "k.json"
    known = [each for each in (*TERMINAL, *HOSTILE) if not re.search("[\ud800-\udfff]", each)]
    for each in known:
        # An at sign before it belongs to the IR's notation.
        found = text.replace("@@", f"@{each}").replace('"@"', f'"{each}"')
        path.write_text(found.replace(": @)", f": {each})").replace(" @", f" {each}"))
        for words in (["inspect", str(kernel)], ["emit", str(kernel), "-o", str(tmp_path / "o")]):
            code, out, error = command(words)
            assert code in (0, 2, 3)
            check_terminal(error)
            check_terminal(out)
    record_property("hostile texts", len(known))


def test_what_is_extra_in_a_folder_is_named_for_a_terminal(command: Run, tmp_path: Path) -> None:
    words = ["emit", "-s", "i32", "--name", "k", "--num-warps", "4", "-o", str(tmp_path)]
    words += ["--triton-version", "3.2"]
    assert command(words)[0] == 0
    for text in TERMINAL[:-1]:
        (tmp_path / f"{text}.c").write_bytes((tmp_path / "k.c").read_bytes())
    for option in ("--check", "--diff"):
        code, out, error = command([*words, option])
        assert (code, error) == (1, "")
        named = [line for line in out.split("\n") if line.startswith("extra: ")]
        assert len(named) == len(TERMINAL) - 1
        check_terminal("\n".join(line for line in out.split("\n") if not line.startswith("-\t")))


# ---- whole commands -------------------------------------------------------------------------


def emit_named(names: Sequence[str], folder: Path, *words: str) -> Emitted:
    """Emit everything by command, from files of these names: KERNEL, image, metadata, signature."""
    kernel, image, metadata, signature = names
    entry = {"name": "kernel_entry", "num_warps": 4, "shared": 0, "triton_version": "3.6.0"}
    shape = [(8, True), (4, False), (8, True), (8, True)]
    (folder / f"k{kernel}.json").write_text(json.dumps(entry))
    (folder / f"k{kernel}.cubin").write_bytes(make_cubin("kernel_entry", shape))
    (folder / f"i{image}.cubin").write_bytes(make_cubin("kernel_entry", shape, capability=80))
    (folder / f"m{metadata}.json").write_text(json.dumps(entry))
    (folder / f"s{signature}").write_text("x_ptr: *fp32, n: i32, C: constexpr = '*/'")
    out = new_folder()
    code = main(
        [
            *("emit", str(folder / f"k{kernel}.json"), "--image", str(folder / f"i{image}.cubin")),
            *("--metadata", str(folder / f"m{metadata}.json")),
            *("-s", f"@{folder / f's{signature}'}", "--name", "kernel", "--out", str(out), *words),
        ]
    )
    assert code == 0
    plan = emit_zoo("add").plan
    return Emitted(out, plan)


BENIGN: Final = ("a", "b", "c", "d")
EVERY: Final = ",".join(row.name for row in ARTIFACTS.values() if not row.describes_one)


@pytest.mark.parametrize("convention", ["direct", "triton"])
def test_names_of_files_stay_in_their_place_in_every_artifact(
    convention: str, record_property: Record
) -> None:
    words = ("-a", EVERY, "--convention", convention, "--stamp-version")
    benign = emit_named(BENIGN, new_folder(), *words)
    tried = 0

    @SOME
    @given(st.lists(file_texts, min_size=4, max_size=4))
    @example(["*_ #error escaped", "\n#error escaped\n", "$(touch escaped)", "`touch escaped`"])
    @example(["\udcff\udc9b", "\x1b[31m", "\u202e", "é"])
    @example(["\\", "??_", '"', "'"])
    @example(["x" * 200, "%", "#", " "])
    def try_names(names: list[str]) -> None:
        nonlocal tried
        tried += len(names)
        hostile = emit_named(names, new_folder(), *words)
        check_same(hostile, benign)
        check_recipes(hostile)

    try_names()
    record_property("hostile texts", tried)


def test_the_banner_repeats_a_command_that_names_the_same_files(record_property: Record) -> None:
    # As far as a comment can hold them: in ASCII, and none that would end one.
    names = ("a b", "$(touch escaped)", "it's #1", '"&;|')
    emitted = emit_named(names, new_folder(), "-a", EVERY)
    text = (emitted.folder / "Makefile").read_text("ascii")
    (line,) = re.findall(r"^#   regenerate  (.*)$", text, re.MULTILINE)
    words = shlex.split(line)
    kernel, image, metadata, signature = names
    assert words[:3] == ["launchgen", "emit", f"k{kernel}.json"]
    for word in (f"i{image}.cubin", f"m{metadata}.json", f"@s{signature}"):
        assert word in words
    record_property("hostile texts", len(names))


def test_the_convention_of_launcher_objects_keeps_texts_in_their_place(
    record_property: Record,
) -> None:
    def printed(value: str, entry: str) -> Emitted:
        kernel = read_kernel(
            None,
            signature_text=f"x: *fp32, C: constexpr = {json.dumps(value)}, y: i32",
            name="kernel",
            no_image=True,
            overrides=Overrides(num_warps=4, triton_version=(3, 8), entry=entry),
            target=CUDA,
        )
        plan = make_plan(kernel, target=CUDA, command=value, convention=LAUNCHER, version=value)
        folder = new_folder()
        for file in render(plan, artifacts=(ARTIFACTS["cpython"],)).files:
            (folder / file.name).write_bytes(file.content)
        return Emitted(folder, plan)

    benign = printed("benign", "kernel_entry")
    known = [text for text in HOSTILE if text.isprintable()]
    for text in known:
        hostile = printed(text, text)
        for path in hostile.folder.iterdir():
            assert tokens(path) == tokens(benign.folder / path.name)
    record_property("hostile texts", len(known))


LAYOUTS: Final = tuple(text for text in HOSTILE if text.isascii() and text.isprintable())


def test_the_layout_of_a_descriptor_stays_in_its_place(record_property: Record) -> None:
    benign = emit_hostile([], signature="s: tensordesc<fp16[64, 64],layout>")
    tried = 0

    @MANY
    @given(st.lists(st.sampled_from(LAYOUTS) | st.sampled_from(string.printable), max_size=6))
    @example(["*/ #error escaped /*"])
    @example(['"??/"', "\\"])
    @example(["(", "*/", ")"])
    def try_layout(parts: list[str]) -> None:
        nonlocal tried
        text = f"s: tensordesc<fp16[64, 64],{''.join(parts)}>"
        try:
            parse(text)
        except LaunchgenError:
            assume(False)
        tried += 1
        check_same(emit_hostile([], signature=text), benign)

    try_layout()
    record_property("hostile texts", tried)


def test_metas_metadata_keeps_texts_in_their_place(record_property: Record) -> None:
    every = ",".join(ARTIFACTS)

    def printed(entry: str, value: str, name: str) -> Emitted:
        folder, out = new_folder(), new_folder()
        listed = [
            {"name": name, "type": "*fp32", "index": 0},
            {"name": "n", "type": "i32", "index": 2},
        ]
        content = {"abi_version": 1, "entry_name": entry, "num_warps": 4, "args": listed}
        path = folder / "k.json"
        path.write_text(json.dumps({**content, "constants": {"1": value}}))
        words = ("--name", "kernel", "-a", every, "--no-image", "-o", str(out))
        assert main(["emit", str(path), *words]) == 0
        return Emitted(out, emit_zoo("add").plan)

    benign = printed("kernel_entry", "benign", "?")
    known = [text for text in HOSTILE if text.isprintable()]
    for text in known:
        # A name that is no identifier is none, so that its argument is called by its position.
        check_same(printed(text, text, f"{text}?"), benign)
    record_property("hostile texts", len(known))


# ---- folders --------------------------------------------------------------------------------

FOLDERS: Final = (
    *("a b", "it's", 'say "x"', "$HOME", "$(touch escaped)", "`touch escaped`", "#1", "50%"),
    *("new\nline", "end\n", "\n", "é", "\udcff", "-n", "--help", "-", "a;b", "a&b", "a|b", "a=b"),
    *("a:b", "*", "[a]", "~", "back\\slash", "end\\", "(x)", "!", "\x1b[31m", "\u202e", "\t"),
)

# A compiler that makes what it is told to, and says where it was.
COMPILER: Final = """#!/bin/sh
while test $# -gt 1; do
    if test "$1" = -o; then printf made > "$2"; fi
    shift
done
"""


@pytest.mark.parametrize("name", FOLDERS, ids=ascii)
def test_builds_work_in_a_folder_of_any_name(
    name: str,
    command: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Record,
) -> None:
    # As `cd` looks for folders elsewhere, and as a name without its last line break would be one.
    elsewhere = tmp_path / "elsewhere"
    for folder in (elsewhere / name, tmp_path / f"in{name.rstrip()}x"):
        folder.mkdir(parents=True, exist_ok=True)
    compiler = tmp_path / "compiler"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    # A folder called "-" is not standard output.
    out = f"./{name}" if name == "-" else name
    words = ["emit", "-s", "i32", "--name", "k", "--num-warps", "4", "--triton-version", "3.2"]
    assert command([*words, "-a", "c,cpython,example,make,sh", f"--out={out}"])[0] == 0
    made = work / name
    products = {"libk.so", "k_example", f"k{suffix()}"}
    environment = {**os.environ, "CC": str(compiler), "PYTHON": sys.executable}
    environment["CDPATH"] = str(elsewhere.parent)
    scripts = [f"{made}/build.sh", f"./{name}/build.sh"]
    if not name.startswith("-"):
        scripts.append(f"{name}/build.sh")
    for build in (["make", "-C", f"./{name}"], *(["sh", script] for script in scripts)):
        done = run(build, cwd=work, env=environment)
        assert (done.returncode, done.stderr) == (0, "")
        assert products <= {path.name for path in made.iterdir()}
        for product in products:
            (made / product).unlink()
    done = run(["sh", "build.sh"], cwd=made, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert products <= {path.name for path in made.iterdir()}
    assert list(work.iterdir()) == [made]
    assert list(elsewhere.iterdir()) == [elsewhere / name]
    assert not list((elsewhere / name).iterdir())
    code, listed, error = command([*words, f"--out={out}", "--list-outputs"])
    assert code == (2 if "\n" in name else 0)
    assert len(listed.splitlines()) in (0, 4) or not name.isprintable()
    check_terminal(error)
    record_property("hostile texts", 1)


def suffix() -> str:
    import sysconfig  # noqa: PLC0415 - as a build script asks

    return str(sysconfig.get_config_var("EXT_SUFFIX"))


def test_a_real_build_works_where_the_name_of_the_folder_is_odd(
    command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "k.json"
    path.write_text(json.dumps({"name": "k", "num_warps": 4, "shared": 0}))
    path.with_suffix(".cubin").write_bytes(make_cubin("k", []))
    # Large enough to be included from a copy beside the source.
    os.truncate(path.with_suffix(".cubin"), 2**20)
    name = '-it\'s "$(touch escaped)" #1 100% é\n'
    words = ["emit", "k.json", "-s", "", "-a", "c,make,sh", f"--out={name}"]
    assert command(words)[0] == 0
    made = tmp_path / name
    for build in (["make", "-C", f"./{name}"], ["sh", f"./{name}/build.sh"]):
        assert run(build).returncode == 0
        (made / "libk.so").unlink()
    assert command(["build", "--", name])[0] == 0
    assert (made / "libk.so").exists()
    assert not (tmp_path / "escaped").exists()


def test_build_takes_no_source_that_might_be_an_option(
    command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Record
) -> None:
    words = ["emit", "-s", "i32", "--name", "k", "--num-warps", "4", "-a", "c", "-o", str(tmp_path)]
    assert command(words)[0] == 0
    hostile = ("-wrapper,touch,x.c", "-fplugin=x.c", "-.c", "@x.c", "a b.c", "\x1b.c", ".c")
    for name in hostile:
        shutil.copy(tmp_path / "k.c", tmp_path / name)
    log = tmp_path / "log"
    compiler = tmp_path / "gcc"
    compiler.write_text(f'#!/bin/sh\necho "$@" >> {log}\n{COMPILER}')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    assert command(["build", str(tmp_path)])[0] == 0
    for line in log.read_text().splitlines():
        assert not set(line.split()).intersection(hostile)
    assert "k.c" in log.read_text()
    record_property("hostile texts", len(hostile))


# ---- depfiles -------------------------------------------------------------------------------

PUNCTUATION: Final = "".join(set(string.punctuation) - {"/"}) + " \t\v\x01\x1b\x7f\n\r"
ODD: Final = (
    *(f"a{character}b" for character in PUNCTUATION),
    *(f"{character}b" for character in PUNCTUATION),
    *(f"a{character}" for character in PUNCTUATION),
    *("a;touch escaped", "a b", "a\\ b", "$(touch escaped)", "lib(m)", "é", "\udcff"),
    *("a\\#b", "a\\:b", "a\\$b", "a\\\\ b", "a\\ #b", "a$ b", "$$(x)y"),
)


def is_read_by_make(name: str, folder: Path, *, is_output: bool) -> bool:
    """Return whether make rebuilds each output exactly where an input is newer."""
    output, given = (name, "in") if is_output else ("out", name)
    (folder / "k.d").write_bytes(writer.depfile_text([output, "k.c"], [given, "other"]))
    # A terminal match-anything rule gives every target a recipe without naming it.
    (folder / "Makefile").write_text("include k.d\n%::\n\t@echo made\nMakefile k.d:: ;\n")
    found = []
    for changed in (None, given, "other"):
        for path in (given, "other", output, "k.c"):
            (folder / path).write_bytes(b"")
            is_input = path in (given, "other")
            time = 20 if path == changed else 0 if is_input else 10
            os.utime(folder / path, (time, time))
        for path in (output, "k.c"):
            done = run(["make", "-q", "--", path], cwd=folder)
            found.append(done.returncode == (0 if changed is None else 1))
    return all(found) and not (folder / "escaped").exists()


@pytest.mark.parametrize("is_output", [True, False], ids=["output", "input"])
def test_a_depfile_names_a_path_so_that_make_reads_it_or_refuses_it(
    is_output: bool, tmp_path: Path, record_property: Record
) -> None:
    refused = []
    for at, name in enumerate(ODD):
        folder = tmp_path / str(at)
        folder.mkdir()
        try:
            assert is_read_by_make(name, folder, is_output=is_output), ascii(name)
        except OutputError as error:
            refused.append(name)
            check_terminal(str(error))
    assert {"a;touch escaped", "a\nb", "a=b", "a|b", "50%b"[2:]} <= set(refused)
    assert not {"a b", "a#b", "a$b", "a:b", "a'b", "é", "a\\b"}.intersection(refused)
    record_property("hostile texts", len(ODD))
    record_property("bad inputs", len(refused))


def test_nothing_is_written_where_the_depfile_cannot_name_a_path(
    command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Record
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["emit", "-s", "i32", "--name", "k", "--num-warps", "4", "--depfile", "k.d"]
    bad = ("a;touch escaped", "a\nb", "50%", "a=b", "a|b")
    for name in bad:
        code, _, error = command([*words, "--out", name])
        assert code == 3
        check_terminal(error)
        assert list(tmp_path.iterdir()) == []
    record_property("bad inputs", len(bad))
