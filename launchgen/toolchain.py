"""Finds compilers and headers, and compiles what was emitted.

This is the only module that starts a process, which is why it is one and a long one.

Compilers run in the folder itself, so that a source finds the image beside it, and write to a
temporary name: whoever loads a library while it is built anew has the old one or the new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from launchgen.atomic import temporary_path
from launchgen.diagnostics import BuildError, Diagnostic
from launchgen.units import Unit, find_units

_COMPILERS: Final = ("cc", "gcc", "clang")
"""Tried in this order where ``CC`` says nothing."""
_NVCC: Final = "nvcc"
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

T = TypeVar("T")

_ASK_PYTHON: Final = """
import json, sys, sysconfig
paths = [sysconfig.get_path(name) for name in ("include", "platinclude")]
print(json.dumps({
    "executable": sys.executable,
    "version": "%d.%d" % sys.version_info[:2],
    "include": sorted(set(filter(None, paths))),
    "suffix": sysconfig.get_config_var("EXT_SUFFIX") or ".so",
}))
"""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler: the words that start it, and whether it is nvcc, which drives another one."""

    words: tuple[str, ...]
    is_nvcc: bool


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter to build extension modules for."""

    executable: str
    version: str
    """Major and minor, as in ``3.12``."""
    include: tuple[str, ...]
    suffix: str
    """What an extension's file name ends with."""


@dataclass(frozen=True, slots=True)
class Step:
    """One finished compilation."""

    product: str
    """File name in the folder."""
    command: tuple[str, ...]
    status: int
    """The compiler's exit status."""
    text: str
    """What the compiler printed."""


def find_compiler(environment: Mapping[str, str]) -> Compiler:
    """Return the compiler that ``CC`` names, of which several words are fine, or the usual one.

    Raises BuildError that says what was looked for.
    """
    words = _words(environment, "CC")
    search = environment.get("PATH")
    if words:
        path = shutil.which(words[0], path=search)
        if path is None:
            raise BuildError(
                Diagnostic(
                    f"the compiler '{words[0]}' of CC was not found",
                    hint="set CC to gcc, clang or nvcc, or to its full path",
                )
            )
    else:
        path = next(filter(None, (shutil.which(name, path=search) for name in _COMPILERS)), None)
        if path is None:
            raise BuildError(
                Diagnostic(
                    f"no C compiler was found: {', '.join(_COMPILERS)} were looked for on PATH",
                    hint="install gcc 5 or newer, or set CC to the compiler's path",
                )
            )
    # It runs in another folder, so a relative path would lead elsewhere there.
    words = (str(Path(path).absolute()), *words[1:])
    return Compiler(words, is_nvcc=any(Path(word).name == _NVCC for word in words))


def find_python(environment: Mapping[str, str]) -> Python:
    """Ask the interpreter that ``PYTHON`` names, or this one, where its headers lie.

    Raises BuildError if there is none, or if it has no ``Python.h``.
    """
    words = _words(environment, "PYTHON") or (sys.executable,)
    try:
        asked = subprocess.run(
            [*words, "-c", _ASK_PYTHON],
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environment),
        )
        answer = json.loads(asked.stdout)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        raise BuildError(
            Diagnostic(
                f"the Python interpreter '{shlex.join(words)}' does not run: {error}",
                hint="set PYTHON to the interpreter that will import the module",
            )
        ) from error
    return _with_headers(
        Python(answer["executable"], answer["version"], tuple(answer["include"]), answer["suffix"])
    )


def this_python() -> Python:
    """Return the interpreter that runs this; raises BuildError if it has no ``Python.h``."""
    paths = sysconfig.get_paths()
    include = tuple(dict.fromkeys((paths["include"], paths["platinclude"])))
    version = "{}.{}".format(*sys.version_info)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    return _with_headers(Python(sys.executable, version, include, suffix))


def _with_headers(python: Python) -> Python:
    if not any((Path(folder) / "Python.h").is_file() for folder in python.include):
        tried = " and ".join(f"'{folder}'" for folder in python.include)
        package = f"python{python.version}"
        raise BuildError(
            Diagnostic(
                f"Python.h is missing: '{python.executable}' expects it in {tried}",
                hint=f"install {package}-dev (Debian, Ubuntu) or {package}-devel (Fedora, RHEL), "
                "or set PYTHON to an interpreter that has its headers",
            )
        )
    return python


def compile_command(
    unit: Unit,
    output: str,
    *,
    compiler: Compiler,
    python: Python | None,
    environment: Mapping[str, str],
) -> tuple[str, ...]:
    """Return the words that compile ``unit`` to ``output``; the environment's flags come last."""
    face = unit.face
    plain, nvcc = (*face.plain_flags, *face.host_flags), (*face.nvcc_flags, *face.forwarded_flags)
    folders = python.include if python is not None and face.needs_python else ()
    return (
        *compiler.words,
        *face.flags,
        *(nvcc if compiler.is_nvcc else plain),
        *(word for folder in folders for word in ("-isystem", folder)),
        *_words(environment, "CPPFLAGS"),
        *_words(environment, "CFLAGS"),
        "-o",
        output,
        unit.source,
        *(name.format(name=unit.name) for name in face.companions),
        *_words(environment, "LDFLAGS"),
        *face.libraries,
    )


@dataclass(frozen=True, slots=True)
class Job:
    """One compilation: ``command`` writes ``output``, which then becomes ``product``."""

    product: Path
    output: Path
    command: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Build:
    """What can be compiled in a folder, and what is in the way of the rest."""

    jobs: tuple[Job, ...]
    findings: tuple[Diagnostic, ...]


def plan_build(
    folder: Path, *, environment: Mapping[str, str], python: Python | None = None
) -> Build:
    """Decide how to compile what was emitted to ``folder``; runs no compiler.

    Without ``python`` the interpreter that the environment names is asked.

    Raises BuildError if there is nothing to compile or nothing to compile with.
    """
    units = find_units(folder)
    compiler = find_compiler(environment)
    findings: tuple[Diagnostic, ...] = ()
    if python is None and any(unit.face.needs_python for unit in units):
        try:
            python = find_python(environment)
        except BuildError as error:
            findings = error.diagnostics
            units = tuple(unit for unit in units if not unit.face.needs_python)
    suffix = python.suffix if python is not None else ""
    jobs: list[Job] = []
    for unit in units:
        output = temporary_path(folder)
        command = compile_command(
            unit, output.name, compiler=compiler, python=python, environment=environment
        )
        product = folder / unit.face.file.format(name=unit.name, module=unit.module, suffix=suffix)
        jobs.append(Job(product, output, command, environment))
    return Build(tuple(jobs), findings)


def run_build(build: Build, *, parallel: int, progress: Callable[[Step], None]) -> tuple[Step, ...]:
    """Compile, ``parallel`` jobs at a time; ``progress`` is told each step as it ends.

    What can be compiled is, even where something else cannot: then BuildError names every
    failure, with what the compiler said.
    """
    steps = _run_to_end(_run_all(build.jobs, parallel=parallel, progress=progress))
    failed = (
        Diagnostic(
            f"{step.product}: {Path(step.command[0]).name} failed with status {step.status}",
            output=step.text.rstrip(),
        )
        for step in steps
        if step.status != 0
    )
    findings = (*build.findings, *failed)
    if findings:
        raise BuildError(*findings)
    return steps


def _run_to_end(work: Coroutine[None, None, T]) -> T:
    """Run a coroutine; a signal that ends the process cancels it first, so that it cleans up.

    One that the process was started to ignore, as by nohup, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        return asyncio.run(work)
    arrived: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    old = {number: each for number, each in handlers.items() if each is not signal.SIG_IGN}

    async def guarded() -> T:
        task = asyncio.ensure_future(work)

        def end(number: int) -> None:
            arrived.append(number)
            task.cancel()

        for number in old:
            asyncio.get_running_loop().add_signal_handler(number, end, number)
        return await task

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        # The handlers that were there before decide how the process ends.
        _restore(old)
        for number in arrived:
            signal.raise_signal(number)
        raise
    finally:
        _restore(old)


def _restore(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


async def _run_all(
    jobs: Sequence[Job], *, parallel: int, progress: Callable[[Step], None]
) -> tuple[Step, ...]:
    free = asyncio.Semaphore(parallel)

    async def run(job: Job) -> Step:
        async with free:
            step = await _run(job)
        progress(step)
        return step

    return tuple(await asyncio.gather(*map(run, jobs)))


async def _run(job: Job) -> Step:
    try:
        process = await asyncio.create_subprocess_exec(
            *job.command,
            cwd=job.product.parent,
            env=dict(job.environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            text, _ = await process.communicate()
            status = await process.wait()
        finally:
            # Interrupted: leave no compiler behind that writes to a file already removed.
            if process.returncode is None:
                process.kill()
                await process.wait()
        if status == 0:
            job.output.replace(job.product)
    except OSError as error:
        reason = error.strerror or error
        raise BuildError(Diagnostic(f"cannot build '{job.product}': {reason}")) from error
    finally:
        with contextlib.suppress(OSError):
            job.output.unlink()
    return Step(job.product.name, job.command, status, text.decode(errors="backslashreplace"))


def run(
    command: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run one program to its end in ``folder``; ``stdout`` holds all that it printed.

    Raises BuildError if it cannot be started, or takes more than ``timeout`` seconds; its exit
    status is the caller's to judge.
    """
    try:
        return subprocess.run(
            command,
            check=False,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="backslashreplace",
            env=None if environment is None else dict(environment),
            timeout=timeout,
        )
    except subprocess.TimeoutExpired as error:
        problem = f"'{command[0]}' did not end within {timeout:.0f} seconds"
        raise BuildError(Diagnostic(problem)) from error
    except OSError as error:
        reason = error.strerror or error
        raise BuildError(Diagnostic(f"cannot run '{command[0]}': {reason}")) from error


def _words(environment: Mapping[str, str], variable: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(environment.get(variable, "")))
    except ValueError as error:
        raise BuildError(
            Diagnostic(
                f"{variable} is no list of words: {error}",
                hint="quote it as for a shell",
            )
        ) from error
