"""How y is cut: tiles as high as lines are worth and as wide as leaves every SM its blocks; vectors of a thread."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gpubench.dtypes import dtype as dtype_of
from gpubench.model import Plan
from gpubench.operators.elementwise import flat, tiles, tuning
from tests.operators.cases import DEVICE, make_case
from tests.operators.elementwise.test_fast_rules import OPERATOR, plan_of


@pytest.mark.parametrize(
    ("rows", "dtype", "tile"),
    [(67, "int16", (8, 4)), (20, "int16", (32, 4)), (6, "int32", (64, 2)), (73, "int8", (8, 4))],
)
def test_tiles_are_as_high_as_their_lines_are_worth(rows: int, dtype: str, tile: tuple[int, int]) -> None:
    """Each line of a tile brings a unit in vain, and rows outside y cost less than that; not for vectors of bytes."""
    one = {"shape": (rows, 300_001), "layout": {"permute": (1, 0), "offset": 1}}
    plan = tiles.Tiles().plan(OPERATOR.problem(make_case("elementwise", dtype, function="neg", inputs=(one,))), DEVICE)
    assert isinstance(plan, Plan)
    assert plan.notes["lies"] == ["turned_off_grid"]
    assert (plan.notes["lanes"], plan.notes["passes"]) == tile


@pytest.mark.parametrize(("columns", "tile"), [(2**15, (32, 1)), (2**17, (32, 1)), (2**18, (64, 2)), (2**19, (128, 4))])
def test_low_tiles_are_narrower_where_they_are_few(columns: int, tile: tuple[int, int]) -> None:
    """Eight rows are as low as units of bfloat16 are; threads have fewer rows, and more blocks share the columns."""
    one = {"shape": (8, columns), "layout": {"permute": (1, 0)}}
    plan = plan_of("bfloat16", function="tanh", inputs=(one,))
    assert (plan.variant, plan.notes["lanes"], plan.notes["passes"]) == ("tiles", *tile)


@pytest.mark.parametrize(
    ("shape", "variant"),
    [
        ((tuning.BYTE_ROW, 100003), "flat"),
        ((64, 100003), "tiles"),  # y is much
        ((tuning.BYTE_MOST, tuning.BYTE_LITTLE // tuning.BYTE_MOST - 1), "flat"),
        ((tuning.BYTE_MOST + 1, tuning.BYTE_LITTLE // tuning.BYTE_MOST - 11), "tiles"),  # neighbours are far
        ((tuning.BYTE_MOST, tuning.BYTE_LITTLE // tuning.BYTE_MOST + 1), "tiles"),
        ((tuning.BYTE_MOST, 16 * (tuning.BYTE_LITTLE // tuning.BYTE_MOST // 16)), "tiles"),  # lines of whole units
    ],
)
def test_bytes_whose_lines_stand_off_units_are_gathered_where_they_are_near(
    shape: tuple[int, int], variant: str
) -> None:
    """Or where y is little and they are not far: tiles would keep units of which each byte is stored by itself."""
    turned = plan_of("int8", function="copy", shape=shape[::-1], layout={"permute": (1, 0)})
    assert turned.variant == variant


def test_tiles_hold_no_short_pieces_of_lines_though_part_of_them_is_empty() -> None:
    """Lines of 40 and 80 pairs of bytes come whole or by 64 bytes, not by 16 and 32 that would leave nothing empty."""
    for lines, high in ((40, 64), (80, 32)):
        notes = plan_of("float16", function="copy", shape=(lines, 469024), layout={"permute": (1, 0)}).notes
        assert tuning.THREADS // int(str(notes["lanes"])) * int(str(notes["passes"])) == high


@pytest.mark.parametrize(("length", "lanes"), [(216, 32), (224, 4)])
def test_rows_that_begin_inside_sectors_are_stored_in_long_pieces(length: int, lanes: int) -> None:
    """Where tiles of many shapes leave as little empty: rows of whole sectors may come by pieces of 64 bytes."""
    plan = plan_of("bfloat16", function="copy", shape=(1024, 216, length), layout={"permute": (0, 2, 1)})
    assert plan.variant == "tiles"
    assert plan.notes["lanes"] == lanes


@pytest.mark.parametrize(("operands", "passes"), [(1, 16), (2, 8), (3, 8)])
def test_several_operands_beside_ragged_rows_leave_threads_half_as_many(operands: int, passes: int) -> None:
    """Elements a thread, whose lines are pieces of 64 bytes and more."""
    turned = {"shape": (2**18, 77), "layout": {"permute": (1, 0)}}
    function = ("neg", "add", "addcmul")[operands - 1]
    inputs = (turned, *({"shape": (2**18, 77)},) * (operands - 1))
    plan = plan_of("int16", function=function, inputs=inputs)
    assert (plan.variant, plan.notes["passes"]) == ("tiles", passes)


@pytest.mark.parametrize(("row", "items"), [(tuning.LONG_BYTES - 1, 4), (tuning.LONG_BYTES + 1, 16)])
def test_long_rows_of_bytes_beside_another_come_by_whole_vectors(row: int, items: int) -> None:
    """Few warps meet an end of such a row; all warps of shorter ones do."""
    plan = plan_of("int8", function="add", inputs=({"shape": (20_000, row)}, {"shape": (row,)}))
    assert (plan.variant, plan.notes["items"]) == ("flat", items)


@pytest.mark.parametrize(("near", "variant"), [(-1, "flat"), (0, "tiles"), (1, "tiles")])
def test_pairs_of_bytes_off_units_fill_tiles_where_they_are_many(near: int, variant: str) -> None:
    """Rows of 32 of them, of lines that begin anywhere."""
    lines = tuning.FILLED_PAIRS // 32 + near
    plan = plan_of("int16", function="copy", shape=(lines, 32), layout={"permute": (1, 0), "offset": 1})
    assert plan.variant == variant


@pytest.mark.parametrize(
    ("function", "dtype", "out", "vectors"),
    [
        ("exp", "bfloat16", "float32", 2),
        ("exp", "float32", None, 1),
        ("copy", "bfloat16", "float32", 1),
        ("copy", "int8", "float64", 2),
    ],
)
def test_two_vectors_a_thread_where_most_is_written(function: str, dtype: str, out: str | None, vectors: int) -> None:
    """Casts to wider numbers, of functions that take longer already to twice the bytes."""
    plan = plan_of(dtype, function=function, inputs=({"shape": (2**25,)},), **({"out_dtype": out} if out else {}))
    assert plan.notes["vectors"] == vectors


@pytest.mark.parametrize(("share", "vectors"), [(1, 1), (1.001, 4), (2, 4), (2.001, 1)])
def test_four_vectors_a_thread_where_two_are_more_than_a_wave(share: float, vectors: int) -> None:
    """Where all threads are on the SMs at once with four, and are not with two. share: of the elements of that wave."""
    wave = 2 * DEVICE.max_threads_per_sm * DEVICE.sm_count
    for dtype, items in (("int64", 2), ("float32", 4), ("int16", 8)):
        plan = plan_of(dtype, function="neg", shape=(int(share * wave * items),))
        assert (plan.notes["items"], plan.notes["vectors"]) == (items, vectors), dtype


def test_a_wave_is_what_the_gpu_holds() -> None:
    """Where SMs hold fewer threads, less of y is a wave of four vectors."""
    small = dataclasses.replace(DEVICE, max_threads_per_sm=1536)
    size = 4 * 4 * 2048 * DEVICE.sm_count
    problem = OPERATOR.problem(make_case("elementwise", "float32", function="neg", shape=(size,)))
    for device, vectors in ((DEVICE, 4), (small, 1)):
        plan = flat.Flat().plan(problem, device)
        assert isinstance(plan, Plan)
        assert plan.notes["vectors"] == vectors


@pytest.mark.parametrize(
    ("function", "dtype", "others", "vectors"),
    [
        ("copy", "complex128", (), 4),
        ("abs", "complex128", (), 2),
        ("abs", "float64", (), 4),
        ("exp", "float64", (), 1),
        ("exp", "float32", (), 4),
        ("sqrt", "float32", (), 1),
        ("sqrt", "float16", (), 4),
        ("sin", "float16", (), 1),
        ("add", "float32", (None,), 1),
        ("maximum", "int32", ("uint8",), 4),
        ("pow", "int16", ("int16",), 1),
    ],
)
def test_a_wave_of_four_vectors_has_registers_for_them(
    function: str, dtype: str, others: tuple[str | None, ...], vectors: int
) -> None:
    """Few bytes of operands; of wide numbers no function that needs registers beside them, nor any that is long."""
    size = int(1.5 * 2 * DEVICE.max_threads_per_sm * DEVICE.sm_count * (16 // dtype_of(dtype).itemsize))
    given = tuple({"shape": (size,), **({"dtype": other} if other else {})} for other in others)
    plan = plan_of(dtype, function=function, inputs=(*given, {"shape": (size,)}))
    assert plan.notes["vectors"] == vectors


@pytest.mark.parametrize(
    ("dtype", "row", "other", "parts"),
    [
        ("int8", 4, (50_000, 1), True),
        ("int8", 8, (50_000, 1), True),
        ("bfloat16", 4, (50_000, 1), True),
        ("int8", 4, (4,), True),
        ("bfloat16", 4, (4,), False),  # beside a row full vectors are as good
        ("int8", 2, (50_000, 1), False),
        ("int8", 6, (50_000, 1), False),  # no part of a vector
        ("float32", 2, (50_000, 1), False),
    ],
)
def test_short_rows_beside_a_column_are_vectors(dtype: str, row: int, other: Any, parts: bool) -> None:
    """Where full vectors would be put together of several; a vector then has one element of the column."""
    inputs = ({"shape": (40, 50_000, row)}, {"shape": other})
    plan = plan_of(dtype, function="minimum", inputs=inputs)
    assert plan.variant == "flat"
    assert (plan.notes["items"] == row) == parts
    if parts:
        assert plan.notes["lies"] == ["on_grid", "row" if other == (row,) else "still"]


@pytest.mark.parametrize(
    ("dtype", "row", "variant"),
    [("float16", 8, "flat"), ("float16", 10, "tiles"), ("float32", 4, "flat"), ("int8", 8, "tiles")],
)
def test_tiles_write_no_scraps_all_over_y(dtype: str, row: int, variant: str) -> None:
    """Rows of 16 bytes, of which those side by side in a tile are far apart in y; bytes are worse off otherwise."""
    shape = (300, 4001, row)
    turned = {"shape": shape, "layout": {"permute": (2, 1, 0)}}
    inputs = (turned, {"shape": shape, "layout": {"step": 2}})
    assert plan_of(dtype, function="mul", inputs=inputs).variant == variant


@pytest.mark.parametrize(("row", "lie"), [(8, "apart"), (257, "off_grid")])
def test_rows_of_tiles_go_over_dims_beside_a_small_operand_that_does_not(row: int, lie: str) -> None:
    """Its elements are found by their places, so that a tile's rows are no scraps; long rows end where it ends."""
    turned = {"shape": (300, 401, row), "layout": {"permute": (2, 1, 0)}}
    plan = plan_of("float16", function="mul", inputs=({"shape": (300, 1, row)}, turned))
    assert plan.variant == "tiles"
    assert plan.notes["lies"] == [lie, "turned_off_grid"]


@pytest.mark.parametrize(("dtype", "rows"), [("complex64", 2), ("float32", 4), ("complex128", 2), ("complex128", 5)])
def test_a_turned_tile_is_no_higher_than_y_for_narrow_operands(dtype: str, rows: int) -> None:
    """Bytes beside few lines of wide elements do not make tiles of 16 rows, most of them behind y's last."""
    shape = (rows, 622147)
    flags, turned = {"shape": shape}, {"shape": shape, "layout": {"permute": (1, 0)}}
    plan = plan_of(dtype, function="where", inputs=(flags, turned, {"shape": shape[1:]}))
    assert plan.variant == "tiles"
    assert rows <= 256 // plan.notes["lanes"] * plan.notes["passes"] <= 2 * rows
