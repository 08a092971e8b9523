"""What changed between two runs on both sides of a step: what may have made it, the most telling first."""

from __future__ import annotations

from collections.abc import Iterator

from gpubench.analysis.differences import differences, explanations
from gpubench.analysis.pairing import Pair, same_code
from gpubench.comparison import Difference
from gpubench.model import Json, Record, ResultSet, Revision
from gpubench.names import is_peer

BRIEF = 10
"""Characters of a hash that are told."""

_NAMES = {
    "device.uuid": "card",
    "device.driver": "driver",
    "device.power_limit_w": "power limit",
    "nvrtc": "compiler",
    "cuda": "CUDA",
    "harness.protocol": "protocol",
    "tuning.sha256": "tuning",
}
"""What entries of the environment are called; others that matter keep their name."""


def causes(old: ResultSet, new: ResultSet, case: str, contender: str) -> tuple[str, ...]:
    """Return what changed from the old run to the new one for a series: machine code, commits, card, driver, clocks ...

    The first says whether the machine code is the same: then what changed is around it, not in it.
    """
    before, after = _record(old, case, contender), _record(new, case, contender)
    listed = differences(old, new)
    found = [*_code(before, after, contender), *_commits(old, new), *_surroundings(listed, contender)]
    if before is not None and after is not None:
        told = [
            explanation
            for explanation in explanations(Pair(before, after), ())
            if not explanation.startswith("same machine code")
        ]
        found += told
    return tuple(dict.fromkeys(found)) or ("nothing that the results record",)


def _record(result: ResultSet, case: str, contender: str) -> Record | None:
    mine = [record for record in result.records if record.case.id == case and record.contender == contender]
    return mine[-1] if mine else None


def _code(old: Record | None, new: Record | None, contender: str) -> Iterator[str]:
    if old is None or new is None or is_peer(contender):
        return
    before, after = ((record.kernel or {}).get("cubin_sha256") for record in (old, new))
    if not isinstance(before, str) or not isinstance(after, str):
        return
    if same_code(old, new):
        yield "same machine code"
    elif before == after:
        yield "same machine code, other launches or work"
    else:
        yield f"machine code {before[:BRIEF]} -> {after[:BRIEF]}"


def _commits(old: ResultSet, new: ResultSet) -> Iterator[str]:
    sides = old.source.suite, new.source.suite
    if sides[0].commit and sides[1].commit:
        yield (
            f"commits {_brief(sides[0])}..{_brief(sides[1])}" if sides[0] != sides[1] else f"commit {_brief(sides[0])}"
        )
    kernels = old.source.kernels, new.source.kernels
    if all(revision.commit for revision in kernels) and kernels[0] != kernels[1] and kernels != sides:
        yield f"kernels {_brief(kernels[0])}..{_brief(kernels[1])}"


def _brief(revision: Revision) -> str:
    return (revision.commit or "")[:BRIEF] + "+" * bool(revision.dirty)


def _surroundings(listed: tuple[Difference, ...], contender: str) -> Iterator[str]:
    for difference in listed:
        name = _NAMES.get(difference.name, difference.name)
        if difference.name.startswith("source.") or (not difference.matters and difference.name not in _NAMES):
            continue
        if difference.name.startswith("libraries.") and difference.name.split(".")[1] != contender:
            continue
        yield f"{name} {_value(difference.old)} -> {_value(difference.new)}"


def _value(value: Json) -> str:
    return "unknown" if value is None else str(value)[:40]
