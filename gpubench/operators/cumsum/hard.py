"""The hard cases of `cumsum`."""

from __future__ import annotations

from collections.abc import Iterator

from gpubench.operators.hard import TRANSPOSED, Hard, Shape, with_layouts


def small() -> Iterator[Hard]:
    """Yield cases small enough for the simulator: flat, every dim, layouts, special values."""
    every_dim: tuple[Shape, ...] = ((65, 131), (3, 1, 257), (5, 33, 7))
    for shape in every_dim:
        for dim in range(len(shape)):
            yield Hard({"shape": shape, "dim": dim})
    for shape, offset in (((61, 7, 2), 1), ((37, 33, 4), 3)):  # columns that vectors of y hold
        yield Hard({"shape": shape, "dim": 1, "layout": {"offset": offset}})
    flat: tuple[Shape, ...] = ((), (0,), (1,), (31,), (33,), (1009,), (2049,), (3, 0, 4), (1, 1, 1))
    for shape in flat:
        yield Hard({"shape": shape})
    yield Hard({"shape": (2, 1500), "dim": 1})
    yield Hard({"shape": (1500, 2), "dim": 0})
    for layout in (TRANSPOSED, {"step": 2}, {"offset": 1}, {"offset": 3}, {"expand": (0,)}, {"expand": (1,)}):
        for dim in (0, 1):
            yield Hard({"shape": (37, 66), "dim": dim, "layout": layout})
    yield Hard({"shape": (9, 300), "dim": 1}, "with_nonfinite")
    yield Hard({"shape": (300, 9), "dim": 0}, "with_nonfinite")
    yield Hard({"shape": (4000,)}, "integers")


def large() -> Iterator[Hard]:
    """Yield every shape, layout and dim; columns long enough for blocks to share, rows of several tiles."""
    yield Hard({"shape": (2, 20_011, 2), "dim": 1, "layout": {"offset": 1}}, "with_nonfinite")  # pairs of columns
    for shape, layout, distributions in with_layouts((2000, 2), (3001, 64), (3, 70_001)):
        for dim in range(max(len(shape), 1)):
            for distribution in distributions:
                yield Hard({"shape": shape, "dim": dim, "layout": layout}, distribution)
