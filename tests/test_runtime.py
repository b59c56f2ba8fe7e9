"""Templates, tables and the hand-written C agree on names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import launchgen
from launchgen.fragments import FRAGMENTS, resolve
from launchgen.scalars import SCALARS, Scalar
from launchgen.targets import TARGETS

TEMPLATES = Path(launchgen.__file__).parent / "templates"
RUNTIME = TEMPLATES / "runtime"
# What ends with a launcher's name in the output.
PER_KERNEL = (
    *("lg_run_", "lg_kernel_", "lg_state_", "lg_image_", "lg_attributes_", "lg_parameters_"),
    *("lg_variants_", "lg_choices_", "lg_libraries_"),
)


def defined(fragment: str) -> set[str]:
    text = (RUNTIME / f"{fragment}.c").read_text()
    functions = re.findall(r"^static [^=;(]*?\*?(lg_\w+)\(", text, re.MULTILINE)
    constants = re.findall(r"\b(LG_[A-Z_]+) = ", text)
    return {*functions, *constants}


@pytest.mark.parametrize("scalar", SCALARS.values(), ids=lambda scalar: scalar.name)
def test_every_function_that_a_scalar_names_is_in_a_fragment_that_it_names(
    scalar: Scalar,
) -> None:
    found = {name for f in resolve(scalar.fragments) for name in defined(f)}
    assert {scalar.round_c} - {""} <= found
    found = {name for f in resolve(scalar.python_fragments) for name in defined(f)}
    assert {scalar.python_convert_c} - {""} <= found
    assert set(re.findall(r"LG_\w+", scalar.python_limits_c)) <= found


def test_fragments_are_the_files_of_the_runtime() -> None:
    assert sorted(FRAGMENTS) == sorted(path.stem for path in RUNTIME.glob("*.c"))
    for target in TARGETS.values():
        assert set(target.fragments) <= set(FRAGMENTS)


def test_no_launcher_name_can_collide_with_the_runtime() -> None:
    for name in FRAGMENTS:
        text = (RUNTIME / f"{name}.c").read_text()
        clashes = {word for word in re.findall(r"\blg_\w+", text) if word.startswith(PER_KERNEL)}
        assert not clashes, name


def test_no_export_can_collide_with_the_runtime() -> None:
    exported = re.compile(r"lg(_\w+)?_(launch|load|unload|error|scratch_size)")
    for name in FRAGMENTS:
        clashes = {word for word in defined(name) if exported.fullmatch(word)}
        assert not clashes, f"{name}: a launcher may have a name that makes one of {clashes}"


def test_names_of_the_runtime_have_the_house_prefix() -> None:
    for name in FRAGMENTS:
        text = (RUNTIME / f"{name}.c").read_text()
        macros = re.findall(r"^#define (\w+)", text, re.MULTILINE)
        assert all(macro.startswith("LG_") for macro in macros), name
        functions = re.findall(r"^static (?:inline )?[\w ]+? \*?(\w+)\(", text, re.MULTILINE)
        assert all(function.startswith("lg_") for function in functions), name


def test_the_runtime_has_the_house_shape() -> None:
    for path in sorted(RUNTIME.glob("*.c")):
        text = path.read_text("ascii")
        assert text.endswith("\n"), path.name
        assert not text.endswith("\n\n"), path.name
        assert "\n\n\n" not in text, path.name
        for line in text.splitlines():
            assert len(line) <= 100, f"{path.name}: {line}"
            assert line == line.rstrip(), f"{path.name}: {line}"
            assert "\t" not in line, f"{path.name}: {line}"


def test_the_runtime_neither_prints_nor_exits() -> None:
    for path in sorted(TEMPLATES.rglob("*.c")):
        text = path.read_text()
        assert not re.search(r"(?<![a-z_])(printf|exit|abort|puts|fprintf)\(", text), path.name
