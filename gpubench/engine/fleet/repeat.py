"""Which members are measured a second time: those that seem slow, each with a healthy one beside it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from gpubench.findings import Findings
from gpubench.fleet import Fleet, Member, Repeat
from gpubench.model import Case
from gpubench.results.read import read


def repeats(findings: Findings) -> tuple[Repeat, ...]:
    """Return the manifest's repeats with those that the suspects need; the same as before where there is no suspect.

    The control is a healthy member drawn at random, of a suspect's own host where there is one. None is healthy where
    the whole fleet is beyond a profile: then there is no control.
    """
    fleet = findings.fleet
    suspects = [gpu.member for gpu in findings.having("SUSPECT")]
    waiting = {repeat.member for repeat in fleet.repeats if repeat.status != "measured"}
    added = list(fleet.repeats)
    for member in suspects:
        if member.key not in waiting:
            added.append(Repeat(member.key, "suspect", _file(added, fleet, member)))
    if suspects and not any(repeat.role == "control" and repeat.status != "measured" for repeat in added):
        control = _control(findings, suspects)
        if control is not None:
            added.append(Repeat(control.key, "control", _file(added, fleet, control)))
    return tuple(added)


def cases_of(result: Path) -> tuple[Case, ...]:
    """Return the cases that a result holds, in its order. ResultFileError."""
    return tuple({record.case.id: record.case for record in read(result).records}.values())


def _control(findings: Findings, suspects: Sequence[Member]) -> Member | None:
    healthy = [gpu.member for gpu in findings.having("FINE", "UNJUDGED")]
    near = [member for member in healthy if member.host in {suspect.host for suspect in suspects}]
    chance = random.Random(f"{findings.fleet.id} {len(findings.fleet.repeats)}")
    return chance.choice(near or healthy) if healthy else None


def _file(so_far: Sequence[Repeat], fleet: Fleet, member: Member) -> str:
    taken = {repeat.result for repeat in so_far} | {known.result for known in fleet.members}
    number = 1
    while (name := f"{member.key}-again{number}.json") in taken:
        number += 1
    return name
