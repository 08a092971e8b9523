"""The operators' suites hold the shapes that are hard, each by its name: nobody drops one by accident."""

from __future__ import annotations

import pytest

from gpubench.dtypes import NAMES
from gpubench.suite.expand import load_suite

ROWS = ("4194304x16", "1048576x32", "262144x33", "65536x1000", "2048x151936", "2x16777216", "3x33554432", "8x1048576")
COLUMNS = ("1000000x2", "1000000x9", "1000000x32")

CUMSUM = (
    *(f"cumsum/{shape}/dim=1/float32" for shape in ROWS),
    *(f"cumsum/{shape}/dim=0/float32" for shape in COLUMNS),
    *("cumsum/65536x64/dim=0/int32", "cumsum/64x4096x128/dim=1/float32", "cumsum/1000003/dim=0/float32"),
    *("cumsum/1009x1013/dim=1/float32", "cumsum/1048577/dim=0/layout=step2048/float16"),
    *(f"cumsum/4096x4096/dim=1/layout=permute1-0/{dtype}" for dtype in ("float32", "bfloat16", "int8")),
    "cumsum/16x8x64x32x48/dim=2/layout=permute4-1-3-0-2/float32",
)
SUM = (
    *(f"sum/{shape}/dim=1/float32" for shape in ROWS),
    *(f"sum/{shape}/dim=0/float32" for shape in COLUMNS),
    *("sum/65536x64/dim=0/int32", "sum/64x4096x128/dim=1/float32", "sum/1000003/dim=all/float32"),
    *("sum/2147483656/dim=all/float16", "sum/64x256x56x56/dim=0,2,3/bfloat16"),
    "sum/32x64x48x40x24/dim=0,2,4/keepdim/float32",
    *(f"sum/4096x4096/dim=1/layout=permute1-0/{dtype}" for dtype in ("float32", "bfloat16", "int8")),
    "sum/16x8x64x32x48/dim=0,2/layout=permute4-1-3-0-2/float32",
)
CASTS = (
    *("float16/float32", "bfloat16/float32", "float32/float16", "float32/bfloat16", "bfloat16/float16"),
    *("float16/bfloat16", "float64/float32", "float32/float64", "float32/int8", "int8/float32", "float16/uint8"),
    *("int64/int32", "int32/int64", "float32/int64", "int32/float32"),
)
"""Result and operand, as the end of a case's id has them."""
ELEMENTWISE = (
    *(f"elementwise/add/{pair}/bfloat16" for pair in ("16384x8192,8192", "16384x8192,16384x1", "1x8192,16384x1")),
    *(f"elementwise/add/8192x8192,8192x8192:permute1-0/{dtype}" for dtype in ("float32", "bfloat16", "int8")),
    *(f"elementwise/copy/16x24x64x32x48:permute4-1-3-0-2/{dtype}" for dtype in ("float32", "float16", "uint8")),
    *("elementwise/neg/2147483656/int8", "elementwise/add/1000003/float32"),
)
INDEX_ADD = (
    *(f"index_add/1000000x128/dim=0/n=1048576/half_same/{dtype}" for dtype in ("float32", "bfloat16")),
    "index_add/8192x7168/dim=0/n=65536/duplicates=8/bfloat16",
    "index_add/50257x768/dim=0/n=131072/zipf/bfloat16",
    *(f"index_add/169343x128/dim=0/n=1166243/{order}/float32" for order in ("sorted", "uniform")),
    *(f"index_add/64/dim=0/n=16777216/uniform/{dtype}" for dtype in ("int32", "float32")),
    *(f"index_add/1000000x3/dim=0/n=8000000/uniform/{dtype}" for dtype in ("int64", "float64")),
    "index_add/65536x129/dim=0/n=131072/uniform/layout=offset1/bfloat16",
    *("index_add/1048576/dim=0/n=16777216/same/float32", "index_add/64x4096x128/dim=1/n=4096/uniform/float32"),
)


@pytest.mark.parametrize(
    ("suite", "promised"),
    [("cumsum", CUMSUM), ("sum", SUM), ("elementwise", ELEMENTWISE), ("index_add", INDEX_ADD)],
)
def test_the_hard_shapes_are_there(suite: str, promised: tuple[str, ...]) -> None:
    """Rows short and long, columns, middle dims, prime sizes, more than 2^31 elements, layouts, contention."""
    assert set(promised) - {case.id for case in load_suite(suite).cases} == set()


@pytest.mark.parametrize("suite", ["cumsum", "sum", "elementwise", "index_add"])
@pytest.mark.parametrize("size", [2**16, 2**20])
def test_latency_is_measured_in_every_dtype(suite: str, size: int) -> None:
    """2^16 and 2^20 elements of all of them."""
    found = {case.dtype for case in load_suite(suite).cases if f"/{size}/" in case.id}
    assert found >= set(NAMES)


def test_every_cast_that_matters_is_there() -> None:
    """Between the float formats, to and from the narrow integers, between the wide ones."""
    ids = {case.id for case in load_suite("elementwise").cases if "/copy/" in case.id}
    assert {pair for pair in CASTS if not any(case_id.endswith(f"/out={pair}") for case_id in ids)} == set()
