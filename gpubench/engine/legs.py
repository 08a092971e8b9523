"""Who may share a worker with whom: a run goes in legs, and what one contender leaves behind stays in its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpubench.model import Case
from gpubench.names import is_own

Work = tuple[Case, list[str]]
"""A case, and those of its contenders that are to be run."""

TRUSTED = ""
"""The owner of the leg of all contenders whose code is known."""


def legs(works: Iterable[Work], isolate: bool) -> Sequence[tuple[str, Sequence[Work]]]:
    """Return the legs with their owners: with strict integrity first the cases of each of the user's own contenders,
    then all others. With `isolate` each contender of each case has a worker anyway, and there is one leg.
    """
    found: dict[str, list[Work]] = {}
    for case, names in works:
        is_strict = case.timing.integrity == "strict" and not isolate
        shares: dict[str, list[str]] = {}
        for name in names:
            shares.setdefault(name if is_strict and is_own(name) else TRUSTED, []).append(name)
        for owner, share in shares.items():
            found.setdefault(owner, []).append((case, share))
    return sorted(found.items(), key=lambda leg: leg[0] == TRUSTED)
