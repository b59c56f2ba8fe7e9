"""What tests run in a process of its own, under a driver that lacks something.

Every function takes a library first and returns what JSON can hold; ``programs.apart`` calls them.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from launchgen.testing import RecordingDriver
from tests.programs import AnyLauncher, Library, import_module, made_of, names

MEMORY = (0x10000, 1 << 24)
"""Where tensors lie that are passed to a launch."""

UNHEEDED = frozenset({("cuDriverGetVersion", code) for code in range(1000)}) | {
    ("cuFuncGetParamInfo", 1),
    ("cuKernelGetParamInfo", 1),
}
"""Calls and codes that may be no failure: a driver of no version is an old one, and behind a
kernel's last parameter there is none."""


@dataclass(frozen=True)
class Setting:
    """The process in which a first launch takes place."""

    devices: int = 1
    stream: bool = False
    """Launch on a stream of device 0's primary context, not on the default one."""
    other: bool = False
    """The stream belongs to another context of device 0."""
    current: bool = False
    """Device 0's primary context is current."""
    image: str = ""
    """Load this image as a module, and launch its ``entry`` by handle."""
    entry: str = ""
    library: bool = False
    """Load it as a library, whose kernel is launched by handle."""
    sizes: tuple[int, ...] = ()
    """Launch a made-up kernel with these parameters by handle."""


@dataclass(frozen=True)
class Outcome:
    """A launch in which one call failed, and the next launch."""

    symbol: str
    code: int
    status: int
    text: str
    launches: int
    tried: bool
    """Whether a launch was tried after the failure."""
    kept: bool
    """Whether the current context is what it was, where there was one."""
    status_again: int
    launches_again: int
    asked_again: bool = False
    """Whether the call was made once more, which failed too; the first time alone harms nothing."""


class Process:
    """A launcher that has not been called yet, and the driver as a new process finds it."""

    def __init__(self, driver: RecordingDriver, library: Library, setting: Setting) -> None:
        driver.reset()  # or faults of the last one would hold
        self.driver = driver.load()
        self.launcher: AnyLauncher = library.fresh()
        self.remember_memory()
        self.stream: int | None = None
        self.function: int | None = None
        if setting.stream or setting.current or setting.image:
            context = driver.primary_context(0)
            if setting.stream:
                self.stream = driver.new_stream(driver.new_context(0) if setting.other else context)
            if setting.current or setting.image:
                driver.current_context = context
        if setting.image:
            load = load_kernel if setting.library else load_function
            self.function = load(driver, Path(setting.image), setting.entry).handle
            if not setting.current:
                driver.current_context = None
        elif setting.sizes:
            self.function = driver.make_function("kernel", setting.sizes)
        self.before = len(driver.calls)

    def remember_memory(self) -> None:
        """Let the driver know where a launch's tensors lie."""
        self.driver.add_memory(*MEMORY)

    def launch(self) -> int:
        return self.launcher.launch(stream=self.stream, function=self.function)

    @property
    def calls(self) -> list[str]:
        return names(self.driver)[self.before :]


@dataclass(frozen=True)
class Loaded:
    """What a host program loaded itself."""

    driver: RecordingDriver
    handle: int
    owner: ctypes.c_void_p
    unloaded_by: str

    def unload(self) -> None:
        assert getattr(self.driver.library, self.unloaded_by)(self.owner) == 0


def load_function(driver: RecordingDriver, image: Path, entry: str) -> Loaded:
    """Return a function of a module in the current context, as a host program loads it."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    driver.library.cuModuleLoadData.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    assert driver.library.cuModuleLoadData(ctypes.byref(module), image.read_bytes()) == 0
    found = driver.library.cuModuleGetFunction(ctypes.byref(function), module, entry.encode())
    assert found == 0
    assert function.value is not None
    return Loaded(driver, function.value, module, "cuModuleUnload")


def load_kernel(driver: RecordingDriver, image: Path, entry: str) -> Loaded:
    """Return a kernel of a library, which can be launched in every context."""
    library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    data, none = ctypes.c_char_p(image.read_bytes()), ctypes.c_void_p()
    load = driver.library.cuLibraryLoadData
    assert load(ctypes.byref(library), data, none, none, 0, none, none, 0) == 0
    found = driver.library.cuLibraryGetKernel(ctypes.byref(kernel), library, entry.encode())
    assert found == 0
    assert kernel.value is not None
    return Loaded(driver, kernel.value, library, "cuLibraryUnload")


def outcomes(
    driver: RecordingDriver,
    library: Library,
    setting: Setting,
    codes: Sequence[int],
    *,
    texts: bool = True,
) -> Iterator[Outcome]:
    """Let each call of a first launch fail in turn, with each of ``codes``.

    Without ``texts`` the driver has neither name nor text for any of them.
    """
    process = Process(driver, library, setting)
    assert process.launch() == 0, process.launcher.error
    good = process.calls

    def outcome(symbol: str, nth: int, code: int, times: int) -> Outcome:
        process = Process(driver, library, setting)
        if not texts:
            driver.forget_texts()
        return _outcome(process, symbol, nth, code, times)

    for index, symbol in enumerate(good):
        nth = good[: index + 1].count(symbol)
        for code in codes:
            once = outcome(symbol, nth, code, 1)
            # Where no failure is seen, the launcher had asked again: that fails too.
            asks_again = once.status == 0 and (symbol, code) not in UNHEEDED
            yield replace(outcome(symbol, nth, code, 2), asked_again=True) if asks_again else once


def _outcome(process: Process, symbol: str, nth: int, code: int, times: int) -> Outcome:
    driver = process.driver
    current = driver.current_context
    driver.fail(symbol, code, nth=nth, times=times)
    status = process.launch()
    text = process.launcher.error
    calls = driver.calls
    failed = next(i for i, call in enumerate(calls) if call.forced)
    tried = any("Launch" in call.name and not call.forced for call in calls[failed + 1 :])
    kept = current in (None, driver.current_context)
    launches = len(driver.launches)
    again = process.launch()
    return Outcome(
        symbol, code, status, text, launches, tried, kept, again, len(driver.launches) - launches
    )


def faults(
    library: Library, missing: Sequence[str], setting: dict[str, Any], codes: Sequence[int]
) -> list[dict[str, Any]]:
    """Return ``outcomes`` under a driver without the symbols ``missing``."""
    driver = RecordingDriver(devices=setting.get("devices", 1), missing=missing)
    return [asdict(each) for each in outcomes(driver, library, Setting(**setting), codes)]


def plain(library: Library) -> dict[str, Any]:
    """Launch twice under whatever driver there is, or none."""
    launcher = library.fresh()
    before = launcher.error
    statuses = [launcher.launch(), launcher.launch()]
    return {"before": before, "status": statuses, "text": launcher.error}


def forked(library: Library) -> dict[str, Any]:
    """Launch where there is no driver, and again in a forked child."""
    launcher = library.fresh()
    status = launcher.launch()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, f"{launcher.launch()} {launcher.error}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return {"status": status, "child": said}


def without(library: Library, missing: Sequence[str], **settings: Any) -> dict[str, Any]:
    """Launch under a driver without the symbols ``missing``, and once with a stream."""
    driver = RecordingDriver(missing=missing, **settings).load()
    driver.add_memory(*MEMORY)
    launcher = library.fresh()
    status = launcher.launch()
    text = launcher.error
    return {
        "status": status,
        "text": text,
        "calls": names(driver),
        "launches": len(driver.launches),
    }


def kinds_without(
    library: Library, missing: Sequence[str], others: Sequence[Any], settings: Sequence[Any]
) -> list[dict[str, Any]]:
    """Launch every one of the libraries first, under a driver without the symbols ``missing``."""
    driver = RecordingDriver(missing=missing)
    found = []
    for each, setting in zip((library, *map(made_of, others)), settings, strict=True):
        process = Process(driver, each, Setting(**setting))
        status = process.launch()
        found.append(
            {
                "status": status,
                "text": process.launcher.error,
                "launches": len(driver.launches),
                "launched_by": [name for name in process.calls if "Launch" in name],
            }
        )
    return found


def contexts_one_two_one(library: Library, missing: Sequence[str]) -> dict[str, Any]:
    """Launch in two contexts of one device by turns."""
    driver = RecordingDriver(missing=missing).load()
    launcher = library.fresh()
    first, second = driver.new_context(), driver.new_context()
    statuses, current = [], []
    for context in (first, second, first, second):
        driver.current_context = context
        statuses.append(launcher.launch())
        current.append(driver.current_context == context)
    calls = names(driver)
    launched = [launch.context for launch in driver.launches]
    driver.current_context = None
    unloaded = launcher.unload()
    after = names(driver)[len(calls) :]
    driver.current_context = first
    statuses.append(launcher.launch())
    return {
        "status": statuses,
        "current": current,
        "calls": calls,
        "contexts": [{first: 1, second: 2}[context] for context in launched],
        "unloaded": unloaded,
        "after": after,
        "reloads": names(driver)[len(calls) + len(after) :],
    }


def destroyed_context(library: Library, missing: Sequence[str]) -> dict[str, Any]:
    """Launch, destroy the context, unload, and launch in another one."""
    driver = RecordingDriver(missing=missing).load()
    launcher = library.fresh()
    first, second = driver.new_context(), driver.new_context()
    driver.current_context = first
    statuses = [launcher.launch()]
    assert driver.library.cuCtxDestroy_v2(ctypes.c_void_p(first)) == 0
    driver.current_context = second
    statuses.append(launcher.launch())
    unloaded, text = launcher.unload(), launcher.error
    statuses.append(launcher.launch())
    return {
        "status": statuses,
        "unloaded": unloaded,
        "text": text,
        "current": driver.current_context == second,
        "launches": len(driver.launches),
    }


def module_left_behind(
    library: Library, missing: Sequence[str], setting: dict[str, Any]
) -> dict[str, Any]:
    """Let the step behind a module's load fail once."""
    process = Process(RecordingDriver(missing=missing), library, Setting(**setting))
    process.driver.fail("cuFuncSetAttribute", 1)
    statuses = [process.launch(), process.launch()]
    calls = names(process.driver)
    return {
        "status": statuses,
        "loads": calls.count("cuModuleLoadData"),
        "unloads": calls.count("cuModuleUnload"),
    }


def unloads(library: Library, missing: Sequence[str], codes: Sequence[int]) -> list[dict[str, Any]]:
    """Let each call of an unload fail in turn, with each of ``codes``; unload and launch again."""
    driver = RecordingDriver(missing=missing)

    def launched() -> Process:
        process = Process(driver, library, Setting())
        assert process.launch() == 0, process.launcher.error
        return process

    process = launched()
    before = len(process.calls)
    assert process.launcher.unload() == 0
    found = []
    good = process.calls[before:]
    for index, symbol in enumerate(good):
        for code in codes:
            process = launched()
            driver.fail(symbol, code, nth=good[: index + 1].count(symbol))
            status = process.launcher.unload()
            one = {"symbol": symbol, "code": code, "status": status, "text": process.launcher.error}
            again = [process.launcher.unload(), process.launch()]
            found.append({**one, "again": again, "launches": len(driver.launches)})
    return found


def handles(library: Library, missing: Sequence[str], image: str, entry: str) -> dict[str, Any]:
    """Launch a function and a kernel by handle."""
    driver = RecordingDriver(missing=missing).load()
    launcher = library.fresh()
    driver.current_context = driver.primary_context()
    loaded = [load(driver, Path(image), entry).handle for load in (load_function, load_kernel)]
    statuses = [launcher.launch(function=function) for function in loaded]
    return {"status": statuses, "launches": len(driver.launches)}


def devices_in_turn(
    library: Library, missing: Sequence[str], capability: list[int]
) -> dict[str, Any]:
    """Launch on each device, twice in turn, and unload."""
    driver = RecordingDriver(devices=len(capability), capability=capability, missing=missing).load()
    launcher = library.fresh()
    statuses = []
    for device in (*range(len(capability)), *range(len(capability))):
        driver.current_context = driver.primary_context(device)
        statuses.append(launcher.launch())
    calls = names(driver)
    unloaded = launcher.unload()
    return {
        "status": statuses,
        "shared": [launch.shared for launch in driver.launches],
        "calls": calls,
        "unloaded": unloaded,
        "after": names(driver)[len(calls) :],
    }


def foreign_stream(library: Library, missing: Sequence[str]) -> dict[str, Any]:
    """Launch on a stream of the current device, and on one of another."""
    driver = RecordingDriver(devices=2, missing=missing).load()
    launcher = library.fresh()
    contexts = [driver.primary_context(device) for device in (0, 1)]
    driver.current_context = contexts[0]
    streams = [driver.new_stream(context) for context in contexts]
    statuses = [launcher.launch(stream=stream) for stream in streams]
    return {"status": statuses, "text": launcher.error, "calls": names(driver)}


def python_plain(library: Library, path: str) -> tuple[int, str, str]:
    """Launch ``add`` from Python under whatever driver there is; return what was raised."""
    module = import_module(Path(path))
    try:
        module.launch(1, None, 0x1000, 0x2000, 0x3000, 64, 2.0)
    except module.CudaError as error:
        return error.code, error.name, str(error)
    raise AssertionError(library.name)


def threads_in_contexts(library: Library, missing: Sequence[str]) -> dict[str, Any]:
    """Let eight threads launch first, in two contexts of one device."""
    driver = RecordingDriver(missing=missing).load()
    driver.slow("cuModuleLoadData", 50)
    launcher = library.fresh()
    contexts = [driver.new_context(), driver.new_context()]
    statuses = [-1] * 8

    def work(number: int) -> None:
        driver.current_context = contexts[number % 2]
        statuses[number] = launcher.launch()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    launched = [launch.context for launch in driver.launches]
    return {
        "status": statuses,
        "loads": names(driver).count("cuModuleLoadData"),
        "launches": [launched.count(context) for context in contexts],
    }


def reset_context(library: Library, missing: Sequence[str]) -> dict[str, Any]:
    """Launch, reset the primary context, whose handle stays, launch, unload, and launch."""
    driver = RecordingDriver(missing=missing).load()
    launcher = library.fresh()
    primary = driver.primary_context()
    driver.current_context = primary
    statuses = [launcher.launch()]
    assert driver.library.cuDevicePrimaryCtxRelease_v2(0) == 0
    assert driver.primary_context() == primary
    statuses.append(launcher.launch())
    text = launcher.error
    unloaded = launcher.unload()
    statuses.append(launcher.launch())
    return {"status": statuses, "text": text, "unloaded": unloaded}
