"""A function of the user's own: given the operands, called as it is written, and told in one line when it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpubench.model import Record
from gpubench.peers.own_function import OwnFunction, register
from tests.engine.bed import case
from tests.engine.test_pipeline import go, only


def measured(call: Callable[..., Any], operator: str = "cumsum", arrays: Any = "numpy", **params: Any) -> Record:
    """Run a function on the scripted device, whose memory is the host's."""
    register(OwnFunction("own:mine", (operator,), call, arrays))
    return only(go(case(operator, params or None, contenders=("own:mine",))))


def test_operands_come_in_order_and_parameters_by_keyword() -> None:
    """Only what the function names is given; it writes into y."""

    def mine(x: Any, y: Any, *, dim: int) -> None:
        x.cumsum(axis=dim, out=y)

    assert measured(mine).status == "ok"


def test_a_returned_array_is_copied_into_the_output() -> None:
    """Libraries that cannot write in place may return the answer."""
    assert measured(lambda x, _, dim, **__: x.cumsum(axis=dim)).status == "ok"


def test_a_returned_function_is_what_is_timed() -> None:
    """The first call sets up; what it returns runs once a sample."""
    calls: list[str] = []

    def mine(x: Any, y: Any, dim: int) -> Callable[[], None]:
        calls.append("setup")

        def run() -> None:
            calls.append("run")
            x.cumsum(axis=dim, out=y)

        return run

    record = measured(mine)
    assert record.status == "ok", record.message
    assert record.timing is not None
    rounds = len(record.timing.rounds)
    assert calls.count("setup") == rounds
    assert calls.count("run") == len(record.timing.samples) + rounds * (3 + 1)


def test_strided_operands_are_views_of_our_memory() -> None:
    """A transposed layout with an offset is given as it lies."""

    def mine(x: Any, y: Any, dim: int) -> None:
        x.cumsum(axis=dim, out=y)

    record = measured(mine, shape=[6, 5], dim=0, layout={"permute": [1, 0], "offset": 3})
    assert record.status == "ok", record.message


@pytest.mark.parametrize(
    ("call", "status", "told"),
    [
        (lambda _x, _y, _z: None, "compile_error", "own:mine failed: TypeError: "),
        (lambda _, y: y.missing, "compile_error", "'numpy.ndarray' object has no attribute 'missing' (line "),
        (lambda x, _: x[:1], "compile_error", "it returned shape (1, 9), and the output has (8, 9)"),
        (lambda _x, _y: None, "wrong", "8 of 8 elements are wrong (never written)"),
    ],
)
def test_a_mistake_is_one_line(call: Callable[..., Any], status: str, told: str) -> None:
    """A wrong signature, an exception, a wrong shape or no answer at all: status and line say which."""
    record = measured(call)
    assert record.status == status, record.message
    assert told.replace("8 of 8", "72 of 72") in (record.message or "")
    assert "\n" not in (record.message or "")


def test_it_is_not_called_where_it_cannot_work() -> None:
    """Another operator, or arrays that need a GPU, are `unsupported` with the reason."""
    register(OwnFunction("own:mine", ("sum",), print, "numpy"))
    one = only(go(case(contenders=("own:mine",))))
    assert (one.status, one.message) == ("unsupported", "own:mine has no cumsum; it has sum")
    record = measured(print, arrays="cupy")
    assert (record.status, record.message) == ("unsupported", "own:mine needs a CUDA device; this one is fake")


def test_a_name_without_the_prefix_is_refused() -> None:
    """A function can neither pass for a library nor for one of our variants."""
    for name in ("torch", "gpubench:auto", "own:", "own:a b"):
        with pytest.raises(ValueError, match="write own:my_name"):
            register(OwnFunction(name, (), print))
