"""The cases that variants are held to on a GPU: planned here without one, so that none is left out unseen."""

from __future__ import annotations

from collections import Counter

import pytest

from gpubench.operators import OPERATORS
from gpubench.operators.hard import hard_cases
from gpubench.suite.explain import ASSUMED
from tests.operators.cases import refusal


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_variant_takes_some_case_of_the_matrix(operator: str) -> None:
    """No variant's test on a GPU passes because nothing was tested; every variant has several."""
    one = OPERATORS[operator]
    taken: Counter[str] = Counter()
    for dtype in ("float32", "bfloat16", "int32"):
        for case in hard_cases(one, dtype, large=True):
            problem = one.problem(case)
            taken.update(variant.name for variant in one.variants if refusal(variant, problem, ASSUMED) is None)
    few = {variant.name: taken[variant.name] for variant in one.variants if taken[variant.name] < 2}
    assert not few
