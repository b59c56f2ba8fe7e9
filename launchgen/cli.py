"""The commands, and how each way to end becomes an exit code; no other logic.

0: fine.  1: ``--check`` found a difference.  2: misused, or the input contradicts itself.
3: something could not be read, written or built.  Whatever is heavy is imported where it is used:
``launchgen --help`` needs click alone.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

import launchgen
from launchgen.bench_options import BENCH, BENCH_HELP, DEFAULT_BUFFER, Bench
from launchgen.diagnostics import Diagnostic, LaunchgenError, UsageError, printable
from launchgen.endings import BY_SIGNAL, ending_on_signals
from launchgen.options import EMIT, Emit, parse_artifacts
from launchgen.sections import PROGRAM, SectionedCommand, parsed
from launchgen.targets import TARGETS

if TYPE_CHECKING:
    from launchgen.rendering import GeneratedFiles
    from launchgen.toolchain import Step

_DIFFERENT: Final = 1
_DISAGREES: Final = 2
_BROKEN: Final = 3

T = TypeVar("T")
G = TypeVar("G")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(launchgen.__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
def cli() -> None:
    """Make C and Python launchers for GPU kernels that Triton compiled."""


# "\b" keeps click from filling the paragraph behind it.
_EMIT_HELP: Final = """Write launchers for KERNEL, and what compiles them.

KERNEL is what Triton leaves in its cache, NAME.json with NAME.cubin and NAME.ttir beside it, which
say what the kernel is called with; or a bare .cubin, .fatbin or .ptx; or nothing, with --signature:
then the launcher takes a function handle.  What serves every kernel is made without one.

\b
launchgen emit add.json -o build/add
launchgen emit add.json --image sm80/add.cubin
launchgen emit -s "x: *fp32, n: i32" --name add --num-warps 4 --triton-version 3.6.0
launchgen emit --artifact cuda-utils
"""


@cli.command(cls=SectionedCommand, params=list(EMIT), help=_EMIT_HELP)
@click.pass_context
def emit(ctx: click.Context, /, **_: object) -> int:
    """Read, decide, render, deliver."""
    given = Emit(**ctx.params)
    _refuse_contradictions(given)
    artifacts = parse_artifacts(given.artifact)

    from launchgen import caches, emission, rendering, template_cache  # noqa: PLC0415

    plan, inputs = emission.plan_launcher(ctx, given, artifacts, note=_note)
    folder = caches.cache_folder()
    cache = None if folder is None else template_cache.compiled_templates(folder)
    files = rendering.render(
        plan, artifacts=artifacts, utils=emission.plan_shared(ctx, given, artifacts), cache=cache
    )
    return _deliver(files, plan.name if given.out is None else given.out, given, inputs=inputs)


def _deliver(files: GeneratedFiles, out: str, given: Emit, *, inputs: tuple[str, ...]) -> int:
    """Write ``files``, or print what was asked for instead."""
    from launchgen import writer  # noqa: PLC0415

    if out == "-":
        click.echo(writer.single(files), nl=False)
        return 0
    outputs = writer.output_paths(files, out)
    if given.list_outputs:
        for path in outputs:
            click.echo(os.fsencode(path))
        return 0
    if given.diff:
        text = writer.diff(files, out, inputs=inputs)
        click.echo(text, nl=False)
        return _DIFFERENT if text else 0
    if given.check:
        lines = writer.check(files, out, inputs=inputs).lines
        for line in lines:
            click.echo(os.fsencode(line))
        return _DIFFERENT if lines else 0
    depfile = None
    if given.depfile is not None:
        content = writer.depfile_text(outputs, inputs)
        depfile = writer.Depfile(given.depfile, content, inputs)
    report = writer.write(files, out, force=given.force, depfile=depfile, inputs=inputs)
    for name in report.stale:
        _note(f"{name} in {out} is no output any more")
    return 0


def _note(text: str) -> None:
    click.echo(f"note: {printable(text)}", err=True)


def _refuse_contradictions(given: Emit) -> None:
    reading = {"--check": given.check, "--diff": given.diff, "--list-outputs": given.list_outputs}
    writing = {"--depfile": given.depfile is not None, "--force": given.force}
    printing = {"--out -": given.out == "-"}
    for first, others in (
        (reading, writing | printing),
        (printing, writing),
        ({"--list-outputs": given.list_outputs}, {"--check": given.check, "--diff": given.diff}),
    ):
        for one in filter(first.get, first):
            for other in filter(others.get, others):
                raise UsageError(Diagnostic(f"{one} and {other} contradict each other"))
    if given.out == "":
        raise UsageError(Diagnostic("--out is empty", hint="'.' is the current folder"))


@cli.command()
@click.argument("file", metavar="FILE")
@click.option(
    "-s", "--signature", metavar="TEXT", help="Show this signature beside it; @FILE reads it."
)
@click.option("--entry", metavar="NAME", help="The kernel to show.  [default: all]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.option(
    "--target", "-t", type=click.Choice(list(TARGETS)), default=next(iter(TARGETS)), hidden=True
)
def inspect(file: str, signature: str | None, entry: str | None, as_json: bool, target: str) -> int:
    """Show what a compiled kernel takes, and whether its signature agrees.

    FILE is what emit takes: NAME.json of Triton's cache, or a .cubin, .fatbin or .ptx.  Ends with 2
    where the signature and the image disagree.
    """
    from launchgen import inspection, reports, signatures  # noqa: PLC0415

    given, _ = signatures.given_signature(signature)
    found = inspection.inspect(
        Path(file),
        signature=None if given is None else given.signature,
        entry=entry,
        target=TARGETS[target],
    )
    for note in found.notes:
        _note(note)
    if as_json:
        click.echo(reports.inspection_json(found))
    else:
        click.echo(reports.inspection_text(found, is_terminal=sys.stdout.isatty()))
    return 0 if found.agrees else _DISAGREES


@cli.command()
@click.argument("folder", metavar="DIR")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Compilers to run at once.  [default: one for each processor]",
)
def build(folder: str, jobs: int | None) -> int:
    """Compile the launchers that were emitted to DIR.

    The environment says with what: CC (gcc, clang or nvcc), CPPFLAGS, CFLAGS and LDFLAGS, and
    PYTHON for the interpreter whose headers the Python module needs.
    """
    from launchgen import toolchain  # noqa: PLC0415

    planned = toolchain.plan_build(Path(folder), environment=os.environ)
    with _progress(len(planned.jobs)) as progress:
        steps = toolchain.run_build(
            planned, parallel=jobs or os.cpu_count() or 1, progress=progress
        )
    for step in steps:
        click.echo(step.text, nl=False, err=True)
    return 0


@cli.command(cls=SectionedCommand, params=list(BENCH), help=BENCH_HELP)
@click.pass_context
def bench(ctx: click.Context, /, **_: object) -> int:
    """Find, decide, run, show."""
    given = Bench(**ctx.params)
    from launchgen import bench_reports, benchmark, call_values, emitted  # noqa: PLC0415

    grid = parsed("--grid", given.grid, call_values.parse_grid)
    settings = parsed("--set", given.set, call_values.parse_settings)
    read_sizes = functools.partial(call_values.parse_sizes, default=DEFAULT_BUFFER)
    sizes = parsed("--buffer", given.buffer, read_sizes)
    quantiles = parsed("--quantiles", given.quantiles, call_values.parse_quantiles)
    warmup = parsed("--warmup", given.warmup, call_values.parse_time)
    budget = parsed("--time", given.time, call_values.parse_time)
    launcher = emitted.find_launcher(Path(given.folder), name=given.name)
    values = call_values.choose_values(launcher.signature, settings=settings, sizes=sizes)
    found = benchmark.run(
        launcher,
        benchmark.Request(
            grid=grid,
            values=values,
            device=given.device,
            warmup=warmup,
            budget=budget,
            quantiles=quantiles,
            clears=given.clear_l2,
        ),
    )
    for note in found.notes:
        _note(note)
    if given.as_json:
        click.echo(bench_reports.benchmark_json(found))
    else:
        click.echo(bench_reports.benchmark_text(found, is_terminal=sys.stdout.isatty()))
    return 0


@cli.command()
@click.option(
    "--libcuda",
    metavar="PATH",
    help="A driver to try before all others: libcuda.so.1, or the folder that holds it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def doctor(libcuda: str | None, as_json: bool) -> int:
    """Show what this machine has of what launchers need, and what to do about the rest.

    That is: C compilers, the headers of Python and of CUDA, the driver, its GPUs, and Triton.  Only
    a C compiler is needed.  Ends with 3 where there is none that works, or PATH is no driver.
    """
    if libcuda == "":
        raise UsageError(Diagnostic("--libcuda is empty", hint="name a file or a folder"))

    from launchgen import checkup_reports, doctor  # noqa: PLC0415

    found = doctor.check(libcuda=libcuda, environment=os.environ)
    if as_json:
        click.echo(checkup_reports.checkup_json(found))
    else:
        click.echo(checkup_reports.checkup_text(found, is_terminal=sys.stdout.isatty()))
    return 0 if found.is_able else _BROKEN


@contextlib.contextmanager
def _progress(steps: int) -> Iterator[Callable[[Step], None]]:
    """Show steps on standard error: as a bar on a terminal, else one line for each."""
    if not sys.stderr.isatty():
        yield lambda step: None if step.status else click.echo(f"built {step.product}", err=True)
        return
    with click.progressbar(length=steps, label="building", file=sys.stderr) as bar:
        yield lambda _: bar.update(1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command (default: the process's) and return its exit code."""
    with ending_on_signals():
        try:
            code = _run(sys.argv[1:] if arguments is None else list(arguments))
            # Now, while a full disk or a closed pipe can still be reported.
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:
            _drop_output()
            code = BY_SIGNAL + signal.SIGPIPE
        except (KeyboardInterrupt, click.Abort):
            code = BY_SIGNAL + signal.SIGINT
        except OSError as error:
            _drop_output()
            code = _fail(f"{error.strerror or error}: {error.filename or 'standard output'}")
        except MemoryError:
            code = _fail("out of memory")
        except RecursionError:
            code = _fail("the input is nested too deeply")
        except Exception as error:
            code = _fail(f"internal error, a bug in {PROGRAM}: {_describe(error)}")
    return code


def _run(arguments: list[str]) -> int:
    try:
        with cli.make_context(PROGRAM, arguments) as ctx:
            result: Any = cli.invoke(ctx)
            return int(result or 0)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except LaunchgenError as error:
        click.echo(str(error), err=True)
        return error.exit_code


def _describe(error: Exception) -> str:
    """Return what went wrong and where in the program, on one line."""
    import traceback  # noqa: PLC0415

    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"


def _fail(message: str) -> int:
    click.echo(str(Diagnostic(message)), err=True)
    return _BROKEN


def _drop_output() -> None:
    """Point standard output at nothing: the interpreter flushes it once more when it ends."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
