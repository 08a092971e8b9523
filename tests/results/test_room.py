"""Whatever a run can produce must be readable, or refused while the journal still holds all of it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpubench.errors import ResultFileError, UsageError
from gpubench.model import Record, ResultSet, Sample, Timing
from gpubench.results import room as room_module
from gpubench.results import strict
from gpubench.results.read import read, reads
from gpubench.results.room import FullError, Room
from gpubench.results.write import dumps, write
from tests.engine.bed import QUICK, case, run, script, statuses

RESULT = Path(__file__).parents[1] / "data" / "result-v1.json"
NAMES = tuple(f"gpubench:{number}" for number in range(8))


def sampled(count: int, contender: str = NAMES[0]) -> Record:
    """Return a record with so many samples in one round."""
    samples = tuple(Sample(1.0 + number / 7, 1980.0) for number in range(count))
    timing = Timing((samples,), (), noisy=False, throttled=False, message=None)
    return Record(case(contenders=NAMES), contender, "ok", None, 4, timing=timing)


def result_of(records: tuple[Record, ...]) -> ResultSet:
    """Return a result with these records and the head of a real one."""
    return replace(read(RESULT), records=records)


def test_more_samples_than_a_result_holds_are_refused_before_they_are_taken() -> None:
    """Eight contenders of 100,000 samples in two cases are the user's matter, said before anything is measured."""
    timing = replace(QUICK, min_samples=100_000, max_samples=100_000)
    cases = [replace(case(name, contenders=NAMES), timing=timing) for name in ("cumsum", "sum")]
    with pytest.raises(UsageError, match="at least 1,600,000 samples together"):
        Room(cases)
    Room([replace(case, timing=QUICK) for case in cases])


def test_a_full_result_is_readable_and_says_what_is_missing() -> None:
    """Records are taken until one does not fit; those that are in give a file that the reader takes."""
    one = case(contenders=NAMES)
    room = Room([one])
    taken: list[Record] = []
    said = ""
    for name in NAMES:
        record = replace(sampled(100_000), contender=name)
        try:
            room.take(record)
        except FullError as error:
            said = str(error)
            break
        taken.append(record)
    assert 4 <= len(taken) < 8
    assert re.match(r"the result is full: .* gpubench:\d does not fit any more", said)
    rest = tuple(Record(one, name, "skipped", "x" * 500, None) for name in NAMES[len(taken) :])
    assert reads(dumps(result_of((*taken, *rest))).encode()).records[0].timing == taken[0].timing


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 400), st.text(max_size=2000)), min_size=1, max_size=8))
def test_what_the_room_takes_the_reader_takes(monkeypatch: pytest.MonkeyPatch, contents: list[tuple[int, str]]) -> None:
    """With limits small enough to be met, whatever fits by the room's count is within the reader's."""
    for name, limit in (("MAX_BYTES", 24_000), ("MAX_MEMORY", 150_000)):
        monkeypatch.setattr(room_module, name, limit)
        monkeypatch.setattr(strict, name, limit)
    monkeypatch.setattr(room_module, "_HEAD", (5_000, 40_000))
    room = Room([case(contenders=NAMES)])
    kept: dict[str, Record] = {name: Record(case(contenders=NAMES), name, "skipped", "x" * 500, None) for name in NAMES}
    for name, (count, message) in zip(NAMES, contents, strict=False):
        record = replace(sampled(count, name), message=message)
        try:
            room.take(record)
        except FullError:
            break
        kept[name] = record
    reads(dumps(result_of(tuple(kept.values()))).encode())


def test_what_the_reader_refuses_is_not_written(tmp_path: Path) -> None:
    """A file that could not be read again is never made, and what stood there stays."""
    path = tmp_path / "r.json"
    path.write_text("earlier")
    with pytest.raises(ResultFileError, match="is not written, for it could not be read again"):
        write(replace(read(RESULT), extra={"deep": 2**70}), path)
    assert path.read_text() == "earlier"


def test_a_run_that_fills_its_result_stops_and_keeps_what_fits(tmp_path: Path) -> None:
    """The record without room is left out and `skipped`, like those not reached; the reason is told."""
    seen: list[Record] = []

    def store(record: Record) -> None:
        if seen:
            raise FullError("the result is full: it does not fit any more")
        seen.append(record)

    outcome = run([case("sum", {"shape": [n], "dim": [0]}) for n in range(1, 4)], script(tmp_path), store=store)
    assert statuses(outcome) == ["ok", "skipped", "skipped"]
    assert "the result is full" in str(outcome.stopped)
