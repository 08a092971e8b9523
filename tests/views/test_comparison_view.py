"""A comparison reads well in 80 columns, and loses nothing in a file."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gpubench.comparison import Comparison, Difference, Estimate, MachineChange, Mean, Row
from gpubench.views.comparison import comparison_text, ordered
from gpubench.views.comparison_files import comparison_json, comparison_markdown, junit
from gpubench.views.matrix import matrix_markdown, matrix_rows, matrix_text
from gpubench.views.tables import Look

SLOW = Row(
    case="index_add/1000000x128/dim=0/indices=1048576/pattern=zipf/alpha=0.5/float16",
    operator="index_add",
    dtype="float16",
    old_contender="gpubench:atomic_vector_two_pass",
    new_contender="gpubench:atomic_vector_two_pass",
    verdict="SLOWER",
    estimate=Estimate(1.0512, 1.0401, 1.0623, 1e-6, 2e-5, 0.01, 1.02, 0.03, 3),
    old_us=12345.6,
    new_us=12977.7,
    old_n=60,
    new_n=61,
    reasons=("registers 32 -> 64", "SM clock 1980 -> 1755 MHz", "driver 570.1 -> 580.2", "noisy (old and new)"),
)
SAME = Row("sum/1/float32", "sum", "float32", "numpy", "numpy", "SAME", Estimate(1.0, 0.999, 1.001, 1, 1, 0.01), 1, 1)
OPEN = replace(
    SAME, case="sum/3/float32", verdict="UNDECIDED", estimate=Estimate(1, 0.9, 1.1, 1, 1, 0.01, 1, 0.127, 11)
)
NEVER = replace(OPEN, case="sum/4/float32", estimate=Estimate(1, 0.9, 1.1, 1, 1, 0.01, 1, 0.36, None))
GONE = Row("sum/2/float32", "sum", "float32", "torch", "torch", "REMOVED", None, 5.0, None)
MACHINE = MachineChange((1.019, 1.018, 1.02), (1.6, 1.55, 1.65), True, 93, 50, (2.9, 9436.0), 0.0007, 0.06, 1, 20)
COMPARISON = Comparison(
    old="results/nvidia-h200/smoke-20260131T100000Z.json",
    new="results/nvidia-h200/smoke-20260201T100000Z.json",
    rows=(SAME, SLOW, OPEN, NEVER, GONE),
    means=(Mean("gpubench:auto", 2, 1.025, 1.02, 1.03, True),),
    differences=(
        Difference("device.driver", "570.1", "580.2", True, "libraries may choose other kernels"),
        Difference("python", "3.11", "3.12", False),
    ),
    threshold=0.01,
    alpha=0.01,
    machine=MACHINE,
    decidable=4,
    decided=2,
)


@pytest.mark.parametrize("width", [80, 60, 100, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Long ids, contenders and reasons fit, and neither the verdict nor the change is lost."""
    shown = comparison_text(COMPARISON, Look(width=width, color=True))
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert max(map(len, plain.splitlines())) <= width
    for word in ("SLOWER", "REMOVED", "SAME", "+5.1 %"):
        assert word in plain


def test_a_row_is_one_line_and_why_stands_below_for_what_changed() -> None:
    """In 100 columns each row is one line; only the row that is slower has its reasons, under the table."""
    lines = comparison_text(COMPARISON, Look(width=100)).splitlines()
    rows = [line for line in lines if line.rstrip().endswith(("SAME", "SLOWER", "UNDECIDED", "REMOVED"))]
    assert len(rows) == 5
    why = lines[lines.index("why") :]
    assert "registers 32 -> 64" in " ".join(why)
    assert not any("UNDECIDED" in line for line in why[:-1])


def test_a_file_gets_one_whole_line_a_row() -> None:
    """Piped output names case, contender, verdict and reasons on one line, uncut."""
    lines = [line for line in comparison_text(COMPARISON).splitlines() if line.startswith(SLOW.case)]
    assert len(lines) == 1
    assert all(part in lines[0] for part in (SLOW.new_contender, "SLOWER", *SLOW.reasons))


def test_the_machine_is_the_first_line() -> None:
    """How the machine changed comes first, in words, with its evidence and what to do."""
    first, second, *_ = comparison_text(COMPARISON).splitlines()
    assert first.startswith("This GPU is 1.9 % slower than in smoke-20260131T100000Z.json (1.8 % to 2.0 %)")
    assert "adds 1.6 us to a launch" in first
    assert "93 controls of 2.900 us to 9.436 ms" in first
    assert "--adjust-machine" in second
    steady = replace(MACHINE, factor=(1.0002, 0.999, 1.001), added_us=(0.02, -0.01, 0.05), changed=False)
    calm = comparison_text(replace(COMPARISON, machine=steady)).splitlines()[0]
    assert "is as fast as in smoke-20260131T100000Z.json (within 0.10 %): 93 controls" in calm


def test_undecided_rows_say_what_they_see_and_what_would_decide_them() -> None:
    """The least visible change and the rounds stand in the row; where no rounds help it says so, and what does."""
    lines = comparison_text(COMPARISON, Look(width=120)).splitlines()
    (row,) = [lines[number + 1] for number, line in enumerate(lines) if line.startswith("sum/3/")]
    assert row.split()[-4:] == ["13", "%", "11", "UNDECIDED"]
    (row,) = [lines[number + 1] for number, line in enumerate(lines) if line.startswith("sum/4/")]
    assert row.split()[-2:] == ["never", "UNDECIDED"]
    assert any("gpubench ab" in line for line in lines)


def test_what_differs_around_the_results_is_said() -> None:
    """The driver stands with what it means, python among the rest, and the counts at the end."""
    lines = comparison_text(COMPARISON).splitlines()
    assert "device.driver 570.1 -> 580.2: libraries may choose other kernels" in lines
    assert any(line.startswith("also different: python") for line in lines)
    assert lines[-1].startswith(
        "5 compared: 1 SLOWER, 1 SAME, 2 UNDECIDED, 1 REMOVED; 2 of 4 that could be decided are"
    )


def test_a_matrix_shows_ratios_to_the_first_with_their_marks() -> None:
    """Each result is a column; what it lacks is a dash; each names its machine; 60 to 120 columns suffice."""
    other = replace(COMPARISON, new="third.json", rows=(replace(SAME, new_us=2.0, verdict="DRIFTED"), SLOW))
    for width in (60, 80, 120):
        shown = matrix_text([COMPARISON, other], Look(width=width)).splitlines()
        assert max(map(len, shown)) <= width
    text = matrix_text([COMPARISON, other])
    assert text.count("This GPU is 1.9 % slower") == 2
    (row,) = [line for line in text.splitlines() if line.startswith("sum/1/float32")]
    assert row.split()[-2:] == ["1.000=", "2.000~"]
    (row,) = [line for line in text.splitlines() if line.startswith("sum/2/float32")]
    assert row.split()[-2:] == ["-x", "-"]
    assert len(matrix_markdown([COMPARISON] * 9, limit=5000).encode()) <= 5000
    heading, *rows = matrix_rows([COMPARISON, other])
    assert all(len(row) == len(heading) for row in rows)


def test_orders_and_the_filter_for_changes() -> None:
    """Ratio puts the slowest first and rows without one last; only-changed leaves what changed."""
    assert [row.verdict for row in ordered(COMPARISON.rows, "ratio")] == [
        "SLOWER",
        "SAME",
        "UNDECIDED",
        "UNDECIDED",
        "REMOVED",
    ]
    assert [row.case for row in ordered(COMPARISON.rows, "name")] == sorted(row.case for row in COMPARISON.rows)
    assert [row.verdict for row in ordered(COMPARISON.rows, None, True)] == ["SLOWER", "REMOVED"]


def test_markdown_is_cut_between_rows() -> None:
    """Markdown stays under its limit and says what was left out."""
    many = Comparison("a", "b", (SLOW,) * 500, (), (), 0.01, 0.01)
    text = comparison_markdown(many, limit=5000)
    assert len(text.encode()) <= 5000
    assert "left out" in text
    assert all(line.endswith("|") for line in text.splitlines() if line.startswith("|"))


def test_json_holds_every_field() -> None:
    """The JSON document has rows, estimates, means and differences by name."""
    document = comparison_json([COMPARISON], 1)
    one = document["comparisons"][0]
    assert one["rows"][1]["estimate"]["low"] == 1.0401
    assert one["means"][0]["ratio"] == 1.025
    assert one["machine"]["added_us"] == (1.6, 1.55, 1.65)
    assert one["differences"][0]["matters"] is True
    assert one["counts"] == {"SLOWER": 1, "SAME": 1, "UNDECIDED": 2, "REMOVED": 1}


def test_no_view_of_a_simulated_comparison_hides_that_it_is_one() -> None:
    """Text, Markdown, JSON and JUnit each say that the times are a simulator's."""
    simulated = replace(COMPARISON, simulated=True)
    assert "SIMULATED" in comparison_text(simulated, Look())
    assert "SIMULATED" in comparison_markdown(simulated)
    assert comparison_json([simulated], 0)["comparisons"][0]["simulated"] is True
    assert "simulated on the host" in junit([simulated], lambda _: False)
    assert "simulated on the host" not in junit([COMPARISON], lambda _: False)
