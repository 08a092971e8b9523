"""What the project knows of an elementwise function: its values, its errors, and how other libraries call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpubench.dtypes import Kind
from gpubench.model import Json

Values = tuple[Any, ...]
Scalars = Mapping[str, float]
Compute = Callable[[Any, Values, Scalars], Any]
"""(numpy, operands, scalars) -> result, in the operands' dtype. numpy is handed in, so that this table needs none."""
Magnitude = Callable[[Any, Any, Values, Scalars], Any]
"""(numpy, result, operands, scalars) -> what the rounding errors are proportional to, or None for exact results."""


@dataclass(frozen=True, slots=True)
class Call:
    """How a library calls a function: by `path` from its module, with `after` behind the operands, and `keywords`.

    The name of one of our scalars stands for its value, anything else for itself. out: it can write into an array.
    """

    path: str
    after: tuple[str | float, ...] = ()
    keywords: Mapping[str, str] = field(default_factory=dict)
    out: bool = True

    def arguments(self, scalars: Scalars) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what comes behind the operands, and the keywords."""
        after = tuple(scalars.get(value, value) if isinstance(value, str) else value for value in self.after)
        return after, {name: scalars.get(value, value) for name, value in self.keywords.items()}


@dataclass(frozen=True, slots=True)
class Function:
    """One function.

    kinds: dtypes that the promoted operands may have. roundings: unit roundoffs of the dtype of the work that the
    result may be off, times `magnitude` (an error of 1 ulp is two of them; CUDA's documented bounds for exp, log, sin,
    tanh, pow, rsqrt, with room for numpy's own). rough: how many more they are with the hardware's approximations
    (gpubench/rough.cuh), which serve where operands and result have 16 bits; 0 where there is none. domains: what
    each operand's inputs are restricted to. masks: how many leading operands are uint8 masks that take no part in
    promotion. real_result: complex operands give a real result.
    mixes_parts: which part of a complex result is special, where operands are, depends on how the formula is written.
    peers: the call that does it, for each library that has one.
    """

    arity: int
    compute: Compute
    kinds: tuple[Kind, ...]
    roundings: int = 0
    magnitude: Magnitude | None = None
    domains: tuple[str, ...] = ("any", "any", "any")
    scalars: Mapping[str, float] = field(default_factory=dict)
    masks: int = 0
    real_result: bool = False
    mixes_parts: bool = False
    rough: int = 0
    peers: Mapping[str, Call] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """Return what a suite's author asks of it."""
        return {
            "operands": self.arity,
            "dtypes": list(self.kinds),
            "scalars": dict(self.scalars),
            "libraries": list(self.peers),
        }
