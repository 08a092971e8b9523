"""Recorded results stay small enough for a repository, with every sample in them."""

from __future__ import annotations

from dataclasses import replace

from gpubench.devices.cuda_timing import DIGITS
from gpubench.libraries import PEERS
from gpubench.model import Record, Sample
from gpubench.results.read import read
from gpubench.results.write import dumps
from gpubench.suite.expand import load_suite
from gpubench.suite.locate import shipped_suites
from tests.recorded import recorded

MOST = 20e6


def as_sampled_now(record: Record) -> Record:
    """Return a record of an earlier version with its samples' digits as they are taken now."""
    if record.timing is None:
        return record
    rounds = tuple(
        tuple(Sample(round(s.us, DIGITS), None if s.sm_mhz is None else round(s.sm_mhz)) for s in samples)
        for samples in record.timing.rounds
    )
    return replace(record, timing=replace(record.timing, rounds=rounds))


def test_every_suite_beside_every_library_stays_under_20_megabytes() -> None:
    """The bytes a record takes, from the newest real run, times all cases and contenders there are."""
    path = recorded("nvidia-h200/peers-2*.json")[-1]
    result = read(path)
    each = len(dumps(replace(result, records=tuple(map(as_sampled_now, result.records))))) / len(result.records)
    cases = [case for name in shipped_suites() for case in load_suite(name).cases]
    records = sum(len({*case.contenders, *PEERS}) for case in cases)
    beside = sum(file.stat().st_size for file in recorded("nvidia-h200/*/*.json"))
    assert records * each + beside < MOST


def test_what_is_recorded_stays_under_20_megabytes() -> None:
    """Older runs go when newer ones come."""
    assert sum(file.stat().st_size for file in recorded("nvidia-h200/*.json")) < MOST
