"""PyTorch's and OneFlow's index_add: which kernel, which launch, which dims; the known bad case stays visible."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.layout import Layout, view
from gpubench.model import Plan
from gpubench.operators import OPERATORS
from gpubench.operators.index_add import slices
from gpubench.operators.index_add.slices import TensorInfo, reaches_32_bits, slice_is_denser, tensor_info
from tests.host.answers import answer, variant_of
from tests.operators.cases import DEVICE, layouts, make_case, planned, refusal


def problem_of(**params: Any) -> Any:
    """Return the problem of a float32 case."""
    return OPERATORS["index_add"].problem(make_case("index_add", "float32", **params))


def plan_of(variant: str, **params: Any) -> Plan:
    """Return a variant's plan."""
    problem, one = problem_of(**params), variant_of("index_add", variant)
    return planned(one, problem, DEVICE)


def launch_of(variant: str, **params: Any) -> tuple[int, int]:
    """Return blocks and threads a block."""
    (launch,) = plan_of(variant, **params).launches
    return launch.grid[0], launch.block[0]


def test_one_dim_with_few_indices_is_one_thread() -> None:
    """The known bad case of the original stays: one block, one thread; and the record names it."""
    assert launch_of("small_index", shape=[33554432], indices=15) == (1, 1)
    assert launch_of("auto_pytorch", shape=[33554432], indices=15) == (1, 1)
    assert plan_of("auto_pytorch", shape=[33554432], indices=15).notes["known_bad_case"] is True
    assert launch_of("large_index", shape=[33554432], indices=15) == (1, 15)
    assert plan_of("auto_pytorch", shape=[32, 1024, 1024], indices=15).notes["known_bad_case"] is False


def test_the_small_kernels_grid_covers_a_slice_the_large_ones_the_source() -> None:
    """At most 8 blocks of 128 threads an SM, no more threads than work."""
    assert launch_of("small_index", shape=[32768, 1024], indices=15) == (8, 128)
    assert launch_of("large_index", shape=[32768, 1024], indices=15) == (120, 128)
    assert launch_of("large_index", shape=[32768, 1024], indices=1024) == (8 * 132, 128)
    assert launch_of("small_index", shape=[32, 1024, 1024], indices=15) == (8 * 132, 128)
    assert launch_of("small_index", shape=[32, 100], indices=3) == (1, 100)


@pytest.mark.parametrize(
    ("shape", "indices", "grid", "block"),
    [
        ([33554432], 15, (1, 1, 1), (1, 15, 1)),
        ([32768, 1024], 15, (8, 15, 1), (128, 1, 1)),
        ([32, 1024, 1024], 15, (8 * 132 // 15, 15, 1), (128, 1, 1)),
        ([50, 5], 16, (1, 1, 1), (8, 16, 1)),
    ],
)
def test_the_spread_shape_hands_out_the_indices(
    shape: list[int], indices: int, grid: tuple[int, ...], block: tuple[int, ...]
) -> None:
    """Indices lie along block y and grid y, a slice along x; no more blocks than the original's limit."""
    (launch,) = plan_of("small_index_spread", shape=shape, indices=indices).launches
    assert (launch.grid, launch.block) == (grid, block)


def test_the_dispatch_goes_by_the_number_of_indices() -> None:
    """Up to 16 indices the small kernel, from 17 on the large one."""
    assert plan_of("auto_pytorch", shape=[50, 8], indices=16).notes["chosen"] == "small_index"
    assert plan_of("auto_pytorch", shape=[50, 8], indices=17).notes["chosen"] == "large_index"
    reason = refusal(variant_of("index_add", "small_index"), problem_of(shape=[50, 8], indices=17), DEVICE)
    assert reason is not None
    assert "17 indices" in reason


def test_beyond_32_bits_only_the_large_kernel_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor of 2^31 elements or more has 64-bit offsets, no fixed number of dims, and goes index by index."""
    params: dict[str, Any] = {"shape": [1 << 22, 1024], "dim": 1, "indices": 3}
    plan = plan_of("auto_pytorch", **params)
    assert plan.notes["chosen"] == "large_index"
    assert (plan.notes["offset_bits"], plan.notes["static_dims"], plan.notes["index_major"]) == (64, 0, True)
    assert "unsigned long long, 0>" in plan.launches[0].kernel
    assert refusal(variant_of("index_add", "small_index"), problem_of(**params), DEVICE) is not None
    monkeypatch.setattr(slices, "LIMIT", 2000)
    assert plan_of("auto_pytorch", shape=[50, 8], indices=3).notes["offset_bits"] == 32


def test_dims_are_merged_around_the_indexed_one() -> None:
    """Contiguous dims before it become one, those after it become one; `uncollapsed` keeps all."""
    for dim, sizes in ((0, [1, 840]), (1, [2, 1, 280]), (2, [6, 1, 56]), (4, [240, 1])):
        assert plan_of("large_index", shape=[2, 3, 5, 8, 7], dim=dim, indices=40).notes["destination_sizes"] == sizes
    uncollapsed = plan_of("uncollapsed", shape=[2, 3, 5, 8, 7], dim=2, indices=40)
    assert uncollapsed.notes["destination_sizes"] == [2, 3, 1, 8, 7]
    assert uncollapsed.notes["static_dims"] == 0
    assert plan_of("uncollapsed", shape=[32, 1024, 1024], indices=15).notes["static_dims"] == 3


def test_neighbouring_threads_follow_the_denser_dim() -> None:
    """Index-major where a slice is denser in memory than the indexed dim, else not."""
    assert plan_of("large_index", shape=[50, 8], dim=0, indices=40).notes["index_major"] is True
    assert plan_of("large_index", shape=[50, 8], dim=1, indices=40).notes["index_major"] is False
    transposed = {"permute": (1, 0)}
    assert plan_of("large_index", shape=[50, 8], dim=0, indices=40, layout=transposed).notes["index_major"] is False


def test_up_to_three_dims_are_known_to_the_compiler() -> None:
    """Instances exist for one, two and three dims; from four on the kernel loops over them."""
    for shape, dims in (([4], 1), ([4, 5], 2), ([4, 5, 6], 3), ([4, 5, 6, 7], 0)):
        plan = plan_of("uncollapsed", shape=shape, indices=40)
        assert plan.notes["static_dims"] == dims
        assert plan.launches[0].kernel.endswith(f" {dims}>")


@pytest.mark.parametrize(("stride", "size", "denser"), [(2, 5, True), (3, 5, False), (4, 5, False), (2, 1, False)])
def test_a_slice_is_denser_only_when_some_stride_is_smaller(stride: int, size: int, denser: bool) -> None:
    """Equal strides do not count, nor does a dim of one element."""
    assert slice_is_denser(TensorInfo((1, size), (3, stride), 0, 3)) is denser


@pytest.mark.parametrize(
    ("shape", "layout", "reached"),
    [
        ((2**31 - 2,), Layout(), True),
        ((2**31 - 1,), Layout(), False),
        ((2**30,), Layout(step=2), True),
        ((2**30 + 1,), Layout(step=2), False),
        ((2**16, 2**16), Layout(expand=(0,)), False),
    ],
)
def test_32_bit_offsets_stay_below_the_largest_number(shape: tuple[int, ...], layout: Layout, reached: bool) -> None:
    """Fewer than 2^31 - 1 elements, none of them further away than that; broadcast elements count each time."""
    assert reaches_32_bits(view(shape, layout)) is reached


def test_the_documented_example_is_described_as_in_the_text() -> None:
    """(5, 3) with three indices: the indexed dim has size 1 in place, strides 3 and 1; a slice of 3, in one block."""
    plan = plan_of("small_index", shape=[5, 3], indices=3)
    info = tensor_info(view((5, 3), Layout()), 0, merge=True)
    assert (info.sizes, info.strides, info.dim, info.step) == ((1, 3), (3, 1), 0, 3)
    assert (plan.notes["grid"], plan.notes["block"]) == (1, 3)


@settings(deadline=None)
@given(st.data())
def test_merging_keeps_every_offset(data: st.DataObject) -> None:
    """With or without merging, the row-major number of a slice's element means the same place."""
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple))
    dim = data.draw(st.integers(0, len(shape) - 1))
    seen = view(shape, data.draw(layouts(shape, expand=False)))
    offsets = []
    for merge in (True, False):
        info = tensor_info(seen, dim, merge)
        assert info.sizes[info.dim] == 1
        assert info.step == seen.strides[dim]
        offsets.append([sum(i * s for i, s in zip(at, info.strides, strict=True)) for at in np.ndindex(*info.sizes)])
    assert offsets[0] == offsets[1]


def test_descriptions_have_the_layout_of_c() -> None:
    """208 bytes with 32-bit offsets, 416 with 64-bit ones: dims, sizes, strides, step."""
    info = tensor_info(view((4, 5, 6), Layout()), 1, merge=True)
    narrow, wide = info.pack(4).data, info.pack(8).data
    assert (len(narrow), len(wide)) == (208, 416)
    assert struct.unpack_from("<i3I", narrow) == (3, 4, 1, 6)
    assert struct.unpack_from("<ii3Q", wide) == (3, 0, 4, 1, 6)
    assert struct.unpack_from("<I", narrow, 204) == struct.unpack_from("<Q", wide, 408) == (6,)


def test_oneflow_takes_flat_arrays_only() -> None:
    """Strided tensors are refused with the reason; an offset is none."""
    one = variant_of("index_add", "oneflow")
    strided = problem_of(shape=[9, 8], indices=3, layout={"step": 2})
    reason = refusal(one, strided, DEVICE)
    assert reason is not None
    assert "destination is not contiguous" in reason
    assert refusal(one, problem_of(shape=[9, 8], indices=3, source_layout={"offset": 3}), DEVICE) is None


def test_oneflow_starts_one_wave_of_blocks() -> None:
    """256 threads a block; blocks for the source's elements, at most as many as 2048 threads an SM hold."""
    assert launch_of("oneflow", shape=[33554432], indices=15) == (1, 256)
    assert launch_of("oneflow", shape=[32768, 1024], indices=15) == (60, 256)
    assert launch_of("oneflow", shape=[1 << 20, 128], indices=1 << 20) == (132 * 8, 256)


@pytest.mark.parametrize("variant", ["large_index", "uncollapsed", "auto_pytorch"])
@pytest.mark.parametrize("dtype", ["int16", "bfloat16", "complex64"])
def test_64_bit_offsets_are_right(variant: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The form for huge tensors gives right answers (made to be chosen for a small one)."""
    monkeypatch.setattr(slices, "LIMIT", 100)
    case = make_case("index_add", dtype, shape=[7, 33, 5], dim=1, indices=40, layout={"permute": (2, 0, 1)})
    plan, _, verdict = answer(case, variant, "random:1")
    assert plan.notes["offset_bits"] == 64
    assert verdict.ok, verdict.first_mismatch


@pytest.mark.parametrize("shape", [[40], [40, 9], [3, 40, 5], [2, 3, 40, 5, 2]])
@pytest.mark.parametrize("dim_order", ["as it is", "reversed"])
@pytest.mark.parametrize("indices", [11, 70])
def test_every_number_of_dims_is_right(shape: list[int], dim_order: str, indices: int) -> None:
    """One, two, three and more dims, dense and transposed, for few and many indices."""
    dim = shape.index(40)
    layout = {"permute": tuple(reversed(range(len(shape))))} if dim_order == "reversed" else {}
    case = make_case("index_add", "float32", shape=shape, dim=dim, indices=indices, layout=layout, alpha=-0.5)
    for variant in ("auto_pytorch", "uncollapsed", "large_index"):
        _, _, verdict = answer(case, variant, "random:2")
        assert verdict.ok, (variant, verdict.first_mismatch)
