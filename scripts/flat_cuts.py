#!/usr/bin/env python3
"""Time elementwise cases by every cut of `flat` beside the one that `auto` takes, and beside other libraries.

    scripts/flat_cuts.py --suite cases.yaml --peer inductor --processes 12 cuda:0
    scripts/flat_cuts.py --cases 40 --seed 1 --most 18 cuda:0

A cut is threads of a block, elements of a vector, vectors of a thread. All contenders of a case read the same memory
by turns, cold (scripts/random_speed.py). Prints a line a case: what `auto` takes and its cut, the libraries, and the
cuts from fastest to slowest, microseconds. Cuts that leave fewer blocks than --blocks are left out.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from random_speed import Bench  # noqa: E402 - the checkout must be found first

from gpubench.model import Case, DeviceInfo, Plan, Problem  # noqa: E402
from gpubench.operators import OPERATORS  # noqa: E402
from gpubench.operators.elementwise import flat, tuning  # noqa: E402
from gpubench.operators.elementwise.merged import Merged, merged  # noqa: E402
from studies.draws import cases_of  # noqa: E402
from studies.two_checkouts import Side  # noqa: E402
from studies.warming import warm  # noqa: E402

THREADS, ITEMS, VECTORS = (64, 128, 256, 512), (1, 2, 4, 8, 16), (1, 2, 4, 8)
MOST_BYTES = 64
"""Of y that a thread writes."""


def plans_of(case: Case, info: DeviceInfo, blocks: int) -> dict[str, Plan]:
    """Return the plan of `auto`, and those of the cuts by their numbers."""
    problem: Problem[Any] = OPERATORS[case.operator].problem(case)
    auto, shape = OPERATORS[case.operator].choose(problem, info), merged(problem)
    found = {"auto": auto} if isinstance(auto, Plan) else {}
    for threads, items, vectors in itertools.product(THREADS, ITEMS, VECTORS) if isinstance(shape, Merged) else ():
        cut = tuning.FlatCut(threads, items, vectors)
        fits = items <= shape.vector and items * vectors * shape.output_itemsize <= MOST_BYTES
        if fits and shape.elements >= blocks * cut.tile:
            plan = flat.build(problem, shape, cut)
            if isinstance(plan, Plan):
                found[f"{threads}/{items}/{vectors}"] = plan
    return found


def main() -> int:
    """Compile side by side, then time one case after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", help="such as cuda:0")
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--cases", type=int, default=40, help="of each seed")
    parser.add_argument("--seed", type=int, action="append", default=[])
    parser.add_argument("--least", type=float, default=14, help="log2 of the elements")
    parser.add_argument("--most", type=float, default=27)
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--processes", type=int, default=1, help="that compile at first")
    options = parser.parse_args()
    if not options.seed and not options.suite:
        parser.error("name a --seed, or a --suite")
    cases = cases_of("elementwise", options.suite, options.seed, options.cases, options.least, options.most, "many")
    warm(options.device, "inductor" in options.peer, cases, options.processes)
    bench = Bench(options.device, options.peer)
    info = bench.device.info
    planned = [plans_of(case, info, options.blocks) for case in cases]
    Side(ROOT, {}).compiled([plan for plans in planned for plan in plans.values()], info, options.processes)
    for case, plans in zip(cases, planned, strict=True):
        times, auto = bench.times_of(OPERATORS[case.operator].problem(case), plans, libraries=True), plans["auto"]
        cut = "/".join(str(auto.notes[name]) for name in ("threads", "items", "vectors") if name in auto.notes)
        libraries = "".join(f" {name} {times[name]:.2f}" for name in options.peer if name in times)
        cuts = sorted((us, name) for name, us in times.items() if name not in ("auto", *options.peer))
        others = " ".join(f"{name} {us:.2f}" for us, name in cuts)
        print(f"{case.id} {auto.variant} {cut} {times['auto']:.2f}{libraries} | {others}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
