"""What can be tuned: the regimes of operators and of kernels that suites bring, and which one a problem is in."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpubench.errors import UnsupportedError
from gpubench.model import DeviceInfo, Problem
from gpubench.names import own
from gpubench.operators.base import Operator
from gpubench.operators.constants import Constant, Regime, Value, text_of
from gpubench.own.definitions import Kernel
from gpubench.own.expression import Expression, ExpressionError, read
from gpubench.own.plan import names_of_problem

_WORDS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
EVERYWHERE = "all"
"""The regime of a kernel that names none."""


def subject_of(operator: Operator[Any], kernel: Kernel | None = None) -> str:
    """Return what an entry of a tuning is about: an operator's `auto`, or a kernel that a suite brings."""
    return operator.name if kernel is None else own(kernel.name)


def regimes_of(operator: Operator[Any] | None, kernel: Kernel | None = None) -> tuple[Regime, ...]:
    """Return the regimes of an operator, or of a kernel that a suite brings: none where nothing can be tuned."""
    if kernel is None:
        return () if operator is None else operator.regimes
    if not kernel.tune:
        return ()
    constants = tuple(Constant(name, kernel.constants[name], tuple(values)) for name, values in kernel.tune.items())
    listed = {**kernel.regimes, EVERYWHERE: "1"}
    return tuple(Regime(name, when, (kernel.name,), constants, kernel.constraints) for name, when in listed.items())


def with_constants(kernel: Kernel, values: Mapping[str, Value]) -> Kernel:
    """Return a suite's kernel with these constants."""
    whole = {name: value for name, value in values.items() if isinstance(value, int)}
    return replace(kernel, constants={**kernel.constants, **whole})


def constants_of(regimes: Iterable[Regime]) -> dict[str, Constant]:
    """Return every constant of these regimes, by name, with all its candidates."""
    found: dict[str, Constant] = {}
    for constant in (constant for regime in regimes for constant in regime.tune):
        before = found.get(constant.name)
        found[constant.name] = (
            constant
            if before is None
            else Constant(constant.name, constant.shipped, (*before.others, *constant.others))
        )
    return found


def require_candidates(values: Mapping[str, Value], regimes: Sequence[Regime], subject: str) -> None:
    """UnsupportedError, naming those that there are, for a constant or a value that is not declared.

    A suite may come from anybody: values that nobody declared could ask for tiles that no kernel was made for.
    """
    known = constants_of(regimes)
    for name, value in values.items():
        if name not in known:
            raise UnsupportedError(f"{subject} has no constant {name}; it has {', '.join(known) or 'none'}")
        if value not in known[name].candidates:
            allowed = ", ".join(map(text_of, known[name].candidates))
            raise UnsupportedError(f"{name} of {subject} may be {allowed}, not {text_of(value)}")


def regime_of(
    regimes: Sequence[Regime], operator: Operator[Any], problem: Problem[Any], device: DeviceInfo
) -> Regime | None:
    """Return the first regime whose `when` holds, None where none does or what it asks has no value."""
    if not regimes:
        return None
    names = names_of_problem(operator, problem, device)
    return next((regime for regime in regimes if holds(regime.when, names)), None)


def holds(text: str, names: Mapping[str, Value | str]) -> bool:
    """Tell whether a condition holds; one that has no value in a case (a division by zero, say) does not."""
    try:
        return bool(_read(text, frozenset(names)).value(names))  # type: ignore[arg-type] # shapes are not among these
    except ExpressionError:
        return False


def allows(text: str, names: Mapping[str, Value | str]) -> bool:
    """Tell whether a constraint lets names through. One that names a constant without a value says nothing of it."""
    expression = _read(text, frozenset((*names, *_WORDS.findall(text))))
    return not expression.names() <= set(names) or holds(text, names)


@functools.lru_cache(maxsize=4096)
def _read(text: str, names: frozenset[str]) -> Expression:
    return read(text, names)


def names_in(constants: Mapping[str, Value]) -> dict[str, int | float]:
    """Return constants as expressions see them: those of several numbers as NAME_0, NAME_1 ...; without None."""
    found: dict[str, int | float] = {}
    for name, value in constants.items():
        if isinstance(value, tuple):
            found |= {f"{name}_{place}": part for place, part in enumerate(value)}
        elif value is not None:
            found[name] = value
    return found
