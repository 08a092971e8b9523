from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.analysis.fleet.judge import judge
from gpubench.analysis.fleet.profiles import make_profile
from gpubench.analysis.fleet.rule import Rule, beyond, effect, factor
from gpubench.analysis.fleet.table import Answer, Seen
from gpubench.cli.fleet import code
from gpubench.errors import ComparisonError, ExitCode
from gpubench.findings import Findings
from gpubench.fleet import Repeat
from gpubench.results.profiles import dumps, read_profile
from tests.analysis.fleet.bed import MODEL, fleet, measured, members


def kinds(findings: Findings) -> dict[str, str]:
    """Return the findings that are not FINE, by member."""
    return {gpu.member.key: gpu.finding for gpu in findings.gpus if gpu.finding != "FINE"}


def both(slow: str, control: str) -> list[Repeat]:
    """Return the repeats of one suspect beside one control."""
    return [
        Repeat(slow, "suspect", "s-again1.json", "measured"),
        Repeat(control, "control", "c-again1.json", "measured"),
    ]


def test_a_slow_gpu_is_slow_only_when_it_is_slow_again() -> None:
    """Not measured again: SUSPECT, exit 3. Slow again: SLOW, exit 1. Not slow again: FINE, exit 0."""
    data = measured(8, {5: 0.03})
    healthy = measured(8)
    slow, control = "node00-gpu5", "node00-gpu2"
    first = judge(fleet(8), data)
    assert kinds(first) == {slow: "SUSPECT"}
    assert code(first) == ExitCode.NOT_COMPARABLE
    manifest = fleet(8, both(slow, control))
    again = judge(manifest, data, {"s-again1.json": data[slow], "c-again1.json": data[control]})
    assert kinds(again) == {slow: "SLOW"}
    assert code(again) == ExitCode.REGRESSION
    passed = judge(manifest, data, {"s-again1.json": healthy[slow], "c-again1.json": data[control]})
    assert kinds(passed) == {}
    assert code(passed) == ExitCode.FINE


def test_what_slowed_the_control_too_confirms_nothing() -> None:
    """A second pass in which the suspect and its control are both slow is the machine's, not the GPU's."""
    data, everything = measured(8, {5: 0.012}), measured(8, dict.fromkeys(range(8), 0.012))
    slow, control = "node00-gpu5", "node00-gpu2"
    found = judge(
        fleet(8, both(slow, control)), data, {"s-again1.json": everything[slow], "c-again1.json": everything[control]}
    )
    assert kinds(found) == {}


def test_two_bad_ones_of_eight_do_not_hide_each_other() -> None:
    """Both are found, at different speeds and at the same; two of sixteen and four of sixteen as well."""
    for count, bad in ((8, {0: 0.02, 7: 0.021}), (8, {2: 0.02, 3: 0.2}), (16, dict.fromkeys((1, 5, 9, 13), 0.02))):
        assert {gpu.member.key for gpu in judge(fleet(count), measured(count, bad)).having("SUSPECT")} == {
            members(count)[place].key for place in bad
        }


def test_less_than_a_percent_is_never_slow() -> None:
    """However alike the others are; with another least effect it is."""
    data = measured(16, {4: 0.009}, spread=0.00001)
    assert kinds(judge(fleet(16), data)) == {}
    assert kinds(judge(fleet(16), data, rule=Rule(floor=0.0005, least=0.005))) == {"node00-gpu4": "SUSPECT"}


@settings(deadline=None, max_examples=40)
@given(st.integers(5, 40), st.floats(-0.5, 0.5), st.integers(0, 1000))
def test_the_judgement_does_not_depend_on_speed_or_order(count: int, speed: float, seed: int) -> None:
    """All times longer by one factor, or the members in another order: the same effects and the same findings."""
    chance = np.random.default_rng(seed)
    effects = chance.normal(0, 0.003, count)
    effects[: count // 6] += 0.04
    found, order = beyond(effects, Rule()), chance.permutation(count)
    assert set(range(count // 6)) <= set(found.slow)
    assert beyond(effects + speed, Rule()).slow == found.slow
    assert {int(order[place]) for place in beyond(effects[order], Rule()).slow} == set(found.slow)


def test_k_grows_with_the_fleet() -> None:
    """More GPUs are more chances for a false alarm."""
    ks = [factor(count) for count in (1, 5, 8, 64, 256, 4096)]
    assert ks == sorted(ks)
    assert 3.2 < factor(8) < 3.5
    assert 4.1 < factor(256) < 4.4


def test_the_interval_holds_the_effect() -> None:
    """Order statistics round the median; all of a few pieces of work; nothing of none."""
    chance = np.random.default_rng(3)
    held = 0
    for _ in range(400):
        found = effect(chance.standard_t(3, 25) + 1.0)
        assert found is not None
        assert found.low <= found.value <= found.high
        held += found.low <= 1.0 <= found.high
    assert 0.93 <= held / 400 <= 0.995
    few = effect(np.asarray([0.3, 0.1, np.nan]))
    assert few is not None
    assert (few.low, few.value, few.high, few.works) == (0.1, 0.2, 0.3, 2)
    assert effect(np.asarray([np.nan])) is None


# --- Answers ---------------------------------------------------------------------------------------------------------


def _with_answer(one: Seen, place: int, digest: str) -> Seen:
    answers = {
        work: Answer(digest, answer.code) if number == place else answer
        for number, (work, answer) in enumerate(one.answers.items())
    }
    return replace(one, answers=answers)


def test_an_answer_that_differs_by_a_byte_is_wrong_however_fast_it_is() -> None:
    """The odd one out is named with the case; code of another kind or another numpy is no likeness."""
    data = measured(8)
    data["node00-gpu3"] = _with_answer(data["node00-gpu3"], 4, "other")
    found = judge(fleet(8), data)
    assert kinds(found) == {"node00-gpu3": "WRONG"}
    assert code(found) == ExitCode.REGRESSION
    (wrong,) = found.having("WRONG")[0].wrong
    assert "65540" in wrong
    assert "other bytes than on 7 GPUs" in wrong
    elsewhere = replace(data["node00-gpu3"], environment={**data["node00-gpu3"].environment, "numpy": "1.26"})
    assert kinds(judge(fleet(8), {**data, "node00-gpu3": elsewhere})) == {}


def test_of_two_answers_neither_is_trusted_unless_a_profile_knows() -> None:
    """Without a majority all are WRONG; with a profile only the one that differs from it."""
    data = measured(2)
    profile = make_profile(fleet(2), data, judge(fleet(2), data))
    data["node00-gpu1"] = _with_answer(data["node00-gpu1"], 0, "other")
    assert set(kinds(judge(fleet(2), data)).values()) == {"WRONG"}
    assert kinds(judge(fleet(2), data, profile=profile)) == {"node00-gpu1": "WRONG"}


def test_a_failure_is_the_gpus_only_where_others_had_none() -> None:
    """A crash on one of eight is FAILED; a case that crashed everywhere is nobody's."""
    data = measured(8)
    work = next(iter(data["node00-gpu0"].log_us))

    def crashed(one: Seen) -> Seen:
        rest = {key: us for key, us in one.log_us.items() if key != work}
        return replace(one, log_us=rest, statuses={**one.statuses, work: "crashed"})

    one = {**data, "node00-gpu6": crashed(data["node00-gpu6"])}
    assert kinds(judge(fleet(8), one)) == {"node00-gpu6": "FAILED"}
    assert kinds(judge(fleet(8), {key: crashed(value) for key, value in data.items()})) == {}


# --- Few, missing, several models ------------------------------------------------------------------------------------


def test_few_gpus_are_judged_by_a_profile_only(tmp_path: Path) -> None:
    """Four GPUs: exit 3 without a profile; with the file of one, the slow GPU is found, against a healthy control."""
    profile = make_profile(fleet(8), measured(8), judge(fleet(8), measured(8)))
    (tmp_path / "p.json").write_text(dumps(profile))
    assert read_profile(tmp_path / "p.json") == profile
    data = measured(4, {1: 0.03})
    alone = judge(fleet(4), data)
    assert set(kinds(alone).values()) == {"UNJUDGED"}
    assert code(alone) == ExitCode.NOT_COMPARABLE
    assert any("profile" in note for note in alone.notes)
    found = judge(fleet(4), data, profile=read_profile(tmp_path / "p.json"))
    assert kinds(found) == {"node00-gpu1": "SUSPECT"}
    manifest = fleet(4, both("node00-gpu1", "node00-gpu0"))
    again = {"s-again1.json": data["node00-gpu1"], "c-again1.json": data["node00-gpu0"]}
    assert kinds(judge(manifest, data, again, profile)) == {"node00-gpu1": "SLOW"}
    assert code(judge(fleet(4), measured(4), profile=profile)) == ExitCode.FINE


@pytest.mark.parametrize(
    ("changes", "manifest", "complaint"),
    [
        ({"model": "other"}, fleet(8), "is of other"),
        ({"at_once": False}, fleet(8), "one after the other"),
        ({"protocol": 99}, fleet(8), "protocol 99"),
        ({"standards": ()}, fleet(8), "no work in common"),
    ],
)
def test_a_profile_of_something_else_is_refused(changes: dict[str, Any], manifest: Any, complaint: str) -> None:
    """Another model, way of working or protocol, or other code: a sentence, and exit 3."""
    profile = replace(make_profile(fleet(8), measured(8), judge(fleet(8), measured(8))), **changes)
    with pytest.raises(ComparisonError, match=complaint):
        judge(manifest, measured(8), profile=profile)


def test_a_profile_leaves_the_bad_ones_out() -> None:
    """What is SUSPECT does not become the standard; two models make none."""
    data = measured(8, {5: 0.3})
    assert make_profile(fleet(8), data, judge(fleet(8), data)).gpus == 7
    data["node00-gpu0"] = replace(data["node00-gpu0"], model="other")
    with pytest.raises(ComparisonError, match="of one model"):
        make_profile(fleet(8), data, judge(fleet(8), data))


def test_missing_members_are_told_and_cost_the_check_its_success() -> None:
    """A member without a result is MISSING; one that is bad as well decides the exit code."""
    data = measured(8, {5: 0.03})
    del data["node00-gpu1"]
    found = judge(fleet(8), data)
    assert kinds(found) == {"node00-gpu1": "MISSING", "node00-gpu5": "SUSPECT"}
    assert code(found) == ExitCode.NOT_COMPARABLE
    assert len(found.ratios) == len(found.gpus) == 8
    assert set(found.ratios[1]) == {None}
    data["node00-gpu2"] = _with_answer(data["node00-gpu2"], 0, "other")
    assert code(judge(fleet(8), data)) == ExitCode.REGRESSION


def test_each_model_is_held_against_its_own() -> None:
    """Eight of one model beside three of a faster one: the slow one of the eight is found, the three are unjudged."""
    data = measured(11, {2: 0.03})
    for place in (8, 9, 10):
        key = members(11)[place].key
        log_us = {work: us - 0.4 for work, us in data[key].log_us.items()}
        data[key] = replace(data[key], model="faster", log_us=log_us)
    found = judge(fleet(11), data)
    assert kinds(found) == {
        "node00-gpu2": "SUSPECT", "node01-gpu0": "UNJUDGED", "node01-gpu1": "UNJUDGED", "node01-gpu2": "UNJUDGED",
    }  # fmt: skip
    assert [(group.model, group.against) for group in found.groups] == [(MODEL, "peers"), ("faster", None)]


# --- Reasons ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "more", "words"),
    [
        ({"power_limit_w": 500.0}, {}, "power limit 500 W where others have 700"),
        ({"pcie_width": 8}, {}, "PCIe link of 8 lanes where others have 16"),
        ({"driver": "570.0"}, {}, "driver 570.0 where others have 580.1"),
        ({"ecc_uncorrected": 2}, {}, "2 uncorrected memory errors"),
        ({"rows_remapped": 1}, {}, "1 row of the memory replaced"),
        ({"remap_failed": True}, {}, "could not be replaced"),
        ({"neighbours": 2}, {}, "2 other processes on the GPU"),
        ({}, {"figures": {"sm_mhz": 1755.0}}, "SM clock 1755 MHz where others have 1980"),
        ({}, {"figures": {"temperature_c": 88.0}}, "88 C where others have 45"),
        ({}, {"throttled": {"sw_thermal_slowdown": 7}}, "clocks held down by sw_thermal_slowdown in 7 of 20"),
        ({}, {"throttled": {"gpu_idle": 20}}, None),
        ({}, {}, None),
    ],
)
def test_what_sets_a_slow_gpu_apart_is_told(device: dict[str, Any], more: dict[str, Any], words: str | None) -> None:
    """Each thing that telemetry or the driver tells, and nothing where it is like the others."""
    data = measured(8, {5: 0.03})
    one = data["node00-gpu5"]
    block = {**one.environment, "device": {**one.environment["device"], **device}}
    data["node00-gpu5"] = replace(one, environment=block, **more)
    reasons = judge(fleet(8), data).having("SUSPECT")[0].reasons
    assert (reasons == ()) if words is None else (len(reasons) == 1 and words in reasons[0])


def test_what_everybody_does_is_no_reason() -> None:
    """A power cap, throttling or a driver that all members share explains nothing."""
    data = measured(8, {5: 0.03})
    data = {key: replace(seen, throttled={"sw_power_cap": 9}) for key, seen in data.items()}
    assert judge(fleet(8), data).having("SUSPECT")[0].reasons == ()
