"""Contests: the best of planted landscapes is found, failures and ties do no harm, and one goes on where it ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from gpubench.model import Case
from gpubench.tuned import STAGE
from gpubench.tuning.contest import PORTION, Contest
from studies.tuning import SHIPPED, Landscape, contest_on, hold, landscape, measured


def flat(**us: float) -> Landscape:
    """Return a landscape of one case, 10 us with the shipped constants."""
    return Landscape(("case0",), {SHIPPED: {"case0": 10.0}, **{name: {"case0": times} for name, times in us.items()}})


def held(planted: Landscape, seed: int = 1) -> Contest:
    """Hold a contest to its end."""
    contest = contest_on(planted)
    for batch in contest.batches():
        contest.take(measured(planted, batch, seed))
    return contest


def test_the_best_is_found_within_one_percent() -> None:
    """Noise, ties, cliffs and failures: of 20 landscapes at most one choice is more than 1 % off."""
    found = [hold(landscape(seed), seed) for seed in range(1000, 1020)]
    assert sum(outcome.regret > 0.01 for outcome in found) <= 1
    assert all(outcome.decision != "undecided" for outcome in found)


@pytest.mark.parametrize("other", [9.98, 10.0, 10.02])
def test_a_tie_goes_to_the_shipped_constants(other: float) -> None:
    """What is closer than half a percent changes nothing, whatever the noise says."""
    for seed in range(3):
        contest = held(flat(c1=other), seed)
        assert contest.decision == "kept"
        assert contest.chosen is contest.space.incumbent


def test_what_is_slower_on_one_case_is_not_taken() -> None:
    """A configuration that gains a tenth on one case and loses 2 % on another is left; the lesser gain is taken."""
    times = {SHIPPED: (10.0, 10.0), "c1": (9.0, 10.2), "c2": (9.8, 9.8)}
    planted = Landscape(("case0", "case1"), {name: {"case0": a, "case1": b} for name, (a, b) in times.items()})
    contest = held(planted)
    assert contest.decision == "tuned"
    assert contest.chosen is not None
    assert contest.chosen.name == "c2"
    assert contest.ratio is not None
    assert contest.ratio[1] < 0.98 < contest.ratio[2]


def test_failures_are_out_and_counted() -> None:
    """The fastest configuration has wrong answers: it is never asked for again, and the row counts it."""
    planted = flat(c1=5.0, c2=9.0)
    planted.failures["c1"] = "wrong"
    contest = contest_on(planted)
    asked: list[str] = []
    for batch in contest.batches():
        asked += [name for case in batch for name in case.contenders]
        contest.take(measured(planted, batch, 1))
    assert asked.count("c1") == 1
    assert contest.chosen is not None
    assert contest.chosen.name == "c2"
    assert contest.row().failed == 1


def test_nothing_is_decided_where_the_shipped_constants_fail() -> None:
    """There is nothing to beat then: the regime is left alone, with the reason."""
    planted = flat(c1=5.0)
    planted.failures[SHIPPED] = "crashed"
    contest = held(planted)
    assert contest.decision == "undecided"
    assert "the shipped constants failed" in contest.why


def test_what_is_dropped_is_never_timed() -> None:
    """What the compiler's report leaves out is in no case, and counts as dropped; the shipped constants stay."""
    contest = contest_on(flat(c1=5.0, c2=9.0))
    contest.drop({"c1": "spills 8 bytes", SHIPPED: "spills 8 bytes"})
    asked = [name for batch in [next(contest.batches())] for case in batch for name in case.contenders]
    assert asked == [SHIPPED, "c2"]
    assert contest.row().dropped == 1


def plays(contest: Contest, planted: Landscape, stop: int | None = None) -> Iterable[list[Case]]:
    """Hold a contest for so many batches and yield them."""
    for number, batch in enumerate(contest.batches()):
        if number == stop:
            return
        yield batch
        contest.take(measured(planted, batch, 7))


@pytest.mark.parametrize("seed", [3, 8])
def test_a_contest_goes_on_where_it_ended(seed: int) -> None:
    """Ended after any batch and told the same again, a contest asks for the same and decides the same."""
    planted = landscape(seed, most=12)
    whole = contest_on(planted)
    batches = list(plays(whole, planted))
    for stop in range(len(batches)):
        ended = contest_on(planted)
        assert list(plays(ended, planted, stop)) == batches[:stop]
        assert ended.decision == "undecided"
        again = contest_on(planted)
        assert list(plays(again, planted)) == batches
        assert again.row() == whole.row()


def test_the_race_is_run_where_configurations_differ() -> None:
    """Of five cases two are raced: those that tell everybody apart, though they are the last; so none ties unseen."""
    us = {SHIPPED: [10.0] * 5, "c1": [10.0] * 4 + [14.0], "c2": [9.0] * 5, "c3": [9.0] * 3 + [8.0, 12.0]}
    planted = Landscape(
        tuple(f"case{number}" for number in range(5)),
        {name: {f"case{number}": time for number, time in enumerate(times)} for name, times in us.items()},
    )
    contest = contest_on(planted)
    entrants = tuple(
        replace(entrant, plans={case: str(time) for case, time in planted.us[entrant.name].items()})
        for entrant in contest.space.entrants
    )
    contest = Contest(replace(contest.space, entrants=entrants), replace(contest.effort, cases=2))
    assert "case4" in [case.id for case in contest.cases]
    for batch in contest.batches():
        contest.take(measured(planted, batch, 1))
    assert contest.chosen is not None
    assert contest.chosen.name == "c2"
    assert sorted(timed.case for timed in contest.timed) == list(planted.cases)


def test_rounds_go_where_there_is_a_doubt() -> None:
    """A case that is 2 % ahead is timed once, one at the limit again and again."""
    times = {SHIPPED: (10.0, 10.0), "c1": (9.8, 10.04)}
    planted = Landscape(("case0", "case1"), {name: {"case0": a, "case1": b} for name, (a, b) in times.items()})
    contest = contest_on(planted)
    rounds: dict[str, int] = {}
    for batch in contest.batches():
        for case in batch:
            base, _, stage = case.id.partition(STAGE)
            rounds[base] = rounds.get(base, 0) + (case.timing.rounds if ".final." in stage else 0)
        contest.take(measured(planted, batch, 1))
    assert rounds["case0"] < rounds["case1"] <= contest.effort.patience * contest.effort.rounds
    assert contest.rounds == rounds["case1"]


def test_a_proof_ends_with_the_first_case_against_it() -> None:
    """Of forty cases that a winner changes only the first portion is timed, where one of them is slower."""
    names = tuple(f"case{number:02}" for number in range(40))
    ahead = dict.fromkeys(names, 9.0)
    planted = Landscape(names, {SHIPPED: dict.fromkeys(names, 10.0), "c1": {**ahead, "case05": 11.0}})
    contest = contest_on(planted)
    proven = set()
    for batch in contest.batches():
        proven |= {case.id.partition(STAGE)[0] for case in batch if ".proof." in case.id}
        contest.take(measured(planted, batch, 1))
    assert contest.decision == "kept"
    assert "case05" in contest.why
    assert 0 < len(proven) <= PORTION


@pytest.mark.parametrize("changed", [1, 2, 3])
def test_few_cases_do_not_speak_for_a_regime(changed: int) -> None:
    """What gains a tenth on one or two of five cases, and changes no other plan, leaves the regime undecided."""
    names = tuple(f"case{number}" for number in range(5))
    us = {
        SHIPPED: dict.fromkeys(names, 10.0),
        "c1": {**dict.fromkeys(names, 10.0), **dict.fromkeys(names[:changed], 9.0)},
    }
    planted = Landscape(names, us)
    contest = contest_on(planted)
    entrants = tuple(
        replace(entrant, plans={case: str(time) for case, time in us[entrant.name].items()})
        for entrant in contest.space.entrants
    )
    contest = Contest(replace(contest.space, entrants=entrants))
    for batch in contest.batches():
        contest.take(measured(planted, batch, 1))
    assert contest.decision == ("tuned" if changed == 3 else "undecided")
    assert changed == 3 or f"{changed} of 5 cases" in contest.why
