"""Cases for the operators' tests: from what a suite would write to problem, inputs and whole reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from hypothesis import strategies as st

from gpubench.layout import Layout
from gpubench.model import Case, DeviceInfo, Distribution, Plan, Problem, Refused
from gpubench.operators import OPERATORS, hard
from gpubench.operators.base import Reference, Variant

Array = np.ndarray[Any, np.dtype[Any]]

DEVICE = DeviceInfo("fake", "fake", (9, 0), 132, 50 << 20, 1 << 37, 227 << 10)


def make_case(operator: str, dtype: str, distribution: str = "normal", seed: int = 1, **params: Any) -> Case:
    """Return the case of these params, normalised as the suite reader does."""
    return hard.make_case(OPERATORS[operator], dtype, params, cast("Distribution", distribution), seed)


def prepare(case: Case) -> tuple[Problem[Any], dict[str, Array]]:
    """Return the problem and its inputs."""
    problem = OPERATORS[case.operator].problem(case)
    return problem, OPERATORS[case.operator].inputs(problem)


def planned(variant: Variant, problem: Problem[Any], device: DeviceInfo = DEVICE) -> Plan:
    """Return the plan of a variant that takes the problem."""
    plan = variant.plan(problem, device)
    assert isinstance(plan, Plan), plan
    return plan


def refusal(variant: Variant, problem: Problem[Any], device: DeviceInfo = DEVICE) -> str | None:
    """Return why a variant does not take the problem; None when it does."""
    plan = variant.plan(problem, device)
    return plan.reason if isinstance(plan, Refused) else None


def auto(problem: Problem[Any], device: DeviceInfo = DEVICE) -> Variant:
    """Return the variant that `gpubench:auto` stands for."""
    operator = OPERATORS[problem.case.operator]
    plan = operator.choose(problem, device)
    assert isinstance(plan, Plan), plan
    return next(variant for variant in operator.variants if variant.name == plan.variant)


def logical(problem: Problem[Any], inputs: Mapping[str, Array], name: str) -> Array:
    """Return an operand's logical array."""
    return problem.operand(name).view.of(inputs[name])


def whole(reference: Reference) -> tuple[Array, Array | None]:
    """Return all of a reference's values and magnitudes, having seen that the blocks cover the output in order."""
    values, sizes, at = [], [], 0
    for place, value, magnitude in reference.blocks():
        assert place.start == at
        assert value.shape == (place.stop - place.start,)
        at = place.stop
        values.append(value)
        if magnitude is not None:
            assert magnitude.shape == value.shape
            sizes.append(magnitude)
    joined = np.concatenate(values) if values else np.zeros(0)
    return joined, np.concatenate(sizes) if sizes else None


def shapes(dims: int = 4, size: int = 5) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes with few elements, also empty, scalar and of size 1."""
    return st.lists(st.integers(0, size), max_size=dims).map(tuple)


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...], expand: bool = True) -> Layout:
    """Layouts that fit a shape."""
    dims = range(len(shape))
    return Layout(
        tuple(draw(st.permutations(list(dims)))) if draw(st.booleans()) else None,
        draw(st.integers(1, 3)),
        tuple(draw(st.sets(st.sampled_from(list(dims))))) if shape and expand and draw(st.booleans()) else (),
        draw(st.integers(0, 3)),
    )
