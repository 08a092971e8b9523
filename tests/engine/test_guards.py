"""Guard bytes: what is written beside an operand is found, whoever wrote it, and changes nothing else."""

from __future__ import annotations

import pytest

from gpubench.devices.fake import FakeDevice
from gpubench.engine.guards import GUARD_BYTES, LARGE_BYTES, Guarded, describe, room
from tests.engine.bed import case
from tests.engine.test_pipeline import go, only


def test_64_elements_behind_the_end_are_wrong() -> None:
    """A right answer with a stray write is `wrong`: operand, side and bytes are told."""
    record = only(go(case(), faults=[{"at": "run", "do": "stray"}]))
    assert record.status == "wrong"
    assert record.message == "stray writes: 256 bytes behind the end of y were changed, the nearest right there"
    assert record.check is not None
    assert not record.check.ok
    assert record.check.stray_writes == ({"operand": "y", "side": "behind", "distance_bytes": 0, "bytes": 256},)


@pytest.mark.parametrize("method", ["hot", "graph"])
def test_strays_of_work_in_place_are_found(method: str) -> None:
    """Buffers that are kept for one more run are looked at too."""
    from dataclasses import replace

    from tests.engine.bed import QUICK

    one = case("index_add", timing=replace(QUICK, method=method))  # type: ignore[arg-type]
    record = only(go(one, faults=[{"at": "run", "do": "stray", "after": 3, "times": 1}]))
    assert record.status == "wrong"
    assert "behind the end of destination" in (record.message or "")


@pytest.mark.parametrize("nbytes", [0, 1, 1000, LARGE_BYTES - 1, LARGE_BYTES, LARGE_BYTES + 4])
def test_every_byte_of_a_guard_is_looked_at(nbytes: int) -> None:
    """One byte anywhere within the guard, on either side, is found with its distance; a write inside is none."""
    device = FakeDevice()
    guarded = Guarded(device, "x", nbytes)
    assert guarded.inner.address % 256 == 0
    device.fill(guarded.inner, 0)
    assert guarded.strays() == []
    assert device.memory.used == room(nbytes)
    for place, side, distance in (
        (guarded.inner.address - 1, "before", 0),
        (guarded.inner.address - GUARD_BYTES, "before", GUARD_BYTES - 1),
        (guarded.inner.address + nbytes, "behind", 0),
        (guarded.inner.address + nbytes + GUARD_BYTES - 1, "behind", GUARD_BYTES - 1),
    ):
        span = device.memory.span(place, 1)
        before = int(span[0])
        span[0] = 1
        (stray,) = guarded.strays()
        assert (stray.operand, stray.side, stray.distance, stray.count) == ("x", side, distance, 1)
        span[0] = before


def test_the_words_name_both_sides() -> None:
    """Several strays make one line."""
    device = FakeDevice()
    guarded = Guarded(device, "x", 8)
    device.memory.span(guarded.inner.address - 12, 4)[...] = 0
    device.memory.span(guarded.inner.address + 8, 2)[...] = 0
    assert describe(guarded.strays()) == (
        "stray writes: 4 bytes before the start of x were changed, the nearest 8 bytes away; "
        "2 bytes behind the end of x were changed, the nearest right there"
    )
