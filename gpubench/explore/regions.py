"""Regions: what cases that lose have in common, learned from neighbours that lose too and neighbours that do not."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gpubench.explore.neighbours import SIZE, Value, values
from gpubench.model import Case, Json
from gpubench.standing import Standing


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of whole numbers, and how it is told."""

    word: str
    holds: Callable[[int], bool]


def _divisible(unit: int, wanted: bool) -> Callable[[int], bool]:
    return lambda number: (number % unit == 0) is wanted


UNITS = (4, 8, 16, 32, 64)
KINDS: tuple[Kind, ...] = (
    Kind("", _divisible(1, True)),
    Kind("odd", _divisible(2, False)),
    Kind("even", _divisible(2, True)),
    *(Kind(f"no multiples of {unit}", _divisible(unit, False)) for unit in UNITS),
    *(Kind(f"multiples of {unit}", _divisible(unit, True)) for unit in UNITS),
)
"""From the widest to the narrowest: the first that tells the losers from the others is named."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers from `low` to `high` of a kind."""

    low: int
    high: int
    kind: Kind = KINDS[0]

    def holds(self, value: Value) -> bool:
        """Tell whether a number is one of them."""
        return isinstance(value, int) and self.low <= value <= self.high and self.kind.holds(value)

    def told(self) -> str:
        """Return `17`, `2..32` or `3..31 odd`."""
        if self.low == self.high:
            return str(self.low)
        return f"{self.low}..{self.high}" + (f" {self.kind.word}" if self.kind.word else "")


@dataclass(frozen=True, slots=True)
class Words:
    """A few words, or a few numbers that have nothing else in common. None: any, for each that was tried loses."""

    members: frozenset[Value] | None

    def holds(self, value: Value) -> bool:
        """Tell whether a value is one of them."""
        return self.members is None or value in self.members

    def told(self) -> str:
        """Return the words in order."""
        if self.members is None:
            return "any"
        return " or ".join(
            str(member) for member in sorted(self.members, key=lambda member: (isinstance(member, str), member))
        )


Extent = Numbers | Words
ENOUGH = 3
"""Words that were tried, all of which lose, from which the others are taken to lose, too."""


def extent(tested: Mapping[Value, bool]) -> Extent:
    """Return what values that lose (True) have in common and those between them that do not lose have not."""
    lost = [value for value, loses in tested.items() if loses]
    numbers = sorted(value for value in lost if isinstance(value, int))
    if len(numbers) < len(lost):
        return Words(None if len(lost) == len(tested) >= ENOUGH else frozenset(lost))
    low, high = numbers[0], numbers[-1]
    won = [value for value, loses in tested.items() if not loses and isinstance(value, int) and low <= value <= high]
    for kind in KINDS:
        if all(map(kind.holds, numbers)) and not any(map(kind.holds, won)):
            return Numbers(low, high, kind)
    return Words(frozenset(lost))


def joined(one: Extent, other: Extent) -> Extent | None:
    """Return what holds both; None where they are of different kinds."""
    if isinstance(one, Numbers) and isinstance(other, Numbers):
        kind = one.kind if other.low == other.high and one.kind.holds(other.low) else other.kind
        fits = one.kind == other.kind or (one.low == one.high and kind.holds(one.low)) or kind == one.kind
        return Numbers(min(one.low, other.low), max(one.high, other.high), kind) if fits else None
    if isinstance(one, Words) and isinstance(other, Words):
        return Words(None if one.members is None or other.members is None else one.members | other.members)
    return None


@dataclass(slots=True)
class Region:
    """What was learned around one case that loses. tested: by parameter, each value tried and whether the case lost."""

    base: Case
    tested: dict[str, dict[Value, bool]] = field(default_factory=dict)

    def note(self, parameter: str, value: Value, loses: bool) -> None:
        """Take in what came of a neighbour."""
        self.tested.setdefault(parameter, {values(self.base)[parameter]: True})[value] = loses

    def box(self) -> Box:
        """Return what each parameter may be."""
        extents = {name: extent(self.tested.get(name, {own: True})) for name, own in values(self.base).items()}
        return Box(self.base.operator, extents)


@dataclass(frozen=True, slots=True)
class Box:
    """The cases of an operator whose parameters lie within extents, one for each."""

    operator: str
    extents: Mapping[str, Extent]

    def holds(self, case: Case) -> bool:
        """Tell whether a case lies inside."""
        mine = values(case)
        alike = case.operator == self.operator and mine.keys() == self.extents.keys()
        return alike and all(self.extents[name].holds(value) for name, value in mine.items())

    def joined(self, other: Box) -> Box | None:
        """Return the box that holds both; None where they do not fit together."""
        if self.operator != other.operator or self.extents.keys() != other.extents.keys():
            return None
        extents = {name: both for name, own in self.extents.items() if (both := joined(own, other.extents[name]))}
        return Box(self.operator, extents) if len(extents) == len(self.extents) else None

    def told(self) -> str:
        """Return the box in words: `cumsum over dim 0 of [2..32 odd, 1024], float32 or int32`."""
        told = {name: own.told() for name, own in self.extents.items()}
        sizes = ", ".join(told.pop(name) for name in list(told) if name.startswith(SIZE))
        name = " ".join(filter(None, [self.operator, told.pop("function", "")]))
        dims = f" over {_named('dim', told.pop('dim'))}" if "dim" in told else ""
        plain = {
            **dict.fromkeys(("layout", "source_layout", "out_layout"), "contiguous"),
            "keepdim": "False",
            "alpha": "1.0",
            **{key: "contiguous" for key in told if key.startswith("operand ")},
        }
        rest = [_named(key, word) for key, word in told.items() if plain.get(key) != word]
        return f"{name}{dims}{f' of [{sizes}]' if sizes else ''}, {', '.join(rest)}"


def _named(parameter: str, word: str) -> str:
    bare = parameter in ("dtype", "pattern") and word != "any"
    return word if bare else f"any {parameter}" if word == "any" else f"{parameter} {word}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A region with the cases in it that lose: their ratios' geometric mean, and who is mostly the fastest."""

    words: str
    ratio: float
    rival: str
    cases: tuple[Standing, ...]

    def told(self) -> str:
        """Return the finding as a line."""
        return f"{self.words}: {self.ratio:.2f} x {self.rival}, {len(self.cases)} case{'s' * (len(self.cases) != 1)}"

    def to_json(self) -> dict[str, Json]:
        """Return it as a result file keeps it."""
        ids = [standing.case.id for standing in self.cases]
        return {"region": self.words, "ratio": round(self.ratio, 4), "rival": self.rival, "cases": ids}


def finding(box: Box, losers: Sequence[Standing], subject: str) -> Finding:
    """Return what was found in a box, of the cases that lose anywhere."""
    inside = [standing for standing in losers if box.holds(standing.case)]
    ratios = [ratio for standing in inside if (ratio := standing.versus(subject)) is not None]
    rivals = Counter(standing.best_other(subject) or "" for standing in inside)
    return Finding(box.told(), statistics.geometric_mean(ratios), rivals.most_common(1)[0][0], tuple(inside))


def merged(boxes: Sequence[Box], winners: Sequence[Case]) -> list[Box]:
    """Join boxes where no case that does not lose lies in what holds both."""
    left = list(boxes)
    found: list[Box] = []
    while left:
        box = left.pop(0)
        again = True
        while again:
            again = False
            for other in left:
                both = box.joined(other)
                if both is not None and not any(map(both.holds, winners)):
                    left.remove(other)
                    box, again = both, True
                    break
        found.append(box)
    return found
