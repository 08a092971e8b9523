"""The rule behind `gpubench:auto` for index_add: below, at and above each threshold."""

from __future__ import annotations

import pytest

from gpubench.model import Case
from gpubench.operators import OPERATORS
from tests.operators.cases import auto, make_case
from tests.operators.index_add.edges import edges


@pytest.mark.parametrize(("case", "variant"), edges(), ids=lambda value: value.id if isinstance(value, Case) else value)
def test_each_side_of_an_edge_gets_its_variant(case: Case, variant: str) -> None:
    """One index, place or element more or less decides."""
    assert auto(OPERATORS["index_add"].problem(case)).name == variant


@pytest.mark.parametrize("pattern", ["uniform", "same", "zipf", "sorted", {"duplicates": 2}])
def test_the_rule_does_not_know_the_indices(pattern: object) -> None:
    """Sizes alone decide on the host, whatever pattern the case is drawn by."""
    for shape, indices in (((10**6, 128), 2**20), ((2**20,), 2**20), ((4096, 16), 300)):
        case = make_case("index_add", "float32", shape=shape, indices=indices, pattern=pattern)
        even = make_case("index_add", "float32", shape=shape, indices=indices)
        problems = [OPERATORS["index_add"].problem(each) for each in (case, even)]
        assert auto(problems[0]) == auto(problems[1])
