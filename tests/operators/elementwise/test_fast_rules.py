"""The rules of the fast elementwise kernels: how operands lie, how dims are split, and what changes at each edge."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gpubench import dtypes
from gpubench.model import Plan
from gpubench.operators import OPERATORS
from gpubench.operators.elementwise import flat, tiles, tuning
from gpubench.operators.elementwise.axes import split
from gpubench.operators.elementwise.merged import Merged, merged
from gpubench.operators.elementwise.tiles import Tiles
from tests.operators.cases import DEVICE, make_case, refusal
from tests.operators.elementwise.edges import edges

OPERATOR = OPERATORS["elementwise"]


def shape_of(dtype: str = "float32", **params: Any) -> Merged:
    """Return the merged dims of a case."""
    found = merged(OPERATOR.problem(make_case("elementwise", dtype, **params)))
    assert isinstance(found, Merged)
    return found


def plan_of(dtype: str = "float32", **params: Any) -> Plan:
    """Return what auto plans."""
    plan = OPERATOR.choose(OPERATOR.problem(make_case("elementwise", dtype, **params)), DEVICE)
    assert isinstance(plan, Plan)
    return plan


def test_every_edge_has_two_sides() -> None:
    """One element less or more, and auto takes another kernel, another instance or another grid."""
    for name, cases in edges(DEVICE).items():
        plans = [OPERATOR.choose(OPERATOR.problem(case), DEVICE) for case in cases]
        launches = [plan.launches[0] for plan in plans if isinstance(plan, Plan)]
        assert len(launches) == 3, name
        found = {(launch.kernel, launch.grid[0] // 64 if "rows" not in name else launch.grid[0]) for launch in launches}
        assert len(found) > 1, name


@pytest.mark.parametrize(
    ("inputs", "lies"),
    [
        (({"shape": (64, 64)}, {"shape": (64, 64)}), ["on_grid", "on_grid"]),
        (({"shape": (64, 64)}, {"shape": (64, 64), "layout": {"offset": 4}}), ["on_grid", "on_grid"]),
        (({"shape": (64, 64)}, {"shape": (64, 64), "layout": {"offset": 3}}), ["on_grid", "off_grid"]),
        (({"shape": (64, 64)}, {"shape": (64,)}), ["on_grid", "row"]),
        (({"shape": (64, 63)}, {"shape": (63,)}), ["on_grid", "row_off_grid"]),
        (({"shape": (64, 64)}, {"shape": (64,), "layout": {"offset": 1}}), ["on_grid", "row_off_grid"]),
        (({"shape": (64, 64)}, {"shape": (64, 1)}), ["on_grid", "still"]),
        (({"shape": (64, 64)}, {"shape": ()}), ["on_grid", "same"]),
        (({"shape": (64, 64)}, {"shape": (64, 64), "layout": {"step": 2}}), ["on_grid", "apart"]),
    ],
)
def test_operands_lie_as_they_are_read(inputs: Any, lies: list[str]) -> None:
    """A vector on its size, at any alignment, a row's, one element, or elements apart."""
    shape = shape_of(function="add", inputs=inputs)
    assert [flat.lie_of(shape, operand) for operand in shape.inputs] == lies


@pytest.mark.parametrize(
    ("row", "other", "lie"),
    [
        ((511,), (9999, 511), "repeating"),
        ((5,), (99999, 5), "repeating"),
        ((513,), (9999, 513), "row_off_grid"),
        ((99, 1, 63), (99, 700, 63), "row_off_grid"),
        ((64,), (9999, 64), "row"),
    ],
)
def test_a_short_row_of_all_rows_repeats(row: tuple[int, ...], other: tuple[int, ...], lie: str) -> None:
    """Of narrow elements, where rows do not end with vectors; a block has several rows where there are many."""
    plan = plan_of("float16", function="add", inputs=({"shape": row}, {"shape": other}))
    assert plan.notes["lies"][0] == lie
    assert (plan.launches[0].shared_bytes > 0) == (lie == "repeating")
    if lie == "repeating" and other[0] == 9999:
        assert (plan.notes["threads"], plan.notes["vectors"]) == (tuning.SMALL_THREADS, 2)


def test_dims_are_those_of_y_fastest_first_and_merged() -> None:
    """Whatever the operands' order, dims that all of them walk as one are one."""
    both = {"shape": (4, 5, 6), "layout": {"permute": (2, 0, 1)}}
    assert [dim.size for dim in shape_of(function="add", inputs=(both, both)).dims] == [6, 20]
    row = {"shape": (4, 1, 1)}
    assert [dim.size for dim in shape_of(function="add", inputs=({"shape": (4, 5, 6)}, row)).dims] == [30, 4]
    assert [dim.size for dim in shape_of(function="neg", shape=(4, 1, 5)).dims] == [20]
    assert [dim.size for dim in shape_of(function="neg", shape=()).dims] == [1]


def test_a_turned_operand_splits_dims_into_runs_of_y_and_of_its_own() -> None:
    """With x in the order 4, 1, 3, 0, 2: y's run is dims 4 and 3, x's is dims 2 and 0, and dim 1 is left."""
    layout = {"permute": (4, 1, 3, 0, 2)}
    axes = split(shape_of(function="copy", shape=(16, 24, 64, 32, 48), layout=layout))
    sizes = [[dim.size for dim in dims] for dims in (axes.along, axes.across, axes.outer)]
    assert sizes == [[48, 32], [64, 16], [24]]
    assert axes.turned == (1,)


def test_the_largest_operand_decides_what_lies_across() -> None:
    """Of two operands that lie across y in different ways, the smaller one is read a distance apart."""
    shape = (40, 50, 60)
    first = {"shape": (40, 1, 60), "layout": {"permute": (2, 1, 0)}}
    second = {"shape": shape, "layout": {"permute": (0, 2, 1)}, "dtype": "float64"}
    found = shape_of("float64", function="add", inputs=(first, second))
    axes = split(found)
    assert axes.turned == (2,)
    lies = [tiles.lie_of(found, axes, operand, True) for operand in found.inputs]
    assert lies == ["apart", "turned"]


def test_a_row_that_all_share_is_kept() -> None:
    """The dim across is one along which an operand's rows are the same, whichever it is."""
    inputs = ({"shape": (700, 7, 512)}, {"shape": (1, 7, 512)})
    plan = Tiles().plan(OPERATOR.problem(make_case("elementwise", "float32", function="add", inputs=inputs)), DEVICE)
    assert isinstance(plan, Plan)
    assert plan.notes["lies"] == ["on_grid", "row"]


@pytest.mark.parametrize(
    ("shape", "layouts", "lies"),
    [
        ((64, 128), ({"permute": (1, 0)}, {"permute": (1, 0)}), ["turned", "turned"]),
        ((64, 128), ({"permute": (1, 0)}, {"permute": (1, 0), "offset": 1}), ["turned_off_grid", "turned_off_grid"]),
        ((63, 128), ({"permute": (1, 0)}, {}), ["turned_off_grid", "on_grid"]),
        ((64, 127), ({"permute": (1, 0)}, {}), ["turned", "on_grid"]),
        ((64, 127), ({"permute": (1, 0), "step": 2}, {"offset": 1}), ["turned_apart", "off_grid"]),
        ((2, 7, 512), ({"permute": (0, 2, 1)}, {}), ["braided", "on_grid"]),
        ((2, 7, 512), ({"permute": (0, 2, 1), "offset": 1}, {}), ["turned_off_grid", "on_grid"]),
        ((7, 513), ({"permute": (1, 0)}, {}), ["braided", "on_grid"]),
        ((2, 7, 511), ({"permute": (0, 2, 1)}, {}), ["turned_off_grid", "on_grid"]),
        ((2, 8, 512), ({"permute": (0, 2, 1)}, {}), ["turned", "on_grid"]),
        ((2, 15, 512), ({"permute": (0, 2, 1)}, {}), ["braided", "on_grid"]),
        ((2, 17, 512), ({"permute": (0, 2, 1)}, {}), ["turned_off_grid", "on_grid"]),
        ((2, 9, 512), ({"permute": (0, 2, 1)}, {"permute": (0, 2, 1)}), ["turned_off_grid", "turned_off_grid"]),
    ],
)
def test_operands_across_the_rows_come_by_their_lines(shape: Any, layouts: Any, lies: list[str]) -> None:
    """Whole units turned in registers, others cut out of shared memory, the few rows of one run from registers."""
    inputs = tuple({"shape": shape, "layout": layout} for layout in layouts)
    problem = OPERATOR.problem(make_case("elementwise", "float32", function="add", inputs=inputs))
    plan = tiles.Tiles().plan(problem, DEVICE)
    assert isinstance(plan, Plan)
    assert plan.notes["lies"] == lies


@pytest.mark.parametrize(
    ("rows", "lie"), [(2, "turned"), (4, "turned"), (6, "braided"), (8, "turned"), (14, "braided")]
)
def test_odd_pairs_of_eight_bytes_come_as_one_run(rows: int, lie: str) -> None:
    """Rows that are whole vectors across are turned, but for those that no power of two of lanes takes."""
    one = {"shape": (rows, 1024), "layout": {"permute": (1, 0)}}
    plan = tiles.Tiles().plan(
        OPERATOR.problem(make_case("elementwise", "float64", function="neg", inputs=(one,))), DEVICE
    )
    assert isinstance(plan, Plan)
    assert plan.notes["lies"] == [lie]


@pytest.mark.parametrize(
    ("shape", "dtype", "layout", "variant"),
    [
        ((3001, 3, 411), "float32", {"permute": (0, 2, 1)}, "flat"),
        ((7461, 3, 1500), "uint8", {"permute": (0, 2, 1)}, "flat"),
        ((2048, 6, 9, 64), "int64", {"permute": (0, 1, 3, 2)}, "flat"),
        ((3001, 4, 411), "float32", {"permute": (0, 2, 1)}, "tiles"),  # whole units
        ((64, 3, 50_176), "uint8", {"permute": (0, 2, 1)}, "tiles"),  # braided
        ((3, 5_000_001), "float32", {"permute": (1, 0), "offset": 1}, "tiles"),  # lines too long for the L2 cache
    ],
)
def test_few_lines_are_read_element_by_element(shape: Any, dtype: str, layout: Any, variant: str) -> None:
    """... where the run they make is short, no whole units and not braided, in vectors of 4 bytes of y."""
    plan = plan_of(dtype, function="copy", shape=shape, layout=layout)
    assert plan.variant == variant
    if variant == "flat":
        assert plan.notes["vectors"] == 4
    both = (
        {"shape": shape, "layout": layout},
        {"shape": shape, "layout": {"permute": tuple(reversed(range(len(shape))))}},
    )
    assert plan_of(dtype, function="add", inputs=both).variant == "tiles"


@pytest.mark.parametrize("near", [0, 1])
def test_a_few_bytes_a_line_are_read_element_by_element(near: int) -> None:
    """Whole units of such lines would be mostly others; of wider elements, or more of them, tiles turn the units."""
    few = tuning.FEW_BYTES + near
    for dtype, variant in (("uint8", ("flat", "tiles")[near]), ("int16", "tiles")):
        both = (
            {"shape": (983_433, few), "layout": {"permute": (1, 0)}},
            {"shape": (983_433, few), "layout": {"offset": 5}},
        )
        plan = plan_of(dtype, function="add", inputs=both, out_layout="operands")
        assert plan.variant == variant


@pytest.mark.parametrize(
    ("dtype", "row", "cut"), [("int8", 6, (2, 8)), ("int16", 10, (2, 4)), ("int16", 5, (1, 8)), ("int16", 36, (8, 1))]
)
def test_short_rows_that_are_moved_are_whole_vectors(dtype: str, row: int, cut: tuple[int, int]) -> None:
    """As many elements as all rows are whole vectors of, up to 16 bytes a thread; not of longer rows."""
    one = {"shape": (16384, 52, row), "layout": {"permute": (1, 0, 2)}}
    plan = plan_of(dtype, function="copy", inputs=(one,))
    assert (plan.notes["items"], plan.notes["vectors"]) == cut
    assert plan.notes["lies"] == ["row" if row * 2 <= 64 and row != 36 else "row_off_grid"]


def test_a_group_is_one_run_only_if_it_is() -> None:
    """Steps that are all smaller than the group do not make it one: neighbours lie a line of other groups apart."""
    one = {"shape": (898, 7, 1714), "layout": {"permute": (2, 0, 1)}}
    assert plan_of("int8", function="abs", inputs=(one,)).variant == "tiles"
    near = {"shape": (898, 7, 1714), "layout": {"permute": (0, 2, 1)}}
    assert plan_of("int8", function="abs", inputs=(near,)).variant == "flat"


@pytest.mark.parametrize(("function", "rows"), [("add", 64), ("add", 65536), ("pow", 4100)])
def test_broadcasts_go_by_flat(function: str, rows: int) -> None:
    """Whatever their size: rows and columns come out of the caches."""
    for other in ((rows, 1), (512,)):
        assert (
            plan_of("float32", function=function, inputs=({"shape": (rows, 512)}, {"shape": other})).variant == "flat"
        )


@pytest.mark.parametrize(("near", "vectors"), [(-1, 1), (0, 2), (1, 2)])
def test_heavy_functions_take_two_vectors_where_blocks_are_many(near: int, vectors: int) -> None:
    """Up to then more threads hide what one element waits for."""
    block = 2 * 4 * tuning.FLAT_THREADS * DEVICE.sm_count
    plan = plan_of("float32", function="pow", inputs=({"shape": (tuning.HEAVY_BLOCKS * block + near,)}, {"shape": ()}))
    assert plan.notes["vectors"] == vectors
    for function, dtype, some in (("log", "bfloat16", vectors), ("log", "float32", 1), ("exp", "bfloat16", 1)):
        size = tuning.HEAVY_BLOCKS * block * (2 if dtype == "bfloat16" else 1)
        assert plan_of(dtype, function=function, shape=(size + near,)).notes["vectors"] == some


@pytest.mark.parametrize(("step", "offsets"), [(4, ", gpubench::uint32"), (5, "")])
def test_offsets_have_64_bits_where_an_operand_reaches_further(step: int, offsets: str) -> None:
    """2^30 elements some apart, off the first: up to 2^32 of the operand the offsets have 32 bits."""
    layout = {"step": step, "offset": 5}
    plan = plan_of("int8", function="copy", shape=(2**30,), layout=layout)
    assert plan.notes["lies"] == ["apart"]
    assert f"gpubench::Axis<1{offsets}>" in plan.launches[0].kernel


def test_rows_beside_operands_off_the_grid_are_not_braided() -> None:
    """What lies at another alignment is read element by element by both kernels: then `flat` has less to do."""
    turned = {"shape": (3581, 9, 520), "layout": {"permute": (0, 2, 1)}}
    for offset, variant in ((0, "tiles"), (4, "tiles"), (3, "flat")):
        both = ({"shape": (3581, 9, 520), "layout": {"offset": offset}}, turned)
        assert plan_of("float32", function="mul", inputs=both).variant == variant


@pytest.mark.parametrize(("inner", "variant"), [(33, "flat"), (35, "tiles")])
def test_tiles_that_would_hold_little_are_left(inner: int, variant: str) -> None:
    """A block for a few elements each, of which there are many."""
    one = {"shape": (688, 30, 60, inner), "layout": {"permute": (2, 0, 3, 1)}}
    both = ({"shape": (688, 30, 60, inner), "layout": {"step": 2}}, one)  # which ends y's rows behind their first dim
    assert plan_of("float16", function="add", inputs=both).variant == variant


@pytest.mark.parametrize(("size", "lanes"), [(4, 16), (64, 16)])
def test_a_short_run_goes_on_over_the_next_dim(size: int, lanes: int) -> None:
    """It lies along the last dim of y and then along the middle one: that goes to the run, not to y's rows."""
    both = ({"shape": (size, 64, 23504)}, {"shape": (size, 64, 23504), "layout": {"permute": (2, 1, 0)}})
    plan = plan_of("float32", function="maximum", inputs=both)
    assert plan.variant == "tiles"
    assert plan.notes["lanes"] == lanes
    shape = merged(OPERATOR.problem(make_case("elementwise", "float32", function="maximum", inputs=both)))
    assert isinstance(shape, Merged)
    axes = split(shape)
    assert [dim.size for dim in axes.across] == [size, 64][: 2 if size < 64 else 1]
    assert [dim.size for dim in axes.along] == [23504, 64][: 1 if size < 64 else 2]


@pytest.mark.parametrize(
    ("shape", "order", "variant"),
    [
        ((17001, 123), (1, 0), "flat"),
        ((17001, 128), (1, 0), "tiles"),  # rows of whole vectors
        ((17008, 123), (1, 0), "tiles"),  # lines of whole vectors
        ((17001, 250), (1, 0), "tiles"),  # what a block reads of a line is too short
        ((857, 33, 700), (0, 2, 1), "flat"),
        ((857, 49, 700), (0, 2, 1), "tiles"),  # a group of y is too large
    ],
)
def test_bytes_that_tiles_would_turn_one_by_one_are_gathered(shape: Any, order: Any, variant: str) -> None:
    """... where neither rows nor lines are whole vectors; nothing else of the kind leaves its tiles."""
    layout = {"permute": order}
    assert plan_of("uint8", function="copy", shape=shape, layout=layout).variant == variant
    assert plan_of("float16", function="copy", shape=shape, layout=layout).variant == "tiles"


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_a_turned_tile_fits_shared_memory_and_its_operands(dtype: str) -> None:
    """Whatever the sizes, an SM has room for three; squares are a vector of the narrowest turned operand each way."""
    small = dataclasses.replace(DEVICE, max_shared_bytes=64 << 10)  # compute capability 7.5
    for device in (DEVICE, small):
        for sizes in ((3, 5000), (5000, 3), (40, 40, 40), (1001, 1001), (64, 1024), (17, 3, 900)):
            one = {"shape": sizes, "layout": {"permute": tuple(reversed(range(len(sizes))))}}
            case = make_case("elementwise", dtype, function="where", inputs=(one, one, one))
            problem = OPERATOR.problem(case)
            plan = tiles.Tiles().plan(problem, device)
            assert isinstance(plan, Plan)
            assert plan.launches[0].shared_bytes <= max(device.max_shared_bytes // 3, 48 << 10)
            shape = merged(problem)
            assert isinstance(shape, Merged)
            lies = zip(shape.inputs, plan.notes["lies"], strict=True)
            turned = [dtypes.dtype(operand.dtype).itemsize for operand, lie in lies if lie == "turned"]
            if turned:
                assert plan.notes["lanes"] * shape.vector >= 16
                assert 256 // plan.notes["lanes"] * plan.notes["passes"] >= 16 // min(turned)
            if "braided" in plan.notes["lies"]:
                assert plan.notes["passes"] == sizes[0]


def test_what_no_fast_kernel_counts_is_left_to_the_others() -> None:
    """An empty result; more than 2^31 elements found by their places. Linear operands go on to 2^35."""
    tensor: dict[str, Any] = {"function": "add", "shape": (0, 3)}
    assert "nothing" in (refusal(flat.Flat(), OPERATOR.problem(make_case("elementwise", "float32", **tensor))) or "")
    assert plan_of(**tensor).steps == ()
    huge: dict[str, Any] = {"function": "add", "inputs": ({"shape": (2**20, 2**12, 3)}, {"shape": (2**20, 1, 3)})}
    assert refusal(flat.Flat(), OPERATOR.problem(make_case("elementwise", "int8", **huge))) is not None
    assert plan_of("int8", function="neg", shape=(2**34 + 8,)).variant == "flat"


def test_approximations_serve_only_where_all_are_16_bit_floats() -> None:
    """A float32 operand or result keeps the C library's function; the bound that is stated follows."""
    rough = plan_of("bfloat16", function="exp", shape=(4096,))
    exact = plan_of("bfloat16", function="exp", shape=(4096,), out_dtype="float32")
    assert "Rough" in rough.launches[0].kernel
    assert "Rough" not in exact.launches[0].kernel
    assert rough.accuracy.additions > exact.accuracy.additions
    mixed = ({"shape": (8,)}, {"shape": (8,), "dtype": "float32"})
    assert "Rough" not in plan_of("float16", function="pow", inputs=mixed).launches[0].kernel
