"""What did not change tells how the machine did, and what is left is judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpubench.analysis.compare import Options, compare
from gpubench.analysis.rule import Rule
from gpubench.cli.gate import Gate, exit_code
from gpubench.comparison import Comparison, Row
from gpubench.errors import ExitCode
from gpubench.model import ResultSet
from tests.analysis.synthetic import ceiling, many, record, result, times

CALM: dict[str, Any] = {"drift": 0.0005, "noise": 0.0005}
SPAN = np.geomspace(8, 800, 40)


def kernel(digest: str) -> dict[str, Any]:
    """Return a kernel block with this machine code."""
    return {"variant": "scan", "cubin_sha256": digest, "launches": [{"kernel": "k", "grid": [8, 1, 1]}]}


def run(
    seed: int,
    factor: float = 1.0,
    added_us: float = 0.0,
    slow: float = 1.0,
    version: str | None = "2.10",
    device: str = "one",
) -> ResultSet:
    """Return 20 kernels whose code is the seed's, of which the 8th is `slow`, and 20 cases of torch, on one machine."""
    data = times(seed, 40, **CALM) / 100 * SPAN[:, None, None]
    data[7 * 2] *= slow
    data = data * factor + added_us
    records = [
        record(f"sum/{number}/float32", us, contender="torch")
        if number % 2
        else record(f"sum/{number}/float32", us, kernel=kernel(f"{seed}"))
        for number, us in enumerate(data)
    ]
    libraries = {} if version is None else {"libraries": {"torch": {"torch": version}}}
    return result(*records, machine=ceiling(factor, added_us), environment=libraries, device={"uuid": device})


def rows(comparison: Comparison, contender: str) -> list[Row]:
    """Return the rows of a contender."""
    return [row for row in comparison.rows if row.contender == contender]


def test_a_gpu_that_is_20_percent_slower_never_passes() -> None:
    """Seven pairs of identical code at 1.200 are DRIFTED and exit 3, whatever else is the same."""
    data = times(1, 7, **CALM)
    before, after = (
        result(
            *(record(f"sum/{i}/float32", us * factor, kernel=kernel("a")) for i, us in enumerate(data)),
            machine=ceiling(factor),
            device={"uuid": str(factor)},
        )
        for factor in (1.0, 1.2)
    )
    comparison = compare(before, after)
    assert [row.verdict for row in comparison.rows] == ["DRIFTED"] * 7
    assert comparison.machine is not None
    assert comparison.machine.changed
    assert comparison.machine.factor[0] == pytest.approx(1.2, rel=0.002)
    assert exit_code([comparison], Gate()) == ExitCode.NOT_COMPARABLE
    adjusted = compare(before, after, Options(Rule(adjust=True)))
    assert [row.verdict for row in adjusted.rows] == ["SAME"] * 7
    assert exit_code([adjusted], Gate()) == ExitCode.FINE


@pytest.mark.parametrize(("factor", "added_us"), [(1.0, 1.6), (0.98, 1.6), (1.05, 3.0), (1.02, -1.0)])
def test_the_machine_is_told_from_the_kernels(factor: float, added_us: float) -> None:
    """A factor and an added time are found within their intervals; of 20 new kernels only the slow one is SLOWER."""
    comparison = compare(run(1), run(2, factor, added_us, slow=1.05, device="two"), Options(Rule(adjust=True)))
    machine = comparison.machine
    assert machine is not None
    assert machine.changed
    assert machine.factor[1] - 1e-3 < factor < machine.factor[2] + 1e-3
    assert machine.added_us[1] - 0.05 < added_us < machine.added_us[2] + 0.05
    ours = rows(comparison, "gpubench:auto")
    assert [row.case for row in ours if row.verdict == "SLOWER"] == ["sum/14/float32"]
    assert not any(row.verdict == "FASTER" for row in ours)
    assert exit_code([comparison], Gate()) == ExitCode.REGRESSION


def test_a_changed_machine_exits_3_unless_told_otherwise() -> None:
    """Without --adjust-machine nothing is SAME that took another time, and the machine decides over the exit code."""
    comparison = compare(run(1), run(2, 1.03, slow=1.2))
    assert exit_code([comparison], Gate()) == ExitCode.NOT_COMPARABLE
    assert not any(row.verdict == "SAME" for row in comparison.rows)
    assert exit_code([compare(run(1), run(2, 1.03, slow=1.2), Options(Rule(adjust=True)))], Gate()) == 1


def test_a_library_of_another_version_is_judged_and_not_a_control() -> None:
    """Torch 2.11 that is 5 % slower than 2.10 is SLOWER; of one version it drifted, and tells no other machine."""
    slower = [
        replace(
            made,
            timing=record("x/float32", np.asarray([[s.us * 1.05 for s in part] for part in made.timing.rounds])).timing,
        )
        if made.contender == "torch" and made.timing
        else made
        for made in run(2).records
    ]
    old = run(1)
    changed = compare(old, replace(run(2, version="2.11"), records=tuple(slower)))
    assert sum(row.verdict == "SLOWER" for row in rows(changed, "torch")) > 5
    assert not any(row.unchanged for row in rows(changed, "torch"))
    assert any(difference.name == "libraries.torch.torch" and difference.meaning for difference in changed.differences)
    same = compare(old, replace(run(2), records=tuple(slower)))
    assert all(row.verdict in ("DRIFTED", "UNDECIDED") for row in rows(same, "torch"))
    assert same.machine is not None
    assert not same.machine.changed


def test_versions_that_nobody_recorded_are_said() -> None:
    """Libraries of results that tell no version are taken to be the same, and that is said."""
    comparison = compare(run(1, version=None), run(2))
    assert all(row.unchanged for row in rows(comparison, "torch"))
    assert any("torch" in note and "versions" in note for note in comparison.notes)


def test_without_controls_and_ceilings_nothing_is_decided() -> None:
    """Where nothing tells the machine from the kernels a change of 5 % is no regression."""
    old, new = many(1, 20, **CALM), many(2, 20, dict.fromkeys(range(20), 1.05), **CALM)
    bare = compare(replace(old, ceiling=ceiling(sizes=0)), replace(new, ceiling=ceiling(sizes=0)))
    assert bare.machine is not None
    assert bare.count("SLOWER") == 0


@pytest.mark.parametrize(("threshold_us", "verdict"), [(0.0, "UNDECIDED"), (0.5, "SAME")])
def test_short_kernels_can_be_gated_by_microseconds(threshold_us: float, verdict: str) -> None:
    """At 4 us 1 % is lost in what runs differ by; half a microsecond is not."""
    old, new = (
        result(*(record(f"sum/{i}/float32", us / 25) for i, us in enumerate(times(seed, 20, **CALM))))
        for seed in (1, 2)
    )
    comparison = compare(old, new, Options(Rule(threshold_us=threshold_us)))
    assert {row.verdict for row in comparison.rows} == {verdict}


def test_an_undecided_row_says_what_it_sees_and_what_would_decide_it() -> None:
    """Long noisy kernels name a number of rounds, short ones what runs differ by and the way out."""
    old, new = many(1, 30, drift=0.01), many(2, 30, drift=0.01)
    row = next(row for row in compare(old, new).rows if row.verdict == "UNDECIDED")
    assert row.estimate is not None
    assert row.estimate.rounds is not None
    assert 3 < row.estimate.rounds < 200
    assert f"{row.estimate.rounds} rounds decide 1 %" in row.reasons[0]
    first, second = (
        result(*(record(f"sum/{i}/float32", us / 25) for i, us in enumerate(times(seed, 20, **CALM))))
        for seed in (1, 2)
    )
    row = compare(first, second).rows[0]
    assert row.estimate is not None
    assert row.estimate.rounds is None
    assert "use ab, or" in row.reasons[0]
