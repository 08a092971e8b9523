"""Regions and neighbours: the words say what was tried, and a neighbour differs in one parameter alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.explore.neighbours import memory_bytes, neighbours, values, with_value
from gpubench.explore.regions import Region, extent, joined, merged
from gpubench.explore.search import Search
from gpubench.operators import OPERATORS
from gpubench.standing import Standing
from tests.suite.samples import cases_of


@pytest.mark.parametrize(
    ("lost", "won", "told"),
    [
        ((7,), (), "7"),
        ((3, 4, 5), (2, 6), "3..5"),
        ((3, 5, 9), (4, 8), "3..9 odd"),
        ((2, 6, 8), (3, 7), "2..8 even"),
        ((2, 6, 7, 9), (4, 8), "2..9 no multiples of 4"),
        ((16, 48), (17, 40), "16..48 multiples of 16"),
        ((3, 6, 8), (4, 5), "3 or 6 or 8"),
        (("float32",), ("int8",), "float32"),
        (("int8", "float32"), (), "float32 or int8"),
        (("int8", "float32", "int32"), (), "any"),
        (("int8", "float32", "int32"), ("int64",), "float32 or int32 or int8"),
    ],
)
def test_extents_are_told_by_the_widest_kind_that_fits(lost: tuple[int, ...], won: tuple[int, ...], told: str) -> None:
    """All that lost is inside; nothing that won is."""
    found = extent({**dict.fromkeys(lost, True), **dict.fromkeys(won, False)})
    assert found.told() == told
    assert all(map(found.holds, lost))
    assert not any(map(found.holds, won))


@given(st.dictionaries(st.integers(1, 200), st.booleans(), min_size=1).filter(lambda tested: any(tested.values())))
def test_no_extent_holds_what_won(tested: dict[int | str, bool]) -> None:
    """Whatever was tried, the extent holds every loser and no winner."""
    found = extent(tested)
    assert all(found.holds(number) is loses for number, loses in tested.items())


@pytest.mark.parametrize("operator", OPERATORS)
def test_neighbours_differ_in_one_parameter(operator: str) -> None:
    """Every neighbour is a case of its own, within the memory, and has its value in place of the old one."""
    for case in cases_of(f"operator: {operator}, random: {{cases: 12, elements: [100, 10000]}}"):
        before, most = values(case), 4 * memory_bytes(case)
        found = neighbours(case, most)
        assert len(found) > 5
        assert len({neighbour.case.id for neighbour in found} | {case.id}) == len(found) + 1
        for neighbour in found:
            after = values(neighbour.case)
            assert after[neighbour.parameter] == neighbour.value != before[neighbour.parameter]
            assert memory_bytes(neighbour.case) <= most
            tied = {"indices", "pattern", "dim"} if operator == "index_add" else set()
            operands = {name for name in before if name.startswith("operand")}
            assert {name for name in before if before[name] != after.get(name)} <= {
                neighbour.parameter,
                *tied,
                *operands,
            }


def test_a_value_without_meaning_gives_no_neighbour() -> None:
    """A function that does not take a dtype, a dim that is not there: no case, and no error."""
    [case] = cases_of("operator: elementwise, function: sqrt, shape: [4, 5]")
    assert with_value(case, "dtype", "int8") is None
    [case] = cases_of("operator: cumsum, shape: [4, 5]")
    assert with_value(case, "dim", 7) is None


def region(shape: str, parameter: str, lost: tuple[int, ...], won: tuple[int, ...] = ()) -> Region:
    """Return what was learned around a cumsum of this shape."""
    [case] = cases_of(f"operator: cumsum, shape: {shape}, dim: 0")
    found = Region(case)
    for values_, loses in ((lost, True), (won, False)):
        for value in values_:
            found.note(parameter, value, loses)
    return found


def test_boxes_of_one_kind_are_joined_unless_a_winner_lies_between() -> None:
    """Overlapping findings are one; a case that does not lose keeps them apart."""
    boxes = [
        region("[64, 7]", "size 1", (5, 9), (6, 8)).box(),
        region("[64, 31]", "size 1", (29, 33), (30, 32)).box(),
    ]
    [both] = merged(boxes, [])
    assert both.told() == "cumsum over dim 0 of [64, 5..33 odd], float32"
    assert len(merged(boxes, [*cases_of("operator: cumsum, shape: [64, 15], dim: 0")])) == 2
    assert len(merged(boxes, [*cases_of("operator: cumsum, shape: [64, 16], dim: 0")])) == 1
    assert joined(extent({1: True, 2: True}), extent({"a": True})) is None


def test_regions_name_operands_that_are_not_plain() -> None:
    """Broadcast sizes and layouts of operands are told; whole contiguous operands are not; it is `any dim`."""
    [case] = cases_of(
        "operator: elementwise, function: add, inputs: "
        "[{shape: [4, 5]}, {shape: [1, 5], layout: {offset: 1}}], dtype: int8"
    )
    assert Region(case).box().told() == "elementwise add of [4, 5], int8, operand 1 of [1, n] offset1"
    [case] = cases_of("operator: cumsum, shape: [4, 5, 6], dim: 0")
    found = Region(case)
    found.note("dim", "1", True)
    found.note("dim", "2", True)
    assert found.box().told() == "cumsum over any dim of [4, 5, 6], float32"


def test_a_case_that_was_not_varied_yet_is_told() -> None:
    """A search that ends behind a draw that lost reports that case, though its region is not known."""
    cases = cases_of("operator: cumsum, shape: [[4, 5], [400, 5]], dim: 0")
    search = Search(iter(cases), "gpubench:auto", 0.95, 10**6)
    for case, ours in zip(next(search.batches()), (20.0, 10.0), strict=True):
        search.take(case, Standing(case, {"gpubench:auto": ours, "torch": 10.0}, ("gpubench:auto", "torch")))
    assert [found.words for found in search.findings()] == ["cumsum over dim 0 of [4, 5], float32"]
