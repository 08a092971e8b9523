#!/usr/bin/env python3
"""Time random cases beside other libraries on a GPU: how often, and by how much, `auto` is ahead.

    scripts/random_speed.py --cases 200 --seed 1 --seed 2 --peer torch --peer inductor --processes 12 cuda:0

Draws 2^14 to 2^27 elements (--least, --most), log-uniform, 1 to 4 dims of any sizes, every dtype, and contiguous,
transposed, permuted or misaligned layouts. Sums: any set of dims to reduce. Other operators (--operator) are drawn as
random entries of suites are (docs/suites.md). All contenders of a case read the same memory and are timed cold, by
turns, as `gpubench run` does. Prints a line a case and, at the end, the geometric mean of (best library / ours), the
share of the cases no slower than 0.95 of it, the worst, and the share of the ceiling. --others times the other
variants, too, on the cases that `auto` loses, or does at under 0.80 of the ceiling. --out writes one JSON line a
case. Without --peer, --others times all our variants of every case; which one a rule ought to have chosen stands at
the end. --suite takes the cases of suites that are of the operator in place of draws. A call that takes longer than
--call-limit ends the run and is named: the first one of a contender in a case, which no sample follows. Cases in
which libraries would take long for certain (8- and 16-bit numbers that one place gets many of) are left out, and
counted. `none` in the place of the device reports what the files of --pool (earlier --out) say together, the mean of
several processes: what a launch of 4 us takes differs by 0.4 us from one to the next (docs/method.md). Draw seeds that
no kernel was tuned with.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy.stats import trim_mean

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gpubench import peers  # noqa: E402
from gpubench.devices import open_device  # noqa: E402
from gpubench.devices.ceiling import SIZES, measure_ceiling  # noqa: E402
from gpubench.dtypes import dtype  # noqa: E402
from gpubench.engine.memory import storage_bytes  # noqa: E402
from gpubench.errors import GpubenchError  # noqa: E402
from gpubench.measure.ceiling import ceiling_us  # noqa: E402
from gpubench.model import Case, Ceiling, DeviceInfo, Plan, Problem  # noqa: E402
from gpubench.names import contender_of  # noqa: E402
from gpubench.operators import OPERATORS  # noqa: E402
from gpubench.operators.base import Operator  # noqa: E402
from gpubench.operators.index_add.indices import draw as draw_indices  # noqa: E402
from gpubench.operators.sectors import touched_bytes  # noqa: E402
from gpubench.peers.base import DeviceOperand  # noqa: E402
from gpubench.views.rows import LAUNCH_BOUND_FACTOR  # noqa: E402
from studies.draws import LAYOUTS, cases_of, is_endless  # noqa: E402
from studies.losses import losses  # noqa: E402
from studies.speeds import pooled, report  # noqa: E402
from studies.warming import warm  # noqa: E402

TURNS = 8
SAMPLES = 8
"""Samples of a contender in each turn, each turn in an order of its own. A contender's time is the mean of the middle
half of all: events of short kernels come in steps of 0.2 us, of which a median tells the nearest (docs/method.md)."""

OUTER = 0.25
"""Part of the samples at each end that does not count."""

LONG_US, LONG_SAMPLES = 5000, 2
"""Work of so many microseconds and more is sampled less often."""

ENDLESS_S = 0.1
"""Work of so many seconds is run once, by the host's clock, after a first run that may load code."""

HOPELESS_S = 2.0
"""... and of so many, that first run is the only one."""

MOST_ELEMENTS = 4096
"""Elements of a thread, at most, of another variant that is tried."""


def repeat(address: int, have: int, want: int) -> None:
    """Fill memory with its first bytes again and again, on the device."""
    from cupy_backends.cuda.api import runtime

    while have < want:
        more = min(have, want - have)
        runtime.memcpy(address + have, address, more, runtime.memcpyDeviceToDevice)
        have += more


@contextmanager
def limited(seconds: float, what: str) -> Iterator[None]:
    """End the process, with a line that names what took so long, when the block is not left within the limit."""

    def give_up() -> None:
        print(f"random_speed: {what} took over {seconds:g} s", file=sys.stderr, flush=True)
        os._exit(1)  # a thread that waits for a GPU cannot be interrupted

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Bench:
    """A device and the libraries on it. call_limit: seconds that the first call of a contender may take."""

    def __init__(self, spec: str, names: list[str], call_limit: float = 60.0) -> None:
        """Open the device and load the libraries."""
        self.call_limit = call_limit
        self.device: Any = open_device(spec)
        self.ceiling: Ceiling | None = None
        self.peers = {name: peers.load(name) for name in names}
        for peer in self.peers.values():
            peer.load()

    def operands(self, problem: Problem[Any]) -> tuple[dict[str, DeviceOperand], list[Any]]:
        """Allocate and fill: indices by their pattern, else random numbers of which a few million repeat."""
        buffers, made = [], {}
        for operand in problem.operands:
            buffer = self.device.allocate(storage_bytes(operand))
            size = operand.view.storage
            kind = dtype(operand.dtype).numpy
            if operand.name == "index" and size > 0:
                params = problem.params
                places = params.shape[params.dim] if params.shape else 1
                indices = draw_indices(params.pattern, places, params.count, problem.case.seed, 1)
                self.device.upload(indices.astype(kind), buffer)
            elif operand.role == "in" and size > 0:
                numbers = np.random.default_rng(1).normal(size=min(size, 2**21)) * 50
                self.device.upload(numbers.astype(kind), buffer)
                repeat(buffer.address, len(numbers) * kind.itemsize, size * kind.itemsize)
            buffers.append(buffer)
            made[operand.name] = DeviceOperand(
                operand.name,
                operand.role,
                operand.dtype,
                operand.view,
                buffer.address + operand.view.offset * kind.itemsize,
            )
        return made, buffers

    def time(self, case: Case, others: bool = False) -> dict[str, Any]:
        """Return the times of all contenders, microseconds, and what `auto` chose; others: of all our variants."""
        problem = OPERATORS[case.operator].problem(case)
        plans = plans_of(OPERATORS[case.operator], problem, self.device.info, others)
        times = self.times_of(problem, plans, libraries=not others)
        auto = plans["gpubench"]
        found = {"id": case.id, "bytes": problem.bytes, "variant": auto.variant, "notes": dict(auto.notes), "us": times}
        return found | self.share(problem, times["gpubench"])

    def times_of(self, problem: Problem[Any], plans: Mapping[str, Plan], *, libraries: bool) -> dict[str, float]:
        """Time plans by their names, and the libraries that take the problem, on the same memory."""
        operands, kept = self.operands(problem)
        addresses = {name: operand.address for name, operand in operands.items()}
        runs = {}
        for name, plan in plans.items():
            workspace = self.device.allocate(plan.workspace_bytes)
            self.device.fill(workspace, 0)
            kept.append(workspace)
            runs[name] = self.device.bind(plan, addresses, workspace).run
        for name, peer in self.peers.items() if libraries else ():
            if peers.refusal(peer, problem) is None:
                try:
                    runs[name] = peer.prepare(problem, operands, self.device.stream).run
                except GpubenchError:
                    continue
                with limited(self.call_limit, f"{name} {problem.case.id}"):  # JAX runs it once, and does not wait
                    self.device.synchronize()
        return self.times(runs, problem.case.id)

    def times(self, runs: Mapping[str, Callable[[], None]], case: str = "") -> dict[str, float]:
        """Time by turns. case: named where a contender takes too long."""
        samples: dict[str, list[float]] = collections.defaultdict(list)
        for name, run in runs.items():
            start = time.perf_counter()
            with limited(self.call_limit, f"{name} {case}".strip()):
                run()
                self.device.synchronize()
            first = time.perf_counter() - start
            if first > HOPELESS_S:
                samples[name] += [1e6 * first]
            elif first > ENDLESS_S:
                start = time.perf_counter()
                run()
                self.device.synchronize()
                again = time.perf_counter() - start
                samples[name] += [1e6 * again] if again > ENDLESS_S else []
        short = {name: run for name, run in runs.items() if not samples[name]}
        draw = random.Random(case)
        for _ in range(TURNS):
            for name, run in draw.sample(list(short.items()), len(short)):
                count = LONG_SAMPLES if samples[name] and samples[name][0] >= LONG_US else SAMPLES
                samples[name] += [sample.us for sample in self.device.sample("cold", lambda: None, run, count)]
        return {name: round(float(trim_mean(sample, OUTER)), 3) for name, sample in samples.items()}

    def share(self, problem: Problem[Any], us: float) -> dict[str, Any]:
        """Return the share of the ceiling; nothing where a launch would dominate the case."""
        least = ceiling_us(self.ceiling, *touched_bytes(problem)) if self.ceiling is not None else None
        if least is None or self.ceiling is None or least < LAUNCH_BOUND_FACTOR * (self.ceiling.launch_us or 0.0):
            return {}
        return {"share": round(least / us, 3)}


def plans_of(operator: Operator[Any], problem: Problem[Any], device: DeviceInfo, others: bool) -> dict[str, Plan]:
    """Return the plan of `auto`, as "gpubench", and those of the other variants that take the problem."""
    auto = operator.choose(problem, device)
    assert isinstance(auto, Plan), auto
    plans = {"gpubench": auto}
    for variant in operator.variants if others else ():
        plan = variant.plan(problem, device)
        if isinstance(plan, Plan) and variant.name not in ("naive", auto.variant) and is_worth_a_try(plan, problem):
            plans[variant.name] = plan
    return plans


def is_worth_a_try(plan: Plan, problem: Problem[Any]) -> bool:
    """Tell whether a plan is none of the seeds', and has threads enough to end soon."""
    threads = max(math.prod(launch.grid) * math.prod(launch.block) for launch in plan.launches)
    elements = max(operand.view.size for operand in problem.operands)
    seed = any("/seeds/" in launch.source for launch in plan.launches)
    return not seed and elements <= MOST_ELEMENTS * threads


def with_others(case: Case, device: DeviceInfo) -> Case:
    """Return a case with all variants that are worth a try as its contenders."""
    operator = OPERATORS[case.operator]
    names = plans_of(operator, operator.problem(case), device, True).keys() - {"gpubench"}
    return replace(case, contenders=tuple(map(contender_of, sorted(names))))


def is_behind(found: dict[str, Any]) -> bool:
    """Tell whether a library is ahead, or the ceiling far, or no library was timed."""
    if found["us"].keys() == {"gpubench"}:
        return True
    best = min((us for name, us in found["us"].items() if name != "gpubench"), default=math.inf)
    return bool(best < 0.97 * found["us"]["gpubench"] or found.get("share", 1.0) < 0.8)


def time_all(
    bench: Bench, cases: list[Case], out: IO[str] | None, others: bool = False
) -> list[tuple[Case, dict[str, Any]]]:
    """Time every case and print a line each."""
    results = []
    for case in cases:
        try:
            found = bench.time(case, others)
        except GpubenchError as error:
            print(f"{case.id}: {type(error).__name__}: {error}", flush=True)
            continue
        results.append((case, found))
        ours = found["us"]["gpubench"]
        beside = " ".join(
            f"{name} {us:.2f} ({us / ours:.2f})" for name, us in found["us"].items() if name != "gpubench"
        )
        share = f"{found['share']:.2f}" if "share" in found else "-"
        print(f"{case.id:60} {found['variant']:14} {ours:8.2f} {share} {beside} {found['notes']}", flush=True)
        if out is not None:
            print(json.dumps(found), file=out, flush=True)
    return results


def main() -> int:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", help="such as cuda:0, or none")
    parser.add_argument("--operator", choices=("cumsum", "sum", "elementwise", "index_add"), default="sum")
    parser.add_argument("--cases", type=int, default=100, help="of each seed")
    parser.add_argument("--seed", type=int, action="append", default=[])
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--least", type=float, default=14, help="log2 of the elements")
    parser.add_argument("--most", type=float, default=27)
    parser.add_argument("--processes", type=int, default=1, help="that compile at first")
    parser.add_argument("--layouts", choices=tuple(LAYOUTS), default="many", help="as many odd ones, or as a suite has")
    parser.add_argument("--others", action="store_true", help="time the other variants where auto is behind")
    parser.add_argument("--call-limit", type=float, default=60.0, help="seconds of a contender's first call in a case")
    parser.add_argument("--out", type=argparse.FileType("w"))
    parser.add_argument("--pool", type=Path, action="append", default=[], help="what processes wrote (--out)")
    parser.add_argument("--compile-only", action="store_true", help="into the caches on disk; time nothing")
    options = parser.parse_args()
    if (options.device == "none") != bool(options.pool):
        parser.error("--pool takes none in the place of the device, and none takes --pool")
    if missing := [str(file) for file in options.pool if not file.is_file()]:
        parser.error(f"there is no {missing[0]}")
    if options.pool:
        print("\n".join(report(pooled(options.pool))))
        return 0
    if not options.seed and not options.suite:
        parser.error("name a --seed, or a --suite")
    ranges = (options.least, options.most, options.layouts)
    cases = cases_of(options.operator, options.suite, options.seed, options.cases, *ranges)
    drawn = len(cases)
    if options.peer:
        cases = [case for case in cases if not is_endless(case)]
    if len(cases) < drawn:
        print(f"{drawn - len(cases)} of {drawn} cases left out: libraries add such integers one by one")
    if options.processes > 1 or options.compile_only:
        warm(options.device, "inductor" in options.peer, cases, options.processes)
    if options.compile_only:
        return 0
    bench = Bench(options.device, options.peer, options.call_limit)
    bench.ceiling = measure_ceiling(bench.device, SIZES[::2])
    results = time_all(bench, cases, options.out)
    print("\n".join(report([found for _, found in results])))
    behind = [case for case, found in results if is_behind(found)]
    if options.others and behind:
        others = [with_others(case, bench.device.info) for case in behind]
        warm(options.device, False, others, options.processes)
        print(f"\nthe other variants, where auto is behind: {len(behind)} cases")
        beside = time_all(bench, behind, options.out, others=True)
        print("\n".join(["", *losses([found for _, found in beside])]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
