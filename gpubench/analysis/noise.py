"""How much unchanged work varies from run to run, at each time scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

TAILS = np.asarray([3.0, 5.0, 10.0, 30.0])
"""Degrees of freedom that are thought possible: 3 has heavy tails, 30 is nearly normal."""

SHARE, JITTER_US = {True: 0.0010, False: 0.0015}, {True: 0.06, False: 0.10}
"""Prior medians of the share and of the jitter, on the same GPU (True) and on another: from recorded H200 runs."""

SPREAD = 0.8
"""Spread of the logarithms of both priors."""

FAR = 4.0
"""Scales beyond which a residual is far out."""

DOUBT = {True: 0.25, False: 0.5}
"""Weight that the heaviest tail keeps whatever the controls say: what changed need not vary as they do."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Between two runs the log ratio of unchanged work has the squared scale share^2 + (jitter_us / t)^2, and tails of
    Student's t; `weights` (4,) says how likely each of TAILS is.
    """

    share: float
    jitter_us: float
    weights: Array
    same_device: bool

    def variance(self, time_us: Array) -> Array:
        """Return the squared scale at these times, (n,)."""
        return np.asarray(self.share**2 + (self.jitter_us / time_us) ** 2)


def heavy(weights: Array) -> float:
    """Return the variance over the squared scale of such tails, at most 2.5."""
    return float((weights * np.minimum(TAILS / (TAILS - 2), 2.5)).sum())


def prior(same_device: bool) -> Noise:
    """Return what is thought of the noise before any control was seen."""
    return Noise(SHARE[same_device], JITTER_US[same_device], np.full(4, 0.25), same_device)


def learned(time_us: Array, residual: Array, variance: Array, start: Noise) -> Noise:
    """Return the noise that the residuals (controls,) show; `variance` is that of their rounds."""
    found = _posterior(time_us, residual, variance, start)
    kept = _balanced(residual / np.sqrt(variance + found.variance(time_us)))
    return found if kept.all() else _posterior(time_us[kept], residual[kept], variance[kept], start)


def _balanced(score: Array) -> Array:
    """Return which residuals are noise: all, but where those far out lie on one side, not the excess of that side.

    Noise looks the same when old and new change places; what happened to one side only is a change of some controls.
    """
    from scipy.stats import binom

    high, low = int((score > FAR).sum()), int((score < -FAR).sum())
    kept = np.ones(len(score), dtype=bool)
    if high + low and float(binom.sf(max(high, low) - 1, high + low, 0.5)) < 0.01:
        outward = score if high > low else -score
        kept[np.argsort(outward)[len(score) - abs(high - low) :]] = False
    return kept


def _posterior(time_us: Array, residual: Array, variance: Array, start: Noise) -> Noise:
    """Return root mean squares of share and jitter, and weights of the tails, over a grid of all three."""
    from scipy.special import gammaln

    steps = np.linspace(-2.5, 5.0, 16)
    shares, jitters = start.share * np.exp(SPREAD * steps), start.jitter_us * np.exp(SPREAD * steps)
    scale = variance + shares[:, None, None] ** 2 + (jitters[:, None] / time_us) ** 2  # (shares, jitters, controls)
    squared, logs = residual**2 / scale, np.log(scale).sum(axis=2) / 2
    density = np.stack(
        [
            len(residual) * (gammaln((nu + 1) / 2) - gammaln(nu / 2) - np.log(nu * np.pi) / 2)
            - logs
            - (nu + 1) / 2 * np.log1p(squared / nu).sum(axis=2)
            for nu in TAILS
        ]
    )
    density -= (steps[:, None] ** 2 + steps**2) / 2
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    doubt = DOUBT[start.same_device]
    tails = (1 - doubt) * weight.sum(axis=(1, 2))
    tails[0] += doubt
    share, jitter = weight.sum(axis=(0, 2)) @ shares**2, weight.sum(axis=(0, 1)) @ jitters**2
    return replace(start, share=float(np.sqrt(share)), jitter_us=float(np.sqrt(jitter)), weights=tails)
