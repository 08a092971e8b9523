"""Running an index_add's plan on the host simulator, and what its tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpubench.measure.check import check
from gpubench.model import Plan, Problem, Refused
from gpubench.operators import OPERATORS
from gpubench.operators.index_add.form import Form, form_of
from tests.operators.cases import make_case
from tests.operators.on_host import outputs

INDEX_ADD = OPERATORS["index_add"]
PATTERNS = ("uniform", "zipf", "sorted", "same", "half_same", {"duplicates": 40}, {"out_of_range": 30})


def problem_of(
    shape: tuple[int, ...], indices: int | dict[str, str], dtype: str = "float32", **params: Any
) -> Problem[Any]:
    """Return an index_add's problem."""
    return INDEX_ADD.problem(make_case("index_add", dtype, shape=shape, indices=indices, **params))


def give_list(problem: Problem[Any], index: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Let the problem have this list in place of its own; return its inputs."""
    inputs: dict[str, Any] = dict(INDEX_ADD.inputs(problem))
    inputs["index"] = np.asarray(index, inputs["index"].dtype)
    monkeypatch.setattr(type(INDEX_ADD), "inputs", lambda _self, _problem: inputs)
    return inputs


def noted(plan: Plan | Refused, **notes: Any) -> Plan:
    """Return a plan that was made and has these notes."""
    assert isinstance(plan, Plan), plan
    assert notes.items() <= plan.notes.items(), dict(plan.notes)
    return plan


def answers(problem: Problem[Any], plan: Plan | Refused, schedule: str = "forward", stale: int = 0) -> list[bytes]:
    """Run a plan twice on one workspace, full of `stale` bytes at first; check each answer where it is defined."""
    assert isinstance(plan, Plan), plan
    inputs, found = INDEX_ADD.inputs(problem), []
    for output in outputs(problem, plan, 2, schedule, stale):
        if "out_of_range" in problem.case.id:
            np.testing.assert_allclose(output, without_wrong_ones(problem, inputs), rtol=1e-4, atol=1e-4)
        else:
            verdict = check(problem, INDEX_ADD.reference(problem, inputs), plan.accuracy, output)
            assert verdict.ok, (problem.case.id, plan.variant, dict(plan.notes), verdict.first_mismatch)
        found.append(np.ascontiguousarray(output).tobytes())
    return found


def without_wrong_ones(problem: Problem[Any], inputs: dict[str, Any]) -> Any:
    """Return numpy's sums over the indices that are inside the dim."""
    wanted = problem.operand("destination").view.of(inputs["destination"]).astype(np.float64)
    source, index = problem.operand("source").view.of(inputs["source"]), inputs["index"]
    inside = (index >= 0) & (index < wanted.shape[0])
    np.add.at(wanted, index[inside], source[inside])
    return wanted


def form(problem: Problem[Any]) -> Form:
    """Return the problem's form."""
    found = form_of(problem)
    assert isinstance(found, Form), found
    return found


def sums_of_those_inside(problem: Problem[Any], inputs: dict[str, Any]) -> Any:
    """Return the sums of rows whose indices are inside the dim, in the dtype."""
    wanted = problem.operand("destination").view.of(inputs["destination"]).copy()
    source, index = problem.operand("source").view.of(inputs["source"]), inputs["index"]
    inside = (index >= 0) & (index < wanted.shape[0])
    with np.errstate(all="ignore"):
        np.add.at(wanted, index[inside], source[inside])
    return wanted
