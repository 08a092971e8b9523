from __future__ import annotations

import dataclasses
import re
import struct
from typing import Any

import pytest

from gpubench.dtypes import DTYPES, NAMES
from gpubench.kernels.sources import default_tree
from gpubench.model import Pointer, Value
from gpubench.operators import OPERATORS
from gpubench.operators.elementwise.pytorch.width import aligned_width, items_per_thread, newer_width, older_width
from tests.operators.cases import DEVICE, make_case, planned, refusal
from tests.operators.on_host import output, variant, verdict

OWN = (
    "casting",
    "strided",
    "unrolled",
    "vectorized_2",
    "vectorized_4",
    "vectorized_8",
    "vectorized_older",
    "vectorized",
    "auto_pytorch",
)


def problem_of(dtype: str = "float32", **params: Any) -> Any:
    """Return an elementwise problem; `add` where no function is named."""
    return OPERATORS["elementwise"].problem(make_case("elementwise", dtype, **{"function": "add", **params}))


def plan_of(name: str, problem: Any) -> Any:
    """Return the plan of a variant that takes the problem."""
    found = variant("elementwise", name)
    return planned(found, problem, DEVICE)


def kernels(name: str, problem: Any) -> list[str]:
    """Return the kernels of a plan without their namespace and types: `vectorized 4 8`."""
    found = []
    for launch in plan_of(name, problem).launches:
        kernel, types = re.fullmatch(r"gpubench::elementwise::(\w+)<(.*)>", launch.kernel).groups()  # type: ignore[union-attr]
        found.append(" ".join([kernel, *re.findall(r"(?<=, )\d+(?=,)", types)]))
    return found


def test_the_names_are_all_there() -> None:
    """Every variant of the design is in the table, with a line on what it is and one on where it is from."""
    table = {variant.name: variant for variant in OPERATORS["elementwise"].variants}
    assert set(OWN) <= set(table)
    for name in OWN:
        assert table[name].summary
        assert "PyTorch" in table[name].origin


# --- how much one access moves ---


@pytest.mark.parametrize(
    ("dtype", "older", "newer"),
    [
        ("uint8", 4, 4),
        ("int8", 4, 4),
        ("int16", 4, 8),
        ("float16", 4, 8),
        ("bfloat16", 4, 8),
        ("float32", 4, 4),
        ("int64", 4, 2),
        ("float64", 4, 2),
        ("complex64", 4, 2),
        ("complex128", 4, 1),
    ],
)
def test_the_width_of_aligned_operands(dtype: str, older: int, newer: int) -> None:
    """Older form: 4 whatever the dtype. Newer: 16 bytes of the output, at most 8, single bytes 4."""
    sizes = [DTYPES[dtype].itemsize] * 3
    assert older_width([0, 0, 0], sizes) == older
    assert newer_width([0, 0, 0], sizes, (9, 0)) == newer


@pytest.mark.parametrize(("place", "width"), [(0, 8), (16, 8), (8, 4), (4, 2), (2, 1), (6, 1), (12, 2)])
def test_every_pointer_must_be_aligned(place: int, width: int) -> None:
    """The worst pointer decides, whichever operand it is."""
    for operand in range(3):
        places = [0, 0, 0]
        places[operand] = place
        assert newer_width(places, [2, 2, 2], (10, 0)) == width
        assert aligned_width(places, [2, 2, 2], 8) == width


def test_operands_of_other_sizes_count_by_their_own() -> None:
    """A mask of bytes limits the width only by its own address; the output's size sets the 16 bytes."""
    assert newer_width([0, 0, 0, 0], [4, 1, 4, 4], (9, 0)) == 4
    assert newer_width([0, 2, 0, 0], [4, 1, 4, 4], (9, 0)) == 2
    assert newer_width([0, 1, 0, 0], [4, 1, 4, 4], (9, 0)) == 1
    assert newer_width([0, 0], [4, 8], (9, 0)) == 4  # abs of complex64: two accesses an operand vector


@pytest.mark.parametrize(("capability", "width"), [((8, 0), 4), ((8, 9), 4), ((9, 0), 8), ((10, 0), 8), ((12, 0), 4)])
def test_eight_elements_are_for_some_gpus(capability: tuple[int, int], width: int) -> None:
    """The newer form goes beyond vectors of four on two generations only, as the original does."""
    assert newer_width([0, 0, 0], [2, 2, 2], capability) == width
    assert older_width([0, 0, 0], [2, 2, 2]) == 4
    device = dataclasses.replace(DEVICE, compute_capability=capability)
    plan = planned(variant("elementwise", "auto_pytorch"), problem_of("float16", shape=[4096]), device)
    assert f"add, float, {width}, 8," in plan.launches[0].kernel


@pytest.mark.parametrize(("offset", "kernel"), [(0, "vectorized 4 4"), (2, "vectorized 2 4"), (1, "unrolled 4")])
def test_the_older_form_has_four_elements_a_thread_at_any_width(offset: int, kernel: str) -> None:
    """Pointers that allow no vector take four elements a thread too, one at a time."""
    problem = problem_of(shape=[1025], layout={"offset": offset})
    assert kernels("auto_pytorch_older", problem) == [kernel]
    assert verdict(problem, plan_of("auto_pytorch_older", problem)).ok


def test_single_bytes_are_sixteen_a_thread() -> None:
    """Eight elements a thread, sixteen where every element is one byte."""
    assert items_per_thread([1, 1, 1]) == 16
    assert items_per_thread([4, 1, 4, 4]) == 8
    assert items_per_thread([2, 2]) == 8


# --- the texts' worked examples ---


@pytest.mark.parametrize(("n", "blocks"), [(1025, 3), (1024, 2), (32768, 64)])
def test_the_worked_examples_of_the_older_form(n: int, blocks: int) -> None:
    """Four elements a thread, 512 a block: 1025 elements take three blocks, 32768 take 64."""
    (launch,) = plan_of("vectorized_older", problem_of(shape=[n])).launches
    assert (launch.grid, launch.block) == ((blocks, 1, 1), (128, 1, 1))


@pytest.mark.parametrize(("n", "blocks"), [(1025, 2), (1024, 1), (32768, 32)])
def test_the_worked_examples_of_the_newer_form(n: int, blocks: int) -> None:
    """Eight elements a thread, 1024 a block."""
    (launch,) = plan_of("vectorized", problem_of(shape=[n])).launches
    assert (launch.grid, launch.block) == ((blocks, 1, 1), (128, 1, 1))
    (bytes_launch,) = plan_of("vectorized", problem_of("uint8", shape=[n])).launches
    assert bytes_launch.grid == (-(-n // 2048), 1, 1)


@pytest.mark.parametrize(
    ("name", "dtype", "a_block"),
    [("casting", "float32", 512), ("casting", "float16", 512), ("strided", "float32", 256), ("strided", "int16", 512)],
)
@pytest.mark.parametrize("tiles", [1, 2])
def test_a_block_takes_so_many_elements(name: str, dtype: str, a_block: int, tiles: int) -> None:
    """128 threads with 4 elements where dtypes are cast; without a cast 2 elements of 4 bytes or more, 4 of fewer."""
    for more in (0, 1):
        (launch,) = plan_of(name, problem_of(dtype, shape=[tiles * a_block + more])).launches
        assert (launch.grid, launch.block) == ((tiles + more, 1, 1), (128, 1, 1))


@pytest.mark.parametrize("n", [1025, 32768])
@pytest.mark.parametrize("offset", [0, 1, 2, 4])
def test_the_worked_examples_are_right_at_every_width(n: int, offset: int) -> None:
    """On the simulator, which watches alignment: whole tiles and the last element, for pointers of every alignment."""
    problem = problem_of(inputs=[{"shape": [n]}, {"shape": [n], "layout": {"offset": offset}}])
    right = output(problem, plan_of("unrolled", problem))
    assert verdict(problem, plan_of("unrolled", problem)).ok
    for name in OWN:
        found = variant("elementwise", name)
        if refusal(found, problem, DEVICE) is None:
            assert (output(problem, planned(found, problem, DEVICE), "random:7") == right).all(), name


# --- which kernel takes what ---


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"shape": [1000]}, "vectorized 4 8"),
        ({"shape": [10, 100], "dtype": "float16"}, "vectorized 8 8"),
        ({"shape": [10, 100], "dtype": "uint8"}, "vectorized 4 16"),
        ({"shape": [1000], "dtype": "complex128"}, "unrolled 8"),
        ({"shape": [1000], "layout": {"offset": 2}}, "vectorized 2 8"),
        ({"shape": [1000], "layout": {"offset": 1}}, "unrolled 8"),
        ({"shape": [10, 100], "layout": {"step": 2}}, "strided 2"),
        ({"shape": [10, 100], "layout": {"permute": [1, 0]}, "dtype": "int16"}, "strided 4"),
        ({"inputs": [{"shape": [10, 100]}, {"shape": [100]}]}, "strided 2"),
        ({"inputs": [{"shape": [1]}, {"shape": [1]}]}, "vectorized 4 8"),
        ({"inputs": [{"shape": [100]}, {"shape": [100], "dtype": "float16"}]}, "casting"),
        ({"inputs": [{"shape": [9, 100]}, {"shape": [100], "dtype": "int8"}]}, "casting_strided"),
        ({"shape": [100], "function": "copy", "out_dtype": "bfloat16"}, "casting"),
        ({"shape": [100], "function": "where"}, "vectorized 4 8"),
        ({"shape": [100], "function": "abs", "dtype": "complex64"}, "vectorized 4 8"),
    ],
)
def test_the_dispatch(params: dict[str, Any], expected: str) -> None:
    """Cast needed, then contiguous, then the width of the worst pointer."""
    assert kernels("auto_pytorch", problem_of(**params)) == [expected]


def test_large_tensors_are_cut() -> None:
    """Beyond 2^31 - 1 bytes there are several launches, whose pointers and counts follow each other."""
    problem = problem_of(function="copy", shape=[2**29 + 2])
    first, second = plan_of("auto_pytorch", problem).launches
    assert [launch.arguments[1] for launch in (first, second)] == [Value(struct.pack("<i", 2**28 + 1))] * 2
    assert first.arguments[0] == Pointer("y")
    assert second.arguments[0] == Pointer("y", 4 * (2**28 + 1))
    assert second.arguments[-1] == Pointer("a", 4 * (2**28 + 1))
    assert kernels("auto_pytorch", problem) == ["vectorized 4 8", "unrolled 8"]  # the second half is misaligned
    huge = problem_of("int8", function="neg", shape=[2**31 + 8])
    assert len(plan_of("strided", huge).launches) == 2
    assert len(plan_of("auto_pytorch", problem_of(function="copy", shape=[2**31], out_dtype="int8")).launches) == 4


def test_nothing_is_launched_for_nothing() -> None:
    """Empty results have no steps."""
    for name in OWN:
        found = variant("elementwise", name)
        problem = problem_of(shape=[3, 0])
        assert planned(found, problem, DEVICE).steps == ()


def test_what_a_variant_does_not_claim_it_refuses() -> None:
    """Each refusal names the reason."""

    def reason(name: str, **params: Any) -> str:
        found: str | None = refusal(variant("elementwise", name), problem_of(**params), DEVICE)
        assert found is not None
        return found

    mixed = {"inputs": [{"shape": [100]}, {"shape": [100], "dtype": "float16"}]}
    row = {"inputs": [{"shape": [10, 100]}, {"shape": [100]}]}
    for name in ("vectorized", "vectorized_older", "unrolled", "strided", "vectorized_4"):
        assert "cast is needed (output and operands are float32, float32, float16" in reason(name, **mixed)
    for name in ("vectorized", "vectorized_older", "unrolled", "vectorized_2"):
        assert "strided or broadcast" in reason(name, **row)
    assert "no vector of two" in reason("vectorized", shape=[100], layout={"offset": 1})
    assert "not aligned to 8" in reason("vectorized_8", shape=[100], layout={"offset": 4})
    assert "more than 32 bytes" in reason("vectorized_8", shape=[100], dtype="float64")
    assert "claims only copy, add, addcmul" in reason("vectorized_2", shape=[100], function="mul")


# --- what the kernels and the host must agree on ---


def test_the_dtypes_have_the_same_numbers_on_both_sides() -> None:
    """The enumeration in the header stands in the order of the host's table."""
    text = default_tree().read("include/gpubench/runtime_dtype.cuh")
    body = re.search(r"enum class Dtype : int \{(.*?)\};", text, re.DOTALL)
    assert body is not None
    assert tuple(re.findall(r"(\w+),", body[1])) == NAMES


@pytest.mark.parametrize("dtype", NAMES)
def test_plans_of_plain_cases_are_compiled_ahead(dtype: str) -> None:
    """The instances of each dtype hold what `add` of aligned contiguous and of broadcast operands launches."""
    known = {kernel for name in OWN for _, kernel in variant("elementwise", name).instances(dtype)}
    for params in ({"shape": [64]}, {"inputs": [{"shape": [3, 64]}, {"shape": [64]}]}):
        (launch,) = plan_of("auto_pytorch", problem_of(dtype, **params)).launches
        assert launch.kernel in known
