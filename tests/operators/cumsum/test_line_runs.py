"""Lines that go to y in runs: which they are, what a block has, and the kernels on the simulator."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gpubench.dtypes import NAMES
from gpubench.dtypes import dtype as dtype_of
from gpubench.operators.constants import in_force
from gpubench.operators.cumsum import run_tuning
from gpubench.operators.cumsum.line_runs import RunCut, cut_of, rows_forms, runs_of, taken_runs
from gpubench.operators.cumsum.walked import WalkedLines
from tests.operators.cases import DEVICE, planned
from tests.operators.cumsum.edges import chosen
from tests.operators.cumsum.test_fast_kernels import outputs
from tests.operators.cumsum.test_walked_lines import problem_of
from tests.operators.sampling import some

WALKED = WalkedLines()
ALONG, ACROSS, BLOCKS = [0, 2, 1], [1, 0], [1, 0, 2]
ANY_SIZE = {"RUN_LEAST": 1, "RUN_CROSSED_LEAST": 1, "RUN_LENGTH": 2, "RUN_LINE": 1, "RUN_SIDE": 1 << 20}


def goes(problem: Any) -> bool:
    """Tell whether a problem goes by runs on a GPU of 132 SMs."""
    return taken_runs(problem, DEVICE) is not None


def cut(shape: list[int], dim: int, dtype: str = "float32", **layout: Any) -> RunCut | None:
    """Return what a block has of such a problem."""
    problem = problem_of(shape, dim, dtype, **layout)
    runs = runs_of(problem)
    assert runs is not None
    return cut_of(problem, runs, DEVICE)


def run(shape: list[int], dim: int, dtype: str, schedule: str = "forward", **layout: Any) -> None:
    """Hold a case that goes by runs against the reference, NaN and infinity among its elements."""
    with in_force(ANY_SIZE):
        problem = problem_of(shape, dim, dtype, **layout)
        assert goes(problem)
        special = "with_nonfinite"
        outputs("walked_lines", dtype, schedule, runs=1, shape=shape, dim=dim, layout=layout, distribution=special)


def rows_of(dtype: str) -> int:
    """Return the most elements that a thread holds."""
    return rows_forms(dtype_of(dtype).itemsize)[-1]


@pytest.mark.parametrize(
    ("near", "offset", "dtype", "schedule"),
    some([-1, 0, 1], [0, 1, 3], NAMES, ["forward", "reverse", "random:3"], each=3),
)
def test_narrow_columns_land_as_they_lie(near: int, offset: int, dtype: str, schedule: str) -> None:
    """Lines of one share and of several, blocks that are cut, x off the grid of vectors: each line its own sum."""
    side = 5 if dtype != "complex128" else 3
    for rows, groups in ((rows_of(dtype) + near, 61), (3 * rows_of(dtype) + near, 4), (9, 1)):
        if dtype != "complex128":
            run([groups, rows, side], 1, dtype, schedule, offset=offset)


@pytest.mark.parametrize(
    ("near", "offset", "dtype", "schedule"),
    some([-1, 0, 1], [0, 1, 3], NAMES, ["forward", "reverse", "random:3"], each=3),
)
def test_lines_one_after_the_other_are_interleaved(near: int, offset: int, dtype: str, schedule: str) -> None:
    """Of two, three and seven lines side by side in y; of one share and of several."""
    for rows, side in ((rows_of(dtype) + near, 3), (3 * rows_of(dtype) + near, 2), (9, 7)):
        run([41, rows, side], 1, dtype, schedule, permute=ALONG, offset=offset)


@pytest.mark.parametrize(
    ("near", "offset", "dtype", "schedule"),
    some([-1, 0, 1], [0, 1, 3], NAMES, ["forward", "reverse", "random:3"], each=3),
)
def test_lines_across_x_cross_in_registers(near: int, offset: int, dtype: str, schedule: str) -> None:
    """Lines that cut vectors of y, of one share and of several, alone and a few beside each other."""
    for length in (7, 2 * (rows_of(dtype) // 2) + 1 + 2 * near, 2 * rows_of(dtype) + 1 + 2 * near):
        with in_force(ANY_SIZE):
            cuts = goes(problem_of([300, length], 1, dtype, permute=ACROSS))
        if cuts:
            run([300, length], 1, dtype, schedule, permute=ACROSS, offset=offset)
            run([3, 4, 50, length], 3, dtype, schedule, permute=[3, 1, 0, 2], offset=offset)
    if dtype != "complex128":
        run([90, 11, 3], 1, dtype, schedule, permute=BLOCKS, offset=offset)


def test_elements_of_a_vector_cut_sectors_alone() -> None:
    """A line of 16-byte elements is whole vectors wherever it ends, and so is a row of them."""
    with in_force(ANY_SIZE):
        assert goes(problem_of([300, 7], 1, "complex128", permute=ACROSS))
        assert not goes(problem_of([300, 8], 1, "complex128", permute=ACROSS))
        assert not goes(problem_of([300, 7, 3], 1, "complex128"))
        assert goes(problem_of([300, 9, 3], 1, "complex128", permute=ALONG))


@pytest.mark.parametrize(
    ("shape", "dim", "dtype", "layout", "form"),
    [
        ([124261, 16, 9], 1, "float32", {}, (14, 16, 1, 16)),
        ([1244813, 31], 1, "float16", {"permute": ACROSS}, (128, 32, 1, 31)),
        ([400000, 33], 1, "bfloat16", {"permute": ACROSS}, (64, 32, 2, 17)),
        ([32768, 154, 2], 1, "int64", {"permute": ALONG}, (4, 16, 11, 15)),  # odd, as 14 shares of 16 are not
        ([8192, 33, 3], 1, "float32", {"permute": ALONG}, (16, 32, 2, 17)),
        ([8192, 33, 3], 1, "float32", {}, (16, 32, 2, 17)),
    ],
)
def test_a_block_has_a_run_of_whole_groups(
    shape: list[int], dim: int, dtype: str, layout: dict[str, Any], form: tuple[int, int, int, int]
) -> None:
    """As many as give its threads work and end on whole cache lines, if that leaves few idle."""
    found = cut(shape, dim, dtype, **layout)
    assert found is not None
    assert (found.at_once, found.rows, found.shares, found.share) == form
    assert found.threads <= run_tuning.RUN_MOST_THREADS


def test_what_a_block_cannot_hold_goes_another_way() -> None:
    """Lines of too many shares, groups of too many bytes, too few lines for a warp."""
    longest = run_tuning.RUN_SHARES * 32
    assert cut([999, longest, 3], 1) is not None
    assert cut([999, longest + 1, 3], 1) is None
    assert cut([999, 24, 512], 1) is not None
    assert cut([999, 25, 512], 1) is None
    most = run_tuning.RUN_BYTES // (32 * 8)
    assert cut([9999, most], 1, "uint8", permute=ACROSS) is not None
    assert cut([9999, most + 1], 1, "uint8", permute=ACROSS) is None
    longest = run_tuning.RUN_CROSSED_SHARES * 32
    assert cut([9999, longest], 1, permute=ACROSS) is not None
    assert cut([9999, longest + 1], 1, permute=ACROSS) is None
    small = dataclasses.replace(DEVICE, max_shared_bytes=1 << 13)
    problem = problem_of([9999, 253], 1, permute=ACROSS)
    runs = runs_of(problem)
    assert runs is not None
    assert cut_of(problem, runs, small) is None


@pytest.mark.parametrize(
    ("shape", "dim", "layout"),
    [
        ([9, 7, 5], 1, {"step": 2}),  # gaps
        ([9, 7, 5], 0, {"permute": [0, 2, 1]}),  # in another order within the groups
        ([99, 7], 1, {"expand": [1]}),  # one element for a whole line
        ([2, 3, 4, 9], 3, {"permute": [2, 3, 1, 0]}),  # neighbours in y lie apart in x, and no group is a run
    ],
)
def test_other_orders_have_no_runs(shape: list[int], dim: int, layout: dict[str, Any]) -> None:
    """Neither is a group of x a run, nor are neighbours in y neighbours in x."""
    assert runs_of(problem_of(shape, dim, **layout)) is None


@pytest.mark.parametrize("near", [-1, 0])
def test_from_how_many_elements_on(near: int) -> None:
    """Less goes as before."""
    narrow = -(-run_tuning.RUN_LEAST // 45) + near
    assert goes(problem_of([narrow, 9, 5], 1)) == (near == 0)
    assert goes(problem_of([narrow, 9, 5], 1, permute=ALONG)) == (near == 0)
    lines = -(-run_tuning.RUN_CROSSED_LEAST // 31) + near
    assert goes(problem_of([lines, 31], 1, permute=ACROSS)) == (near == 0)


@pytest.mark.parametrize("near", [-1, 0])
def test_rows_that_end_within_a_sector_go_from_more_elements_on(near: int) -> None:
    """Rows of one vector, or of three, of which a walk would store half a sector at once."""
    for side, dtype in ((4, "float32"), (8, "bfloat16"), (12, "float32"), (6, "float64"), (2, "complex64")):
        groups = -(-run_tuning.RUN_HALVES // (16 * side)) + near
        assert goes(problem_of([groups, 16, side], 1, dtype)) == (near == 0 and side > 2), (side, dtype)


@pytest.mark.parametrize(
    ("length", "side", "dtype", "groups"),
    [
        (run_tuning.RUN_LINE_ITEMS, 5, "float16", 1 << 16),
        (run_tuning.RUN_SHORT_ITEMS, 10, "float64", run_tuning.RUN_SHORT // 30 + 1),
        (run_tuning.RUN_SHORT_ITEMS, 3, "int32", run_tuning.RUN_SHORT // 9 + 1),
    ],
)
def test_short_lines_of_enough_elements(length: int, side: int, dtype: str, groups: int) -> None:
    """Lines of fewer bytes: of ten elements whatever they are, of three and 4 bytes each where there are many."""
    assert goes(problem_of([groups, length, side], 1, dtype))
    assert not goes(problem_of([groups, length - 1, side], 1, dtype))
    if length == run_tuning.RUN_SHORT_ITEMS:
        assert not goes(problem_of([groups - 1, length, side], 1, dtype))


def test_rows_that_other_variants_write_whole_stay_theirs() -> None:
    """Whole vectors, whole sectors, rows wider than two cache lines, columns that are rows of two or four."""
    many = run_tuning.RUN_LEAST
    assert chosen((many, 9, 5), 1) == "walked_lines"
    assert goes(problem_of([many, 16, 5], 1, "float16"))
    assert not goes(problem_of([many, 9, 5], 1, "float16"))  # a thread would have too little under way
    for side in (8, 33):
        assert goes(problem_of([many, 9, side], 1)) == (side == 33)
    for side, by_runs in ((63, True), (65, False)):
        assert goes(problem_of([many, 9, side], 1, "float32" if by_runs else "float16")) == by_runs
    assert chosen((many, 9, 2), 1) == "flat_rows"
    assert not goes(problem_of([many, 9, 4], 1, "float16"))
    assert not goes(problem_of([many, 32], 1, permute=ACROSS))
    for length, dtype in ((20, "float32"), (24, "bfloat16"), (6, "int64")):  # whole vectors that cut sectors
        assert goes(problem_of([many, length], 1, dtype, permute=ACROSS)), dtype
    for side, length, by_runs in ((2, 8, True), (2, 7, False), (8, 8, False), (9, 8, True), (16, 8, False)):
        assert goes(problem_of([many, length, side], 1, permute=ALONG)) == by_runs


@pytest.mark.parametrize("dtype", NAMES)
def test_every_plan_has_an_instance(dtype: str) -> None:
    """What is compiled ahead of time is what runs ask for, whatever their lines."""
    names = {name for _, name in WALKED.instances(dtype)}
    with in_force(ANY_SIZE):
        for length in (3, 8, 9, 17, 33, 65):
            for shape, order in (([99, length], ACROSS), ([99, length, 3], ALONG), ([99, length, 3], [0, 1, 2])):
                problem = problem_of(shape, 1, dtype, permute=order)
                assert planned(WALKED, problem, DEVICE).launches[0].kernel in names
