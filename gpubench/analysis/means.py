"""Geometric means of ratios over groups of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.estimate import CONFIDENCE
from gpubench.comparison import Mean, Row

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


def geometric_means(
    rows: Sequence[Row], log_ratio: Array, error: Array, freedom: Array, drift: float
) -> tuple[Mean, ...]:
    """Return the means overall, by operator and by dtype of rows that have an estimate; arrays of shape (rows,).

    The interval says how well this set of cases was measured, not how other cases would do. `drift` is the part of
    `error` that all pairs of two runs share, so that it does not shrink with their number.
    """
    known = np.flatnonzero(freedom > 0)
    if len(known) == 0:
        return ()
    means = [_mean("overall", "all", known, log_ratio, error, freedom, drift)]
    for group, names in (
        ("operator", [row.operator for row in rows]),
        ("dtype", [row.dtype for row in rows]),
    ):
        for name in dict.fromkeys(names[i] for i in known):
            members = np.asarray([i for i in known if names[i] == name])
            means.append(_mean(group, name, members, log_ratio, error, freedom, drift))
    return tuple(means)


def _mean(group: Any, name: str, members: Array, log_ratio: Array, error: Array, freedom: Array, drift: float) -> Mean:
    from scipy.stats import t

    shared = 2 * drift**2
    own = np.maximum(error[members] ** 2 - shared, 0.0)
    count = len(members)
    variance = own.sum() / count**2
    # Welch and Satterthwaite: the freedom of a sum of variances
    spread = float((own**2 / np.minimum(freedom[members], 1e6)).sum())
    degrees = float(own.sum() ** 2 / spread) if spread > 0 else 1e6
    half = float(t.ppf((1 + CONFIDENCE) / 2, max(degrees, 1.0))) * float(np.sqrt(variance + shared))
    centre = float(np.mean(log_ratio[members]))
    return Mean(group, name, count, *(float(np.exp(x)) for x in (centre, centre - half, centre + half)))
