"""The look-back of the single-pass scans, when no tile nearby knows its running total: window after window."""

from __future__ import annotations

import numpy as np
import pytest

from gpubench.operators.structs import int32
from tests.host.simulate import host, launch

TYPES = [("float", True, np.float32), ("long long", True, np.int64), ("float", False, np.float32)]


@pytest.mark.parametrize(("cpp", "packed", "dtype"), TYPES)
@pytest.mark.parametrize("distance", [1, 2, 31, 32, 33, 63, 64, 65, 96, 97])
def test_every_tile_before_counts_once(distance: int, cpp: str, packed: bool, dtype: type) -> None:
    """The running total, however many windows of 32 back, and each tile's own sum after it; the same in all lanes."""
    tile = 101
    known = tile - distance
    arrays = {"states": np.zeros(32 * tile, np.uint8), "found": np.zeros(32, dtype)}
    kernel = f"look_back_from<{cpp}, {str(packed).lower()}>"
    found = launch(host("build=checked"), "windows.cu", kernel, 1, 32, arrays, (int32(tile), int32(known)))["found"]
    assert found.tolist() == [1000 + sum(t + 1 for t in range(known + 1, tile))] * 32
