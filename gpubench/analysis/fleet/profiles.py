"""A model's profile: made from a healthy fleet, and held against another one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import gpubench
from gpubench.analysis.fleet.rule import LEAST_PEERS, scale
from gpubench.analysis.fleet.table import Seen
from gpubench.errors import ComparisonError
from gpubench.findings import Findings, Profile, Standard, Work
from gpubench.fleet import Fleet

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


def make_profile(fleet: Fleet, results: Mapping[str, Seen], findings: Findings) -> Profile:
    """Return the profile of the fleet's model, by its members without a bad finding.

    ComparisonError when there are several models, or no healthy member. Under five GPUs nothing is known of how much
    they differ: then `scale` is 0, and the noise floor stands in for it.
    """
    healthy = [gpu for gpu in findings.gpus if gpu.finding in ("FINE", "UNJUDGED") and gpu.member.key in results]
    seen = [results[gpu.member.key] for gpu in healthy]
    models = sorted({member.model for member in seen})
    if len(models) != 1:
        found = ", ".join(models) or "none"
        raise ComparisonError(f"A profile is of one model of GPU; the healthy members of this fleet have: {found}.")
    values = np.asarray([gpu.effect.value for gpu in healthy if gpu.effect is not None])
    works = dict.fromkeys(work for member in seen for work in member.log_us)
    return Profile(
        model=models[0],
        created=fleet.created,
        gpubench=gpubench.__version__,
        protocol=seen[0].protocol,
        suite=fleet.suite,
        at_once=fleet.at_once,
        soak_s=fleet.soak_s,
        gpus=len(healthy),
        scale=scale(values)[1] if len(values) >= LEAST_PEERS else 0.0,
        standards=tuple(_standard(work, seen) for work in works),
        environment=_environment(seen[0]),
    )


def _standard(work: Work, seen: Sequence[Seen]) -> Standard:
    times = [member.log_us[work] for member in seen if work in member.log_us]
    answers = [member.answers[work] for member in seen if work in member.answers]
    (code, digest), _ = Counter((answer.code, answer.digest) for answer in answers).most_common(1)[0]
    return Standard(*work, math.exp(float(np.median(times))), code, digest)


def _environment(one: Seen) -> dict[str, Any]:
    """Return what a reader may want to hold beside their own: of the device only what is the model's."""
    device = one.environment.get("device")
    of_device = device if isinstance(device, Mapping) else {}
    kept = ("compute_capability", "sm_count", "memory_bytes", "driver", "power_limit_w", "ecc")
    return {"nvrtc": one.environment.get("nvrtc"), "device": {key: of_device.get(key) for key in kept}}


def require_fit(profile: Profile, fleet: Fleet, members: Sequence[Seen]) -> None:
    """ComparisonError when the profile says nothing of this fleet: another model, way of working or of measuring."""
    models = sorted({member.model for member in members})
    if members and profile.model not in models:
        raise ComparisonError(f"The profile is of {profile.model}; this fleet has {', '.join(models)}.")
    if profile.at_once != fleet.at_once:
        ways = {True: "at once", False: "one after the other"}
        raise ComparisonError(
            f"The profile's GPUs worked {ways[profile.at_once]}, this fleet's {ways[fleet.at_once]}: their times are "
            "not the same thing. Measure the fleet as the profile was, or make a profile of this way."
        )
    if any(member.protocol != profile.protocol for member in members):
        raise ComparisonError(
            f"The profile was measured by protocol {profile.protocol}, this fleet by another: make the profile anew."
        )


def standard_times(profile: Profile, members: Sequence[Seen], columns: Sequence[Work]) -> Array:
    """Return the profile's log times of the works, (works,), NaN where it has none or of other machine code.

    ComparisonError when nothing is left.
    """
    stored = {(standard.case, standard.contender): standard for standard in profile.standards}
    codes = {work: answer.code for member in members for work, answer in member.answers.items()}
    found = [
        math.log(one.us) if (one := stored.get(work)) is not None and one.code_sha256 == codes.get(work) else math.nan
        for work in columns
    ]
    if not np.isfinite(found).any():
        raise ComparisonError(
            "The profile has no work in common with this fleet: other cases, or kernels of other machine code. "
            "Measure the profile's suite with its version of gpubench, or make the profile anew."
        )
    return np.asarray(found)
