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
    """Rows of an odd number of bytes, up to 4.7 MB in all; alone, and beside another operand."""
    length = near.RAGGED_BRAIDS // 3 // 2 * 2 + 1 + more
    assert variant_of("int8", (3, length)) == {variant}
    assert variant_of("int8", (3, length), beside={}) == {variant}


@pytest.mark.parametrize(
    ("dtype", "shape", "function", "variant"),
    [
        ("bfloat16", (15, 51_200), "add", "flat"),  # 25 blocks
        ("bfloat16", (15, 150_000), "add", "tiles"),
        ("float16", (4, 60_608), "neg", "flat"),
        ("bfloat16", (7, 62_048), "neg", "flat"),
        ("int8", (7, 200_000), "add", "tiles"),
        ("int64", (11, 65_536), "pow", "flat"),
        ("int64", (11, 1_048_576), "pow", "tiles"),
    ],
)
def test_braids_of_few_blocks_or_heavy_functions_are_read_so(
    dtype: str, shape: tuple[int, int], function: str, variant: str
) -> None:
    """Each thread would hold all rows, one load after the other, while most of the GPU is idle."""
    turned = {"shape": shape, "layout": {"permute": (1, 0)}}
    inputs = (turned,) if function == "neg" else (turned, {"shape": shape})
    assert plan_of(dtype, function=function, inputs=inputs).variant == variant


@pytest.mark.parametrize(
    ("dtype", "shape", "variant"),
    [
        ("bfloat16", (20_000, 17, 131), "flat"),
        ("float32", (20_000, 17, 131), "flat"),
        ("int16", (9_000, 54, 54), "flat"),
        ("bfloat16", (9_000, 54, 160), "tiles"),  # 8640 elements
        ("bfloat16", (9_000, 54, 56), "tiles"),  # rows of whole vectors
        ("bfloat16", (9_000, 32, 81), "tiles"),  # lines of whole units
        ("float64", (20_000, 17, 131), "tiles"),
    ],
)
def test_small_odd_matrices_are_read_so(dtype: str, shape: tuple[int, ...], variant: str) -> None:
    """The L1 cache has what a block reads, and tiles of neither size would be full; y by short vectors."""
    assert variant_of(dtype, shape) == {variant}
    if variant == "flat":
        turned = {"shape": shape, "layout": {"permute": (0, 2, 1)}}
        plan = plan_of(dtype, function="add", inputs=(turned, {"shape": shape}))
        assert (plan.variant, plan.notes["vectors"]) == ("flat", 4)


def test_few_near_elements_come_by_short_vectors_too() -> None:
    """As many of a thread as of a large y; bytes keep long ones."""
    for dtype, cut in (("float16", (2, 4)), ("float32", (1, 4)), ("int8", (8, 1))):
        turned = {"shape": (600, 9, 64), "layout": {"permute": (0, 2, 1)}}
        plan = plan_of(dtype, function="neg", inputs=(turned,))
        assert (plan.variant, plan.notes["items"], plan.notes["vectors"]) == ("flat", *cut)


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
