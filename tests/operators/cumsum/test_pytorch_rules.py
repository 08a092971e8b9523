from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.dtypes import NAMES
from gpubench.model import Launch, Memset, Pointer, Workspace
from gpubench.operators import OPERATORS
from gpubench.operators.cumsum.pytorch.lookback import THREADS, items_per_thread
from gpubench.operators.cumsum.pytorch.thread_ratio import ceil_log2, log_threads_x, log_threads_x_unsigned
from tests.operators.cases import DEVICE, make_case, planned, refusal
from tests.operators.on_host import variant

OWN = (
    "serial_columns",
    "sklansky_rows",
    "sklansky_rows_unsigned",
    "lookback_1d",
    "lookback_1d_deterministic",
    "auto_pytorch",
)


def problem_of(dtype: str = "float32", **params: Any) -> Any:
    """Return a cumsum problem."""
    return OPERATORS["cumsum"].problem(make_case("cumsum", dtype, **params))


def plan_of(name: str, problem: Any) -> Any:
    """Return the plan of a variant that takes the problem."""
    found = variant("cumsum", name)
    return planned(found, problem, DEVICE)


def integer(argument: Any) -> int:
    """Return a by-value integer argument."""
    return int.from_bytes(argument.data, "little")


# --- the thread ratio ---


@pytest.mark.parametrize(
    ("rows", "length", "x"),
    [
        (1, 1, 4),
        (8, 32, 5),  # (9 + 5 - 3) / 2 = 5.5
        (1, 1000000, 9),
        (4096, 4096, 4),  # 9 / 2 = 4.5
        (1024, 4096, 5),
        (32, 32000, 9),  # (9 + 15 - 5) / 2 = 9.5
        (64, 8192, 8),
        (65537, 128, 4),
        (4194304, 16, 4),
    ],
)
def test_the_rule_as_it_is_meant(rows: int, length: int, x: int) -> None:
    """log2 x = clamp((9 + ceil log2 length - ceil log2 rows) / 2, 4, 9), cut off to a whole number."""
    assert log_threads_x(rows, length) == x


@pytest.mark.parametrize(
    ("rows", "length", "x"),
    [
        (4096, 8, 4),  # 9 + 3 - 12 = 0: the last that does not wrap
        (4097, 8, 9),  # 9 + 3 - 13 = -1: wraps
        (4194304, 16, 9),
        (1048576, 64, 9),
        (65536, 128, 4),
        (65537, 128, 9),
        (8, 32, 5),
    ],
)
def test_the_rule_as_it_wraps(rows: int, length: int, x: int) -> None:
    """In unsigned arithmetic many short rows get all 512 threads along a row."""
    assert log_threads_x_unsigned(rows, length) == x


@given(st.integers(1, 2**32), st.integers(1, 2**32))
def test_the_rules_differ_only_where_the_sum_is_negative(rows: int, length: int) -> None:
    """Both lie in 4 to 9; the wrapped rule is 9 where it wraps and the meant one elsewhere, which is 4 there."""
    meant, wrapped = log_threads_x(rows, length), log_threads_x_unsigned(rows, length)
    assert 4 <= meant <= 9
    if ceil_log2(rows) - ceil_log2(length) > 9:
        assert (meant, wrapped) == (4, 9)
    else:
        assert wrapped == meant


@given(st.integers(1, 2**40))
def test_ceil_log2_is_the_smallest_power(value: int) -> None:
    """2^n reaches the value, 2^(n - 1) does not."""
    n = ceil_log2(value)
    assert 2**n >= value
    assert n == 0 or 2 ** (n - 1) < value


# --- launches ---


def test_the_block_is_x_by_y_and_the_grid_strides_over_rows() -> None:
    """512 threads as x by y; a block for y rows; two accumulators a thread in shared memory."""
    (launch,) = plan_of("sklansky_rows", problem_of(shape=[1000, 512], dim=1)).steps
    assert (launch.block, launch.grid, launch.shared_bytes) == ((16, 32, 1), (32, 1, 1), 4096)
    (launch,) = plan_of("sklansky_rows", problem_of("complex128", shape=[3, 100000], dim=1)).steps
    assert (launch.block, launch.grid, launch.shared_bytes) == ((512, 1, 1), (3, 1, 1), 16384)
    (launch,) = plan_of("sklansky_rows_unsigned", problem_of(shape=[8192, 8], dim=1)).steps
    assert (launch.block, launch.grid) == ((512, 1, 1), (8192, 1, 1))
    (launch,) = plan_of("sklansky_rows", problem_of(shape=[8192, 8], dim=1)).steps
    assert (launch.block, launch.grid) == ((16, 32, 1), (256, 1, 1))


def test_rows_are_not_limited_to_the_other_dims_of_a_grid() -> None:
    """Many short rows: as many blocks along x as they need, far more than the 65,535 of y and z."""
    (launch,) = plan_of("sklansky_rows_unsigned", problem_of(shape=[4194304, 16], dim=1)).steps
    assert (launch.block, launch.grid) == ((512, 1, 1), (4194304, 1, 1))
    (launch,) = plan_of("sklansky_rows", problem_of(shape=[4194304, 16], dim=1)).steps
    assert (launch.block, launch.grid) == ((16, 32, 1), (131072, 1, 1))


@pytest.mark.parametrize(("rows", "index", "size"), [(2**21 - 1, "unsigned int", 4), (2**21, "unsigned long long", 8)])
def test_indices_are_64_bits_from_two_thousand_million_elements_on(rows: int, index: str, size: int) -> None:
    """Fewer than 2^31 elements are counted in 32 bits."""
    (launch,) = plan_of("sklansky_rows", problem_of("float16", shape=[rows, 1024], dim=1)).steps
    assert launch.kernel == f"gpubench::cumsum::sklansky_rows<gpubench::half, {index}>"
    assert [len(argument.data) for argument in launch.arguments[2:]] == [size, size, 4]
    assert [integer(argument) for argument in launch.arguments[2:4]] == [rows, 1024]


def test_columns_are_at_most_512_a_block_and_65535_blocks() -> None:
    """Blocks have min(512, inner) threads, the grid outer x ceil(inner / threads), each at most 65535."""
    (launch,) = plan_of("serial_columns", problem_of(shape=[7, 5, 1300], dim=1)).steps
    assert (launch.block, launch.grid) == ((512, 1, 1), (7, 3, 1))
    assert [integer(argument) for argument in launch.arguments[2:]] == [7, 5, 1300]
    (launch,) = plan_of("serial_columns", problem_of(shape=[100000, 3, 2], dim=1)).steps
    assert (launch.block, launch.grid) == ((2, 1, 1), (65535, 1, 1))
    (launch,) = plan_of("serial_columns", problem_of(shape=[2, 2**26], dim=0)).steps
    assert launch.grid == (1, 65535, 1)


def test_the_scan_of_one_dim_clears_its_states_each_run() -> None:
    """A memset of ticket and states stands before the launch, which says that its blocks wait for each other."""
    clear, launch = plan_of("lookback_1d", problem_of(shape=[10000])).steps
    assert isinstance(clear, Memset)
    assert clear.value == 0
    tiles = -(-10000 // (128 * 15))
    assert (launch.grid, launch.block, launch.waits_for_blocks) == ((tiles, 1, 1), (128, 1, 1), True)
    ticket, states = launch.arguments[3:5]
    assert clear.target == ticket
    assert clear.size == states.byte_offset - ticket.byte_offset + 8 * tiles


def test_long_arrays_are_chunks_that_carry() -> None:
    """Beyond 2^30 elements: a memset and a launch a chunk, each reading the sum that the one before it wrote."""
    plan = plan_of("lookback_1d", problem_of("float64", shape=[2**31 + 5]))
    launches = plan.launches
    assert [type(step) for step in plan.steps] == [Memset, Launch] * 3
    assert [struct.unpack("<q", launch.arguments[2].data)[0] for launch in launches] == [2**30, 2**30, 5]
    assert [launch.arguments[0] for launch in launches] == [Pointer("x", n * 2**33) for n in range(3)]
    assert [launch.arguments[1] for launch in launches] == [Pointer("y", n * 2**33) for n in range(3)]
    assert launches[0].arguments[5].data == bytes(8)
    assert [launch.arguments[6] for launch in launches] == [Workspace(n * 8) for n in range(3)]
    assert [launch.arguments[5] for launch in launches[1:]] == [Workspace(n * 8) for n in range(2)]
    assert plan.workspace_bytes >= math.ceil(2**30 / (128 * 7)) * 16


def test_two_launches_make_it_deterministic() -> None:
    """As many blocks as tiles, the SMs at most, each with a run of tiles; no block waits."""
    sums, scan = plan_of("lookback_1d_deterministic", problem_of(shape=[10**7])).steps
    assert sums.grid == scan.grid == (132, 1, 1)
    assert sums.block == scan.block == (512, 1, 1)
    assert integer(sums.arguments[-1]) == integer(scan.arguments[-1]) == math.ceil(math.ceil(10**7 / 8192) / 132)
    assert not sums.waits_for_blocks
    (small, _) = plan_of("lookback_1d_deterministic", problem_of("complex128", shape=[5000])).steps
    assert (small.grid, small.block) == ((3, 1, 1), (128, 1, 1))


@pytest.mark.parametrize(
    ("dtype", "threads"),
    [("float16", 512), ("bfloat16", 512), ("float32", 512), ("float64", 256), ("complex64", 256), ("complex128", 128)],
)
def test_deterministic_tiles_go_by_the_elements_size(dtype: str, threads: int) -> None:
    """512 threads for elements of up to 4 bytes, 256 for 8, 128 for 16; 16 items each."""
    for elements, tiles in ((16 * threads, 1), (16 * threads + 1, 2)):
        for launch in plan_of("lookback_1d_deterministic", problem_of(dtype, shape=[elements])).steps:
            assert (launch.grid, launch.block) == ((tiles, 1, 1), (threads, 1, 1))
            assert launch.kernel.endswith(f", {threads}, 16>")


# --- what comes before ---


@pytest.mark.parametrize(
    ("name", "shape", "dim"), [("lookback_1d", [999], 0), ("sklansky_rows", [9, 99], 1), ("serial_columns", [9, 99], 0)]
)
def test_a_strided_or_narrow_input_is_copied_first(name: str, shape: list[int], dim: int) -> None:
    """A launch that copies (and casts to int64) into the workspace, which the scan then reads; only where needed."""

    def copies(dtype: str, **layout: Any) -> list[str]:
        plan = plan_of(name, problem_of(dtype, shape=shape, dim=dim, layout=layout))
        *before, last = plan.launches
        assert isinstance(last.arguments[0], Workspace if before else Pointer)
        assert all(launch.arguments[0] == last.arguments[0] for launch in before)
        if before:
            size = math.prod(shape) * (8 if dtype.startswith("int") else 2)
            assert plan.workspace_bytes >= last.arguments[0].byte_offset + size
        return [launch.source for launch in before]

    assert copies("float16") == copies("int64") == copies("float16", offset=1) == []
    assert copies("float16", step=2) == copies("int64", step=2) == ["elementwise/seeds/strided.cu"]
    assert copies("int8") == copies("int8", step=3) == ["elementwise/seeds/casting.cu"]


@pytest.mark.parametrize(
    ("shape", "dim", "taken"),
    [
        ([9], 0, "lookback_1d"),
        ([], 0, "lookback_1d"),
        ([1, 9, 1], 1, "lookback_1d"),
        ([9, 1], 0, "lookback_1d"),
        ([2, 9], 1, "sklansky_rows_unsigned"),
        ([9, 1], 1, "sklansky_rows_unsigned"),
        ([2, 9], 0, "serial_columns"),
        ([2, 3, 4], 1, "serial_columns"),
    ],
)
def test_the_dispatch(shape: list[int], dim: int, taken: str) -> None:
    """All elements in the dim, else the last dim (by the rule that the original runs), else columns; it says which."""
    problem = problem_of(shape=shape, dim=dim)
    plan = plan_of("auto_pytorch", problem)
    assert plan.variant == "auto_pytorch"
    assert plan.notes["chosen"] == taken
    assert plan.steps == plan_of(taken, problem).steps


def test_nothing_is_launched_for_nothing() -> None:
    """Empty tensors have no steps."""
    for shape, dim in (([0], 0), ([3, 0, 4], 1), ([3, 0], 0), ([3, 0], 1)):
        problem = problem_of(shape=shape, dim=dim)
        for name in OWN:
            if refusal(variant("cumsum", name), problem, DEVICE) is None:
                assert plan_of(name, problem).steps == ()


def test_what_a_variant_does_not_claim_it_refuses() -> None:
    """Each refusal names the reason."""

    def reason(name: str, dtype: str = "float32", **params: Any) -> str:
        found: str | None = refusal(variant("cumsum", name), problem_of(dtype, **params), DEVICE)
        assert found is not None
        return found

    assert "one dim only" in reason("lookback_1d", shape=[2, 9], dim=1)
    assert "one dim only" in reason("lookback_1d_deterministic", shape=[2, 9], dim=1)
    assert "floats only" in reason("lookback_1d_deterministic", "int32", shape=[9])
    assert "serial_columns" in reason("sklansky_rows", shape=[2, 9], dim=0)
    assert "sklansky_rows" in reason("serial_columns", shape=[2, 9], dim=1)
    assert "under 2^32" in reason("sklansky_rows", shape=[2**32, 1], dim=1)
    assert "under 2^32" in reason("serial_columns", shape=[2, 2**32], dim=0)


def test_the_names_are_all_there() -> None:
    """Every variant of the design is in the table, with a line on what it is and one on where it is from."""
    table = {variant.name: variant for variant in OPERATORS["cumsum"].variants}
    assert set(OWN) <= set(table)
    for name in OWN:
        assert table[name].summary
        assert "PyTorch" in table[name].origin


@pytest.mark.parametrize("dtype", NAMES)
def test_tiles_fit_shared_memory_and_plans_are_compiled_ahead(dtype: str) -> None:
    """Static shared memory stays under 48 KiB, and the instances of each dtype hold what plain cases launch."""
    result = problem_of(dtype, shape=[3]).operand("y")
    assert items_per_thread(result.dtype) == {2: 30, 4: 15, 8: 7, 16: 3}[problem_of(dtype, shape=[1]).bytes_written]
    assert THREADS // 32 * 33 * items_per_thread(result.dtype) * problem_of(dtype, shape=[1]).bytes_written < 47 * 1024
    known = {kernel for name in OWN for _, kernel in variant("cumsum", name).instances(dtype)}
    for shape, dim in (([64], 0), ([3, 64], 1), ([3, 64], 0)):
        assert plan_of("auto_pytorch", problem_of(dtype, shape=shape, dim=dim)).launches[-1].kernel in known
