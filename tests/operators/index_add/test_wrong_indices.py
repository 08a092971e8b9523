"""Indices outside the dim: refused before a launch, and should one come through, memory stays whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpubench.operators import OPERATORS
from tests.operators.cases import make_case, planned, refusal
from tests.operators.on_host import host, output

VARIANTS = [variant.name for variant in OPERATORS["index_add"].variants]


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("index_dtype", ["int64", "int32"])
@pytest.mark.parametrize(("indices", "wrong"), [(12, 5), (40, 7), (40, 40)])
def test_every_kernel_leaves_wrong_indices_out(name: str, index_dtype: str, indices: int, wrong: int) -> None:
    """Below and above, few and many: the right ones are added, nothing else is touched (all accesses are seen)."""
    params: dict[str, Any] = {"shape": (3, 16, 5), "dim": 1, "indices": indices, "index_dtype": index_dtype}
    case = make_case("index_add", "float32", "integers", pattern={"out_of_range": wrong}, **params)
    operator = OPERATORS["index_add"]
    problem = operator.problem(case)
    variant = next(variant for variant in operator.variants if variant.name == name)
    if refusal(variant, problem, host().info) is not None:
        for_others = name in ("private_copies", "partitioned", "gathered")  # single elements
        assert for_others or (name.startswith("small_index") and indices == 40)
        return
    inputs = operator.inputs(problem)
    index = inputs["index"]
    inside = (index >= 0) & (index < 16)
    assert int((~inside).sum()) == wrong
    wanted = inputs["destination"].reshape(3, 16, 5).copy()
    source = inputs["source"].reshape(3, indices, 5)
    for number in np.flatnonzero(inside):
        wanted[:, index[number]] += source[:, number]
    found = output(problem, planned(variant, problem, host().info), "random:1")
    assert np.array_equal(found.reshape(3, 16, 5), wanted)
