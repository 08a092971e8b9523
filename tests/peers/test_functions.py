"""The peers' calls in the table of functions: libraries have them, and scalars arrive where they belong."""

from __future__ import annotations

import pytest

from gpubench.libraries import PEERS
from gpubench.operators.elementwise.function import Call
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.peers.functions import function_of

MODULES = {"torch": "torch", "cupy": "cupy", "jax": "jax"}


@pytest.mark.parametrize("peer", MODULES)
def test_every_call_is_there_in_the_library(peer: str) -> None:
    """No path of the table is misspelt; where the library is not installed there is nothing to look into."""
    library = pytest.importorskip(MODULES[peer])
    calls = [function.peers[peer] for function in FUNCTIONS.values() if peer in function.peers]
    assert len(calls) > 10
    assert all(callable(function_of(library, call)) for call in calls)


def test_calls_name_peers_that_exist() -> None:
    """A row cannot name a library that is no peer."""
    assert {name for function in FUNCTIONS.values() for name in function.peers} <= set(PEERS)


def test_scalars_stand_where_the_library_wants_them() -> None:
    """Names of scalars give way to their values, behind the operands and in keywords; constants stay."""
    call = Call("f", ("low", 0), {"max": "high", "approximate": "tanh"})
    assert call.arguments({"low": -1.0, "high": 2.0}) == ((-1.0, 0), {"max": 2.0, "approximate": "tanh"})
