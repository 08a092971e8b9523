"""What each variant would do for a case: its launches and the configuration that its rule chose, without running it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpubench.errors import UnsupportedError, UsageError
from gpubench.model import Case, DeviceInfo, Json, Memset, Refused
from gpubench.names import AUTO, contender_of
from gpubench.operators import operator as find_operator
from gpubench.suite.expand import load_suite
from gpubench.suite.locate import shipped_suites

ASSUMED = DeviceInfo(
    kind="cuda",
    name="NVIDIA H200",
    compute_capability=(9, 0),
    sm_count=132,
    l2_bytes=60 << 20,
    memory_bytes=141 << 30,
    max_shared_bytes=227 << 10,
)
"""The GPU that plans are made for where there is none."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One variant's plan. `refused` is the reason where it does not take the case, `auto` whether it is the default."""

    contender: str
    auto: bool
    refused: str | None = None
    steps: tuple[dict[str, Json], ...] = ()
    workspace_bytes: int = 0
    notes: dict[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON."""
        return {
            "contender": self.contender,
            "auto": self.auto,
            "refused": self.refused,
            "steps": list(self.steps),
            "workspace_bytes": self.workspace_bytes,
            "notes": self.notes,
        }


def find(case_id: str, suites: Sequence[str], seed: int | None = None) -> Case:
    """Return the case of this id in the suites, or in all shipped ones; UsageError, with near ids, for none.

    seed: of random entries, in place of their own.
    """
    names: Iterable[str] = suites or shipped_suites()
    seen: dict[str, Case] = {}
    for name in names:
        for case in load_suite(name, seed).cases:
            seen.setdefault(case.id, case)
            if case.id == case_id:
                return case
    near = difflib.get_close_matches(case_id, seen, n=3, cutoff=0.5)
    hint = f" The nearest: {', '.join(near)}." if near else ""
    where = ", ".join(suites) if suites else "the shipped suites"
    raise UsageError(f"There is no case {case_id[:200]!r} in {where}.{hint} `gpubench list SUITE` shows the ids.")


def explain(case: Case, device: DeviceInfo, names: Sequence[str] = ()) -> list[Explanation]:
    """Return what every variant of the case's operator plans on this device, those called `names` only when given.

    UsageError for a case that its operator does not take, or when no variant has one of the names.
    """
    operator = find_operator(case.operator)
    try:
        problem = operator.problem(case)
    except UnsupportedError as error:
        raise UsageError(f"{case.id}: {error}") from None
    picked = operator.choose(problem, device)
    found = []
    for variant in operator.variants:
        contender = contender_of(variant.name)
        auto = not isinstance(picked, Refused) and picked.variant == variant.name
        if names and contender not in names and not (AUTO in names and auto):
            continue
        plan = variant.plan(problem, device)
        if isinstance(plan, Refused):
            found.append(Explanation(contender, auto, plan.reason))
        else:
            steps = tuple(map(_step, plan.steps))
            found.append(Explanation(contender, auto, None, steps, plan.workspace_bytes, dict(plan.notes)))
    if not found:
        known = ", ".join(contender_of(variant.name) for variant in operator.variants)
        raise UsageError(f"{case.operator} has none of {', '.join(names)}; it has {known}.")
    return found


def _step(step: Any) -> dict[str, Json]:
    if isinstance(step, Memset):
        return {"memset_bytes": step.size, "value": step.value}
    return {
        "kernel": step.kernel,
        "grid": list(step.grid),
        "block": list(step.block),
        "dynamic_shared_bytes": step.shared_bytes,
    }
