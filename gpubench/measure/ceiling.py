"""The fastest that this device moved so many bytes, with this mix of reads and writes, in this run.

The sweep of a run (`Ceiling.sweep`) has the cold times of a copy, a read and a write at sizes a factor of 2 apart. A
time in between is read off the straight line through its neighbours: over bytes, because a kernel takes a constant and
then a time for each byte; and over the part that is written (none: the read; half: the copy; all: the write).
"""

from __future__ import annotations

from collections.abc import Sequence

from gpubench.model import Ceiling

KINDS = ("read_us", "copy_us", "write_us")
"""The three times of a point, in the order of the part that is written: 0, one half, 1."""


def ceiling_us(ceiling: Ceiling, read: int, written: int) -> float | None:
    """Return the least time in microseconds for these bytes, by events as all times; None without a sweep or bytes."""
    moved = read + written
    if not ceiling.sweep or moved <= 0:
        return None
    place = 2 * written / moved
    first = min(int(place), 1)
    before, after = (_time(ceiling, kind, moved) for kind in KINDS[first : first + 2])
    return before + (place - first) * (after - before)


def _time(ceiling: Ceiling, kind: str, moved: int) -> float:
    """Return the time of one kind at a number of bytes. Beyond the last size the rate is that of the last."""
    points: list[tuple[float, float]] = [(point.bytes, getattr(point, kind)) for point in ceiling.sweep]
    points.sort()
    if moved >= points[-1][0]:
        return points[-1][1] * moved / points[-1][0]
    if ceiling.launch_us is not None and ceiling.launch_us <= points[0][1]:
        points.insert(0, (0.0, ceiling.launch_us))  # moving nothing takes what a launch takes
    return _between(points, moved)


def _between(points: Sequence[tuple[float, float]], moved: int) -> float:
    """Return the height at `moved` of the line through the points; the first one's before it."""
    last, height = points[0]
    if moved <= last:
        return height
    for size, time in points[1:]:
        if moved <= size:
            return height + (moved - last) / (size - last) * (time - height)
        last, height = size, time
    return height
