"""Constants that measurements chose, and regimes: the named regions of problems in which they may be chosen anew.

A rule reads a constant by `tuned("FEW_TERMS", tuning.FEW_TERMS)`: the shipped value, unless another is in force. What
is in force belongs to the making of one plan (`in_force`), so a plan still follows from its arguments alone. Each
operator's `tunable.py` says which constants there are, which values are worth a try, and where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

Value = int | float | tuple[int, ...] | None
"""A number, or several that belong together, such as a shape. None: the rule decides by itself."""

T = TypeVar("T")

_IN_FORCE: ContextVar[Mapping[str, Value]] = ContextVar("constants", default=MappingProxyType({}))

NOTHING = "none"

MOST_CONFIGURATIONS = 10_000
"""Of a regime, before constraints. A space that is larger is a mistake of who wrote it down."""


def tuned(name: str, shipped: T) -> T:
    """Return the value of a constant that is in force, the shipped one where none is."""
    found: Any = _IN_FORCE.get().get(name, shipped)
    return found  # type: ignore[no-any-return] # values in force are those of the constant of this name


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant that may be tuned: the shipped value, and others that are worth a try."""

    name: str
    shipped: Value
    others: tuple[Value, ...]

    @property
    def candidates(self) -> tuple[Value, ...]:
        """The shipped value, then the others."""
        return tuple(dict.fromkeys((self.shipped, *self.others)))


@dataclass(frozen=True, slots=True)
class Regime:
    """A named region of problems, and the constants that may have values of their own there.

    `when` and `constraints` are expressions (`own.expression`), as those of a kernel that a suite brings: of the names
    of the problem and of the device, constraints also of the constants; those of several numbers are `NAME_0`,
    `NAME_1` ... A problem belongs to the first regime of its operator whose `when` holds. `variants`: those that
    compete in it or read its constants.
    """

    name: str
    when: str
    variants: tuple[str, ...]
    tune: tuple[Constant, ...]
    constraints: tuple[str, ...] = ()


@contextmanager
def in_force(values: Mapping[str, Value]) -> Iterator[None]:
    """Let constants have these values, by name, while a plan is made in this context."""
    token = _IN_FORCE.set(values)
    try:
        yield
    finally:
        _IN_FORCE.reset(token)


# --- As texts --------------------------------------------------------------------------------------------------------

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_SEVERAL = re.compile(r"[0-9]{1,9}(?:x[0-9]{1,9})+")
_FRACTION = re.compile(r"-?[0-9]{1,18}\.[0-9]{1,18}")


def text_of(value: Value) -> str:
    """Return a value as names of contenders have it: `128`, `2.5`, `16x8`, `none`."""
    if value is None:
        return NOTHING
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def value_of(text: str) -> Value:
    """Return the value that `text_of` wrote. ValueError for anything else."""
    if text == NOTHING:
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    if _SEVERAL.fullmatch(text):
        return tuple(map(int, text.split("x")))
    if _FRACTION.fullmatch(text):
        return float(text)
    raise ValueError(f"{text[:40]!r} is no value of a constant: write 128, 2.5, 16x8 or {NOTHING}")


def texts_of(values: Mapping[str, Value]) -> str:
    """Return constants as the name of a contender has them: `FEW_THREADS=256+STAGED_GROUP=8192`."""
    return "+".join(f"{name}={text_of(value)}" for name, value in values.items())


def values_of(text: str) -> dict[str, Value]:
    """Return the constants that `texts_of` wrote. ValueError for anything else."""
    found: dict[str, Value] = {}
    for part in text.split("+"):
        name, equals, value = part.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,39}", name) or name in found:
            raise ValueError(f"{part[:40]!r} is no constant: write NAME=VALUE, several with + between them")
        found[name] = value_of(value)
    return found
