from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from gpubench.model import Memset, Value
from gpubench.operators import OPERATORS
from gpubench.operators.cumsum.pytorch.lookback import THREADS, Lookback1D, items_per_thread
from gpubench.operators.structs import int32
from tests.operators.cases import make_case, planned
from tests.operators.on_host import host, output, variant, verdict

SCHEDULES = ("forward", "reverse", "random:5")


def problem_of(dtype: str = "float32", distribution: str = "normal", **params: Any) -> Any:
    """Return a cumsum problem."""
    return OPERATORS["cumsum"].problem(make_case("cumsum", dtype, distribution, **params))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("dtype", "tiles"), [("float32", 70), ("int64", 40), ("float16", 35), ("complex128", 100)])
def test_look_back_over_many_tiles(dtype: str, tiles: int, schedule: str) -> None:
    """More tiles than a window has, in each form of the tile states, whatever order blocks run in."""
    problem = problem_of(dtype, shape=[tiles * THREADS * items_per_thread(dtype) - 7])
    plan = planned(variant("cumsum", "lookback_1d"), problem, host().info)
    found = verdict(problem, plan, schedule)
    assert found.ok, found.first_mismatch


@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16", "complex64", "complex128"])
@pytest.mark.parametrize("chunk", [5000, 2999])
def test_chunks_carry_the_total(chunk: int, dtype: str) -> None:
    """An array cut into chunks, aligned or not, has the same sums as in one piece; exact for integers."""
    problem = problem_of(dtype, shape=[12000])
    plan = planned(Lookback1D(chunk), problem, host().info)
    assert len([step for step in plan.steps if isinstance(step, Memset)]) == -(-12000 // chunk)
    found = verdict(problem, plan, "random:2")
    assert found.ok, found.first_mismatch
    if dtype == "int8":
        whole = planned(Lookback1D(), problem, host().info)
        assert (output(problem, plan) == output(problem, whole)).all()


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "complex64"])
def test_the_deterministic_form_gives_the_same_bits(dtype: str) -> None:
    """Under every schedule the output is bitwise the same, and right."""
    problem = problem_of(dtype, shape=[100003])
    plan = planned(variant("cumsum", "lookback_1d_deterministic"), problem, host().info)
    found = verdict(problem, plan)
    assert found.ok, found.first_mismatch
    first, *others = (output(problem, plan, schedule).view(np.uint8) for schedule in SCHEDULES)
    assert all(np.array_equal(first, other) for other in others)


def test_blocks_walk_runs_of_tiles() -> None:
    """With fewer SMs than tiles each block carries its total from tile to tile."""
    problem = problem_of(shape=[150001])
    few = dataclasses.replace(host().info, sm_count=3)
    plan = planned(variant("cumsum", "lookback_1d_deterministic"), problem, few)
    assert plan.launches[0].grid == (3, 1, 1)
    found = verdict(problem, plan)
    assert found.ok, found.first_mismatch


@pytest.mark.parametrize("name", ["sklansky_rows", "sklansky_rows_unsigned"])
@pytest.mark.parametrize("dtype", ["float32", "int16", "float16"])
def test_both_index_widths_give_the_same_rows(dtype: str, name: str) -> None:
    """The 64-bit form, which only huge tensors take by themselves, agrees with the 32-bit form and the reference."""
    problem = problem_of(dtype, shape=[70, 333], dim=1)
    plan = planned(variant("cumsum", name), problem, host().info)
    before, short = plan.steps[:-1], plan.launches[-1]
    x, y, *counts, log_threads = short.arguments
    wide = tuple(Value(count.data + bytes(4)) for count in counts if isinstance(count, Value))
    long = dataclasses.replace(
        short,
        kernel=short.kernel.replace("unsigned int", "unsigned long long"),
        arguments=(x, y, *wide, log_threads),
    )
    assert long.kernel != short.kernel
    wide_plan = dataclasses.replace(plan, steps=(*before, long))
    assert verdict(problem, wide_plan).ok
    assert (output(problem, wide_plan) == output(problem, plan)).all()


def test_a_wrapped_rule_is_slow_but_right() -> None:
    """Where the rules differ both are right: 1100 rows of two values wrap."""
    problem = problem_of(shape=[1100, 1, 2], dim=2)
    for name in ("sklansky_rows", "sklansky_rows_unsigned"):
        plan = planned(variant("cumsum", name), problem, host().info)
        assert plan.notes["threads_x"] == (512 if name.endswith("unsigned") else 16)
        assert verdict(problem, plan).ok


def test_the_texts_small_examples() -> None:
    """Eight ones in one dim, six numbers, and 8 rows of 32: sums counted by hand."""
    for shape, dim, dtype in (([8], 0, "float32"), ([6], 0, "int64"), ([8, 32], 1, "float32")):
        problem = problem_of(dtype, "integers", shape=shape, dim=dim)
        inputs = OPERATORS["cumsum"].inputs(problem)["x"].reshape(shape)
        plan = planned(variant("cumsum", "auto_pytorch"), problem, host().info)
        assert (output(problem, plan) == np.cumsum(inputs, axis=dim)).all()


@pytest.mark.parametrize(("shape", "across", "down"), [([1, 8], 2, 1), ([1, 8], 4, 1), ([8, 32], 2, 4)])
def test_the_texts_illustrations_run_as_they_are_drawn(shape: list[int], across: int, down: int) -> None:
    """Blocks far smaller than the rule's: two steps of four values, one step of eight, 8 rows by fours."""
    problem = problem_of("int64", "integers", shape=shape, dim=1)
    whole = planned(variant("cumsum", "sklansky_rows"), problem, host().info)
    (launch,) = whole.launches
    *operands, _ = launch.arguments
    drawn = dataclasses.replace(
        launch,
        grid=(-(-shape[0] // down), 1, 1),
        block=(across, down, 1),
        arguments=(*operands, int32(across.bit_length() - 1)),
        shared_bytes=2 * 8 * across * down,
    )
    plan = dataclasses.replace(whole, steps=(drawn,))
    inputs = OPERATORS["cumsum"].inputs(problem)["x"].reshape(shape)
    assert (output(problem, plan, "random:3") == np.cumsum(inputs, axis=1)).all()
