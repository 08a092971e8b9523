"""Recorded results judged: runs of one thing, pairs of days, and slow-downs planted in one kernel.

`.venv/bin/python -m studies.verdicts.recorded` reads what lies under results/nvidia-h200/verdicts, `... history` every
suite's runs that this repository ever held, and `... FILE...` judges the unchanged pairs of every two files.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench import names
from gpubench.analysis import pairing
from gpubench.analysis.compare import Options, compare
from gpubench.analysis.controls import CEILINGS, OURS, Controls, estimate
from gpubench.analysis.estimate import ceilings, effects, family, result_times
from gpubench.analysis.judge import LONG_US
from gpubench.analysis.pairing import Pair, Selection, keyed
from gpubench.analysis.rule import Effect, Rule, judge
from gpubench.comparison import Comparison, Row
from gpubench.model import Ceiling, CeilingPoint, Record, ResultSet
from gpubench.results.read import read, reads
from studies.verdicts.gates import TIMES

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

ROOT = Path(__file__).resolve().parents[2] / "results" / "nvidia-h200"
VERDICTS = ROOT / "verdicts"
"""Eleven runs in fresh processes on one GPU, six on the other of that host, three with a slower kernel, three `ab`."""


LEAST = 10
"""Pairs of results with fewer unchanged pairs say nothing of a rate."""

# --- Unchanged work of two days --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Crossed:
    """Unchanged pairs judged as if they had changed: how many, how many called slower and faster, and the share whose
    interval holds no change. `long`, `moved`: our kernels over 50 us, and those that moved by over 2 % on their own.
    """

    pairs: int
    slower: int
    faster: int
    covered: float
    long: int
    moved: int


class Unchanged:
    """The unchanged pairs of two results as arrays, then the ceilings: (pairs + ceilings,)."""

    def __init__(self, old: ResultSet, new: ResultSet, without: str = "") -> None:
        swept = ceilings(old, new)
        self.before = result_times(old, {name: times for name, (times, _) in swept.items()})
        self.after = result_times(new, {name: times for name, (_, times) in swept.items()})
        pairs = [pair for pair in _unchanged(old, new) if pair.either.contender != without]
        self.count = len(pairs)
        self.names = np.asarray([*(family(pair.either) for pair in pairs), *[CEILINGS] * len(swept)], dtype=object)
        self.old = self.before.at([*(id(pair.old) for pair in pairs), *swept])
        self.new = self.after.at([*(id(pair.new) for pair in pairs), *swept])
        self.time_us = np.exp(self.before.log_us[self.old])
        self.same_device = pairing.same_device(old, new)

    def judged(self, at: Array, planted: float = 0.0) -> tuple[Effect, Array]:
        """Return effects and calls where the pairs at these places count as changed, the rest as controls.

        planted: the log ratio by which these pairs are made slower.
        """
        known = np.setdiff1d(np.arange(len(self.names)), at)
        log_ratio = self.after.log_us[self.new] - self.before.log_us[self.old]
        variance = self.before.variance[self.old] + self.after.variance[self.new]
        controls = Controls(self.names[known], self.time_us[known], log_ratio[known], variance[known])
        machine = estimate(controls, self.same_device)
        effect = effects(self.before, self.after, self.old[at], self.new[at], machine, self.names[at])
        effect = replace(effect, value=effect.value + planted)
        return effect, judge(effect, Rule().band(self.time_us[at]), 0.01).call


def crossed(old: ResultSet, new: ResultSet, without: str = "", seed: int = 0) -> Crossed:
    """Judge each random half of the unchanged pairs of two results by the other half and the ceilings.

    without: a contender to leave out.
    """
    work = Unchanged(old, new, without)
    half = np.random.default_rng(seed).random(work.count) < 0.5
    counts = np.zeros(5)
    for chosen in (half, ~half):
        at = np.flatnonzero(chosen)
        effect, call = work.judged(at)
        long = (work.names[at] == OURS) & (work.time_us[at] > LONG_US)
        moved = long & (np.abs(effect.value) > np.log1p(0.02))
        held = np.abs(effect.value) <= effect.half()
        counts += [flags.sum() for flags in (call == 1, call == -1, held, long, moved)]
    slower, faster, covered, long_ones, moved_ones = counts.tolist()
    share = covered / max(work.count, 1)
    return Crossed(work.count, int(slower), int(faster), share, int(long_ones), int(moved_ones))


def found(old: ResultSet, new: ResultSet, change: float) -> list[tuple[int, int]]:
    """Return how many of our kernels are found, each alone made slower by `change`, of how many, in ranges of TIMES."""
    work = Unchanged(old, new)
    counts = [[0, 0] for _ in TIMES]
    for number in np.flatnonzero(work.names[: work.count] == OURS):
        call = work.judged(np.asarray([number]), float(np.log1p(change)))[1]
        place = next(i for i, (low, high) in enumerate(TIMES) if low <= work.time_us[number] < high)
        counts[place][0] += int(call[0] == 1)
        counts[place][1] += 1
    return [(hits, of) for hits, of in counts]


def _together(found: Sequence[Crossed]) -> str:
    """Return what several pairs of runs gave, in words."""
    pairs = sum(tally.pairs for tally in found)
    covered = sum(tally.covered * tally.pairs for tally in found) / max(pairs, 1)
    return (
        f"{len(found)} pairs of runs, {pairs} pairs: {sum(tally.slower for tally in found)} slower, "
        f"{sum(tally.faster for tally in found)} faster; intervals hold {100 * covered:.1f} %; of our kernels over "
        f"50 us {sum(tally.moved for tally in found)} of {sum(tally.long for tally in found)} moved by more than 2 %"
    )


def _unchanged(old: ResultSet, new: ResultSet) -> Iterator[Pair]:
    theirs = keyed(new.records)
    for key, record in keyed(old.records).items():
        pair = Pair(record, theirs.get(key))
        if pair.is_timed and pairing.unchanged(pair, old, new):
            yield pair


# --- Runs of one thing, and one slower kernel ------------------------------------------------------------------------


def load(prefix: str) -> dict[str, ResultSet]:
    """Return the recorded runs whose names begin so, by name."""
    return {path.name.partition(".")[0]: read(path) for path in sorted(VERDICTS.glob(f"{prefix}*.json*"))}


def called(comparisons: Sequence[Comparison]) -> str:
    """Return how many pairs were called what, in words."""
    counts = {
        name: sum(comparison.count(name) for comparison in comparisons)
        for name in ("SLOWER", "FASTER", "DRIFTED", "SAME")
    }
    pairs = sum(len(comparison.rows) for comparison in comparisons)
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    changed = sum(comparison.machine is not None and comparison.machine.changed for comparison in comparisons)
    return f"{len(comparisons)} pairs of runs, {pairs} pairs: {told}; the machine called changed in {changed}"


def on_another_machine(result: ResultSet, factor: float, added_us: float) -> ResultSet:
    """Return the result as a machine would have measured it whose times go by `factor` and are `added_us` longer."""

    def time(us: float | None) -> float | None:
        return None if us is None else us * factor + added_us

    def sweep(points: Sequence[CeilingPoint]) -> tuple[CeilingPoint, ...]:
        return tuple(
            replace(
                point,
                copy_us=point.copy_us * factor + added_us,
                read_us=point.read_us * factor + added_us,
                write_us=point.write_us * factor + added_us,
            )
            for point in points
        )

    def record(one: Record) -> Record:
        if one.timing is None:
            return one
        rounds = tuple(tuple(replace(x, us=x.us * factor + added_us) for x in part) for part in one.timing.rounds)
        return replace(one, timing=replace(one.timing, rounds=rounds))

    was = result.ceiling
    ceiling: Ceiling = replace(
        was,
        launch_us=time(was.launch_us),
        event_overhead_us=time(was.event_overhead_us),
        sweep=sweep(was.sweep),
        rounds=tuple(
            replace(
                before,
                launch_us=time(before.launch_us),
                event_overhead_us=time(before.event_overhead_us),
                sweep=sweep(before.sweep),
            )
            for before in was.rounds
        ),
    )
    return replace(result, ceiling=ceiling, records=tuple(record(measured) for measured in result.records))


def planted() -> list[str]:
    """Return the table of slow-downs of one kernel: by `ab`, and how many of the comparisons find each."""
    clean = load("clean").values()
    lines = [
        "| case | time | slower by `ab` | found by `compare` | through +1.6 us, -2 % | unchanged pairs called |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    adjusted = Options(Rule(adjust=True))
    for cycles in (500, 2000, 7000):
        slow, both = (read(VERDICTS / f"{name}{cycles}.json") for name in ("planted", "ab"))
        selection = Selection(a="gpubench:naive", b="gpubench:naive@b")
        told = compare(both, both, Options(Rule(0.001), selection, interleaved=True)).rows
        plain = [compare(result, slow, adjusted) for result in clean]
        moved = [compare(result, on_another_machine(slow, 0.98, 1.6), adjusted) for result in clean]
        unchanged = [row for comparison in moved for row in comparison.rows if row.unchanged]
        false = f"{sum(row.verdict == 'DRIFTED' for row in unchanged)} of {len(unchanged)}"
        lines += [_planted_line(truth, plain, moved, false) for truth in told]
    return lines


def _planted_line(truth: Row, plain: Sequence[Comparison], moved: Sequence[Comparison], false: str) -> str:
    found = [sum(_verdict(comparison, truth.case) == "SLOWER" for comparison in group) for group in (plain, moved)]
    ratio = 100 * (truth.estimate.ratio - 1) if truth.estimate else 0.0
    cells = (
        truth.case,
        f"{truth.old_us:.1f} us",
        f"{ratio:.1f} %",
        f"{found[0]} of {len(plain)}",
        f"{found[1]} of {len(moved)}",
        false,
    )
    return f"| {' | '.join(cells)} |"


def _verdict(comparison: Comparison, case: str) -> str:
    return next(row.verdict for row in comparison.rows if row.case == case and row.contender == "gpubench:naive")


def main(arguments: Sequence[str]) -> Iterator[str]:
    """Yield what the recorded results say, line by line."""
    if list(arguments) == ["history"]:
        yield from _days(history())
        return
    if arguments:
        yield from _days([read(path) for path in arguments])
        return
    clean, second = load("clean"), load("second")
    rule = Options(Rule())
    yield "one GPU, one after the other: " + called([compare(a, b, rule) for a, b in pairwise(clean.values())])
    yield "one GPU, every pair: " + called([compare(a, b, rule) for a, b in combinations(clean.values(), 2)])
    across = [compare(a, b, rule) for a in clean.values() for b in second.values()]
    yield "two GPUs of one host, every pair: " + called(across)
    for name, pairs in (
        ("one GPU", combinations(clean.values(), 2)),
        ("two GPUs of one host", product(clean.values(), second.values())),
    ):
        yield f"{name}, each half of the pairs judged as if changed: {_together([crossed(a, b) for a, b in pairs])}"
    yield from planted()


def history() -> list[ResultSet]:
    """Return the runs of whole suites under results/ in any commit; nothing that was planted, calibrated or `ab`."""

    def git(*words: str) -> bytes:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout

    found = {}
    for commit in git("log", "--format=%h", "--", ".").decode().split():
        changed = git("diff-tree", "--no-commit-id", "-r", "--name-only", "--diff-filter=AM", commit, "--", ".")
        for name in changed.decode().split():
            if re.search(r"/[a-z_-]+-2026\d+T\d+Z\.json$", name) and not re.search("calibrated|-ab-", name):
                found[name] = reads(git("show", f"{commit}:{name}"), name)
    return sorted(found.values(), key=lambda result: result.created)


def _days(files: Sequence[ResultSet]) -> Iterator[str]:
    for one_gpu in (True, False):
        pairs = [both for both in combinations(files, 2) if pairing.same_device(*both) == one_gpu]
        for without in ("", names.JAX):
            told = [one for a, b in pairs if (one := crossed(a, b, without)).pairs >= LEAST]
            where = ("one GPU" if one_gpu else "two GPUs") + (f", without {without}" if without else "")
            yield f"{where}: {_together(told)}"
    for change in (0.03, 0.05):
        each = [found(a, b, change) for a, b in pairs]
        sums = [tuple(sum(entry[place][i] for entry in each) for i in range(2)) for place in range(len(TIMES))]
        shown = ", ".join(f"{hits} of {of}" for hits, of in sums)
        yield f"two GPUs, +{100 * change:.0f} % in one kernel (under 10 us, 10 to 50 us, over 50 us): {shown} found"


if __name__ == "__main__":
    for line in main(sys.argv[1:]):
        sys.stdout.write(line + "\n")
