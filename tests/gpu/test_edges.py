"""What `gpubench:auto` picks, at each edge of its rule, is right on a real GPU.

Run with: pytest tests/gpu/test_edges.py -p no:cacheprovider -s
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from gpubench.devices.cuda import CudaDevice
from gpubench.model import Case, Check, DeviceInfo
from gpubench.operators import OPERATORS
from tests.gpu.matrix import answer, compile_for
from tests.operators.cases import auto
from tests.operators.cumsum.edges import edges as of_cumsum
from tests.operators.elementwise.edges import edges as of_elementwise
from tests.operators.index_add.edges import edges as of_index_add
from tests.operators.sum.edges import edges as of_sum

pytestmark = pytest.mark.gpu

EDGES: dict[str, Callable[[DeviceInfo], list[Case]]] = {
    "cumsum": of_cumsum,
    "elementwise": lambda device: [case for cases in of_elementwise(device).values() for case in cases],
    "index_add": lambda _: [case for case, _ in of_index_add()],
    "sum": lambda device: [case for cases in of_sum(device).values() for case in cases],
}


@pytest.mark.parametrize("name", EDGES)
def test_both_sides_of_every_edge_are_right(device: CudaDevice, name: str) -> None:
    """One below, at and one above each threshold, on the number of SMs that this GPU has."""
    operator = OPERATORS[name]
    picked: Counter[str] = Counter()
    works = [(case, auto(operator.problem(case), device.info)) for case in EDGES[name](device.info)]
    compile_for(device, works)
    for case, variant in works:
        got = answer(device, case, variant)
        assert isinstance(got, Check), (case.id, got)
        assert got.ok, (case.id, variant.name, got)
        picked[variant.name] += 1
    print(dict(picked))
