"""Numbers of the fast sums that measurements chose."""

from __future__ import annotations

from gpubench.model import DeviceInfo
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.sum.exchange import LOADS
from gpubench.operators.sum.lines import MOST_PLACES, Cut, Line, least_places
from gpubench.operators.sum.merged import Merged

SHORT_RUN = 1024
"""Runs of terms of fewer bytes are read as places in lines, where the dims form any."""

WORDS = 4352
"""Words that one block collects: 65536 x 64 float32 with 66 parts 14.4 us, with 132 17.1."""

RAGGED_LINE = 256
"""Lines of fewer bytes that begin off the vectors' grid are read element by element."""

ONE_BLOCK = 4096
"""Up to so many vectors are one block's work: 16384 float32 4.9 us, 5.6 with two blocks."""

STAGED_ROW = {1: 256}
STAGED_ROWS = 2100
"""Rows off the vectors' grid of up to so many bytes (by bytes of an element, and in general) go through shared memory:
513 float32 15.2 us (16.9 by lanes), 513 int8 10.7 (10.1). Not below STAGED_LEAST: 3000 x 100 6.1 us (5.4)."""

STAGED_LEAST = 2 * 2**20

LANES_ROW = 128
"""Vectors of a row that lanes take: 125 of bfloat16 37.9 us (44.9 by a block a row), 250 of float32 69.9 (66.2)."""

STAGED_GROUP = 16384
"""Groups of columns of up to so many bytes go through shared memory ..."""

SMALL = 4 * 2**20
"""Bytes of x below which a few terms are added up by single threads however they lie."""

WIDE_LINE = 128
"""... unless so many bytes of columns lie side by side."""


def rows(vectors: int, outputs: int, device: DeviceInfo) -> tuple[int, int]:
    """Return (threads, parts) for outputs of so many vectors."""
    every = vectors * outputs
    if outputs >= device.sm_count or vectors <= ONE_BLOCK:
        loads = max(4, min(LOADS, every // (512 * device.sm_count))) if vectors < 1024 else LOADS
        return min(512, max(64, ceil_div(vectors, loads * 32) * 32)), 1
    if 4 * outputs >= device.sm_count and vectors <= 4 * ONE_BLOCK:
        return 512, 1
    threads = 256 if every < 2**20 else 512
    blocks = device.sm_count if every < 2**25 else 2 * device.sm_count
    least = max(ceil_div(vectors, LOADS * threads), min(32 // outputs, vectors // threads))
    return threads, max(1, min(ceil_div(blocks, outputs), least))


def lanes(vectors: int, outputs: int, device: DeviceInfo) -> tuple[int, int, int]:
    """Return (lanes a row, vectors of a lane, rows a group) for rows of so many vectors."""
    width = min(32, power_of_two(ceil_div(vectors, 2 if vectors >= 8 else 4)))
    of_lane = power_of_two(ceil_div(vectors, width))
    threads = outputs * width
    most = 1 if of_lane == 4 else LOADS // of_lane
    slots = max(1, min(most, threads // (device.sm_count * 1024)))
    return width, of_lane, slots


def staged(terms: int, neighbours: int, shape: Merged) -> tuple[int, int, int]:
    """Return (groups of a tile, lanes an output, threads)."""
    group = terms * neighbours * shape.itemsize
    room = 8 * 1024 if group <= 4096 else 30 * 1024
    tile = max(1, min(room // group, ceil_div(128 if neighbours == 1 else 512, neighbours)))
    threads = 128 if tile * neighbours <= 288 else 256
    width = 1
    while width < 32 and width * 2 * tile * neighbours <= threads and width * 4 < terms:
        width *= 2
    return tile, width, threads


def best_line(lines: list[Line], shape: Merged) -> Line:
    """Return the way to form lines that reads most side by side, by vectors where it can."""

    def merit(line: Line) -> tuple[bool, bool, int, int]:
        run = line.items * shape.itemsize
        wide = not line.ragged or run >= RAGGED_LINE
        return wide and (line.vector > 1 or shape.itemsize == 16), not line.ragged, min(run, 256), -line.together

    return max(lines, key=merit)


def cut(line: Line, device: DeviceInfo) -> Cut:
    """Return slices, lanes and parts."""
    if line.ragged:
        return _ragged_cut(line, device)
    vectors = line.items // line.vector
    least = vectors if line.flat else least_places(line, line.vector)
    if line.flat or vectors <= 16:
        places = vectors
    else:
        wanted = 16 if line.vector > 1 else 64
        places = min(least * max(1, wanted // least), ceil_div(vectors, least) * least)
    slices = ceil_div(vectors, places) * line.lines
    target = 512 * device.sm_count  # threads
    lanes = max(1, min(256 // places, line.rows))
    if slices * lanes * places >= target:
        lanes = max(1, min(lanes, ceil_div(line.rows, LOADS)))
        lanes = max(lanes, min(128 // places, line.rows))
        return Cut(places, lanes, 1, ceil_div(lanes * places, 32) * 32)
    lanes = max(1, min(MOST_PLACES // places, line.rows))
    while lanes > 1 and slices * lanes * places > target:
        lanes //= 2
    parts = max(1, min(target // (slices * lanes * places), ceil_div(line.rows, lanes * LOADS)))
    parts = min(parts, max(8, WORDS // (line.neighbours.size if line.flat else places * line.vector)))
    return Cut(places, lanes, parts, ceil_div(lanes * places, 32) * 32)


def _ragged_cut(line: Line, device: DeviceInfo) -> Cut:
    """Return slices of 32 vectors or the whole line, with lanes for every way that terms begin."""
    places = min(32, ceil_div(line.items + line.vector - 1, line.vector))
    lanes = MOST_PLACES // places // line.classes * line.classes
    target = 512 * device.sm_count
    slices = ceil_div(line.items, max(1, (places - 1) * line.vector)) * line.lines
    while lanes > line.classes and (lanes >= 2 * line.rows or slices * (lanes // 2) * places >= 2 * target):
        lanes = max(line.classes, lanes // 2 // line.classes * line.classes)
    if line.rows <= lanes:
        return Cut(places, line.rows, 1, ceil_div(line.rows * places, 32) * 32)
    parts = max(1, min(target // (slices * lanes * places), ceil_div(line.rows, lanes * LOADS)))
    return Cut(places, lanes, parts, ceil_div(lanes * places, 32) * 32)
