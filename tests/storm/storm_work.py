"""The launches of one thread, as ``storm.c`` makes them.

Any interpreter imports this, also one beside others of its process, which must not import
``threading``: up to Python 3.12 it then waits for a thread that has gone.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

THREADS = 8
REFUSE_EACH = 16


class Tensor:
    def __init__(self, address: int) -> None:
        self.address = address

    def data_ptr(self) -> int:
        return self.address


def is_refused(module: Any, error: type[Exception], *arguments: object) -> bool:
    try:
        module.launch(*arguments)
    except error:
        return True
    return False


def work(round_now: int, thread: int, launches: int, block: int = 0) -> None:
    """Launch, and print as ``storm.c`` does.

    ``block`` is memory of the GPU that tensors are parts of; without, plain integers are passed.
    """
    module = importlib.import_module("add")
    base = block + ((round_now * THREADS + thread + 1) << 20)
    passed = Tensor if block else int
    lines, refused = [], 0
    for number in range(launches):
        try:
            x, y, out = map(passed, (base, base + 16, base + 32))
            module.launch(1, None, x, y, out, thread, float(number))
        except module.CudaError as error:
            what = error.code if str(error).startswith("add: ") else "without a name"
            lines.append(f"failed {round_now} {thread} {number} {what}\n")
        if number % REFUSE_EACH == thread:
            assert is_refused(module, ValueError, (1, 65536), None, 4, 4, 4, thread, 1.0)
            assert is_refused(module, OverflowError, 1, None, 4, 4, 4, 2**31, 1.0)
            assert is_refused(module, TypeError, 1, None, Tensor(0), object(), 4, 4, 1.0)
            refused += 1
    sys.stdout.write("".join([*lines, f"refused {refused}\n"]))
    sys.stdout.flush()
