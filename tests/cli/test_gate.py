"""Which exit code the verdicts give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpubench.analysis.compare import compare
from gpubench.cli.gate import Gate, exit_code, undecided
from gpubench.errors import ExitCode
from gpubench.model import Record, ResultSet
from tests.analysis.synthetic import many, record, result, times

CALM: dict[str, Any] = {"drift": 0.0005, "noise": 0.0005}
GOOD, BAD = (times(seed, **CALM)[0] for seed in (1, 2))


def kernel(digest: str) -> dict[str, Any]:
    """Return a kernel block with this machine code."""
    return {"variant": "scan", "cubin_sha256": digest, "launches": [{"kernel": "k", "grid": [8, 1, 1]}]}


def test_the_most_serious_outcome_decides_the_exit_code() -> None:
    """A wrong answer goes before a crash, a crash before a regression."""
    names = ["a/1/float32", "b/1/float32", "c/1/float32"]
    old = result(*(record(name, GOOD) for name in names))
    slow = record(names[0], BAD * 1.2)
    crashed = record(names[1], status="crashed")
    wrong = record(names[2], BAD, status="wrong")
    fine = [record(name, BAD) for name in names]

    def code(*records: Record, fail_on: str = "slower") -> ExitCode:
        return exit_code([compare(old, result(*records))], Gate(fail_on))  # type: ignore[arg-type] # one of the levels

    assert code(slow, crashed, wrong) == ExitCode.WRONG_ANSWER
    assert code(slow, crashed, fine[2]) == ExitCode.FAILED_CASE
    assert code(slow, fine[1], fine[2]) == ExitCode.REGRESSION
    assert code(*fine) == ExitCode.FINE
    assert code(slow, fine[1], fine[2], fail_on="wrong") == ExitCode.FINE
    assert code(slow, crashed, wrong, fail_on="none") == ExitCode.FINE
    assert code(*fine[:2]) == ExitCode.FINE
    assert code(*fine[:2], fail_on="missing") == ExitCode.REGRESSION


def test_gates_ask_for_enough_decisions() -> None:
    """Less than --min-decided, or nearly all pairs missing, exits 3 and says why."""
    old, new = many(1, 60, drift=0.004), many(2, 60, drift=0.004)
    comparison = compare(old, new)
    assert 0 < comparison.decided < comparison.decidable
    assert exit_code([comparison], Gate()) == ExitCode.FINE
    assert exit_code([comparison], Gate(min_decided=1.0)) == ExitCode.NOT_COMPARABLE
    assert "--min-decided" in str(undecided(comparison, Gate(min_decided=1.0)))
    calm, one = many(1, 100, **CALM), many(2, 1, **CALM)
    missing = compare(calm, one)
    assert missing.count("SAME") == 1
    assert exit_code([missing], Gate()) == ExitCode.NOT_COMPARABLE
    assert "99 of the baseline's 100" in str(undecided(missing, Gate()))


def test_the_mean_is_a_gate_where_controls_of_the_contender_hold_it() -> None:
    """A mean that is certainly 1 % slower fails --fail-on-mean 1%; without controls of the contender it cannot gate."""

    def side(seed: int, factor: float, controls: bool) -> ResultSet:
        kernels = times(seed, 40, **CALM)
        kernels[20:] *= factor
        digests = ["same" if number < 20 and controls else str(seed) for number in range(40)]
        return result(
            *(
                record(f"sum/{i}/float32", x, kernel=kernel(d))
                for i, (x, d) in enumerate(zip(kernels, digests, strict=True))
            )
        )

    held = compare(side(1, 1.0, True), side(2, 1.008, True))
    assert held.count("SLOWER") == 0
    assert exit_code([held], Gate(mean=0.005)) == ExitCode.REGRESSION
    assert exit_code([held], Gate(mean=0.01)) == ExitCode.FINE
    assert exit_code([held], Gate("none", mean=0.005)) == ExitCode.FINE
    alike = compare(side(1, 1.0, True), replace(side(2, 1.0, True), records=side(1, 1.0, True).records))
    assert alike.means == ()
    assert exit_code([alike], Gate(mean=0.005)) == ExitCode.FINE
    loose = compare(side(1, 1.0, False), side(2, 1.008, False))
    assert not any(mean.gated for mean in loose.means)
    assert exit_code([loose], Gate(mean=0.005)) == ExitCode.NOT_COMPARABLE
