from __future__ import annotations

import itertools
import re

from gpubench.kernels.sources import default_tree
from gpubench.model import Plan
from gpubench.operators import OPERATORS
from gpubench.operators.hard import hard_cases
from gpubench.operators.precision import is_exact
from tests.operators.cases import DEVICE

COUNTS_ONLY = ("index_add/seeds/sorted_deterministic.cu", "index_add/sort.cuh")
"""Their atomics count; the sums have an order."""


def by_chance(source: str) -> bool:
    """Tell whether a kernel's own text leaves the order of additions to chance: by atomics or by look-back."""
    program = default_tree().program(source)
    headers = [text for name, text in program.headers if not name.startswith("gpubench/") and name not in COUNTS_ONLY]
    own = [program.text, *headers]
    adds = any(re.search(r"\batomic_add\w*\s*\(", text) for text in own)
    looks_back = any(name.endswith("grid/lookback.cuh") for name, _ in program.headers)
    return source not in COUNTS_ONLY and (adds or looks_back)


def test_what_adds_in_any_order_does_not_claim_to_be_repeatable() -> None:
    """A plan whose kernels add floats by atomics or look-back says so; one of integers is repeatable all the same."""
    seen: set[tuple[bool, bool]] = set()
    chance: dict[str, bool] = {}
    for operator, dtype in itertools.product(OPERATORS.values(), ("float32", "int32")):
        for case in hard_cases(operator, dtype):
            problem = operator.problem(case)
            exact = is_exact(dtype)
            for variant in operator.variants:
                plan = variant.plan(problem, DEVICE)
                if not isinstance(plan, Plan) or not plan.launches:
                    continue
                loose = any(chance.setdefault(launch.source, by_chance(launch.source)) for launch in plan.launches)
                seen.add((loose, exact))
                assert plan.repeatable is (exact or not loose), (variant.name, problem.case.id)
    assert seen == {(True, True), (True, False), (False, True), (False, False)}
