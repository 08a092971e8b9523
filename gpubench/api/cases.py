"""Which cases a run takes, and how: what the command line and `gpubench.run` choose and override alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from gpubench import plugins
from gpubench.errors import MissingExtraError, UsageError
from gpubench.model import Case, TimingOptions
from gpubench.names import NUMPY, own
from gpubench.peers import PEERS
from gpubench.peers.own_function import is_local
from gpubench.suite.filters import select

_OPTIONS = tuple(field.name for field in fields(TimingOptions))


def overridden(cases: Sequence[Case], timing: Mapping[str, Any], more: Sequence[str] = ()) -> tuple[Case, ...]:
    """Return the cases with other timing options where they are given (not None), and more contenders.

    UsageError for a contender that nobody knows; MissingExtraError where CUPTI's clock is asked for without it.
    """
    require_known(more)
    for name in timing:
        if name not in _OPTIONS:
            raise UsageError(f"There is no timing option {name!r}; there are {', '.join(_OPTIONS)}.")
    wanted = {name: value for name, value in timing.items() if value is not None}
    require_cupti(wanted.get("clock"))
    found = []
    for case in cases:
        options = replace(case.timing, **wanted)
        options = replace(options, max_samples=max(options.max_samples, options.min_samples))
        found.append(replace(case, timing=options, contenders=tuple(dict.fromkeys((*case.contenders, *more)))))
    return tuple(found)


def chosen(
    cases: Sequence[Case],
    keep: str | None = None,
    operators: Sequence[str] = (),
    dtypes: Sequence[str] = (),
    contenders: Sequence[str] = (),
) -> tuple[Case, ...]:
    """Return the cases that the filters keep; see `suite.filters.select`. UsageError when that is none."""
    return select(cases, expression=keep, operators=operators, dtypes=dtypes, contenders=contenders)


def require_known(names: Sequence[str]) -> None:
    """UsageError, with the names that exist, for a peer or a function that is not there."""
    known_names = (NUMPY, *PEERS, *plugins.named(plugins.PEERS), *map(own, plugins.named(plugins.KERNELS)))
    for name in names:
        if name not in known_names and not is_local(name):
            known = ", ".join(known_names)
            raise UsageError(f"--peer: there is no peer {name!r}; there are: {known}.")


def require_cupti(clock: str | None) -> None:
    """Say before anything is measured that CUPTI is missing. MissingExtraError."""
    from importlib.util import find_spec

    if clock in ("cupti", "both") and find_spec("cupti") is None:
        raise MissingExtraError("cupti-python", "cupti")
