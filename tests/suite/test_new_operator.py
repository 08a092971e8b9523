"""A new operator: its dataclass alone says what a suite may write; nothing under suite/ knows operators by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from gpubench.layout import Layout
from gpubench.model import Case, Problem
from gpubench.operators import OPERATORS
from gpubench.operators.parameters import from_json
from gpubench.suite import schema
from gpubench.suite.annotations import yaml_type
from gpubench.suite.json_schema import json_schema
from tests.suite.samples import cases_of, mistake

PLAIN = Layout()


@dataclass(frozen=True, slots=True)
class Window:
    """A nested mapping."""

    size: int
    layout: Layout = PLAIN


@dataclass(frozen=True, slots=True)
class PoolParams:
    """Parameters of every kind that may be annotated."""

    shape: tuple[int, ...]
    windows: tuple[Window, ...]
    mode: Literal["mean", "max"] = "max"
    scale: float = 1.0
    exact: bool = False
    note: str | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    pad: int | Literal["same"] = 0


class Pool:
    """As much of an operator as a suite needs."""

    name = "pool"
    params = PoolParams
    dtypes = ("float32",)
    variants = ()

    def parse(self, params: Mapping[str, Any]) -> PoolParams:
        """Read plain JSON."""
        return from_json(PoolParams, params)

    def normalise(self, params: PoolParams, dtype: str) -> PoolParams:
        """Return the params."""
        del dtype
        return params

    def label(self, params: PoolParams, dtype: str) -> str:
        """Return an id."""
        return f"pool/{params}/{dtype}"

    def problem(self, case: Case) -> Problem[PoolParams]:
        """Return a problem without operands."""
        return Problem(case, self.parse(case.params), (), 0, 0)


@pytest.fixture(autouse=True)
def _with_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPERATORS, "pool", Pool())
    schema.keys_of.cache_clear()


def test_its_dataclass_is_its_syntax() -> None:
    """Nested mappings, words, numbers, unions and layouts are read, with axes, placeholders and defaults."""
    found = cases_of(
        'operator: pool, shape: [4, 5], windows: [{size: "{k}", layout: transposed}], k: [2, 3], mode: [mean, max], '
        "scale: 1e-1, note: hello, weights: {a: 1}, pad: [same, 3]"
    )
    assert len(found) == 8
    params = Pool().parse(found[0].params)
    assert params == PoolParams(
        (4, 5), (Window(2, Layout(permute=(1, 0))),), "mean", 0.1, False, "hello", {"a": 1.0}, "same"
    )


def test_its_mistakes_are_told_as_well() -> None:
    """Wrong keys and values inside it get places and hints like everyone's."""
    assert "Did you mean size?" in mistake("operator: pool, shape: [4], windows: [{size: 1, siez: 2}]")
    assert "Did you mean mean?" in mistake("operator: pool, shape: [4], windows: [], mode: maen")
    assert "allowed: same, or a number" in mistake("operator: pool, shape: [4], windows: [], pad: x")


def test_it_is_in_the_json_schema() -> None:
    """Editors learn of it too."""
    assert "pool" in json_schema()["$defs"]


def test_an_annotation_that_yaml_cannot_express_is_an_error_of_the_operator() -> None:
    """A type without a YAML form is refused when the operator is used first, not read in some surprising way."""
    with pytest.raises(TypeError, match="cannot express"):
        yaml_type(bytes)
