"""The correction for many pairs, and what judging them loads."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gpubench.analysis.rule import benjamini_hochberg


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_corrected_p_values_are_those_of_scipy_stats(values: list[float]) -> None:
    """The step-up of Benjamini and Hochberg gives the same adjusted p-values."""
    p = np.asarray(values)
    assert (benjamini_hochberg(p) == stats.false_discovery_control(p)).all()


def test_nothing_to_correct_is_no_error() -> None:
    """Without pairs there is nothing to adjust."""
    assert len(benjamini_hochberg(np.empty(0))) == 0


def test_judging_loads_no_scipy_stats() -> None:
    """Loading scipy.stats takes longer than a comparison of two small results."""
    code = (
        "import sys\nfrom gpubench.analysis.compare import compare\nfrom tests.views.samples import mixed\n"
        "compare(mixed(), mixed())\nprint('scipy.special' in sys.modules, 'scipy.stats' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
