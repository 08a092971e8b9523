from __future__ import annotations

import numpy as np
from scipy import stats

from gpubench import distributions


def test_student_and_normal_are_those_of_scipy_stats() -> None:
    """Quantiles and tails are the same to the last digits, also far out and with next to endless freedom."""
    freedom = np.asarray([1.0, 1.7, 4.0, 60.0, 1e6])
    for p in (1e-12, 0.025, 0.8, 0.975):
        np.testing.assert_allclose(distributions.t_quantile(p, freedom), stats.t.ppf(p, freedom), rtol=1e-12)
        np.testing.assert_allclose(distributions.normal_quantile(p), stats.norm.ppf(p), rtol=1e-12)
    for x in (-np.inf, -3.0, 0.0, 2.5, 300.0, np.inf):
        np.testing.assert_allclose(distributions.t_tail(x, freedom), stats.t.sf(x, freedom), rtol=1e-12)


def test_coins_are_those_of_scipy_stats() -> None:
    """Ranks and tails of fair coins are the same for every count that a fleet or a list of controls may have."""
    for tosses in (*range(1, 40), 200, 1001):
        assert distributions.coin_quantile(0.025, tosses) == stats.binom.ppf(0.025, tosses, 0.5)
        found = [distributions.coin_tail(least, tosses) for least in range(tosses + 1)]
        np.testing.assert_allclose(found, stats.binom.sf(np.arange(tosses + 1) - 1, tosses, 0.5), rtol=1e-9)
