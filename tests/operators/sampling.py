"""Parts of products that are too large to be run whole, drawn so that nothing is left out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from itertools import product
from typing import Any


def some(*axes: Iterable[Any], each: int = 1) -> list[tuple[Any, ...]]:
    """Return combinations in which every value of every axis is met, `each` times where there are as many.

    They are the same in every run: a seed draws them.
    """
    every = [list(axis) for axis in axes]
    places = list(product(*(range(len(values)) for values in every)))
    random.Random(len(places)).shuffle(places)
    met: Counter[tuple[int, int]] = Counter()
    taken = []
    for fresh in (len(every), 1):  # first those that bring something new on every axis
        for place in places:
            if place not in taken and sum(met[pair] < each for pair in enumerate(place)) >= fresh:
                met.update(enumerate(place))
                taken.append(place)
    return [tuple(values[at] for values, at in zip(every, place, strict=True)) for place in sorted(taken)]
