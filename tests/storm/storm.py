"""What ``storm.c`` does, for the Python launcher: run by any interpreter, without launchgen.

Arguments: how, the folder of the module ``add``, rounds, launches of each thread and round.
``how`` is "threads", "tensors" for threads whose pointers the driver is asked about, or
"interpreters" for one of its own for each thread.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable

from storm_work import THREADS, work  # type: ignore[import-not-found] # lies beside

MOST_ROUNDS = 4
INTERPRETERS = ("_interpreters", "_xxsubinterpreters")
"""The module that makes interpreters, by what versions call it."""


def all_at_once(work_of: Callable[[int], None]) -> None:
    """Run ``work_of(0)``, … in threads that start together; end the process where one fails."""
    barrier = threading.Barrier(THREADS)
    failed: list[BaseException] = []

    def each(thread: int) -> None:
        barrier.wait()
        try:
            work_of(thread)
        except BaseException as error:  # raised below, where it ends the process
            failed.append(error)

    threads = [threading.Thread(target=each, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def round_of_threads(round_now: int, launches: int) -> None:
    all_at_once(lambda thread: work(round_now, thread, launches))


_BLOCK = [0]


def round_of_tensors(round_now: int, launches: int) -> None:
    """Let the driver be asked about each pointer, which takes the interpreter's lock away."""
    if not _BLOCK[0]:
        _BLOCK[0] = allocate((MOST_ROUNDS * THREADS + 1) << 20)
        print("block", _BLOCK[0])
    all_at_once(lambda thread: work(round_now, thread, launches, _BLOCK[0]))


def allocate(size: int) -> int:
    """Return the address of memory of the GPU."""
    driver = ctypes.CDLL("libcuda.so.1")
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    while driver.cuInit(0) != 0:  # the first calls fail
        continue
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0
    assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0
    return address.value


def round_of_interpreters(round_now: int, launches: int) -> None:
    """Give each thread an interpreter, with a lock of its own where the version has that."""
    name = next(each for each in INTERPRETERS if importlib.util.find_spec(each) is not None)
    module = importlib.import_module(name)
    made = [module.create() for _ in range(THREADS)]

    def run(thread: int) -> None:
        problem = module.run_string(
            made[thread],
            f"import sys; sys.path[:0] = {sys.path[:2]!r}\n"
            f"import storm_work; storm_work.work({round_now}, {thread}, {launches})\n",
        )
        assert problem is None, problem

    all_at_once(run)
    for identity in made:
        module.destroy(identity)


ROUNDS = {
    "threads": round_of_threads,
    "tensors": round_of_tensors,
    "interpreters": round_of_interpreters,
}


def main(how: str, folder: str, rounds: str, launches: str) -> None:
    # The image is the process's, not an interpreter's or a module object's.
    sys.path.insert(0, folder)
    module = importlib.import_module("add")
    for round_now in range(int(rounds)):
        ROUNDS[how](round_now, int(launches))
        module.unload()
    print("lock", int(getattr(sys, "_is_gil_enabled", lambda: True)()))


if __name__ == "__main__":
    main(*sys.argv[1:])
