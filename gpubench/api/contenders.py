"""Functions of the caller's own, made known to this process as contenders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gpubench.api.operators import operator_name
from gpubench.names import OWN
from gpubench.own.definitions import Arrays
from gpubench.peers.own_function import OwnFunction, register

F = TypeVar("F", bound=Callable[..., Any])


def contender(
    *operators: str | Callable[..., Any], arrays: Arrays = "cupy", name: str | None = None
) -> Callable[[F], F]:
    """Make a function a contender of these operators; it stays the function that it is.

    Each is a name, or the reference of an operator of one's own.

    It is called with the operands in order, as arrays of the library `arrays` on gpubench's own memory, and by keyword
    with those of the case's parameters (and `stream`) that it names. It writes into the output, or returns an array; or
    its first call returns a function without arguments, which is then what is timed. `numpy` arrays need the host
    device. `name`: the contender is `own:NAME`, by default the function's own name.

    ValueError for no operator, or for a name that is no Python name; TypeError for what is no operator.
    """
    if not operators:
        raise ValueError('name the operators whose work the function does: @gb.contender("cumsum")')

    those = tuple(map(operator_name, operators))

    def decorate(function: F) -> F:
        own = OwnFunction(OWN + (name or function.__name__), those, function, arrays)
        register(own)
        function.contender = own.name  # type: ignore[attr-defined] # how `run` finds it again
        return function

    return decorate


def name_of(given: str | Callable[..., Any]) -> str:
    """Return the contender's name of what a caller names: a name, or a decorated function. TypeError for others."""
    name = given if isinstance(given, str) else getattr(given, "contender", None)
    if not isinstance(name, str):
        raise TypeError(f"{given!r} is no contender: decorate it with @gb.contender, or give a name")
    return name
