"""Which samples of a round its median rests on, and which tell how well the median is known."""

from __future__ import annotations

import math
from functools import lru_cache


@lru_cache(maxsize=1024)
def ranks(count: int) -> tuple[int, int, int, int]:
    """Return the places, among `count` samples in order of size, of: one error below the median, the two middle ones
    (one and the same of an odd count), one error above.

    Of n samples the rank of the true median is binomial (n, 1/2): its standard deviation is half the root of n. Of the
    samples at these places alone, these places are all of them again, for any count from 1 on.
    """
    low = max(round((count - 1) / 2 - math.sqrt(count) / 2), 0)
    return low, (count - 1) // 2, count // 2, count - 1 - low
