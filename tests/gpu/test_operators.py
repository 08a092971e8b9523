"""Every variant's answer on a real GPU: dtypes x layouts x hard shapes against the references.

Run with: pytest tests/gpu/test_operators.py -p no:cacheprovider
"""

from __future__ import annotations

import os

import pytest

from gpubench import dtypes
from gpubench.devices.base import Device
from gpubench.model import Case, Check
from gpubench.operators import OPERATORS
from gpubench.operators.hard import hard_cases
from tests.gpu.matrix import answer, compile_for
from tests.operators.cases import auto, make_case

pytestmark = pytest.mark.gpu


DTYPES = tuple(os.environ.get("GPUBENCH_TEST_DTYPES", ",".join(dtypes.NAMES)).split(","))
"""All dtypes; fewer where a tool such as compute-sanitizer slows everything down."""


def wrong(device: Device, chosen: list[Case], variant_name: str, operator: str) -> tuple[list[str], int]:
    """Return what is wrong with a variant's answers, and how many cases it took."""
    variant = next(variant for variant in OPERATORS[operator].variants if variant.name == variant_name)
    faults, taken = [], 0
    for case in chosen:
        got = answer(device, case, variant)
        if isinstance(got, Check):
            taken += 1
            if not got.ok:
                faults.append(f"{case.id} {case.distribution}: {got.max_error_over_tolerance} {got.first_mismatch}")
    return faults, taken


PAIRS = [
    (name, variant.name)
    for name, operator in OPERATORS.items()
    for variant in operator.variants
    if f"{name}-{variant.name}" in os.environ.get("GPUBENCH_TEST_PAIRS", f"{name}-{variant.name}").split(",")
]
"""All variants; only those named, `sum-naive,sum-staged`, where a part is wanted."""


@pytest.mark.timeout(550)
@pytest.mark.parametrize(("operator", "variant"), PAIRS, ids=str)
def test_answers(device: Device, operator: str, variant: str) -> None:
    """A variant is right on every hard case that it takes, for every dtype, also on NaN and infinity."""
    one = OPERATORS[operator]
    rule = next(row for row in one.variants if row.name == variant)
    chosen = {dtype: hard_cases(one, dtype, large=True) for dtype in DTYPES}
    compile_for(device, [(case, rule) for cases in chosen.values() for case in cases])
    faults, taken = [], 0
    for dtype in DTYPES:
        found, count = wrong(device, chosen[dtype], variant, operator)
        faults += found
        taken += count
    print(f"{operator} {variant}: {taken} cases, {len(faults)} wrong")
    assert not faults, "\n".join(faults[:20])
    assert taken > 0


BIG = 2**31 + 8
HUGE = [
    make_case("elementwise", "float16", "integers", function="neg", shape=[BIG]),
    make_case("sum", "float16", "normal", shape=[2, BIG // 2 + 3], dim=[1]),
    make_case("sum", "uint8", "normal", shape=[BIG], dim="all"),
    make_case("cumsum", "bfloat16", "normal", shape=[2**16 + 1, 2**15], dim=1),
    make_case("index_add", "uint8", "normal", shape=[2**16 + 1, 2**15], dim=0, indices=9, pattern="uniform"),
]


@pytest.mark.timeout(550)
@pytest.mark.parametrize("case", HUGE, ids=lambda case: str(case.id))
def test_more_than_2_to_the_31_elements(device: Device, case: Case) -> None:
    """Offsets do not wrap: `naive` and what `auto` picks are right beyond 2^31 elements."""
    operator = OPERATORS[case.operator]
    picked = auto(operator.problem(case), device.info)
    naive = next(variant for variant in operator.variants if variant.name == "naive")
    for variant in {picked.name: picked, naive.name: naive}.values():
        got = answer(device, case, variant)
        assert isinstance(got, Check), got
        assert got.ok, (variant.name, got)
