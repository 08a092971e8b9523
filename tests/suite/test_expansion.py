"""Expansion: a suite stands for exactly the cases that its axes, ranges, defaults and layouts say."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.dtypes import canonical
from gpubench.errors import SuiteError, UsageError
from gpubench.model import TimingOptions
from gpubench.operators import OPERATORS
from gpubench.suite.expand import expand, load_suite, load_suites
from tests.suite.samples import cases_of, ids, mistake, suite


def test_axes_multiply_with_the_last_fastest() -> None:
    """Every list where one value is expected is an axis; defaults come last."""
    found = ids("operator: cumsum, shape: [[4, 8], [6, 2]], dim: [0, 1]", "defaults: {dtype: [float32, int8]}")
    assert found == [
        f"cumsum/{shape}/dim={dim}/{dtype}"
        for shape in ("4x8", "6x2")
        for dim in (0, 1)
        for dtype in ("float32", "int8")
    ]


def test_zip_goes_in_lockstep() -> None:
    """Axes under zip change together, and multiply with the others."""
    found = ids("operator: sum, zip: {shape: [[4, 8], [2, 3, 5]], dim: [[1], [0, 2]]}, dtype: [float32, int8]")
    assert found == [f"sum/{case}/{dtype}" for case in ("4x8/dim=1", "2x3x5/dim=0,2") for dtype in ("float32", "int8")]


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        ("{pow2: [3, 9, 2]}", [8, 32, 128, 512]),
        ("{pow2: [3, 5]}", [8, 16, 32]),
        ("{range: [1, 10, 3]}", [1, 4, 7, 10]),
        ("{range: [5, 6]}", [5, 6]),
        ("{log: [1, 1000, 4]}", [1, 10, 100, 1000]),
        ("{log: [1, 3, 9]}", [1, 2, 3]),
        ("[7, 1e3]", [7, 1000]),
        ("12", [12]),
    ],
)
def test_ranges_hold_both_ends(written: str, numbers: list[int]) -> None:
    """Each way to write a range gives its numbers once each, in order."""
    found = [case.params["shape"] for case in cases_of(f'operator: cumsum, shape: ["{{n}}"], n: {written}')]
    assert found == [[number] for number in numbers]


@given(st.integers(1, 10**12), st.integers(0, 10**12), st.integers(2, 50))
def test_logarithmic_ranges_are_even_in_ratio(first: int, more: int, count: int) -> None:
    """The numbers rise from first to last, no gap being wider than the even ratio and its rounding."""
    last = first + more
    entry = f"operator: index_add, shape: [4], indices: {{log: [{first}, {last}, {count}]}}, layout: {{expand: [0]}}"
    try:
        found = [case.params["indices"] for case in cases_of(entry)]
    except SuiteError:  # sources beyond the size limit
        return
    assert found[0] == first
    assert found[-1] == last
    assert found == sorted(set(found))
    ratio = (last / first) ** (1 / (count - 1))
    assert all(after <= math.ceil((before + 0.5) * ratio + 0.5) for before, after in itertools.pairwise(found))


def test_a_list_that_is_a_value_stays_one() -> None:
    """A list of dims is one sum over them; a list of such lists is an axis. The same for inputs."""
    assert ids("operator: sum, shape: [2, 3], dim: [0, 1]") == ["sum/2x3/dim=all/float32"]
    assert len(ids("operator: sum, shape: [2, 3, 4], dim: [[0, 1], [2], []]")) == 3
    assert len(ids('operator: sum, shape: [2, 3], dim: ["all", [1], 0]')) == 3
    assert len(ids("operator: elementwise, function: add, inputs: [{shape: [4]}, {shape: [1]}]")) == 1
    two = "inputs: [[{shape: [4]}, {shape: [1]}], [{shape: [1]}, {shape: [4]}]]"
    assert len(ids(f"operator: elementwise, function: add, {two}")) == 2
    assert ids("operator: cumsum, shape: []") == ["cumsum/scalar/dim=0/float32"]
    assert len(ids("operator: cumsum, shape: [[], [3]]")) == 2


def test_placeholders_reach_every_whole_number() -> None:
    """Variables stand in shapes, nested inputs, layouts, patterns and plain fields, and multiply like axes."""
    inputs = 'inputs: [{shape: ["{n}", 3], layout: {offset: "{k}"}}]'
    entry = f"operator: elementwise, function: copy, {inputs}, n: [2, 4], k: [1, 5]"
    layouts = [(spec["shape"], spec["layout"]["offset"]) for case in cases_of(entry) for spec in case.params["inputs"]]
    assert layouts == [([2, 3], 1), ([2, 3], 5), ([4, 3], 1), ([4, 3], 5)]
    [case] = cases_of('operator: index_add, shape: ["{n}"], indices: "{n}", pattern: {below: "{n}"}, n: 64')
    assert (case.params["indices"], case.params["pattern"]) == (64, {"below": 64})
    zipped = ids('operator: sum, shape: ["{n}", "{m}"], zip: {n: [2, 3], m: [5, 7]}')
    assert zipped == ["sum/2x5/dim=all/float32", "sum/3x7/dim=all/float32"]


@pytest.mark.parametrize(
    ("written", "strides", "offset"),
    [
        ("contiguous", (20, 5, 1), 0),
        ("transposed", (20, 1, 4), 0),
        ("{permute: [2, 0, 1]}", (4, 1, 12), 0),
        ("{permute: [-1, 0, 1]}", (4, 1, 12), 0),
        ("{step: 3}", (60, 15, 3), 0),
        ("{expand: [0]}", (0, 5, 1), 0),
        ("{offset: 7}", (20, 5, 1), 7),
        ("{permute: [0, 2, 1], step: 2, offset: 1, expand: [0]}", (0, 2, 8), 1),
    ],
)
def test_layouts_become_strides(written: str, strides: tuple[int, ...], offset: int) -> None:
    """Each layout of a suite gives the operand the strides that its words promise."""
    [case] = cases_of(f"operator: sum, shape: [3, 4, 5], dim: 1, layout: {written}")
    view = OPERATORS["sum"].problem(case).operand("x").view
    assert (view.strides, view.offset) == (strides, offset)


def test_transposed_goes_with_the_nearest_shape() -> None:
    """Each operand's own shape decides; an axis of shapes of several dims takes it too."""
    entry = "operator: elementwise, function: add, inputs: [{shape: [2, 3, 4], layout: transposed}, {shape: [3, 4]}]"
    [case] = cases_of(entry)
    assert case.params["inputs"][0]["layout"]["permute"] == [0, 2, 1]
    found = [
        case.params["layout"]["permute"]
        for case in cases_of("operator: sum, shape: [[4, 5], [2, 4, 5]], layout: transposed")
    ]
    assert found == [[1, 0], [0, 2, 1]]


def test_defaults_yield_to_the_case() -> None:
    """A case's own key replaces the default of that name; timing is replaced key by key."""
    head = "defaults: {dtype: [int8, int16], input: uniform, seed: 3, timing: {rounds: 2, method: hot}, timeout: 9}"
    own, plain = suite(
        "  - {operator: sum, shape: [4], dtype: float32, seed: 1, input: normal, timing: {rounds: 5}, timeout: 2.5}\n"
        "  - {operator: sum, shape: [4], dtype: int64}\n",
        head,
    ).cases
    assert own.id == "sum/4/dim=all/float32"
    assert own.timing == TimingOptions(rounds=5, method="hot", timeout_s=2.5)
    assert plain.id == "sum/4/dim=all/int64/input=uniform/seed=3"
    assert plain.timing == TimingOptions(rounds=2, method="hot", timeout_s=9.0)


def test_ids_name_what_is_not_usual() -> None:
    """Distribution and seed are in the id when they are not normal and 1, so that cases never share one."""
    found = ids("operator: sum, shape: [4], input: [normal, with_nonfinite], seed: {range: [1, 2]}")
    assert found == [
        "sum/4/dim=all/float32",
        "sum/4/dim=all/float32/seed=2",
        "sum/4/dim=all/float32/input=with_nonfinite",
        "sum/4/dim=all/float32/input=with_nonfinite/seed=2",
    ]


def test_params_are_what_the_operator_reads_back() -> None:
    """The plain JSON in a case parses to the normalised dataclass and survives JSON."""
    import json

    for case in load_suite("smoke").cases:
        operator = OPERATORS[case.operator]
        params = operator.parse(json.loads(json.dumps(case.params)))
        assert operator.normalise(params, case.dtype) == params
        assert case.id.startswith(operator.label(params, case.dtype))


def test_contenders_and_peers() -> None:
    """Patterns stand for variants; the peers of the suite and of the case come after the contenders, once each."""
    variants = [f"gpubench:{variant.name}" for variant in OPERATORS["sum"].variants]
    [case] = cases_of(
        'operator: sum, shape: [4], contenders: ["gpubench:*", numpy], peers: [cupy, torch]', "peers: [torch]"
    )
    assert list(case.contenders) == [*variants, "numpy", "torch", "cupy"]
    [case] = cases_of("operator: sum, shape: [4]")
    assert case.contenders == ("gpubench:auto", "numpy")
    [case] = cases_of("operator: sum, shape: [4]", "defaults: {contenders: [gpubench:naive]}\npeers: [torch]")
    assert case.contenders == ("gpubench:naive", "torch")


def test_unsupported_cases_stay() -> None:
    """A dtype that a function has no meaning for is a case like any other; the run says why it is unsupported."""
    assert ids("operator: elementwise, function: maximum, shape: [4], dtype: [float32, complex64]") == [
        "elementwise/maximum/4/float32",
        "elementwise/maximum/4/complex64",
    ]


def test_equal_cases_are_a_mistake_naming_both_lines() -> None:
    """The same case twice is refused, whether from two entries or from one axis."""
    with pytest.raises(SuiteError, match=r"test.yaml:5:5: cases\[1\]: the case sum/4/dim=all/float32 .* from line 4"):
        suite("  - {operator: sum, shape: [4]}\n  - {operator: sum, shape: [4], dim: 0}\n")
    assert "is there already, from line 4" in mistake("operator: sum, shape: [[4], [4]]")


def test_a_suite_knows_its_file(tmp_path: Path) -> None:
    """Name, path and the hash of the exact bytes identify what was run."""
    data = b"name: mine\npeers: [torch]\ndescription: d\ncases: [{operator: sum, shape: [4]}]\n"
    file = tmp_path / "x.yaml"
    file.write_bytes(data)
    found = load_suite(file)
    assert (found.name, found.path, found.peers, found.description) == ("mine", str(file), ("torch",), "d")
    assert found.sha256 == hashlib.sha256(data).hexdigest()
    assert found == expand(data, str(file))


def test_several_suites_are_one(tmp_path: Path) -> None:
    """Equal cases of several files stand once; those that differ are refused; all files' mistakes come at once."""
    entry = "{operator: sum, shape: [4]}"
    for name, text in (
        ("a", f"name: a\ncases: [{entry}]"),
        ("b", f"name: b\ncases: [{entry}, {{operator: sum, shape: [5]}}]"),
        ("c", f"name: c\ndefaults: {{timeout: 1}}\ncases: [{entry}]"),
        ("d", "name: [d]"),
        ("e", "name: e\ncases: 1"),
    ):
        (tmp_path / name).write_text(text)
    both = load_suites([str(tmp_path / "a"), str(tmp_path / "b")])
    assert (both.name, len(both.cases)) == ("a+b", 2)
    with pytest.raises(SuiteError, match="other contenders or timing"):
        load_suites([str(tmp_path / "a"), str(tmp_path / "c")])
    with pytest.raises(SuiteError) as caught:
        load_suites([str(tmp_path / "d"), str(tmp_path / "e")])
    assert len(caught.value.problems) == 3


def test_a_missing_suite_names_the_nearest() -> None:
    """A name that is neither a file nor a shipped suite is a usage error with a hint."""
    with pytest.raises(UsageError, match="Did you mean smoke"):
        load_suite("smok")
    with pytest.raises(UsageError, match="is a folder"):
        load_suite("/")
    with pytest.raises(UsageError, match="no suite file"):
        load_suite("x" * 5000)
    with pytest.raises(UsageError, match="no suite file"):
        load_suite("a\0b")


@pytest.mark.parametrize(
    "written",
    [
        "operator: cumsum, shape: [4], dtype: {bf16}",
        "operator: elementwise, function: copy, shape: [4], dtype: {fp32}, out_dtype: {i32}",
        "operator: elementwise, function: add, inputs: [{shape: [4], dtype: {fp16}}, {shape: [4], dtype: {u8}}]",
        "operator: index_add, shape: [4], indices: 2, index_dtype: {i32}, dtype: {c64}",
    ],
)
def test_short_names_of_dtypes_are_the_same_cases(written: str) -> None:
    """An alias wherever a dtype stands gives the very case of the long name, so that ids know one name each."""
    short = re.sub(r"\{(\w+)\}", r"\1", written)
    long = re.sub(r"\{(\w+)\}", lambda found: canonical(found[1]), written)
    assert short != long
    assert cases_of(short) == cases_of(long)
