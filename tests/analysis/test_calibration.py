"""Noise floors from repeated runs, and the paired analysis of alternating contenders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpubench.analysis.calibration import calibrate, calibrated
from gpubench.analysis.compare import Options, compare, each_other
from gpubench.analysis.pairing import Selection
from gpubench.analysis.rule import Rule
from gpubench.errors import ComparisonError
from gpubench.model import Record, ResultSet, Sample
from tests.analysis.synthetic import many, record, result, times


def summary(one: Record) -> dict[str, int]:
    """Return a summary that shows it was made anew."""
    return {"n": len(one.timing.samples) if one.timing else 0}


def runs(count: int = 5, cases: int = 30, drift: float = 0.003) -> list[ResultSet]:
    """Return runs of the same thing."""
    return [many(100 + number, cases, drift=drift) for number in range(count)]


def floor_of(entry: dict[str, object]) -> list[float]:
    """Return the noise floors in the order of the cases."""
    return [row["floor"] for row in entry["floors"]]  # type: ignore[attr-defined] # a list of rows


def test_calibration_keeps_all_samples_and_gives_floors() -> None:
    """The result holds the rounds of all runs, in order, a floor a case, and what runs differ by."""
    given = runs()
    comparisons = each_other(given, Rule())
    merged = calibrate(given, comparisons, Rule(), summary)
    first = merged.records[0]
    assert first.timing is not None
    assert len(first.timing.rounds) == 15
    assert first.timing.rounds[3:6] == given[1].records[0].timing.rounds  # type: ignore[union-attr] # made with times
    assert first.summary == {"n": 300}
    assert len(comparisons) == 10
    entry = merged.extra["noise_floor"]
    assert all(0.01 < floor < 0.1 for floor in floor_of(entry))
    assert (entry["gates"], entry["false_positive_rate"]) == (20, 0.0)
    known = calibrated(merged)
    assert known is not None
    assert known.runs == 5
    spread = [np.sqrt(variance) for variance, _ in known.spread.values()]
    assert 0.001 < float(np.median(spread)) < 0.003  # 0.3 % between rounds, over three of them


def mixed_runs() -> list[ResultSet]:
    """Return five runs of 50 cases of 5 us that jitter by 2 %, and of 6 cases of 200 us that jitter by 0.05 %."""
    found = []
    for number in range(5):
        short = times(number, 50, drift=0.02, noise=0.02) / 20
        long = times(100 + number, 6, drift=0.0005, noise=0.0005) * 2
        data = [*short, *long]
        found.append(result(*(record(f"sum/{i}/float32", x) for i, x in enumerate(data))))
    return found


def test_a_calibration_sharpens_what_is_known_and_never_widens_the_threshold() -> None:
    """Long calm cases are judged sharply beside noisy launches; no case that is 20 % slower is SAME."""
    given = mixed_runs()
    merged = calibrate(given, each_other(given, Rule()), Rule(), summary)
    floor = floor_of(merged.extra["noise_floor"])
    assert max(floor[50:]) < 0.03 < float(np.median(floor[:50]))
    slow = [
        replace(
            record, timing=replace(record.timing, rounds=tuple(_slower(part, 1.2) for part in record.timing.rounds))
        )
        for record in given[0].records
        if record.timing is not None
    ]
    verdicts = [row.verdict for row in compare(merged, replace(given[0], records=tuple(slow))).rows]
    assert verdicts[50:] == ["SLOWER"] * 6
    assert "SAME" not in verdicts
    assert verdicts[:50].count("SLOWER") > 40


def _slower(samples: tuple[Sample, ...], factor: float) -> tuple[Sample, ...]:
    return tuple(replace(sample, us=sample.us * factor) for sample in samples)


def test_a_failure_in_any_run_is_kept() -> None:
    """A case that crashed once in five runs does not come out as fine."""
    given = runs()
    broken = replace(given[2].records[4], status="crashed", message="signal 11", timing=None)
    given[2] = replace(given[2], records=(*given[2].records[:4], broken, *given[2].records[5:]))
    assert calibrate(given, each_other(given, Rule()), Rule(), summary).records[4].status == "crashed"


def test_nothing_to_calibrate_is_said() -> None:
    """One run, or runs in which nothing was timed, give an error and no floors."""
    with pytest.raises(ComparisonError):
        calibrate(runs(1), (), Rule(), summary)
    failed = result(record(status="crashed"))
    with pytest.raises(ComparisonError):
        calibrate([failed, failed], each_other([failed, failed], Rule()), Rule(), summary)


def alternating(seed: int, cases: int, factor: float, rounds: int = 24, drift: float = 0.004) -> ResultSet:
    """Return contenders a and b of one result whose rounds drift together."""
    random = np.random.default_rng(seed)
    records = []
    for number in range(cases):
        common = drift * random.normal(size=(rounds, 1)).cumsum(axis=0)
        for name, scale in (("a", 1.0), ("b", factor)):
            own = 0.0005 * random.normal(size=(rounds, 1)) + 0.002 * random.standard_t(3, size=(rounds, 10))
            records.append(record(f"sum/{number}/float32", 100 * scale * np.exp(common + own), contender=name))
    return result(*records)


def test_alternating_contenders_show_a_change_that_two_runs_hide() -> None:
    """A change of 0.3 % under a drift that is ten times larger is seen by the paired analysis alone."""
    both = alternating(1, 12, 1.003)
    selection = Selection(a="a", b="b")
    rule = Rule(threshold=0.001)
    assert compare(both, both, Options(rule, selection, interleaved=True)).count("SLOWER") == 12
    assert compare(both, both, Options(rule, selection)).count("SLOWER") == 0


def test_alternating_contenders_that_are_alike_are_not_called_different() -> None:
    """Without a change no pair of 400 is called changed, even with a threshold of 0."""
    both = alternating(2, 400, 1.0)
    comparison = compare(both, both, Options(Rule(threshold=0.0), Selection(a="a", b="b"), interleaved=True))
    assert comparison.count("SLOWER") + comparison.count("FASTER") == 0


def test_a_round_that_lacks_one_side_does_not_shift_the_others() -> None:
    """Pairs of rounds stay together when one contender lost all samples of a round."""
    both = alternating(3, 1, 1.01, rounds=12, drift=0.05)
    a, b = both.records
    assert a.timing is not None
    gap = replace(a.timing, rounds=(*a.timing.rounds[:4], (), *a.timing.rounds[5:]))
    holed = replace(both, records=(replace(a, timing=gap), b))
    row = compare(holed, holed, Options(Rule(0.001), Selection(a="a", b="b"), interleaved=True)).rows[0]
    assert row.verdict == "SLOWER"
    assert row.estimate is not None
    assert row.estimate.high - row.estimate.low < 0.01
