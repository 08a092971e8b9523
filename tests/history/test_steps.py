"""A step is found where it is, means what SLOWER means, and noise is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpubench.analysis.compare import Options, compare
from gpubench.analysis.rule import Rule
from gpubench.comparison import Comparison
from gpubench.history.gate import against, past
from gpubench.history.runs import shifts
from gpubench.history.steps import find
from gpubench.past import Found, Panel
from gpubench.results.index import Column, column, panel
from gpubench.results.points import scan
from tests.results.histories import History, Planted, file_of, make, name, run

pytest.importorskip("ruptures", reason="needs the extra history")

OURS = "gpubench:auto"


def columns(folder: Path, of: History) -> list[Column]:
    """Return the runs of a history as columns."""
    make(folder, of)
    return [column(file_of(number), scan(folder / file_of(number), "")) for number in range(of.runs)]


def panel_of(folder: Path, of: History) -> Panel:
    """Return a history as a panel."""
    return panel(columns(folder, of))


def steps(found: Found) -> list[tuple[str, str, int, str]]:
    """Return case, contender, run and verdict of each step."""
    return [(step.case, step.contender, step.at, step.verdict) for step in found.steps]


def test_a_step_is_found_at_its_run_and_named_by_its_code(tmp_path: Path) -> None:
    """Other machine code makes SLOWER or FASTER, unchanged code DRIFTED; the interval holds what was planted."""
    planted = {1: Planted(12, 1.03), 3: Planted(15, 0.95), 5: Planted(9, 1.04, code=False)}
    found = find(panel_of(tmp_path, History(planted=planted)), Rule())
    assert steps(found) == [
        (name(5), OURS, 9, "DRIFTED"),
        (name(1), OURS, 12, "SLOWER"),
        (name(3), OURS, 15, "FASTER"),
    ]
    for step, factor in zip(found.steps, (1.04, 1.03, 0.95), strict=True):
        assert step.low <= factor <= step.high
        assert step.high - step.low < 0.02
        assert step.before == step.at - 1
    assert found.machine_steps == []


def test_no_step_in_a_healthy_history_nor_by_one_odd_run(tmp_path: Path) -> None:
    """Noise is no step, and neither is a single run 10 % off; changes within the threshold are none."""
    assert steps(find(panel_of(tmp_path / "healthy", History(runs=30)), Rule())) == []
    odd = panel_of(tmp_path / "odd", History(runs=20))
    odd.points["log_us"][0, 11] += 0.1
    odd.points["log_us"][3, 19] += 0.1
    assert steps(find(odd, Rule())) == []
    small = History(planted={1: Planted(12, 1.008)})
    assert steps(find(panel_of(tmp_path / "small", small), Rule())) == []
    assert steps(find(panel_of(tmp_path / "small", small), Rule(threshold=0.002))) != []


def test_a_machine_that_changed_is_one_step_of_the_machine(tmp_path: Path) -> None:
    """When all times go by 4 %, ceilings too, no series has a step; one that moved beyond that has its own."""
    planted = {2: Planted(14, 1.05)}
    found = find(panel_of(tmp_path, History(machine={14: 1.04}, planted=planted)), Rule())
    assert steps(found) == [(name(2), OURS, 14, "SLOWER")]
    (moved,) = found.machine_steps
    assert (moved.before, moved.at) == (13, 14)
    assert moved.factor[1] <= 1.04 <= moved.factor[2]
    assert found.steps[0].low <= 1.05 <= found.steps[0].high


def test_ticks_of_the_clock_are_no_steps(tmp_path: Path) -> None:
    """At 3 us a tick is 1 %: times that settle on the next tick have no step, whatever the threshold."""
    whole = panel_of(tmp_path, History(runs=30))
    whole.points["log_us"] = np.log(3.008)
    whole.points["log_us"][4, 15:] = np.log(3.04)
    assert steps(find(whole, Rule(threshold=0.001))) == []
    whole.points["log_us"][4, 15:] = np.log(3.2)
    assert len(find(whole, Rule()).steps) == 1


def test_without_controls_times_speak_for_themselves(tmp_path: Path) -> None:
    """Where no code and no ceiling is known, nothing is taken off, and a step of one series is still found."""
    whole = panel_of(tmp_path, History(planted={1: Planted(12, 1.2)}))
    whole.points["code"] = 0
    bare = Panel(whole.runs, whole.series, whole.points, whole.ceilings[:0])
    assert not shifts(bare).shift.any()
    assert steps(find(bare, Rule())) == [(name(1), OURS, 12, "SLOWER")]


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_few_runs_are_no_error(tmp_path: Path, runs: int) -> None:
    """A history begins with one run."""
    found = find(panel_of(tmp_path, History(runs=runs)), Rule())
    assert steps(found) == []
    assert found.machine_steps == []


# --- The gate --------------------------------------------------------------------------------------------------------


def gate(folder: Path, of: History, rule: Rule | None = None) -> Comparison:
    """Return the comparison of the last run of a history with those before it."""
    rule = rule or Rule()
    known = past(panel(columns(folder, of)), rule)
    old, new = run(of, of.runs - 2), run(of, of.runs - 1)
    return compare(old, new, Options(rule, estimate=lambda timed: against(timed, known)))


def slower(comparison: Comparison) -> list[str]:
    """Return the cases that are SLOWER."""
    return [row.case for row in comparison.rows if row.verdict == "SLOWER"]


def test_the_gate_compares_with_the_segment_since_the_last_step(tmp_path: Path) -> None:
    """What was accepted before is no regression again; what is slower than the segment is, by one run."""
    of = History(runs=21, planted={1: Planted(10, 1.2), 2: Planted(20, 1.03)})
    found = gate(tmp_path, of)
    assert slower(found) == [name(2)]
    row = next(row for row in found.rows if row.case == name(1) and row.new_contender == OURS)
    assert row.verdict == "SAME"
    assert row.old_us == pytest.approx(100 * 1.3 * 1.2, rel=0.01)


def test_a_drift_by_small_steps_shows_at_the_gate(tmp_path: Path) -> None:
    """Three changes of 0.8 %, each below the threshold, add up against the whole segment, not against one run."""
    whole = columns(tmp_path, of := History(runs=21))
    drifting = panel(whole)
    for start in (16, 18, 20):
        drifting.points["log_us"][0, start:] += 0.008
        drifting.points["code"][0, start:] += 1
    known = past(drifting, Rule())
    old, new = run(of, 19), run(of, 20)
    found = compare(old, new, Options(Rule(), estimate=lambda timed: against(timed, known)))
    row = next(row for row in found.rows if (row.case, row.new_contender) == drifting.series[0])
    assert row.estimate is not None
    assert row.estimate.ratio > 1.015
    assert row.verdict == "SLOWER"


def test_the_gate_tells_a_machine_from_a_kernel(tmp_path: Path) -> None:
    """A run on a machine 5 % slower is called that, and with its change taken off nothing is slower."""
    found = gate(tmp_path / "a", History(runs=16, machine={15: 1.05}))
    assert found.machine is not None
    assert found.machine.changed
    assert found.machine.factor[1] < 1.05 < found.machine.factor[2]
    adjusted = gate(tmp_path / "b", History(runs=16, machine={15: 1.05}), Rule(adjust=True))
    assert slower(adjusted) == []
