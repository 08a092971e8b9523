"""The edges of the rule behind `gpubench:auto`: cases one below, at and one above each threshold, for a device."""

from __future__ import annotations

from typing import Any

from gpubench.model import Case, DeviceInfo
from gpubench.operators.elementwise import tuning
from gpubench.operators.elementwise.near import BRAIDED_BLOCKS, NEAR, RAGGED_GROUP
from tests.operators.cases import make_case

TURNED = {"permute": (1, 0)}


def edges(device: DeviceInfo) -> dict[str, list[Case]]:
    """Return the cases below, at and above, by what changes there; sizes follow the device's number of SMs."""
    found: dict[str, list[Case]] = {}
    for near in (-1, 0, 1):
        for name, dtype, params in _around(device, near):
            found.setdefault(name, []).append(make_case("elementwise", dtype, **params))
    return found


def _around(device: DeviceInfo, near: int) -> list[tuple[str, str, dict[str, Any]]]:
    sms = device.sm_count
    lanes = tuning.TURNED_LANES[4]
    threads = tuning.FLAT_THREADS * sms
    tile_rows = tuning.THREADS // lanes * tuning.TURNED_PASSES
    return [
        (
            "vectors of a heavy function",
            "float32",
            {"function": "pow", "shape": (8 * tuning.HEAVY_BLOCKS * threads + near,)},
        ),
        ("runs short enough to gather", "float32", _copy((9001, tuning.GATHER_RUN + near))),
        ("lines few enough to gather", "float32", _copy((999, NEAR + near, 411), (0, 2, 1))),
        ("elements near enough for small vectors", "int16", _strided(NEAR + near)),
        ("elements few enough to gather", "float32", _copy((256, tuning.GATHER_ELEMENTS // 256 + near))),
        ("groups small enough to gather", "float32", _copy((500, 4, tuning.THREADS + near), (0, 2, 1))),
        ("an operand small enough to gather", "float32", _small(tuning.SMALL_BYTES // 4096 + near)),
        ("its share", "float32", _share(tuning.SMALL_SHARE - 1 + near)),
        ("elements of a vector", "float16", {"function": "neg", "shape": (8 * tuning.SPREAD * sms - 1 + near,)}),
        ("two vectors of a thread", "float32", {**_copy((16 * sms * tuning.THREADS + near,)), "out_dtype": "float16"}),
        (
            "four vectors of a thread",
            "float32",
            {"function": "neg", "shape": (16 * device.max_threads_per_sm * sms + near,)},
        ),
        ("rows of a tile", "float32", _copy((3001, 4 * lanes + near))),
        ("rows of a skewed tile", "int8", _copy((3001, 16 * tuning.TURNED_LANES[16] + near))),
        ("rows across a tile", "float32", _copy((tile_rows + near, 3001))),
        ("few rows of one run", "float32", _copy((9, tuning.BRAIDED_ROWS + 1 + near, 2048), (0, 2, 1))),
        ("vectors of a row of one run", "float32", _copy((99, 3, 4 * tuning.BRAIDED_VECTORS + near), (0, 2, 1))),
        (
            "blocks of few rows of one run",
            "float32",
            _copy((7, 4 * tuning.THREADS * (BRAIDED_BLOCKS - 1) + near)),
        ),
        ("odd matrices small enough to gather", "bfloat16", _copy((900, 54, RAGGED_GROUP // 54 + near), (0, 2, 1))),
        ("few rows off the grid", "float32", _copy((3, 50_176 + near))),
        ("vectors of one run", "uint8", _copy((9, 4 + near, 2048), (0, 2, 1))),
        ("rows that fill a tile", "float32", _copy((9008, tuning.SQUARE_RUN + 1 + near))),
        ("short rows that are ragged", "float32", _copy((1024, tuning.RAGGED_ROW + near))),
        ("short rows of pairs of bytes", "int16", _copy((1024, tuning.RAGGED_ROW // 4 + near))),
        ("lines of a thread", "int8", _copy((16 * threads, tuning.PLAITED_LINES + near))),
        ("threads for lines", "int8", _copy((16 * threads + 16 * near, 3))),
        ("whole vectors, turned", "float16", _copy((1024, 1024 + near))),
        ("whole vectors, in rows", "float16", _pair((300, 1024 + near), (1, 1024 + near))),
        ("whole vectors, from end to end", "float16", _pair((40_000, 32 + near), (1, 32 + near))),
        (
            "an operand on the grid",
            "float16",
            {"function": "neg", "shape": (1_100_003,), "layout": {"offset": 8 + near}},
        ),
    ]


def _copy(shape: tuple[int, ...], order: tuple[int, ...] | None = None) -> dict[str, Any]:
    """Return the copy of an operand that lies across y."""
    order = order or tuple(reversed(range(len(shape))))
    return {"function": "copy", "shape": shape, "layout": {"permute": order}}


def _strided(step: int) -> dict[str, Any]:
    """Return the copy of an operand of so many elements apart."""
    return {"function": "copy", "shape": (4_000_001,), "layout": {"step": step}}


def _pair(one: tuple[int, ...], other: tuple[int, ...]) -> dict[str, Any]:
    return {"function": "add", "inputs": ({"shape": one}, {"shape": other})}


def _small(kilobytes: int) -> dict[str, Any]:
    """Return a sum with a broadcast operand of so many KB that lies across."""
    return {
        "function": "add",
        "inputs": ({"shape": (9, 1024, kilobytes)}, {"shape": (1024, kilobytes), "layout": TURNED}),
    }


def _share(times: int) -> dict[str, Any]:
    """Return a sum whose other operand is so many times as large as the broadcast one."""
    other = {"shape": (512, 513), "layout": TURNED}
    return {"function": "maximum", "inputs": ({"shape": (times, 512, 513), "dtype": "float16"}, other)}
