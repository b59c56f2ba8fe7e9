from __future__ import annotations

import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from syrupy.assertion import SnapshotAssertion

import launchgen
from launchgen import atomic, cli, options, rendering
from launchgen.artifacts import ARTIFACTS
from launchgen.diagnostics import UsageError
from tests.zoo import Kernel

KERNELS = Path(__file__).parent / "kernels" / "triton-3.6.0-sm90"
ADD = "x_ptr: *fp32, y_ptr: *fp32, out_ptr: *fp32, n: i32, alpha: fp32, BLOCK: constexpr"
NOTHING = ["-s", "n: i32", "--name", "k", "--num-warps", "4", "--triton-version", "3.6.0"]

Run = Callable[..., "Result"]


class Result:
    def __init__(self, code: int, out: bytes, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Return a function that runs a command in this process."""

    def call(*words: str) -> Result:
        code = cli.main(list(words))
        out, err = capfdbinary.readouterr()
        return Result(code, out, err.decode())

    return call


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def process(*words: str, **settings: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "launchgen", *words],
        **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | settings),
    )


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# --- help --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [(), ("emit",), ("build",), ("bench",), ("doctor",)], ids=" ".join
)
def test_help(
    words: tuple[str, ...], snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    result = run(*words, "--help")
    assert (result.code, result.err) == (0, "")
    assert result.out.decode() == snapshot


def test_version(run: Run) -> None:
    assert run("--version").out == f"launchgen {launchgen.__version__}\n".encode()


def test_every_option_has_a_field_and_help() -> None:
    assert {parameter.name for parameter in options.EMIT} == set(options.Emit._fields)
    assert all(option.help for option in options.EMIT if isinstance(option, click.Option))


def test_help_and_import_load_nothing_but_click_and_tables() -> None:
    code = "import sys, {}; print(*sorted(sys.modules))"
    main = "launchgen.cli; launchgen.cli.main(['emit', '--help'])"
    for statement in ("launchgen", main):
        loaded = (
            subprocess.run(
                [sys.executable, "-c", code.format(statement)],
                check=True,
                capture_output=True,
                text=True,
            )
            .stdout.splitlines()[-1]
            .split()
        )
        heavy = {
            "jinja2",
            "msgspec",
            "asyncio",
            "hashlib",
            "json",
            "elftools",
            "rich",
        }
        assert heavy.isdisjoint(loaded)
        assert ("click" in loaded) == (statement == main)
        own = {name for name in loaded if name.startswith("launchgen.")}
        assert own <= {
            f"launchgen.{name}"
            for name in (
                "artifacts",
                "bench_options",
                "cli",
                "diagnostics",
                "endings",
                "options",
                "sections",
                "targets",
            )
        }


def test_python_m_is_the_same_program() -> None:
    out, err = process("--version").communicate()
    assert (out, err) == (f"launchgen {launchgen.__version__}\n".encode(), b"")


def test_public_names_are_loaded_when_used() -> None:
    assert {"parse", "plan", "render", "write"} <= set(dir(launchgen))
    assert launchgen.render is rendering.render
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = launchgen.nothing


# --- emit --------------------------------------------------------------------------------------


def test_emit_is_silent_and_writes_where_it_is_told(folder: Path, run: Run) -> None:
    result = run("emit", str(KERNELS / "add.json"), "-s", ADD, "-a", "c", "-o", "build/add")
    assert (result.code, result.out, result.err) == (0, b"", "")
    assert names(folder) == ["build/add/add_kernel.c", "build/add/add_kernel.h"]


def test_the_default_artifacts_and_folder(folder: Path, run: Run) -> None:
    assert run("emit", str(KERNELS / "add.json"), "-s", ADD).code == 0
    assert names(folder) == [
        "add_kernel/Makefile",
        "add_kernel/add_kernel.c",
        "add_kernel/add_kernel.h",
        "add_kernel/add_kernel_py.c",
    ]


def test_every_artifact_can_be_emitted_and_is_known_again(folder: Path, run: Run) -> None:
    words = ["emit", str(KERNELS / "matmul.json"), "-s", matmul(), "-a", ",".join(ARTIFACTS)]
    assert run(*words, "-o", "out").code == 0
    result = run(*words, "-o", "out", "--check")
    assert (result.code, result.out, result.err) == (0, b"", "")
    for path in (folder / "out").iterdir():
        with path.open("ab") as file:
            file.write(b"\n")
    assert run(*words, "-o", "out", "--check").code == 1
    # An image that was edited is no longer launchgen's; a source is, by its banner.
    for path in (folder / "out").glob("*.cubin"):
        path.unlink()
    assert run(*words, "-o", "out").err == ""
    assert run(*words, "-o", "out", "--check").code == 0


def matmul() -> str:
    return Kernel(KERNELS.name, "matmul").signature


def test_scripts_are_executable(folder: Path, run: Run) -> None:
    assert run("emit", *NOTHING, "-a", "c,sh").code == 0
    assert (folder / "k" / "build.sh").stat().st_mode & stat.S_IXUSR
    assert not (folder / "k" / "k.c").stat().st_mode & stat.S_IXUSR


def test_emitting_twice_touches_nothing(folder: Path, run: Run) -> None:
    run("emit", *NOTHING, "-a", "c")
    before = {path: path.stat() for path in (folder / "k").iterdir()}
    assert run("emit", *NOTHING, "-a", "c").code == 0
    after = {path: path.stat() for path in (folder / "k").iterdir()}
    assert {p: (s.st_ino, s.st_mtime_ns) for p, s in before.items()} == {
        p: (s.st_ino, s.st_mtime_ns) for p, s in after.items()
    }


def test_without_a_version_there_is_a_note_on_standard_error(run: Run) -> None:
    result = run("emit", "-s", "n: i32", "-n", "k", "--num-warps", "4", "-a", "c", "-o", "-")
    assert result.code == 0
    assert result.err.startswith("note: ")
    assert b"note: " not in result.out


def test_a_single_file_goes_to_standard_output(folder: Path, run: Run) -> None:
    result = run("emit", str(KERNELS / "matmul.json"), "-s", matmul(), "-a", "c", "-o", "-")
    assert result.code == 0
    assert result.out.startswith(b"/* @generated by launchgen. DO NOT EDIT.\n")
    assert b"matmul_kernel_launch(" in result.out
    assert b"incbin" not in result.out
    assert names(folder) == []


def test_several_files_do_not_go_to_standard_output(run: Run) -> None:
    result = run("emit", *NOTHING, "-a", "c,cpython", "-o", "-")
    assert (result.code, result.out) == (2, b"")
    assert "k.c, k_py.c" in result.err


def test_list_outputs_writes_nothing(folder: Path, run: Run) -> None:
    result = run("emit", *NOTHING, "-a", "c", "-o", "./x/../y", "--list-outputs")
    assert (result.code, result.out) == (0, b"./x/../y/k.h\n./x/../y/k.c\n")
    assert run("emit", *NOTHING, "-a", "c", "--list-outputs").out == b"k/k.h\nk/k.c\n"
    assert list(folder.iterdir()) == []


def test_check_and_diff_name_what_differs_and_write_nothing(folder: Path, run: Run) -> None:
    words = ["emit", *NOTHING, "-a", "c"]
    result = run(*words, "--check")
    assert (result.code, result.out) == (1, b"missing: k.h\nmissing: k.c\n")
    assert list(folder.iterdir()) == []
    run(*words)
    assert (run(*words, "--check").code, run(*words, "--diff").code) == (0, 0)
    with (folder / "k" / "k.h").open("a") as file:
        file.write("edited\n")
    result = run(*words, "--check")
    assert (result.code, result.out, result.err) == (1, b"changed: k.h\n", "")
    result = run(*words, "--diff")
    assert result.code == 1
    assert result.out.startswith(b"changed: k.h\n--- a/k.h\n+++ b/k.h\n@@ ")
    assert result.out.endswith(b"-edited\n")
    assert (folder / "k" / "k.h").read_text().endswith("edited\n")


def test_check_finds_what_a_smaller_command_left(run: Run) -> None:
    run("emit", *NOTHING, "-a", "c,sh")
    result = run("emit", *NOTHING, "-a", "c", "--check")
    assert result.code == 1
    assert b"extra: build.sh\n" in result.out


def test_depfile_names_all_outputs_and_inputs(folder: Path, run: Run) -> None:
    (folder / "add.sig").write_text(ADD)
    kernel = KERNELS / "add.json"
    words = ["emit", str(kernel), "-s", "@add.sig", "-a", "c", "-o", "out"]
    assert run(*words, "--depfile", "d/add.d").code == 0
    left, right = (folder / "d" / "add.d").read_text().split(":")
    assert left == "out/add_kernel.h out/add_kernel.c"
    inputs = right.replace("\\\n", " ").split()
    read = [kernel, kernel.with_suffix(".cubin"), kernel.with_suffix(".ttir")]
    assert inputs == sorted([*map(str, read), "add.sig"])


def test_an_input_is_never_overwritten(folder: Path, run: Run) -> None:
    meta = {"abi_version": 1, "entry_name": "k", "num_warps": 4, "args": []}
    path = folder / "k.launch_metadata"
    path.write_text(json.dumps(meta))
    for force in ((), ("--force",)):
        result = run("emit", path.name, "--no-image", "-a", "level0", "-o", ".", *force)
        assert (result.code, result.out) == (2, b"")
        assert "is an input of this command" in result.err
    assert json.loads(path.read_text()) == meta


def test_an_input_is_not_extra(folder: Path, run: Run) -> None:
    words = ["emit", str(KERNELS / "add.json"), "-n", "k", "-o", "."]
    assert run(*words, "-a", "level0").code == 0
    (folder / "k.cubin").write_bytes((KERNELS / "add.cubin").read_bytes())
    assert run("emit", "k.launch_metadata", "-n", "m", "-a", "c", "-o", ".").code == 0
    assert run("emit", "k.launch_metadata", "-n", "m", "-a", "c", "-o", ".", "--check").code == 0


def test_a_copy_that_no_file_includes_any_more_is_named(folder: Path, run: Run) -> None:
    older = KERNELS.parent / "triton-3.6.0-sm80" / "matmul.cubin"
    words = ["emit", str(KERNELS / "matmul.json"), "-a", "c", "-o", "out"]
    assert run(*words, "--image", str(older)).code == 0
    assert sorted(path.name for path in (folder / "out").glob("*.cubin")) == [
        "matmul_kernel.sm_80.cubin",
        "matmul_kernel.sm_90a.cubin",
    ]
    err = run(*words).err
    assert "note: matmul_kernel.sm_80.cubin in out is no output any more" in err
    assert "note: matmul_kernel.sm_90a.cubin in out is no output any more" in err
    assert "no output any more" not in run(*words).err


def test_a_launcher_named_after_an_architecture_keeps_off_anothers_images(
    folder: Path, run: Run
) -> None:
    older = KERNELS.parent / "triton-3.6.0-sm80" / "matmul.cubin"
    both = ["emit", str(KERNELS / "matmul.json"), "--image", str(older), "-n", "mm", "-a", "c"]
    other = ["emit", str(KERNELS / "matmul.json"), "-n", "mm_sm_80", "-a", "c"]
    for words in (both, other):
        assert run(*words, "-o", "out").code == 0
    assert (folder / "out" / "mm.sm_80.cubin").read_bytes() == older.read_bytes()
    newer = (KERNELS / "matmul.cubin").read_bytes()
    assert (folder / "out" / "mm_sm_80.cubin").read_bytes() == newer


def test_foreign_files_need_force(folder: Path, run: Run) -> None:
    (folder / "k").mkdir()
    (folder / "k" / "k.c").write_text("mine")
    result = run("emit", *NOTHING, "-a", "c")
    assert (result.code, result.out) == (3, b"")
    assert "'k/k.c' is in the way" in result.err
    assert "--force" in result.err
    assert names(folder) == ["k/k.c"]
    assert run("emit", *NOTHING, "-a", "c", "--force").code == 0


def test_stamp_version_puts_the_version_into_the_banner(run: Run) -> None:
    words = ["emit", *NOTHING, "-a", "c", "-o", "-"]
    assert launchgen.__version__.encode() not in run(*words).out.split(b"*/")[0]
    assert launchgen.__version__.encode() in run(*words, "--stamp-version").out.split(b"*/")[0]


# --- the banner's command ----------------------------------------------------------------------


def regenerate(out: bytes) -> str:
    found = re.search(rb"^ \*   regenerate  (.*)$", out, re.MULTILINE)
    assert found is not None
    return found[1].decode()


def test_the_banners_command_has_base_names_and_no_folder(folder: Path, run: Run) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "add.sig").write_text(ADD)
    kernel = os.path.relpath(KERNELS / "add.json")
    metadata = os.path.relpath(KERNELS / "add.json")
    result = run(
        *("emit", "--num-warps=4", kernel, "-s@sub/add.sig", "--no-pdl", "-o-", "-ac"),
        *("--metadata", metadata, "--cooperative", "--target=cuda", "--convention", "direct"),
    )
    assert result.code == 0, result.err
    assert regenerate(result.out) == (
        "launchgen emit add.json -s @add.sig --metadata add.json --num-warps 4 --cooperative "
        "--no-pdl --artifact c"
    )


def test_the_banners_command_makes_the_same_output(folder: Path, run: Run) -> None:
    first = run("emit", *NOTHING, "-a", "c", "--shared", "64", "-o", "-", "--cluster", "2,1,1").out
    command = tuple(shlex.split(regenerate(first)))
    assert command[0] == "launchgen"
    assert run(*command[1:], "-o", "-").out == first
    second = ["emit", str(KERNELS / "add.json"), "-s", ADD, "-a", "cpython"]
    assert run(*second, "-o", "a").code == 0
    text = (folder / "a" / "add_kernel_py.c").read_bytes()
    for name in ("add.json", "add.cubin", "add.ttir"):
        (folder / name).write_bytes((KERNELS / name).read_bytes())
    command = tuple(shlex.split(regenerate(text)))
    assert run(*command[1:], "-o", "b").code == 0
    assert (folder / "b" / "add_kernel_py.c").read_bytes() == text


def test_artifacts_are_named_in_the_tables_order() -> None:
    chosen = options.parse_artifacts(["make, cpython", "c", "c"])
    assert [row.name for row in chosen] == ["c", "cpython", "make"]
    assert options.parse_artifacts([]) == chosen


# --- usage errors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-a", "cpyton"], "error: unknown artifact 'cpyton'\n  hint: did you mean 'cpython'?"),
        (["-a", "C++"], "known are c, cpython, "),
        (["-a", "x,c,y"], "unknown artifact 'y'"),
        (["-a", ","], "--artifact names nothing"),
        (["-a", "example"], "artifact 'example' has nothing to work on without c"),
        (["-a", "make"], "artifact 'make' has nothing to work on without c or cpython"),
        (["-a", "c", "--cluster", "2,1"], "--cluster: '2,1' is not X,Y,Z"),
        (["-a", "c", "--global-scratch", "x"], "--global-scratch: 'x' is not SIZE"),
        (["-a", "c", "--triton-version", "new"], "'new' is no version of Triton"),
        (["-a", "c", "--num-warps", "four"], "'--num-warps': 'four' is not a valid int"),
        (["-a", "c", "--target", "cud"], "'cud' is not 'cuda'"),
        (["--artifcat", "c"], "--artifact"),
        (["--check", "--depfile", "d"], "--check and --depfile contradict each other"),
        (["--diff", "--out", "-"], "--diff and --out - contradict each other"),
        (["--list-outputs", "--force"], "--list-outputs and --force contradict each other"),
        (["--list-outputs", "--check"], "--list-outputs and --check contradict each other"),
        (["--out", "-", "--depfile", "d"], "--out - and --depfile contradict each other"),
        (["--out", ""], "--out is empty"),
        (["a", "b"], "unexpected extra argument"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_usage_errors(folder: Path, run: Run, words: list[str], message: str) -> None:
    result = run("emit", *NOTHING, *words)
    assert (result.code, result.out) == (2, b"")
    assert message in result.err
    assert list(folder.iterdir()) == []


def test_every_unknown_artifact_is_reported() -> None:
    with pytest.raises(UsageError) as caught:
        options.parse_artifacts(["x,c", "y"])
    assert len(caught.value.diagnostics) == 2


def test_a_mistyped_command(run: Run) -> None:
    result = run("emti")
    assert (result.code, result.out) == (2, b"")
    assert "emti" in result.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["none.json", "-s", "n: i32"], 3),
        ([".", "-s", "n: i32"], 3),
        ([str(KERNELS / "add.json"), "-s", "@none"], 3),
        ([str(KERNELS / "add.json"), "-s", "n: i23"], 2),
        ([str(KERNELS / "add.json"), "-s", "n: i32"], 2),
        ([], 2),
    ],
)
def test_bad_input_has_its_exit_code_and_no_traceback(
    folder: Path, run: Run, words: list[str], code: int
) -> None:
    result = run("emit", *words)
    assert (result.code, result.out) == (code, b"")
    assert result.err.startswith("error: ")
    assert "Traceback" not in result.err
    assert list(folder.iterdir()) == []


# --- how a run ends ----------------------------------------------------------------------------


def patched(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(rendering, "render", fail)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (KeyboardInterrupt(), 130, ""),
        (OSError(5, "Input/output error", "/f"), 3, "error: Input/output error: /f\n"),
        (MemoryError(), 3, "error: out of memory\n"),
        (RecursionError(), 3, "error: the input is nested too deeply\n"),
        (
            KeyError("x"),
            3,
            "error: internal error, a bug in launchgen: KeyError: 'x' (test_cli.py:",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_nothing_ends_with_a_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, text: str
) -> None:
    patched(monkeypatch, error)
    result = run("emit", *NOTHING)
    assert (result.code, result.out) == (code, b"")
    assert result.err.startswith(text)
    assert result.err.count("\n") <= 1


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, int], None]]:
    """Give a function that lets a signal arrive when a function of ``atomic`` is called."""

    def stop(function: str, number: int) -> None:
        original = getattr(atomic, function)

        def wrapped(*arguments: object) -> object:
            os.kill(os.getpid(), number)
            return original(*arguments)

        monkeypatch.setattr(atomic, function, wrapped)

    # Whoever starts the tests in the background may have it ignored.
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield stop
    signal.signal(signal.SIGINT, old)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_files_are_staged_leaves_nothing(
    folder: Path, run: Run, stopping: Callable[[str, int], None], number: signal.Signals
) -> None:
    stopping("_stage", number)
    if number == signal.SIGINT:
        assert run("emit", *NOTHING, "-a", "c").code == 130
    else:
        with pytest.raises(SystemExit) as caught:
            cli.main(["emit", *NOTHING, "-a", "c"])
        assert caught.value.code == 128 + number
    assert list(folder.iterdir()) == []


def test_a_signal_while_files_are_renamed_waits_until_all_are(
    folder: Path, run: Run, stopping: Callable[[str, int], None]
) -> None:
    stopping("_backup", signal.SIGTERM)
    with pytest.raises(SystemExit):
        cli.main(["emit", *NOTHING, "-a", "c"])
    assert names(folder) == ["k/k.c", "k/k.h"]
    assert run("emit", *NOTHING, "-a", "c", "--check").code == 0


def test_signal_handlers_are_put_back(run: Run) -> None:
    before = signal.getsignal(signal.SIGTERM)
    run("--version")
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_closed_pipe_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    child = process("emit", *NOTHING, "-a", "c", "-o", "-", stdout=write)
    os.close(write)
    assert child.communicate()[1] == b""
    assert child.returncode == 128 + signal.SIGPIPE


def test_a_full_standard_output_is_reported() -> None:
    with Path("/dev/full").open("wb") as full:
        child = process("emit", *NOTHING, "-a", "c", "-o", "-", stdout=full)
        assert b"No space left on device" in child.communicate()[1]
    assert child.returncode == 3


def test_a_closed_standard_output_is_no_crash() -> None:
    words = [sys.executable, "-m", "launchgen", "emit", *NOTHING, "-a", "c", "--list-outputs"]
    line = " ".join(f"'{word}'" for word in words) + " >&-"
    done = subprocess.run(["sh", "-c", line], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_names_that_are_no_utf8_and_no_locale(folder: Path) -> None:
    odd = os.fsdecode(b"k\xff \xc3\xbc.json")
    for suffix in (".json", ".cubin"):
        (folder / odd).with_suffix(suffix).write_bytes((KERNELS / f"add{suffix}").read_bytes())
    words = ["emit", odd, "-s", ADD, "-a", "c", "-o", os.fsdecode(b"o\xff")]
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for more in ([], ["--list-outputs"], ["--check"], ["--depfile", "d"]):
        child = process(*words, *more, env=environment)
        out, err = child.communicate()
        assert (child.returncode, err) == (0, b"")
        if more == ["--list-outputs"]:
            assert out == b"o\xff/add_kernel.h\no\xff/add_kernel.c\n"
    assert b"o\xff/add_kernel.h" in (folder / "d").read_bytes()
    assert b"k\xff\\ \xc3\xbc.json" in (folder / "d").read_bytes()
    child = process("emit", os.fsdecode(b"\xff.json"), "-s", ADD, env=environment)
    assert b"Traceback" not in child.communicate()[1]
    assert child.returncode == 3


# --- build -------------------------------------------------------------------------------------


def emitted(folder: Path, text: str = "int k_x(void) { return 1; }\n") -> None:
    banner = "/* @generated by launchgen. DO NOT EDIT.\n *   artifact    c\n */\n"
    (folder / "k.c").write_text(banner + text)


def test_build_says_what_it_built_on_standard_error(folder: Path, run: Run) -> None:
    emitted(folder)
    result = run("build", ".", "-j", "1")
    assert (result.code, result.out, result.err) == (0, b"", "built libk.so\n")


def test_build_shows_warnings_and_failures(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "gcc")
    emitted(folder, "#warning look here\n")
    result = run("build", ".")
    assert result.code == 0
    assert "look here" in result.err
    emitted(folder, "#error stop here\n")
    result = run("build", ".")
    assert (result.code, result.out) == (3, b"")
    assert result.err.startswith("error: libk.so: gcc failed with status 1\n")
    assert "stop here" in result.err


def test_build_shows_a_bar_on_a_terminal(folder: Path) -> None:
    emitted(folder)
    main, terminal = os.openpty()
    child = process("build", ".", stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    assert child.wait() == 0
    assert b"building" in os.read(main, 4096)
    os.close(main)


@pytest.mark.parametrize(
    ("words", "code"), [(["none"], 3), ([], 2), ([".", "-j", "0"], 2), ([".", "-j", "x"], 2)]
)
def test_build_errors(run: Run, words: list[str], code: int) -> None:
    result = run("build", *words)
    assert (result.code, result.out) == (code, b"")
    assert "Traceback" not in result.err
