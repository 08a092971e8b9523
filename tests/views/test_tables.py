"""The table of a result: nothing misleads, nothing is lost, nothing breaks it."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.model import Ceiling
from gpubench.views.rows import rows
from gpubench.views.tables import COLUMNS, SORTS, Look, ordered, results_markdown, results_table
from gpubench.views.text import cell_width
from tests.views.samples import CASE, mixed, record, result

HOSTILE = "x/\x1b[2J\u202e|`<script>[a](b)\n@me"


def lines_with(word: str, table: str) -> list[str]:
    """Return the lines of a table that hold the word."""
    return [line for line in table.splitlines() if word in line]


def test_a_piped_row_names_everything() -> None:
    """Piped, each row holds case, contender, median, interval, rate, ceiling, share, speed-up, check and status."""
    (line,) = lines_with("decoupled_lookback", results_table(mixed()))
    bar = "\u2588" * 6 + "\u2589"
    assert line.split() == (
        f"{CASE} gpubench:decoupled_lookback 36.20 us \u00b10.2 % 3708 4253 {bar} 87.2 % 1141x ok 0.12 ok".split()
    )


@pytest.mark.parametrize("width", [20, 40, 80, 120, 200])
def test_rows_fit_the_terminal(width: int) -> None:
    """At any usable width the table's lines fit; contender, median and status stay down to 50 columns."""
    table = results_table(mixed(), Look(width=width))
    body = table.split("\n\n")[1]
    if width >= 80:
        assert max(cell_width(line) for line in body.splitlines()) <= width
    assert all(word in body for word in ("gpubench:auto", "48.90 us", "unsupported"))


def test_80_columns_show_rate_and_ceiling() -> None:
    """A narrow terminal still shows how far from the ceiling each contender is."""
    table = results_table(result(record(), record(contender="numpy", median_us=4e4)), Look(width=80))
    assert "3355" in table
    assert "78.9 %" in table
    assert "1000x" in table
    assert lines_with(CASE, table) == [CASE]


def test_simulated_rows_claim_nothing_about_a_gpu() -> None:
    """A simulated record is marked in every view and shows no rate, no share of the ceiling and no speed-up."""
    content = result(record(simulated=True), record(contender="numpy", median_us=4e4))
    for view in (results_table(content), results_table(content, Look(width=80)), results_markdown(content)):
        (line,) = lines_with("gpubench:auto", view)
        assert "simulated" in line
        assert "SIMULATED" in view
        assert "3355" not in line
        assert "78.9" not in line
        assert "1000x" not in line


def test_the_rates_of_a_machine_without_a_gpu_are_named_as_its_memorys() -> None:
    """What numpy reached in the host's memory is not called a ceiling for kernels."""
    hosts = replace(result(record(simulated=True)), environment={"device": {"kind": "host", "name": "A CPU"}})
    (line,) = lines_with("copy ", results_table(hosts))
    assert line.startswith("host memory, by numpy: copy ")


def test_launch_bound_cases_are_marked() -> None:
    """A median that the launch dominates shows no share of the ceiling but says so, and the note gives the limit."""
    table = results_table(mixed())
    (line,) = lines_with("3.400 us", table)
    assert "launch-bound" in line
    assert "launch-bound: under 3 x an empty launch (2.300 us)" in table
    free = results_table(result(record(median_us=3.4), ceiling=Ceiling(4253.0)))
    assert "launch-bound" not in free


def test_the_host_contender_is_not_measured_by_the_gpu() -> None:
    """Numpy's wall time is neither launch-bound nor given a share of the device's ceiling."""
    (row,) = rows(result(record(contender="numpy", median_us=3.0)))
    assert not row.launch_bound
    assert row.fraction is None
    assert row.speedup == 1.0


def test_statuses_and_messages_are_told() -> None:
    """What went wrong stands below the table, and the last line counts every status."""
    table = results_table(mixed())
    assert "gpubench:tiled: tiled takes real dtypes only" in table
    assert "WRONG 8.5" in table
    assert table.rstrip().endswith("9 results: 6 ok, 1 wrong, 1 unsupported, 1 noisy")


def test_hostile_strings_are_harmless_in_every_view() -> None:
    """Control characters, markup and cell borders in any string of a result reach no terminal and no Markdown."""
    content = result(
        record(HOSTILE, HOSTILE, "wrong", message=HOSTILE),
        record(HOSTILE, HOSTILE, simulated=True),
        gpubench=HOSTILE,
        created=HOSTILE,
        suite={"name": HOSTILE},
        environment={"device": {"name": HOSTILE, "driver": HOSTILE}},
    )
    for view in (results_table(content), results_table(content, Look(width=80)), results_markdown(content)):
        assert all(line.isprintable() for line in view.splitlines())
        assert "\n@me" not in view
    markdown = results_markdown(content)
    assert "<script>" not in markdown.replace("`", "")
    table = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert {line.count("|") for line in table} == {11}


def test_color_only_where_asked() -> None:
    """Plain text has no escape codes; coloured text is the same text with them."""
    plain = results_table(mixed(), Look(width=100))
    colored = results_table(mixed(), Look(width=100, color=True))
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain
    assert "\x1b[31mwrong" in colored


def test_ascii_only_where_the_locale_has_no_more() -> None:
    """Without Unicode the table is pure ASCII."""
    assert results_table(mixed(), Look(width=100, unicode=False)).isascii()


@pytest.mark.parametrize("sort", [None, *SORTS])
def test_orders_keep_every_row_and_every_case_together(sort: str | None) -> None:
    """No order loses a row or tears a case apart."""
    before = rows(mixed())
    after = ordered(before, sort)
    assert sorted(map(repr, after)) == sorted(map(repr, before))
    cases = [case for case, _ in groupby(row.case for row in after)]
    assert len(cases) == len(set(cases))


def test_sorting_brings_the_worst_first() -> None:
    """The lowest share of the ceiling and the bad statuses come first."""
    assert ordered(rows(mixed()), "ceiling")[0].case.startswith("elementwise/")
    assert ordered(rows(mixed()), "status")[0].status == "wrong"
    assert ordered(rows(mixed()), "median")[0].median_us == 2.5e6


def test_interleaved_contenders_are_grouped_by_case() -> None:
    """Records of a case that lie apart in the file stand together."""
    content = result(record("a/1"), record("b/1"), record("a/1", "numpy"))
    assert [row.case for row in ordered(rows(content), None)] == ["a/1", "a/1", "b/1"]


@given(st.integers(0, 400), st.integers(700, 20_000))
@settings(max_examples=40, deadline=None)
def test_markdown_is_cut_between_rows(count: int, limit: int) -> None:
    """However many rows, the Markdown keeps to the limit, has whole rows only, and says how many it left out."""
    content = result(*(record(f"cumsum/{number}/dim=0/float32") for number in range(count)))
    markdown = results_markdown(content, limit=limit)
    assert len(markdown.encode()) <= limit
    shown = [line for line in markdown.splitlines() if line.startswith("| `")]
    assert all(line.endswith(" |") for line in shown)
    if len(shown) < count:
        assert f"{count - len(shown)} of {count} rows are left out" in markdown
    else:
        assert "left out" not in markdown


def test_the_default_markdown_fits_a_pull_request() -> None:
    """1,000 cases with three contenders stay under 60 KB."""
    content = result(*(record(f"cumsum/{n}/dim=0/float32", f"c{m}") for n in range(1000) for m in range(3)))
    assert len(results_markdown(content).encode()) <= 60_000


def test_an_empty_result_says_so() -> None:
    """No records is said, not shown as a heading over nothing."""
    assert "(no records)" in results_table(result())
    assert "0 results" in results_markdown(result())


def test_every_column_can_be_shown_of_every_record() -> None:
    """All columns work on records that lack everything, and on strange summaries."""
    bare = record(median_us=None, check=None, kernel=None, bytes=None)
    strange = record(summary={"median_us": "fast", "ci95_us": [1], "n": None, "GBps": float("nan")})
    table = results_table(result(bare, strange), columns=tuple(COLUMNS))
    assert "nan" not in table
    assert len(lines_with(CASE, table)) == 2


def test_a_large_result_is_shown_fast() -> None:
    """1,000 cases with three contenders take well under a second."""
    content = result(*(record(f"cumsum/{n}/dim=0/float32", f"c{m}") for n in range(1000) for m in range(3)))
    start = time.process_time()
    results_table(content, Look(width=100, color=True))
    assert time.process_time() - start < 1.0


def test_ceilings_that_rest_on_an_expectation_say_so() -> None:
    """How many different rows were drawn is expected, not counted: the table tells how many ceilings rest on that."""
    one = record("index_add/1/float32")
    told = replace(one, summary={**(one.summary or {}), "assumed": {"distinct_rows": 7}})
    note = "ceilings of 1 results assume the expected number of distinct rows"
    assert note in results_table(result(told, record()))
    assert note not in results_table(result(one, record()))
