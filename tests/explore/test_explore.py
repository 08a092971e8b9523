"""Exploring: a planted hole is found and named, a search goes on where it ended, and says what it cannot do."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpubench import kernels
from gpubench.cli import main
from gpubench.cli.explore import _compile
from gpubench.engine import supervisor
from gpubench.engine.process import WorkerProcess
from gpubench.names import AUTO
from gpubench.results.read import read
from gpubench.suite.expand import load_suite
from tests.engine import bed

SUITE = """
name: holes
peers: [torch]
cases:
  - operator: cumsum
    random: {cases: 1, elements: [1000, 100000], dims: [2, 2], layouts: {contiguous: 1}}
    dtype: float32
"""


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Let commands run on the planted worker, in a folder of their own; give the suite's path."""
    spawn = functools.partial(WorkerProcess, "tests.explore.planted_worker")
    monkeypatch.setattr(supervisor, "Supervisor", functools.partial(supervisor.Supervisor, spawn=spawn))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "holes.yaml").write_text(SUITE)
    return str(tmp_path / "holes.yaml")


def explored(*more: str) -> int:
    """Explore for a while; the fake worker has hundreds of cases a second."""
    return main(["explore", *more, "-o", "found.json", "--share-device"])


def test_a_planted_hole_is_found_and_named(planted: str) -> None:
    """Columns of odd width are told as one region, with the range, the ratio and the rival; its cases are a suite."""
    assert explored(planted, "--time", "4", "--as-suite", "holes-found.yaml", "-q") == 0
    found = read(Path("found.json"))
    worst = found.extra["regions"][0]
    assert worst["ratio"] == 0.5
    assert worst["rival"] == "torch"
    assert re.fullmatch(r"cumsum over dim 0 of \[\d+\.\.\d+, [13]\.\.63 odd\], any dtype, any layout", worst["region"])
    for case in load_suite("holes-found.yaml").cases:
        assert case.params["dim"] == 0
        assert case.params["shape"][1] % 2 == 1
        assert case.params["shape"][1] <= 63
    assert len(load_suite("holes-found.yaml").cases) >= len(worst["cases"]) >= 10


def test_a_search_goes_on_where_it_was_ended(
    planted: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that was ended and resumed tries the same cases in the same order as one that was not."""
    original: Any = supervisor.Supervisor
    left = [6]

    def run(self: Any, cases: Any, *rest: Any, **more: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            self.interrupt()
        return inner(self, cases, *rest, **more)

    cls = original.func
    inner = cls.run
    monkeypatch.setattr(cls, "run", run)
    assert explored(planted, "--time", "60", "-q") == 130
    assert "--resume" in capsys.readouterr().err
    first = [record.case.id for record in read(Path("found.json")).records if record.status == "ok"]
    assert explored(planted, "--time", "2", "--resume", "found.json") == 0
    told = capsys.readouterr().err
    assert f"{len(first)} records are there already" in told
    assert "/-" not in told
    second = [record.case.id for record in read(Path("found.json")).records]
    assert second[: len(first)] == first
    assert len(second) > len(first) > 0
    assert not list(Path().glob("*journal*"))


def test_what_a_batch_launches_is_compiled_side_by_side_before_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU the kernels of a batch's cases are compiled by several processes; other devices need none of it."""
    asked: list[tuple[Any, int]] = []
    monkeypatch.setattr(kernels, "compile_many", lambda requests, processes: asked.append((requests, processes)))
    cases = [
        bed.case("cumsum", {"shape": [100, 3 + number], "dim": 1}, contenders=(AUTO, "torch")) for number in range(3)
    ]
    for kind in ("cuda", "fake"):
        environment = {"device": {"kind": kind, "compute_capability": "9.0"}}
        _compile(SimpleNamespace(environment=environment), (), cases)  # type: ignore[arg-type] # all that it reads
    ((requests, processes),) = asked
    assert {request.source.split("/")[0] for request in requests} == {"cumsum"}
    assert {request.arch for request in requests} == {"sm_90"}
    assert processes >= 1


@pytest.mark.usefixtures("planted")
def test_nothing_to_draw_or_to_lose_to_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """A suite without random entries, no other contender, an unknown library: one sentence that names the fix."""
    file = Path("other.yaml")
    file.write_text("name: o\ncases:\n  - {operator: cumsum, shape: [4]}\n")
    assert explored(str(file)) == 2
    assert "has no random entry to draw cases from" in capsys.readouterr().err
    file.write_text("name: o\ncases:\n  - {operator: cumsum, random: {cases: 1}}\n")
    assert explored(str(file)) == 2
    assert "nothing beside gpubench:auto to lose to: name a library, --peer torch" in capsys.readouterr().err
    assert explored(str(file), "--peer", "cub", "--time", "600", "-q") == 0  # it ends when nothing can be compared
    assert "No case could be compared. cub: takes nothing" in capsys.readouterr().err
    assert explored(str(file), "--peer", "tortch") == 2
    assert "loses in none" not in capsys.readouterr().out
    assert explored(str(file), "--below", "1.5") == 2
    assert explored(str(file), "--time", "soon") == 2
    assert "'soon' is not a valid number" in capsys.readouterr().err
    assert explored(str(file), "--peer", "torch", "--of", "gpubench:naiv") == 2
    assert "--of: cumsum has no gpubench:naiv. Did you mean gpubench:naive?" in capsys.readouterr().err


@pytest.mark.usefixtures("planted")
def test_simulated_times_are_told_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    """Regions of simulated times come with a warning, and `show --worst` says why it leaves them out."""
    file = Path("other.yaml")
    file.write_text("name: o\npeers: [torch]\ncases:\n  - {operator: sum, random: {cases: 1}}\n")
    assert explored(str(file), "--time", "0.2", "-q") == 0
    assert "say nothing of a GPU" in capsys.readouterr().err
    assert main(["show", "found.json", "--worst", "3"]) == 2
    assert "run the suite on a GPU" in capsys.readouterr().err


def test_regions_are_printed_worst_first(planted: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The lines of regions end with how many cases were tried."""
    assert explored(planted, "--time", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("cumsum over dim 0 of [")
    assert lines[-1].endswith("cases tried")
    ratios = [region["ratio"] for region in read(Path("found.json")).extra["regions"]]
    assert ratios == sorted(ratios)
