"""Suites written from cases: read again, they are the same cases."""

from __future__ import annotations

import dataclasses

import pytest

from gpubench.model import Case
from gpubench.operators import OPERATORS
from gpubench.operators.hard import hard_cases
from gpubench.suite.expand import expand
from gpubench.suite.write import suite_text
from tests.suite.samples import cases_of


def unique(cases: list[Case]) -> list[Case]:
    """Return one case an id, as suites hold; hard cases leave their inputs out of their ids."""
    return [*{case.id: dataclasses.replace(case, distribution="normal", seed=1) for case in cases}.values()]


def again(cases: list[Case]) -> tuple[Case, ...]:
    """Return the cases of the suite that is written for some."""
    return expand(suite_text("again", cases, {case.id: "a remark" for case in cases}).encode(), "f").cases


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_written_suite_is_the_same_cases(operator: str) -> None:
    """Hard cases of every layout and key, and random ones, come back with id, params, inputs and contenders."""
    wishes = "random: {cases: 60, dims: [0, 4]}"
    drawn = cases_of(f"operator: {operator}, input: [uniform, normal], seed: [1, 7], peers: [torch], {wishes}")
    for cases in (unique(hard_cases(OPERATORS[operator], "float32", large=True)), [*drawn]):
        assert [(case.id, case.params, case.contenders) for case in again(cases)] == [
            (case.id, case.params, case.contenders) for case in cases
        ]


def test_contenders_that_differ_stand_with_their_cases() -> None:
    """What all cases share is a default; what differs stands at each."""
    one, two = cases_of("operator: cumsum, shape: [[3], [4]]")
    other = dataclasses.replace(two, contenders=("gpubench:naive", "cub"))
    assert [case.contenders for case in again([one, other])] == [one.contenders, other.contenders]
