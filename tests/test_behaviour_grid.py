"""Grids: what is launched, what launches nothing, and what is refused, clusters included."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from launchgen.metadata import Scratch
from tests.launchers import FACES, Face, Host, Launcher, of_kernel, of_signature
from tests.zoo import ZOO

CLUSTER, POLICY = 4, 5
PLAIN = of_signature("n: i32")
MOST = 2**31 - 1
BEYOND_32_BITS = 2**32

Grid = tuple[int, ...]


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize(
    "grid",
    [
        (65536, 32768, 1),
        (MOST, 65535, 65535),
        (MOST, 1, 1),
        (16384, 16384, 16),
        (65536, 65535, 1),
        (50000, 50000, 1),
        (1, 65535, 65535),
        (1, 1, 1),
    ],
    ids=str,
)
def test_grid1_sizes_are_checked_alone_so_no_product_wraps(
    host: Host, face: Face, grid: Grid
) -> None:
    assert host.launched(face, PLAIN, grid, None, (5,)).grid == grid


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize(
    "grid", [(0, 1, 1), (1, 0, 5), (1, 1, 0), (0, 0, 0), (0, 65536, 1), (2**31, 1, 0)], ids=str
)
def test_grid2_an_empty_grid_is_a_success_that_launches_nothing(
    host: Host, face: Face, grid: Grid
) -> None:
    host.call(face, PLAIN, grid, None, (5,))
    assert host.driver.launches == ()


def test_grid2_an_empty_grid_needs_neither_driver_nor_context_nor_scratch(host: Host) -> None:
    launcher = of_signature("n: i32", triton_version=(3, 6), global_scratch=Scratch(384, 128))
    host.call(Face.C, launcher, (0, 1, 1), None, (5,), scratch=(0,))
    host.call(Face.PYTHON, launcher, (0, 1, 1), None, (5,))
    assert host.driver.calls == ()


@pytest.mark.parametrize(
    "grid",
    [-1, (-1,), (-1, 1, 1), (-1, -1, 1), (1, -1, 1), (1, 1, -1), (0, -1, 1), (-(2**80), 1, 1)],
    ids=str,
)
def test_grid3_a_negative_size_is_refused_by_python(host: Host, grid: Any) -> None:
    text = host.refusal(Face.PYTHON, PLAIN, grid, None, (5,))
    assert text.endswith(" is negative")


def test_grid3_a_negative_size_is_too_large_in_c(host: Host) -> None:
    for grid in ((-1, 1, 1), (-1, -1, 1), (1, -1, 1), (1, 1, -1)):
        text = host.refusal(Face.C, PLAIN, grid, None, (5,))
        assert "4294967295" in text
        assert "the limits are 2147483647 x 65535 x 65535" in text


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize(
    "grid",
    [(1, 65536, 1), (1, 1, 65536), (2**31, 1, 1), (2**32 - 1, 1, 1), (65536, 65536, 1)],
    ids=str,
)
def test_a_size_beyond_the_limits_is_refused(host: Host, face: Face, grid: Grid) -> None:
    text = host.refusal(face, PLAIN, grid, None, (5,))
    assert "{} x {} x {} blocks is too large".format(*grid) in text
    assert "2147483647 x 65535 x 65535" in text


@pytest.mark.parametrize("grid", [2**32, (1, 2**32), (1, 1, 2**64), 2**200], ids=str)
def test_a_size_beyond_32_bits_is_refused_by_python(host: Host, grid: Any) -> None:
    assert " is too large" in host.refusal(Face.PYTHON, PLAIN, grid, None, (5,))


class Index:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"Index({self.value})"


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        (4, (4, 1, 1)),
        ([4], (4, 1, 1)),
        ((4,), (4, 1, 1)),
        ((4, 2), (4, 2, 1)),
        ([4, 2, 3], (4, 2, 3)),
        (Index(4), (4, 1, 1)),
        ((Index(4), 2), (4, 2, 1)),
        (True, (1, 1, 1)),
        ((True, 2), (1, 2, 1)),
    ],
    ids=repr,
)
def test_grid7_sizes_left_out_are_1(host: Host, grid: Any, expected: Grid) -> None:
    assert host.launched(Face.PYTHON, PLAIN, grid, None, (5,)).grid == expected


@pytest.mark.parametrize("grid", [(), [], (1, 1, 1, 1), [1] * 5], ids=repr)
def test_grid7_a_grid_has_one_to_three_sizes(host: Host, grid: Any) -> None:
    text = host.refusal(Face.PYTHON, PLAIN, grid, None, (5,))
    assert text.endswith(f"expected one to three sizes, got {len(grid)}")


@pytest.mark.parametrize(
    "grid",
    [4.0, (4.0,), (1, 2.5), "4", b"4", None, (None,), {4}, {4: 1}, ("4",), ((4,),)],
    ids=repr,
)
def test_what_is_no_size_is_refused(host: Host, grid: Any) -> None:
    text = host.refusal(Face.PYTHON, PLAIN, grid, None, (5,), raises=TypeError)
    assert "grid" in text
    assert "expected an int" in text


class Failing:
    def __index__(self) -> int:
        raise RuntimeError("mine")


@pytest.mark.parametrize("grid", [Failing(), (1, Failing())], ids=["alone", "in a tuple"])
def test_ptr2_a_sizes_own_exception_passes_through(host: Host, grid: Any) -> None:
    with pytest.raises(RuntimeError, match=r"^mine$"):
        host.call(Face.PYTHON, PLAIN, grid, None, (5,))
    assert host.driver.launches == ()


def test_a_list_that_changes_while_it_is_read_does_no_harm(host: Host) -> None:
    class Emptying:
        def __index__(self) -> int:
            sizes.clear()
            return 2

    sizes: list[Any] = [Emptying(), 3, 4]
    assert host.launched(Face.PYTHON, PLAIN, sizes, None, (5,)).grid == (2, 3, 4)


# ---- clusters ------------------------------------------------------------------------------------


def old_metadata(folder: Path, num_ctas: int, cluster: tuple[int, int, int]) -> Path:
    """Write metadata as Triton did up to 3.5, with three numbers for the cluster."""
    path = folder / "k.json"
    fields = {"name": "k", "num_warps": 4, "num_ctas": num_ctas, "cluster_dims": cluster}
    path.write_text(json.dumps(fields))
    return path


def asked(host: Host, face: Face, launcher: Launcher, grid: Grid) -> tuple[Any, Any, Any]:
    launch = host.launched(face, launcher, grid, None, (5,))
    return launch.grid, launch.attribute(CLUSTER), launch.attribute(POLICY)


@pytest.mark.parametrize("face", FACES, ids=str)
def test_grid6_with_num_ctas_the_grid_counts_clusters(host: Host, face: Face) -> None:
    two = of_signature("n: i32", num_ctas=2)
    assert asked(host, face, two, (3, 1, 1)) == ((6, 1, 1), (2, 1, 1), (1,))
    assert asked(host, face, two, (3, 5, 7)) == ((6, 5, 7), (2, 1, 1), (1,))
    most = (2**30 - 1, 65535, 65535)
    assert asked(host, face, two, most)[0] == (2**31 - 2, 65535, 65535)


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("x", [2**30, 2**31 - 1, 2**31, 2**32 - 1])
def test_grid6_the_limit_is_for_blocks_and_no_product_wraps(host: Host, face: Face, x: int) -> None:
    two = of_signature("n: i32", num_ctas=2)
    text = host.refusal(face, two, (x, 1, 1), None, (5,))
    assert f"{2 * x} x 1 x 1 blocks is too large" in text


@pytest.mark.parametrize("face", FACES, ids=str)
def test_grid6_a_real_cluster_kernel_gets_twice_the_blocks(host: Host, face: Face) -> None:
    kernel = next(k for k in ZOO if str(k) == "triton-3.6.0-sm90/matmul_cluster")
    launcher = of_kernel(kernel)
    values = (0x10, 0x20, 0x30, 1, 2, 3, 64, 1, 64, 1, 64, 1)
    launch = host.launched(face, launcher, (3, 2, 1), None, values)
    assert (launch.grid, launch.attribute(CLUSTER)) == ((6, 2, 1), (2, 1, 1))


@pytest.mark.parametrize("face", FACES, ids=str)
def test_grid6_old_metadata_multiplies_every_axis(host: Host, face: Face, tmp_path: Path) -> None:
    launcher = of_signature("n: i32", metadata=old_metadata(tmp_path, 4, (1, 2, 2)))
    assert asked(host, face, launcher, (3, 5, 7)) == ((3, 10, 14), (1, 2, 2), (1,))
    text = host.refusal(face, launcher, (3, 32768, 1), None, (5,))
    assert "3 x 65536 x 2 blocks" in text


@pytest.mark.parametrize("face", FACES, ids=str)
def test_grid6_old_metadata_without_num_ctas_leaves_the_grid_alone(
    host: Host, face: Face, tmp_path: Path
) -> None:
    launcher = of_signature("n: i32", metadata=old_metadata(tmp_path, 1, (1, 1, 1)))
    assert asked(host, face, launcher, (3, 5, 7)) == ((3, 5, 7), None, None)


@pytest.mark.parametrize("face", FACES, ids=str)
def test_grid6_with_a_cluster_alone_the_grid_counts_blocks(host: Host, face: Face) -> None:
    launcher = of_signature("n: i32", cluster=(2, 3, 1))
    assert asked(host, face, launcher, (4, 6, 5)) == ((4, 6, 5), (2, 3, 1), (1,))
    for grid in ((3, 3, 1), (4, 4, 1), (1, 1, 1), (MOST, 3, 1)):
        text = host.refusal(face, launcher, grid, None, (5,))
        assert "{} x {} x {} blocks is no multiple of the cluster, 2 x 3 x 1".format(*grid) in text
    host.call(face, launcher, (0, 1, 1), None, (5,))
    assert len(host.driver.launches) == 1
