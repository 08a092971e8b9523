"""`out_layout`: the result in the operands' own order, as torch's functional form gives it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpubench.model import Plan
from gpubench.operators import OPERATORS
from tests.operators.cases import DEVICE, make_case
from tests.operators.on_host import verdict

OPERATOR = OPERATORS["elementwise"]


def strides(*inputs: Any) -> tuple[int, ...]:
    """Return y's strides."""
    case = make_case(
        "elementwise", "float32", function=("neg", "add")[len(inputs) - 1], inputs=inputs, out_layout="operands"
    )
    return OPERATOR.problem(case).operand("y").view.strides


def test_the_result_lies_as_its_operands_do() -> None:
    """Transposed operands give a transposed result; a broadcast one says nothing; of two orders the first counts."""
    turned = {"shape": (4, 5, 6), "layout": {"permute": (2, 0, 1)}}
    assert strides(turned) == (5, 1, 20)
    assert strides(turned, turned) == (5, 1, 20)
    assert strides({"shape": (6,)}, turned) == (5, 1, 20)
    assert strides({"shape": (4, 5, 6)}, turned) == (30, 6, 1)
    assert strides({"shape": (4, 5), "layout": {"step": 3}}) == (5, 1)
    assert strides({"shape": (1, 5)}, {"shape": (4, 1)}) == (5, 1)


def test_it_is_part_of_the_id_and_of_no_other_case() -> None:
    """Another place in memory is another case; the default leaves ids as they were."""
    params: dict[str, Any] = {"function": "neg", "shape": (4, 5), "layout": {"permute": (1, 0)}}
    plain = make_case("elementwise", "float32", **params)
    other = make_case("elementwise", "float32", **params, out_layout="operands")
    assert plain.id == "elementwise/neg/4x5:permute1-0/float32"
    assert other.id == "elementwise/neg/4x5:permute1-0/out_layout=operands/float32"


@pytest.mark.parametrize("name", ["naive", "auto_pytorch", "flat", "tiles"])
def test_every_kernel_writes_such_a_result(name: str) -> None:
    """Each variant's answer is right where y's dims are not in order."""
    inputs = ({"shape": (9, 34), "layout": {"permute": (1, 0)}}, {"shape": (9, 1)})
    problem = OPERATOR.problem(
        make_case("elementwise", "float32", function="add", inputs=inputs, out_layout="operands")
    )
    assert problem.operand("y").view.strides == (1, 9)
    plan = next(variant for variant in OPERATOR.variants if variant.name == name).plan(problem, DEVICE)
    assert isinstance(plan, Plan)
    assert verdict(problem, plan).ok


def test_an_empty_result_has_no_order() -> None:
    """Nothing is sorted where there is nothing."""
    case = make_case("elementwise", "float32", function="neg", shape=(0, 3), out_layout="operands")
    assert OPERATOR.problem(case).operand("y").view.size == 0
    assert np.prod(OPERATOR.problem(case).operand("y").view.shape) == 0
