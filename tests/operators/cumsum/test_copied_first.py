"""`copied_first`: a copy of x in the workspace, and the sums of that, on the simulator."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.model import Workspace
from gpubench.operators import OPERATORS
from gpubench.operators.cumsum.copied import ALIGNMENT
from tests.operators.cases import make_case, planned, refusal
from tests.operators.cumsum.test_fast_kernels import outputs
from tests.operators.sampling import some

CUMSUM = OPERATORS["cumsum"]
COPIED = next(variant for variant in CUMSUM.variants if variant.name == "copied_first")
LAYOUTS = [{"permute": [2, 1, 0]}, {"permute": [0, 2, 1], "offset": 3}, {"step": 2}, {"expand": [0]}]


def problem_of(shape: list[int], dim: int, **layout: Any) -> Any:
    """Return the problem of float32 of such a case."""
    return CUMSUM.problem(make_case("cumsum", "float32", shape=shape, dim=dim, layout=layout))


@pytest.mark.parametrize(("layout", "dtype"), some(LAYOUTS, ["float32", "int8", "bfloat16", "complex128"], each=2))
def test_any_layout_is_brought_into_order(layout: dict[str, Any], dtype: str) -> None:
    """Permuted, with gaps, broadcast, off the grid: the sums of any dim, run after run on one workspace."""
    for dim in range(3):
        first, second = outputs("copied_first", dtype, runs=2, shape=[9, 40, 7], dim=dim, layout=layout)
        assert first.tobytes() == second.tobytes()


def test_blocks_that_wait_for_each_other_have_their_words_behind_the_copy() -> None:
    """What the sums publish must stay zero before the first run, so the copy never reaches it."""
    problem = problem_of([9001, 9], 0, permute=[1, 0])
    copy, sums = planned(COPIED, problem).launches
    assert Workspace() in copy.arguments
    assert Workspace() in sums.arguments
    behind = [
        argument.byte_offset
        for argument in sums.arguments
        if isinstance(argument, Workspace) and argument != Workspace()
    ]
    assert min(behind) == -(-9001 * 9 * 4 // ALIGNMENT) * ALIGNMENT
    assert planned(COPIED, problem).workspace_zeroed


def test_what_lies_in_order_needs_no_copy() -> None:
    """Nor does what has no elements."""
    assert refusal(COPIED, problem_of([9, 40], 0)) is not None
    assert refusal(COPIED, problem_of([0, 40], 0, permute=[1, 0])) is not None
