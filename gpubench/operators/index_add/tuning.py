"""Numbers of the fast index_adds that measurements chose."""

from __future__ import annotations

import math

from gpubench.model import DeviceInfo
from gpubench.operators.index_add.form import Form

COPIES_LEAST = 16384
"""Indices from which `private_copies` is taken where the places fit."""

CACHED_ROW = 64
"""Rows of fewer bytes are added element by element ..."""

CACHED_LEAST = 2**18
"""... through a block's table from so many elements on."""

GROUPED_ROW = 64
"""Rows of fewer bytes are not sorted for."""


def sorting_us(count: int) -> float:
    """Return what the sort costs, launches included. One H200: 65536 indices 14 us, 2^20 40."""
    return 12 + 26e-6 * count


def is_for_grouped(form: Form, dtype: str, device: DeviceInfo) -> bool:
    """Say whether sorting costs less than atomics lose on indices spread evenly (microseconds on one H200).

    Atomics take 2.1 TB/s of the source, and bring a row anew for each index where the destination is beyond the L2 cache;
    words of small integers are exchanged whole, at a seventh of that.
    """
    if form.row_bytes < GROUPED_ROW:
        return False
    rate = 0.3e6 if dtype in ("int8", "uint8", "int16") else 2.1e6
    distinct = form.reached * -math.expm1(-form.count / form.places)
    moved = form.added * (3 if form.reached > device.l2_bytes // 2 else 1)
    by_atomics = max(form.added / rate, moved / 3.6e6, (form.added + 2 * distinct) / 4.2e6)
    return sorting_us(form.count) + (form.added + 2 * distinct) / 3.9e6 < by_atomics


def piece_pairs(form: Form, device: DeviceInfo) -> int:
    """Return the pairs of a block of `grouped`."""
    vectors = form.inner // form.vector
    for pairs in (256, 128):
        if form.count // pairs * max(vectors // 32, 1) * form.outers >= 5 * device.sm_count:
            return pairs
    return 64


def warp_rows(form: Form, device: DeviceInfo) -> int:
    """Return the rows of a warp of `combined`; 4 are those of a group of lanes, with all that is loaded at once."""
    vectors = form.inner // form.vector
    if vectors < 4:
        return 4
    for rows in (32, 16, 8):
        if form.count // rows * max(vectors // 32, 1) * form.outers >= 16 * device.sm_count:
            return rows
    return 4


def cached_blocks(form: Form, device: DeviceInfo) -> int:
    """Return the blocks of `cached` for each repetition: three an SM together."""
    return max(1, -(-3 * device.sm_count // form.outers))
