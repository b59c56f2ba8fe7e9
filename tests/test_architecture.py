from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TypeGuard, get_args, get_origin, get_type_hints

import jinja2
import msgspec
import pytest
from jinja2 import nodes

import launchgen
from launchgen import build_records, descriptor_records, records
from launchgen.artifacts import ARTIFACTS
from launchgen.filters import FILTERS
from launchgen.scalars import SPELLINGS
from launchgen.targets import TARGETS

PACKAGE = Path(launchgen.__file__).parent
MODULES = sorted(PACKAGE.glob("*.py"))
TEMPLATES = sorted((PACKAGE / "templates").rglob("*.jinja"))

ROOT = PACKAGE.parent
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

# The table in CONTRIBUTING.md: a module imports only from lower numbers.
ROWS = re.findall(r"^\| (\d+) \| (.+?) \|", CONTRIBUTING, re.MULTILINE)
RANKS = {name: int(rank) for rank, names in ROWS for name in re.findall(r"`(\w+)`", names)}

TABLES = {"scalars": SPELLINGS, "targets": TARGETS, "artifacts": ARTIFACTS}

PROCESS_MODULES = {"subprocess", "asyncio", "multiprocessing", "pty"}
PROCESS_FUNCTIONS = re.compile(r"os\.(system|popen|fork|forkpty|posix_spawn\w*|exec\w+|spawn\w+)")

LONGEST_MODULE = 400
LONGEST_TEMPLATE = 160


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


# --- modules -----------------------------------------------------------------------------------


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the name of each module of launchgen that a module imports, anywhere in it."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="launchgen", names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module)) if module.startswith("launchgen."):
                yield module.split(".")[1]
            case ast.Import(names=names):
                for alias in names:
                    if alias.name.startswith("launchgen."):
                        yield alias.name.split(".")[1]
            case _:
                pass


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_imports_only_from_lower_ranks(path: Path) -> None:
    assert path.stem in RANKS, f"give {path.name} a rank in CONTRIBUTING.md"
    wrong = {
        name: RANKS.get(name)
        for name in imported(parsed(path))
        if RANKS.get(name, 99) >= RANKS[path.stem]
    }
    assert wrong == {}, f"{path.name} has rank {RANKS[path.stem]}"


def test_the_table_of_modules_lists_each_once() -> None:
    listed = [name for _, names in ROWS for name in re.findall(r"`(\w+)`", names)]
    assert sorted(listed) == sorted([*(path.stem for path in MODULES), "testing"])


def test_the_table_of_tests_names_every_file() -> None:
    cells = re.findall(r"^\| (`test_.+?) \|", CONTRIBUTING, re.MULTILINE)
    patterns = [name for cell in cells for name in re.findall(r"`(\w+\*?)`", cell)]
    files = {path.stem for path in (ROOT / "tests").glob("test_*.py")}
    matched = {pattern: set(fnmatch.filter(files, pattern)) for pattern in patterns}
    assert [pattern for pattern, found in matched.items() if not found] == []
    assert set().union(*matched.values()) == files


def test_make_golden_runs_every_test_that_keeps_its_output() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    keeping = {
        path.name
        for path in (ROOT / "tests").glob("test_*.py")
        if re.search(r"^from syrupy", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert keeping == set(re.findall(r"tests/(test_\w+\.py)", makefile))


# --- records -----------------------------------------------------------------------------------

# What a file of Triton's or an image says, what a library's caller is told, and what tests compare
# with real images: launchgen itself has no use for it yet.
UNREAD = {"Report.unchanged"}


ANYTHING = {r"\w+(?:\(\w*\))?"}


def is_record(value: object) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(value, type) and issubclass(value, msgspec.Struct)


def held_records() -> Iterator[object]:
    for module in (records, descriptor_records, build_records):
        yield from vars(module).values()


def holders() -> dict[object, set[str]]:
    """Return what a plan's records are called where they are read."""
    found: dict[object, set[str]] = {
        records.LaunchPlan: {"plan"},
        build_records.PlanBuild: {"build"},
    }
    for owner in filter(is_record, held_records()):
        for name, hint in get_type_hints(owner).items():
            # An element of a tuple has whatever name a loop gives it.
            called = ANYTHING if get_origin(hint) is tuple else {name}
            for held in (hint, *get_args(hint)):
                found.setdefault(held, set()).update(called)
    return found


def test_every_field_of_a_record_is_read() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (*TEMPLATES, *MODULES))
    read = set(re.findall(r"\b(\w+(?:\(\w*\))?)\.(?=(\w+)\b)", text))
    anywhere = {field for _, field in read}
    called = holders()
    modules = [import_module(f"launchgen.{path.stem}") for path in MODULES if path.stem[0] != "_"]
    unread = {
        f"{record.__name__}.{field}"
        for module in modules
        for record in filter(is_record, vars(module).values())
        for field in record.__struct_fields__
        if not (
            field in anywhere
            if called.get(record, ANYTHING) & ANYTHING
            else any((holder, field) in read for holder in called[record])
        )
    }
    assert unread == UNREAD


# --- processes and tables ----------------------------------------------------------------------


def test_only_the_toolchain_starts_processes() -> None:
    offenders = {
        str(path.relative_to(PACKAGE)): found
        for path in sorted(PACKAGE.rglob("*.py"))
        if (found := sorted(set(process_starters(parsed(path)))))
    }
    assert list(offenders) == ["toolchain.py"]


def process_starters(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found = [alias.name.split(".")[0] for alias in names]
            case ast.ImportFrom(module=str(module)):
                found = [module.split(".")[0]]
            case _:
                found = []
        yield from PROCESS_MODULES.intersection(found)
        if isinstance(node, ast.Attribute) and PROCESS_FUNCTIONS.fullmatch(ast.unparse(node)):
            yield ast.unparse(node)


def table_words(tree: ast.Module, words: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield each string in ``words`` with its line; docstrings and pieces of f-strings are text."""
    texts = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr | ast.JoinedStr | ast.FormattedValue)
        for child in ast.iter_child_nodes(node)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value in words
            and id(node) not in texts
        ):
            yield node.lineno, node.value


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_module_names_a_row_of_a_table_but_the_table(path: Path) -> None:
    words = frozenset(name for table, rows in TABLES.items() if table != path.stem for name in rows)
    found = [f"{path.name}:{line}: {word!r}" for line, word in table_words(parsed(path), words)]
    assert found == []


def test_names_of_rows_are_found_wherever_they_hide() -> None:
    code = '''
"""i32"""
if name == "i32": pass
match name:
    case "c": pass
names = {"make": 1}
text = f"c {name} cuda"
'''
    words = frozenset((*SPELLINGS, *TARGETS, *ARTIFACTS))
    assert sorted(table_words(ast.parse(code), words)) == [(3, "i32"), (5, "c"), (6, "make")]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_modules_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE


# --- templates ---------------------------------------------------------------------------------

ENVIRONMENT = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)

ALLOWED = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Getattr,
    nodes.Const,
    nodes.For,
    nodes.If,
    nodes.Not,
    nodes.Include,
    nodes.Import,
    nodes.FromImport,
    nodes.Macro,
    nodes.Call,
    nodes.Keyword,
    nodes.Filter,
)


def is_field(node: nodes.Node | None) -> bool:
    """Whether it is a name or an attribute of one: ``plan.kernel.name``."""
    while isinstance(node, nodes.Getattr):
        node = node.node
    return isinstance(node, nodes.Name)


def is_condition(node: nodes.Node) -> bool:
    return is_field(node.node if isinstance(node, nodes.Not) else node)


def is_comma(node: nodes.Node) -> bool:
    """Whether it is ``',' if not loop.last``, the one inline condition that is allowed."""
    return (
        isinstance(node, nodes.CondExpr)
        and isinstance(node.test, nodes.Not)
        and isinstance(node.test.node, nodes.Getattr)
        and isinstance(node.test.node.node, nodes.Name)
        and (node.test.node.node.name, node.test.node.attr) == ("loop", "last")
        and isinstance(node.expr1, nodes.Const)
        and node.expr2 is None
    )


def offences(text: str) -> Iterator[str]:
    """Yield what a template does beyond printing what the plan decided."""
    tree = ENVIRONMENT.parse(text)
    macros = {node.name for node in tree.find_all(nodes.Macro)}
    modules = {node.target for node in tree.find_all(nodes.Import)}
    for imports in tree.find_all(nodes.FromImport):
        macros |= {name if isinstance(name, str) else name[1] for name in imports.names}

    def is_macro(node: nodes.Node) -> bool:
        match node:
            case nodes.Name(name=name):
                return name in macros
            case nodes.Getattr(node=nodes.Name(name=name)):
                return name in modules
            case _:
                return False

    def visit(node: nodes.Node) -> Iterator[str]:
        if is_comma(node):
            return
        where = f"line {node.lineno}: "
        if not isinstance(node, ALLOWED):
            yield f"{where}{type(node).__name__} is not allowed"
        if isinstance(node, nodes.If) and not is_condition(node.test):
            yield f"{where}a condition is one boolean field"
        if isinstance(node, nodes.For) and not (
            is_field(node.iter) and node.test is None and not node.recursive
        ):
            yield f"{where}a loop goes over one sequence of the plan"
        if isinstance(node, nodes.Call) and not is_macro(node.node):
            yield f"{where}only a macro is called"
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            yield f"{where}filter {node.name} is not in the closed set"
        for child in node.iter_child_nodes():
            yield from visit(child)

    yield from visit(tree)
    for number, line in enumerate(text.splitlines(), start=1):
        if "{%" in line and not re.fullmatch(r"\s*(\{%((?!%\}).)*%\}\s*)+", line):
            yield f"line {number}: a control tag shares its line"
    if not text.startswith("{#"):
        yield "line 1: it opens with a comment: what it becomes, which fields it reads"


@pytest.mark.parametrize(
    "path", TEMPLATES, ids=lambda path: str(path.relative_to(PACKAGE / "templates"))
)
def test_templates_print_and_do_not_decide(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert list(offences(text)) == []
    assert len(text.splitlines()) <= LONGEST_TEMPLATE


@pytest.mark.parametrize(
    "text",
    [
        "{{ plan.name }}",
        "{% for p in plan.parameters %}\n{{ p.name }}{{ ',' if not loop.last }}\n{% endfor %}",
        "{% if plan.has_image %}\na\n{% elif plan.b %}\nb\n{% else %}\nc\n{% endif %}",
        "{% if not plan.has_image %}\na\n{% endif %}",
        "{% from 'shared/a.jinja' import banner as top %}\n{{ top(plan) }}",
        "{% import 'shared/a.jinja' as shared %}\n{{ shared.banner(plan, x='y') }}",
        "{% macro m(p) %}\n{{ p.name }}\n{% endmacro %}\n{{ m(plan) }}",
        "{% for name in plan.fragments %}\n{% include name %}\n{% endfor %}",
    ],
)
def test_what_a_template_may_do(text: str) -> None:
    assert list(offences("{# A file. #}\n" + text)) == []


@pytest.mark.parametrize(
    ("text", "offence"),
    [
        ("{% if plan.a == 'cuda' %}\n{% endif %}", "a condition is one boolean field"),
        ("{% if plan.a and plan.b %}\n{% endif %}", "a condition is one boolean field"),
        ("{% if plan.a is defined %}\n{% endif %}", "a condition is one boolean field"),
        ("{{ plan.a + 1 }}", "Add is not allowed"),
        ("{{ plan.a ~ 'b' }}", "Concat is not allowed"),
        ("{{ plan.a[0] }}", "Getitem is not allowed"),
        ("{{ 'a' if plan.b else 'c' }}", "CondExpr is not allowed"),
        ("{{ 'a' if plan.b }}", "CondExpr is not allowed"),
        ("{% set a = 1 %}", "Assign is not allowed"),
        ("{% with a = 1 %}\n{% endwith %}", "With is not allowed"),
        ("{{ plan.a | join(', ') }}", "filter join is not in the closed set"),
        ("{{ plan.a.upper() }}", "only a macro is called"),
        ("{% for a in plan.b | sort %}\n{% endfor %}", "a loop goes over one sequence"),
        ("{% for a in plan.b if a.c %}\n{% endfor %}", "a loop goes over one sequence"),
        ("int x;{% if plan.a %}\n{% endif %}", "a control tag shares its line"),
        ("{{ [1, 2] }}", "List is not allowed"),
    ],
)
def test_what_a_template_may_not_do(text: str, offence: str) -> None:
    assert any(offence in found for found in offences("{# A file. #}\n" + text))


def test_a_template_without_a_comment_is_found() -> None:
    assert list(offences("int x;\n")) == [
        "line 1: it opens with a comment: what it becomes, which fields it reads"
    ]
