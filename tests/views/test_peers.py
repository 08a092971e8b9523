"""How a table sets our contenders beside other libraries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpubench.model import Check, Record
from gpubench.views import means
from gpubench.views.rows import Row, rows
from gpubench.views.tables import results_table
from tests.views.samples import CASE, record, result

SUM = "sum/1024/dim=0/float32"


def by_contender(*records: Record) -> dict[str, Row]:
    """Return the rows of one case."""
    return {row.contender: row for row in rows(result(*records))}


def test_the_fastest_other_library_is_the_one_to_compare_with() -> None:
    """Its time over ours: above 1 we are faster. numpy runs on the host and is no peer."""
    table = by_contender(
        record(median_us=40.0),
        record(contender="torch", median_us=80.0),
        record(contender="cupy", median_us=60.0),
        record(contender="numpy", median_us=1.0),
    )
    ours = table["gpubench:auto"]
    assert ours.best_peer == "cupy"
    assert ours.versus_peer == pytest.approx(1.5)
    assert table["torch"].versus_peer == pytest.approx(0.75)
    assert table["numpy"].best_peer is None


@pytest.mark.parametrize("status", ["device_error", "throttled", "skipped", "unsupported"])
def test_a_peer_whose_time_cannot_be_trusted_is_no_yardstick(status: str) -> None:
    """Only ok and noisy ones count."""
    slow = record(contender="torch", median_us=80.0)
    bad = record(contender="cupy", status=status, median_us=20.0)  # type: ignore[arg-type] # a status, as text
    assert by_contender(record(), slow, bad)["gpubench:auto"].best_peer == "torch"


def test_without_peers_the_table_has_no_column_for_them() -> None:
    """Columns that say nothing are not shown; with a peer they are, and the means under the table."""
    assert "best peer" not in results_table(result(record()))
    shown = results_table(result(record(), record(contender="torch", median_us=60.0)))
    assert "x best peer" in shown
    assert "geometric means" in shown


def test_means_are_geometric_over_the_cases_of_an_operator() -> None:
    """Twice and half as fast is even; wrong and simulated results do not count."""
    table = rows(
        result(
            record(median_us=40.0),
            record(contender="torch", median_us=80.0),
            record("cumsum/7/dim=0/float32", median_us=40.0),
            record("cumsum/7/dim=0/float32", "torch", median_us=20.0),
            record("cumsum/8/dim=0/float32", status="wrong", median_us=1.0),
            record(SUM, median_us=10.0),
        )
    )
    found = {(mean.operator, mean.contender): mean for mean in means.means(table)}
    ours = found["cumsum", "gpubench:auto"]
    assert (ours.cases, ours.peers) == (2, 2)
    assert ours.versus_peer == pytest.approx(1.0)
    assert found["sum", "gpubench:auto"].versus_peer is None


def test_a_missing_library_is_told_once_with_the_number_of_its_cases() -> None:
    """Not a line a case."""
    missing = [
        record(f"cumsum/{n}/dim=0/float32", "torch", "skipped", None, message="torch is not installed.")
        for n in range(50)
    ]
    shown = results_table(result(*missing))
    assert shown.count("torch is not installed.") == 1
    assert "50 cases torch: torch is not installed." in shown


def test_more_than_all_of_the_ceiling_is_shown_and_explained() -> None:
    """Never clipped."""
    fast = record()
    fast = replace(fast, summary={**(fast.summary or {}), "fraction_of_ceiling": 1.25})
    shown = results_table(result(fast))
    assert "125" in shown
    assert "1 over 100 % of ceiling: fewer bytes" in shown


def test_a_peer_beyond_our_tolerance_is_no_wrong_answer() -> None:
    """Its error is a figure with another word than a wrong answer of ours."""
    off = record(contender="torch", check=Check(False, 0.5, 3.5))
    shown = results_table(result(record(case=CASE), off))
    assert "over 3.5" in shown
    assert "WRONG" not in shown


def test_shares_of_launch_bound_cases_do_not_count_in_the_means() -> None:
    """The mean share of the ceiling is over the cases that moving bytes decides, in the table as in the report."""
    from gpubench.views.means import means

    table = rows(result(record(median_us=40.0), record("cumsum/7/dim=0/float32", median_us=5.0)))
    assert (table[1].launch_bound, table[1].fraction) == (True, None)
    (one,) = means(table)
    assert one.of_ceiling == pytest.approx(table[0].fraction)
    assert (one.cases, one.shares) == (2, 1)
