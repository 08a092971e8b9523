"""The Python API: runs, results and views are those of the command line, and mistakes are told alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gpubench as gb
from gpubench.cli import main
from gpubench.errors import ParameterError, SuiteError, UsageError
from tests.engine.bed import NAIVE, script

SMALL = {"name": "small", "cases": [{"operator": "sum", "shape": [[8], [9]], "contenders": [NAIVE]}]}
FAST: dict[str, Any] = {"rounds": 2, "min_samples": 4, "max_samples": 8}


@gb.contender("cumsum", arrays="numpy")
def mine(x: Any, y: Any, *, dim: int) -> None:
    """Add up."""
    x.cumsum(axis=dim, out=y)


@gb.contender("cumsum", arrays="numpy", name="off_by_one")
def _wrong(x: Any, y: Any, *, dim: int) -> None:
    x.cumsum(axis=dim, out=y)
    y[..., -1] += 1


@pytest.fixture
def device(tmp_path: Path) -> str:
    """Return a scripted device whose times count."""
    return script(tmp_path, info={"simulated": False}, times=[{"us": 20.0, "spread": 0.001}])


def test_a_suite_runs_in_a_worker_as_on_the_command_line(device: str, tmp_path: Path) -> None:
    """Cases, statuses and times are those of `gpubench run`, and the file can be read by both."""
    result = gb.run(gb.suite(SMALL), device=device, output=tmp_path / "r.json", **FAST)
    assert [record.status for record in result.records] == ["ok", "ok"]
    assert result.set.extra["workers"] == 1
    assert gb.read(tmp_path / "r.json").records == result.records
    (tmp_path / "small.yaml").write_text(json.dumps(SMALL))
    more = ["--rounds", "2", "--min-samples", "4", "-q", "-o", str(tmp_path / "c.json")]
    assert main(["run", str(tmp_path / "small.yaml"), "--device", device, *more]) == 0
    others = gb.read(tmp_path / "c.json").records
    assert [(other.case.id, other.contender) for other in others] == [
        (record.case.id, record.contender) for record in result.records
    ]


def test_a_function_of_this_process_is_a_contender(device: str) -> None:
    """It is timed and checked beside ours; a wrong one is `wrong` with the place of its mistake."""
    one = gb.case("cumsum", shape=[8, 9], dim=1)
    result = gb.run(one, contenders=[mine, _wrong, NAIVE], device=device, max_noise=1.0, **FAST)
    assert [record.status for record in result.records] == ["ok", "wrong", "ok"]
    assert result.record("own:mine").summary is not None
    assert [record.contender for record in result.wrong] == ["own:off_by_one"]
    assert "(last column)" in str(result.record("own:off_by_one").message)
    assert mine.__name__ == "mine"
    assert result.set.extra["workers"] == 0
    with pytest.raises(KeyError):
        result.record("torch")


def test_a_run_leaves_no_file_unless_it_is_asked_to(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `output` nothing lies about afterwards."""
    monkeypatch.chdir(tmp_path)
    before = {*tmp_path.iterdir()}
    result = gb.run(gb.suite(SMALL), keep="sum and 8", device=device, **FAST)
    assert len(result.records) == 1
    assert {*tmp_path.iterdir()} == before
    assert result.path is None
    assert result.save(tmp_path / "kept.json").exists()


def test_a_lost_device_is_the_contender_s_fault_and_the_rest_is_not_reached(tmp_path: Path) -> None:
    """In this process a fatal error ends the run: the record says so, and what follows is skipped."""
    lost = script(tmp_path, faults=[{"at": "run", "after": 5, "do": "raise", "code": 700}])
    cases = [gb.case("cumsum", shape=[size, 4], contenders=[mine, NAIVE]) for size in (2, 3)]
    statuses = [record.status for record in gb.run(cases, device=lost, **FAST).records]
    assert statuses.count("device_error") == 1
    assert statuses[-1] == "skipped"


def test_tables_frames_and_comparisons_say_the_same(device: str) -> None:
    """The table is that of `show`; frames hold every record, round and sample; a result compares with another."""
    result = gb.run(gb.suite(SMALL), device=device, **FAST)
    assert "gpubench:naive" in result.table()
    assert "2 ok" in repr(result)
    compared = result.compare(result)
    assert {*compared.verdicts.values()} <= {"SAME", "UNDECIDED"}
    assert "sum/8/dim=all/float32" in compared.table()
    pandas = pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["status"]) == ["ok", "ok"]
    samples = sum(len(record.timing.samples) for record in result.records if record.timing)
    assert len(result.to_pandas("sample")) == samples
    assert list(result.to_pandas("round")["round"]) == [0, 1, 0, 1]
    with pytest.raises(ValueError, match="allowed: record, round, sample"):
        result.to_pandas("batch")  # type: ignore[arg-type]


def test_charts_are_figures(device: str) -> None:
    """`plot` gives what matplotlib shows, and names the charts that there are."""
    case = gb.case("sum", shape=[1000], contenders=[NAIVE])
    figures = gb.run(case, device=device, **FAST).plot("samples")
    assert figures[0].get_size_inches()[0] > 1
    with pytest.raises(UsageError, match="there are bandwidth"):
        gb.run(case, device=device, **FAST).plot("pie")


def test_what_a_notebook_shows_is_escaped(device: str) -> None:
    """A hostile message or name is text in a notebook, and no element of its page."""
    from dataclasses import replace

    result = gb.run(gb.suite(SMALL), device=device, **FAST)
    evil = replace(result.records[0], contender="<script>alert(1)</script>")
    shown = gb.Result(replace(result.set, records=(evil,)))._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "<script>" not in result.compare(result)._repr_html_()


def test_limits_are_told(device: str) -> None:
    """A case's limits are judged as by a suite."""
    result = gb.run(gb.case("sum", shape=[8], contenders=[NAIVE], limits={"median_us": "<= 10"}), device=device, **FAST)
    (missed,) = result.missed_limits
    assert (missed.contender, missed.metric, missed.wanted) == (NAIVE, "median_us", "<= 10")


def test_mistakes_are_told_as_on_the_command_line(device: str) -> None:
    """A wrong parameter, suite, contender, filter or option is one line that names it."""
    with pytest.raises(ParameterError, match="dim: 5 is out of range"):
        gb.case("cumsum", shape=[4, 4], dim=5)
    with pytest.raises(UsageError, match="Did you mean cumsum"):
        gb.case("cumsun", shape=[4])
    with pytest.raises(SuiteError, match="shpe"):
        gb.suite({"name": "s", "cases": [{"operator": "sum", "shpe": [4]}]})
    with pytest.raises(TypeError, match=r"decorate it with @gb\.contender"):
        gb.run(gb.case("sum", shape=[4]), contenders=[print], device=device)
    with pytest.raises(UsageError, match="matches none"):
        gb.run(gb.suite(SMALL), keep="cumprod", device=device)
    with pytest.raises(UsageError, match="There is no timing option 'round'"):
        gb.run(gb.suite(SMALL), device=device, round=3)
    with pytest.raises(ValueError, match="name the operators"):
        gb.contender()


def test_an_operator_of_the_caller_s_own_is_found() -> None:
    """An instance, or a class, is known to `case` afterwards; the name of one of ours is refused."""
    from gpubench.operators import operator

    class Renamed(type(operator("sum"))):  # type: ignore[misc] # the class of one of ours
        name = "my_sum"

    assert gb.operator(Renamed) is Renamed
    assert operator("my_sum").name == "my_sum"
    with pytest.raises(UsageError, match="is taken"):
        gb.operator(operator("sum"))
