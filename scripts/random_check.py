#!/usr/bin/env python3
"""Hold random cases of an operator against numpy on a device: seeded, so that every run draws the same cases.

    scripts/random_check.py --cases 10000 --processes 8 cuda:0
    scripts/random_check.py --operator sum --cases 200 --variants all host
    scripts/random_check.py --operator index_add --cases 200 host
    scripts/random_check.py --cases 200 host:build=checked          # or build=sanitize: AddressSanitizer

Draws shapes (0 to 5 dims, sizes from 0 to some hundred thousand elements, round numbers, primes and neighbours of
powers of two), a dim, a dtype, a layout (permuted, stepped, broadcast, misaligned) and a distribution (NaN and infinity
among them), for index_add also a pattern of indices and alpha; of elementwise, random entries of a suite, each followed
by cases with other sizes. With --few-sms plans are made for 1 to 8 SMs and less shared memory, so that small cases
are cut as large ones are. Runs the variant that `auto` picks (or those named, where they take the case) twice on one
workspace, and checks the second answer against the variant's own bound. Prints the counts by variant; exit code 4 when
an answer was wrong. `--seconds` draws no further case after so long. Needs gpubench to be installed, or PYTHONPATH to
name the checkout.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import multiprocessing
import os
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import random_elementwise
import random_index_add

from gpubench.children import bind
from gpubench.devices import open_device
from gpubench.devices.host_compiler import sanitizer_environment
from gpubench.engine.buffers import Operands, Pristine
from gpubench.errors import GpubenchError
from gpubench.layout import Layout
from gpubench.measure.check import check
from gpubench.model import Case, DeviceInfo, Problem, Refused
from gpubench.operators import OPERATORS
from gpubench.operators.base import Operator
from gpubench.operators.cumsum.params import CumsumParams
from gpubench.operators.parameters import to_json
from gpubench.operators.sum.params import SumParams

NICE = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 509, 512, 513, 1000)
LONG = (1023, 1024, 1025, 2047, 4093, 4096, 4100, 8191, 16384, 16387, 32749, 65536, 100003, 131072, 262147)

MOST_TOLD = 5
"""Wrong answers in a line of what came of it so far."""


def draw_shape(draw: random.Random, largest: int) -> tuple[int, ...]:
    """Draw a shape of at most `largest` elements."""
    dims = draw.choice((0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 5))
    shape: list[int] = []
    left = largest
    for _ in range(dims):
        pool = [n for n in (NICE if draw.random() < 0.7 else LONG) if n <= left] or [1]
        size = draw.choice(pool) if draw.random() < 0.8 else draw.randint(1, max(min(left, 3000), 1))
        shape.append(0 if draw.random() < 0.004 else size)
        left //= max(size, 1)
    draw.shuffle(shape)
    return tuple(shape)


def draw_layout(draw: random.Random, dims: int) -> Layout:
    """Draw a layout; mostly contiguous, often misaligned."""
    kind = draw.random()
    offset = draw.choice((0, 0, 0, 1, 2, 3, 5, 8))
    if kind < 0.6 or dims == 0:
        return Layout(offset=offset)
    if kind < 0.75:
        return Layout(step=draw.choice((2, 3)), offset=offset)
    if kind < 0.9:
        return Layout(permute=tuple(draw.sample(range(dims), dims)), offset=offset)
    return Layout(expand=(draw.randrange(dims),), offset=offset)


def draw_case(operator: Operator[Any], seed: int, number: int, largest: int) -> Case:
    """Draw case `number` of a seed."""
    if operator.name == "elementwise":
        return random_elementwise.draw_case(seed, number, largest)
    draw = random.Random(f"{seed}/{number}")
    shape = draw_shape(draw, draw.choice((300, 5000, 50_000, largest)))
    dtype = draw.choice(operator.dtypes)
    layout = draw_layout(draw, len(shape))
    params: Any = CumsumParams(shape, draw.randrange(len(shape)) if shape else 0, layout)
    if operator.name == "index_add":
        others = draw_layout(draw, len(shape))
        params = random_index_add.draw_params(draw, shape, dtype, layout, others, largest)
    if operator.name == "sum":
        dims = tuple(draw.sample(range(len(shape)), draw.randint(min(len(shape), draw.random() < 0.98), len(shape))))
        params = SumParams(shape, dims, draw.random() < 0.2, layout)
    normal = operator.normalise(params, dtype)
    distribution: Any = draw.choice(("normal", "normal", "uniform", "integers", "with_nonfinite"))
    return Case(operator.label(normal, dtype), operator.name, dtype, to_json(normal), distribution, seed=number)


def few_sms(info: DeviceInfo, seed: int) -> DeviceInfo:
    """Return a device that cuts small cases as a GPU cuts large ones; it has no more of anything than this one."""
    draw = random.Random(seed)
    shared = min(draw.choice((64, 99, 163, 227)) << 10, info.max_shared_bytes)
    return replace(info, sm_count=min(draw.choice((1, 2, 3, 8)), info.sm_count), max_shared_bytes=shared)


def run_case(device: Any, case: Case, variants: str, few: bool = False) -> list[tuple[str, str]]:
    """Return (variant, what was wrong or nothing) of each variant run."""
    info = few_sms(device.info, case.seed) if few else device.info
    operator = OPERATORS[case.operator]
    problem: Problem[Any] = operator.problem(case)
    inputs = operator.inputs(problem)
    reference = operator.reference(problem, inputs)
    pristine = Pristine(device, problem, inputs, keep_inputs=True)
    names = [variant.name for variant in operator.variants] if variants == "all" else variants.split(",")
    rules: list[Any] = [variant.plan for variant in operator.variants if variant.name in names]
    if "auto" in names and variants != "all":
        rules.append(operator.choose)
    outcomes = []
    for rule in rules:
        plan = rule(problem, info)
        if isinstance(plan, Refused):
            continue
        operands = Operands(device, problem, pristine, plan.workspace_bytes, plan.workspace_zeroed)
        run = device.bind(plan, operands.addresses, operands.workspace).run
        run()
        operands.poison()
        operands.restore()
        run()
        verdict = check(problem, reference, plan.accuracy, operands.output())
        outcomes.append((plan.variant, "" if verdict.ok else f"{case.id} seed {case.seed}: {verdict.first_mismatch}"))
    return outcomes


def run_part(
    spec: str,
    operator: str,
    seed: int,
    numbers: range,
    largest: int,
    variants: str,
    seconds: float,
    few: bool,
    tells: bool,
) -> tuple[int, dict[str, int], list[str]]:
    """Run some of the cases in this process: how many it came to, counts by variant, and what was wrong.

    Kernels are compiled as cases meet them, so that the first answers are checked after seconds. tells: print what
    came of it so far each second, for whoever ends this script before it is done.
    """
    device = open_device(spec)
    counts: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    end = time.monotonic() + seconds
    drawn = 0
    told = time.monotonic()
    for number in numbers:
        if time.monotonic() >= end:
            break
        if tells and time.monotonic() - told >= 1:
            told = time.monotonic()
            so_far = {"part": numbers.start, "cases": drawn, "wrong": wrong[:MOST_TOLD]}
            os.write(1, (json.dumps(so_far) + "\n").encode())  # in one piece, beside other processes
        drawn += 1
        case = draw_case(OPERATORS[operator], seed, number, largest)
        try:
            outcomes = run_case(device, case, variants, few)
        except GpubenchError as error:
            wrong.append(f"{case.id} seed {case.seed}: {type(error).__name__}: {error}")
            break  # the device may be of no more use
        for name, problem in outcomes:
            counts[name] += 1
            if problem:
                wrong.append(f"{name}: {problem}")
    device.close()
    return drawn, counts, wrong


def processes_of_ours(count: int) -> ProcessPoolExecutor:
    """Return a pool whose processes end with this one."""
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, spawn, initializer=bind, initargs=(os.getpid(),))


def main() -> int:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device")
    parser.add_argument("--operator", choices=("cumsum", "sum", "elementwise", "index_add"), default="cumsum")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--largest", type=int, default=400_000, help="elements of a case at most")
    parser.add_argument("--variants", default="auto", help="auto, all, or names separated by commas")
    parser.add_argument("--few-sms", action="store_true", help="cut small cases as large ones are")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop drawing cases after so long")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON: each second, and at the end")
    options = parser.parse_args()
    if "build=sanitize" in options.device and "asan" not in os.environ.get("LD_PRELOAD", ""):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **sanitizer_environment()})
    bounds = [options.cases * i // options.processes for i in range(options.processes + 1)]
    parts = [range(*pair) for pair in itertools.pairwise(bounds)]
    chosen = (options.device, options.operator, options.seed)
    rest = (options.largest, options.variants, options.seconds, options.few_sms, options.json)
    arguments = [(*chosen, part, *rest) for part in parts]
    if options.processes == 1:
        results = [run_part(*arguments[0])]
    else:
        with processes_of_ours(options.processes) as pool:
            results = list(pool.map(run_part, *zip(*arguments, strict=True)))
    counts: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    for _, part_counts, part_wrong in results:
        counts.update(part_counts)
        wrong += part_wrong
    drawn = sum(part_drawn for part_drawn, _, _ in results)
    print(f"{drawn} cases, seed {options.seed}, on {options.device}: {sum(counts.values())} answers checked")
    for name, count in sorted(counts.items()):
        print(f"  {name:16} {count}")
    print(f"{len(wrong)} wrong", *wrong[:20], sep="\n")
    if options.json:
        print(json.dumps({"cases": drawn, "answers": counts, "wrong": wrong}))
    return 4 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
