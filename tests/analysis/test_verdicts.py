"""What is paired, refused, and called what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpubench.analysis.compare import Options, compare
from gpubench.analysis.estimate import ceilings
from gpubench.analysis.pairing import Selection
from gpubench.cli.gate import Gate, exit_code
from gpubench.comparison import Verdict
from gpubench.errors import ComparisonError, ExitCode, ResultFileError, UsageError
from gpubench.model import Ceiling, CeilingPoint, Record, ResultSet, Status, TimingOptions
from tests.analysis.synthetic import many, record, result, times

KERNEL = {
    "variant": "scan",
    "cubin_sha256": "ab" * 32,
    "registers": 32,
    "spill_bytes": 0,
    "launches": [{"source": "cumsum/scan.cu", "kernel": "k<float>", "grid": [8, 1, 1], "block": [256, 1, 1]}],
}
CASE = "cumsum/4096/dim=0/float32"
CALM: dict[str, Any] = {"drift": 0.0005, "noise": 0.0005}


def pair(old: Record, new: Record, **device: object) -> tuple[ResultSet, ResultSet]:
    """Return two results of one record each; `device` changes the second one's device."""
    return result(old), result(new, device=device)


def slow_pair(kernel: dict[str, object], **device: object) -> tuple[ResultSet, ResultSet]:
    """Return results 5 % apart, the first with KERNEL and the second with `kernel`."""
    old = record(CASE, times(1)[0], kernel=KERNEL, sm_mhz=1980.0)
    return pair(old, record(CASE, times(2)[0] * 1.05, kernel=kernel, sm_mhz=1980.0), **device)


def test_identical_code_whose_time_changed_has_drifted() -> None:
    """SAME means that the times are the same: identical machine code that is 5 % slower is DRIFTED, and says so."""
    row = compare(*slow_pair(KERNEL)).rows[0]
    assert row.verdict == "DRIFTED"
    assert row.unchanged
    assert "unchanged work" in row.reasons[0]


def test_identical_code_with_equal_times_is_the_same() -> None:
    """Unchanged work whose interval lies within the threshold is SAME."""
    old, new = (record(CASE, times(seed, **CALM)[0], kernel=KERNEL) for seed in (1, 2))
    row = compare(*pair(old, new)).rows[0]
    assert (row.verdict, row.unchanged, row.reasons) == ("SAME", True, ())


def test_identical_code_from_another_checkout_is_unchanged() -> None:
    """The path of the source is not part of the machine code."""
    moved = {**KERNEL, "launches": [{**KERNEL["launches"][0], "source": "@b/cumsum/scan.cu"}]}  # type: ignore[index] # the dict above
    assert compare(*slow_pair(moved)).rows[0].unchanged


@pytest.mark.parametrize(
    ("device", "said"),
    [({"driver": "590.2"}, "driver"), ({"power_limit_w": 500.0}, "power_limit_w"), ({"ecc": False}, "ecc")],
)
def test_what_differs_around_the_results_is_listed(device: dict[str, object], said: str) -> None:
    """A driver, power limit or ECC that differs is named; another driver says what that means for the verdicts."""
    listed = compare(*slow_pair(KERNEL, **device)).differences
    assert said in listed[0].name
    assert bool(listed[0].meaning) == (said == "driver")


def test_a_card_held_down_is_said() -> None:
    """A median SM clock far under the card's maximum is a difference that matters, with both clocks."""
    old, new = slow_pair(KERNEL, max_sm_mhz=1980)
    capped = replace(new, records=(record(CASE, times(2)[0] * 1.05, kernel=KERNEL, sm_mhz=1400.0),))
    comparison = compare(replace(old, environment=new.environment), capped)
    (clock,) = [difference for difference in comparison.differences if difference.name == "SM clock"]
    assert (clock.old, clock.new) == ("1980 of 1980 MHz", "1400 of 1980 MHz")
    assert clock.meaning
    assert "SM clock 1980 -> 1400 MHz" in comparison.rows[0].reasons


@pytest.mark.parametrize(
    "kernel",
    [
        {**KERNEL, "cubin_sha256": "cd" * 32},
        {**KERNEL, "launches": [{"kernel": "k<float>", "grid": [9, 1, 1], "block": [256, 1, 1]}]},
        {**KERNEL, "launches": []},
        {},
    ],
)
def test_other_code_or_launches_are_not_identical(kernel: dict[str, object]) -> None:
    """Another hash, another grid, or no knowledge of either is a change that the times judge."""
    row = compare(*slow_pair(kernel)).rows[0]
    assert (row.verdict, row.unchanged) == ("SLOWER", False)


def test_reasons_name_what_the_compiler_said() -> None:
    """More registers, spills and another variant are given as reasons."""
    row = compare(
        *slow_pair({**KERNEL, "cubin_sha256": "ee", "variant": "naive", "registers": 64, "spill_bytes": 8})
    ).rows[0]
    assert set(row.reasons) >= {"variant scan -> naive", "registers 32 -> 64", "spilled bytes 0 -> 8"}


GOOD, BAD = (times(seed, drift=0.0005, noise=0.0005)[0] for seed in (1, 2))


@pytest.mark.parametrize(
    ("old", "new", "verdict", "code"),
    [
        ("ok", "wrong", "BROKEN", ExitCode.WRONG_ANSWER),
        ("ok", "crashed", "BROKEN", ExitCode.FAILED_CASE),
        ("noisy", "timeout", "BROKEN", ExitCode.FAILED_CASE),
        ("ok", "out_of_memory", "BROKEN", ExitCode.FAILED_CASE),
        ("crashed", "wrong", "BROKEN", ExitCode.WRONG_ANSWER),
        ("wrong", "ok", "FIXED", ExitCode.FINE),
        ("wrong", "wrong", "UNDECIDED", ExitCode.NOT_COMPARABLE),
        ("unsupported", "unsupported", "UNDECIDED", ExitCode.NOT_COMPARABLE),
        ("ok", "skipped", "REMOVED", ExitCode.NOT_COMPARABLE),
    ],
)
def test_statuses_give_verdicts_and_codes(old: Status, new: Status, verdict: Verdict, code: ExitCode) -> None:
    """What broke is BROKEN with its code, what was broken before is not blamed on the new result."""
    comparison = compare(*pair(record(CASE, GOOD, status=old), record(CASE, GOOD, status=new)))
    assert comparison.rows[0].verdict == verdict
    assert exit_code([comparison], Gate()) == code


def test_added_and_removed_are_said() -> None:
    """Cases of one result only are listed, not dropped in silence."""
    old, new = many(1, 3), many(2, 2)
    extra = record("sum/9/float32", times(3)[0])
    comparison = compare(old, replace(new, records=(*new.records, extra)))
    assert {row.verdict for row in comparison.rows} >= {"ADDED", "REMOVED"}
    assert comparison.count("ADDED") == comparison.count("REMOVED") == 1


def test_nothing_in_common_names_the_nearest() -> None:
    """Results without a common case are an error that helps, not a success."""
    old, new = pair(record("cumsum/4096/dim=0/float32", GOOD), record("cumsum/4096/dim=1/float32", GOOD))
    with pytest.raises(ComparisonError, match="cumsum/4096/dim=0/float32"):
        compare(old, new)
    with pytest.raises(ComparisonError, match="empty"):
        compare(result(), result())


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"bytes_moved": 1}, "bytes"),
        ({"simulated": True}, "simulated"),
        ({"timing": TimingOptions(method="hot")}, "methods"),
    ],
)
def test_unlike_work_is_refused_unless_allowed(change: dict[str, object], word: str) -> None:
    """Other bytes, a simulator or another timing method are not compared by accident."""
    old, new = pair(record(CASE, GOOD), record(CASE, BAD, **change))  # type: ignore[arg-type] # keywords of record
    with pytest.raises(ComparisonError, match=word):
        compare(old, new)
    allowed = compare(old, new, Options(allow_different=True))
    assert any(word in note for note in allowed.notes)


def test_another_gpu_is_refused_unless_allowed() -> None:
    """Two models of GPU are compared only on demand."""
    old, new = pair(record(CASE, GOOD), record(CASE, BAD), name="NVIDIA A100")
    with pytest.raises(ComparisonError, match="A100"):
        compare(old, new)
    assert compare(old, new, Options(allow_different=True)).rows


def test_two_contenders_of_one_result_are_paired_by_case() -> None:
    """--a and --b compare contenders with each other; the ratio is b over a."""
    both = result(record(CASE, GOOD, contender="torch"), record(CASE, GOOD * 2, contender="gpubench:auto"))
    comparison = compare(both, both, Options(selection=Selection(a="gpubench:auto", b="torch")))
    row = comparison.rows[0]
    assert (row.verdict, row.contender) == ("FASTER", "gpubench:auto -> torch")
    assert row.estimate is not None
    assert row.estimate.ratio == pytest.approx(0.5)
    with pytest.raises(UsageError, match="torch"):
        compare(both, both, Options(selection=Selection(a="gpubench:auto", b="torhc")))


def test_numpy_is_left_out_unless_asked_for() -> None:
    """Host times say nothing about kernels: they cannot fail a gate, and the omission is said."""
    old = result(record(CASE, GOOD), record(CASE, GOOD, contender="numpy"))
    new = result(record(CASE, BAD), record(CASE, BAD * 2, contender="numpy"))
    comparison = compare(old, new)
    assert [row.contender for row in comparison.rows] == ["gpubench:auto"]
    assert any("numpy" in note for note in comparison.notes)
    assert compare(old, new, Options(host=True)).count("SLOWER") == 1


@pytest.mark.parametrize(
    "entry",
    [7, {"runs": 1, "rounds_per_run": 3}, {"runs": 5}, {"runs": 10**12, "rounds_per_run": 1}, {"runs": True}, []],
)
def test_a_hostile_calibration_is_an_error_in_words(entry: object) -> None:
    """A calibration that makes no sense is named, not believed."""
    with pytest.raises(ResultFileError, match="noise_floor"):
        compare(many(1, 1), replace(many(2, 1), extra={"noise_floor": entry}))


def test_a_filter_does_not_change_what_is_learned_from_all_cases() -> None:
    """A case has the same interval alone as among all; only the correction for many pairs changes."""
    old, new = many(1, 50), many(2, 50, {3: 1.04})
    everything = {row.case: row for row in compare(old, new).rows}
    name = "cumsum/3/dim=0/float32"
    alone = compare(old, new, Options(selection=Selection(keep=lambda case, _: case.id == name))).rows
    assert len(alone) == 1
    one, other = alone[0].estimate, everything[name].estimate
    assert one is not None
    assert other is not None
    assert (one.low, one.high) == (other.low, other.high)
    assert one.q <= other.q


def test_means_are_of_what_changed() -> None:
    """The mean of a contender is that of its changed pairs; unchanged ones, which tell the machine, are not in it."""
    same = [record(f"sum/{i}/float32", x, kernel=KERNEL) for i, x in enumerate(times(3, 10))]
    again = [record(f"sum/{i}/float32", x, kernel=KERNEL) for i, x in enumerate(times(4, 10))]
    old, new = many(1, 30), many(2, 30, dict.fromkeys(range(30), 1.02))
    comparison = compare(replace(old, records=(*old.records, *same)), replace(new, records=(*new.records, *again)))
    (mean,) = comparison.means
    assert (mean.name, mean.pairs, mean.gated) == ("gpubench:auto", 30, True)
    assert 1.015 < mean.low < 1.02 < mean.high < 1.025


def test_equal_cases_twice_in_a_file_are_paired_in_order() -> None:
    """A case that a file has twice is compared twice, first with first."""
    old = result(record(CASE, GOOD), record(CASE, GOOD * 3))
    new = result(record(CASE, BAD), record(CASE, BAD * 3))
    ratios = [row.estimate.ratio for row in compare(old, new).rows if row.estimate]
    assert ratios == pytest.approx([1.0, 1.0], abs=0.01)


def test_ceilings_of_two_protocols_are_controls_only_where_the_same_kernel_took_them() -> None:
    """Protocol 1 had no reads that the L2 cache gives up first: where one of them won, the machine did not change."""

    def swept(us: float, by: str | None) -> ResultSet:
        points = [CeilingPoint(size, us, us, us, by and "copy<1>", by, by and "fill<1>") for size in (2**20, 2**26)]
        return replace(result(), ceiling=Ceiling(launch_us=3.0, event_overhead_us=1.0, sweep=tuple(points)))

    old = swept(20.0, None)
    assert "read of 67108864" in ceilings(old, swept(20.0, "read<2>"))
    hinted = ceilings(old, swept(17.0, "read evict_first<1>"))
    assert [name for name in hinted if name.startswith("read")] == []
    assert {"copy of 67108864", "write of 67108864", "launch"} <= set(hinted)
