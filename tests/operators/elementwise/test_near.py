"""Operands whose elements are a few apart: read one by one, or turned in tiles, whichever costs less."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.operators.elementwise import near
from tests.operators.elementwise.test_fast_rules import plan_of


def variant_of(dtype: str, *shapes: tuple[int, ...], beside: dict[str, Any] | None = None) -> set[str]:
    """Return which variants copy operands of these shapes whose last two dims are exchanged, or add another to them."""
    found = set()
    for shape in shapes:
        order = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
        turned = {"shape": shape, "layout": {"permute": order}}
        inputs = (turned, {"shape": shape, **beside}) if beside is not None else (turned,)
        function = "neg" if beside is None else "add"
        found.add(plan_of(dtype, function=function, inputs=inputs).variant)
    return found


@pytest.mark.parametrize(
    ("dtype", "shapes", "variant"),
    [
        ("int8", [(3, 7, 299_593), (2, 7, 1_198_373)], "flat"),
        ("float16", [(3, 2, 1_048_577), (8, 5, 209_715)], "flat"),
        ("float32", [(3, 2, 1_048_577), (8, 5, 209_715)], "flat"),
        ("float32", [(2, 3, 2_796_203), (3, 7, 299_593), (3, 9, 233_017)], "tiles"),
        ("float64", [(3, 2, 1_048_577), (2, 5, 1_677_721)], "tiles"),
        ("float16", [(3, 9, 233_017), (3, 15, 139_811)], "tiles"),
    ],
)
def test_groups_of_few_lines_are_read_as_long_as_the_cache_has_them(
    dtype: str, shapes: list[tuple[int, ...]], variant: str
) -> None:
    """Each line brings the group's sectors again: few lines of narrow elements may be long."""
    assert variant_of(dtype, *shapes) == {variant}


@pytest.mark.parametrize(("more", "variant"), [(-2, "flat"), (2, "tiles")])
def test_ragged_braids_are_read_so_where_they_are_few(more: int, variant: str) -> None:
    """Rows of an odd number of bytes, up to 4 MB in all; alone, and beside another operand."""
    length = near.RAGGED_BRAIDS // 3 // 2 * 2 + 1 + more
    assert variant_of("int8", (3, length)) == {variant}
    assert variant_of("int8", (3, length), beside={}) == {variant}


def test_braids_that_are_whole_words_stay_braids() -> None:
    """Rows that end with 4 bytes come by vectors of the run, wherever the other operand stands."""
    assert variant_of("float16", (7, 149_800), (15, 69_908)) == {"tiles"}
    assert variant_of("bfloat16", (1, 4, 3_005_440), beside={"layout": {"offset": 3}}) == {"tiles"}


@pytest.mark.parametrize(
    ("dtype", "shape", "items"),
    [
        ("float32", (1024, 8, 562), 1),
        ("float16", (1024, 8, 562), 2),
        ("int8", (1024, 16, 560), 16),  # a vector of 4 bytes is too little of y
        ("float32", (1024, 24, 562), 4),  # each element has a line of its own
    ],
)
def test_small_operands_that_lie_apart_are_read_by_short_vectors(dtype: str, shape: Any, items: int) -> None:
    """Where what a warp reads at once then lies in fewer lines, and y is not of bytes; not operands as large as y."""
    small = {"shape": (1, *shape[1:]), "layout": {"permute": (0, 2, 1)}}
    plan = plan_of(dtype, function="add", inputs=({"shape": shape}, small))
    assert (plan.variant, plan.notes["items"]) == ("flat", items)


def test_large_operands_that_lie_apart_keep_whole_vectors() -> None:
    """Their lines are read once, by whatever vectors."""
    both = ({"shape": (4096, 48, 32), "layout": {"permute": (0, 2, 1)}}, {"shape": (4096, 48, 32)})
    assert plan_of("float16", function="add", inputs=both, out_layout="operands").notes["items"] == 8
