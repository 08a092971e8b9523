"""Two tunings against each other: what is not timed is the same work, and what is timed counts on the right side."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from gpubench.model import Record, ResultSet, Sample, Timing
from gpubench.operators import OPERATORS
from gpubench.suite.expand import load_suite
from gpubench.tuning.file import Entry, Number, Tuning, figures_of, write_tuning
from gpubench.tuning.sources import sources_sha256
from gpubench.tuning.space import Subject, spaces
from studies.two_tunings import choices, device_of, drawn, fresh, lines, places, requests, table, telling, timed
from tests.tuning.test_space import h200
from tests.views.samples import result

ROOT = Path(__file__).parents[2]
SUITE = {"sum": load_suite("sum").cases}
SOURCE = "reduce_sum/rows.cu"


def tuning(**regimes: dict[str, Number]) -> Tuning:
    """Return a tuning of regimes of `sum`; `_` in their names stands for a hyphen."""
    known = {regime.name: regime for regime in OPERATORS["sum"].regimes}
    entries = [
        Entry(
            subject="sum",
            regime=regime.name,
            constants=values,
            sources=[SOURCE],
            sources_sha256=sources_sha256([SOURCE], regime),
        )
        for name, values in regimes.items()
        for regime in [known[name.replace("_", "-")]]
    ]
    return Tuning(schema_version=1, gpubench="", created="", device=figures_of(h200()), entries=entries)


FASTER = tuning(little={"ROWS_THREADS": 64}, short_rows={})


def test_only_cases_with_other_plans_are_asked_for() -> None:
    """A tuning against itself changes nothing; against the shipped constants only its own regime, and never twice."""
    device = device_of(FASTER)
    assert not [place for place in places(SUITE, (FASTER, FASTER), device) if place.changed]
    found = places({**SUITE, "again": SUITE["sum"]}, (None, FASTER), device)
    assert len(found) == len({place.case.id for place in found}) == len(SUITE["sum"])
    changed = [place for place in found if place.changed]
    assert {place.regime for place in changed} == {"sum little"}
    assert {place.names for place in changed} == {("gpubench:auto@shipped", "gpubench:auto@ROWS_THREADS=64")}
    assert {request.source for request in requests(changed, device)} == {SOURCE}
    assert {place.regime for place in places(SUITE, (FASTER, tuning(short_rows={})), device, decided_twice=True)} == {
        "sum short-rows"
    }


def test_entries_for_other_sources_do_not_count() -> None:
    """What `auto` would ignore is not held against anything."""
    stale = FASTER.model_copy(update={"entries": [FASTER.entries[0].model_copy(update={"sources_sha256": "0" * 64})]})
    found = fresh(stale)
    assert found is not None
    assert found.entries == []
    assert fresh(None) is None


def test_times_are_of_the_second_over_the_first() -> None:
    """A second that takes nine tenths is under 1 in table and lines; a case without times is counted as not timed."""
    device = device_of(FASTER)
    changed = [place for place in places(SUITE, (None, FASTER), device) if place.changed][:3]
    records = [
        Record(place.asked, name, "ok", None, None, timing=Timing(((Sample(us), Sample(us * 1.001)),) * 6))
        for place in changed[:2]
        for name, us in zip(place.names, (10.0, 9.0), strict=True)
    ]
    run: ResultSet = replace(result(), records=tuple(records))
    times = timed(changed, run)
    assert [timed.us for timed in times] == [pytest.approx((10.0, 9.0), rel=1e-2)] * 2
    assert all(timed.ratio[0] == pytest.approx(0.9) for timed in times)
    (row,) = (line for line in table(changed, times, "group") if line.startswith("| sum |"))
    assert row.startswith("| sum | 3 | 0 | 2 | 0.9000 (")
    assert row.endswith("| 0 |")
    assert len(lines(times)) == 2
    assert timed(changed, result()) == []


def test_differing_choices_are_told() -> None:
    """Regimes of both files, and those of other constants by name."""
    told = "\n".join(choices((FASTER, tuning(little={}, short_rows={}, columns={}))))
    assert told.startswith("2 regimes were decided by both; 1 of them with other constants.")
    assert "| sum little | ROWS_THREADS 64 | shipped |" in told


def test_the_same_seed_draws_the_same_cases() -> None:
    """Validation cases are drawn by the generator of suites, none where none are wanted."""
    assert drawn("cumsum", 4, 7) == drawn("cumsum", 4, 7) != drawn("cumsum", 4, 8)
    assert drawn("cumsum", 0, 7) == ()


def test_the_script_counts_without_a_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The suite that it writes can be read, and its count is that of the plans; two of nothing are a plain mistake."""
    main = runpy.run_path(str(ROOT / "scripts" / "tuning_evidence.py"))["main"]
    file, suite = tmp_path / "tuning.json", tmp_path / "cases.yaml"
    write_tuning(FASTER, file)
    drawn_by = ["--figures", str(file), "--random", "4", "--each", "1"]
    assert main(["cases", str(suite), "--most-bytes", "1e6", *drawn_by]) == 0
    assert {case.operator for case in load_suite(suite).cases} == set(OPERATORS)
    assert main(["compare", "none", str(file), str(suite), "--device", "none"]) == 0
    told = capsys.readouterr().out
    assert "0 timed" in told
    assert "| sum little |" in told
    assert main(["compare", "none", "none", str(suite)]) == 2
    assert "nothing to compare" in capsys.readouterr().err


def test_random_cases_are_taken_where_configurations_differ() -> None:
    """Of many that are drawn a few stay, at most so many a regime, and on each of them some configurations differ."""
    device = device_of(FASTER)
    draws = drawn("sum", 30, 1)
    taken = telling(draws, device, 2)
    assert 0 < len(taken) < len(draws)
    for space in spaces(Subject(OPERATORS["sum"]), taken, device):
        assert len(space.cases) <= 2
        for case in space.cases:
            assert len({entrant.plans[case.id] for entrant in space.entrants}) > 1
