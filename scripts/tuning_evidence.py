#!/usr/bin/env python3
"""Hold tunings to their promises on a GPU: the tables of docs/tuning.md.

    scripts/tuning_evidence.py cases tuned-cases.yaml --seed 2201
    gpubench tune tuned-cases.yaml --seed 1 --into first.json
    gpubench tune tuned-cases.yaml --seed 2 --into second.json
    scripts/tuning_evidence.py compare first.json second.json tuned-cases.yaml --decided-twice
    scripts/tuning_evidence.py compare none first.json sum elementwise index_add cumsum
    scripts/tuning_evidence.py compare none first.json random --seed 71 --seed 72

`cases` writes the suite to tune over: the cases of all suites, and for each regime those of 200 random ones
whose plans tell most configurations apart, so that every crossover has cases on both its sides. `compare`
plans every case with the constants of both tunings (`none`: the shipped ones) and counts those whose plan stays the
same: equal launches need no timing. The others are timed side by side, as `gpubench ab` does. Without a GPU
(--device none) it only counts them.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gpubench.cli.measuring import measure, with_rounds  # noqa: E402 - the checkout must be found first
from gpubench.cli.tuning_choice import tuning_choice  # noqa: E402
from gpubench.devices import open_device  # noqa: E402
from gpubench.engine.repository import source  # noqa: E402
from gpubench.errors import GpubenchError, UsageError  # noqa: E402
from gpubench.files import replace as put  # noqa: E402
from gpubench.kernels import compile_many  # noqa: E402
from gpubench.model import Case, DeviceInfo  # noqa: E402
from gpubench.names import AUTO  # noqa: E402
from gpubench.operators import OPERATORS  # noqa: E402
from gpubench.suite.expand import Suite, load_suite  # noqa: E402
from gpubench.suite.write import suite_text  # noqa: E402
from gpubench.tuning.file import Tuning, read_tuning  # noqa: E402
from studies.two_tunings import (  # noqa: E402
    Place,
    Timed,
    choices,
    device_of,
    drawn,
    fresh,
    lines,
    places,
    requests,
    table,
    telling,
    timed,
)


def write_cases(given: argparse.Namespace) -> int:
    """Write the suite to tune over."""
    device = device_of(read_tuning(given.figures).tuning) if given.figures else open_device(given.device).info
    chosen: dict[str, Case] = {}
    for name in OPERATORS:
        random = [case for case in drawn(name, given.random, given.seed) if _moves(case) <= given.most_bytes]
        for case in (*load_suite(name).cases, *telling(random, device, given.each)):
            if _moves(case) <= given.most_bytes:
                chosen.setdefault(case.id, replace(case, contenders=(AUTO,)))
    about = f"The suites' cases, and {given.each} a regime of {given.random} random ones of each operator."
    put(given.file, suite_text("tuned-cases", list(chosen.values()), {}, about).encode())
    print(f"{len(chosen)} cases: {given.file}")
    return 0


def _moves(case: Case) -> int:
    return OPERATORS[case.operator].problem(case).bytes


def compare(given: argparse.Namespace) -> int:
    """Count the cases whose plans differ, time them, and print the tables."""
    first, second = (fresh(_read(name)) for name in (given.first, given.second))
    groups: dict[str, list[Case]] = {}
    for name in given.suites:
        for seed in given.seed or (None,):
            suite = load_suite(name, seed)
            groups.setdefault(suite.name, []).extend(suite.cases)
    device = _device(first, second)
    found = places(groups, (first, second), device, given.decided_twice)
    print("\n".join(choices((first, second))))
    changed = [place for place in found if place.changed]
    wanted = [place for place in changed if _moves(place.case) <= given.most_bytes]
    times = _time(wanted, device, given) if given.device != "none" and wanted else []
    print("\n".join([*table(found, times, "group"), *table(found, times, "regime"), *lines(times)]))
    left = len(changed) - len(times)
    print(f"{len(found)} cases, {len(changed)} with another plan, {len(times)} timed, {left} not.")
    return 0


def _read(name: str) -> Tuning | None:
    return None if name == "none" else read_tuning(Path(name)).tuning


def _device(first: Tuning | None, second: Tuning | None) -> DeviceInfo:
    known = first or second
    if known is None:
        raise UsageError("Name a tuning file: with none twice there is nothing to compare.")
    return device_of(known)


def _time(found: list[Place], device: DeviceInfo, given: argparse.Namespace) -> list[Timed]:
    cases = [
        replace(
            place.asked,
            timing=replace(
                with_rounds(place.case.timing, given.rounds, given.samples),
                order="alternating",
                max_noise=1.0,
                time_limit_s=given.time_limit,
            ),
        )
        for place in found
    ]
    if given.device.startswith("cuda"):
        compile_many(requests(found, device), os.cpu_count() or 1)
    suite = Suite("tunings", "0" * 64, "", tuple(cases))
    with tuning_choice("none"):
        told = (tuple(sys.argv), source([], {}))
        result = measure(cases, suite, given.device, 0, False, given.output, given.share_device, told).result
    return timed(found, result)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    cases = commands.add_parser("cases", help="write the suite to tune over")
    cases.add_argument("file", type=Path)
    cases.add_argument("--random", type=int, default=200, help="random cases of each operator to choose from")
    cases.add_argument("--each", type=int, default=8, help="random cases that are taken for a regime")
    cases.add_argument("--figures", type=Path, metavar="TUNING", help="take the GPU's figures from a tuning file")
    cases.add_argument("--device", default="cuda:0", help="the GPU, without --figures")
    cases.add_argument("--seed", type=int, default=1, help="of the random cases")
    cases.set_defaults(work=write_cases)
    against = commands.add_parser("compare", help="count and time the cases whose plans differ")
    against.add_argument("first", help="a tuning file, or none")
    against.add_argument("second", help="a tuning file, or none")
    against.add_argument("suites", nargs="+", metavar="SUITE")
    against.add_argument("--seed", type=int, action="append", help="of random entries (repeat for more)")
    against.add_argument("--decided-twice", action="store_true", help="only regimes that both tunings decided")
    against.add_argument("--rounds", type=int, default=24)
    against.add_argument("--samples", type=int, default=24, help="of each contender in a round")
    against.add_argument("--time-limit", type=float, default=5.0, help="seconds of sampling a contender")
    against.add_argument("--device", default="cuda:0", help="or none, to count only")
    against.add_argument("--share-device", action="store_true")
    against.add_argument("-o", "--output", type=Path, help="the result file")
    against.set_defaults(work=compare)
    for command in (cases, against):
        command.add_argument("--most-bytes", type=float, default=math.inf, help="leave out cases that move more")
    given = parser.parse_args(arguments)
    try:
        return int(given.work(given))
    except GpubenchError as error:
        print(error, file=sys.stderr)
        return int(error.exit_code)


if __name__ == "__main__":
    sys.exit(main())
