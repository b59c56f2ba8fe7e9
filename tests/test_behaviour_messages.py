"""A refusal names launcher, argument and type, whatever the value is like."""

from __future__ import annotations

import enum
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from launchgen.cli import main
from tests import sanitizers
from tests.launchers import Face, Host, of_kernel, of_signature
from tests.zoo import Kernel

HUGE = 10**5000
EVERY = of_signature("x: *fp32, i: i32, u: u64, b: i1, t: (i32, i32)")
GOOD: tuple[Any, ...] = (0x1000, 1, 1, True, (1, 2))


class Wide(enum.IntEnum):
    """Showing one runs Python code."""

    POSITIVE = 2**64
    NEGATIVE = -5


class Tensor:
    def __init__(self, address: int) -> None:
        self.address = address

    def data_ptr(self) -> int:
        return self.address


@pytest.mark.parametrize("address", list(Wide))
def test_an_address_whose_repr_is_python_code_is_refused_by_name(host: Host, address: Wide) -> None:
    for given in (address, Tensor(address)):
        values = (given, *GOOD[1:])
        text = host.refusal(Face.PYTHON, EVERY, 1, None, values, raises=OverflowError)
        assert "argument 0 'x' (*fp32)" in text


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("value", [HUGE, -HUGE], ids=["positive", "negative"])
def test_an_int_too_long_to_print_is_refused_by_name(host: Host, place: int, value: int) -> None:
    values = list(GOOD)
    values[place] = value
    text = host.refusal(Face.PYTHON, EVERY, 1, None, tuple(values), raises=OverflowError)
    assert f"argument {place} '" in text


@pytest.mark.parametrize("grid", [HUGE, -HUGE, (1, HUGE)], ids=["x", "negative", "y"])
def test_a_grid_too_long_to_print_is_a_value_error(host: Host, grid: Any) -> None:
    text = host.refusal(Face.PYTHON, EVERY, grid, None, GOOD, raises=ValueError)
    assert text.startswith("k: grid ")


def test_a_stream_too_long_to_print_is_an_overflow_error(host: Host) -> None:
    text = host.refusal(Face.PYTHON, EVERY, 1, HUGE, GOOD, raises=OverflowError)
    assert text.startswith("k: stream ")


class Interrupted(Fraction):
    """Ctrl-C comes while it is compared, or shown."""

    def __gt__(self, other: object) -> bool:
        raise KeyboardInterrupt

    def __repr__(self) -> str:
        raise KeyboardInterrupt

    __lt__ = __gt__


@pytest.mark.parametrize("name", ["i: i32", "h: fp16", "f: fp32"])
def test_an_interrupt_while_a_value_is_looked_at_is_kept(host: Host, name: str) -> None:
    launcher = of_signature(name)
    module, function = host.module(launcher), host.function(launcher)
    with pytest.raises(KeyboardInterrupt):
        module.launch(function, 1, None, Interrupted(1, 3))
    assert host.driver.launches == ()


@pytest.mark.parametrize("name", ["i: i32", "u: u64", "f: fp32", "t: (i32,)"])
def test_what_an_object_raised_itself_is_the_cause(host: Host, name: str) -> None:
    class Own:
        def __index__(self) -> int:
            raise ValueError("mine") from KeyError("why")

    launcher = of_signature(name)
    value = (Own(),) if "(" in name else Own()
    module, function = host.module(launcher), host.function(launcher)
    with pytest.raises(ValueError, match=r"argument 0.*: mine$") as caught:
        module.launch(function, 1, None, value)
    cause = caught.value.__cause__
    assert isinstance(cause, ValueError)
    assert isinstance(cause.__cause__, KeyError)
    assert cause.__traceback__ is not None
    assert host.driver.launches == ()


def test_what_the_interpreter_says_of_a_value_has_no_cause(host: Host) -> None:
    module, function = host.module(EVERY), host.function(EVERY)
    with pytest.raises(TypeError, match="argument 1 'i'") as caught:
        module.launch(function, 1, None, GOOD[0], "x", *GOOD[2:])
    assert caught.value.__cause__ is None


def test_dlpack_without_a_device_is_refused_by_name(host: Host) -> None:
    class Array:
        def __dlpack_device__(self) -> object:
            return "cuda"

    text = host.refusal(Face.PYTHON, EVERY, 1, None, (Array(), *GOOD[1:]), raises=TypeError)
    assert "argument 0 'x' (*fp32): __dlpack_device__() returned no pair of ints" in text


def test_a_refused_tensor_map_leaves_standard_error_empty(tmp_path: Path) -> None:
    options = ["-n", "odd", "--num-warps", "1", "--triton-version", "3.2", "-o", str(tmp_path)]
    assert main(["emit", "-s", "m: nvTmaDesc", *options, "-a", "cpython"]) == 0
    assert main(["build", str(tmp_path)]) == 0
    code = (
        "import odd\n"
        "class Lazy:\n"
        "    def __getattr__(self, name): raise KeyError(name)\n"
        "for value, error in (('x', TypeError), (Lazy(), KeyError)):\n"
        "    try: odd.launch(1, 1, None, value)\n"
        "    except error: pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=sanitizers.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


def test_no_scratch_is_allocated_for_a_grid_that_is_refused(host: Host) -> None:
    launcher = of_kernel(Kernel("triton-3.6.0-sm90", "device_desc"))
    module = host.module(launcher)
    asked: list[int] = []
    module.set_allocator(lambda size, align, stream: asked.append(size))
    for grid in ((2**31, 1, 1), (1, 65536, 1)):
        with pytest.raises(ValueError, match="too large"):
            module.launch(grid, None, 0x1000, 0x2000, 64, 64)
    assert asked == []


@pytest.mark.parametrize("name", ["lg", "lg_kernel", "lg_call", "find", "launch"])
def test_launchers_of_any_name_compile(tmp_path: Path, name: str) -> None:
    signature = (
        "INT32_MAX: i32, PRIu64: i32, RTLD_NOW: i32, EINVAL: i32, Py_None: i32, _Float16: i32"
    )
    options = ["-n", name, "--num-warps", "1", "--triton-version", "3.2", "-o", str(tmp_path)]
    assert main(["emit", "-s", signature, *options]) == 0
    assert main(["build", str(tmp_path)]) == 0


def test_a_signature_file_gives_the_same_output_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "signatures"
    folder.mkdir()
    (folder / "k.sig").write_text("x: i32")
    options = ["-n", "k", "--num-warps", "1", "--triton-version", "3.2", "-o", str(tmp_path / "k")]
    assert main(["emit", "-s", f"@{folder}/k.sig", *options]) == 0
    assert "-s @k.sig " in (tmp_path / "k" / "k.h").read_text()
    monkeypatch.chdir(folder)
    for spelled in ("@k.sig", "@./k.sig", f"@{folder}/k.sig"):
        assert main(["emit", "-s", spelled, *options, "--check"]) == 0


def test_a_command_in_a_banner_is_ascii_and_makes_the_same_again(tmp_path: Path) -> None:
    options = ["-n", "k", "--num-warps", "1", "--triton-version", "3.2", "-o", str(tmp_path)]
    assert main(["emit", "-s", "n :i32,  'ü'", *options]) == 0
    assert "-s 'n: i32, \"\\xfc\"'" in (tmp_path / "k.h").read_text("ascii")
    assert main(["emit", "-s", 'n: i32, "\\xfc"', *options, "--check"]) == 0


def test_a_signature_with_mistakes_shows_them_all_before_anything_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["emit", "-s", "x: *fp23, y: i32:2, z: i23:1"]) == 2
    assert capsys.readouterr().err.count("^") == 3


def test_a_module_that_no_import_statement_could_name_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["-s", "", "-n", "class", "--num-warps", "1", "-o", str(tmp_path)]
    assert main(["emit", *options]) == 2
    assert "'class'" in capsys.readouterr().err
    assert main(["emit", *options, "-a", "c"]) == 0


def test_infinity_passes_also_where_the_compiler_thinks_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-O2 -ffast-math")
    options = ["-n", "half", "--num-warps", "1", "--triton-version", "3.2", "-o", str(tmp_path)]
    assert main(["emit", "-s", "h: fp16", *options, "-a", "cpython"]) == 0
    assert main(["build", str(tmp_path)]) == 0
    code = (
        "from launchgen.testing import RecordingDriver\n"
        "driver = RecordingDriver().load()\n"
        "driver.current_context = driver.primary_context()\n"
        "import half\n"
        "half.launch(driver.make_function('half', [2]), 1, None, float('inf'))\n"
        "print(driver.launches[0].values[0].hex())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("007c", "")
