"""Random entries: the same cases for a seed everywhere, for good, within their bounds; mistakes at their place."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.cli import main
from gpubench.dtypes import dtype
from gpubench.errors import SuiteError
from gpubench.model import Case
from gpubench.operators import OPERATORS
from gpubench.suite.expand import Suite, expand, load_suites
from tests.suite.samples import cases_of, ids, mistake, mistakes, suite

PINNED = {
    "cumsum": "fb1507c818a998833196f07df66344a39a3d9b662343d0f8fb257efa7e0f3360",
    "sum": "ed00277e4a45f8ece4fcb482dc626590cab4d3f221307a2bd78678da76ec5c75",
    "elementwise": "5d9420e33cce1c5f21451681a78129e5725969836fda3cc431154e04926b9f19",
    "index_add": "7af732fec44fb195c0c9a7de9ab4c8b5489f5924ecda1f8724cf01530a06dbd6",
}
"""SHA-256 of 200 ids, one a line. A change here needs a new `GENERATOR`: users' seeds go on to name these cases."""


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_seed_names_the_same_cases_for_good(operator: str) -> None:
    """The ids of 200 cases, drawn with all defaults, are those of the first version of the generator."""
    found = "\n".join(ids(f"operator: {operator}, random: {{cases: 200}}"))
    assert hashlib.sha256(found.encode()).hexdigest() == PINNED[operator]


@pytest.mark.parametrize("operator", OPERATORS)
def test_cases_are_different_and_within_their_bounds(operator: str) -> None:
    """As many cases as asked for, all different, each taken by its operator, of a bounded size in memory."""
    limits = "elements: [1000, 50000], dims: [2, 3], memory: 400000"
    found = cases_of(f"operator: {operator}, random: {{cases: 150, seed: 3, {limits}}}")
    assert len({case.id for case in found}) == 150
    for case in found:
        operands = OPERATORS[operator].problem(case).operands
        assert sum(operand.view.storage * dtype(operand.dtype).itemsize for operand in operands) <= 400_000
        largest = max(math.prod(operand.view.shape) for operand in operands)
        assert 1000 <= largest <= 50_000
        assert max(len(operand.view.shape) for operand in operands) in (2, 3)


def test_more_cases_begin_with_the_same_ones() -> None:
    """The first cases do not depend on how many are asked for, nor on another entry of the suite."""
    few = ids("operator: sum, random: {cases: 10, seed: 5}")
    assert ids("operator: sum, random: {cases: 40, seed: 5}")[:10] == few
    both = suite("  - {operator: cumsum, random: {cases: 9}}\n  - {operator: sum, random: {cases: 10, seed: 5}}\n")
    assert [case.id for case in both.cases[9:]] == few
    assert ids("operator: sum, random: {cases: 10, seed: 6}") != few


def test_equal_entries_go_on_where_the_first_ended() -> None:
    """A case that is there already is passed over, so that no case comes twice."""
    entry = "  - {operator: sum, random: {cases: 10}}\n"
    assert [case.id for case in suite(entry * 2).cases] == ids("operator: sum, random: {cases: 20}")


def test_keys_beside_random_are_what_is_chosen_from() -> None:
    """Each case takes one value of every key, `zip` in lockstep; what else is drawn stays as it was."""
    free = cases_of("operator: index_add, random: {cases: 60}")
    bound = cases_of("operator: index_add, random: {cases: 60}, pattern: [sorted, {below: 1}], dtype: [f16, int8]")
    assert {json.dumps(case.params["pattern"]) for case in bound} == {'"sorted"', '{"below": 1}'}
    assert {case.dtype for case in bound} == {"float16", "int8"}
    shapes = {json.dumps(case.params["shape"]) for case in free}
    assert len(shapes & {json.dumps(case.params["shape"]) for case in bound}) > 40
    zipped = cases_of("operator: cumsum, random: {cases: 20}, zip: {dtype: [int8, float64], seed: [4, 5]}")
    assert {(case.dtype, case.seed) for case in zipped} == {("int8", 4), ("float64", 5)}


def test_a_shape_of_ones_own_leaves_the_rest_to_chance() -> None:
    """Of given shapes the dims, dtypes and layouts are drawn, by a variable too."""
    found = cases_of('operator: cumsum, random: {cases: 30}, shape: [["{n}", 8], [3, 5, 7]], n: [16, 32]')
    assert {tuple(case.params["shape"]) for case in found} == {(16, 8), (32, 8), (3, 5, 7)}
    assert {case.params["dim"] for case in found} == {0, 1, 2}


def test_defaults_of_the_suite_hold_for_random_entries() -> None:
    """A default dtype, contenders and timing apply; without one every dtype of the operator is drawn."""
    head = "defaults: {dtype: [int8, int16], contenders: [numpy], timing: {rounds: 7}}"
    found = cases_of("operator: cumsum, random: {cases: 20}", head)
    assert {case.dtype for case in found} == {"int8", "int16"}
    assert {(case.contenders, case.timing.rounds) for case in found} == {(("numpy",), 7)}
    assert {case.dtype for case in cases_of("operator: cumsum, random: {cases: 150}")} == {*OPERATORS["cumsum"].dtypes}


def layouts(cases: tuple[Case, ...]) -> Counter[str]:
    """Count the kinds of layout."""
    return Counter(
        next((key for key, value in case.params["layout"].items() if value not in (None, 1, [], 0)), "contiguous")
        for case in cases
    )


def test_shares_are_what_the_suite_says() -> None:
    """Layouts and friendly sizes come as often as their shares say; a kind without a share never."""
    shares = "contiguous: 1, misaligned: 1, stepped: 1, broadcast: 1"
    found = layouts(cases_of(f"operator: cumsum, random: {{cases: 400, dims: [2, 3], layouts: {{{shares}}}}}"))
    assert {*found} == {"contiguous", "offset", "step", "expand"}
    assert all(70 <= count <= 130 for count in found.values())
    wild, tame = (
        sum(
            size % 2 == 1
            for case in cases_of(f"operator: sum, random: {{cases: 100, friendly: {share}}}")
            for size in case.params["shape"]
            if size > 1
        )
        for share in (0, 1)
    )
    assert tame < 10 < 80 < wild


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**62), st.integers(1, 2**20), st.integers(0, 2**20), st.integers(1, 8), st.integers(0, 7))
def test_any_bounds_are_kept_or_refused_with_a_sentence(seed: int, low: int, more: int, dims: int, up: int) -> None:
    """Whatever the bounds, cases lie within them, or one mistake says that they cannot be met."""
    bounds = f"seed: {seed}, elements: [{low}, {low + more}], dims: [{dims}, {min(dims + up, 8)}]"
    text = f"name: t\ncases:\n  - {{operator: sum, random: {{cases: 3, {bounds}}}}}\n"
    cases: tuple[Case, ...] = ()
    with contextlib.suppress(SuiteError):
        cases = expand(text.encode(), "t").cases
    assert len(cases) == 3 or mistakes(text)[0].count("3 cases wanted") == 1
    assert all(low <= math.prod(case.params["shape"]) <= low + more for case in cases)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("operator: sum, random: {}", "4:29: cases[0].random: the key cases is missing"),
        ("operator: sum, random: {cases: 2, seeds: 1}", "no key 'seeds' here. Did you mean seed?"),
        ("operator: sum, random: {cases: 2, dims: [3, 2]}", "cases[0].random.dims: the least, 3, is above the most, 2"),
        ("operator: sum, random: {cases: 2, layouts: {diagonal: 1}}", "random.layouts.diagonal: there is no key"),
        ("operator: sum, random: {cases: 2, friendly: 1.5}", "allowed is a number from 0 to 1"),
        ("operator: sum, random: [2]", "found a list of 1; allowed is a mapping"),
        ("operator: sum, random: {cases: 2, dims: [1, 1]}, dim: 4", "cases[0].dim: 2 cases wanted, 0 found"),
        ("operator: sum, random: {cases: 9, dims: [0, 0]}, dtype: int8", "5 found; refused, among others"),
        ("operator: sum, random: {cases: 2}, fun: 1", "there is no key 'fun' here"),
        ("operator: sum, random: {cases: 30000}", "from 1 to 20000"),
    ],
)
def test_mistakes_name_their_place(entry: str, told: str) -> None:
    """A wrong random entry is one mistake, with its place and what is allowed."""
    assert told in mistake(entry)


def test_an_entry_of_the_command_line_is_drawn_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--seed` draws other cases, the same ones each time; the suite's identity says which were drawn."""
    file = tmp_path / "random.yaml"
    file.write_text("name: r\ncases:\n  - {operator: cumsum, random: {cases: 4, seed: 9}}\n")

    def listed(*more: str) -> list[str]:
        assert main(["list", str(file), "--json", *more]) == 0
        return [row["id"] for row in json.loads(capsys.readouterr().out)]

    own = listed()
    assert listed("--seed", "10") == listed("--seed", "10") != own
    assert listed("--seed", "9") == own

    def drawn(seed: int | None) -> Suite:
        return load_suites([str(file)], seed)

    assert drawn(None).identity["random"] == {"generator": 1, "seeds": [9]}
    assert drawn(10).identity["random"] == {"generator": 1, "seeds": [10]}
    assert "random" not in load_suites(["smoke"], 10).identity
