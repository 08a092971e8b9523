"""Other libraries that do the same work, each in one file, all optional. `PEERS` lists them."""

from __future__ import annotations

import importlib
from typing import Any, cast

from gpubench import plugins
from gpubench.errors import UsageError
from gpubench.libraries import PEERS
from gpubench.model import Problem
from gpubench.names import AUTO, NUMPY, contender_of
from gpubench.peers.base import Peer

__all__ = ["PEERS", "load", "refusal"]


def load(name: str) -> Peer:
    """Return the peer called `name`, without its library. UsageError, with the names that exist, when there is none."""
    if name not in PEERS and name in plugins.named(plugins.PEERS):
        return cast("Peer", plugins.load(plugins.PEERS, name)())
    target = PEERS.get(name)
    if target is None:
        known = ", ".join((NUMPY, AUTO, contender_of("<variant>"), *PEERS))
        raise UsageError(f"There is no contender {name!r}; there are {known}.")
    module, _, attribute = target.partition(":")
    return cast("Peer", getattr(importlib.import_module(module), attribute)())


def refusal(peer: Peer, problem: Problem[Any]) -> str | None:
    """Return why a peer has nothing for a problem, None when it has. It only meets the operators that it names."""
    operator = problem.case.operator
    if operator not in peer.operators:
        return f"{peer.name} has no {operator}; it has {', '.join(peer.operators)}"
    return peer.offers(problem)
