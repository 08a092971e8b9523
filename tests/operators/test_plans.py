"""The naive plans: arguments by the kernels' signatures, the same elements after coalescing, nothing for no work."""

from __future__ import annotations

import dataclasses
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.layout import view
from gpubench.model import Plan, Pointer, Value
from gpubench.operators import OPERATORS
from gpubench.operators.coalesce import coalesce
from gpubench.operators.hard import hard_cases
from gpubench.operators.structs import float64, int32, int64, strided
from tests.operators.cases import DEVICE, auto, layouts, make_case, planned, refusal, shapes


def plan_of(name: str, dtype: str, **params: Any) -> Any:
    """Return the plan of the naive variant."""
    problem = OPERATORS[name].problem(make_case(name, dtype, **params))
    naive = OPERATORS[name].variants[0]
    return planned(naive, problem, DEVICE)


def arguments(launch: Any) -> list[Any]:
    """Operand names for pointers; byte counts of what is passed by value."""
    return [argument.operand if isinstance(argument, Pointer) else len(argument.data) for argument in launch.arguments]


@settings(deadline=None)
@given(st.data())
def test_coalescing_keeps_every_offset_in_order(data: st.DataObject) -> None:
    """Row-major walks over the merged dims meet the same offsets, for two operands at once."""
    shape = data.draw(shapes(5, 4))
    one, other = (view(shape, data.draw(layouts(shape))) for _ in range(2))
    sizes, strides = coalesce(shape, one.strides, other.strides)
    assert len(sizes) <= len(shape)
    assert 1 not in sizes
    for original, merged in zip((one.strides, other.strides), strides, strict=True):
        walked = [sum(i * s for i, s in zip(at, merged, strict=True)) for at in np.ndindex(sizes)]
        assert walked == [sum(i * s for i, s in zip(at, original, strict=True)) for at in np.ndindex(shape)]


def test_a_contiguous_tensor_has_one_dim() -> None:
    """Merging is complete, also across dims of size 1; a scalar has none."""
    assert coalesce((4, 1, 5, 6), view((4, 1, 5, 6)).strides) == ((120,), ((1,),))
    assert coalesce((), ()) == ((), ((),))


def test_values_have_the_layout_of_c() -> None:
    """Strided is 136 bytes: int, padding, eight sizes, eight strides; scalars are little-endian."""
    packed = strided((3, 4), (8, 1)).data
    assert struct.unpack("<ii8q8q", packed) == (2, 0, 3, 4, 1, 1, 1, 1, 1, 1, 8, 1, 0, 0, 0, 0, 0, 0)
    assert int64(3) == Value(b"\x03" + bytes(7))
    assert int32(-1) == Value(b"\xff" * 4)
    assert float64(1.5) == Value(struct.pack("<d", 1.5))
    with pytest.raises(ValueError, match="9 dims"):
        strided((2,) * 9, (1,) * 9)


def test_arguments_follow_the_kernels_signatures() -> None:
    """Pointers and by-value structs of each naive kernel, in order."""
    (launch,) = plan_of("cumsum", "int8", shape=[3, 4], dim=0).steps
    assert launch.kernel == "gpubench::cumsum::naive<signed char, long long>"
    assert arguments(launch) == ["x", "y", 136, 136, 8, 8, 8, 8]
    assert [struct.unpack("<q", argument.data)[0] for argument in launch.arguments[4:]] == [4, 3, 4, 4]
    (launch,) = plan_of("sum", "float16", shape=[3, 4], dim=0).steps
    assert launch.kernel == "gpubench::sum::naive<gpubench::half, gpubench::half>"
    assert arguments(launch) == ["x", "y", 136, 136, 136, 8, 8]
    (launch,) = plan_of("elementwise", "bfloat16", function="add", shape=[3, 4]).steps
    types = "gpubench::functions::add, float, gpubench::bfloat16, gpubench::bfloat16, gpubench::bfloat16"
    assert launch.kernel == f"gpubench::elementwise::naive2<{types}>"
    assert arguments(launch) == ["y", "a", "b", 136, 136, 136, 8, 8, 8]
    (launch,) = plan_of("index_add", "float32", shape=[3, 4], indices=7, index_dtype="int32", alpha=0.5).steps
    assert launch.kernel == "gpubench::index_add::naive<float, int>"
    assert arguments(launch) == ["destination", "source", "index", 136, 136, 8, 8, 8, 8, 8, 8, 8]
    assert [struct.unpack("<q", argument.data)[0] for argument in launch.arguments[5:11]] == [7, 4, 4, 4, 1, 3]
    assert launch.arguments[11] == float64(0.5)


def test_no_work_is_no_launch_but_an_empty_sum_is_written() -> None:
    """Nothing is launched for an empty output; the zeros of an empty sum need their launch."""
    assert plan_of("cumsum", "float32", shape=[3, 0]).steps == ()
    assert plan_of("elementwise", "float32", function="neg", shape=[0]).steps == ()
    assert plan_of("index_add", "float32", shape=[3, 4], indices=0).steps == ()
    assert plan_of("sum", "float32", shape=[0, 3], dim=1).steps == ()
    (launch,) = plan_of("sum", "float32", shape=[0, 3], dim=0).steps
    assert launch.grid == (1, 1, 1)


def test_the_grid_stays_within_what_the_device_holds() -> None:
    """A block for each 256 items, at most 32 an SM, also beyond 2^31 items."""
    (launch,) = plan_of("elementwise", "uint8", function="neg", shape=[2**16, 2**16]).steps
    assert (launch.grid, launch.block) == ((32 * 132, 1, 1), (256, 1, 1))
    (launch,) = plan_of("elementwise", "uint8", function="neg", shape=[257]).steps
    assert launch.grid == (2, 1, 1)


def test_more_dims_than_the_kernel_holds_are_refused() -> None:
    """Nine dims that cannot be merged are refused with the reason; a contiguous tensor of nine dims is one dim."""
    shape = [2] * 9
    order = [8, 7, 6, 5, 4, 3, 2, 1, 0]
    problem = OPERATORS["elementwise"].problem(
        make_case("elementwise", "float32", function="neg", shape=shape, layout={"permute": order})
    )
    reason = refusal(OPERATORS["elementwise"].variants[0], problem, DEVICE)
    assert reason is not None
    assert "9 dims" in reason
    assert len(plan_of("elementwise", "float32", function="neg", shape=shape).steps) == 1


@pytest.mark.parametrize("name", OPERATORS)
def test_every_dtype_has_instances_and_plans_use_them(name: str) -> None:
    """What is compiled ahead covers the plain case of each dtype."""
    operator = OPERATORS[name]
    for dtype in operator.dtypes:
        kernels = {kernel for _, kernel in operator.variants[0].instances(dtype)}
        problem = operator.problem(hard_cases(operator, dtype)[0])
        (launch,) = planned(operator.variants[0], problem).launches
        assert launch.kernel in kernels


def test_auto_is_a_variant_that_takes_the_problem() -> None:
    """What `choose` gives is the plan of the variant that it names."""
    for operator in OPERATORS.values():
        for case in hard_cases(operator, operator.dtypes[0]):
            problem = operator.problem(case)
            assert operator.choose(problem, DEVICE) == planned(auto(problem, DEVICE), problem, DEVICE)


def test_accuracy_counts_the_longest_path() -> None:
    """A line's length, a sum's terms, an index's duplicates; in the accumulator's dtype."""
    assert plan_of("cumsum", "bfloat16", shape=[3, 400], dim=1).accuracy.additions == 400
    summed = plan_of("sum", "float16", shape=[3, 400], dim=[0, 1]).accuracy
    assert (summed.additions, summed.accumulator) == (math.prod((3, 400)), "float32")
    added = plan_of("index_add", "float16", shape=[3, 4], indices=70, pattern="same").accuracy
    assert (added.additions, added.accumulator) == (72, "float16")


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.data())
def test_every_variant_plans_or_refuses_whatever_fits_a_memory(data: st.DataObject) -> None:
    """Sizes of up to 2^37 elements: a launch that a GPU takes, or a reason, never an overflow of some field."""
    operator = OPERATORS[data.draw(st.sampled_from(("cumsum", "elementwise", "index_add", "sum")))]
    shape: list[int] = []
    for _ in range(data.draw(st.integers(1, 4))):
        bits = data.draw(st.integers(0, 37 - math.ceil(math.log2(math.prod(shape)))))
        shape.append(data.draw(st.integers(2 ** max(bits - 1, 0), 2**bits)))
    params: dict[str, Any] = {"shape": tuple(shape), "layout": {"offset": data.draw(st.integers(0, 5))}}
    if data.draw(st.booleans()):
        params["layout"]["permute"] = tuple(data.draw(st.permutations(range(len(shape)))))
    dim = data.draw(st.integers(0, len(shape) - 1))
    others: dict[str, dict[str, Any]] = {
        "cumsum": {"dim": dim},
        "sum": {"dim": tuple(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))},
        "elementwise": {"function": "add"},
        "index_add": {"dim": dim, "indices": data.draw(st.integers(1, 2**33))},
    }
    problem = operator.problem(
        make_case(operator.name, data.draw(st.sampled_from(operator.dtypes)), **params, **others[operator.name])
    )
    for shared_kb in (64, 227):
        device = dataclasses.replace(DEVICE, max_shared_bytes=shared_kb << 10)
        for variant in operator.variants:
            plan = variant.plan(problem, device)
            for launch in plan.launches if isinstance(plan, Plan) else ():
                assert 0 < launch.grid[0] < 2**31, variant.name
                assert max(launch.grid[1:]) < 2**16, variant.name
                assert math.prod(launch.block) <= 1024, variant.name
                assert launch.shared_bytes <= device.max_shared_bytes, variant.name
