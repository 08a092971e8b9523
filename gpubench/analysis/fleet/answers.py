"""Answers that should be the same bytes on every GPU of a model, and are not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from gpubench.analysis.fleet.table import Answer, Seen
from gpubench.findings import Profile, Work


def odd_answers(members: Sequence[Seen], profile: Profile | None) -> list[dict[Work, str]]:
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
