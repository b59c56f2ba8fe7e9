"""Python launchers in Triton's conventions for tests: emitted, compiled, called on the driver."""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from launchgen import toolchain
from launchgen.abi import layout, slots
from launchgen.artifacts import ARTIFACTS, CONVENTIONS
from launchgen.metadata import Overrides
from launchgen.planning import make_plan
from launchgen.rendering import render
from launchgen.sources import read_kernel
from launchgen.targets import TARGETS
from launchgen.testing import Launch
from tests.launchers import Host

CUDA = TARGETS["cuda"]
MODULE = "__triton_launcher"


class Called:
    """A launcher of one of Triton's conventions, and a function handle that has its slots."""

    def __init__(self, module: Any, parameters: tuple[tuple[int, int], ...], hidden: int) -> None:
        self.module = module
        self.parameters = parameters
        self.hidden = hidden

    def function(self, host: Host) -> int:
        return host.driver.make_function("k", self.parameters)


@cache
def called(
    convention: str, text: str, version: str = "3.6.0", metas: str = "", name: str = "k"
) -> Called:
    """Return the module of a signature; ``metas`` is ``tensordesc_meta`` as JSON."""
    folder = Path(tempfile.mkdtemp(prefix="launchgen-tests-"))
    described = {"name": name, "num_warps": 4, "num_ctas": 1, "shared": 0}
    described |= {"triton_version": version, "tensordesc_meta": json.loads(metas or "[]")}
    (folder / "metadata.json").write_text(json.dumps(described))
    source = read_kernel(
        None,
        signature_text=text,
        metadata=folder / "metadata.json",
        no_image=True,
        name=name,
        overrides=Overrides(),
        target=CUDA,
    )
    plan = make_plan(
        source, target=CUDA, command="launchgen emit", convention=CONVENTIONS[convention]
    )
    for file in render(plan, artifacts=(ARTIFACTS["cpython"],)).files:
        (folder / file.name).write_bytes(file.content)
    (step,) = toolchain.run_build(
        toolchain.plan_build(folder, environment=os.environ), parallel=1, progress=lambda _: None
    )
    assert (step.status, step.text) == (0, "")
    spec = importlib.util.spec_from_file_location(MODULE, folder / step.product)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    metadata = source.variants[0].metadata
    listed = slots(source.signature, metadata, target=CUDA)
    hidden = sum(not slot.path for slot in listed)
    return Called(module, tuple((s.size, s.align) for _, s in layout(listed)), hidden)


def seed_call(
    host: Host,
    launcher: Called,
    values: Sequence[Any] = (),
    *,
    grid: tuple[int, int, int] = (2, 3, 5),
    stream: int = 0,
    function: int | None = None,
    cooperative: Any = False,
    pdl: Any = False,
    scratch: Sequence[Any] | None = None,
    metadata: Any = (4, 1, 0),
    launch_metadata: Any = None,
    hooks: tuple[Any, Any] = (None, None),
) -> None:
    """Call ``launch`` as the releases of the seed's kind do."""
    buffers = (None,) * launcher.hidden if scratch is None else tuple(scratch)
    handle = launcher.function(host) if function is None else function
    launcher.module.launch(
        *grid,
        stream,
        handle,
        cooperative,
        pdl,
        *buffers,
        metadata,
        launch_metadata,
        *hooks,
        *values,
    )


def object_call(
    host: Host,
    launcher: Called,
    values: Sequence[Any] = (),
    *,
    made: Any = None,
    grid: tuple[int, int, int] = (2, 3, 5),
    stream: int = 0,
    function: int | None = None,
    metadata: Any = (4, 1, 0),
    launch_metadata: Any = None,
    hooks: tuple[Any, Any] = (None, None),
) -> None:
    """Call a launcher object as Triton does."""
    handle = launcher.function(host) if function is None else function
    called_object = made or launcher_object(launcher)
    called_object(*grid, stream, handle, metadata, launch_metadata, *hooks, *values)


def launcher_object(
    launcher: Called,
    *,
    num_ctas: int = 1,
    cooperative: bool = False,
    pdl: bool = False,
    scratch: tuple[int, int] = (0, 1),
    profile: tuple[int, int] = (0, 1),
    allocators: tuple[Any, Any] = (None, None),
) -> Any:
    """Return a launcher object; an allocator is a callable of size, alignment and stream."""
    return launcher.module.Launcher(num_ctas, cooperative, pdl, *scratch, *profile, *allocators)


def only(host: Host) -> Launch:
    (launch,) = host.driver.launches
    return launch
