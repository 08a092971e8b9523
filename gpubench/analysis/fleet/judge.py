"""Every member of a fleet with its finding: answers first, then times against its likes or a stored profile."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.fleet import table
from gpubench.analysis.fleet.profiles import require_fit, standard_times
from gpubench.analysis.fleet.reasons import reasons
from gpubench.analysis.fleet.rule import LEAST_PEERS, Rule, beyond, centres, effect, factor
from gpubench.analysis.fleet.table import Answer, Seen
from gpubench.findings import Again, Effect, Finding, Findings, Gpu, Group, Profile, Work
from gpubench.fleet import Fleet, Repeat

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


def judge(
    fleet: Fleet,
    results: Mapping[str, Seen],
    again: Mapping[str, Seen] | None = None,
    profile: Profile | None = None,
    rule: Rule | None = None,
) -> Findings:
    """Return what is found. `results`: by member; `again`: by the file of each repeated measurement.

    ComparisonError when the profile is of another model, or was not measured in the same way.
    """
    rule = rule or Rule()
    keys = [member.key for member in fleet.members if member.key in results]
    members = [results[key] for key in keys]
    columns = table.works(members)
    logs = table.matrix(members, columns)
    if profile is not None:
        require_fit(profile, fleet, members)
    wrong = _odd_answers(members, profile)
    ratios = np.full(logs.shape, np.nan)
    gpus: dict[str, Gpu] = {}
    groups = []
    for model in dict.fromkeys(member.model for member in members):
        places = [place for place, member in enumerate(members) if member.model == model]
        likes = [members[place] for place in places]
        stored = profile if profile is not None and profile.model == model else None
        healthy = standard_times(stored, likes, columns) if stored is not None else centres(logs[places])
        ratios[places] = logs[places] - healthy
        effects = [effect(ratios[place]) for place in places]
        group, slow = _group(model, effects, stored, rule)
        groups.append(group)
        for number, place in enumerate(places):
            gpu = Gpu(fleet.member(keys[place]), _first(group, effects[number]), effects[number])
            if number in slow:
                gpu = _confirmed(gpu, fleet, again or {}, healthy, columns, group, rule, ratios, keys)
            gpu = _with_answers(gpu, members[place], wrong[place], likes)
            if gpu.finding not in ("FINE", "UNJUDGED"):
                gpu = replace(gpu, reasons=reasons(members[place], likes))
            gpus[gpu.member.key] = gpu
    return Findings(
        fleet,
        tuple(gpus.get(member.key, Gpu(member, "MISSING")) for member in fleet.members),
        tuple(groups),
        columns,
        _rows(fleet, keys, ratios),
        tuple(_notes(fleet, groups, profile)),
    )


def _rows(fleet: Fleet, keys: Sequence[str], ratios: Array) -> tuple[tuple[float | None, ...], ...]:
    """Return the table with a row for each member of the manifest."""
    known = dict(zip(keys, ratios, strict=True))
    none = (None,) * ratios.shape[1]
    return tuple(
        tuple(None if math.isnan(value) else float(value) for value in known[member.key])
        if member.key in known
        else none
        for member in fleet.members
    )


def _first(group: Group, value: Effect | None) -> Finding:
    return "UNJUDGED" if group.against is None or value is None else "FINE"


def _group(
    model: str, effects: Sequence[Effect | None], profile: Profile | None, rule: Rule
) -> tuple[Group, frozenset[int]]:
    """Return the rule that the members of a model are held to, and which of them are beyond it."""
    known = [place for place, measured in enumerate(effects) if measured is not None]
    values = np.asarray([measured.value for measured in effects if measured is not None])
    if profile is not None:
        spread = max(profile.scale, rule.floor)
        threshold = rule.threshold(spread, len(known))
        slow = frozenset(place for place, value in zip(known, values, strict=True) if value > threshold)
        return Group(model, len(effects), "profile", spread, factor(len(known)), threshold), slow
    if len(known) < LEAST_PEERS:
        return Group(model, len(effects), None), frozenset()
    found = beyond(values, rule)
    group = Group(model, len(effects), "peers", max(found.scale, rule.floor), factor(len(known)), found.threshold)
    return group, frozenset(known[place] for place in found.slow)


def _confirmed(
    gpu: Gpu,
    fleet: Fleet,
    again: Mapping[str, Seen],
    healthy: Array,
    columns: Sequence[Work],
    group: Group,
    rule: Rule,
    ratios: Array,
    keys: Sequence[str],
) -> Gpu:
    """Return a member beyond the rule as SLOW, SUSPECT or FINE, by its second measurement beside a healthy control."""
    mine = _last(fleet, again, "suspect", gpu.member.key)
    second = None if mine is None else effect(table.matrix([again[mine.result]], columns)[0] - healthy)
    if second is None:
        return replace(gpu, finding="SUSPECT")
    shift, control = 0.0, _last(fleet, again, "control")
    if control is not None:
        before = effect(ratios[keys.index(control.member)])
        after = effect(table.matrix([again[control.result]], columns)[0] - healthy)
        shift = after.value - before.value if before is not None and after is not None else 0.0
    value = second.value - shift
    return replace(
        gpu,
        finding="SLOW" if rule.confirms(value, group.threshold) else "FINE",
        again=Again(value, None if control is None else control.member),
    )


def _last(fleet: Fleet, again: Mapping[str, Seen], role: str, member: str | None = None) -> Repeat | None:
    """Return the last repeated measurement of a role that is there."""
    found = [
        repeat
        for repeat in fleet.repeats
        if repeat.role == role and repeat.result in again and (member is None or repeat.member == member)
    ]
    return found[-1] if found else None


# --- Answers ---------------------------------------------------------------------------------------------------------


def _odd_answers(members: Sequence[Seen], profile: Profile | None) -> list[dict[Work, str]]:
    """Return for each member the work whose answer's bytes are not those of its likes, with words for it.

    Likes: the same model, work, machine code and numpy (which makes the inputs). The right bytes are the profile's, or
    those of more than half, of three at least. Where nobody is in the majority, all that differ are named: one of
    them is wrong, and which cannot be told.
    """
    found: list[dict[Work, str]] = [{} for _ in members]
    alike: dict[tuple[str, Work, str | None, str], list[int]] = defaultdict(list)
    for place, member in enumerate(members):
        for work, answer in member.answers.items():
            if answer.digest is not None:
                alike[member.model, work, answer.code, str(member.environment.get("numpy"))].append(place)
    stored = _stored(profile)
    for (model, work, code, _), places in alike.items():
        answers = {place: members[place].answers[work] for place in places}
        right = stored.get((model, work, code))
        for place, words in _odd(answers, right).items():
            found[place][work] = words
    return found


def _stored(profile: Profile | None) -> Mapping[tuple[str, Work, str | None], str]:
    """Return the profile's digests by model, work and machine code."""
    if profile is None:
        return {}
    return {
        (profile.model, (standard.case, standard.contender), standard.code_sha256): standard.answer_sha256
        for standard in profile.standards
        if standard.answer_sha256 is not None
    }


def _odd(answers: Mapping[int, Answer], right: str | None) -> dict[int, str]:
    counts = Counter(answer.digest for answer in answers.values())
    if right is None and len(counts) == 1:
        return {}
    most, votes = counts.most_common(1)[0]
    if right is not None:
        words = "other bytes than the profile has"
    elif votes >= 3 and 2 * votes > len(answers):
        right, words = most, f"other bytes than on {votes} GPUs"
    else:
        words = f"{len(counts)} different answers on {len(answers)} GPUs, and which is right cannot be told"
    return {place: words for place, answer in answers.items() if right is None or answer.digest != right}


def _with_answers(gpu: Gpu, member: Seen, odd: Mapping[Work, str], likes: Sequence[Seen]) -> Gpu:
    """Return the member with its wrong and missing answers; they outrank its times."""
    wrong = [f"{case} {contender}: {words}" for (case, contender), words in odd.items()]
    wrong += [f"{case} {name}: wrong" for (case, name), status in member.statuses.items() if status == "wrong"]
    failed = tuple(
        f"{case} {contender}: {status}"
        for (case, contender), status in member.statuses.items()
        if table.failed(status) and _others_did((case, contender), member, likes)
    )
    finding: Finding = "WRONG" if wrong else "FAILED" if failed else gpu.finding
    return replace(gpu, finding=finding, wrong=tuple(wrong), failed=failed)


def _others_did(work: Work, member: Seen, likes: Sequence[Seen]) -> bool:
    """Tell whether at least half of the others of the model have a time for this work."""
    others = [other for other in likes if other is not member]
    return bool(others) and 2 * sum(work in other.log_us for other in others) >= len(others)


# --- Notes -----------------------------------------------------------------------------------------------------------


def _notes(fleet: Fleet, groups: Sequence[Group], profile: Profile | None) -> list[str]:
    """Return what a reader should know of the judgement."""
    notes = []
    for group in groups:
        if group.against is None:
            what = "a profile of another model was given" if profile is not None else "no profile was given"
            notes.append(
                f"{group.model}: {group.count} GPU{'s' * (group.count > 1)}, and {what}. Fewer than {LEAST_PEERS} "
                "cannot be judged by each other: `gpubench fleet profile` makes a profile of healthy ones."
            )
    if fleet.at_once:
        notes.append("The GPUs of a host worked at once: their times hold what they share, power and PCIe among it.")
    return notes
