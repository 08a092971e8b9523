"""Lines of `walked_lines` that are one turn: which kernel has them, and its answers on the simulator."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.dtypes import NAMES
from gpubench.operators.constants import in_force
from gpubench.operators.cumsum import walk_tuning
from gpubench.operators.cumsum.walked import SHORT_SOURCE, WalkedLines
from gpubench.operators.cumsum.walks import MOST_SHORT, SHORT_WALK, is_short, walk_of
from tests.operators.cases import DEVICE, planned
from tests.operators.cumsum.edges import chosen
from tests.operators.cumsum.test_fast_kernels import outputs
from tests.operators.cumsum.test_walked_lines import problem_of
from tests.operators.sampling import some

WALKED = WalkedLines()


def launch_of(shape: list[int], dim: int, dtype: str = "float32", **layout: Any) -> Any:
    """Return the walk's only launch."""
    return planned(WALKED, problem_of(shape, dim, dtype, **layout), DEVICE).launches[0]


@pytest.mark.parametrize(("near", "short"), [(-1, True), (0, True), (1, False)])
def test_a_line_is_one_turn(near: int, short: bool) -> None:
    """One row more than a thread asks for at once is a walk of turns."""
    most = walk_tuning.WALK_ROWS[-1]
    assert (launch_of([7, most + near, 31], 1).source == SHORT_SOURCE) == short


@pytest.mark.parametrize(("dims", "short"), [(1, True), (2, True), (3, True), (4, False)])
def test_three_dims_are_the_most(dims: int, short: bool) -> None:
    """Of the dims beside the summed one, none of which merge."""
    order = [*range(dims - 1, -1, -1), dims]
    launch = launch_of([*[3, 2, 5, 7][:dims], 4], dims, permute=order)
    assert (launch.source == SHORT_SOURCE) == short


@pytest.mark.parametrize(("more", "short"), [(0, True), (4, False)])
def test_distances_fit_32_bits(more: int, short: bool) -> None:
    """Up to where the step behind the last row ends, in x and in y; beyond it 64-bit places."""
    rows = walk_tuning.WALK_ROWS[0]
    inner = (MOST_SHORT - 1) // (rows + 1) // 4 * 4  # whole vectors
    walk = walk_of(problem_of([1, rows, inner + more], 1))
    assert walk is not None
    assert is_short(walk, rows, 0) == short
    assert not is_short(walk, rows - 1, 0)


def test_what_is_not_there_divides_nothing() -> None:
    """Dims that a walk does not have are of size 1, and their distances 0."""
    _, _, argument = launch_of([5, 4, 30], 1).arguments
    fields = SHORT_WALK.read(argument.data)
    assert (fields["vectors"], fields["length"]) == (5 * 30, 4)
    assert (fields["x_row"], fields["y_row"], fields["x_slow"], fields["y_slow"]) == (30, 30, 120, 120)
    assert [(quick[0][0], *quick[1:]) for quick in fields["quick"]] == [(30, 1, 1), (1, 0, 0)]


LAYOUTS = [{}, {"offset": 1}, {"step": 2}, {"permute": [2, 0, 1]}, {"permute": [0, 2, 1]}, {"expand": [0]}]


@pytest.mark.parametrize(("layout", "dtype"), some(LAYOUTS, NAMES, each=3))
def test_answers_of_any_layout(layout: dict[str, Any], dtype: str) -> None:
    """Lines of one element less than a form, as many, and one more, in every dim; NaN and infinity, too."""
    with in_force({"WALK_SHARED": 0}):
        for length in (3, 4, 5, 16, 17):
            for dim in range(3):
                shape = [5, 3, 6]
                shape[dim] = length
                outputs(
                    "walked_lines", dtype, runs=1, shape=shape, dim=dim, layout=layout, distribution="with_nonfinite"
                )


@pytest.mark.parametrize(("near", "short"), [(0, True), (1, False)])
def test_long_turns_of_much_are_no_short_walks(near: int, short: bool) -> None:
    """More rows than SHORT_TURN up to SHORT_BYTES of x and y; fewer whatever they are."""
    most = walk_tuning.SHORT_BYTES // 8 // 16
    assert (launch_of([16, most // 13 * 13 + 13 * near], 0).source == SHORT_SOURCE) == short
    assert launch_of([8, 13 * most], 0).source == SHORT_SOURCE


@pytest.mark.parametrize(
    ("rows", "length", "dtype", "name"),
    [
        (walk_tuning.SHORT_ROWS // 3, 3, "float32", "walked_lines"),
        (walk_tuning.SHORT_ROWS // 3 + 1, 3, "float32", "flat_rows"),
        (walk_tuning.SHORT_ROWS // 4 // 9, 9, "bfloat16", "walked_lines"),
        (walk_tuning.SHORT_ROWS // 4 // 9 + 1, 9, "bfloat16", "lanes_rows"),
        (100, 12, "bfloat16", "walked_lines"),
        (100, 13, "bfloat16", "lanes_rows"),  # 26 bytes
        (100, 4, "float32", "lanes_rows"),  # whole vectors
        (100, 2, "int8", "lanes_rows"),
        (100, 3, "int8", "walked_lines"),
    ],
)
def test_rows_of_a_few_bytes_are_walked(rows: int, length: int, dtype: str, name: str) -> None:
    """Up to SHORT_ROW bytes that cut vectors, up to SHORT_ROWS elements, a quarter of them of more than SHORT_FEW."""
    assert chosen((rows, length), 1, dtype) == name
