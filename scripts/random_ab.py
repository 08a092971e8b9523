#!/usr/bin/env python3
"""Time what a change of rules or kernels did: cases whose plans or machine code differ between two checkouts, by turns.

    git worktree add ../before HEAD~3
    scripts/random_ab.py ../before --operator cumsum --cases 1000 --seed 1 --seed 2 --processes 12 cuda:0
    scripts/random_ab.py ../before --operator sum --cases 5000 --seed 1 none     # which ones, without a GPU
    scripts/random_ab.py . --set SIDES_LEAST=262144 --operator cumsum --cases 3000 --seed 1 cuda:0

Draws cases as scripts/random_speed.py does (--seed), or takes those of suites (--suite). Each checkout plans them by
its own package; whose launches are the same, machine code included, need no timing. The others run on the same memory
by turns, cold, as `gpubench run` times, and their answers are compared bit by bit. Prints old time / new time: the
geometric mean, and the cases at both ends. `none` in the place of the device lists the cases whose plans differ, for
an H200; --as-suite keeps those that differ, so that a GPU need not wait while thousands are planned. --set gives
constants (docs/tuning.md) to the new side, so that a checkout can be held against itself.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from random_speed import Bench  # noqa: E402 - the checkout must be found first

from gpubench.errors import GpubenchError  # noqa: E402
from gpubench.model import Plan, Problem  # noqa: E402
from gpubench.operators import OPERATORS  # noqa: E402
from gpubench.operators.constants import values_of  # noqa: E402
from gpubench.suite.explain import ASSUMED  # noqa: E402
from gpubench.suite.write import suite_text  # noqa: E402
from studies.draws import LAYOUTS, cases_of  # noqa: E402
from studies.two_checkouts import Changed, Compared, Side, changed, look_in, report  # noqa: E402


def compare(bench: Bench, found: Changed) -> Compared:
    """Run both plans on the same memory, each once for its answer and then by turns."""
    problem: Problem[object] = OPERATORS[found.case.operator].problem(found.case)
    operands, kept = bench.operands(problem)
    addresses = {name: operand.address for name, operand in operands.items()}
    output = next(number for number, operand in enumerate(problem.operands) if operand.role != "in")
    pristine = bench.device.allocate(kept[output].nbytes)
    bench.device.copy(kept[output], pristine)
    runs, answers = {}, set()
    plans: dict[str, Plan] = {"old": found.old, "new": found.new}
    for name, plan in plans.items():
        workspace = bench.device.allocate(plan.workspace_bytes)
        bench.device.fill(workspace, 0)
        kept.append(workspace)
        runs[name] = bench.device.bind(plan, addresses, workspace).run
        bench.device.copy(pristine, kept[output])
        runs[name]()
        answers.add(bench.device.digest(kept[output]))
    times = bench.times(runs, found.case.id)
    return Compared(found, times["old"], times["new"], len(answers) == 1)


def time_all(bench: Bench, found: Sequence[Changed]) -> list[Compared]:
    """Time the cases; one that fails is named."""
    results = []
    for each in found:
        try:
            results.append(compare(bench, each))
        except GpubenchError as error:
            print(f"{each.case.id}: {type(error).__name__}: {error}", flush=True)
    return results


def main() -> int:
    """Parse the arguments and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="the checkout to compare with")
    parser.add_argument("device", help="such as cuda:0, or none")
    parser.add_argument("--operator", choices=tuple(OPERATORS), default="sum")
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--cases", type=int, default=1000, help="of each seed")
    parser.add_argument("--seed", type=int, action="append", default=[])
    parser.add_argument("--least", type=float, default=14, help="log2 of the elements")
    parser.add_argument("--most", type=float, default=27)
    parser.add_argument("--layouts", choices=tuple(LAYOUTS), default="many")
    parser.add_argument("--limit", type=int, default=100, help="cases to time at most, drawn from those that differ")
    parser.add_argument("--ends", type=int, default=15, help="cases to print of each end")
    parser.add_argument("--plans", action="store_true", help="take the machine code of equal launches for equal")
    parser.add_argument("--set", help="constants of the new side: NAME=VALUE+NAME=VALUE")
    parser.add_argument("--processes", type=int, default=1, help="that compile at first")
    parser.add_argument("--as-suite", type=Path, metavar="FILE", help="write the cases that differ, if any, as a suite")
    options = parser.parse_args()
    old, new = Side(options.old.resolve(), {}), Side(ROOT, values_of(options.set) if options.set else {})
    bench = None if options.device == "none" else Bench(options.device, [])
    ranges = (options.least, options.most, options.layouts)
    cases = cases_of(options.operator, options.suite, options.seed, options.cases, *ranges)
    look_in(old)
    info, processes = (ASSUMED, None) if bench is None else (bench.device.info, options.processes)
    found = list(changed(cases, old, new, info, None if options.plans else processes))
    print(f"{len(found)} of {len(cases)} cases differ", flush=True)
    if options.as_suite is not None and found:
        remarks = {each.case.id: f"{each.old.variant} -> {each.new.variant}" for each in found}
        options.as_suite.write_text(suite_text("changed", [each.case for each in found], remarks))
    if bench is None:
        for each in found:
            print(f"{each.case.id} {each.old.variant} -> {each.new.variant} {dict(each.new.notes)}")
        return 0
    chosen = random.Random(1).sample(found, min(options.limit, len(found)))
    if options.plans or old.root == new.root:
        old.compiled([each.old for each in chosen], info, options.processes)
        new.compiled([each.new for each in chosen], info, options.processes)
    print("\n".join(report(time_all(bench, chosen), options.ends)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
