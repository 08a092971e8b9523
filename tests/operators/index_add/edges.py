"""The edges of the rule behind `gpubench:auto` for index_add: cases at each threshold, and the variants they get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpubench.model import Case
from gpubench.operators.index_add import tuning
from tests.operators.cases import make_case

Edge = tuple[dict[str, Any], str, str]


def edges() -> list[tuple[Case, str]]:
    """Return the cases, and the variants that an H200 takes for them."""
    return [(make_case("index_add", dtype, **params), variant) for params, dtype, variant in _edges()]


def _edges() -> list[Edge]:
    """Return (params, dtype, variant)."""
    narrow = tuning.NARROW_LEAST
    copies, last, row = tuning.COPIES_LEAST, tuning.LAST_DIM, tuning.CACHED_ROW // 4
    return [
        *(
            ({"shape": (64,), "indices": copies + near}, "float32", name)
            for near, name in _step("combined", "private_copies")
        ),
        ({"shape": (452,), "indices": copies}, "float32", "private_copies"),  # four warps' copies: the most that fit
        ({"shape": (453,), "indices": copies}, "float32", "combined"),
        *(
            ({"shape": (2048,), "indices": 128 * 2048 + near}, "int32", name)
            for near, name in _step("cached", "block_copies")
        ),
        ({"shape": (2049,), "indices": 128 * 2049}, "int32", "cached"),
        ({"shape": (2048,), "indices": 128 * 2048}, "complex64", "cached"),  # of two additions each
        ({"shape": (2048,), "indices": 128 * 2048}, "float32", "block_copies"),
        *(
            ({"shape": (10, 2048), "dim": 1, "indices": narrow + near, "layout": {"permute": (1, 0)}}, dtype, name)
            for near, dtype, name in ((-1, "float64", "combined"), (0, "float64", "cached"), (-1, "float16", "cached"))
        ),
        ({"shape": (2, 2048), "dim": 1, "indices": 128 * 2048}, "float32", "block_copies"),
        *(
            ({"shape": (132, 20_000), "dim": 1, "indices": last + near}, "float32", name)
            for near, name in _step("combined", "gathered")
        ),
        *(
            ({"shape": (2**12, 64), "dim": 1, "indices": 640 + near}, "float32", name)
            for near, name in _step("combined", "private_copies")
        ),
        ({"shape": (1023, 64), "dim": 1, "indices": 1500}, "float32", "combined"),
        *(
            ({"shape": (2**15, places), "dim": 1, "indices": least + near}, "float64", name)
            for places, least in ((64, 192), (40, tuning.PRIVATE_WIDE))
            for near, name in _step("combined", "private_copies")
        ),
        ({"shape": (2**15, 40), "dim": 1, "indices": 192}, "float32", "combined"),
        *(
            ({"shape": (131, 20_000), "dim": 1, "indices": tuning.SCATTERED_MOST + near}, "float32", name)
            for near, name in ((-1, "combined"), (0, "combined"), (1, "cached"))
        ),
        ({"shape": (2048, 5000), "dim": 1, "indices": tuning.GATHERED_LEAST}, "float32", "gathered"),
        ({"shape": (2047, 5000), "dim": 1, "indices": tuning.GATHERED_LEAST}, "float32", "combined"),
        *(
            ({"shape": (10**5, 3), "indices": tuning.CACHED_LEAST + near}, "float32", name)
            for near, name in _step("combined", "cached")
        ),
        *(
            ({"shape": (200, 1401, 7), "dim": 1, "indices": tuning.SCATTERED_MOST + near}, "int8", name)
            for near, name in ((-1, "combined"), (0, "combined"), (1, "cached"))
        ),
        ({"shape": (15, 10**6), "dim": 1, "indices": 2**18, "layout": {"permute": (1, 0)}}, "float32", "cached"),
        ({"shape": (16, 10**6), "dim": 1, "indices": 2**18, "layout": {"permute": (1, 0)}}, "float32", "combined"),
        ({"shape": (10**6, 31), "indices": 2**17}, "float32", "cached"),
        ({"shape": (10**6, 32), "indices": 2**17}, "bfloat16", "combined"),
        ({"shape": (132, 65_536), "dim": 1, "indices": 65_536}, "float64", "block_copies"),
        *(
            ({"shape": (10**6,), "indices": tuning.SINGLE_LEAST + near}, dtype, name)
            for dtype in ("float32", "int8")
            for near, name in _step("combined", "cached")
        ),
        *(
            ({"shape": (10**5, row + near), "indices": 4 * 10**4 + 3}, "float32", name)
            for near, name in ((-1, "cached"), (0, "cached"), (1, "combined"))  # elements, a table of rows, atomics
        ),
        *(
            ({"shape": (10**5, width), "indices": tuning.ROWS_LEAST // width + near}, dtype, name)
            for width, dtype in ((4, "float32"), (16, "float32"), (8, "bfloat16"), (24, "float16"), (8, "complex64"))
            for near, name in ((-1, "combined"), (1, "cached"))
        ),
        ({"shape": (10**5, 2), "indices": 2**17}, "complex64", "cached"),
        *(
            ({"shape": (10**5, 32), "indices": tuning.ROWS_WIDE // 64 + near}, "bfloat16", name)
            for near, name in _step("combined", "cached")
        ),
        ({"shape": (10**5, 20), "indices": 2**21 // 20}, "float32", "combined"),
        ({"shape": (10**5, 20), "indices": 2**21 // 20 + 1}, "float32", "cached"),
        ({"shape": (10**5, 40), "indices": 2**20}, "bfloat16", "combined"),  # sums of 160 bytes
        *(
            ({"shape": (40, 10**5, 4), "dim": 1, "indices": tuning.SCATTERED_MOST + near}, "float32", name)
            for near, name in ((0, "combined"), (1, "cached"))
        ),
        *(
            ({"shape": (tuning.PARTITION_REACH // 16 + near, 4), "indices": 2**24}, "float32", name)
            for near, name in _step("cached", "partitioned")
        ),
        *(
            ({"shape": shape, "indices": tuning.PARTITION_LEAST_ROWS + near}, dtype, name)
            for shape, dtype in (((2**22, 2), "float32"), ((2**22,), "float64"), ((2**22, 4), "bfloat16"))
            for near, name in _step("cached", "partitioned")
        ),
        *(
            ({"shape": shape, "indices": tuning.PARTITION_LEAST + near}, dtype, name)
            for shape, dtype in (((2**23,), "float32"), ((2**23, 2), "bfloat16"))
            for near, name in _step("cached", "partitioned")
        ),
        *(
            ({"shape": (2**23,), "indices": tuning.PARTITION_LEAST_SMALL + near}, "int8", name)
            for near, name in _step("cached", "partitioned")
        ),
        *(
            ({"shape": (512, 32), "dim": 1, "indices": tuning.LAST_DIM_SMALL + near}, "int16", name)
            for near, name in _step("combined", "block_copies")
        ),
        *(
            ({"shape": (512 + near, 32), "dim": 1, "indices": 1024}, "int8", name)
            for near, name in _step("combined", "private_copies")
        ),
        ({"shape": (512, 64), "dim": 1, "indices": 8192}, "int32", "block_copies"),  # of which `gathered` takes others
        ({"shape": (512, 64), "dim": 1, "indices": 8192}, "float32", "gathered"),
        ({"shape": (2**21, 9), "indices": 2**24}, "float32", "cached"),
        ({"shape": (2**21, 40), "indices": 2**20}, "bfloat16", "combined"),
        ({"shape": (2**21, 40), "indices": 2**21}, "bfloat16", "grouped"),
        *(
            ({"shape": (10**5, 16), "indices": tuning.GROUPED_LEAST_SMALL + near}, "int8", name)
            for near, name in _step("combined", "grouped")
        ),
        ({"shape": (10**5, 15), "indices": tuning.GROUPED_LEAST_SMALL}, "int8", "combined"),
        *(
            ({"shape": (places,), "indices": least + near}, "int16", "cached")  # a table, then totals
            for places, least in ((10**5, tuning.TOTALS_WIDE), (10**3, tuning.TOTALS_LEAST))
            for near in (-1, 0)
        ),
        (
            {"shape": (64, 257_194), "indices": 47},
            "float32",
            "combined",
        ),  # rows that stand anywhere: slower to sort for
        ({"shape": (10**6, 128), "indices": 2**17}, "float32", "combined"),
        ({"shape": (10**6, 128), "indices": 2**20}, "float32", "grouped"),
        *(
            ({"shape": (indices, width), "indices": indices}, "float32", name)
            for indices, width, name in (
                (2**20, 32, "grouped"),
                (2**19, 32, "combined"),
                (2**19, 64, "grouped"),
                (2**18, 64, "combined"),
                (2**21, 16, "cached"),
            )
        ),
        ({"shape": (2**21, 16), "indices": 2**21}, "int32", "grouped"),
        ({"shape": (64, 4096, 128), "dim": 1, "indices": 4096}, "float32", "combined"),
        ({"shape": (8192, 512), "indices": 16384, "layout": {"permute": (1, 0)}}, "float32", "combined"),
        ({"shape": (600, 512), "indices": 900, "layout": {"permute": (1, 0)}}, "float32", "combined"),
        *_owned(),
        ({"shape": (7, 5, 64), "dim": 1, "indices": 99, "layout": {"permute": (2, 1, 0)}}, "float32", "combined"),
    ]


def _owned() -> Iterator[Edge]:
    """Yield cases around the sizes from which threads own places: all are the same variant's."""
    for near in (-1, 0, 1):
        yield {"shape": (2**15, 300), "dim": 1, "indices": 128 + near, "pattern": "same"}, "int8", "combined"
        yield {"shape": (1024, 64), "dim": 1, "indices": 128 + near}, "float32", "combined"
        yield {"shape": (3, 2**20 + near), "indices": 4, "source_layout": {"offset": 1}}, "float32", "combined"
        yield {"shape": (2**20 + near, 2, 2), "dim": 1, "indices": 4}, "float64", "combined"
        for indices, order in ((2048, (1, 0)), (256, (1, 0)), (8192, (0, 1))):
            yield (
                {
                    "shape": (512, 90),
                    "dim": 1,
                    "indices": indices + near,
                    "pattern": "half_same",
                    "layout": {"permute": order, "offset": 1},
                    "source_layout": {"permute": order[::-1]},
                },
                "float32",
                "combined",
            )


def _step(below: str, above: str) -> tuple[tuple[int, str], ...]:
    return (-1, below), (0, above), (1, above)
