from __future__ import annotations

import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gpubench.analysis import distributions


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


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_corrected_p_values_are_those_of_scipy_stats(values: list[float]) -> None:
    """The step-up of Benjamini and Hochberg gives the same adjusted p-values."""
    p = np.asarray(values)
    assert (distributions.benjamini_hochberg(p) == stats.false_discovery_control(p)).all()


def test_nothing_to_correct_is_no_error() -> None:
    """Without pairs there is nothing to adjust."""
    assert len(distributions.benjamini_hochberg(np.empty(0))) == 0


def test_judging_loads_no_scipy_stats() -> None:
    """Loading scipy.stats takes longer than a comparison of two small results."""
    code = (
        "import sys\nfrom gpubench.analysis.compare import compare\nfrom tests.views.samples import mixed\n"
        "compare(mixed(), mixed())\nprint('scipy.special' in sys.modules, 'scipy.stats' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
