"""What unchanged work says about the machine: how it changed between two results, and how much runs differ anyway.

A control is work that is the same in both results. A machine changes times by a factor and an added time,
t_new = e^mu t_old + a, in each family of contenders (those that share a way to launch) nearly alike. Around that,
unchanged work varies from run to run by a share s of its time and c microseconds, with tails of Student's t.

1. Each family's own (mu, a): least absolute deviations, then Tukey's bisquare (Huber and Ronchetti, Robust Statistics,
   2009), linearised by x = (e^mu t / p, 1 / p) where p is the expected time.
2. (s, c, nu): the posterior on a grid, from the residuals about the families' own fits.
3. Families together: a random-effects meta-analysis (DerSimonian and Laird, 1986; Hartung and Knapp, 2001).

docs/statistics.md has the formulas and what they were tried on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.rounds import CONFIDENCE, TICK_US, Noise, heavy, learned, prior
from gpubench.distributions import t_quantile

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

CEILINGS = "ceilings"
"""The family of the sweep of copies, reads and writes, the empty launch and the event pair around nothing."""

OURS = "gpubench"
"""The family of our own kernels: they launch as the ceilings do."""

BISQUARE = 4.685
"""Tukey's constant: 95 % of the efficiency of least squares under normal noise."""

UNKNOWN = np.diag([0.25**2, 5.0**2])
"""The covariance of (mu, a in us) before anything is seen: a machine may be anything within reason."""

NEAR = np.diag([0.02**2, 1.0**2])
"""The covariance of a family's own change about that of all: holds families of one or two controls in place."""

OWN_ADDITION_US = 1.0
"""How far the added time of a library without controls of its own may lie from the others' (JAX: 0.7 us rms)."""

CONFLICT = 3.0
"""Half a squared Mahalanobis distance beyond which a family's own controls overrule what the others say."""


@dataclass(frozen=True, slots=True)
class Controls:
    """Unchanged pairs, arrays of shape (controls,). `family`: names; `time_us`: the old time; `log_ratio`: log of new
    over old; `variance`: of that, by the rounds alone.
    """

    family: Array
    time_us: Array
    log_ratio: Array
    variance: Array


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the machine, (mu, a in us), with its covariance (2, 2) and degrees of freedom."""

    value: Array
    covariance: Array
    freedom: float

    def expected(self, time_us: Array) -> tuple[Array, Array]:
        """Return the expected log ratio of new over old at these old times, and its variance."""
        _, log_ratio, x = _line(self.value, time_us)
        return log_ratio, np.einsum("ni,ij,nj->n", x, self.covariance, x)

    def half(self) -> Array:
        """Return half the width of the 95 % intervals of (mu, a)."""
        return np.asarray(t_quantile((1 + CONFIDENCE) / 2, self.freedom) * np.sqrt(np.diag(self.covariance)))


@dataclass(frozen=True, slots=True)
class Machine:
    """What the controls say. `change`: of the machine as a whole. `families`: of each family that has controls, as its
    own controls and the others' tell it. `without`: for a family that has none. `span_us`: shortest and longest
    control.
    """

    change: Change
    families: Mapping[str, Change]
    without: Change
    noise: Noise
    span_us: tuple[float, float]

    def of(self, family: str) -> Change:
        """Return the change for this family."""
        if family in self.families:
            return self.families[family]
        if family == OURS and CEILINGS in self.families:
            return self.families[CEILINGS]  # they launch as our kernels do
        return self.without


def estimate(controls: Controls, same_device: bool) -> Machine:
    """Return what the controls say of the machine; without any, that nothing is known of it."""
    start = prior(same_device)
    names = list(dict.fromkeys(controls.family.tolist()))
    members = {name: np.flatnonzero(controls.family == name) for name in names}
    noise, fits = start, {}
    for _ in range(2):  # the noise weighs the controls, and the fit shows the noise
        variance = controls.variance + noise.variance(controls.time_us)
        everything = _robust(np.zeros(2), controls, np.arange(len(controls.time_us)), variance, UNKNOWN)[0]
        fits = {name: _robust(everything, controls, at, variance, NEAR) for name, at in members.items()}
        residual, used = _residuals(controls, members, fits)
        noise = learned(controls.time_us[used], residual[used], controls.variance[used], start)
    span = (float(controls.time_us.min()), float(controls.time_us.max())) if names else (0.0, 0.0)
    return _combined(fits, {name: len(at) for name, at in members.items()}, noise, span)


def _line(change: Array, time_us: Array) -> tuple[Array, Array, Array]:
    """Return the expected time, the expected log ratio, and the derivatives (n, 2) of that after (mu, a)."""
    grown = np.exp(change[0]) * time_us
    expected = np.maximum(grown + change[1], 0.05 * grown)
    return expected, np.log(expected / time_us), np.stack([grown / expected, 1 / expected], axis=1)


def _robust(start: Array, controls: Controls, at: Array, variance: Array, about: Array) -> tuple[Array, Array, Array]:
    """Return the change that fits the controls at these places, its information (2, 2), and their pull on it (2,).

    about: the covariance of the change about `start`. The pull is what is left of the gradient at the fit.
    """
    time_us, ratio, scale = controls.time_us[at], controls.log_ratio[at], np.sqrt(variance[at])
    precision = np.linalg.inv(about)
    change, information, pull = start.copy(), np.zeros((2, 2)), np.zeros(2)
    for turn in range(30):
        _, expected, x = _line(change, time_us)
        score = (ratio - expected) / scale
        weighted = x * ((_absolute(score) if turn < 10 else _bisquare(score)) / scale**2)[:, None]
        information, pull = weighted.T @ x, weighted.T @ (ratio - expected)
        step = np.linalg.solve(information + precision, pull - precision @ (change - start))
        change = change + step
        if turn > 10 and float(np.abs(step / [1e-6, 1e-4]).max()) < 1:
            break
    return change, information, pull


def _absolute(score: Array) -> Array:
    """Return the weights of least absolute deviations."""
    return np.asarray(1 / np.maximum(np.abs(score), 0.3))


def _bisquare(score: Array) -> Array:
    return np.asarray(np.maximum(1 - (score / BISQUARE) ** 2, 0.0) ** 2)


LEAST_OF_A_FAMILY = 4
"""Families with fewer controls say nothing of the noise, nor overrule the others: two figures fit two of them."""


def _residuals(
    controls: Controls, members: Mapping[str, Array], fits: Mapping[str, tuple[Array, Array, Array]]
) -> tuple[Array, Array]:
    """Return the residuals (controls,) about the families' own fits, made larger by what the fit took; who counts."""
    residual, used = np.zeros(len(controls.time_us)), np.zeros(len(controls.time_us), dtype=bool)
    for name, at in members.items():
        count = len(at)
        if count >= LEAST_OF_A_FAMILY:
            _, expected, _ = _line(fits[name][0], controls.time_us[at])
            residual[at] = (controls.log_ratio[at] - expected) * np.sqrt(count / (count - 2))
            used[at] = True
    return residual, used


# --- Families together -----------------------------------------------------------------------------------------------

RATIOS = np.geomspace(0.02, 5.0, 13)
"""How far families may lie apart: variances as multiples of those between runs. The prior's median is 0.2."""


def _combined(
    fits: Mapping[str, tuple[Array, Array, Array]], counts: Mapping[str, int], noise: Noise, span: tuple[float, float]
) -> Machine:
    """Bring the families' own changes together."""
    names = list(fits)
    tiny = np.diag([1.0, 1e-4])  # keeps a family of one control, which knows one figure, invertible
    values, own = np.zeros((len(names), 2)), np.zeros((len(names), 2, 2))
    for number, name in enumerate(names):
        fit, information, pull = fits[name]
        own[number] = np.linalg.inv(information + tiny)
        values[number] = fit + own[number] @ pull
    apart = heavy(noise.weights) * np.diag([noise.share**2, noise.jitter_us**2])
    ratio = _ratio(values, own, apart)
    change = _pooled(values, own + ratio * apart)
    families = {}
    for number, name in enumerate(names):
        others = [i for i in range(len(names)) if i != number]
        rest = _pooled(values[others], own[others] + ratio * apart)
        families[name] = _updated(rest, ratio * apart, values[number], own[number], counts[name])
    strange = np.zeros((2, 2))
    strange[1, 1] = max(abs(float(change.value[1])), OWN_ADDITION_US) ** 2
    without = Change(change.value, change.covariance + ratio * apart + strange, change.freedom)
    return Machine(change, families, without, noise, span)


def _ratio(values: Array, own: Array, apart: Array) -> float:
    """Return how far families lie apart, as a multiple of `apart`: the most likely one of RATIOS."""
    if len(values) < 2:
        return 0.2
    best = []
    for ratio in RATIOS:
        covariance = own + ratio * apart
        centre = _pooled(values, covariance).value
        away = values - centre
        distance = np.einsum("gi,gij,gj->g", away, np.linalg.inv(covariance), away)
        log_t = -(4 + 2) / 2 * np.log1p(distance / 4) - np.log(np.linalg.det(covariance)) / 2
        best.append(float(log_t.sum()) - float(np.log(ratio / 0.2)) ** 2 / 2)
    return float(RATIOS[int(np.argmax(best))])


def _pooled(values: Array, covariance: Array) -> Change:
    """Return the common change of families: values (families, 2), covariance (families, 2, 2); far ones count less."""
    precision = np.linalg.inv(covariance)
    weight = np.ones(len(values))
    known = np.linalg.inv(UNKNOWN)
    centre, total = np.zeros(2), known
    for _ in range(8):
        weighted = precision * weight[:, None, None]
        total = known + weighted.sum(axis=0)
        centre = np.linalg.solve(total, np.einsum("gij,gj->i", weighted, values))
        away = values - centre
        distance = np.einsum("gi,gij,gj->g", away, precision, away)
        weight = np.minimum(6 / (4 + distance), 1.0)
    spread = float((weight * distance).sum()) / (2 * (len(values) - 1)) if len(values) > 1 else 1.0
    return Change(centre, np.linalg.inv(total) * max(spread, 1.0), max(4.0, len(values) - 1.0))


def _updated(rest: Change, apart: Array, value: Array, own: Array, count: int) -> Change:
    """Return the change of one family: what the others say of it, brought together with its own controls."""
    covariance = rest.covariance + apart
    away = value - rest.value
    conflict = float(away @ np.linalg.solve(covariance + own, away)) / 2
    if conflict > CONFLICT and count >= LEAST_OF_A_FAMILY:
        covariance = covariance * conflict**2
    before, mine = np.linalg.inv(covariance), np.linalg.inv(own)
    after = np.linalg.inv(before + mine)
    return Change(after @ (before @ rest.value + mine @ value), after, rest.freedom)


def tick(time_us: Array) -> Array:
    """Return the variance of a log ratio that the steps of the event clock make, both sides together, (n,)."""
    return np.asarray((TICK_US / time_us) ** 2 / 6)
