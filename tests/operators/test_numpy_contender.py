"""numpy's own way passes the check that the kernels must pass, for every dtype and layout."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.dtypes import NAMES, dtype
from gpubench.measure.check import check
from gpubench.operators import OPERATORS
from gpubench.operators.elementwise.functions import FUNCTIONS
from tests.operators.cases import make_case, prepare

LAYOUTS: tuple[dict[str, Any], ...] = ({}, {"permute": [1, 0], "offset": 3}, {"step": 2}, {"expand": [0]})


def passes(name: str, case_dtype: str, distribution: str, **params: Any) -> bool:
    """Run numpy twice on a case: it must neither change its inputs nor fail the check."""
    problem, inputs = prepare(make_case(name, case_dtype, distribution, **params))
    reference = OPERATORS[name].reference(problem, inputs)
    work = OPERATORS[name].numpy(problem, inputs)
    work()
    return check(problem, reference, OPERATORS[name].accuracy(problem), work()).ok


@pytest.mark.parametrize("case_dtype", NAMES)
@pytest.mark.parametrize("distribution", ["normal", "uniform", "integers", "with_nonfinite"])
def test_sums(case_dtype: str, distribution: str) -> None:
    """cumsum, sum and index_add along both dims of every layout."""
    for layout in LAYOUTS:
        for dim in (0, 1):
            common = {"shape": [37, 23], "dim": dim, "layout": layout}
            assert passes("cumsum", case_dtype, distribution, **common)
            assert passes("sum", case_dtype, distribution, **common)
            if "expand" not in layout:
                extra = {"indices": 100, "pattern": "zipf", "alpha": 2, "source_layout": layout}
                assert passes("index_add", case_dtype, distribution, **common, **extra)


@pytest.mark.parametrize("case_dtype", NAMES)
def test_functions(case_dtype: str) -> None:
    """Every function that takes the dtype, with special values, into its own dtype and another."""
    kind = dtype(case_dtype).kind
    for name, row in FUNCTIONS.items():
        if kind in row.kinds:
            outputs = (None, "complex128") if kind == "complex" else (None, "float32", "int32", "uint8", "bfloat16")
            for out in outputs:
                assert passes("elementwise", case_dtype, "with_nonfinite", function=name, shape=[41, 3], out_dtype=out)
