"""The hard cases of `index_add`."""

from __future__ import annotations

from collections.abc import Iterator

from gpubench.operators.hard import TRANSPOSED, Hard, with_layouts
from gpubench.operators.index_add.params import INDEX_DTYPES

PATTERNS = ("uniform", "zipf", "sorted", "same", {"below": 3}, {"duplicates": 4})


def small() -> Iterator[Hard]:
    """Yield cases small enough for the simulator: patterns of indices, shapes and dims, layouts."""
    for number, pattern in enumerate(PATTERNS):
        index_dtype = INDEX_DTYPES[number % 2]
        yield Hard({"shape": (61, 17), "indices": 150, "pattern": pattern, "index_dtype": index_dtype})
    for shape, dim, indices in (
        ((1,), 0, 1),
        ((1000,), 0, 3),
        ((1009, 3), 0, 500),
        ((10, 4), 0, 0),
        ((7, 33, 5), 1, 40),
        ((2, 129), 1, 15),
        ((2, 129), 1, 17),
        ((3, 0, 4), 0, 5),
        ((300, 64), 0, 16),
    ):
        yield Hard({"shape": shape, "dim": dim, "indices": indices, "alpha": -1.0})
    yield Hard({"shape": (33, 20), "indices": 64, "layout": TRANSPOSED})
    yield Hard({"shape": (33, 20), "indices": 64, "layout": {"offset": 1}, "source_layout": {"step": 2, "offset": 3}})
    yield Hard({"shape": (33, 20), "dim": 1, "indices": 64, "alpha": 2.0, "source_layout": TRANSPOSED})


def large() -> Iterator[Hard]:
    """Yield every shape, layout and dim, with few and many indices, none, and all the same."""
    for shape, layout, distributions in with_layouts():
        for dim in (dim for dim, size in enumerate(shape) if size):
            for indices, pattern in ((0, "uniform"), (7, "same"), (40, "uniform"), (33, "sorted")):
                params = {"shape": shape, "dim": dim, "indices": indices, "pattern": pattern, "layout": layout}
                yield from (Hard(params, distribution) for distribution in distributions)
