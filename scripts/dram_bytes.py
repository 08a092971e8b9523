#!/usr/bin/env python3
"""Count what a case's kernels move to and from DRAM and execute, by Nsight Compute, beside the fewest bytes that do.

    scripts/dram_bytes.py cumsum -k "268435456 or 4096x4096" [--contender gpubench:auto ...] [--json FILE]

One line a case and contender: bytes read and written, their sum over the fewest, and the instructions that warps
executed. What stays in the L2 cache when a kernel ends is
not counted as written, so that small cases can seem to write less than they must: take cases of several times the
cache. Needs a GPU whose performance counters may be read, ncu on the PATH, and gpubench (or PYTHONPATH).
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gpubench.devices import open_device
from gpubench.engine.buffers import Operands, Pristine
from gpubench.model import Case, Problem
from gpubench.operators import OPERATORS
from gpubench.suite.expand import load_suites
from gpubench.suite.filters import select

METRICS = {
    "read": "dram__bytes_read.sum",
    "written": "dram__bytes_write.sum",
    "instructions": "smsp__inst_executed.sum",
}
COUNTING = ("--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--profile-from-start", "off")


def plan_of(problem: Problem[Any], contender: str, info: Any) -> Any:
    """Return the plan of one of our contenders."""
    operator = OPERATORS[problem.case.operator]
    name = contender.removeprefix("gpubench:")
    if name == "auto":
        return operator.choose(problem, info)
    return next(variant for variant in operator.variants if variant.name == name).plan(problem, info)


def run_once(case: Case, contender: str) -> None:
    """Run the case's kernels: once to load them, and once more for ncu to watch."""
    from cupy_backends.cuda.api import runtime

    device = open_device("cuda:0")
    operator = OPERATORS[case.operator]
    problem = operator.problem(case)
    plan = plan_of(problem, contender, device.info)
    pristine = Pristine(device, problem, operator.inputs(problem), keep_inputs=False)
    operands = Operands(device, problem, pristine, plan.workspace_bytes, plan.workspace_zeroed)
    executable = device.bind(plan, operands.addresses, operands.workspace)
    executable.run()
    operands.restore()
    device.synchronize()
    runtime.profilerStart()
    executable.run()
    device.synchronize()
    runtime.profilerStop()


def counted(lines: Iterable[str]) -> dict[str, int]:
    """Return bytes read, bytes written and instructions of all kernels in ncu's CSV. ValueError when it holds none."""
    table = [line for line in lines if line.startswith('"')]  # what else ncu prints begins with ==
    rows = [row for row in csv.DictReader(table) if row.get("ID", "").isdigit()]  # the first row holds units
    if not rows:
        raise ValueError("ncu counted no kernel")
    return {key: sum(int(float(row[name].replace(",", ""))) for row in rows) for key, name in METRICS.items()}


def measure(case: Case, arguments: list[str]) -> dict[str, int] | str:
    """Count one case in a process of its own; return its counts, or what went wrong."""
    command = [
        "ncu",
        *COUNTING,
        "--metrics",
        ",".join(METRICS.values()),
        sys.executable,
        __file__,
        *arguments,
        "--one",
        case.id,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return counted(done.stdout.splitlines())
    except ValueError as error:
        return f"{error}: {(done.stderr or done.stdout).strip()[-300:]}"


def told(case: Case, counts: dict[str, int]) -> str:
    """Return the line of a case that was counted."""
    problem = OPERATORS[case.operator].problem(case)
    read, written = counts["read"], counts["written"]
    over = (read + written) / (problem.bytes or 1)
    return (
        f"read {read / 1e6:.2f} MB of {problem.bytes_read / 1e6:.2f}, "
        f"wrote {written / 1e6:.2f} MB of {problem.bytes_written / 1e6:.2f}, together {over:.3f} of the fewest, "
        f"{counts['instructions'] / 1e6:.3f} million instructions"
    )


def main() -> int:
    """Count every case that the filter keeps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="+")
    parser.add_argument("-k", dest="expression", default=None)
    parser.add_argument("--largest", type=int, default=None, metavar="N", help="only the N cases that move most bytes")
    parser.add_argument("--contender", action="append")
    parser.add_argument("--json", type=Path, default=None, help="write the counts, by case and contender, to this file")
    parser.add_argument("--one", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    cases = select(load_suites(tuple(options.suite)).cases, expression=options.expression)
    if options.largest is not None:
        cases = tuple(sorted(cases, key=lambda case: -OPERATORS[case.operator].problem(case).bytes)[: options.largest])
    contenders = options.contender or ["gpubench:auto"]
    if options.one is not None:
        run_once(next(case for case in cases if case.id == options.one), contenders[0])
        return 0
    if shutil.which("ncu") is None:
        print("ncu was not found; it comes with the CUDA toolkit (Nsight Compute).", file=sys.stderr)
        return 2
    found: dict[str, dict[str, dict[str, int]]] = {}
    for case in cases:
        for contender in contenders:
            counts = measure(case, [*options.suite, "--contender", contender])
            if isinstance(counts, dict):
                found.setdefault(case.id, {})[contender] = counts
            line = told(case, counts) if isinstance(counts, dict) else counts
            print(f"{case.id} {contender}: {line}", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
