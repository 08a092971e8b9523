"""Lines that are a run of x and go across y: which they are, what a block has, and the kernel on the simulator."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.dtypes import NAMES
from gpubench.dtypes import dtype as dtype_of
from gpubench.operators.constants import in_force
from gpubench.operators.cumsum import run_tuning
from gpubench.operators.cumsum.line_runs import RunCut, rows_forms
from gpubench.operators.cumsum.spread_runs import spread_cut, spread_of, taken_spread
from gpubench.operators.cumsum.walked import WalkedLines
from tests.operators.cases import DEVICE, planned
from tests.operators.cumsum.edges import chosen
from tests.operators.cumsum.test_fast_kernels import outputs
from tests.operators.cumsum.test_walked_lines import problem_of
from tests.operators.sampling import some

WALKED = WalkedLines()
ALONG, BATCHES, AROUND = [1, 0], [0, 2, 1], [2, 1, 3, 0]
OTHERS = {"RUN_LEAST": 1 << 40, "RUN_CROSSED_LEAST": 1 << 40}
ANY_SIZE = {"RUN_SPREAD_LEAST": 1, "RUN_SPREAD_LITTLE": 1, "RUN_SPREAD_LINE": 1, "RUN_SPREAD_ITEMS": 1, **OTHERS}
CUTTING = [name for name in NAMES if dtype_of(name).itemsize < 16]
"""The dtypes of which a line can cut a unit of 16 bytes."""


def goes(problem: Any) -> bool:
    """Tell whether a problem goes by such runs on a GPU of 132 SMs."""
    return taken_spread(problem, DEVICE) is not None


def cut(shape: list[int], dim: int, dtype: str = "float32", **layout: Any) -> RunCut | None:
    """Return what a block has of such a problem on a GPU of 132 SMs."""
    problem = problem_of(shape, dim, dtype, **layout)
    lines = spread_of(problem)
    assert lines is not None
    return spread_cut(problem, lines, DEVICE)


def run(
    shape: list[int], dim: int, dtype: str, schedule: str = "forward", constants: Any = None, **layout: Any
) -> None:
    """Hold a case that goes by such runs against the reference, NaN and infinity among its elements."""
    with in_force({**ANY_SIZE, **(constants or {})}):
        problem = problem_of(shape, dim, dtype, **layout)
        assert goes(problem)
        special = "with_nonfinite"
        outputs("walked_lines", dtype, schedule, runs=1, shape=shape, dim=dim, layout=layout, distribution=special)


def odd_length(dtype: str, rows: int) -> int:
    """Return a number of elements, `rows` or one less, that cut a unit of 16 bytes."""
    return rows if rows * dtype_of(dtype).itemsize % 16 else rows - 1


FEW = {"RUN_SPREAD_THREADS": 1 << 20}
"""As if threads were few: each holds as little of a line as may be."""


@pytest.mark.parametrize(
    ("near", "offset", "dtype", "schedule"),
    some([-1, 0, 1, 3], [0, 1, 3], CUTTING, ["forward", "reverse", "random:3"], each=3),
)
def test_lines_land_as_they_lie_and_leave_by_rows(near: int, offset: int, dtype: str, schedule: str) -> None:
    """One share and several, a last block that is cut, batches within blocks, x off the grid of vectors."""
    most = rows_forms(dtype_of(dtype).itemsize)[-1]
    for rows in (12, most, 3 * most):
        length = odd_length(dtype, rows + near)
        run([length, 131], 0, dtype, schedule, permute=ALONG, offset=offset)
        run([5, length, 32], 1, dtype, schedule, FEW, permute=BATCHES, offset=offset)


@pytest.mark.parametrize("schedule", ["forward", "random:3"])
@pytest.mark.parametrize("dtype", ["int32", "float64", "complex64", "complex128"])
def test_long_lines_of_whole_vectors(dtype: str, schedule: str) -> None:
    """Every run of x begins on the grid: a block's lines, and those of the last one, which is cut."""
    line = 16 // dtype_of(dtype).itemsize * 49
    run([max(line, run_tuning.RUN_SPREAD_LONG + 2), 131], 0, dtype, schedule, permute=ALONG)


@pytest.mark.parametrize(
    ("dtype", "shape", "by_runs"),
    [
        ("int64", [1, run_tuning.RUN_SPREAD_LONG + 2, 1 << 16], True),
        ("int64", [1, run_tuning.RUN_SPREAD_LONG - 2, 1 << 16], False),
        ("int64", [1, run_tuning.RUN_SPREAD_LONG, 1 << 16], False),  # whole lines of the caches
        ("complex128", [1, run_tuning.RUN_SPREAD_LONG + 1, 1 << 16], True),
        ("int32", [1, 100, run_tuning.RUN_SPREAD_VECTORS // 100], True),
        ("int32", [1, 100, run_tuning.RUN_SPREAD_VECTORS // 100 + 1], False),
        ("int32", [300, 100, 32], True),
        ("int32", [300, 100, 24], False),
        ("float16", [1, 200, 1 << 11], False),
    ],
)
def test_which_whole_vectors_are_spread(dtype: str, shape: list[int], by_runs: bool) -> None:
    """Long lines of 8 bytes an element, shorter elements where they are little, never whole lines of the caches."""
    assert goes(problem_of(shape, 1, dtype, permute=BATCHES)) == by_runs


@pytest.mark.parametrize(("dtype", "schedule"), some(CUTTING, ["forward", "random:3"]))
def test_lines_go_in_the_order_of_x(dtype: str, schedule: str) -> None:
    """Where y has its dims in another order: neighbours in x are neighbours in y, batches lie wherever they do."""
    run([11, 3, 4, 16], 0, dtype, schedule, permute=AROUND)


@pytest.mark.parametrize(("sms", "blocks"), [(1, 1), (1, 4), (4, 2), (132, 2)])
def test_blocks_of_any_number_of_lines(sms: int, blocks: int) -> None:
    """From a sector of y to two lines of the cache, by how many blocks there should be."""
    with in_force({**ANY_SIZE, "RUN_SPREAD_BLOCKS": blocks}):
        for dtype in ("uint8", "bfloat16", "float32"):
            outputs(
                "walked_lines",
                dtype,
                runs=1,
                figures={"sm_count": sms},
                shape=[77, 391],
                dim=0,
                layout={"permute": ALONG},
            )


@given(
    length=st.integers(8, 90),
    beside=st.integers(16, 75),
    outer=st.integers(1, 4),
    offset=st.integers(0, 5),
    dtype=st.sampled_from(CUTTING),
    few=st.booleans(),
)
def test_any_lines(length: int, beside: int, outer: int, offset: int, dtype: str, few: bool) -> None:
    """Whatever cuts units: each line its own sum, and nothing outside of x and y is touched."""
    side = max(32 // dtype_of(dtype).itemsize, beside)
    with in_force({**ANY_SIZE, "RUN_SPREAD_SIDE": 1, **(FEW if few else {})}):
        layout = {"permute": BATCHES, "offset": offset}
        if goes(problem_of([outer, length, side], 1, dtype, **layout)):
            outputs("walked_lines", dtype, runs=1, shape=[outer, length, side], dim=1, layout=layout)


@pytest.mark.parametrize(
    ("shape", "dtype", "form"),
    [
        ([76, 4240], "uint8", (16, 16, 6, 15)),  # 128 bytes of a row, two blocks an SM
        ([57, 2164724], "float16", (128, 32, 2, 29)),
        ([101, 1264955], "int16", (32, 32, 4, 27)),
        ([309, 2087], "float32", (8, 32, 10, 31)),  # a sector of a row, for lines are few
        ([43, 61440], "float64", (32, 16, 3, 15)),
        ([9, 1975098], "float32", (128, 16, 1, 9)),  # threads for 128 lines
        ([457, 8192], "float64", (8, 16, 31, 15)),
    ],
)
def test_what_a_block_has(shape: list[int], dtype: str, form: tuple[int, int, int, int]) -> None:
    """Lines for a whole row of two lines of the cache, unless blocks or threads would be too few or too many."""
    found = cut(shape, 0, dtype, permute=ALONG)
    assert found is not None
    assert (found.at_once, found.rows, found.shares, found.share) == form
    assert found.threads <= run_tuning.RUN_MOST_THREADS


def test_lines_of_which_a_block_holds_too_few_go_another_way() -> None:
    """Too many shares, too many bytes for a sector of y, too little shared memory."""
    longest = run_tuning.RUN_SPREAD_SHARES * 31
    assert cut([longest, 9992], 0, permute=ALONG) is not None
    assert cut([32 * run_tuning.RUN_SPREAD_SHARES + 1, 9992], 0, permute=ALONG) is None
    wide = run_tuning.RUN_SPREAD_SHARES * 15
    assert cut([wide, 9992], 0, "float64", permute=ALONG) is not None
    assert cut([wide + 1, 9992], 0, "float64", permute=ALONG) is None
    with in_force({"RUN_SPREAD_SHARES": 1 << 20}):
        most = run_tuning.RUN_BYTES // (16 * 2)  # of 16-bit floats 16 lines are a sector, and threads 512
        assert cut([most, 9999], 0, "float16", permute=ALONG) is None
    problem = problem_of([101, 99999], 0, permute=ALONG)
    lines = spread_of(problem)
    assert lines is not None
    assert spread_cut(problem, lines, dataclasses.replace(DEVICE, max_shared_bytes=1 << 13)) is None


@pytest.mark.parametrize("near", [-1, 0])
def test_from_how_many_elements_on(near: int) -> None:
    """Less goes as before, and all does where the limit is out of reach."""
    lines = -(-run_tuning.RUN_SPREAD_LEAST // 77) + near
    problem = problem_of([77, lines], 0, permute=ALONG)
    assert goes(problem) == (near == 0)
    with in_force({"RUN_SPREAD_LEAST": 1 << 40}):
        assert not goes(problem)


def test_lines_that_others_move_whole_stay_theirs() -> None:
    """Whole vectors of x; short lines; rows of y that are less than their sectors; a run of y with its neighbours."""
    many = run_tuning.RUN_SPREAD_LITTLE
    assert chosen((77, many), 0, permute=ALONG) == "walked_lines"
    for length, by_runs in ((76, False), (75, True), (15, False), (16, False), (17, True)):
        assert goes(problem_of([length, many], 0, permute=ALONG)) == by_runs
    for length, by_runs in ((47, False), (48, False), (49, True)):
        assert goes(problem_of([length, many], 0, "float16", permute=ALONG)) == by_runs
    for length, by_runs in ((63, False), (64, False), (65, True)):
        assert goes(problem_of([length, 8192], 0, "uint8", permute=ALONG)) == by_runs
    for side, by_runs in ((7, False), (8, True), (9, False), (15, False), (16, True), (17, True)):
        assert goes(problem_of([many, 77, side], 1, permute=BATCHES)) == by_runs
    assert not goes(problem_of([many, 77, 16], 1, "complex128", permute=BATCHES))


def test_little_goes_so_in_many_lines_of_enough_elements() -> None:
    """Short lines, and few, have walks of less code; from RUN_SPREAD_LITTLE elements on they do, too."""
    few = run_tuning.RUN_SPREAD_LINES
    for lines, by_runs in ((few - 1, False), (few, True)):
        assert goes(problem_of([301, lines], 0, permute=ALONG)) == by_runs
    enough = -(-run_tuning.RUN_SPREAD_LITTLE // 47)
    for length, lines, by_runs in ((49, 2000, True), (47, 2000, False), (47, enough, True)):
        assert goes(problem_of([length, lines], 0, permute=ALONG)) == by_runs


def test_much_of_narrow_integers_and_narrow_blocks_of_much_go_another_way() -> None:
    """Their sums are wide; rows of y that cut sectors are written by less than half of what a block likes to write."""
    lines = -(-run_tuning.RUN_SPREAD_NARROW // 77)
    assert goes(problem_of([77, lines - 1], 0, "int16", permute=ALONG))
    assert not goes(problem_of([77, lines], 0, "int16", permute=ALONG))
    assert goes(problem_of([77, lines], 0, "int32", permute=ALONG))
    side = run_tuning.RUN_SPREAD_CUT // 801
    for lines, by_runs in ((side, True), (side + 1, False), (-(-side // 8) * 8, True)):
        assert goes(problem_of([801, lines], 0, permute=ALONG)) == by_runs


@pytest.mark.parametrize(
    ("shape", "dim", "layout"),
    [
        ([77, 99], 0, {"permute": ALONG, "step": 2}),  # gaps
        ([77, 99], 0, {"permute": ALONG, "expand": [1]}),  # one line for all
        ([77, 99], 0, {}),  # lines across x
        ([99, 77], 1, {}),  # lines along y
        ([3, 77, 9], 1, {"permute": [2, 0, 1]}),  # neighbours in x are not so in y
    ],
)
def test_other_orders_have_no_such_lines(shape: list[int], dim: int, layout: dict[str, Any]) -> None:
    """Either x is no run of them, or lanes would write far apart."""
    assert spread_of(problem_of(shape, dim, **layout)) is None


@pytest.mark.parametrize("dtype", NAMES)
def test_every_plan_has_an_instance(dtype: str) -> None:
    """What is compiled ahead of time is what runs ask for, whatever their lines."""
    names = {name for _, name in WALKED.instances(dtype)}
    with in_force(ANY_SIZE):
        for length in (97, 129) if dtype == "complex128" else (9, 17, 33, 65, 129):
            for constants in ({}, FEW):
                with in_force({**ANY_SIZE, **constants}):
                    problem = problem_of([length, 64], 0, dtype, permute=ALONG)
                    assert goes(problem)
                    assert planned(WALKED, problem, DEVICE).launches[0].kernel in names
