"""What a library has for our elementwise functions: the calls in the table of functions, looked up in the library."""

from __future__ import annotations

import functools
from typing import Any

from gpubench.model import Problem
from gpubench.operators.elementwise.function import Call
from gpubench.operators.elementwise.functions import FUNCTIONS


def call_of(peer: str, problem: Problem[Any]) -> Call | None:
    """Return how the peer calls the problem's function, None where it has no single call for it."""
    return FUNCTIONS[problem.params.function].peers.get(peer)


def refusal(peer: str, problem: Problem[Any]) -> str | None:
    """Return why the peer has nothing for an elementwise problem, None when it has."""
    if call_of(peer, problem) is None:
        return f"{peer} has no single call for {problem.params.function}"
    return None


def function_of(library: Any, call: Call) -> Any:
    """Return the library's function."""
    return functools.reduce(getattr, call.path.split("."), library)


def masks_of(problem: Problem[Any]) -> int:
    """Return how many operands, from the first, are masks of uint8."""
    return FUNCTIONS[problem.params.function].masks
