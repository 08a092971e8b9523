"""Other libraries that do the same work, each in one file, all optional. `PEERS` lists them."""

from __future__ import annotations

import importlib
from typing import cast

from gpubench.errors import UsageError
from gpubench.libraries import PEERS
from gpubench.peers.base import Peer

__all__ = ["PEERS", "load"]


def load(name: str) -> Peer:
    """Return the peer called `name`, without its library. UsageError, with the names that exist, when there is none."""
    target = PEERS.get(name)
    if target is None:
        known = ", ".join(("numpy", "gpubench:auto", "gpubench:<variant>", *PEERS))
        raise UsageError(f"There is no contender {name!r}; there are {known}.")
    module, _, attribute = target.partition(":")
    return cast("Peer", getattr(importlib.import_module(module), attribute)())
