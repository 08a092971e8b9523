"""What `gpubench:auto` picks for cumsum, at each edge of its rule, is right on a real GPU.

Run with: pytest tests/gpu/test_edges.py -p no:cacheprovider -s
"""

from __future__ import annotations

from collections import Counter

import pytest

from gpubench.devices import open_device
from gpubench.errors import NoDeviceError
from gpubench.model import Check
from gpubench.operators import OPERATORS
from tests.gpu.matrix import answer
from tests.operators.cases import auto
from tests.operators.cumsum.edges import edges

pytestmark = pytest.mark.gpu


def test_both_sides_of_every_edge_are_right() -> None:
    """One below, at and one above each threshold, on the number of SMs that this GPU has."""
    try:
        device = open_device("cuda:0")
    except NoDeviceError as error:
        pytest.skip(str(error))
    operator = OPERATORS["cumsum"]
    picked: Counter[str] = Counter()
    for case in edges(device.info):
        variant = auto(operator.problem(case), device.info)
        got = answer(device, case, variant)
        assert isinstance(got, Check), (case.id, got)
        assert got.ok, (case.id, variant.name, got)
        picked[variant.name] += 1
    device.close()
    print(dict(picked))
