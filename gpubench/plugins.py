"""What installed packages bring, by entry points: `gpubench.operators`, `gpubench.peers`, `gpubench.kernels`.

    [project.entry-points."gpubench.operators"]
    softmax_rows = "my_package:SoftmaxRows"     # an Operator, or a class of one
    [project.entry-points."gpubench.peers"]
    mylib = "my_package:MyPeer"                 # a class like those in gpubench/peers
    [project.entry-points."gpubench.kernels"]
    my_scan = "my_package:my_scan"              # a function that gpubench.contender decorated: contender own:my_scan

Names are read without importing anything; a package is imported when its name is used.
"""

from __future__ import annotations

import functools
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from gpubench.errors import UsageError

OPERATORS, PEERS, KERNELS = "gpubench.operators", "gpubench.peers", "gpubench.kernels"


@functools.cache
def named(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name."""
    return {entry_point.name: entry_point for entry_point in entry_points(group=group)}


def load(group: str, name: str) -> Any:
    """Import and return what an entry point names. UsageError, in one line, when that fails."""
    try:
        return named(group)[name].load()
    except Exception as error:  # whatever a foreign package raises while it is imported
        first = str(error).splitlines()[:1]
        raise UsageError(
            f"The entry point {name} of {group} cannot be loaded: {type(error).__name__}: {''.join(first)}"
        ) from error
