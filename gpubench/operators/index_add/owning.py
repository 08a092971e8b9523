"""Where threads own places: what measurements chose on one H200, and the rule; see owned.py for the plans."""

from __future__ import annotations

import math
from typing import Any

from gpubench import dtypes
from gpubench.model import Problem, Refused
from gpubench.operators.constants import tuned
from gpubench.operators.index_add import scattered
from gpubench.operators.index_add.form import MOST_OUTERS, Form
from gpubench.operators.index_add.regimes import is_for_narrow, is_for_private_copies, is_for_squares, sorting_us
from gpubench.operators.index_add.strides import Strides, strides_of
from gpubench.operators.index_add.tuning import OWNED_LEAST, SHORT, SMALL

OWNED_LEAST_DENSE = 2**18
"""Elements of 16 bytes from which they do where two indices or more come to each place and dims do not merge, or turn:
nine random cases 1.50 times as fast, 0.78 to 4.5, 264 x 19 x 7, 738 of one place 186 us by atomics; of other dtypes,
from a sixteenth of `OWNED_LEAST` on, 81 cases 0.82."""

OWNED_SORTED = 512
"""Indices that each block of owners sorts by itself: 1884 into 2 x 256 x 266 x 5 86 us, sorted before 48."""

OWNED_ATOMICS = 100_000
OWNED_SORT_US = 1.5
OWNED_RESIDENT = 2**15
OWNED_ALONE = 0.5
"""Atomics in a microsecond, what sorting a piece of `OWNED_SORTED` indices takes, positions that resident blocks have
at once, and the share of a sort's time up to which owners of a longer list rather take such pieces, which blocks sort
for themselves: 64 x 9 x 133, 3517 of int32 28.9 us (31.0 with a launch that sorts), half of them to one place 29.6
(32.5), 28 x 8 x 16 x 6, 10686 of complex128 132 (143)."""

FEW_ACROSS = 4
ACROSS_LEAST = 2**19
"""Indices, and elements, from which an atomic each, indices fastest, is better where only the destination is dense
along the dim and indices seldom come again: 300000 x 40, 20 of float32 52 us (95 by owners), 29 x 3856 x 185, 215 of
int32 298 (752); 619 x 284, 50 of float32 7.0 (6.4 elements fastest)."""

LONG_LINE = 2**15
"""Indices from which squares take the lines of a source whose neighbours are indices, and its destination's are not,
for owners find each element in the L2 cache. On an H100 16 x 4821 x 8, 80917 of int64 80 us (289), 400000 309 (1592),
61607 by 1 / rank of float32 139 (544), half of 45692 on one place 367 (472), 52051 times one index 92 (94); but 145387
below 11 of 16 x 8 float16 202 (158)."""

OWNED_MOST = 2048
OWNED_MOST_TURNED = 8192
CROWDED = 64
"""Indices up to which they do where dims merge; and from which they do whatever it costs where not: all of 60000 may
meet one place, 19 us (1593 by atomics). Not where lanes that look for their place in others see those, unless so many
indices come to each place: 19 x 4096 x 4, 52949 of complex64 33 us (76), 2 x 300 x 3 x 2, 200000 48 (36)."""


def is_for_owned(problem: Problem[Any], form: Form | Refused) -> bool:
    """Say whether a thread should own each place: no atomics that could meet, and any strides."""
    count, elements, dtype = problem.params.count, problem.operand("source").view.size, problem.case.dtype
    strides, small, itemsize = strides_of(problem), dtype in SMALL, dtypes.dtype(dtype).itemsize
    dense = count >= 2 * strides.places
    least = OWNED_LEAST[itemsize] if dense or itemsize < 8 else 2 * OWNED_LEAST[itemsize]
    if isinstance(form, Form) and not form.is_turned:
        return _is_for_owned_rows(form, small, elements, least if dense or small else 2 * least)
    if isinstance(form, Form) and (is_for_private_copies(form) or is_for_squares(form, dtype) or is_for_narrow(form)):
        return False
    if turns_long_lines(strides, dtype):
        return False
    across = is_across(strides, dtype) and not dense
    seen = strides.inside < 32 and count < CROWDED * strides.places  # by lanes that look for others with their place
    if dense and itemsize == 16:
        least = tuned("OWNED_LEAST_DENSE", OWNED_LEAST_DENSE)
    return (elements >= least and not across) or (count > OWNED_MOST_TURNED and not seen)


def is_owned_alone(strides: Strides, dtype: str) -> bool:
    """Say whether blocks of owners sort the list for themselves, piece by piece, rather than a launch before them.

    A place of a piece is an atomic, of 16 bytes two, where other pieces' additions meet it: worth it where a piece
    comes to half as many places as it has indices, spread evenly.
    """
    if strides.count <= OWNED_SORTED:
        return True
    left = strides.places / OWNED_SORTED * -math.expm1(-OWNED_SORTED / strides.places)
    if dtype in SMALL or left > 0.5:  # words of small integers are added to more than once
        return False
    atomics = strides.count * strides.positions * left * max(1, dtypes.dtype(dtype).itemsize // 8)
    pieces = strides.count / OWNED_SORTED
    sorts = min(pieces, max(1.0, pieces * strides.positions / OWNED_RESIDENT))  # of a block, one after the other
    return atomics / OWNED_ATOMICS + sorts * OWNED_SORT_US <= OWNED_ALONE * sorting_us(strides.count)


def is_across(strides: Strides, dtype: str) -> bool:
    """Say whether much comes to a destination that alone is dense along the dim: atomics take its indices first."""
    fits = dtype not in SMALL and dtypes.dtype(dtype).itemsize <= 8
    large = strides.count > FEW_ACROSS and strides.count * strides.positions >= ACROSS_LEAST
    return fits and large and strides.is_denser(0) and not strides.is_denser(1)


def turns_long_lines(strides: Strides, dtype: str) -> bool:
    """Say whether a source is dense along the dim in lines that shared memory does not hold, and its destination not.

    Owners look for each element in the L2 cache, and squares with atomics do not: `LONG_LINE` has the evidence.
    """
    squares = dtype not in SMALL and scattered.is_turned(strides, dtype)
    return squares and strides.is_denser(1) and strides.count > LONG_LINE


def _is_for_owned_rows(form: Form, small: bool, elements: int, least: int) -> bool:
    """Say the same where dims merge and do not turn."""
    if is_for_private_copies(form) or form.inner * form.outers < 32:
        return False
    if form.inner == 1 and form.outers >= 1024 and 128 * form.places <= form.count <= OWNED_MOST_TURNED:
        return elements >= OWNED_LEAST[4]
    if form.count > OWNED_MOST or elements < least:
        return False
    if small and form.vector == 1 and form.inner >= 128:
        return True
    short = (form.inner < SHORT and form.vector == 1) or form.outers > MOST_OUTERS
    return short and form.outers > 1 and form.row_bytes < 128
