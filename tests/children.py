"""What tests run in a process of its own, under a driver that lacks something.

Every function takes a library first and returns what JSON can hold; ``programs.apart`` calls them.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from launchgen.testing import RecordingDriver
from tests.programs import CLauncher, CLibrary, import_module, names


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


class Process:
    """A launcher that has not been called yet, and the driver as a new process finds it."""

    def __init__(self, driver: RecordingDriver, library: CLibrary, setting: Setting) -> None:
        driver.reset()  # or faults of the last one would hold
        self.driver = driver.load()
        self.launcher: CLauncher = library.fresh()
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
            self.function = load(driver, Path(setting.image), setting.entry)
            if not setting.current:
                driver.current_context = None
        elif setting.sizes:
            self.function = driver.make_function("kernel", setting.sizes)
        self.before = len(driver.calls)

    def launch(self) -> int:
        return self.launcher.launch(stream=self.stream, function=self.function)

    @property
    def calls(self) -> list[str]:
        return names(self.driver)[self.before :]


def load_function(driver: RecordingDriver, image: Path, entry: str) -> int:
    """Return a function of a module in the current context, as a host program loads it."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    driver.library.cuModuleLoadData.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    assert driver.library.cuModuleLoadData(ctypes.byref(module), image.read_bytes()) == 0
    found = driver.library.cuModuleGetFunction(ctypes.byref(function), module, entry.encode())
    assert found == 0
    assert function.value is not None
    return function.value


def load_kernel(driver: RecordingDriver, image: Path, entry: str) -> int:
    """Return a kernel of a library, which can be launched in every context."""
    library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    data, none = ctypes.c_char_p(image.read_bytes()), ctypes.c_void_p()
    load = driver.library.cuLibraryLoadData
    assert load(ctypes.byref(library), data, none, none, 0, none, none, 0) == 0
    found = driver.library.cuLibraryGetKernel(ctypes.byref(kernel), library, entry.encode())
    assert found == 0
    assert kernel.value is not None
    return kernel.value


def outcomes(
    driver: RecordingDriver, library: CLibrary, setting: Setting, codes: Sequence[int]
) -> Iterator[Outcome]:
    """Let each call of a first launch fail in turn, with each of ``codes``."""
    process = Process(driver, library, setting)
    assert process.launch() == 0, process.launcher.error
    good = process.calls
    for index, symbol in enumerate(good):
        nth = good[: index + 1].count(symbol)
        for code in codes:
            yield _outcome(Process(driver, library, setting), symbol, nth, code)


def _outcome(process: Process, symbol: str, nth: int, code: int) -> Outcome:
    driver = process.driver
    current = driver.current_context
    # Where these say that there is no context, the launcher looks for one and tries again.
    asks_again = symbol == "cuCtxGetDevice" or "Launch" in symbol
    driver.fail(symbol, code, nth=nth, times=2 if code == 201 and asks_again else 1)
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
    library: CLibrary, missing: Sequence[str], setting: dict[str, Any], codes: Sequence[int]
) -> list[dict[str, Any]]:
    """Return ``outcomes`` under a driver without the symbols ``missing``."""
    driver = RecordingDriver(devices=setting.get("devices", 1), missing=missing)
    return [asdict(each) for each in outcomes(driver, library, Setting(**setting), codes)]


def plain(library: CLibrary) -> dict[str, Any]:
    """Launch twice under whatever driver there is, or none."""
    launcher = library.fresh()
    before = launcher.error
    statuses = [launcher.launch(), launcher.launch()]
    return {"before": before, "status": statuses, "text": launcher.error}


def without(library: CLibrary, missing: Sequence[str], **settings: Any) -> dict[str, Any]:
    """Launch under a driver without the symbols ``missing``, and once with a stream."""
    driver = RecordingDriver(missing=missing, **settings).load()
    launcher = library.fresh()
    status = launcher.launch()
    text = launcher.error
    return {
        "status": status,
        "text": text,
        "calls": names(driver),
        "launches": len(driver.launches),
    }


def contexts_one_two_one(library: CLibrary, missing: Sequence[str]) -> dict[str, Any]:
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


def destroyed_context(library: CLibrary, missing: Sequence[str]) -> dict[str, Any]:
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
    library: CLibrary, missing: Sequence[str], setting: dict[str, Any]
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


def handles(library: CLibrary, missing: Sequence[str], image: str, entry: str) -> dict[str, Any]:
    """Launch a function and a kernel by handle."""
    driver = RecordingDriver(missing=missing).load()
    launcher = library.fresh()
    driver.current_context = driver.primary_context()
    loaded = [load(driver, Path(image), entry) for load in (load_function, load_kernel)]
    statuses = [launcher.launch(function=function) for function in loaded]
    return {"status": statuses, "launches": len(driver.launches)}


def devices_in_turn(
    library: CLibrary, missing: Sequence[str], capability: list[int]
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


def foreign_stream(library: CLibrary, missing: Sequence[str]) -> dict[str, Any]:
    """Launch on a stream of the current device, and on one of another."""
    driver = RecordingDriver(devices=2, missing=missing).load()
    launcher = library.fresh()
    contexts = [driver.primary_context(device) for device in (0, 1)]
    driver.current_context = contexts[0]
    streams = [driver.new_stream(context) for context in contexts]
    statuses = [launcher.launch(stream=stream) for stream in streams]
    return {"status": statuses, "text": launcher.error, "calls": names(driver)}


def python_plain(library: CLibrary, path: str) -> tuple[int, str, str]:
    """Launch ``add`` from Python under whatever driver there is; return what was raised."""
    module = import_module(Path(path))
    try:
        module.launch(1, None, 0x1000, 0x2000, 0x3000, 64, 2.0)
    except module.CudaError as error:
        return error.code, error.name, str(error)
    raise AssertionError(library.name)


def threads_in_contexts(library: CLibrary, missing: Sequence[str]) -> dict[str, Any]:
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


def reset_context(library: CLibrary, missing: Sequence[str]) -> dict[str, Any]:
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
