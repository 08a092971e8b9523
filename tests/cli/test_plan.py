"""`gpubench plan` and `run --rounds-from`: rounds that show a change, and hostile plans."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpubench.analysis.planning import plan
from gpubench.analysis.rule import Rule
from gpubench.cli import main
from gpubench.errors import ComparisonError
from gpubench.model import ResultSet
from gpubench.results.read import read
from gpubench.results.write import write
from tests.analysis.synthetic import record, result, times

SUITE = """
name: tiny
cases:
  - operator: cumsum
    shape: [[4, 16], [2, 32]]
    dim: -1
    dtype: float32
    contenders: ["gpubench:naive"]
"""


def noisy(drift: float, cases: int = 30, us: float = 200.0) -> ResultSet:
    """Return a result of cases of `us` microseconds whose rounds vary by `drift`, with its cost of sampling."""
    data = times(1, cases, drift=drift, noise=0.001) * us / 100
    records = [record(f"sum/{number}/float32", us) for number, us in enumerate(data)]
    return result(*records, extra={"timings": {"time": 6.0}})


def test_noisier_rounds_take_more_of_them_and_more_time() -> None:
    """A plan asks for more rounds where rounds vary more, and its time grows with them."""
    calm, wild = (plan(noisy(drift), 0.03, Rule()) for drift in (0.002, 0.01))
    assert all(plan.rounds is not None for plan in (*calm, *wild))
    few, many = (float(np.median([plan.rounds or 0 for plan in planned])) for planned in (calm, wild))
    assert 2 <= few <= 6 < many < 60
    assert sum(plan.seconds or 0 for plan in wild) > sum(plan.seconds or 0 for plan in calm) > 0


def test_larger_changes_take_fewer_rounds_and_short_kernels_never_show_small_ones() -> None:
    """5 % takes fewer rounds than 3 %; at 4 us no number shows 3 %, and the plan says what is seen instead."""
    large, small = (plan(noisy(0.01), change, Rule()) for change in (0.05, 0.03))
    assert max(plan.rounds or 0 for plan in large) < max(plan.rounds or 0 for plan in small)
    short = plan(noisy(0.002, us=4.0), 0.03, Rule())
    assert all(plan.rounds is None and plan.least > 0.03 for plan in short)


def test_nothing_timed_is_nothing_to_plan_from() -> None:
    """A result without times is an error in words."""
    with pytest.raises(ComparisonError, match="nothing to plan from"):
        plan(result(record(status="crashed")), 0.03, Rule())


def test_a_plan_is_written_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan of a result gives each case its rounds in the next run, each round as long as before."""
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(SUITE)
    Path("fake.json").write_text(json.dumps({"info": {"name": "F", "simulated": False}, "times": [{"us": 90.0}]}))
    run = ["run", "tiny.yaml", "--device", "fake:fake.json", "-q"]
    assert main([*run, "-o", "first.json"]) == 0
    assert main(["plan", "first.json", "--detect", "5%", "-o", "plan.json"]) in (0, 3)
    document = json.loads(Path("plan.json").read_text())
    first, second = document["rounds"]
    document["rounds"] = {first: 7}
    Path("plan.json").write_text(json.dumps(document))
    assert main([*run, "--rounds-from", "plan.json", "-o", "second.json"]) == 0
    found = {record.case.id: record for record in read("second.json").records}
    timing = found[first].timing
    assert timing is not None
    assert len(timing.rounds) == 7
    assert found[first].case.timing.time_limit_s == pytest.approx(found[second].case.timing.time_limit_s * 7 / 3)
    assert found[second].case.timing.rounds == 3
    assert main([*run, "--rounds-from", "plan.json", "--rounds", "4"]) == 2


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "{}",
        '{"plan_version": 2, "rounds": {}}',
        '{"plan_version": 1, "rounds": []}',
        '{"plan_version": 1, "rounds": {"a": 0}}',
        '{"plan_version": 1, "rounds": {"a": 1e99}}',
        '{"plan_version": 1, "rounds": {"a": 1000000}}',
    ],
)
def test_a_hostile_plan_is_bad_input(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plan that is none, or asks for what cannot be, exits 2 and names the file."""
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(SUITE)
    Path("plan.json").write_text(content)
    assert main(["run", "tiny.yaml", "--device", "host", "--rounds-from", "plan.json"]) == 2
    assert "plan.json" in capsys.readouterr().err


def test_a_change_within_the_threshold_is_bad_usage(tmp_path: Path) -> None:
    """What is not beyond the threshold is never called, however many rounds there are."""
    path = tmp_path / "result.json"
    write(replace(noisy(0.002, 2), extra={}), path)
    assert main(["plan", str(path), "--detect", "1%"]) == 2
    assert main(["plan", str(tmp_path / "missing.json")]) == 2
