"""Operators of the caller's own: declared round a reference function, or as a class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from gpubench import dtypes as names_of_dtypes
from gpubench import plugins
from gpubench.errors import ParameterError
from gpubench.model import Role
from gpubench.operators import bring
from gpubench.operators.base import Operator as Operator
from gpubench.own.operator import DeclaredOperator

F = TypeVar("F", bound=Callable[..., Any])
O = TypeVar("O")  # noqa: E741 - an operator, or the class of one

_LOCAL: set[str] = set()
"""Operators that code of this process made known."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of an operator of one's own.

    role: `in` is read, `out` written, `inout` both; one operand is written. shape: its sizes, expressions over the
    axes, such as `"rows"` or `"2 * rows"`. dtype: a name, or `{dtype}`, the case's own.
    """

    role: Role
    shape: Sequence[str | int]
    dtype: str = "{dtype}"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What an element may be off: atol + rtol * |right answer|; integers are exact whatever stands here.

    Each is a number, or numbers by the output's dtype: `{"float32": 2e-6, "float16": 1e-3}`; 0 for dtypes left out.
    """

    rtol: float | Mapping[str, float] = field(default_factory=dict)
    atol: float | Mapping[str, float] = field(default_factory=dict)


@overload
def operator(brought: O, /) -> O: ...


@overload
def operator(
    *,
    operands: Mapping[str, Operand],
    dtypes: Sequence[str] = ...,
    tolerance: Tolerance = ...,
    reads: str | int | None = ...,
    writes: str | int | None = ...,
    name: str | None = ...,
) -> Callable[[F], F]: ...


def operator(
    brought: Any = None,
    /,
    *,
    operands: Mapping[str, Operand] | None = None,
    dtypes: Sequence[str] = ("float32",),
    tolerance: Tolerance = Tolerance(),
    reads: str | int | None = None,
    writes: str | int | None = None,
    name: str | None = None,
) -> Any:
    """Make an operator known to this process, round the function that says what is right.

        @gb.operator(
            operands={"x": gb.Operand("in", ["rows", "cols"]), "y": gb.Operand("out", ["rows", "cols"])},
            tolerance=gb.Tolerance(rtol=2e-6),
        )
        def softmax_rows(x, *, cols):
            ...

    The function is called with the `in` and `inout` operands in order, as numpy arrays in float64 (complex128; int64
    for integers), and by keyword with those axes that it names; it returns the right answer in the output's shape. It
    stays the function that it is. The axes are the names in the shapes; `gb.case` gives each a number. `reads` and
    `writes` are the fewest bytes, expressions over the axes and `itemsize`; without them every operand counts once.
    `name`: by default the function's own.

    Without a function, as `@gb.operator` above a class (or called with an instance), the operator is a
    `gpubench.Operator`, whose docstrings say what it must have: `name`, `params` (a frozen dataclass), `dtypes`,
    `variants`, `normalise`, `label`, `problem`, `reference`, `numpy`, `hard` and `accuracy`.

    ParameterError names a fact that makes no sense; UsageError the name of one of gpubench's own.
    """
    if operands is None:
        if brought is None:
            raise ParameterError("operands", "give them: operands={'x': gb.Operand('in', ['n']), ...}")
        one = brought() if isinstance(brought, type) else brought
        _bring(one)
        return brought

    def decorate(function: F) -> F:
        facts = _facts(name or function.__name__, operands, dtypes, tolerance, {"reads": reads, "writes": writes})
        from gpubench.suite.declared import declare

        declared = declare(facts)
        _bring(DeclaredOperator(declared, lambda: function))
        function.operator = declared.name  # type: ignore[attr-defined] # how `case` and `contender` find it again
        return function

    return decorate


def _facts(
    name: str,
    operands: Mapping[str, Operand],
    dtypes: Sequence[str],
    tolerance: Tolerance,
    stated: Mapping[str, str | int | None],
) -> dict[str, Any]:
    """Return what a suite's YAML would hold."""
    by_dtype = {"rtol": tolerance.rtol, "atol": tolerance.atol}
    listed = [*dtypes]
    written = {
        names_of_dtypes.canonical(operand.dtype if operand.dtype != "{dtype}" else dtype)
        for operand in operands.values()
        for dtype in listed
        if operand.role != "in"
    }
    return {
        "name": name,
        "operands": {
            operand_name: {"role": operand.role, "shape": list(operand.shape), "dtype": operand.dtype}
            for operand_name, operand in operands.items()
        },
        "dtypes": listed,
        "tolerance": {
            part: dict(given) if isinstance(given, Mapping) else dict.fromkeys(sorted(written), given)
            for part, given in by_dtype.items()
        },
        **{key: value for key, value in stated.items() if value is not None},
    }


def _bring(one: Operator[Any]) -> None:
    bring({one.name: one})
    _LOCAL.add(one.name)


def is_local(name: str) -> bool:
    """Tell whether only this process knows an operator: a worker finds ours, and those of installed packages."""
    return name in _LOCAL and name not in plugins.named(plugins.OPERATORS)


def operator_name(given: str | Callable[..., Any]) -> str:
    """Return the operator's name of what a caller names: a name, or the reference that `operator` decorated.

    TypeError for others.
    """
    name = given if isinstance(given, str) else getattr(given, "operator", None)
    if not isinstance(name, str):
        raise TypeError(f"{given!r} is no operator: decorate its reference with @gb.operator(...), or give a name")
    return name
