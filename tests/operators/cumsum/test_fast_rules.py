"""The rule of `auto`: which variant each regime gets, at every edge and one step to either side of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gpubench.model import DeviceInfo, Plan
from gpubench.operators import OPERATORS
from gpubench.operators.cumsum import tuning, walk_tuning
from tests.operators.cases import DEVICE, auto, make_case, planned
from tests.operators.cumsum.edges import chosen, edges

CUMSUM = OPERATORS["cumsum"]
SMS = DEVICE.sm_count


@pytest.mark.parametrize(
    ("length", "name"),
    [
        (4 * tuning.LANES_VECTORS - 4, "flat_rows"),
        (4 * tuning.LANES_VECTORS, "lanes_rows"),
        (4 * tuning.LANES_VECTORS + 4, "block_rows"),
        (4 * 8192 - 4, "block_rows"),
        (4 * 8192, "block_rows"),
        (4 * 8192 + 4, "carry_forward"),
    ],
)
def test_many_rows_by_their_length(length: int, name: str) -> None:
    """Aligned float32 rows: lanes, then blocks, then the ring, each up to its last vector."""
    assert chosen((5000, length), 1) == name


@pytest.mark.parametrize(("length", "name"), [(253, "flat_rows"), (254, "block_rows"), (255, "block_rows")])
def test_rows_that_start_anywhere_need_one_vector_more(length: int, name: str) -> None:
    """A row that may begin at any element touches one vector more than its length says."""
    assert chosen((5000, length), 1) == name


@pytest.mark.parametrize(
    ("length", "name"), [(7, "flat_rows"), (9, "flat_rows"), (4, "lanes_rows"), (15, "flat_rows"), (16, "lanes_rows")]
)
def test_short_rows_are_flat_where_lanes_would_idle(length: int, name: str) -> None:
    """Only rows of a power of two of whole vectors get lanes of their own, unless there are too few to matter."""
    assert chosen((tuning.FLAT_LEAST // 2, length), 1) == name
    assert chosen((64, length), 1) == "lanes_rows"


@pytest.mark.parametrize(("rows", "name"), [(-1, "lanes_rows"), (0, "flat_rows"), (1, "flat_rows")])
def test_a_few_short_rows_are_not_worth_long_code(rows: int, name: str) -> None:
    """Below FLAT_LEAST elements the launch is what counts."""
    assert chosen((tuning.FLAT_LEAST // 8 + rows, 8), 1, "int8", offset=1) == name


@pytest.mark.parametrize(
    ("shape", "dtype", "name"),
    [
        ((4 * tuning.FLAT_LEAST // 128, 100), "bfloat16", "lanes_rows"),
        ((4 * tuning.FLAT_LEAST // 100 + 1, 100), "bfloat16", "flat_rows"),
        ((2 * tuning.FLAT_LEAST // 100 + 1, 100), "float32", "flat_rows"),
        ((tuning.FLAT_LEAST // 64, 64), "int32", "flat_rows"),
        ((tuning.FLAT_LEAST // 64, 64), "int64", "lanes_rows"),
        ((tuning.FLAT_LEAST // 64, 128), "int32", "lanes_rows"),
    ],
)
def test_halves_and_half_vectors_have_edges_of_their_own(shape: tuple[int, int], dtype: str, name: str) -> None:
    """Rows of 16-bit floats are flat later than others; those of int32 where each of 32 lanes loads half a vector."""
    assert chosen(shape, 1, dtype) == name


@pytest.mark.parametrize("shape", [(), (1,), (5000, 1), (3, 1, 7), (tuning.FLAT_LEAST, 1)])
def test_lines_of_one_element_are_copied(shape: tuple[int, ...]) -> None:
    """Whatever their number, there is nothing to add; two elements are rows."""
    dim = min(1, max(len(shape) - 1, 0))
    assert chosen(shape, dim) == "single_elements"
    assert chosen((*shape[:dim], 2), dim) != "single_elements"


@pytest.mark.parametrize(("rows", "name"), [(SMS - 1, "linked_blocks"), (SMS, "block_rows"), (SMS + 1, "block_rows")])
def test_too_few_rows_are_spread_over_linked_blocks(rows: int, name: str) -> None:
    """Under one row an SM, blocks share rows."""
    assert chosen((rows, 8 * tuning.LINKED_VECTORS + 4), 1) == name


@pytest.mark.parametrize(("near", "name"), [(-1, "linked_blocks"), (0, "block_rows"), (1, "block_rows")])
def test_rows_that_are_not_so_few_are_linked_later(near: int, name: str) -> None:
    """Twice as many vectors, where a block each keeps a share of the SMs busy."""
    assert chosen((tuning.LINKED_ROWS + near, 8 * tuning.LINKED_VECTORS), 1) == name


@pytest.mark.parametrize(("near", "name"), [(-1, "walked_lines"), (0, "walked_lines"), (1, "flat_rows")])
def test_rows_of_half_a_vector_are_walked(near: int, name: str) -> None:
    """Two rows a vector: none is cut, whatever their number."""
    assert chosen((walk_tuning.SHORT_PARTS // 4 + near, 4), 1, "float16") == name
    assert chosen((walk_tuning.SHORT_PARTS // 4 + near, 3), 1, "float16") == "flat_rows"


@pytest.mark.parametrize(("vectors", "name"), [(-1, "block_rows"), (0, "block_rows"), (1, "linked_blocks")])
def test_a_short_row_is_not_worth_linking(vectors: int, name: str) -> None:
    """One row of up to LINKED_VECTORS vectors gets one block."""
    assert chosen((4 * (tuning.LINKED_VECTORS + vectors),), 0) == name


def linked_plan(shape: tuple[int, ...], dtype: str = "float32", device: DeviceInfo = DEVICE, **layout: Any) -> Plan:
    """Return the plan of linked_blocks for sums along the last dim."""
    problem = CUMSUM.problem(make_case("cumsum", dtype, shape=list(shape), dim=len(shape) - 1, layout=layout))
    variant = next(variant for variant in CUMSUM.variants if variant.name == "linked_blocks")
    return planned(variant, problem, device)


REGISTERS = 2 * SMS * tuning.LINKED_SHAPES[4][-1].capacity
RESIDENT = 2 * SMS * 32 * tuning.STAGED.warps * (tuning.STAGED.vectors + tuning.STAGED.most)


@pytest.mark.parametrize(("vectors", "staged"), [(REGISTERS - 1, 0), (REGISTERS, 0), (REGISTERS + 1, 1)])
def test_what_registers_cannot_hold_is_kept_in_shared_memory_too(vectors: int, staged: int) -> None:
    """Two of the largest tile an SM; from there on a part of each tile is staged, as little as is enough."""
    assert chosen((4 * vectors,), 0) == "linked_blocks"
    assert linked_plan((4 * vectors,)).notes["staged"] == staged


@pytest.mark.parametrize(
    ("vectors", "name"), [(RESIDENT - 1, "linked_blocks"), (RESIDENT, "linked_blocks"), (RESIDENT + 1, "carry_forward")]
)
@pytest.mark.parametrize(("dtype", "items"), [("float32", 4), ("bfloat16", 8), ("int8", 2), ("int64", 2)])
def test_what_the_device_cannot_hold_at_once_takes_the_ring(vectors: int, name: str, dtype: str, items: int) -> None:
    """Linked blocks must all be resident: two an SM, their registers and half of its shared memory each."""
    assert chosen((vectors * items,), 0, dtype) == name


@pytest.mark.parametrize(
    ("shape", "dtype", "layout", "name"),
    [
        ((1 << 23,), "float32", {"offset": 4}, "linked_blocks"),
        ((1 << 23,), "float32", {"offset": 1}, "carry_forward"),
        ((3, 3000001), "float32", {}, "linked_blocks"),
        ((1 << 22,), "int8", {"offset": 16}, "linked_blocks"),
        ((1 << 22,), "int8", {"offset": 8}, "carry_forward"),
        ((3, 1600000), "int16", {}, "linked_blocks"),
        ((3, 1600004), "int16", {}, "carry_forward"),
    ],
)
def test_stages_begin_on_what_bulk_copies_move(
    shape: tuple[int, ...], dtype: str, layout: dict[str, Any], name: str
) -> None:
    """Only aligned rows are staged; where a vector of x is less than 16 bytes, rows begin on 16 bytes."""
    assert chosen(shape, len(shape) - 1, dtype, **layout) == name


@pytest.mark.parametrize(
    ("shared_kib", "name"), [(226, "carry_forward"), (227, "linked_blocks"), (228, "linked_blocks")]
)
def test_stages_of_two_blocks_fit_an_sm(shared_kib: int, name: str) -> None:
    """No more is staged than the shared memory of an SM holds for all its blocks."""
    device = dataclasses.replace(DEVICE, max_shared_bytes=shared_kib << 10)
    assert auto(CUMSUM.problem(make_case("cumsum", "float32", shape=[4 * RESIDENT], dim=0)), device).name == name


@pytest.mark.parametrize(
    ("rows", "per_row", "staged"), [(1, 256, 8), (2, 128, 8), (8, 32, 8), (7, 37, 8), (100, 2, 13)]
)
def test_rows_share_the_resident_blocks(rows: int, per_row: int, staged: int) -> None:
    """Every row gets as many blocks, all of which are resident, and as few staged vectors as these need."""
    length = (1 << 23) // rows // 4 * 4
    plan = linked_plan((rows, length))
    (launch,) = plan.launches
    assert (plan.notes["tiles_per_row"], plan.notes["staged"]) == (per_row, staged)
    assert launch.grid[0] == rows * per_row <= 2 * SMS
    assert launch.shared_bytes == staged * 32 * tuning.STAGED.warps * 16
    assert launch.waits_for_blocks


def test_equal_terms_get_the_worst_case_bound() -> None:
    """Broadcast along the summed dim all terms are equal: their rounding errors add up, for naive and for peers."""
    problem = CUMSUM.problem(make_case("cumsum", "float32", shape=[5, 2047], dim=1, layout={"expand": [1]}))
    assert CUMSUM.accuracy(problem).growth == "linear"
    assert planned(CUMSUM.variants[0], problem, DEVICE).accuracy.growth == "linear"


def test_hard_layouts_have_a_variant() -> None:
    """Stepped, broadcast and misaligned rows stay rows; transposed and permuted tensors are transposed."""
    assert chosen((4096, 4097), 1, step=2) == "block_rows"
    assert chosen((4096, 4097), 1, expand=[0]) == "block_rows"
    assert chosen((4096, 4097), 1, "float16", offset=1) == "block_rows"
    assert chosen((4096, 4097), 1, permute=[1, 0]) == "transposed_ring"
    assert chosen((4096, 4097), 0, permute=[1, 0]) == "transposed_ring"
    assert chosen((4097, 4096), 1, permute=[1, 0]) == "transposed_tiles"
    assert chosen((4097, 4096), 0, permute=[1, 0]) == "transposed_tiles"
    assert chosen((16, 8, 64, 32, 48), 2, permute=[4, 1, 3, 0, 2]) == "transposed_lines"


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ((32, 72), "walked_lines"),
        ((1519, 72), "walked_lines"),
        ((17000, 24), "copied_first"),
        ((17000, 32), "transposed_tiles"),
    ],
)
def test_few_lines_along_x_and_little_in_all_are_shared(shape: tuple[int, int], name: str) -> None:
    """Those that no block holds are copied first; of more data tiles are worth turning."""
    assert chosen(shape, 0, permute=[1, 0]) == name


def test_the_edges_reach_every_variant_that_auto_picks() -> None:
    """The cases that a GPU is held to (tests/gpu) meet each fast variant, on the figures of a large GPU."""
    found = {auto(CUMSUM.problem(case), DEVICE).name for case in edges(DEVICE)}
    regimes = {
        "flat_rows",
        "lanes_rows",
        "block_rows",
        "linked_blocks",
        "carry_forward",
        "transposed_tiles",
        "transposed_ring",
        "transposed_lines",
    }
    assert regimes | {"columns", "column_forward", "walked_lines", "copied_first"} <= found


@pytest.mark.parametrize(
    ("layout", "aligned"),
    [({}, True), ({"offset": 4}, True), ({"offset": 1}, False), ({"step": 2}, False), ({"expand": [0]}, True)],
)
@pytest.mark.parametrize(("name", "shape"), [("lanes_rows", (70, 300)), ("linked_blocks", (3, 20000))])
def test_aligned_rows_have_code_of_their_own(
    name: str, shape: tuple[int, int], layout: dict[str, Any], aligned: bool
) -> None:
    """Only where every row of x stands on the grid of y's vectors may a kernel load without a shift."""
    problem = CUMSUM.problem(make_case("cumsum", "float32", shape=list(shape), dim=1, layout=layout))
    variant = next(variant for variant in CUMSUM.variants if variant.name == name)
    (launch,) = planned(variant, problem, DEVICE).launches
    flags = [word.strip(" >") for word in launch.kernel.split(",") if word.strip(" >") in ("true", "false")]
    assert flags[0] == str(aligned).lower()


@pytest.mark.parametrize(("rows", "warps"), [(1, 16), (SMS - 1, 16), (SMS, 4)])
def test_a_lone_row_gets_more_warps(rows: int, warps: int) -> None:
    """Rows that are fewer than SMs are done the sooner, the more warps take part in each."""
    problem = CUMSUM.problem(make_case("cumsum", "float32", shape=[rows, 4096], dim=1))
    variant = next(variant for variant in CUMSUM.variants if variant.name == "block_rows")
    assert planned(variant, problem, DEVICE).notes["warps"] == warps


@pytest.mark.parametrize(("near", "name"), [(0, "lanes_rows"), (1, "block_rows")])
def test_rows_in_groups_go_to_lanes_or_blocks(near: int, name: str) -> None:
    """Two pitches and three are as good as one, of three dims and of four in another order; more are walked."""
    length = 4 * tuning.LANES_VECTORS + 4 * near
    assert chosen((70, 3, length), 2, permute=(1, 0, 2)) == name
    assert chosen((70, 3, 5, length), 3, permute=(2, 1, 0, 3)) == name
    assert chosen((7, 10, 3, 5, 64), 4, permute=(3, 2, 1, 0, 4)) == "walked_lines"


def test_rows_across_x_in_groups_of_groups_are_turned() -> None:
    """Their elements stand apart in x: a tile turns them, where lanes would meet each sector again and again."""
    assert chosen((700, 512, 5, 10), 3, "int16", permute=(2, 0, 3, 1)) in ("transposed_lines", "copied_first")


@pytest.mark.parametrize(("near", "name"), [(-1, "block_rows"), (0, "lanes_rows")])
def test_many_rows_of_narrow_integers_go_to_lanes(near: int, name: str) -> None:
    """Up to twice as many vectors, which are few bytes of x."""
    rows = tuning.LANES_ROWS * DEVICE.sm_count + near
    assert chosen((rows, 4 * tuning.LANES_VECTORS), 1, "int8") == name
    assert chosen((rows, 4 * tuning.LANES_VECTORS + 2), 1, "int8") == "block_rows"
