"""The summary of a long run: one screen that says what was found, and where the rest is."""

from __future__ import annotations

from dataclasses import replace

from gpubench.names import AUTO
from gpubench.views.columns import Look
from gpubench.views.means import means
from gpubench.views.rows import rows
from gpubench.views.summary import is_long, summary
from tests.views.generated import case_of, h200, many, timed_record
from tests.views.samples import record, result

HOSTILE = "x/\x1b[2J\u202e|`<script>[a](b)\n@me"


def test_a_long_run_fits_a_screen() -> None:
    """A thousand cases are told in under 40 lines of 100 columns, with the commands that show the rest."""
    found = many(1000)
    assert is_long(found)
    lines = summary(found, "runs/x/many.json", Look()).splitlines()
    assert len(lines) < 40
    assert max(map(len, lines)) <= 120
    assert any("gpubench show runs/x/many.json" in line for line in lines)
    assert any("3000 results: 3000 ok" in line for line in lines)


def test_the_summary_has_the_means_of_the_table() -> None:
    """Each operator's own choice comes first, with its mean share and ratio, and how many cases each is over."""
    cases = [case_of("sum", [2**20, n], "float32") for n in (8, 16, 32)]
    records = [
        timed_record(case, name, moved, 100.0 * n, f"{case.id} {name}")
        for n, (case, moved) in enumerate(cases, 1)
        for name in ("torch", AUTO)
    ]
    told = summary(h200(tuple(records)), "r.json", Look()).splitlines()
    (ours,) = [line for line in told if AUTO in line]
    (mean,) = [mean for mean in means(rows(h200(tuple(records)))) if mean.contender == AUTO]
    assert mean.of_ceiling is not None
    assert f"3 of 3  {100 * mean.of_ceiling:6.1f} % (3)".split() == ours.split()[2:8]
    assert told.index(ours) < next(i for i, line in enumerate(told) if line.startswith("sum") and "torch" in line)


def test_what_went_wrong_stands_in_the_summary() -> None:
    """Wrong answers and failures are named, at most ten, foreign words made harmless."""
    bad = [record(f"sum/{n}/dim=0/float32", HOSTILE, "wrong", message=HOSTILE) for n in range(30)]
    fine = [record("sum/99/dim=0/float32", status="unsupported", median_us=None)]
    told = summary(result(*bad, *fine), HOSTILE, Look())
    assert told.count("wrong: sum/") == 10
    assert "... and 20 more" in told
    assert all(line.isprintable() for line in told.splitlines())
    assert "unsupported: sum" not in told


def test_a_simulated_run_claims_no_share() -> None:
    """On the host simulator nothing is held against a ceiling, and the heading says so."""
    found = many(60)
    simulated = replace(found, records=tuple(replace(record, simulated=True) for record in found.records))
    told = summary(simulated, "r.json", Look())
    assert "SIMULATED" in told
    assert "%" not in told
