"""How other tools decide that something became slower, on the same samples: each rule as its project documents it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from studies.verdicts.noise import CASES, Drawn

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

NOISE_THRESHOLD = 0.01
"""Criterion's, and the change that counts for ours."""


def _pooled(drawn: Drawn) -> tuple[Array, Array]:
    """Return the samples of the changed pairs without their rounds, (CASES, n)."""
    old, new = (side[:CASES].reshape(CASES, -1) for side in (drawn.old, drawn.new))
    return old, new


def benchstat(drawn: Drawn) -> Array:
    """Ask Mann-Whitney's U test at 5 % over all samples; no threshold (golang.org/x/perf/cmd/benchstat)."""
    from scipy.stats import mannwhitneyu

    old, new = _pooled(drawn)
    p = mannwhitneyu(new, old, axis=1, alternative="two-sided", method="asymptotic").pvalue
    return np.asarray((p < 0.05) & (np.median(new, axis=1) > np.median(old, axis=1)))


def pyperf(drawn: Drawn) -> Array:
    """Ask Student's two-sample t test at 95 % over all samples; no threshold (`pyperf compare_to`)."""
    old, new = _pooled(drawn)
    p = _student(old, new, equal_variances=True)
    return np.asarray((p < 0.05) & (new.mean(axis=1) > old.mean(axis=1)))


def _student(old: Array, new: Array, equal_variances: bool) -> Array:
    from scipy.stats import ttest_ind

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # samples in steps of the clock may all be one number, which scipy remarks
        return np.asarray(ttest_ind(new, old, axis=1, equal_var=equal_variances).pvalue)


def criterion(drawn: Drawn) -> Array:
    """Ask a t test by bootstrap at 5 %, and for the interval of the mean's change to lie over 1 %.

    The bootstrap of the mean is taken in its normal limit, which its 100,000 draws of 21 samples come close to.
    """
    old, new = _pooled(drawn)
    p = _student(old, new, equal_variances=False)
    means = [side.mean(axis=1) for side in (old, new)]
    errors = [side.std(axis=1, ddof=1) / side.mean(axis=1) / np.sqrt(side.shape[1]) for side in (old, new)]
    low = means[1] / means[0] * (1 - 1.96 * np.hypot(*errors)) - 1
    return np.asarray((p < 0.05) & (low > NOISE_THRESHOLD))


def nvbench_compare(drawn: Drawn) -> Array:
    """Ask whether the means differ by more than the smaller of both relative deviations (nvbench_compare.py)."""
    old, new = _pooled(drawn)
    noise = [side.std(axis=1, ddof=1) / side.mean(axis=1) for side in (old, new)]
    return np.asarray(new.mean(axis=1) / old.mean(axis=1) - 1 > np.minimum(*noise))


RIVALS = {"benchstat": benchstat, "pyperf": pyperf, "criterion": criterion, "nvbench_compare": nvbench_compare}
