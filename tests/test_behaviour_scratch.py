"""Scratch memory: the caller's buffer in C, an allocator in Python."""

from __future__ import annotations

import struct
import threading
from typing import Any

import pytest

from launchgen.metadata import Scratch
from tests.launchers import FACES, Face, Host, Launcher, of_kernel, of_signature
from tests.zoo import ZOO

NEW = (3, 6)
ALIGN = 128
ADDRESS = 0x7F00_0008_0000
NEEDY = of_signature("p: *fp32", triton_version=NEW, global_scratch=Scratch(384, ALIGN))
CLUSTERED = of_signature(
    "p: *fp32", triton_version=NEW, num_ctas=2, global_scratch=Scratch(384, ALIGN)
)
BOTH = of_signature(
    "global_scratch: i32",
    name="both",
    triton_version=NEW,
    global_scratch=Scratch(16, 16),
    profile_scratch=Scratch(64, 4096),
)
REAL = of_kernel(next(k for k in ZOO if str(k) == "triton-3.6.0-sm90/device_desc"))
REAL_VALUES = (0x1000, 0x2000, 64, 64)
UINT64_MAX = 2**64 - 1


class Allocator:
    """Records what it is asked for, and gives the answers it was made with, in turn."""

    def __init__(self, *answers: object) -> None:
        self.answers = answers
        self.asked: list[tuple[int, int, int]] = []

    def __call__(self, size: int, alignment: int, stream: int) -> object:
        answer = self.answers[len(self.asked) % len(self.answers)]
        self.asked.append((size, alignment, stream))
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def no_allocator(host: Host) -> None:
    """Begin as after an import: the modules are the session's."""
    for launcher in (NEEDY, CLUSTERED, BOTH, REAL):
        host.module(launcher).set_allocator(None)


def last(host: Host, slot: int = 1) -> int:
    (address,) = struct.unpack("<Q", host.driver.launches[-1].values[slot])
    return int(address)


# ---- C -------------------------------------------------------------------------------------------


def test_scratch3_the_buffer_arrives_behind_the_arguments(host: Host) -> None:
    launch = host.launched(Face.C, NEEDY, (4, 1, 1), None, (0x10,), scratch=(ADDRESS,))
    assert launch.values == (struct.pack("<Q", 0x10), struct.pack("<Q", ADDRESS), bytes(8))


def test_scratch3_null_is_refused(host: Host) -> None:
    text = host.refusal(Face.C, NEEDY, (4, 1, 1), None, (0x10,), scratch=(0,))
    assert text == "k: needs a buffer as global scratch, but it is null"


@pytest.mark.parametrize("offset", [1, 16, 64, 127])
def test_scratch5_a_misaligned_buffer_is_refused(host: Host, offset: int) -> None:
    text = host.refusal(Face.C, NEEDY, (4, 1, 1), None, (0x10,), scratch=(ADDRESS + offset,))
    assert text == f"k: global scratch at {ADDRESS + offset:#x} is not aligned to 128 bytes"


@pytest.mark.parametrize(
    ("grid", "blocks"),
    [
        ((4, 1, 1), 4),
        ((2, 3, 5), 30),
        ((0, 5, 5), 0),
        ((65536, 65536, 1), 2**32),
        ((2**31 - 1, 65535, 1), (2**31 - 1) * 65535),
        ((2**32 - 1, 2**22, 1), (2**32 - 1) * 2**22),
    ],
)
def test_scratch3_scratch7_the_size_is_that_of_the_whole_grid_in_64_bits(
    host: Host, grid: Any, blocks: int
) -> None:
    assert host.library(NEEDY).k_global_scratch_size(*grid) == 384 * blocks
    assert host.library(CLUSTERED).k_global_scratch_size(*grid) == 384 * 2 * blocks


@pytest.mark.parametrize(
    "grid", [(2**31 - 1, 65535, 65535), (2**32 - 1, 2**32 - 1, 1), (2**32 - 1,) * 3], ids=str
)
def test_scratch7_a_size_beyond_64_bits_is_the_greatest_number(host: Host, grid: Any) -> None:
    assert host.library(NEEDY).k_global_scratch_size(*grid) == UINT64_MAX
    assert host.library(CLUSTERED).k_global_scratch_size(*grid) == UINT64_MAX


def test_both_kinds_of_scratch_stand_before_the_arguments_and_arrive_behind(host: Host) -> None:
    launch = host.launched(Face.C, BOTH, 2, None, (5,), scratch=(0x10, 0x1000))
    assert launch.values == tuple(
        struct.pack(form, value) for form, value in (("<i", 5), ("<Q", 0x10), ("<Q", 0x1000))
    )
    assert host.library(BOTH).both_global_scratch_size(2, 3, 4) == 16 * 24
    assert host.library(BOTH).both_profile_scratch_size(2, 3, 4) == 64 * 24
    text = host.refusal(Face.C, BOTH, 2, None, (5,), scratch=(0x10, 0x1010))
    assert text == "both: profile scratch at 0x1010 is not aligned to 4096 bytes"
    text = host.refusal(Face.C, BOTH, 2, None, (5,), scratch=(0x10, 0))
    assert text == "both: needs a buffer as profile scratch, but it is null"


@pytest.mark.parametrize("version", [(3, 2), (3, 3), (3, 4), (3, 5), (3, 9), None])
@pytest.mark.parametrize("face", FACES, ids=str)
def test_scratch1_the_release_decides_how_many_null_slots_follow(
    host: Host, face: Face, version: tuple[int, int] | None
) -> None:
    launcher = of_signature("*fp32, *fp32, i32", triton_version=version)
    hidden = {None: 0, (3, 2): 0, (3, 3): 1, (3, 4): 1}.get(version, 2)
    launch = host.launched(face, launcher, 1, None, (1, 2, 3))
    assert launch.values[3:] == (bytes(8),) * hidden


# ---- Python --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("launcher", "bytes_of_a_block"), [(NEEDY, 384), (CLUSTERED, 768)])
def test_scratch3_the_allocator_is_asked_for_the_whole_grid(
    host: Host, launcher: Launcher, bytes_of_a_block: int
) -> None:
    allocator = Allocator(ADDRESS)
    stream = host.driver.new_stream(host.driver.primary_context())
    host.module(launcher).set_allocator(allocator)
    host.call(Face.PYTHON, launcher, (4, 3), stream, (0x10,))
    assert allocator.asked == [(bytes_of_a_block * 12, ALIGN, stream)]
    assert last(host) == ADDRESS


def test_a_real_kernel_gets_its_scratch(host: Host) -> None:
    size = REAL.metadata.global_scratch
    assert size.size
    allocator = Allocator(ADDRESS)
    host.module(REAL).set_allocator(allocator)
    host.call(Face.PYTHON, REAL, (2, 3), None, REAL_VALUES)
    assert allocator.asked == [(6 * size.size, size.align, 0)]
    assert last(host, 4) == ADDRESS
    host.call(Face.C, REAL, (2, 3), None, REAL_VALUES, scratch=(ADDRESS,))
    assert host.driver.launches[-1].values == host.driver.launches[-2].values


def test_scratch6_without_an_allocator_the_error_says_what_to_do(host: Host) -> None:
    text = host.refusal(Face.PYTHON, NEEDY, (4, 1), None, (0x10,), raises=RuntimeError)
    assert text.startswith("k: needs 1536 bytes of global scratch, but no allocator is set; ")
    assert "set_allocator(f)" in text
    assert host.driver.calls == ()


def test_no_scratch_is_asked_for_where_a_value_is_refused(host: Host) -> None:
    allocator = Allocator(ADDRESS)
    host.module(NEEDY).set_allocator(allocator)
    host.refusal(Face.PYTHON, NEEDY, 1, None, ("x",), raises=TypeError)
    host.refusal(Face.PYTHON, NEEDY, -1, None, (0x10,))
    host.call(Face.PYTHON, NEEDY, (0, 1), None, (0x10,))
    assert allocator.asked == []


class Buffer:
    def __init__(self, address: object) -> None:
        self.address = address

    def data_ptr(self) -> object:
        return self.address


def test_scratch5_an_allocator_may_return_an_object_with_an_address(host: Host) -> None:
    host.driver.add_memory(ADDRESS, 2**20)
    host.module(NEEDY).set_allocator(Allocator(Buffer(ADDRESS)))
    host.call(Face.PYTHON, NEEDY, 1, None, (0x10,))
    assert last(host) == ADDRESS


def test_scratch5_the_buffer_lives_until_the_launch_is_made(host: Host) -> None:
    host.driver.add_memory(ADDRESS, 2**20)
    launched_when_it_died = []

    class Mortal(Buffer):
        def __del__(self) -> None:
            launched_when_it_died.append(len(host.driver.launches))

    host.module(NEEDY).set_allocator(lambda *_: Mortal(ADDRESS))
    host.call(Face.PYTHON, NEEDY, 1, None, (0x10,))
    assert launched_when_it_died == [1]
    # And no longer, also where the launch fails.
    host.driver.fail("cuLaunchKernelEx", 719)
    error = host.module(NEEDY).CudaError
    host.refusal(Face.PYTHON, NEEDY, 1, None, (0x10,), raises=error)
    assert launched_when_it_died == [1, 1]


@pytest.mark.parametrize(
    ("answer", "error", "problem"),
    [
        (None, ValueError, "k: needs a buffer as global scratch, but it is null"),
        (0, ValueError, "k: needs a buffer as global scratch, but it is null"),
        (Buffer(0), ValueError, "k: needs a buffer as global scratch, but it is null"),
        (ADDRESS + 16, ValueError, f"k: global scratch at {ADDRESS + 16:#x} is not aligned to 128"),
        (-1, OverflowError, "k: global scratch (memory from the allocator): -1 is no 64-bit"),
        (2**64, OverflowError, "is no 64-bit address"),
        ("x", TypeError, "k: global scratch (memory from the allocator): expected an int, None, "),
        (Buffer("x"), TypeError, "data_ptr() returned 'x', not an int"),
        (Buffer(0x1000), ValueError, "host memory"),
    ],
    ids=["None", "0", "null", "misaligned", "-1", "2**64", "str", "bad data_ptr", "host memory"],
)
def test_scratch5_what_is_no_buffer_is_refused(
    host: Host, answer: object, error: type[Exception], problem: str
) -> None:
    host.module(NEEDY).set_allocator(Allocator(answer))
    text = host.refusal(Face.PYTHON, NEEDY, 1, None, (0x10,), raises=error)
    assert problem in text


def test_an_allocators_own_exception_passes_through(host: Host) -> None:
    error = MemoryError("mine")
    host.module(NEEDY).set_allocator(Allocator(error))
    with pytest.raises(MemoryError) as caught:
        host.call(Face.PYTHON, NEEDY, 1, None, (0x10,))
    assert caught.value is error
    assert host.driver.launches == ()


def test_both_kinds_are_asked_for_in_turn_and_the_second_may_fail(host: Host) -> None:
    allocator = Allocator(0x10, 0x1000)
    host.module(BOTH).set_allocator(allocator)
    host.call(Face.PYTHON, BOTH, 3, None, (5,))
    assert allocator.asked == [(48, 16, 0), (192, 4096, 0)]
    assert (last(host, 1), last(host, 2)) == (0x10, 0x1000)
    host.module(BOTH).set_allocator(Allocator(0x10, MemoryError()))
    with pytest.raises(MemoryError):
        host.call(Face.PYTHON, BOTH, 3, None, (5,))
    assert len(host.driver.launches) == 1


def test_scratch7_a_grid_of_2_to_the_32_blocks_does_not_wrap(host: Host) -> None:
    allocator = Allocator(ADDRESS)
    host.module(NEEDY).set_allocator(allocator)
    host.call(Face.PYTHON, NEEDY, (65536, 1, 65535), None, (0x10,))
    assert allocator.asked == [(384 * 65536 * 65535, ALIGN, 0)]
    # This one exceeds the limit of y.
    host.refusal(Face.PYTHON, NEEDY, (65536, 65536), None, (0x10,))
    text = host.refusal(Face.PYTHON, NEEDY, (2**31 - 1, 65535, 65535), None, (0x10,))
    assert text == "k: the global scratch for this grid exceeds 64 bits"


def test_scratch7_the_allocator_is_every_threads(host: Host) -> None:
    failures: list[BaseException] = []

    def set_it() -> None:
        host.module(NEEDY).set_allocator(Allocator(ADDRESS))

    def launch() -> None:
        try:
            host.call(Face.PYTHON, NEEDY, 1, None, (0x10,))
        except BaseException as error:
            failures.append(error)

    for target in (set_it, launch, launch):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
    launch()
    assert failures == []
    assert len(host.driver.launches) == 3


def test_an_allocator_may_be_replaced_while_it_runs(host: Host) -> None:
    module = host.module(NEEDY)

    def allocate(size: int, alignment: int, stream: int) -> int:
        module.set_allocator(None)
        return ADDRESS

    module.set_allocator(allocate)
    del allocate
    host.call(Face.PYTHON, NEEDY, 1, None, (0x10,))
    host.refusal(Face.PYTHON, NEEDY, 1, None, (0x10,), raises=RuntimeError)


@pytest.mark.parametrize("given", [5, "x", (), [1]], ids=repr)
def test_an_allocator_is_callable(host: Host, given: object) -> None:
    with pytest.raises(TypeError, match=r"set_allocator\(\) takes a callable"):
        host.module(NEEDY).set_allocator(given)
