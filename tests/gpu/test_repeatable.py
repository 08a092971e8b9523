"""Sums whose blocks wait for each other, on a real GPU: the same bits beside other work, and after an ended launch.

Run with: pytest tests/gpu/test_repeatable.py -p no:cacheprovider
"""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.devices import open_device
from gpubench.devices.cuda import CudaDevice
from gpubench.engine.buffers import Operands, Pristine
from gpubench.model import Plan, Problem
from gpubench.operators import OPERATORS
from tests.operators.cases import make_case

pytestmark = pytest.mark.gpu

SUM = OPERATORS["sum"]
CASES = [
    make_case("sum", "float32", shape=[1_000_003], dim="all"),
    make_case("sum", "bfloat16", shape=[7, 300_001], dim=[1]),
    make_case("sum", "float64", shape=[40_000, 64], dim=[0]),
    make_case("sum", "float32", shape=[60_000, 9], dim=[0]),
    make_case("sum", "complex64", shape=[3000, 2, 7, 9], dim=[0, 2]),
    make_case("sum", "float16", shape=[5000, 1001], dim=[0]),
]


def prepared(device: CudaDevice, problem: Problem[Any], plan: Plan) -> tuple[Operands, Any]:
    """Return the operands and what runs the plan on them."""
    pristine = Pristine(device, problem, SUM.inputs(problem), keep_inputs=True)
    operands = Operands(device, problem, pristine, plan.workspace_bytes, plan.workspace_zeroed)
    return operands, device.bind(plan, operands.addresses, operands.workspace).run


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.id))
def test_the_bits_depend_on_nothing_else(device: CudaDevice, case: Any) -> None:
    """Alone, beside another stream that keeps the GPU busy, and on a workspace full of an ended launch's words."""
    problem = SUM.problem(case)
    plan = SUM.choose(problem, device.info)
    assert isinstance(plan, Plan)
    assert plan.workspace_bytes > 0, "a case whose blocks do not wait for each other"
    operands, run = prepared(device, problem, plan)
    run()
    wanted = operands.output().tobytes()

    busy = open_device("cuda:0")
    assert isinstance(busy, CudaDevice)
    load = SUM.problem(make_case("sum", "float32", shape=[2**24], dim="all"))
    heavy = SUM.choose(load, busy.info)
    assert isinstance(heavy, Plan)
    beside, more = prepared(busy, load, heavy)
    more()
    busy.synchronize()
    for turn in range(20):
        operands.poison()
        for _ in range(5):
            more()
        if turn % 5 == 4:
            device.fill(operands.workspace, 0x41)
        run()
        assert operands.output().tobytes() == wanted, turn
    busy.synchronize()
    del beside  # not before: its memory would be gone
    busy.close()
