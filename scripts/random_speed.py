#!/usr/bin/env python3
"""Time random cases beside other libraries on a GPU: how often, and by how much, `auto` is ahead.

    scripts/random_speed.py --cases 200 --seed 1 --seed 2 --peer torch --peer inductor --processes 12 cuda:0

Draws 2^14 to 2^27 elements (--least, --most), log-uniform, 1 to 4 dims of any sizes, every dtype, and contiguous,
transposed, permuted or misaligned layouts. Sums: any set of dims to reduce. Other operators (--operator) are drawn as
random entries of suites are (docs/suites.md). All contenders of a case read the same memory and
are timed cold, by turns, as `gpubench run` does. Prints a line a case and, at the end, the geometric mean of (best
library / ours), the share of the cases no slower than 0.95 of it, and the worst. --out writes one JSON line a case.
Draw seeds that no kernel was tuned with.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import multiprocessing
import os
import random
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import IO, Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gpubench import peers  # noqa: E402
from gpubench.children import bind  # noqa: E402
from gpubench.devices import open_device  # noqa: E402
from gpubench.dtypes import dtype  # noqa: E402
from gpubench.engine.memory import storage_bytes  # noqa: E402
from gpubench.errors import GpubenchError  # noqa: E402
from gpubench.layout import Layout  # noqa: E402
from gpubench.model import Case, Plan, Problem  # noqa: E402
from gpubench.operators import OPERATORS  # noqa: E402
from gpubench.operators.parameters import to_json  # noqa: E402
from gpubench.operators.sum.params import SumParams  # noqa: E402
from gpubench.peers.base import DeviceOperand  # noqa: E402
from gpubench.suite.expand import expand  # noqa: E402

TURNS = 3
SAMPLES = 8
"""Samples of a contender in each turn; its time is the median of all."""


def draw_shape(draw: random.Random, least: float, most: float) -> tuple[int, ...]:
    """Draw sizes whose product is about 2^least to 2^most, log-uniform; half of them round."""
    left = draw.uniform(least, most)
    cuts = sorted(draw.uniform(0, left) for _ in range(draw.randint(1, 4) - 1))
    shape = []
    for low, high in zip([0.0, *cuts], [*cuts, left], strict=True):
        size = max(1, round(2 ** (high - low)))
        if draw.random() < 0.5:
            unit = draw.choice((2, 4, 8, 16, 64))
            size = max(1, round(size / unit)) * unit if size >= unit else size
        shape.append(size)
    return tuple(shape)


def draw_layout(draw: random.Random, dims: int) -> Layout:
    """Draw a layout: a third contiguous, the others transposed or permuted, misaligned, or both."""
    order = None
    if dims > 1 and draw.random() < 0.4:
        order = tuple(reversed(range(dims))) if draw.random() < 0.5 else tuple(draw.sample(range(dims), dims))
    return Layout(permute=order, offset=draw.choice((1, 3, 4, 5)) if draw.random() < 0.3 else 0)


def draw_case(seed: int, number: int, least: float, most: float) -> Case:
    """Draw case `number` of a seed."""
    draw = random.Random(f"{seed}/{number}")
    shape = draw_shape(draw, least, most)
    dims = tuple(draw.sample(range(len(shape)), draw.randint(1, len(shape))))
    dtype = draw.choice(OPERATORS["sum"].dtypes)
    normal = OPERATORS["sum"].normalise(SumParams(shape, dims, False, draw_layout(draw, len(shape))), dtype)
    return Case(OPERATORS["sum"].label(normal, dtype), "sum", dtype, to_json(normal), "normal", seed=number)


def repeat(address: int, have: int, want: int) -> None:
    """Fill memory with its first bytes again and again, on the device."""
    from cupy_backends.cuda.api import runtime

    while have < want:
        more = min(have, want - have)
        runtime.memcpy(address + have, address, more, runtime.memcpyDeviceToDevice)
        have += more


def draw_cases(operator: str, seed: int, count: int, least: float, most: float) -> list[Case]:
    """Draw the cases of a seed: sums here, those of the other operators as a random entry of a suite does."""
    if operator == "sum":
        return [draw_case(seed, number, least, most) for number in range(count)]
    wishes = {
        "cases": count,
        "seed": seed,
        "elements": [round(2**least), round(2**most)],
        "layouts": {"contiguous": 0.5, "transposed": 0.15, "permuted": 0.15, "misaligned": 0.2},
        "broadcasts": 0.3,
        "casts": 0.3,
        "friendly": 0.5,
    }
    entry = {
        "operator": operator,
        "random": wishes,
        "dtype": list(OPERATORS[operator].dtypes),
    }
    if operator == "elementwise":
        entry["out_layout"] = ["contiguous", "operands"]
    suite = json.dumps({"name": "drawn", "cases": [entry]})  # JSON is YAML
    return list(expand(suite.encode(), "drawn").cases)


class Bench:
    """A device and the libraries on it."""

    def __init__(self, spec: str, names: list[str]) -> None:
        """Open the device and load the libraries."""
        self.device: Any = open_device(spec)
        self.peers = {name: peers.load(name) for name in names}
        for peer in self.peers.values():
            peer.load()

    def operands(self, problem: Problem[Any]) -> tuple[dict[str, DeviceOperand], list[Any]]:
        """Allocate and fill: random numbers of which a few million repeat."""
        buffers, made = [], {}
        for one in problem.operands:
            buffer = self.device.allocate(storage_bytes(one))
            size = one.view.storage
            kind = dtype(one.dtype).numpy
            if one.role == "in":
                numbers = np.random.default_rng(1).normal(size=min(size, 2**21)) * 50
                self.device.upload(numbers.astype(kind), buffer)
                repeat(buffer.address, len(numbers) * kind.itemsize, size * kind.itemsize)
            buffers.append(buffer)
            made[one.name] = DeviceOperand(
                one.name, one.role, one.dtype, one.view, buffer.address + one.view.offset * kind.itemsize
            )
        return made, buffers

    def time(self, case: Case) -> dict[str, Any]:
        """Return the medians of all contenders, microseconds, and what `auto` chose."""
        problem = OPERATORS[case.operator].problem(case)
        plan = OPERATORS[case.operator].choose(problem, self.device.info)
        assert isinstance(plan, Plan), plan
        operands, kept = self.operands(problem)
        workspace = self.device.allocate(plan.workspace_bytes)
        self.device.fill(workspace, 0)
        addresses = {name: operand.address for name, operand in operands.items()}
        runs = {"gpubench": self.device.bind(plan, addresses, workspace).run}
        for name, peer in self.peers.items():
            if peers.refusal(peer, problem) is None:
                try:
                    runs[name] = peer.prepare(problem, operands, self.device.stream).run
                except GpubenchError:
                    continue
        samples: dict[str, list[float]] = collections.defaultdict(list)
        for run in runs.values():
            run()
        for _ in range(TURNS):
            for name, run in runs.items():
                samples[name] += [one.us for one in self.device.sample("cold", lambda: None, run, SAMPLES)]
        del kept
        times = {name: round(statistics.median(one), 3) for name, one in samples.items()}
        return {"id": case.id, "bytes": problem.bytes, "variant": plan.variant, "notes": dict(plan.notes), "us": times}


def prepare(spec: str, names: list[str], cases: list[Case]) -> None:
    """Compile what the cases need, into the caches on disk."""
    bench = Bench(spec, names)
    for case in cases:
        problem = OPERATORS[case.operator].problem(case)
        plan = OPERATORS[case.operator].choose(problem, bench.device.info)
        if isinstance(plan, Plan):
            bench.device.compile(plan.launches)
        for peer in bench.peers.values():
            if peer.name == "inductor" and peers.refusal(peer, problem) is None:
                operands, kept = bench.operands(problem)
                try:
                    peer.prepare(problem, operands, bench.device.stream)
                except GpubenchError:
                    continue
                del kept


def prepare_all(spec: str, names: list[str], cases: list[Case], processes: int) -> None:
    """Compile side by side."""
    spawn = multiprocessing.get_context("spawn")
    parts = [cases[start::processes] for start in range(processes)]
    with ProcessPoolExecutor(processes, spawn, initializer=bind, initargs=(os.getpid(),)) as pool:
        list(pool.map(prepare, [spec] * processes, [names] * processes, parts))


def report(results: list[dict[str, Any]]) -> None:
    """Print what the cases say together, against the best library and each alone."""
    names = sorted({name for one in results for name in one["us"]} - {"gpubench"})
    for name in ("best", *names):
        ratios = []
        for one in results:
            others = {other: us for other, us in one["us"].items() if other != "gpubench"}
            if name != "best":
                others = {name: others[name]} if name in others else {}
            if others:
                ratios.append((min(others.values()) / one["us"]["gpubench"], one["id"]))
        if not ratios:
            continue
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio, _ in ratios))
        share = sum(ratio >= 0.95 for ratio, _ in ratios) / len(ratios)
        low, where = min(ratios)
        print(f"{name}: {mean:.3f} x over {len(ratios)} cases; {share:.1%} at 0.95 x or more; worst {low:.3f} {where}")


def time_all(bench: Bench, cases: list[Case], out: IO[str] | None) -> list[dict[str, Any]]:
    """Time every case and print a line each."""
    results = []
    for case in cases:
        try:
            found = bench.time(case)
        except GpubenchError as error:
            print(f"{case.id}: {type(error).__name__}: {error}", flush=True)
            continue
        results.append(found)
        ours = found["us"]["gpubench"]
        others = " ".join(
            f"{name} {us:.2f} ({us / ours:.2f})" for name, us in found["us"].items() if name != "gpubench"
        )
        print(f"{case.id:60} {found['variant']:14} {ours:8.2f} {others} {found['notes']}", flush=True)
        if out is not None:
            print(json.dumps(found), file=out, flush=True)
    return results


def main() -> int:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device")
    parser.add_argument("--operator", choices=("cumsum", "sum", "elementwise", "index_add"), default="sum")
    parser.add_argument("--cases", type=int, default=100, help="of each seed")
    parser.add_argument("--seed", type=int, action="append", required=True)
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--least", type=float, default=14, help="log2 of the elements")
    parser.add_argument("--most", type=float, default=27)
    parser.add_argument("--processes", type=int, default=1, help="that compile at first")
    parser.add_argument("--out", type=argparse.FileType("w"))
    options = parser.parse_args()
    cases = [
        case
        for seed in options.seed
        for case in draw_cases(options.operator, seed, options.cases, options.least, options.most)
    ]
    if options.processes > 1:
        prepare_all(options.device, options.peer, cases, options.processes)
    report(time_all(Bench(options.device, options.peer), cases, options.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
