#!/usr/bin/env python3
"""Time index_add's `auto` on lists made against what its kernels look at first: what does a wrong guess cost?

    scripts/index_add_guesses.py cuda:0 --out guesses.jsonl

Where a kernel looks, each list seems to be of one kind, and is of another elsewhere: whoever makes one must know the
hash that says where is looked (cuda_src/include/gpubench/sampling.cuh). `partitioned` draws its seed anew each launch,
so that its lists are made in vain. Some are no such thing, but lists as they come: sorted pieces one after the other, a
beginning of another kind; plain ones are alike all through, of sizes that do not tell of what kind. All variants are
timed cold by turns on the same list, as scripts/random_speed.py does; `over the best` is the time of `auto` by that of
the fastest.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from random_speed import Bench  # noqa: E402 - the checkout must be found first

from gpubench.model import Case, DeviceInfo, Plan  # noqa: E402
from gpubench.operators import OPERATORS  # noqa: E402
from gpubench.operators.hard import make_case  # noqa: E402
from gpubench.operators.index_add import cached, cached_rows, given  # noqa: E402
from gpubench.operators.index_add.indices import draw  # noqa: E402
from studies.sampling import Array, counted_by_partition, sampled_place  # noqa: E402

INDEX_ADD = OPERATORS["index_add"]
LOOKS, BLOCK = 8, 1024
"""Rows of its threads, and these, at which a block of `partitioned` looks for order."""

WARP = 32
SINGLES = (15, 16, 17, 17.5, 18)
"""log2 of the single elements between the sizes from which `combined`'s blocks and `cached` take them."""


@dataclass(frozen=True, slots=True)
class Made:
    """A list: its name, the case's shape, dtype and number of indices, and who makes it of (plan, places, indices)."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    count: int
    make: Callable[[Plan, int, int], Array]


def noted(plan: Plan, name: str) -> int:
    """Return a number of the plan's notes."""
    return int(str(plan.notes[name]))


def even(places: int, count: int) -> Array:
    """Return indices spread evenly by chance."""
    return np.random.default_rng(1).integers(0, places, count)


def seems_even(plan: Plan, places: int, count: int) -> Array:
    """Return what is even where `partitioned` samples, and one place elsewhere."""
    return np.where(counted_by_partition(count, noted(plan, "blocks")), even(places, count), places // 2)


def seems_crowded(share: float) -> Callable[[Plan, int, int], Array]:
    """Return who makes what comes to a share of the slices where `partitioned` samples, and is even elsewhere."""

    def make(plan: Plan, places: int, count: int) -> Array:
        near = even(max(1, int(share * noted(plan, "slices"))) * noted(plan, "slice"), count)
        return np.where(counted_by_partition(count, noted(plan, "blocks")), near, even(places, count))

    return make


def seems_sorted(plan: Plan, places: int, count: int) -> Array:
    """Return what stands in order where `partitioned` looks for that, and is even elsewhere."""
    each = -(-count // noted(plan, "blocks"))
    found, start = even(places, count), np.arange(0, count, each)
    for first, stop in zip(start, [*start[1:], count], strict=True):
        stratum = (stop - first) // LOOKS
        turns = sampled_place(first + np.arange(LOOKS), count, max(stratum - BLOCK, 0) + 1)
        for begin in first + np.arange(LOOKS) * stratum + turns:
            found[begin : begin + BLOCK].sort()
            found[begin : begin + BLOCK] = found[begin] // 2 + np.arange(len(found[begin : begin + BLOCK]))
    return found


def fills_table(plan: Plan, places: int, count: int) -> Array:
    """Return what fills the table of a block of `cached` rows in the first third of its range; then one place."""
    at, table = np.arange(count) % noted(plan, "range"), noted(plan, "table")
    filling = at // 2 * 2654435761 % (2 * table) * (places // (2 * table))  # each row in pairs, anywhere
    return np.where(at < noted(plan, "range") // 3, filling, places // 2)


def shares_tag(plan: Plan, places: int, count: int) -> Array:
    """Return two places by turns that a block of `cached` rows takes for one: none stays the one that came last."""
    del plan
    tags = np.arange(places, dtype=np.uint32) * np.uint32(2654435769) // np.uint32(2**32 // cached_rows.TAGS)
    pair = np.flatnonzero(tags == tags[0])[:2]
    found: Array = pair[np.arange(count) % 2]
    return found


def looked(plan: Plan, count: int) -> Array:
    """Return which indices blocks of `cached` look at: the first of each thread, in the first tile of its range."""
    tiles = -(-count // cached.TILE)
    each = -(-tiles // noted(plan, "blocks")) * cached.TILE
    seen: Array = np.arange(count) % each < cached.THREADS
    return seen


def seems_apart(hot: int) -> Callable[[Plan, int, int], Array]:
    """Return who makes what differs where blocks of `cached` look, and comes to so many places elsewhere."""

    def make(plan: Plan, places: int, count: int) -> Array:
        at = np.arange(count)
        return np.where(looked(plan, count), at % places, places // hot * (at % hot))

    return make


def seems_rare(plan: Plan, places: int, count: int) -> Array:
    """Return what differs where blocks of `cached` look; elsewhere the first of each warp's is one place."""
    return np.where(looked(plan, count) | (np.arange(count) % WARP != 0), even(places, count), places // 2)


def seems_alike(plan: Plan, places: int, count: int) -> Array:
    """Return one place where blocks of `cached` look, and what is even elsewhere."""
    return np.where(looked(plan, count), places // 2, even(places, count))


def sorted_pieces(pieces: int) -> Callable[[Plan, int, int], Array]:
    """Return who makes sorted pieces one after the other, each over all places."""

    def make(plan: Plan, places: int, count: int) -> Array:
        del plan
        return np.sort(even(places, count).reshape(pieces, -1)).ravel()

    return make


def changing(plan: Plan, places: int, count: int) -> Array:
    """Return a twentieth spread evenly, then one place."""
    del plan
    return np.where(np.arange(count) < count // 20, even(places, count), places // 2)


def plain(pattern: str) -> Callable[[Plan, int, int], Array]:
    """Return who makes a list that is alike all through, as a suite's cases have it."""

    def make(plan: Plan, places: int, count: int) -> Array:
        del plan
        return draw(pattern, places, count, 1, 1)

    return make


def lists() -> Iterator[Made]:
    """Yield all lists."""
    yield from _made()
    for places, *exponents in ((2**20, *SINGLES), (2**14, *SINGLES), (2000, 18, 20, 22), (300, 18, 20, 22)):
        for exponent, pattern in itertools.product(exponents, ("uniform", "zipf", "half_same", "sorted")):
            count = round(2**exponent)
            yield Made(f"plain: {count} {pattern} into {places}", (places,), "float32", count, plain(pattern))


def _made() -> Iterator[Made]:
    """Yield those that seem of one kind, and are of another."""
    single = ((2**25,), "float32", 2**24)
    yield Made("partitioned: seems even, is one place", *single, seems_even)
    yield Made("partitioned: seems of one slice, is even", *single, seems_crowded(0))
    yield Made("partitioned: seems of a third of the slices, is even", *single, seems_crowded(1 / 3))
    yield Made("partitioned: seems in order, is even", *single, seems_sorted)
    yield Made("partitioned: 64 sorted pieces", *single, sorted_pieces(64))
    yield Made("partitioned: 8 sorted pieces", *single, sorted_pieces(8))
    yield Made("partitioned: a twentieth even, then one place", *single, changing)
    for dtype in ("float32", "bfloat16"):
        rows = (2**21, 16), dtype, 2**21
        yield Made("rows: fills the table, then one place", *rows, fills_table)
        yield Made("rows: two places of one tag", *rows, shares_tag)
        yield Made("rows: a twentieth even, then one place", *rows, changing)
    for count in (2**21, 2**23):
        yield Made("cached: seems apart, is one place", (2**20,), "float32", count, seems_apart(1))
        yield Made("cached: seems apart, is eight places", (2**20,), "float32", count, seems_apart(8))
        yield Made("cached: seems apart, is 64 places", (2**20,), "float32", count, seems_apart(64))
        yield Made("cached: seems apart, one in 32 is one place", (2**20,), "float32", count, seems_rare)
        yield Made("cached: seems alike, is even", (2**20,), "float32", count, seems_alike)
        yield Made("cached: a twentieth even, then one place", (2**20,), "float32", count, changing)


def planned(case: Case, device: DeviceInfo) -> Plan:
    """Return the plan of `auto`."""
    plan = INDEX_ADD.choose(INDEX_ADD.problem(case), device)
    assert isinstance(plan, Plan), plan
    return plan


def measure(bench: Bench, made: Made, number: int, folder: Path) -> dict[str, Any]:
    """Time all variants on one list."""
    params: dict[str, Any] = {"shape": list(made.shape), "indices": made.count}
    plan = planned(make_case(INDEX_ADD, made.dtype, params), bench.device.info)
    np.save(folder / f"{number}.npy", made.make(plan, made.shape[0], made.count).astype(np.int32))
    case = make_case(INDEX_ADD, made.dtype, {"shape": params["shape"], "indices": {"file": f"{number}.npy"}})
    found = bench.time(case, others=True)
    (folder / f"{number}.npy").unlink()
    times = found["us"]
    best = min(times, key=lambda name: times[name])
    print(
        f"{made.name} {made.dtype} {found['variant']} {times['gpubench']:.1f} us, "
        f"{times['gpubench'] / times[best]:.2f} over the best, {best}",
        flush=True,
    )
    return {"list": made.name, "dtype": made.dtype, "count": made.count, "variant": found["variant"], "us": times}


def main() -> int:
    """Time all lists."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", help="such as cuda:0")
    parser.add_argument("--out", type=Path, default=Path("guesses.jsonl"), help="where a JSON line a list goes")
    parser.add_argument("--only", default="", help="lists whose names have this in them")
    options = parser.parse_args()
    bench = Bench(options.device, [])
    with tempfile.TemporaryDirectory() as name, options.out.open("w", encoding="utf-8") as file:
        given.tell_folder(Path(name))
        for number, made in enumerate(made for made in lists() if options.only in made.name):
            print(json.dumps(measure(bench, made, number, Path(name))), file=file, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
