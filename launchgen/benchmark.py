"""Times an emitted launcher: its kernel with events on the GPU, its launch with the host's clock.

The kernel: an event before and after each launch, the L2 cleared before the first of the two, and
nothing waited for until the end.  Clearing takes the GPU longer than the host needs for the three
calls behind it, so that the kernel follows its first event at once.

The launch: rounds of calls that wait for nothing, few enough for the driver's queue.  ctypes adds
its own share to each, which a call with an empty grid has too: that call comes back before anything
of the launch begins, and is what is taken off.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from launchgen.bench_records import Benchmark, HostCost
from launchgen.call_values import Buffer, CallValue, Grid, Memory, Number, Tensor
from launchgen.diagnostics import Diagnostic, DriverError, UsageError
from launchgen.emitted import EmittedLauncher
from launchgen.gpu import Gpu
from launchgen.inputs import input_error
from launchgen.signature import Signature
from launchgen.timings import count_rounds, count_runs, quantile, summarise
from launchgen.variants import SCRATCH

_ESTIMATING_RUNS: Final = 5
_LEAST_CLEARED: Final = 256 * 2**20
"""Bytes; a GPU with a small L2 must not be done before the host has sent the kernel."""
_OVERFLOW: Final = 2**64 - 1
_NANOSECONDS: Final = 1000


class Request(NamedTuple):
    """What is to be timed, and how."""

    grid: Grid
    values: tuple[CallValue, ...]
    device: int
    warmup: float
    """Microseconds of the GPU before the runs that count."""
    budget: float
    """Microseconds of the GPU for those."""
    quantiles: tuple[float, ...]
    clears: bool


def run(launcher: EmittedLauncher, request: Request) -> Benchmark:
    """Time it.

    Raises InputError for a library that cannot be used, UsageError for a launcher or a device that
    cannot be timed, DriverError where the driver or the launcher refuses a call.
    """
    library = _Library(launcher)
    with Gpu(request.device) as gpu:
        device = gpu.describe()
        cleared = max(2 * device.l2_bytes, _LEAST_CLEARED) if request.clears else 0
        scratch = tuple(library.scratch(request.grid))
        addresses = [gpu.allocate(size) for _, size in scratch]
        call = library.call(gpu, request, addresses)
        gpu.synchronize()
        launch = _Launch(gpu, call, request, gpu.allocate(cleared), cleared)
        try:
            launch.first()
            each = launch.estimate()
            warmup_runs = launch.warm_up(each)
            times = launch.measure(each)
            kernel = summarise(times, request.quantiles)
            host = launch.host_cost(kernel.median)
        finally:
            library.unload()
    return Benchmark(
        launcher=launcher.name,
        signature=str(launcher.signature),
        values=request.values,
        scratch=scratch,
        grid=request.grid,
        device=device,
        cleared=cleared,
        warmup_runs=warmup_runs,
        kernel=kernel,
        times=tuple(times),
        host=host,
        notes=tuple(_notes(cleared, kernel.median, host)),
    )


def _notes(cleared: int, median: float, host: HostCost) -> Iterator[str]:
    # The kernel waits for its launch then, and the events are as far apart as two calls.
    if not cleared and median < 2 * host.call:
        yield (
            "without clearing the L2 the GPU may wait for the host: a kernel this short is then "
            "timed as its launch"
        )


class _Call(NamedTuple):
    """The launcher's function, and its arguments for a launch and for an empty grid."""

    function: Callable[..., int]
    arguments: tuple[Any, ...]
    empty: tuple[Any, ...]
    check: Callable[[int], None]


class _Library:
    """The compiled launcher in this process."""

    def __init__(self, launcher: EmittedLauncher) -> None:
        """Load it; raises InputError where that fails, UsageError for one without an image."""
        self._name: Final = launcher.name
        self._signature: Final[Signature] = launcher.signature
        try:
            self._library: Final = ctypes.CDLL(str(launcher.library.absolute()))
        except OSError as error:
            raise input_error(launcher.library, f"cannot be loaded: {error}") from None
        if self._find("launch") is None or self._find("error") is None:
            problem = f"exports no {self._name}_launch"
            raise input_error(launcher.library, problem, "compile it again")
        if self._find("load") is None:
            raise UsageError(
                Diagnostic(
                    f"'{self._name}' takes a function handle, and bench has none to give",
                    hint="emit it with an image, as from Triton's cache or with --image",
                )
            )

    def scratch(self, grid: Grid) -> Iterator[tuple[str, int]]:
        """Yield name and bytes of each scratch buffer that the grid needs."""
        for name in SCRATCH.values():
            size = self._find(f"{name}_size")
            if size is not None:
                size.restype = ctypes.c_uint64
                needed: int = size(*map(ctypes.c_uint32, grid))
                if needed == _OVERFLOW:
                    problem = f"a grid of {grid} needs more {name} than there are addresses"
                    raise UsageError(Diagnostic(problem, hint="give a smaller --grid"))
                yield name, needed

    def call(self, gpu: Gpu, request: Request, scratch: list[int]) -> _Call:
        """Return the call that was asked for, its memory allocated and zero."""
        behind = (
            *map(ctypes.c_void_p, scratch),
            *(_c_value(value, gpu) for value in request.values),
        )
        before = ctypes.c_void_p(gpu.stream)
        return _Call(
            function=self._find("launch"),
            arguments=(before, *map(ctypes.c_uint32, request.grid), *behind),
            empty=(before, *map(ctypes.c_uint32, (0, 1, 1)), *behind),
            check=self.check,
        )

    def check(self, status: int) -> None:
        """Raise DriverError with the launcher's own words where a launch failed."""
        if status:
            error = self._find("error")
            error.restype = ctypes.c_char_p
            text = error().decode(errors="backslashreplace")
            raise DriverError(Diagnostic(f"{self._name}_launch returned {status}: {text}"))

    def unload(self) -> None:
        """Release the kernel: the context that it was loaded for is given back."""
        self._find("unload")()

    def _find(self, function: str) -> Any:  # noqa: ANN401 - ctypes has no public name for it
        return getattr(self._library, f"{self._name}_{function}", None)


def _c_value(value: CallValue, gpu: Gpu) -> Any:  # noqa: ANN401 - one of ctypes' types
    match value:
        case Buffer():
            return ctypes.c_void_p(gpu.allocate(value.size))
        case Number():
            # int32_t is c_int32, float is c_float.
            c_type = getattr(ctypes, f"c_{value.scalar.carrier_c.removesuffix('_t')}")
            return c_type(value.value)
        case Memory():
            # A pointer object keeps the memory that it points to.
            content = (ctypes.c_char * len(value.content)).from_buffer_copy(value.content)
            return ctypes.pointer(content)
        case Tensor():
            return ctypes.pointer(_c_descriptor(value, gpu.allocate(value.size)))


def _c_descriptor(tensor: Tensor, address: int) -> ctypes.Structure:
    """Return a struct like that of the header for a descriptor; what is not set in it is 0."""
    kind = tensor.type
    sizes, corners, steps = (
        ctypes.c_int64 * kind.rank,
        ctypes.c_int32 * kind.corners,
        ctypes.c_uint32 * kind.rank,
    )
    fields: list[tuple[str, Any]] = [
        ("base", ctypes.c_void_p),
        ("shape", sizes),
        ("strides", sizes),
        ("nan_padding", ctypes.c_bool),
        ("round_tf32", ctypes.c_bool),
    ]
    if kind.im2col:
        fields += [("pixel_box_lower", corners), ("pixel_box_upper", corners)]
        # Which the launcher takes for 1 where they are 0.
        fields += [("element_strides", steps)]
    struct = type("descriptor", (ctypes.Structure,), {"_fields_": fields})
    made: ctypes.Structure = struct(address, sizes(*tensor.shape), sizes(*tensor.strides))
    return made


class _Launch:
    """A launch that can be repeated, and its times."""

    def __init__(self, gpu: Gpu, call: _Call, request: Request, place: int, cleared: int) -> None:
        self._gpu: Final = gpu
        self._call: Final = call
        self._request: Final = request
        self._place: Final = place
        self._cleared: Final = cleared

    def first(self) -> None:
        """Launch once, which loads the kernel, and see whether it ends well."""
        self._launch()
        self._gpu.synchronize()

    def estimate(self) -> float:
        """Return about how many microseconds of the GPU one run takes, the clearing included."""
        start, end = self._gpu.new_events(2)
        self._gpu.record(start)
        self._repeat(_ESTIMATING_RUNS)
        self._gpu.record(end)
        self._gpu.synchronize()
        return self._gpu.microseconds(start, end) / _ESTIMATING_RUNS

    def warm_up(self, each: float) -> int:
        """Run without a look at the time; return how often."""
        count = count_runs(self._request.warmup, each) if self._request.warmup else 0
        self._repeat(count)
        return count

    def measure(self, each: float) -> list[float]:
        """Return the time of each run."""
        gpu = self._gpu
        count = count_runs(self._request.budget, each)
        starts, ends = gpu.new_events(count), gpu.new_events(count)
        for start, end in zip(starts, ends, strict=True):
            self._clear()
            gpu.record(start)
            self._launch()
            gpu.record(end)
        gpu.synchronize()
        return [gpu.microseconds(*pair) for pair in zip(starts, ends, strict=True)]

    def host_cost(self, each: float) -> HostCost:
        """Return what a launch costs the host where ``each`` takes the GPU so long."""
        rounds, launches = count_rounds(self._request.budget, each)
        calls: list[float] = []
        empties: list[float] = []
        for _ in range(rounds):
            calls.append(self._time_calls(self._call.arguments, launches))
            self._gpu.synchronize()
            empties.append(self._time_calls(self._call.empty, launches))
        empty = quantile(sorted(empties), 0.5)
        return HostCost(
            summary=summarise([call - empty for call in calls], self._request.quantiles),
            launches=launches,
            call=quantile(sorted(calls), 0.5),
            empty=empty,
        )

    def _time_calls(self, arguments: tuple[Any, ...], count: int) -> float:
        function = self._call.function
        numbers = range(count)
        begin = time.perf_counter_ns()
        statuses = [function(*arguments) for _ in numbers]
        end = time.perf_counter_ns()
        self._call.check(next(filter(None, statuses), 0))
        return (end - begin) / count / _NANOSECONDS

    def _repeat(self, count: int) -> None:
        for _ in range(count):
            self._clear()
            self._launch()

    def _clear(self) -> None:
        if self._cleared:
            self._gpu.fill(self._place, self._cleared)

    def _launch(self) -> None:
        self._call.check(self._call.function(*self._call.arguments))
