"""``python -m fuzzing TARGET``: run a target, or all of them one after another.

Without an option atheris looks for inputs for ten minutes; ``--damaged`` needs no atheris.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator

from fuzzing import campaign, damage, keep
from fuzzing.attempts import attempt
from fuzzing.targets import TARGETS, Target

SLOWEST = 1
"""Seconds that a damaged seed may take."""
MOST_MEMORY = 2 * 2**30


def main() -> None:
    """Run what the command line says; end with 1 where a fault was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument("target", choices=[*TARGETS, "all"])
    parser.add_argument("--seconds", type=int, default=600, help="default: %(default)s")
    parser.add_argument("--damaged", type=int, help="read so many damaged seeds instead")
    parser.add_argument("--seed", type=int, default=0, help="of the damage; default: %(default)s")
    parser.add_argument("--keep", action="store_true", help="choose what tests replay instead")
    given = parser.parse_args()
    chosen = list(TARGETS.values()) if given.target == "all" else [TARGETS[given.target]]
    if given.damaged is not None:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    elif not given.keep and not campaign.is_possible():
        sys.exit("atheris is not installed: python -m pip install -e '.[test,fuzz]'")
    faults = 0
    for target in chosen:
        if given.keep:
            print(f"{target.name:10} {keep.keep(target)} inputs", flush=True)
        elif given.damaged is not None:
            faults += report_damaged(target, seed=given.seed, count=given.damaged)
        else:
            faults += report_campaign(target, seconds=given.seconds)
    sys.exit(faults > 0)


def report_campaign(target: Target, *, seconds: int) -> int:
    """Run atheris, print what came of it, and return the number of faults."""
    outcome = campaign.run(target, seconds=seconds)
    print(outcome, *outcome.faults, sep="\n  ", flush=True)
    return len(outcome.faults)


def report_damaged(target: Target, *, seed: int, count: int) -> int:
    """Read damaged seeds, print what came of them, and return the number of faults."""
    begin = time.perf_counter()
    wrong = list(damaged_faults(target, seed=seed, count=count))
    seconds = time.perf_counter() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counted = f"{count:9,} inputs {len(wrong):4} faults, most memory {memory:.0f} MiB"
    print(f"{target.name:10} {seconds:5.0f} s {counted}", *wrong, sep="\n  ", flush=True)
    return len(wrong)


def damaged_faults(target: Target, *, seed: int, count: int) -> Iterator[str]:
    """Yield what is wrong with each damaged seed, by its number."""
    for number, data in enumerate(damage.inputs(target, seed=seed, count=count)):
        problem = attempt(target, data, seconds=SLOWEST)
        if problem is not None:
            yield f"{number}: {problem}: {data[:200]!r}"


if __name__ == "__main__":
    main()
