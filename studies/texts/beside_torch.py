"""The designs after PyTorch against torch itself: one mean an operator, what differs, and what was not measured."""

from __future__ import annotations

import re

from gpubench.views import text
from gpubench.views.means import geometric
from studies.texts.claims import PRESUMED
from studies.texts.figures import Figures, median

LARGE_BYTES = 16_000_000
"""Cases from this size on are compared with torch itself."""

CLOSE = 0.10
"""How far from torch a case, and the geometric mean of all, may be."""

OURS = "gpubench:auto_pytorch"


def against_torch(figures: Figures) -> str:
    """Return the section: means, cases further off with the reason presumed, and cases that torch has no time for."""
    ratios: dict[str, list[tuple[float, str]]] = {}
    missing: dict[str, list[str]] = {}
    for case in figures.cases:
        ours, torch = figures.row(case, OURS), figures.row(case, "torch")
        if ours is None or (ours.bytes or 0) < LARGE_BYTES:
            continue
        if torch is None:
            missing.setdefault(ours.operator, []).append(case)
        else:
            ratios.setdefault(ours.operator, []).append((median(ours) / median(torch), case))
    if not ratios:
        return "torch was not measured in this result."
    lines = [
        f"Time of `auto_pytorch` over torch's own in the same run, cases of at least {LARGE_BYTES // 1_000_000} MB. "
        f"Within {CLOSE:.0%} of 1 it counts as the same design; cases further off are listed, with what is presumed, "
        "not measured, to make the difference.",
        "",
    ]
    for operator in dict.fromkeys((*ratios, *missing)):
        lines += _operator(figures, operator, ratios.get(operator, []), missing.get(operator, []))
    return "\n".join(lines)


def _operator(figures: Figures, operator: str, found: list[tuple[float, str]], missing: list[str]) -> list[str]:
    lines = [f"- {operator}: {_mean(found)}" + (f"; **{len(missing)} more have no time of torch**" if missing else "")]
    lines += [
        f"  - {text.markdown_code(case)} {text.ratio(ratio)}: {_presumed(case, ratio)}"
        for ratio, case in found
        if abs(ratio - 1) > CLOSE
    ]
    reasons: dict[str, list[str]] = {}
    for case in missing:
        reasons.setdefault(_failure(figures, case), []).append(case)
    for reason, cases in reasons.items():
        lines.append(f"  - {reason}: {', '.join(text.markdown_code(case) for case in cases)}")
    return lines


def _mean(found: list[tuple[float, str]]) -> str:
    mean = geometric([ratio for ratio, _ in found])
    if mean is None:
        return "not measured"
    inside = "within" if abs(mean - 1) <= CLOSE else "**not** within"
    return f"geometric mean **{text.ratio(mean)}** over {len(found)} cases, {inside} {CLOSE:.0%}"


def _failure(figures: Figures, case: str) -> str:
    """Return why torch has no time for the case."""
    record = figures.record(case, "torch")
    if record is None:
        return "not run"
    message = (record.message or "").rstrip(".")
    return text.markdown(f"{record.status}: {message}" if message else record.status)


def _presumed(case: str, ratio: float) -> str:
    """Return what may explain a case that is further off than CLOSE."""
    for pattern, slower, reason in PRESUMED:
        if slower == (ratio > 1) and re.fullmatch(pattern, case):
            return reason
    return "not explained"
