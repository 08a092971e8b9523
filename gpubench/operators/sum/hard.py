"""The hard cases of `sum`."""

from __future__ import annotations

from collections.abc import Iterator

from gpubench.model import Json
from gpubench.operators.hard import TRANSPOSED, Hard, Shape, with_layouts


def small() -> Iterator[Hard]:
    """Yield cases small enough for the simulator: flat, sets of dims, layouts, special values."""
    wanted: tuple[tuple[Shape, tuple[Shape, ...]], ...] = (
        ((65, 131), ((0,), (1,))),
        ((4, 0, 3), ((0,), (1,), (2,), (1, 2))),
        ((2, 3, 4, 5), ((1,), (0, 2), (1, 3), (0, 2, 3))),
        ((7, 16, 9), ((0, 2), (1,), ())),
        ((1, 1, 3000), ((2,), (0,))),
        ((3000, 1, 2), ((0,),)),
        ((2, 2, 2, 2, 2, 2), ((0, 2, 4), (1, 3, 5))),
    )
    for shape, dims in wanted:
        for dim in dims:
            yield Hard({"shape": shape, "dim": dim, "keepdim": len(dim) == 2})
    flat: tuple[Shape, ...] = ((), (0,), (1,), (31,), (1009,), (5000,), (4, 0, 3))
    for shape in flat:
        yield Hard({"shape": shape})
    for layout in (TRANSPOSED, {"step": 3}, {"offset": 1}, {"offset": 5}, {"expand": (0,)}, {"expand": (1,)}):
        yield Hard({"shape": (37, 66), "dim": 0, "layout": layout})
        yield Hard({"shape": (37, 66), "dim": 1, "layout": layout})
    for offset in (2, 4, 8):
        yield Hard({"shape": (3, 2, 7, 48), "dim": (0, 2), "layout": {"offset": offset}})
    yield Hard({"shape": (9, 300), "dim": 1}, "with_nonfinite")
    yield Hard({"shape": (4000,)}, "integers")


def large() -> Iterator[Hard]:
    """Yield every shape and layout: all dims, each alone, the outer two of three."""
    for shape, layout, distributions in with_layouts():
        dims: list[Json] = ["all", *([dim] for dim in range(max(len(shape), 1)))]
        for dim in [*dims, [0, 2]] if len(shape) == 3 else dims:
            for distribution in distributions:
                yield Hard({"shape": shape, "dim": dim, "keepdim": dim == [0], "layout": layout}, distribution)
