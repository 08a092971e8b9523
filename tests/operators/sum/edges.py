"""The edges of the rule behind `gpubench:auto` of sum: cases one below, at and above each threshold, for a device."""

from __future__ import annotations

from typing import Any

from gpubench.model import Case, DeviceInfo
from gpubench.operators.sum import cuts, few, lanes, lines, tuning
from tests.operators.cases import make_case

Edge = tuple[tuple[int, ...], tuple[int, ...], str, dict[str, Any]]


def edges(device: DeviceInfo) -> dict[str, tuple[Case, Case, Case]]:
    """Return the cases below, at and above each threshold, by its name; sizes follow the device's number of SMs."""
    below, at, above = (_around(device.sm_count, near) for near in (-1, 0, 1))
    return {name: (_case(below[name]), _case(at[name]), _case(above[name])) for name in at}


def _around(sms: int, near: int) -> dict[str, Edge]:
    """Return the threshold's case, or that of a unit less (-1) or more (1)."""
    row = tuning.STAGED_ROWS // 4
    staged_least = tuning.LITTLE // 516
    return {
        "terms of one thread": ((3, tuning.FEW_TERMS + near, 16_001), (1,), "complex128", {}),
        "terms of one thread, of little": ((3, tuning.FEW_OF_LITTLE // 2 + near, 301), (1,), "float32", {}),
        "terms of one thread, on vectors": ((sms, tuning.FEW_ALIGNED + near, 2048), (1,), "float32", {}),
        "groups for one thread each": ((sms + near, 100, 1024), (1,), "float32", {}),
        "terms that begin unlike": ((sms * 64, tuning.FEW_APART + near, 77), (1,), "float32", {}),
        "terms without vectors": ((tuning.FEW_ELEMENTS // 8 + near, 700, 8, 100), (0, 2), "float32", {"offset": 1}),
        "terms in short runs": ((tuning.FEW_RUNS // 4 + near, 80_000, 4), (0, 2), "uint8", {"offset": 1}),
        "a run of little": ((20, 40, tuning.LITTLE_RUN + near), (0, 2), "int8", {}),
        "a run without vectors": ((30, 16 * sms, tuning.RAGGED_RUN // 4 + near), (0, 2), "float32", {"offset": 1}),
        "bytes of rows that blocks hold": ((tuning.HELD_BYTES // 32_000 + near, 8000), (1,), "float32", {}),
        "a line whose terms stand anywhere": ((sms * 400, 3, few.LEAST_LINE + near), (1,), "int8", {"offset": 1}),
        "bytes of few terms": ((3, 7, tuning.HINT_FROM // 336 + near), (1,), "complex128", {}),
        "bytes of little": ((tuning.LITTLE // 260 + 1 + near, 64), (1,), "float32", {}),
        "a row through shared memory": ((16 * sms + 1000, row + near), (1,), "float32", {"offset": 1}),
        "bytes of rows through shared memory": ((staged_least + 1 + near, 129), (1,), "float32", {}),
        "a row of lanes": ((sms + 5, 4 * (tuning.LANES_ROW + near)), (1,), "float32", {}),
        "a row that a block holds": ((300, 4 * (tuning.HELD_ROW + near)), (1,), "float32", {}),
        "many rows that blocks hold": ((5 * sms, 4 * (tuning.HELD_ROWS + near)), (1,), "float32", {}),
        "everything by two blocks an SM": ((4 * (tuning.MANY_VECTORS + near),), (0,), "float32", {}),
        "rows that blocks hold": ((8 * sms + near, 300), (1,), "float32", {}),
        "outputs of one block each": ((sms + near, 40_000), (1,), "float32", {}),
        "outputs that all SMs share": ((16, 4 * (tuning.EVEN_ROW + near)), (1,), "float32", {}),
        "bytes of small columns": ((cuts.SMALL_COLUMNS // 28 + near, 7), (0,), "float32", {}),
        "bytes of narrow lines": ((cuts.MANY_BYTES // 256 + near, 64), (0,), "float32", {}),
        "a narrow line": ((20_000, 4 * (cuts.NARROW_LINE + near)), (0,), "float32", {}),
        "rows of a few columns": ((cuts.FLAT_BYTES // 8 + near, 2), (0,), "float32", {}),
        "what lanes hold": ((sms + 5, 4 * (32 * lanes.VECTORS[-1] + near)), (1,), "float32", {}),
        "a row of one block": ((4 * (tuning.ONE_BLOCK + near),), (0,), "float32", {}),
        "a run of terms": ((5, 7, 9, tuning.SHORT_RUN // 4 + near), (1, 3), "float32", {}),
        "a wide line": ((12_001, 20, tuning.WIDE_LINE // 4 + near), (1,), "float32", {"offset": 3}),
        "a group through shared memory": ((sms, tuning.STAGED_GROUP // 64 + near, 16), (1,), "float32", {}),
        "a line read by elements": ((30_000, cuts.RAGGED_LINE // 4 + near), (0,), "float32", {"offset": 1}),
        "a flat line": ((20_001, lines.MOST_FLAT + 1 + 2 * near), (0,), "uint8", {"offset": 2}),
        "terms of columns that lanes share": ((tuning.SHARED_THREADS * 16 + near, 8), (0,), "float32", {}),
        "terms of runs that lanes share": ((tuning.SHARED_THREADS * 8 + near, 3, 2), (0, 2), "int8", {}),
        "bytes of columns that lanes share": ((64, tuning.SHARED_BYTES // 1024 + near), (0,), "complex128", {}),
        "elements that lanes share": ((64, tuning.SHARED_ELEMENTS // 64 + near), (0,), "int16", {}),
        "sectors that lanes share": ((2000, tuning.SHARED_SECTORS // 16_000 + near), (0,), "float32", {}),
        "a row of so few terms": ((600_001, tuning.FEW_TERMS + near), (1,), "float32", {"offset": 1}),
        "transposed outputs": (
            (256, 2, tuning.TRANSPOSED_OUTPUTS // 256 + near),
            (1,),
            "float32",
            {"permute": (2, 1, 0)},
        ),
        "a row of two words": ((300_001, 8 + near), (1,), "uint8", {}),
        "a row of four words": ((300_001, 16 + near), (1,), "uint8", {}),
        "terms of transposed outputs": (
            (500, tuning.TRANSPOSED_TERMS + near, 600),
            (1,),
            "float32",
            {"permute": (2, 1, 0)},
        ),
        "neighbours of transposed outputs": (
            (100_000, 3, tuning.TRANSPOSED_SIDE // 2 + near),
            (1,),
            "float32",
            {"permute": (2, 1, 0)},
        ),
        "rows that lie apart": ((3000, 4 * (lanes.NEAR_ROW // 16 + near), 64), (1,), "float32", {"permute": (2, 0, 1)}),
        "columns of a vector": ((9001, 4 + near), (0,), "float32", {}),
    }


def _case(edge: Edge) -> Case:
    shape, dim, dtype, layout = edge
    return make_case("sum", dtype, shape=list(shape), dim=list(dim), layout=layout)
