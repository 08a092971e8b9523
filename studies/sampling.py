"""Where index_add's kernels look at a list first, as gpubench/sampling.cuh says: for lists made against that.

So on the host device: on a GPU each launch of `partitioned` has a seed of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpubench.operators.index_add import partitioned

Array = np.ndarray[Any, np.dtype[Any]]


def sampled_place(place: Array, seed: int, places: int) -> Array:
    """Return which of so many places is sampled, for each place of a sample of a list of `seed` indices."""
    bits = np.uint64(2**32 - 1)
    hashes = (place.astype(np.uint64) ^ np.uint64(seed * 2654435769 % 2**32)) * np.uint64(2246822507) & bits
    hashes = (hashes ^ hashes >> np.uint64(13)) * np.uint64(3266489909) & bits
    return (hashes * np.uint64(places) >> np.uint64(32)).astype(np.int64)


def counted_by_partition(count: int, blocks: int) -> Array:
    """Return which of a list's indices `partitioned` counts, whose blocks take so many equal ranges."""
    at, each = np.arange(count), -(-count // blocks)
    span, piece = partitioned.SAMPLE_SPAN, partitioned.SAMPLE_PIECE
    turns = sampled_place(at // each * each // span + at % each // span, count, span // piece)
    counted: Array = at % each % span // piece == turns
    return counted
