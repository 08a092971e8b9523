"""Owners' lists and tiles where they could go wrong: digits of the block's sort, what comes to shared memory, reach."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from gpubench.model import Refused
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.index_add import owned, owned_tiles
from tests.operators.index_add.answers import answers, give_list, noted, problem_of, sums_of_those_inside
from tests.operators.on_host import host, one_sm, output


@pytest.mark.parametrize("places", [1, 2, 127, 128, 129, 16_383, 16_384, 16_385])
@pytest.mark.parametrize("indices", [31, 33, 65, 511, 512])
def test_lists_are_in_order_whatever_digits_their_rows_have(
    places: int, indices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of one to three digits; the first and the last place, and indices just outside, which stand behind all."""
    problem = problem_of((places, 3), indices, "int32", source_layout={"permute": (1, 0)})
    plan = noted(owned.build(problem, one_sm()), sorted=False, pieces=1)
    numbers = np.random.default_rng(places)
    edges = np.array([0, places - 1, places, -1, min(127, places), min(128, places), min(16_383, places), places + 128])
    index = np.where(
        numbers.random(indices) < 0.5, numbers.choice(edges, indices), numbers.integers(0, places, indices)
    )
    inputs = give_list(problem, index, monkeypatch)
    assert np.array_equal(output(problem, plan, "random:5"), sums_of_those_inside(problem, inputs))


@pytest.mark.parametrize("indices", [40, 300])
def test_equal_rows_are_added_in_the_order_of_the_list(indices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large number and its negative, and ones beside them: any other order would leave another rest."""
    problem = problem_of((1, 32), indices, "float32", pattern="same", source_layout={"permute": (1, 0)})
    plan = noted(owned.build(problem, one_sm()), shares=8, pieces=1)
    inputs = give_list(problem, np.zeros(indices), monkeypatch)
    of_index = np.ones(indices, np.float32)
    of_index[:2] = 2.0**24, -(2.0**24)  # in turn they leave nothing; apart they swallow the ones between
    source = np.broadcast_to(of_index[:, None], (indices, 32))
    inputs["source"] = np.ascontiguousarray(source.T).reshape(inputs["source"].shape)
    inputs["destination"] = np.zeros_like(inputs["destination"])
    assert ceil_div(indices, 8) > 2  # both stand in one window
    assert np.all(output(problem, plan, "forward") == indices - 2)


@pytest.mark.parametrize(("shape", "indices", "width"), [
    ((1100, 5), 15, 256),  # several positions of a thread on their way, of a few elements each
    ((300, 5), 45, 64),
    ((41, 5), 600, 8),  # one position
    ((9, 40), 1100, 2),  # more threads of a position than a warp
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["float64", "int8", "complex128"])
def test_all_of_a_tile_comes_to_shared_memory(
    shape: tuple[int, int], indices: int, width: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows short and long, positions that no tile fills, a source with gaps."""
    monkeypatch.setattr(owned_tiles, "NEAR_LEAST", 0)
    row = indices * np.dtype(dtype).itemsize
    problem = problem_of(shape, indices, dtype, dim=1, pattern="zipf", source_layout={"offset": 3})
    plan = owned.build(problem, one_sm())
    if row <= 64:
        noted(plan, near=False)
        return
    if dtype == "float64":
        noted(plan, near=True, width=width)
    answers(problem, noted(plan, near=True), "random:6")


@pytest.mark.parametrize(("positions", "indices", "places", "width"), [
    (128, 484, 623, 4),  # four tiles of 32, for 132 SMs
    (408, 1579, 208, 8),  # four pieces
    (2112, 484, 623, 32),  # half of the SMs have work
    (128, 9000, 16_384, 32),  # sorted before
])  # fmt: skip
def test_tiles_are_narrow_where_few_sms_had_work(positions: int, indices: int, places: int, width: int) -> None:
    """Down to 64 bytes; not of lists that a launch sorts before, which are cut in smaller pieces."""
    device = dataclasses.replace(host().info, sm_count=132)
    problem = problem_of((places, positions), indices, "complex128", source_layout={"permute": (1, 0), "offset": 1})
    noted(owned.build(problem, device), width=width)


def test_operands_beyond_the_reach_of_32_bits_are_refused() -> None:
    """Where an element of the list stands is a number of 32 bits; atomics have such operands then."""
    for layout in ({}, {"layout": {"permute": (1, 0)}}, {"source_layout": {"permute": (1, 0)}}):
        near = problem_of((30_000, 70_000), 40_000, "int8", dim=0, **layout)
        assert not isinstance(owned.build(near, host().info), Refused)
        far = problem_of((70_000, 70_000), 70_000, "int8", dim=0, **layout)
        assert isinstance(owned.build(far, host().info), Refused)


@pytest.mark.parametrize(("step", "vector"), [(2, 4), (3, 1)])
def test_vectors_whose_elements_are_farther_apart_are_single_elements(step: int, vector: int) -> None:
    """What lies between a vector's elements in the destination is such a number, too."""
    layouts = {"layout": {"step": step}, "source_layout": {"permute": (2, 1, 0)}}
    problem = problem_of((4, 1, 400_000_000), 30, "int32", dim=1, **layouts)
    noted(owned.build(problem, host().info), vector=vector)
