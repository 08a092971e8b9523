"""The fast kernels on the simulator: every access examined, at the shapes where each could go wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from gpubench.devices.host import HostDevice
from gpubench.devices.host_options import parse_options
from gpubench.dtypes import DTYPES
from gpubench.engine.buffers import Operands, Pristine
from gpubench.measure.check import check
from gpubench.operators import OPERATORS
from gpubench.operators.cumsum.flat_rows import longest
from gpubench.operators.geometry.vectors import items_of
from gpubench.operators.results import sum_dtype
from tests.operators import on_host
from tests.operators.cases import DEVICE, auto, make_case, planned
from tests.operators.cumsum.edges import edges
from tests.operators.on_host import host
from tests.operators.sampling import some

CUMSUM = OPERATORS["cumsum"]


def outputs(
    name: str,
    dtype: str,
    schedule: str = "forward",
    runs: int = 2,
    figures: Mapping[str, int] | None = None,
    **params: Any,
) -> list[Any]:
    """Run a variant several times on one workspace, hold every output against the reference, and return them.

    figures: what the plan is told of the device in place of the simulator's own.
    """
    distribution = params.pop("distribution", "normal")
    problem = CUMSUM.problem(make_case("cumsum", dtype, distribution, **params))
    variant = next(variant for variant in CUMSUM.variants if variant.name == name)
    info = dataclasses.replace(host().info, **(figures or {}))  # type: ignore[arg-type]  # one kind of value for all
    plan = planned(variant, problem, info)
    reference = CUMSUM.reference(problem, CUMSUM.inputs(problem))
    found = list(on_host.outputs(problem, plan, runs, schedule))
    for output in found:
        verdict = check(problem, reference, plan.accuracy, output)
        assert verdict.ok, verdict.first_mismatch
    return found


@pytest.mark.parametrize("schedule", ["forward", "reverse", "random:3"])
@pytest.mark.parametrize(
    ("name", "shape", "dim"),
    [
        ("linked_blocks", [20011], 0),
        ("carry_forward", [70001], 0),
        ("carry_forward", [3, 30011], 1),
        ("linked_columns", [1501, 33], 0),
        ("linked_columns", [4001, 16], 0),
        ("column_forward", [9001, 9], 0),
    ],
)
def test_blocks_that_wait_for_each_other_agree(name: str, shape: list[int], dim: int, schedule: str) -> None:
    """Right under every schedule, launch after launch on one workspace, and the same bits each time."""
    first, *others = outputs(name, "float32", schedule, 3, shape=shape, dim=dim)
    assert all(np.array_equal(first, other) for other in others)


def staged_outputs(sms: int, dtype: str, schedule: str, **params: Any) -> list[Any]:
    """Run linked_blocks on so few SMs, two blocks each, that registers do not hold the rows."""
    figures = {"sm_count": sms, "max_threads_per_sm": 1024}
    problem = CUMSUM.problem(make_case("cumsum", dtype, **{**params, "distribution": "normal"}))
    variant = next(variant for variant in CUMSUM.variants if variant.name == "linked_blocks")
    plan = planned(variant, problem, dataclasses.replace(host().info, **figures))  # type: ignore[arg-type]  # all int
    assert plan.notes["staged"] > 0
    return outputs("linked_blocks", dtype, schedule, 2, figures, **params)


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_staged_blocks(dtype: str) -> None:
    """Part of each tile in shared memory: the row's end inside a vector of a stage, NaN and infinity in their line."""
    length = 512 * 19 * items_of(dtype, sum_dtype(dtype)) - 1
    distribution = "normal" if DTYPES[dtype].kind == "integer" else "with_nonfinite"
    first, second = staged_outputs(1, dtype, "random:4", shape=[length], distribution=distribution)
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("schedule", ["forward", "reverse", "random:3"])
@pytest.mark.parametrize(
    ("sms", "shape", "dtype", "layout"),
    [
        (1, [2, 16386], "float32", {}),  # the second row begins inside a vector
        (2, [2, 36001], "float32", {}),
        (1, [2, 32770], "float16", {"offset": 8}),
        (1, [2, 16388], "float32", {"expand": [0]}),
        (1, [2, 16416], "int8", {"offset": 16}),
        (2, [3, 9000], "int16", {}),
        (1, [33000], "float32", {}),  # stages behind the row's end
    ],
)
def test_staged_rows(sms: int, shape: list[int], dtype: str, layout: dict[str, Any], schedule: str) -> None:
    """Several rows, at other beginnings and in any order of threads, some of them short of their last stage."""
    staged_outputs(sms, dtype, schedule, shape=shape, dim=len(shape) - 1, layout=layout)


@pytest.mark.parametrize(
    ("name", "dtype", "offset"),
    some(
        ["lanes_rows", "block_rows", "carry_forward"], ["float32", "float16", "int8", "complex128"], [0, 1, 3], each=3
    ),
)
def test_rows_may_start_anywhere(name: str, dtype: str, offset: int) -> None:
    """Rows of an odd length at a misaligned base: nothing beside the row is read or written."""
    length = 33 if name == "lanes_rows" else 501
    outputs(name, dtype, shape=[5, length], dim=1, layout={"offset": offset})


LINES = [
    ("flat_rows", [301, 7]),
    ("lanes_rows", [40, 24]),
    ("block_rows", [7, 600]),
    ("columns", [2, 301, 40]),
    ("column_forward", [2, 301, 64]),
]


@pytest.mark.parametrize(
    ("lines", "dtype"), some(LINES, ["float32", "bfloat16", "float64", "complex64", "uint8"], each=2)
)
def test_nan_and_infinity_stay_in_their_line(lines: tuple[str, list[int]], dtype: str) -> None:
    """Special values reach what comes after them in their own line, and nothing else."""
    name, shape = lines
    outputs(name, dtype, shape=shape, dim=1, distribution="with_nonfinite")


@pytest.mark.parametrize("layout", [{"step": 2}, {"expand": [0]}, {"expand": [1]}, {"permute": [1, 0]}])
def test_rows_with_a_step_or_a_pitch(layout: dict[str, Any]) -> None:
    """Rows of x need be neither neighbours nor in one piece."""
    outputs("block_rows", "float32", shape=[6, 300], dim=1, layout=layout)
    outputs("lanes_rows", "float32", shape=[40, 30], dim=1, layout=layout)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize(("rows", "length"), [(2049, 2), (1500, 4), (2101, 12), (140, 62)])
def test_several_rows_of_narrow_elements_are_held_at_once(dtype: str, rows: int, length: int) -> None:
    """The last rows of a block may not exist, nor the last lanes of a row; sums wrap in y's type alone."""
    outputs("lanes_rows", dtype, "random:3", 1, {"sm_count": 1}, shape=[rows, length], dim=1, distribution="integers")


def test_rows_are_held_at_once_where_threads_are_more_than_resident() -> None:
    """Two from one wave on, four from two; not elements as wide as their sums, odd rows, or rows with gaps."""
    lanes = next(variant for variant in CUMSUM.variants if variant.name == "lanes_rows")

    def rows(count: int, length: int, dtype: str = "int8", **params: Any) -> int:
        case = make_case("cumsum", dtype, shape=[count, length], dim=1, **params)
        return int(planned(lanes, CUMSUM.problem(case), DEVICE).notes.get("rows", 1))

    wave = DEVICE.sm_count * 2048 // 2
    assert [rows(wave + near, 4) for near in (-1, 0, 1)] == [1, 1, 2]
    assert [rows(2 * wave + near, 4, "int32") for near in (0, 1)] == [2, 4]
    assert rows(2 * wave, 4, "int64") == rows(2 * wave, 5) == rows(2 * wave, 4, layout={"offset": 1}) == 1


@pytest.mark.parametrize(("name", "length"), [("lanes_rows", 60), ("lanes_rows", 33), ("block_rows", 701)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_rows_in_groups(name: str, length: int, dtype: str) -> None:
    """Rows have a pitch in a group, groups another, outer groups a third; elements lie side by side or a step apart."""
    for order in ([1, 0, 2], [0, 2, 1], [2, 1, 0, 3], [0, 2, 1, 3]):
        shape = [3, 2, 5, length] if len(order) == 4 else [7, 5, length]
        params: dict[str, Any] = {"shape": shape, "dim": len(order) - 1, "layout": {"permute": order}}
        outputs(name, dtype, runs=1, **params, distribution="with_nonfinite")


def test_long_rows_of_narrow_integers_by_lanes() -> None:
    """Four vectors a lane, as far as there are."""
    for length in (130, 255, 256):
        outputs("lanes_rows", "int8", runs=1, shape=[9, length], dim=1)


@pytest.mark.parametrize("length", [1, 4, 8, 9, 16, 32])
@pytest.mark.parametrize("inner", [16, 33, 130])
def test_short_columns(inner: int, length: int) -> None:
    """Columns of few rows, whole vectors or not."""
    outputs("columns", "float32", shape=[3, length, inner], dim=1, runs=1)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "complex64", "complex128"])
@pytest.mark.parametrize("length", [1, 2, 3, 5, 31, 33, 127])
def test_flat_rows_begin_anywhere_in_a_tile(dtype: str, length: int) -> None:
    """Rows shorter and longer than a vector, over several tiles, the last one cut: each row keeps to itself."""
    length = min(length, longest(items_of(dtype, sum_dtype(dtype))))
    outputs("flat_rows", dtype, runs=1, shape=[2500 // length + 3, length], dim=1, distribution="with_nonfinite")


@pytest.mark.parametrize("schedule", ["reverse", "random:5"])
@pytest.mark.parametrize("offset", [1, 2])
def test_flat_rows_at_another_alignment(schedule: str, offset: int) -> None:
    """Input at a misaligned base: whole words that two vectors share, nothing outside of x."""
    outputs("flat_rows", "float16", schedule, 1, shape=[70, 33], dim=1, layout={"offset": offset})
    outputs("flat_rows", "float32", schedule, 1, shape=[70, 33], dim=1, layout={"offset": offset})


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "complex64"])
@pytest.mark.parametrize("length", [2, 7, 33])
def test_flat_pairs_of_columns(dtype: str, length: int) -> None:
    """Two columns side by side, over several tiles, the last one cut, at another alignment: each keeps to itself."""
    length = min(length, longest(items_of(dtype, sum_dtype(dtype))) // 2)
    for offset in (0, 1):
        shape = [1500 // length + 3, length, 2]
        layout = {"offset": offset}
        outputs("flat_rows", dtype, runs=1, shape=shape, dim=1, layout=layout, distribution="with_nonfinite")


TRANSPOSED = [
    ([70, 45], 0, {"permute": [1, 0]}),  # x along the lines; several tiles, a cut strip
    ([45, 700], 1, {"permute": [1, 0]}),  # x across the lines
    ([3, 40, 5, 33], 1, {"permute": [2, 0, 3, 1]}),  # further dims, in another order
    ([3, 5, 36, 70], 3, {"permute": [1, 3, 0, 2]}),
]


@pytest.mark.parametrize(
    ("operands", "dtype"),
    some(TRANSPOSED, ["float32", "float16", "int8", "int16", "int64", "complex64", "complex128"], each=2),
)
def test_transposed_tiles(operands: tuple[list[int], int, dict[str, Any]], dtype: str) -> None:
    """Transposed and permuted operands: every line its own sum, NaN and infinity too."""
    shape, dim, layout = operands
    outputs("transposed_tiles", dtype, runs=1, shape=shape, dim=dim, layout=layout, distribution="with_nonfinite")


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "complex128"])
@pytest.mark.parametrize(("shape", "dim"), [([4500, 37], 0), ([2, 3, 4501], 2)])
def test_transposed_lines_in_chunks(shape: list[int], dim: int, dtype: str) -> None:
    """Few long lines are cut, and begin anew behind the sums of what comes before: in order, not, and with NaN."""
    layout = {"permute": [1, 0] if len(shape) == 2 else [2, 0, 1]}
    figures = {"sm_count": 8}
    outputs(
        "transposed_tiles",
        dtype,
        "reverse",
        2,
        figures,
        shape=shape,
        dim=dim,
        layout=layout,
        distribution="with_nonfinite",
    )


@pytest.mark.parametrize("shared", [56, 227])
@pytest.mark.parametrize("dtype", ["float32", "int8", "int16", "int32", "float64", "complex128"])
@pytest.mark.parametrize(("shape", "dim"), [([530, 64], 0), ([64, 530], 1)])
def test_transposed_tiles_of_whole_strips(shape: list[int], dim: int, dtype: str, shared: int) -> None:
    """Aligned strips of 32 lines, whole tiles and a cut one: accesses of several lines, in blocks of both sizes."""
    figures = {"max_shared_bytes": shared << 10}
    outputs("transposed_tiles", dtype, "random:6", 1, figures, shape=shape, dim=dim, layout={"permute": [1, 0]})


@pytest.mark.parametrize(("shape", "dim"), [([1040, 64], 0), ([64, 1040], 1)])
def test_transposed_tiles_of_16_bit_floats(shape: list[int], dim: int) -> None:
    """The same, by words of two lines and stores of eight."""
    for dtype in ("float16", "bfloat16"):
        outputs("transposed_tiles", dtype, "random:6", 1, shape=shape, dim=dim, layout={"permute": [1, 0]})


@pytest.mark.parametrize("schedule", ["reverse", "random:3"])
@pytest.mark.parametrize(("shape", "dim"), [([1301, 65], 0), ([33, 2777], 1)])
def test_transposed_tiles_one_after_the_other(shape: list[int], dim: int, schedule: str) -> None:
    """Several tiles a strip, at odd lengths and a misaligned base, in any order of threads."""
    for dtype in ("float32", "bfloat16"):
        outputs("transposed_tiles", dtype, schedule, 1, shape=shape, dim=dim, layout={"permute": [1, 0], "offset": 1})


def test_both_sides_of_every_edge_are_right() -> None:
    """What auto picks just below, at and above each of its thresholds gives the right answer."""
    device = host()
    small = [case for case in edges(device.info) if CUMSUM.problem(case).operand("x").view.size <= 300_000]
    assert len(small) >= 30
    picked = [auto(CUMSUM.problem(case), device.info) for case in small]
    plans = [planned(variant, CUMSUM.problem(case), device.info) for variant, case in zip(picked, small, strict=True)]
    device.compile([launch for plan in plans for launch in plan.launches])  # together: they share their headers
    for variant, case in zip(picked, small, strict=True):
        outputs(variant.name, case.dtype, runs=1, **dict(case.params))


@pytest.mark.parametrize("dtype", ["int16", "int32"])
@pytest.mark.parametrize("rows", [3, 9, 40])
def test_an_optimised_build_adds_up_every_row(dtype: str, rows: int) -> None:
    """Vectors made of a thread's loop by the compiler once lost the sums of rows: 64 columns, two a lane."""
    device = HostDevice(parse_options("build=fast,workers=1"))
    layout = {"offset": 2} if dtype == "int32" else {}
    problem = CUMSUM.problem(make_case("cumsum", dtype, "integers", shape=[rows, 64], dim=0, layout=layout))
    variant = next(variant for variant in CUMSUM.variants if variant.name == "column_forward")
    plan, inputs = planned(variant, problem, device.info), CUMSUM.inputs(problem)
    pristine = Pristine(device, problem, inputs, keep_inputs=True)
    operands = Operands(device, problem, pristine, plan.workspace_bytes, plan.workspace_zeroed)
    operands.poison()
    device.bind(plan, operands.addresses, operands.workspace).run()
    verdict = check(problem, CUMSUM.reference(problem, inputs), plan.accuracy, operands.output())
    assert verdict.ok, verdict.first_mismatch
