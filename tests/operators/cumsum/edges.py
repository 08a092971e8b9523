"""The edges of the rule behind `gpubench:auto`: cases one below, at and one above each threshold, for a device."""

from __future__ import annotations

from typing import Any

from gpubench.model import Case, DeviceInfo, Plan
from gpubench.operators import OPERATORS
from gpubench.operators.cumsum import resident_tuning, run_tuning, transposed_tuning, tuning, walk_tuning
from gpubench.operators.cumsum.flat_rows import longest
from tests.operators.cases import DEVICE, make_case

Edge = tuple[tuple[int, ...], int, str, dict[str, Any]]
TRANSPOSED: dict[str, Any] = {"permute": (1, 0)}


def edges(device: DeviceInfo) -> list[Case]:
    """Return the cases; sizes follow the device's number of SMs."""
    return [case for near in (-1, 0, 1) for case in map(_case, _around(device.sm_count, near))]


def _around(sms: int, near: int) -> list[Edge]:
    block, linked = tuning.BLOCK_SHAPES[4][-1].capacity, tuning.LINKED_SHAPES[4][-1].capacity
    resident = 32 * tuning.STAGED.warps * (tuning.STAGED.vectors + tuning.STAGED.most)
    return [
        ((sms + 5, 4 * tuning.LANES_VECTORS + near), 1, "float32", {}),
        ((sms + 5, 4 * block + near), 1, "float32", {}),
        ((tuning.BLOCK_ROWS_PER_SM * sms + near, 8192), 1, "float32", {}),
        ((4 * (tuning.LINKED_VECTORS + near),), 0, "float32", {}),
        ((2 * sms * 4 * linked + near,), 0, "float32", {}),
        ((2 * sms * 4 * resident + near,), 0, "float32", {}),
        ((600 + 300 * near, 64), 0, "float32", {}),  # a strip of one tile, of several, shared ones
        ((200, 20, tuning.SHORT_COLUMN_WIDTH + near), 1, "float32", {}),
        ((20, 4 * (tuning.LEAST_WALKS + near)), 0, "float32", {}),
        ((walk_tuning.WALK_ROWS[2] + near, 44), 0, "float32", {}),
        ((30, 4 * (walk_tuning.MANY_WALKS + near)), 0, "float32", {}),
        ((walk_tuning.MANY_COLUMN + near, 2 * walk_tuning.MANY_WALKS), 0, "int8", {}),
        ((walk_tuning.LONG_WALK + near, 148, 4), 0, "float64", {"permute": (0, 2, 1)}),
        ((9, walk_tuning.WALK_ROWS[-1] + near, 33), 1, "bfloat16", {}),
        ((16, transposed_tuning.SHORT_LINE + near, 32), 1, "int8", {"permute": (0, 2, 1)}),
        ((9, 5, 2, transposed_tuning.FEW_LENGTH + near), 3, "complex64", {"permute": (1, 0, 3, 2)}),
        ((sms // 2 + near, 9000, 32), 1, "float32", {}),
        ((sms + near, 2048, 64), 1, "float16", {}),
        ((resident_tuning.LEAST_BYTES // 1024 + near, 64), 0, "complex128", {}),
        ((max(sms // resident_tuning.LEAST_SHARE, 1) + near, 420, 64), 1, "complex128", {}),
        ((4096, transposed_tuning.ACROSS + near), 0, "float32", TRANSPOSED),
        ((transposed_tuning.ACROSS + near, 8192), 1, "float32", TRANSPOSED),
        ((2 * sms, transposed_tuning.LENGTH + near, 32), 1, "float32", {"permute": (0, 2, 1)}),
        ((transposed_tuning.CHUNKED_LENGTH + near, 40), 0, "float32", TRANSPOSED),
        ((transposed_tuning.NARROW_STRIPS * sms + near, 1024, 5), 1, "float32", {"permute": (0, 2, 1)}),
        ((1009, transposed_tuning.STRAIGHT + near), 1, "float32", TRANSPOSED),
        ((3, transposed_tuning.CHUNKED_LENGTH + near), 1, "int16", TRANSPOSED),
        ((512, transposed_tuning.STRAIGHT_ELEMENTS // 512 + near), 1, "int16", TRANSPOSED),
        ((70, 3, 4 * tuning.LANES_VECTORS + near), 2, "float32", {"permute": (1, 0, 2)}),  # rows in groups
        ((tuning.LANES_ROWS * sms + near, 4 * tuning.LANES_VECTORS), 1, "int8", {}),
        ((5000, tuning.WALKED_COLUMN * (tuning.SHORT_COLUMN_WIDTH // 3) + near, 3), 1, "float32", {}),
        ((4096 * 2**near, 2193), 0, "int8", {}),  # strips of a few bytes, shared or not
        ((16, walk_tuning.WALK_FEW * sms + near), 0, "complex128", {}),
        ((walk_tuning.WALK_ROWS[1] + near, 70001), 0, "int16", {}),
        ((walk_tuning.SHORT_PARTS // 2 + near, 2), 1, "float32", {}),
        ((tuning.FLAT_LEAST // 6 + near, 6), 1, "float32", {}),
        ((walk_tuning.HALF_WALKED // 64 + near, 64), 1, "float16", TRANSPOSED),
        ((transposed_tuning.STRAIGHT_LITTLE // 256 + near, 256), 1, "float64", TRANSPOSED),
        ((tuning.LINKED_ROWS + near, 8000), 1, "float32", {}),
        ((32, (256 * tuning.LINKED_FEW_TURNS + near) * 8, 8), 1, "float32", {}),
        ((tuning.SIDES_LEAST // 8 + near, 4, 2), 1, "float32", {}),
        ((transposed_tuning.COPIED_MOST // 64 // 2 + near, 64 * 2), 0, "float64", TRANSPOSED),
        ((walk_tuning.SHARED_COLUMN + near, 16), 0, "int16", {}),
        ((walk_tuning.SHARED_STRIPS // 64 + near, 64), 1, "int16", TRANSPOSED),
        ((tuning.BLOCK_ROWS_PER_SM * sms + near, 8191), 1, "float16", {"expand": (0,)}),
        (
            (
                32 * transposed_tuning.LINE_STRIPS * sms,
                transposed_tuning.LINE_LEAST[False] + near,
            ),
            1,
            "float32",
            TRANSPOSED,
        ),
        ((2 * sms, transposed_tuning.LINE_LEAST[True] + near, 32), 1, "float32", {"permute": (0, 2, 1)}),
        ((transposed_tuning.LINE_STRIPS * sms + near, 13, 32), 1, "float32", {"permute": (0, 2, 1)}),
        ((5000, 16 + near), 1, "float32", {}),  # a power of two of whole vectors or not
        ((5000, longest(4) + near), 1, "float32", {}),
        ((run_tuning.RUN_LEAST // 45 + near, 9, 5), 1, "float32", {}),
        ((run_tuning.RUN_LEAST // 45 + near, 9, 5), 1, "bfloat16", {"permute": (0, 2, 1)}),
        ((run_tuning.RUN_CROSSED_LEAST // 31 + near, 31), 1, "float16", TRANSPOSED),
        ((31, run_tuning.RUN_SPREAD_LEAST // 31 + near), 0, "bfloat16", TRANSPOSED),
        ((5000, 32 * run_tuning.RUN_CROSSED_SHARES - 1 + 2 * near, 3), 1, "uint8", {"permute": (0, 2, 1)}),
        ((run_tuning.RUN_SPREAD_LONG + 2 * near, 5000), 0, "int64", TRANSPOSED),
        ((100, run_tuning.RUN_SPREAD_VECTORS // 100 + near), 0, "float32", TRANSPOSED),
        ((run_tuning.RUN_SHORT // 9 + near, 3, 3), 1, "float32", {}),
        ((1 << 17, run_tuning.RUN_LINE_ITEMS + near, 3), 1, "float16", {}),
    ]


def _case(edge: Edge) -> Case:
    shape, dim, dtype, layout = edge
    return make_case("cumsum", dtype, shape=list(shape), dim=dim, layout=layout)


def chosen(shape: tuple[int, ...], dim: int, dtype: str = "float32", **layout: Any) -> str:
    """Return the variant that auto picks on a GPU of 132 SMs; its plan must exist."""
    operator = OPERATORS["cumsum"]
    problem = operator.problem(make_case("cumsum", dtype, shape=list(shape), dim=dim, layout=layout))
    plan = operator.choose(problem, DEVICE)
    assert isinstance(plan, Plan)
    assert plan.steps
    return plan.variant
