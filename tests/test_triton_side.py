"""launchgen's launchers beside Triton's own, call by call, on the recording driver.

``make test-triton`` fetches the releases and runs these; without them they skip.  What is asked and
what Triton is known to get wrong stands in ``tests/triton_side``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from launchgen.abi import layout, slots
from launchgen.sources import read_kernel
from tests.launchers import CUDA
from tests.triton_side import draw, invalid, ours
from tests.triton_side.cases import (
    CONSTEXPR,
    RELEASES,
    TENSOR_MAP,
    Answers,
    Call,
    Case,
    Encoded,
    Im2col,
    Job,
    Launched,
    Map,
    Outcome,
    Release,
    Tensor,
    is_descriptor,
)
from tests.triton_side.parent import ask, differences, folder_of, missing

SIGNATURES: Final = 200
MAPS: Final = 1000
FITS_31_BITS: Final = 1 << 31
# Of the last one no bit is cleared.
EDGES: Final = tuple(
    replace(invalid.HALVES, block=(64,), shape=(size,), strides=(1,))
    for size in (65535, 65536, 65537)
)

by_release = pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
with_module = pytest.mark.parametrize(
    "release", [r for r in RELEASES if r.module], ids=lambda release: release.name
)


@cache
def cases_of(release: Release) -> tuple[Case, ...]:
    return draw.first(SIGNATURES, draw.cases(release), key=lambda case: case.types)


@cache
def maps_of(release: Release) -> tuple[Map, ...]:
    pixels = draw.first(MAPS, draw.im2col(release)) if release.nested else ()
    return (*EDGES, *draw.first(MAPS, draw.tiled(release)), *pixels)


# ---- what is asked -------------------------------------------------------------------------------


@pytest.mark.slow
@by_release
def test_the_signatures_have_every_type(release: Release) -> None:
    cases = cases_of(release)
    kinds = {leaf.partition("<")[0].partition("*")[0] for case in cases for leaf in case.leaves}
    descriptors = {"tensordesc", "tensordesc_im2col"} if release.nested else {"tensordesc"}
    assert kinds == {*draw.SCALAR_TYPES, "", CONSTEXPR, TENSOR_MAP, *descriptors}
    assert len({case.types for case in cases}) == SIGNATURES


@pytest.mark.slow
@by_release
def test_the_signatures_have_every_shape(release: Release) -> None:
    cases = cases_of(release)
    tuples = {type_ for case in cases for type_ in case.types if isinstance(type_, tuple)}
    assert () in tuples
    assert any(isinstance(leaf, tuple) and leaf for type_ in tuples for leaf in type_)
    assert any(CONSTEXPR in type_ for type_ in tuples)
    nested = {leaf for type_ in tuples for leaf in type_ if is_descriptor(leaf)}
    assert bool(nested) == release.nested
    described = [case for case in cases if any(map(is_descriptor, case.leaves))]
    assert {bool(case.metas) for case in described} == {False, True}
    metas = [meta for case in cases for meta in case.metas]
    assert {meta["swizzle"] for meta in metas} == {0, 1, 2, 3}
    assert {meta["elem_type"] for meta in metas} >= {0, 6, 7, 10, 14}
    assert {meta.get("is_im2col", False) for meta in metas} == {False, release.nested}


@pytest.mark.slow
@by_release
def test_the_launches_have_every_attribute(release: Release) -> None:
    cases = cases_of(release)
    for name in ("cooperative", "pdl"):
        assert {getattr(case, name) for case in cases} == {False, True}
    assert {case.num_ctas for case in cases} >= {1, 2, 4, 8}
    assert any(case.shared > 48 * 1024 for case in cases)
    assert any(case.shared > 228 * 1024 for case in cases) == release.oversized_shared
    calls = [call for case in cases for call in case.calls]
    assert any(0 in call.grid for call in calls)
    assert any(isinstance(value, Tensor) for call in calls for value in call.values)
    assert {call.on_stream for call in calls} == {call.hooks for call in calls} == {False, True}


@pytest.mark.slow
@by_release
def test_launchgen_lays_parameters_out_as_the_cases_do(release: Release, tmp_path: Path) -> None:
    """Sizes are worked out twice, apart from each other."""
    for number, case in enumerate(cases_of(release)):
        metadata = ours.write_metadata(case, release, tmp_path / f"{number}.json")
        source = read_kernel(
            None, signature_text=case.text, metadata=metadata, no_image=True, target=CUDA
        )
        listed = slots(source.signature, source.variants[0].metadata, target=CUDA)
        laid_out = [(slot.size, slot.align) for _, slot in layout(listed)]
        assert laid_out == [(size, align) for _, size, align in case.slots(release)], case.text


def test_make_fetches_the_releases() -> None:
    makefile = (Path(__file__).parent.parent / "Makefile").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^TRITON_RELEASES := (.+)$", makefile, re.MULTILINE)
    assert listed.split() == [release.name for release in RELEASES]


SIDE = Outcome(
    launches=(
        Launched((2, 1, 1), (128, 1, 1), 64, True, ((2, "01000000"),), ("07000000", "00" * 8)),
    ),
    hooks=(("enter", 1), ("exit", 1)),
    allocations=((1, 16),),
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"grid": (2, 2, 1)}, "grid: (2, 1, 1) from Triton, (2, 2, 1) from launchgen"),
        ({"block": (256, 1, 1)}, "block: (128, 1, 1)"),
        ({"shared": 0}, "shared: 64 from Triton, 0"),
        ({"on_stream": False}, "on_stream: True"),
        ({"attributes": ()}, "attributes: ((2, '01000000'),)"),
        ({"values": ("08000000", "00" * 8)}, "parameter 0 (i32): 07000000 from Triton, 08000000"),
        ({"values": ("07000000",)}, "parameter 1 (global scratch): 0000000000000000"),
    ],
)
def test_a_launch_that_differs_is_told(change: dict[str, Any], words: str) -> None:
    told = difference_to(replace(SIDE, launches=(replace(SIDE.launches[0], **change),)))
    assert words in told


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"error": "TypeError: no"}, "error: None from Triton, TypeError: no from launchgen"),
        ({"launches": ()}, "launches: 1 from Triton, 0 from launchgen"),
        ({"launches": SIDE.launches * 2}, "launches: 1 from Triton, 2 from launchgen"),
        ({"hooks": SIDE.hooks[:1]}, "hooks: (('enter', 1), ('exit', 1)) from Triton"),
        ({"allocations": ()}, "scratch allocated: ((1, 16),) from Triton"),
    ],
)
def test_a_call_that_differs_is_told(change: dict[str, Any], words: str) -> None:
    assert words in difference_to(replace(SIDE, **change))


def test_calls_that_are_alike_are_not_told() -> None:
    case = Case(("i32",), (Call((2, 1, 1), (7,)),))
    assert differences((case,), RELEASES[0], ((SIDE,),), ((SIDE,),)) == []


def difference_to(other: Outcome) -> str:
    case = Case(("i32",), (Call((2, 1, 1), (7,)),))
    (told,) = differences((case,), RELEASES[0], ((SIDE,),), ((other,),))
    assert "(i32)" in told
    assert "values=(7,)" in told
    return told


# ---- with Triton ---------------------------------------------------------------------------------


def driver_of(release: Release) -> dict[str, Any]:
    """Return a driver that takes all that is drawn: maps of FP4, and oversized shared memory.

    It is newer than those whose maps of small tensors are mended, which Triton does from 3.7 on.
    """
    shared = {"opt_in_shared": 300 * 1024} if release.oversized_shared else {}
    return {"capability": 100, "driver_version": 13040, **shared}


class Beside:
    """Releases of Triton in processes of their own; what one answered is asked once."""

    def __init__(self, work: Callable[[str], Path]) -> None:
        self.work = work
        self._launches: dict[str, Answers] = {}

    def ask(self, job: Job) -> Any:
        return ask(job, self.work(f"{job.side}-{job.release.name}-"))

    def launches(self, release: Release) -> Answers:
        if release.name not in self._launches:
            job = Job("theirs", release, driver_of(release), cases_of(release))
            self._launches[release.name] = self.ask(job)
        return self._launches[release.name]

    def maps(self, release: Release, maps: Sequence[Map]) -> tuple[Encoded | str, ...]:
        return tuple(self.ask(Job("theirs", release, {"capability": 100}, maps=tuple(maps))))

    def compare(self, release: Release, side: str, built: Sequence[str] = ()) -> None:
        """Call launchgen's launchers as Triton's were; fails where one did anything else."""
        job = Job(side, release, driver_of(release), cases_of(release), built=tuple(built))
        found = differences(job.cases, release, self.launches(release), self.ask(job))
        assert not found, show(found)


@pytest.fixture(scope="session")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Beside:
    return Beside(tmp_path_factory.mktemp)


def need(release: Release) -> None:
    if folder_of(release) is None:
        pytest.skip(missing(release))


def show(found: Sequence[str]) -> str:
    return "\n\n".join([f"{len(found)} differ; the first ones:", *found[:10]])


# ---- launches ------------------------------------------------------------------------------------


@pytest.mark.triton
@by_release
def test_triton_launches_every_case(release: Release, beside: Beside) -> None:
    """Else two that both refuse would be alike."""
    need(release)
    cases = cases_of(release)
    failed = [
        f"({case.text})\n  {call}\n  {outcome.error}, {len(outcome.launches)} launches"
        for case, outcomes in zip(cases, beside.launches(release), strict=True)
        for call, outcome in zip(case.calls, outcomes, strict=True)
        if outcome.error or len(outcome.launches) != (0 not in call.grid)
    ]
    assert not failed, show(failed)


@pytest.mark.triton
@by_release
def test_the_direct_convention_launches_as_triton_does(
    release: Release, beside: Beside, tmp_path: Path
) -> None:
    """Maps and descriptors are given it in another form, and it has no hooks."""
    need(release)
    answers = zip(cases_of(release), beside.launches(release), strict=True)
    pairs = [(case, theirs) for case, theirs in answers if not has_map(case)]
    cases = tuple(case for case, _ in pairs)
    assert len(cases) > SIGNATURES // 3
    built = ours.build_launchers(cases, release, "direct", tmp_path)
    answered = beside.ask(Job("direct", release, driver_of(release), cases, built=built))
    theirs = tuple(outcomes for _, outcomes in pairs)
    found = differences(cases, release, theirs, answered, hooks=False)
    assert not found, show(found)


def has_map(case: Case) -> bool:
    return any(leaf == TENSOR_MAP or is_descriptor(leaf) for leaf in case.leaves)


@pytest.mark.triton
@with_module
def test_the_triton_convention_launches_as_triton_does(
    release: Release, beside: Beside, tmp_path: Path
) -> None:
    """launchgen's module lies under Triton's own wrapper, which expands descriptors."""
    need(release)
    built = ours.build_launchers(cases_of(release), release, "triton", tmp_path)
    beside.compare(release, "seed", built)


@pytest.mark.triton
@by_release
def test_the_drop_in_launches_as_triton_does(release: Release, beside: Beside) -> None:
    need(release)
    beside.compare(release, "drop-in")


# ---- tensor maps ---------------------------------------------------------------------------------


def broken_maps(release: Release) -> tuple[tuple[str, Map], ...]:
    padded = invalid.PADDED if release.padding else ()
    return (*invalid.TILED, *padded, *(invalid.IM2COL if release.nested else ()))


@pytest.mark.triton
@by_release
def test_triton_fills_every_map(release: Release, beside: Beside) -> None:
    need(release)
    maps = maps_of(release)
    pairs = zip(maps, beside.maps(release, maps), strict=True)
    failed = [f"{map_}\n  {told}" for map_, told in pairs if isinstance(told, str)]
    assert not failed, show(failed)


@pytest.mark.triton
@by_release
def test_triton_mends_small_maps(release: Release, beside: Beside) -> None:
    need(release)
    told = [each for each in beside.maps(release, EDGES) if isinstance(each, Encoded)]
    cleared = [not each.words[1] & 1 << 21 for each in told]
    assert cleared == [release.rounding, release.rounding, False]


@pytest.mark.triton
@by_release
def test_triton_fills_no_broken_map(release: Release, beside: Beside) -> None:
    """Each breaks a rule that the encoder has; what they are made from breaks none."""
    need(release)
    valid = [map_ for map_ in invalid.VALID if release.nested or not isinstance(map_, Im2col)]
    broken = [map_ for _, map_ in broken_maps(release)]
    told = beside.maps(release, [*valid, *broken])
    assert [each for each in told[: len(valid)] if isinstance(each, str)] == []
    pairs = zip(broken, told[len(valid) :], strict=True)
    assert [map_ for map_, each in pairs if not isinstance(each, str)] == []


@pytest.mark.triton
@by_release
def test_maps_are_encoded_as_triton_does(release: Release, beside: Beside, tmp_path: Path) -> None:
    need(release)
    maps = maps_of(release)
    module = ours.build_cuda_utils(tmp_path)
    job = Job("ours", release, {"capability": 100}, maps=maps, built=(module,))
    answers = zip(maps, beside.maps(release, maps), beside.ask(job), strict=True)
    found = [
        f"{map_}\n  {theirs} from Triton\n  {told} from launchgen"
        for map_, theirs, told in answers
        if comparable(map_, theirs, release) != comparable(map_, told, release)
    ]
    assert not found, show(found)


def comparable(map_: Map, told: Encoded | str, release: Release) -> Encoded | str:
    """Leave out what became of the map where Triton is wrong about the bit that it clears.

    Before 3.7 it clears none, and it adds the bytes up in 32 bits; maps of pixels it leaves alone,
    which CUTLASS does not.
    """
    right = release.rounding and not isinstance(map_, Im2col) and map_.span < FITS_31_BITS
    return told if right or isinstance(told, str) else replace(told, words=())


@pytest.mark.triton
@by_release
def test_a_broken_map_is_refused_by_name(release: Release, beside: Beside, tmp_path: Path) -> None:
    need(release)
    broken = (*broken_maps(release), ("rank", invalid.RANK_6))
    module = ours.build_cuda_utils(tmp_path)
    maps = tuple(map_ for _, map_ in broken)
    told = beside.ask(Job("ours", release, {"capability": 100}, maps=maps, built=(module,)))
    wrong = [
        f"{map_}\n  {words}\n  does not match {rule!r}"
        for (rule, map_), words in zip(broken, told, strict=True)
        if not isinstance(words, str) or not re.search(rule, words, re.IGNORECASE | re.DOTALL)
    ]
    assert not wrong, show(wrong)
