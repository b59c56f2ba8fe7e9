"""What runs in a process of its own, beside one release of Triton, on the recording driver.

``python -m tests.triton_side.child JOB ANSWERS``: pickled, see ``cases.py``.  Triton's launcher
class takes the same arguments by position in every release, so launchgen's are called through it or
in its place.  How, stands in ``SIDES``.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import os
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from launchgen.testing import Launch, RecordingDriver
from launchgen.triton import make_launcher
from tests.triton_side.cases import (
    Call,
    Case,
    Descriptor,
    Encoded,
    Job,
    Launched,
    Outcome,
    Tensor,
    Tiled,
    Value,
)
from tests.triton_side.memory import add_memory, scratch_addresses
from tests.triton_side.stand_in import (
    MAP_BYTES,
    DataPointer,
    HostMap,
    Launcher,
    Triton,
    fill,
    source_of,
)

_MARK: Final = b"LGRTMAP1"
_DEFAULT_SHARED: Final = 48 * 1024
_MAX_DYNAMIC_SHARED: Final = 8
_METADATA: Final = "what hooks are given"


# ---- launchgen's, in the same place --------------------------------------------------------------


def load(name: str, path: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def theirs(triton: Triton, case: Case, _built: str) -> Launcher:
    return triton.launcher(case)


def seed(triton: Triton, case: Case, built: str) -> Launcher:
    """Let Triton's class have launchgen's module where it would compile one of its own."""
    compiled = triton.backend.compile_module_from_src
    triton.backend.compile_module_from_src = lambda **_: load("__triton_launcher", built)
    try:
        return triton.launcher(case)
    finally:
        triton.backend.compile_module_from_src = compiled


def drop_in(triton: Triton, case: Case, _built: str) -> Launcher:
    """Put launchgen's launcher where Triton's class makes one."""
    major, minor, _ = triton.release.name.split(".")
    source, metadata = source_of(case, triton.release)
    return make_launcher(source, metadata, version=(int(major), int(minor)))


def direct(triton: Triton, _case: Case, built: str) -> Launcher:
    """Call launchgen's own convention as if it were Triton's class."""
    module = load("k", built)

    def launch(x: int, y: int, z: int, stream: int, function: int, *rest: Any) -> None:
        _, _, _, _, *values = rest
        module.set_allocator(triton.allocate)
        module.launch(function, (x, y, z), stream, *values)

    return launch


SIDES: Final[dict[str, Callable[[Triton, Case, str], Launcher]]] = {
    "theirs": theirs,
    "seed": seed,
    "drop-in": drop_in,
    "direct": direct,
}


# ---- launches ------------------------------------------------------------------------------------


class Launching:
    """The launches of a job, and what the driver saw of each."""

    def __init__(self, job: Job, driver: RecordingDriver, triton: Triton) -> None:
        self.job = job
        self.driver = driver
        self.triton = triton
        self.stream = driver.new_stream(driver.primary_context())
        self.allocations: list[tuple[int, int]] = []
        self.hooked: list[tuple[str, Any]] = []
        triton.set_allocators(self._allocate)

    def run(self) -> tuple[tuple[Outcome, ...], ...]:
        built = self.job.built or ("",) * len(self.job.cases)
        pairs = list(zip(self.job.cases, built, strict=True))
        make = SIDES[self.job.side]
        # Only Triton compiles here; what it does in Python is short beside a compiler.
        workers = os.cpu_count() if self.job.side == "theirs" else 1
        with ThreadPoolExecutor(workers) as pool:
            launchers = list(pool.map(lambda pair: make(self.triton, *pair), pairs))
        tried = [
            [self._call(case, call, launcher, f"{number}.{index}")
             for index, call in enumerate(case.calls)]
            for number, (case, launcher) in enumerate(zip(self.job.cases, launchers, strict=True))
        ]  # fmt: skip
        return self._outcomes(tried)

    def _call(self, case: Case, call: Call, launcher: Launcher, entry: str) -> Outcome:
        release = self.job.release
        sizes = [(size, align) for _, size, align in case.slots(release)]
        function = self.driver.make_function(entry, sizes)
        if case.shared > _DEFAULT_SHARED:
            # As Triton does when it loads an image.
            set_attribute = self.driver.library.cuFuncSetAttribute
            arguments = (ctypes.c_void_p(function), _MAX_DYNAMIC_SHARED, case.shared)
            assert set_attribute(*arguments) == 0
        cluster = case.cluster if release.cluster_dims else ()
        packed = (case.num_warps, case.num_ctas, case.shared, *cluster)
        hooks = [self._hook("enter"), self._hook("exit")] if call.hooks else [None, None]
        self.allocations, self.hooked = [], []
        error = None
        try:
            values = [self._object(value) for value in call.values]
            stream = self.stream if call.on_stream else 0
            launcher(*call.grid, stream, function, packed, _METADATA, *hooks, *values)
        except Exception as caught:
            error = f"{type(caught).__name__}: {caught}"
        return Outcome(error, (), tuple(self.hooked), tuple(self.allocations))

    def _object(self, value: Value) -> Any:
        """Return what the caller of a kernel hands over."""
        if isinstance(value, tuple):
            return tuple(map(self._object, value))
        if isinstance(value, Tensor):
            return DataPointer(value.address)
        if isinstance(value, Tiled):
            return self.triton.fill(value)
        return self.triton.descriptor(value) if isinstance(value, Descriptor) else value

    def _allocate(self, size: int, alignment: int, _stream: int | None) -> DataPointer:
        address = scratch_addresses(len(self.allocations))
        self.allocations.append((size, alignment))
        return DataPointer(address)

    def _hook(self, name: str) -> Callable[[Any], None]:
        return lambda given: self.hooked.append((name, given))

    def _outcomes(self, tried: list[list[Outcome]]) -> tuple[tuple[Outcome, ...], ...]:
        calls = {call.sequence: call for call in self.driver.calls}
        launches: dict[str, list[Launched]] = {}
        for launch in self.driver.launches:
            launches.setdefault(launch.entry, []).append(self._launched(launch, calls))
        return tuple(
            tuple(
                Outcome(
                    outcome.error,
                    tuple(launches.get(f"{number}.{index}", ())),
                    outcome.hooks,
                    outcome.allocations,
                )
                for index, outcome in enumerate(outcomes)
            )
            for number, outcomes in enumerate(tried)
        )

    def _launched(self, launch: Launch, calls: dict[int, Any]) -> Launched:
        assert launch.stream in (0, self.stream)
        return Launched(
            launch.grid,
            launch.block,
            launch.shared,
            launch.stream == self.stream,
            tuple(sorted((each.id, each.value.hex()) for each in launch.attributes)),
            tuple(
                encoded(value, calls) if value.startswith(_MARK) else value.hex()
                for value in launch.values
            ),
        )


def encoded(made: bytes, calls: dict[int, Any]) -> Encoded:
    """Return where a map came from: the recording driver writes the number of its call into it."""
    words = [int.from_bytes(made[at : at + 8], "little") for at in range(0, MAP_BYTES, 8)]
    call = calls[words[2]]
    words[2] = 0
    return Encoded(call.name, dict(call.arguments), tuple(words))


# ---- tensor maps ---------------------------------------------------------------------------------


def fill_maps(job: Job, driver: RecordingDriver, triton: Triton) -> tuple[Encoded | str, ...]:
    """Return for each map the call that filled it, or the words of a refusal."""
    utils = triton.utils if job.side == "theirs" else load("cuda_utils", job.built[0])
    found: list[bytes | str] = []
    for map_ in job.maps:
        try:
            found.append(_bytes(fill(utils, map_, job.release)))
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    calls = {call.sequence: call for call in driver.calls}
    return tuple(each if isinstance(each, str) else encoded(each, calls) for each in found)


def _bytes(filled: Any) -> bytes:
    """Return the map that an object carries."""
    if isinstance(filled, HostMap):
        return ctypes.string_at(filled.address, MAP_BYTES)
    held = ctypes.string_at(id(filled), type(filled).__basicsize__)
    at = held.index(_MARK)
    return held[at : at + MAP_BYTES]


def main(job_file: str, answers_file: str) -> None:
    job: Job = pickle.loads(Path(job_file).read_bytes())
    driver = RecordingDriver(**job.driver).load()
    driver.current_context = driver.primary_context()
    add_memory(driver)
    triton = Triton(job.release, driver)
    with contextlib.closing(triton):
        answers: Any = (
            fill_maps(job, driver, triton) if job.maps else Launching(job, driver, triton).run()
        )
    Path(answers_file).write_bytes(pickle.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
