"""How the lines of a sum are formed and cut into slices, lanes and parts: rules and numbers that measurements chose."""

from __future__ import annotations

from gpubench.model import DeviceInfo
from gpubench.operators.constants import tuned
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.sum.fast import LOADS
from gpubench.operators.sum.lines import MOST_PLACES, Cut, Line, least_places
from gpubench.operators.sum.merged import Merged

WORDS = 4352
"""Words that one block collects: 65536 x 64 float32 with 66 parts 14.4 us, with 132 17.1."""

RAGGED_LINE = 256
"""Lines of fewer bytes that begin off the vectors' grid are read element by element."""

SMALL_COLUMNS = 3 * 2**19
"""Bytes of columns below which those that do not stand on vectors are read element by element: 8256 x 15 int16 6.5 us
(7.2 by vectors), 1009 x 1013 int8 7.0 (8.9)."""

LONG_LINE = 2048
"""Bytes of a line beyond which none is better: 432 x 16 x 14 x 195 float16 21.3 us (23.8 in lines of 390)."""

NARROW_LINE = 64
MANY_BYTES = 40 * 2**20
"""Vectors of lines that are cut into slices of eight where all is less than MANY_BYTES: shorter folds are worth more
than wider reads. 65536 x 64 float32 13.0 us (14.2 with 16), 7152 x 2 x 24 complex128 9.3 (13.4 with 24)."""

WIDE_SLICES = 2**28
"""From so many bytes on lines are cut into slices of 32 vectors: 347 x 36 x 8 x 1354 int64 264 us (279 with 16),
219 x 1381 x 192 int64 122 (130)."""

TOGETHER = 8
"""Terms side by side in a line from which slices are of 128 places where lines are longer than they are many: 7 x 43674
x 43 int16 to columns 42.8 us (57.5 with 64), 5 x 197800 x 37 complex128 177 (258); but 43872 x 59 x 28 int16 87 with 64
(108), 28 x 48 x 3665 x 5 float16 40 (47)."""

RAGGED_ROWS = 100
"""Rows of ragged lines from which blocks are of 128 threads and more: 19 x 23 x 48724 int8 15.5 us (17.2 with 64), but
24 rows, 7 x 1022 x 24 x 635 bfloat16 turned 157 (107), 87 x 4297 x 28 uint8 18.6 (17.7)."""

FLAT_COLUMNS = 64
"""More columns than these, if they are RAGGED_LINE bytes, are cut into slices: 111651 x 420 uint8 28 us (116 flat)."""

FLAT_BYTES = 2**24
"""Below it 256 threads an SM are enough for rows of a few columns: 1000000 x 2 float32 11.5 us (12.5 with 512)."""


def best_line(lines: list[Line], shape: Merged) -> Line:
    """Return the way to form lines that reads most side by side, by vectors where it can."""

    def merit(line: Line) -> tuple[bool, bool, bool, int, int, int]:
        run = line.items * shape.itemsize
        vectors = line.vector == shape.vector
        good = vectors and (not line.ragged or run >= RAGGED_LINE)
        if line.flat and line.neighbours.size > FLAT_COLUMNS and run >= RAGGED_LINE * line.together:
            good = False
        if shape.bytes < SMALL_COLUMNS:
            good = line.form == "whole"
        narrower = 0 if vectors else line.vector
        longest = tuned("LONG_LINE", LONG_LINE)
        return good, good and vectors, not line.ragged, narrower, min(run, longest), -line.together

    return max(lines, key=merit)


def cut(line: Line, shape: Merged, device: DeviceInfo) -> Cut:
    """Return slices, lanes and parts."""
    if line.ragged:
        return _ragged_cut(line, device)
    by_vectors = line.vector == shape.vector
    vectors = line.items // line.vector
    least = vectors if line.flat else least_places(line, line.vector)
    narrow = (vectors <= tuned("NARROW_LINE", NARROW_LINE) and shape.bytes < MANY_BYTES) or shape.bytes < SMALL_COLUMNS
    light = narrow and by_vectors and (not (line.flat or shape.itemsize == 1) or shape.bytes < FLAT_BYTES)
    target = (256 if light else 512 if by_vectors else 1024) * device.sm_count  # threads; an element a load brings less
    wanted = _wide(vectors, target, line, shape) if by_vectors else 64
    if line.together >= TOGETHER and vectors > line.rows:
        wanted = 128
    if narrow and (by_vectors or vectors * line.lines < 64 * device.sm_count):
        wanted = 8
    if by_vectors and vectors <= 8 and vectors * line.vector * device.sm_count > WORDS and not line.flat:
        wanted = max(2, vectors // 2)
    places = vectors if line.flat else min(least * max(1, wanted // least), ceil_div(vectors, least) * least)
    slices = ceil_div(vectors, places) * line.lines
    lanes = max(1, min(256 // places, line.rows, 256 if line.apart == 1 else 64))
    if slices * lanes * places >= target:
        if line.together > 1 and not line.flat:  # 40 x 30 x 500 x 90 float16 37.0 us with one lane, 39.5 with two
            lanes = min(lanes, ceil_div(target, slices * places))
        else:
            lanes = max(1, min(lanes, ceil_div(line.rows, LOADS)))
            lanes = max(lanes, min(128 // places, line.rows, 64))
        while shape.itemsize <= 2 and lanes * places > 128 and slices * (lanes // 2) * places >= 1.15 * target:
            lanes //= 2  # 72 x 13744 x 23 bfloat16 20.7 us with 2 lanes, 24.6 with 9
        return Cut(places, lanes, 1, ceil_div(lanes * places, 32) * 32)
    lanes = max(1, min((256 if light else MOST_PLACES) // places, line.rows))
    while lanes > 1 and slices * lanes * places > target:
        lanes //= 2
    return _parts(line, places, lanes, target / (slices * lanes * places))


def _wide(vectors: int, target: int, line: Line, shape: Merged) -> int:
    """Return the vectors of a slice of lines of many: so few that there are blocks enough."""
    if ceil_div(vectors, 64) * 64 * line.lines >= target:
        return 64
    threads = ceil_div(vectors, 32) * MOST_PLACES * line.lines
    return 32 if shape.bytes >= WIDE_SLICES and not target < 2 * threads < 4 * target else 16


def _parts(line: Line, places: int, lanes: int, wanted: float) -> Cut:
    """Return the cut with about so many blocks a slice as are wanted."""
    parts = max(1, min(int(wanted), ceil_div(line.rows, lanes * LOADS)))
    words = tuned("WORDS", WORDS) // (line.neighbours.size if line.flat else places * line.vector)
    parts = min(parts, max(8, words, line.rows * places // 2**14))  # but not where a block reads over 256 KB
    return Cut(places, lanes, parts, ceil_div(lanes * places, 32) * 32)


def _ragged_cut(line: Line, device: DeviceInfo) -> Cut:
    """Return slices of 16 vectors or the whole line, with lanes for every way that terms begin.

    Smaller blocks where there are many slices: 17 x 5184 x 30 x 17 bfloat16 37 us with seven of 128 threads a slice,
    71 with one of 512.
    """
    places = min(16, ceil_div(line.items + line.vector - 1, line.vector))
    lanes = max(1, MOST_PLACES // places // line.classes) * line.classes
    target = 512 * device.sm_count
    slices = ceil_div(line.items, max(1, (places - 1) * line.vector)) * line.lines
    while (
        lanes > line.classes
        and lanes * places > (64 if line.rows < RAGGED_ROWS else 128)
        and (lanes >= 2 * line.rows or slices * lanes * places * 8 > target)
    ):
        lanes = max(line.classes, lanes // 2 // line.classes * line.classes)
    if line.rows <= lanes:
        return Cut(places, line.rows, 1, ceil_div(line.rows * places, 32) * 32)
    parts = max(1, min(target // (slices * lanes * places), ceil_div(line.rows, lanes * LOADS)))
    return Cut(places, lanes, parts, ceil_div(lanes * places, 32) * 32)
