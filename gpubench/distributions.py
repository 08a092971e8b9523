"""Student's t, the normal and the binomial distribution.

They stand on scipy.special alone: loading scipy.stats costs a command more than half a second of processor's time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def t_quantile(p: float, freedom: Array | float) -> Array:
    """Return the quantile of Student's t at p in (0, 1), of the shape of `freedom`."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(freedom, p))


def t_tail(x: Array | float, freedom: Array | float) -> Array:
    """Return the probability that Student's t is above x, which may be infinite; shapes are broadcast."""
    from scipy.special import stdtr

    return np.asarray(stdtr(freedom, -np.asarray(x)))


def normal_quantile(p: float) -> float:
    """Return the quantile of the standard normal distribution at p in (0, 1)."""
    from scipy.special import ndtri

    return float(ndtri(p))


def coin_tail(least: int, tosses: int) -> float:
    """Return the probability of at least so many heads in tosses of a fair coin."""
    from scipy.special import bdtrc

    return float(bdtrc(least - 1, tosses, 0.5)) if least > 0 else 1.0


def coin_quantile(p: float, tosses: int) -> int:
    """Return the least number of heads that is not exceeded with a probability of at least p."""
    from scipy.special import bdtr

    return int(np.searchsorted(bdtr(np.arange(tosses + 1), tosses, 0.5), p))
