"""The rule of `auto` for operands with different fastest dims: tiles, lines, or neither, at every edge."""

from __future__ import annotations

import dataclasses

import pytest

from gpubench.operators import OPERATORS
from gpubench.operators.constants import in_force
from gpubench.operators.cumsum import transposed_tuning, tuning, walk_tuning
from gpubench.operators.cumsum.transposed import TransposedTiles
from tests.operators.cases import DEVICE, auto, make_case, planned, refusal
from tests.operators.cumsum.edges import chosen

CUMSUM = OPERATORS["cumsum"]
SMS = DEVICE.sm_count
NO_RUNS = {"RUN_SPREAD_LEAST": 1 << 40}
"""What these rules are where lines that cut units of x do not go in runs."""


@pytest.mark.parametrize(("across", "name"), [(-1, "copied_first"), (0, "transposed_ring"), (1, "transposed_ring")])
def test_transposed_columns_are_transposed_from_a_sector_on(across: int, name: str) -> None:
    """The input lies along the summed dim, the output across it: narrow short ones are not worth a tile."""
    shape = (200, transposed_tuning.LENGTH - 4, transposed_tuning.ACROSS + across)
    assert chosen(shape, 1, permute=(0, 2, 1)) == name


@pytest.mark.parametrize(("across", "name"), [(-1, "copied_first"), (0, "transposed_lines"), (1, "transposed_lines")])
def test_halves_along_x_are_turned_where_rows_of_y_fill_sectors(across: int, name: str) -> None:
    """Twice as many lines side by side as of four bytes."""
    assert chosen((2000, 1152, 2 * transposed_tuning.ACROSS + across), 0, "bfloat16", permute=(2, 1, 0)) == name


@pytest.mark.parametrize(("across", "name"), [(16, "copied_first"), (17, "transposed_tiles")])
def test_bytes_across_x_are_copied_first_where_tiles_are_half_empty(across: int, name: str) -> None:
    """Their sums are eight times as much as what the copy moves."""
    assert chosen((across, 2048, 640), 2, "uint8", permute=(1, 2, 0)) == name
    assert chosen((across, 64, 640), 2, "uint8", permute=(1, 2, 0)) != "copied_first"


@pytest.mark.parametrize(("near", "name"), [(-1, "copied_first"), (0, "transposed_ring"), (1, "copied_first")])
def test_narrow_columns_are_turned_where_they_are_long(near: int, name: str) -> None:
    """A thread a line would walk alone for long."""
    length = transposed_tuning.CHUNKED_LENGTH // 2 + near
    assert chosen((60, length, transposed_tuning.ACROSS - 1), 1, permute=(0, 2, 1)) == name


@pytest.mark.parametrize(("near", "name"), [(-4, "transposed_ring"), (0, "transposed_tiles"), (4, "transposed_tiles")])
def test_few_long_lines_are_cut(near: int, name: str) -> None:
    """Strips of 8 lines would leave half of the SMs without one: chunks of them are worth reading x twice."""
    assert chosen((transposed_tuning.CHUNKED_LENGTH + near, 8 * 66), 0, permute=(1, 0)) == name
    assert chosen((transposed_tuning.CHUNKED_LENGTH, 8 * 67), 0, permute=(1, 0)) == "transposed_ring"


@pytest.mark.parametrize("dtype", ["bfloat16", "int16", "float32"])
def test_few_strips_of_lines_that_cut_units_are_copied_first(dtype: str) -> None:
    """No ring takes them; not where strips are more, lines shorter, or so many odd columns would be summed."""
    long = transposed_tuning.CUT_STRIPS + 2 * (dtype == "int16") + 1
    for batches, length, across, name in (
        (12, long, 113, "copied_first"),
        (24, long, 113, "transposed_tiles"),
        (4, long, transposed_tuning.CUT_ACROSS + 1, "transposed_tiles"),
        (4, long, 512, "copied_first"),
    ):
        assert chosen((batches, length, across), 1, dtype, permute=(0, 2, 1)) == name
    assert chosen((12, transposed_tuning.CUT_STRIPS - 1, 113), 1, dtype, permute=(0, 2, 1)) != "copied_first"


@pytest.mark.parametrize(("near", "name"), [(-4, "block_rows"), (0, "block_rows"), (4, "transposed_tiles")])
def test_few_lines_across_x_are_cut_where_rows_with_steps_would_touch_too_much(near: int, name: str) -> None:
    """A block a row, or several, and what is read again comes from the caches."""
    assert chosen((512, transposed_tuning.STRAIGHT_ELEMENTS // 512 + near), 1, permute=(1, 0)) == name
    assert chosen((16, 4 * tuning.LINKED_VECTORS + 4), 1, permute=(1, 0)) == "linked_blocks"


@pytest.mark.parametrize(("more", "name"), [(-1, "copied_first"), (0, "transposed_tiles"), (1, "copied_first")])
def test_long_lines_that_cut_units_are_copied_first(more: int, name: str) -> None:
    """Where strips are three quarters full at most, or much is moved; across x of 4 bytes, where runs are sectors."""
    assert chosen((40_000 + more, 24), 0, permute=(1, 0)) == name
    assert chosen((40_000 + more, 28), 0, permute=(1, 0)) == "transposed_tiles"
    assert chosen((400_000 + more, 28), 0, permute=(1, 0)) == name
    assert chosen((400_000 + more, 28), 0, "int32", permute=(1, 0)) == "transposed_tiles"
    assert chosen((16, 400_000 + 4 * more), 1, permute=(1, 0)) == "transposed_tiles"
    assert chosen((16, 400_000 + more), 1, permute=(1, 0)) == name
    assert chosen((20, 400_000 + more), 1, permute=(1, 0)) == "transposed_tiles"
    assert chosen((20, 400_000 + more), 1, "complex64", permute=(1, 0)) == "transposed_tiles"


@pytest.mark.parametrize("near", [-1, 0, 1])
def test_chunks_are_whole_tiles_for_every_sm(near: int) -> None:
    """As many as the device has blocks for; lines shorter than two of them stay whole."""
    tile = 32 * transposed_tuning.SHAPES[0].vectors * 4
    shape = [2 * transposed_tuning.CHUNK_TILES * tile + near, 9]
    problem = CUMSUM.problem(make_case("cumsum", "float32", shape=shape, dim=0, layout={"permute": [1, 0]}))
    plan = planned(TransposedTiles(), problem)
    assert len(plan.launches) == (1 if near < 0 else 2)
    assert plan.notes["chunks"] == (1 if near < 0 else 2)


@pytest.mark.parametrize("dtype", CUMSUM.dtypes)
@pytest.mark.parametrize(("shape", "dim"), [((1 << 20, 128), 0), ((128, 1 << 20), 1)])
def test_lines_of_the_smallest_tile_are_never_cut(dtype: str, shape: tuple[int, int], dim: int) -> None:
    """It is for many strips, on one SM 128 lines: no chunk's instance of it is compiled, and no plan names one."""
    device = dataclasses.replace(DEVICE, sm_count=1)
    problem = CUMSUM.problem(make_case("cumsum", dtype, shape=list(shape), dim=dim, layout={"permute": [1, 0]}))
    (launch,) = planned(TransposedTiles(), problem, device).launches
    compiled = TransposedTiles().instances_on(dtype, device)
    assert (launch.source, launch.kernel) in compiled
    assert launch.kernel.endswith(", 0>")
    chunked = launch.kernel.removesuffix("0>")
    assert not [name for _, name in compiled if name.startswith(chunked) and name != launch.kernel]


@pytest.mark.parametrize(("more", "name"), [(0, "walked_lines"), (4, "transposed_ring")])
def test_short_lines_of_few_strips_are_walked(more: int, name: str) -> None:
    """Strips would be too few tiles; what a thread asks for at once takes one latency."""
    count, length = transposed_tuning.LINE_STRIPS * SMS - 1, transposed_tuning.SHORT_LINE + more
    assert chosen((count, length, 16), 1, "int32", permute=(0, 2, 1)) == name
    assert chosen((32 * count, length), 1, "int32", permute=(1, 0)) == name


@pytest.mark.parametrize(("near", "name"), [(-1, "walked_lines"), (0, "transposed_lines"), (1, "transposed_lines")])
def test_pairs_of_lines_across_are_turned_by_a_warp(near: int, name: str) -> None:
    """Two lines side by side, in pieces that no row has."""
    length = transposed_tuning.FEW_LENGTH + near
    assert chosen((380, 25, 2, length), 3, "complex64", permute=(1, 0, 3, 2)) == name


@pytest.mark.parametrize(("near", "name"), [(0, "copied_first"), (1, "transposed_lines")])
def test_narrow_strips_are_copied_where_they_are_few(near: int, name: str) -> None:
    """Five lines along x: a lane each would be slow where all of them are a few warps, or each row of y less than a
    sector.
    """
    strips = transposed_tuning.NARROW_STRIPS * SMS + near
    assert chosen((strips, 1024, 5), 1, "int64", permute=(0, 2, 1)) == name
    assert chosen((strips, 1024, 5), 1, "float32", permute=(0, 2, 1)) == "copied_first"
    assert (
        chosen((strips, walk_tuning.LONG_WALK - 1, 5), 1, permute=(0, 2, 1))
        == ("walked_lines", "transposed_lines")[near]
    )


@pytest.mark.parametrize(
    ("shape", "dtype", "name"),
    [
        ((633, 14447), "bfloat16", "copied_first"),  # rows of x cut units
        ((640, 14447), "bfloat16", "copied_first"),  # rows of y do
        ((640, 14448), "bfloat16", "transposed_ring"),
        ((64, 40288), "float16", "copied_first"),  # few strips
        ((633, 3000), "bfloat16", "copied_first"),  # little, and rows of x cut units
        ((3001, 3000), "bfloat16", "transposed_tiles"),
        ((3001, 3001), "bfloat16", "copied_first"),
        ((2001, 501), "bfloat16", "lanes_rows"),
        ((13000, 401), "bfloat16", "copied_first"),
        ((14000, 401), "bfloat16", "transposed_lines"),
        ((3000, 399), "bfloat16", "lanes_rows"),
        ((633, 14447), "float32", "transposed_tiles"),
        ((1599, 7583), "int8", "copied_first"),
    ],
)
def test_long_lines_of_short_elements_across_x_are_copied_first(shape: tuple[int, int], dtype: str, name: str) -> None:
    """Tiles that cut units on either side, or are few, take longer than a copy and rows."""
    assert chosen(shape, 1, dtype, permute=(1, 0)) == name


@pytest.mark.parametrize(("near", "name"), [(0, "lanes_rows"), (1, "transposed_lines")])
def test_wide_elements_across_x_are_turned_where_lines_are_whole(near: int, name: str) -> None:
    """Lanes with 8 bytes an element touch a sector for each."""
    rows = transposed_tuning.STRAIGHT_WIDE // 32 + near
    assert chosen((rows, 32), 1, "float64", permute=(1, 0)) == name
    assert chosen((rows, 31), 1, "float64", permute=(1, 0)) == "walked_lines"  # in runs


@pytest.mark.parametrize(("near", "name"), [(-1, "copied_first"), (0, "transposed_tiles"), (1, "transposed_tiles")])
@pytest.mark.parametrize("along", [False, True])
def test_long_lines_are_cut_where_strips_are_not_mostly_empty(near: int, name: str, along: bool) -> None:
    """Fewer lines are copied first; so are 16-bit floats across x."""
    for dtype, lines in (
        ("int64", transposed_tuning.CHUNKED_ACROSS),
        ("float16", 3 * transposed_tuning.CHUNKED_ACROSS // 2),
    ):
        shape = (1000000, lines + near) if along else (lines + near, 1000000)
        turned = along or dtype != "float16"
        assert chosen(shape, 0 if along else 1, dtype, permute=(1, 0)) == (name if turned else "copied_first")


@pytest.mark.parametrize(
    ("length", "name"),
    [
        (3, "walked_lines"),
        (4, "lanes_rows"),
        (5, "walked_lines"),
        (8, "lanes_rows"),
        (16, "transposed_lines"),
        (17, "walked_lines"),
        (20, "walked_lines"),
        (24, "transposed_lines"),
    ],
)
def test_short_lines_across_x_are_turned_on_whole_vectors(length: int, name: str) -> None:
    """A few vectors of y are moved by lanes, not by a warp; less than one is walked, what cuts sectors goes in runs."""
    assert chosen((8000000, length), 1, permute=(1, 0)) == name


@pytest.mark.parametrize(
    ("length", "name"), [(8, "walked_lines"), (9, "copied_first"), (12, "walked_lines"), (16, "transposed_lines")]
)
def test_short_lines_that_are_no_rows_are_stored_in_runs(length: int, name: str) -> None:
    """A thread a line, as long as its stores are few and whole vectors; what cuts sectors is copied first."""
    assert chosen((32820, 16, 3, length), 3, "uint8", permute=(2, 1, 3, 0)) == name


@pytest.mark.parametrize(
    ("length", "offset", "name"),
    [(16, 0, "walked_lines"), (32, 0, "walked_lines"), (32, 1, "transposed_lines"), (40, 0, "transposed_lines")],
)
def test_short_lines_along_x_are_loaded_in_runs(length: int, offset: int, name: str) -> None:
    """A thread a line, as long as it is a sector, and begins where vectors may."""
    with in_force(NO_RUNS):
        assert chosen((256, 352, length, 30), 2, "uint8", permute=(0, 1, 3, 2), offset=offset) == name


@pytest.mark.parametrize(("near", "name"), [(-1, "lanes_rows"), (1, "transposed_tiles")])
def test_lines_of_narrow_integers_across_x_are_cut_by_lanes(near: int, name: str) -> None:
    """Any that a warp holds: of narrow integers a turn moves few bytes of x."""
    assert chosen((1000000, 256 + near), 1, "int16", permute=(1, 0)) == name


ALONG, ACROSS = [4, 1, 3, 0, 2], [4, 1, 3, 2, 0]
"""Five dims in another order: x lies along the third (or the fifth) and y across it (or along it)."""

EDGE = [
    (-1, "walked_lines", "transposed_lines"),
    (0, *["transposed_ring"] * 2),
    (1, "transposed_tiles", "transposed_ring"),
]
"""Below, at and above a limit; a line of x beyond it is no whole number of units."""


@pytest.mark.parametrize(("near", "many"), [(-1, True), (0, False), (1, False)])
def test_many_short_lines_have_a_lane_each(near: int, many: bool) -> None:
    """Lines that are too few tiles, either way; where they are few, blocks turn them."""
    length, across = transposed_tuning.LENGTH + near, transposed_tuning.RING_LENGTH + near
    blocks = "transposed_ring" if near == 0 else "transposed_tiles"  # along x, only every fourth length is whole units
    assert chosen((16, 8, length, 32, 48), 2, permute=ALONG) == ("transposed_lines" if many else blocks)
    assert chosen((48, 32, 8, 16, across), 4, permute=ACROSS) == ("transposed_lines" if many else "transposed_ring")
    assert chosen((48, 32, 8, 16, across), 4, "int16", permute=ACROSS) == (
        "transposed_lines" if many else "transposed_tiles"
    )
    assert chosen((2, 1, length, 32, 48), 2, permute=ALONG) == blocks
    assert chosen((48, 32, 1, 2, length), 4, permute=ACROSS) == "transposed_ring"


@pytest.mark.parametrize(("near", "along", "across"), EDGE)
def test_lines_of_16_bit_floats_may_be_longer(near: int, along: str, across: str) -> None:
    """Each direction has its own limit."""
    lengths = [transposed_tuning.HALF_LENGTH[True] + near, transposed_tuning.HALF_LENGTH[False] + 8 * near]
    assert chosen((16, 8, lengths[0], 32, 48), 2, "bfloat16", permute=ALONG) == along
    assert chosen((48, 32, 8, 16, lengths[1]), 4, "float16", permute=ACROSS) == across


@pytest.mark.parametrize(
    ("capability", "name"), [((7, 5), "transposed_tiles"), ((8, 0), "transposed_ring"), ((8, 6), "transposed_ring")]
)
def test_a_ring_needs_copies_in_the_background(capability: tuple[int, int], name: str) -> None:
    """Where a copy is a load that waits, tiles come through registers."""
    problem = CUMSUM.problem(make_case("cumsum", "float32", shape=[4096, 4096], dim=0, layout={"permute": [1, 0]}))
    assert auto(problem, dataclasses.replace(DEVICE, compute_capability=capability)).name == name


def test_narrow_integers_stay_words() -> None:
    """Of one and two bytes across x, and along it where strips would be narrow and lines long."""
    for dtype, name in (("int8", "transposed_tiles"), ("int16", "transposed_tiles"), ("int32", "transposed_ring")):
        assert chosen((4096, 4096), 0, dtype, permute=(1, 0)) == "transposed_ring"
        assert chosen((4096, 1024), 0, dtype, permute=(1, 0)) == name
        assert chosen((4000, 1024), 0, dtype, permute=(1, 0)) == "transposed_ring"
        assert chosen((4096, 4096), 1, dtype, permute=(1, 0)) == name


@pytest.mark.parametrize(
    ("near", "along", "across"),
    [
        (-1, "walked_lines", "walked_lines"),
        (0, "transposed_lines", "walked_lines"),  # whole vectors of y
        (1, "transposed_lines", "transposed_lines"),
    ],
)
def test_the_shortest_lines_are_not_worth_a_copy(near: int, along: str, across: str) -> None:
    """Below LINE_LEAST elements: by single threads, or by tiles."""
    assert chosen((16, 8, transposed_tuning.LINE_LEAST[True] + near, 32, 48), 2, permute=ALONG) == along
    assert chosen((48, 32, 8, 16, transposed_tuning.LINE_LEAST[False] + near), 4, permute=ACROSS) == across


@pytest.mark.parametrize(
    ("strips", "name"), [(-1, "transposed_ring"), (0, "transposed_lines"), (1, "transposed_lines")]
)
def test_lines_are_many_from_a_few_strips_an_sm_on(strips: int, name: str) -> None:
    """Strips of 32 lines, LINE_STRIPS for each SM."""
    count = transposed_tuning.LINE_STRIPS * SMS + strips
    assert chosen((count, 68, 32), 1, permute=(0, 2, 1)) == name
    assert chosen((32 * count, 72), 1, permute=(1, 0)) == name


@pytest.mark.parametrize(("length", "name"), [(130, "walked_lines"), (132, "transposed_lines")])
def test_16_bit_floats_along_x_that_words_cut_are_walked(length: int, name: str) -> None:
    """Lines that do not begin on 8 bytes."""
    with in_force(NO_RUNS):
        assert chosen((400, length, 32), 1, "bfloat16", permute=(0, 2, 1)) == name
        assert chosen((400, length, 32), 1, "float32", permute=(0, 2, 1)) == "transposed_lines"


@pytest.mark.parametrize(("across", "name"), [(16, "copied_first"), (17, "transposed_lines")])
def test_few_lines_of_short_elements_across_x_are_copied_first(across: int, name: str) -> None:
    """Half of a warp's lanes would have none."""
    assert chosen((across, 3741, 475), 2, "bfloat16", permute=(2, 1, 0)) == name
    assert chosen((across, 3741, walk_tuning.LONG_WALK - 1), 2, "uint8", permute=(2, 1, 0)) != "copied_first"
    assert chosen((across, 3741, 475), 2, "float32", permute=(2, 1, 0)) != "copied_first"


def test_permuted_tensors_stay_where_no_fast_dim_is_summed() -> None:
    """None of the two fastest dims."""
    assert chosen((16, 8, 64, 32, 48), 1, permute=(2, 4, 1, 3, 0)) == "walked_lines"


def test_plain_operands_are_never_transposed() -> None:
    """Where both have one fastest dim, or a gap after every element, nothing is transposed."""
    variant = next(variant for variant in CUMSUM.variants if variant.name == "transposed_tiles")
    for layout in ({}, {"step": 2}, {"offset": 1}, {"expand": (0,)}):
        for dim in (0, 1):
            problem = CUMSUM.problem(make_case("cumsum", "float32", shape=[64, 64], dim=dim, layout=layout))
            assert refusal(variant, problem, DEVICE) is not None


@pytest.mark.parametrize(
    ("shape", "dtype", "name"),
    [
        ((100, 1997), "bfloat16", "walked_lines"),
        ((100, 2 * walk_tuning.WALK_SHARED // 100), "uint8", "walked_lines"),
        ((100, 2 * walk_tuning.WALK_SHARED // 100 + 1), "uint8", "transposed_tiles"),
        ((104, 1997), "bfloat16", "transposed_ring"),
        ((150, 1234), "float32", "transposed_tiles"),
    ],
)
def test_little_that_only_tiles_would_turn_is_shared(shape: tuple[int, int], dtype: str, name: str) -> None:
    """Lines along x that cut units of 16 bytes, of short elements."""
    with in_force(NO_RUNS):
        assert chosen(shape, 0, dtype, permute=(1, 0)) == name
