"""One row of a comparison: the verdict that its times, its statuses and its machine code give together, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpubench.analysis import reasons
from gpubench.analysis.pairing import Pair, measured, samples
from gpubench.analysis.rounds import side
from gpubench.analysis.rule import Rule
from gpubench.analysis.timed import Timed
from gpubench.comparison import Difference, Estimate, Row, Verdict
from gpubench.model import Record
from gpubench.names import FAILED


def timed_row(timed: Timed, number: int, rule: Rule, listed: Sequence[Difference]) -> Row:
    """Return the row of the pair at this place; identical code is judged here."""
    pair, verdict, few = timed.pairs[number], timed.verdict[number], timed.few[number]
    old, new = timed.records[number]
    estimate = timed.estimate(number)
    old_us, new_us = timed.typical_us(number)
    said = reasons.for_pair(pair, listed)
    if few:
        said.insert(0, few)
    elif estimate is not None and estimate.threshold > rule.threshold:
        cause = "its own noise floor" if timed.floor[number] >= estimate.threshold else "one step of the clock"
        said.append(f"threshold {_percent(estimate.threshold)} ({cause})")
    if not few and old is not new and reasons.same_code(old, new):
        verdict, sentence = _same_code(pair, verdict, estimate, rule, listed)
        said.insert(0, sentence)
    return Row(
        case=new.case.id,
        operator=new.case.operator,
        dtype=new.case.dtype,
        old_contender=old.contender,
        new_contender=new.contender,
        verdict=verdict,
        estimate=estimate,
        old_us=old_us,
        new_us=new_us,
        old_n=int(timed.old.samples[number]),
        new_n=int(timed.new.samples[number]),
        old_status=old.status,
        new_status=new.status,
        reasons=tuple(said),
    )


def _percent(share: float) -> str:
    """Return a share in percent with two figures, and never with an exponent."""
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _same_code(
    pair: Pair, verdict: Verdict, estimate: Estimate | None, rule: Rule, listed: Sequence[Difference]
) -> tuple[Verdict, str]:
    """Return the verdict on identical machine code, and what to say: the same, unless something around it changed."""
    causes = [one.name for one in listed if one.matters]
    if reasons.clocks_differ(pair):
        causes.insert(0, "clocks")
    if causes:
        more = f" and {len(causes) - 3} more" if len(causes) > 3 else ""
        return verdict, f"identical machine code, but the environment differs: {', '.join(causes[:3])}{more}"
    if not rule.trust_same_code:
        return verdict, "identical machine code and launches, judged by its times"
    measured_as = f"; {verdict} by its times alone" if verdict in ("SLOWER", "FASTER") else ""
    ratio = f", measured {estimate.ratio:.4f}" if estimate is not None else ""
    return "SAME", f"identical machine code and launches{ratio}{measured_as}"


def untimed_row(pair: Pair) -> Row:
    """Return the row of a pair of which at least one side was not timed, or is not there."""
    old, new = pair.old, pair.new
    either = pair.either
    verdict, said = _untimed_verdict(old, new)
    return Row(
        case=either.case.id,
        operator=either.case.operator,
        dtype=either.case.dtype,
        old_contender=(old or either).contender,
        new_contender=(new or either).contender,
        verdict=verdict,
        old_us=_typical_us(old),
        new_us=_typical_us(new),
        old_status=None if old is None else old.status,
        new_status=None if new is None else new.status,
        reasons=(said,) if said else (),
    )


def _untimed_verdict(old: Record | None, new: Record | None) -> tuple[Verdict, str]:
    """Return the verdict and what to say. A record that was skipped is as good as none."""
    if new is None or (new.status == "skipped" and old is not None and old.status != "skipped"):
        return "REMOVED", "" if new is None else _status(new)
    if old is None or (old.status == "skipped" and new.status != "skipped"):
        return "ADDED", "" if measured(new) else _status(new)
    if measured(old) or _breakage(new) not in (None, _breakage(old)):
        return "BROKEN", f"was {old.status}, now {_status(new)}"
    if measured(new):
        return "FIXED", f"was {_status(old)}, now {new.status}"
    return "UNDECIDED", f"{old.status} in the baseline, now {_status(new)}"


def _breakage(record: Record) -> str | None:
    """Return how a record failed: a wrong answer, or no answer at all; None when it did not."""
    return "wrong" if record.status == "wrong" else "failed" if record.status in FAILED else None


def _status(record: Record) -> str:
    return f"{record.status}: {record.message}" if record.message else record.status


def _typical_us(record: Record | None) -> float | None:
    rounds = samples(record) if record is not None and measured(record) else []
    return float(np.exp(side([rounds]).mean[0])) if rounds else None
