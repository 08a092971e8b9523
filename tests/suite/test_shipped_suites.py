"""The suites that come with gpubench: they expand, fit a card, and hold what they promise. Editors accept them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpubench.devices.host_info import LARGEST_ELEMENTS
from gpubench.dtypes import NAMES
from gpubench.operators import OPERATORS
from gpubench.suite.expand import expand, load_suite
from gpubench.suite.json_schema import json_schema
from gpubench.suite.listing import describe
from gpubench.suite.locate import shipped_suites
from gpubench.suite.read import parse
from gpubench.suite.schema import common_keys, operator_keys
from tests.suite.samples import mistakes

MOST_BYTES = 7e9


@pytest.fixture(scope="module")
def validator() -> Any:
    """Give the validator of the JSON Schema, which must itself be right."""
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema, allow_nan=False)) == schema
    return jsonschema.Draft202012Validator(schema)


def entry(text: str) -> Any:
    """Return a suite of one entry as plain data."""
    return parse(f"name: x\ncases: [{{{text}}}]".encode(), "f").data


@pytest.mark.parametrize("name", shipped_suites())
def test_cases_are_supported_and_fit(name: str) -> None:
    """Every case of a shipped suite is one that its operator takes, and moves no more than a card of 16 GB can hold."""
    for case in load_suite(name).cases:
        listing = describe(case)
        assert listing.unsupported is None, case.id
        assert (listing.bytes or 0) <= MOST_BYTES
        assert (listing.memory_bytes or 0) <= MOST_BYTES


@pytest.mark.parametrize("name", shipped_suites())
def test_the_schema_accepts_shipped_suites(name: str, validator: Any) -> None:
    """An editor that checks with the schema underlines nothing in them."""
    validator.validate(parse(shipped_suites()[name].read_bytes(), name).data)


def test_smoke_covers_everything_quickly() -> None:
    """The smoke suite has every variant of its operators, dtypes, kinds of layout, hard shapes, and no large case."""
    cases = load_suite("smoke").cases
    assert {case.operator for case in cases} >= {"cumsum", "sum", "elementwise", "index_add"}
    assert {case.dtype for case in cases} >= set(NAMES) - {"int8", "int16"}
    ids = " ".join(case.id for case in cases)
    assert all(f"{word}" in ids for word in ("permute", "step", "offset", "expand", "scalar", "nonfinite", "/0/"))
    named = {(case.operator, contender) for case in cases for contender in case.contenders}
    for name in {case.operator for case in cases}:
        assert {(name, f"gpubench:{variant.name}") for variant in OPERATORS[name].variants} <= named
    assert 40 <= len(cases) <= 80
    operands = [operand for case in cases for operand in OPERATORS[case.operator].problem(case).operands]
    assert max(operand.view.storage for operand in operands) <= LARGEST_ELEMENTS


def test_every_operator_has_its_suite() -> None:
    """For each operator there is a suite of its name with its cases only."""
    for name in OPERATORS:
        assert {case.operator for case in load_suite(name).cases} == {name}


def test_the_suite_for_peers_has_the_measured_cases() -> None:
    """The cases measured against other libraries: 46, all in the suites of their operators but for contenders."""
    cases = load_suite("peers").cases
    assert len(cases) == 46
    elsewhere = {case.id for name in OPERATORS for case in load_suite(name).cases}
    assert {case.id for case in cases} - elsewhere == set()


@pytest.mark.parametrize(
    "text",
    [
        "operator: sum, shape: [4, 5], dim: [[0], [1]], dtype: [int8, float32]",
        "operator: sum, shape: [[4, 5], [6]], dim: all, keepdim: [true, false]",
        'operator: cumsum, shape: ["{n}"], n: {pow2: [1, 4]}, seed: {range: [1, 3]}',
        "operator: sum, zip: {shape: [[1], [2]], dim: [0, [0]]}",
        "operator: cumsum, shape: [4, 5], layout: [transposed, {step: 2}], timing: {rounds: 2}, timeout: 5",
        "operator: elementwise, function: [add, mul], inputs: [[{shape: [4]}, {shape: []}]]",
        "operator: index_add, shape: [4], indices: [1, 2], pattern: [zipf, {below: 3}], peers: [torch]",
    ],
)
def test_the_schema_accepts_every_way_to_write(text: str, validator: Any) -> None:
    """Axes, ranges, zip, variables, layouts and patterns are known to editors."""
    validator.validate(entry(text))


@pytest.mark.parametrize(
    "text",
    [
        "shape: [4]",
        "operator: smu, shape: [4]",
        "operator: sum",
        "operator: sum, shape: [4], dtype: float23",
        "operator: sum, shape: [4], layout: transpose",
        "operator: sum, shape: [4], layuot: transposed",
        "operator: sum, shape: [4], keepdim: yes",
        "operator: sum, shape: [4], timing: {ronds: 2}",
        "operator: index_add, shape: [4], indices: 3, pattern: {belwo: 3}",
        "operator: elementwise, function: ad, shape: [4]",
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(text: str, validator: Any) -> None:
    """Common slips are wrong for both, so that the editor shows them while typing."""
    assert not validator.is_valid(entry(text))
    assert mistakes(f"name: x\ncases: [{{{text}}}]")


def test_the_documented_example_is_a_suite(validator: Any) -> None:
    """What docs/suites.md shows first can be copied, and its table names every key that there is."""
    guide = (Path(__file__).parents[2] / "docs" / "suites.md").read_text("utf-8")
    example = guide.split("```yaml\n")[1].split("```")[0]
    validator.validate(parse(example.encode(), "f").data)
    assert len(expand(example.encode(), "f").cases) == 4 + 20 + 4 + 2 + 2
    keys = {*common_keys(), *(key for name in OPERATORS for key in operator_keys(name))}
    assert {key for key in keys if f"`{key}`" not in guide} == set()
    assert "`gpubench list --functions`" in guide  # which cannot forget one
