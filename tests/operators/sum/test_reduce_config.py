"""PyTorch's reduction: the rule gives the launches that its text works out, and no element is lost on any way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.model import Launch, Memset, Plan
from gpubench.operators import OPERATORS
from gpubench.operators.sum import iterator
from gpubench.operators.sum.iterator import ReduceIterator, reduce_iterator
from gpubench.operators.sum.reduce_config import ReduceConfigured
from gpubench.operators.sum.reduce_rule import Element, configure, output_vector
from tests.host.answers import answer, variant_of
from tests.operators.cases import DEVICE, layouts, make_case, planned, shapes

A100 = replace(DEVICE, name="A100", sm_count=108)


def config_of(dtype: str = "float32", device: Any = DEVICE, **params: Any) -> dict[str, Any]:
    """Return what the rule chose."""
    problem = OPERATORS["sum"].problem(make_case("sum", dtype, **params))
    return dict(planned(variant_of("sum", "reduce_config"), problem, device).notes["config"])


def chosen(config: dict[str, Any], *keys: str) -> tuple[Any, ...]:
    """Return some values of a configuration."""
    return tuple(config[key] for key in keys)


SHAPE = ("block", "grid", "output_vec_size", "ctas_per_output", "vectorize_input")
STEPS = ("step_input", "step_output", "input_mult", "output_mult")


def test_the_first_worked_example() -> None:
    """(16, 128, 64, 128) over dim 1: terms split over the 4 rows of a block, 4 outputs a thread."""
    config = config_of(shape=(16, 128, 64, 128), dim=1)
    assert chosen(config, *SHAPE) == ([32, 4], [1024, 1], 4, 1, False)
    assert chosen(config, *STEPS) == (4, 32, [0, 1, 0], [1, 0])
    assert chosen(config, "num_inputs", "num_outputs") == (128, 131072)


def test_the_second_worked_example() -> None:
    """(2, 3, 4, 5) over dim 1: 40 outputs in vectors of 4 are 10 across, cut to the power of two below; 16 threads."""
    config = config_of(shape=(2, 3, 4, 5), dim=1, device=A100)
    assert chosen(config, *SHAPE) == ([8, 2], [1, 1], 4, 1, False)
    assert chosen(config, *STEPS) == (1, 16, [0, 0, 0], [1, 8])


def test_the_third_worked_example() -> None:
    """(8, 32, 64, 128) over dim 1: 32 terms are too few to split, so the rows of a block hold further outputs."""
    config = config_of(shape=(8, 32, 64, 128), dim=1)
    assert chosen(config, *SHAPE) == ([32, 4], [128, 1], 4, 1, False)
    assert chosen(config, *STEPS) == (1, 128, [0, 0, 0], [1, 32])
    assert config["num_outputs"] == 65536


def test_the_iterator_of_the_text() -> None:
    """(8, 32, 64, 128) over dim 1 becomes 32 x 8192 x 8, strides in bytes as the text prints them."""
    dims = reduce_iterator(OPERATORS["sum"].problem(make_case("sum", "float32", shape=(8, 32, 64, 128), dim=1))).dims
    assert [(dim.size, dim.y, dim.x) for dim in dims] == [(32, 0, 32768), (8192, 4, 4), (8, 32768, 1048576)]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        # everything to one output: 512 lanes, vectors, and 2048 blocks until a thread has 256 values
        ({"shape": (1 << 28,)}, ([512, 1], [1, 2048], 1, 2048, True)),
        # rows: a warp across, 16 rows of the block share the terms
        ({"shape": (16384, 16384), "dim": 1}, ([32, 16], [16384, 1], 1, 1, True)),
        # short rows: no vectors up to 128 terms, a row of the block an output
        ({"shape": (4194304, 64), "dim": 1}, ([32, 16], [262144, 1], 1, 1, False)),
        # columns: vectors along the output, blocks share the terms
        ({"shape": (16384, 16384), "dim": 0}, ([32, 4], [128, 17], 4, 17, False)),
        # two reduced dims that do not merge: no vectors along the input
        ({"shape": (64, 256, 56, 56), "dim": (0, 2, 3)}, ([32, 16], [256, 3], 1, 3, False)),
        # a scalar
        ({"shape": ()}, ([1, 1], [1, 1], 1, 1, False)),
    ],
)
def test_every_branch_of_the_rule(params: dict[str, Any], expected: tuple[Any, ...]) -> None:
    """Vector along input or output, split over lanes, rows and blocks: each where the rule says so."""
    assert chosen(config_of(**params), *SHAPE) == expected


def test_a_block_of_wide_elements_is_half_as_large() -> None:
    """16-byte elements get 256 threads, all others 512."""
    assert config_of("complex128", shape=(1 << 22,))["block"] == [256, 1]
    assert config_of("float64", shape=(1 << 22,))["block"] == [512, 1]


@pytest.mark.parametrize(
    ("offset", "columns", "expected"), [(0, 64, 4), (2, 64, 2), (1, 64, 1), (4, 64, 4), (0, 66, 2), (0, 63, 1)]
)
def test_the_output_vector_fits_address_size_and_strides(offset: int, columns: int, expected: int) -> None:
    """A vector of outputs needs the start, the kept size and every other stride to be multiples of it."""
    case = make_case("sum", "float32", shape=(8, columns), dim=0, layout={"offset": offset})
    part = reduce_iterator(OPERATORS["sum"].problem(case))
    assert output_vector(part, Element(4, 4, 4 * offset)) == expected
    assert configure(part, Element(4, 4, 4 * offset), DEVICE).output_vector == expected


@pytest.mark.parametrize(
    ("shape", "dim", "original", "probe"),
    [((16, 128, 64, 128), 1, [32, 4], [128, 1]), ((4096, 4096), 1, [32, 16], [512, 1]), ((8, 4), 1, [4, 8], [4, 8])],
)
def test_the_order_in_which_a_block_grows(
    shape: tuple[int, ...], dim: int, original: list[int], probe: list[int]
) -> None:
    """The original grows along y before it is widened; the probe fills the width first; small ones are alike."""
    problem = OPERATORS["sum"].problem(make_case("sum", "float32", shape=shape, dim=dim))
    for name, block in (("reduce_config", original), ("reduce_config_width_first", probe)):
        (launch,) = planned(variant_of("sum", name), problem, DEVICE).launches
        assert list(launch.block[:2]) == block


def walk(parts: list[ReduceIterator], item: int) -> dict[int, list[int]]:
    """Return, for each byte offset in y, the element offsets in x that the parts add to it."""
    found: dict[int, list[int]] = {}
    for part in parts:
        for index in np.ndindex(*(dim.size for dim in part.dims)):
            y = part.y_offset + sum(i * dim.y for i, dim in zip(index, part.dims, strict=True))
            x = part.x_offset + sum(i * dim.x for i, dim in zip(index, part.dims, strict=True))
            found.setdefault(y, []).append(x // item)
    return found


@settings(deadline=None)
@given(st.data(), st.integers(16, 400))
def test_reordering_merging_and_cutting_lose_nothing(data: st.DataObject, limit: int) -> None:
    """For any layout and any reach of a launch, each output gets exactly its elements, and parts fit the reach."""
    shape = data.draw(shapes(4, 4).filter(lambda shape: 0 not in shape))
    layout = data.draw(layouts(shape))
    dims = data.draw(st.sets(st.sampled_from(range(len(shape))))) if shape else set()
    written = {"permute": layout.permute, "step": layout.step, "expand": layout.expand, "offset": layout.offset}
    case = make_case("sum", "float32", shape=shape, dim=tuple(dims), layout=written)
    problem = OPERATORS["sum"].problem(case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iterator, "LIMIT", limit)
        parts = list(reduce_iterator(problem).parts())
        assert all(part.fits_32_bits for part in parts)
    strides = problem.operand("x").view.strides
    wanted: dict[int, list[int]] = {}
    kept = [dim for dim in range(len(shape)) if dim not in dims]
    for index in np.ndindex(*shape):
        place = int(np.ravel_multi_index([index[dim] for dim in kept], [shape[dim] for dim in kept])) if kept else 0
        wanted.setdefault(4 * place, []).append(sum(i * s for i, s in zip(index, strides, strict=True)))
    assert {y: sorted(xs) for y, xs in walk(parts, 4).items()} == {y: sorted(xs) for y, xs in wanted.items()}


@settings(deadline=None)
@given(st.data(), st.integers(8, 300))
def test_parts_of_one_output_add_up_in_turn(data: st.DataObject, limit: int) -> None:
    """The first part of an output starts it, all later ones add to it, the last one writes it."""
    shape = data.draw(shapes(3, 5).filter(lambda shape: 0 not in shape))
    dims = data.draw(st.sets(st.sampled_from(range(len(shape))))) if shape else set()
    problem = OPERATORS["sum"].problem(make_case("sum", "float16", shape=shape, dim=tuple(dims)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iterator, "LIMIT", limit)
        parts = list(reduce_iterator(problem).parts())
    seen: dict[int, list[tuple[bool, bool]]] = {}
    for part in parts:
        for y in walk([part], 2):
            seen.setdefault(y, []).append((part.accumulate, part.final))
    for turns in seen.values():
        assert [accumulate for accumulate, _ in turns] == [False] + [True] * (len(turns) - 1)
        assert [final for _, final in turns] == [False] * (len(turns) - 1) + [True]


def test_a_sum_of_nothing_is_cleared() -> None:
    """No terms: y is set to zero without a kernel; no outputs: nothing at all."""
    one = variant_of("sum", "reduce_config")
    empty = OPERATORS["sum"].problem(make_case("sum", "int8", shape=(0, 3), dim=0))
    (step,) = planned(one, empty, DEVICE).steps
    assert isinstance(step, Memset)
    assert step.size == 24
    assert planned(one, OPERATORS["sum"].problem(make_case("sum", "int8", shape=(0, 3), dim=1)), DEVICE).steps == ()


def test_blocks_that_share_outputs_get_cleared_semaphores() -> None:
    """A split over blocks is a memset of one counter for each block along x, then the launch."""
    problem = OPERATORS["sum"].problem(make_case("sum", "float32", shape=(16384, 16384), dim=0))
    plan = planned(variant_of("sum", "reduce_config"), problem, DEVICE)
    clear, launch = plan.steps
    assert isinstance(clear, Memset)
    assert isinstance(launch, Launch)
    assert clear.size == 4 * 128
    assert plan.workspace_bytes >= 128 * 17 * 32 * 16 + clear.size  # blocks x parts x lanes x a vector of 4 floats


BRANCHES: list[tuple[str, dict[str, Any]]] = [
    ("float32", {"shape": (300_001,)}),
    ("float16", {"shape": (300_001,), "layout": {"offset": 3}}),
    ("complex128", {"shape": (150_000,), "layout": {"offset": 1}}),
    ("uint8", {"shape": (40_001, 4), "dim": 0}),
    ("bfloat16", {"shape": (70_000, 3), "dim": 0}),
    ("float64", {"shape": (30_000, 8), "dim": 0}),
    ("float32", {"shape": (3, 30_001), "dim": 1}),
    ("float32", {"shape": (5_000, 7, 11), "dim": (0, 2)}),
    ("int16", {"shape": (60, 40, 64), "dim": (0, 1), "layout": {"permute": (1, 0, 2)}}),
]


@pytest.mark.parametrize(("dtype", "params"), BRANCHES)
def test_large_sums_are_right_on_the_simulator(dtype: str, params: dict[str, Any]) -> None:
    """Splits over blocks, unaligned heads and tails, vectors of outputs: right, and no rule of the platform broken."""
    plan, _, verdict = answer(make_case("sum", dtype, **params), "reduce_config", "random:3")
    assert verdict.ok, verdict.first_mismatch
    assert plan.notes["config"]["ctas_per_output"] > 1 or plan.notes["config"]["input_mult"][1] > 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "complex64"])
@pytest.mark.parametrize("dim", [0, 1, (0, 1)])
def test_parts_add_up_on_the_simulator(dtype: str, dim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cut because 32 bits do not reach comes out right; 16-bit floats are not rounded in between."""
    monkeypatch.setattr(iterator, "LIMIT", 5000)
    plan, _, verdict = answer(make_case("sum", dtype, shape=(61, 200), dim=dim), "reduce_config")
    assert verdict.ok, verdict.first_mismatch
    assert plan.notes["parts"] > 1
    if dtype in ("float16", "bfloat16"):
        assert plan.workspace_bytes >= 4 * np.prod([61, 200]) / np.prod(np.array([61, 200])[np.atleast_1d(dim)])


@pytest.mark.parametrize(
    ("shape", "dim", "planned"), [((2, 3000, 3000, 3000), 0, True), ((3000, 3000, 3000, 170), (0, 2), False)]
)
def test_what_no_device_holds_has_a_plan_or_a_refusal(shape: tuple[int, ...], dim: Any, planned: bool) -> None:
    """A dim of which one index is left may be longer than 32 bits hold; thousands of launches are refused."""
    plan = ReduceConfigured().plan(OPERATORS["sum"].problem(make_case("sum", "float64", shape=shape, dim=dim)), DEVICE)
    assert isinstance(plan, Plan) is planned
