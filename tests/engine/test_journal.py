from __future__ import annotations

import errno
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpubench.engine.journal import Journal, _seal, load, refuse_another_tuning, refuse_changes
from gpubench.errors import ResultFileError
from gpubench.model import Record
from tests.engine.bed import case
from tests.results import strategies

HEADER: dict[str, Any] = {
    "suite_sha256": "a",
    "kernels_sha256": "b",
    "plan_sha256": "c",
    "device": "d",
    "environment": {"device": {"name": "Fake"}},
}


NEWER = re.compile(rb'_version": \d+')


def sealed(*lines: bytes) -> list[bytes]:
    """Return lines with checksums that fit: what is wrong with them is then their content."""
    seal, found = b"", []
    for line in lines:
        text = line.removesuffix(b"\n").partition(b"\t")[0]
        seal = _seal(seal, text)
        found.append(text + b"\t" + seal + b"\n")
    return found


def record(number: int) -> Record:
    """Return a record of a case of its own."""
    return Record(case("sum", {"shape": [number], "dim": [0]}), "numpy", "ok", f"number {number}", 4)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(strategies.records, max_size=4, unique_by=lambda record: (record.case.id, record.contender)))
def test_what_is_appended_is_read_back(tmp_path: Path, records: list[Record]) -> None:
    """A journal gives back header and records, equal and in order."""
    path = tmp_path / "a.journal.jsonl"
    with Journal.create(path, HEADER) as journal:
        for record in records:
            journal.append(record)
    loaded = load(path)
    assert loaded.records == tuple(records)
    assert {key: loaded.header[key] for key in HEADER} == HEADER
    assert loaded.torn == 0
    path.unlink()


def test_every_cut_loses_only_the_torn_line(tmp_path: Path) -> None:
    """Cut at any byte, a journal gives every record that was complete, says what was torn, and can be continued."""
    path = tmp_path / "a.journal.jsonl"
    with Journal.create(path, HEADER) as journal:
        for number in range(1, 4):
            journal.append(record(number))
    whole = path.read_bytes()
    ends = [index + 1 for index, byte in enumerate(whole) if byte == 10]
    for cut in range(ends[0], len(whole), 37):
        path.write_bytes(whole[:cut])
        loaded = load(path)
        complete = sum(end <= cut for end in ends)
        assert loaded.records == tuple(record(number) for number in range(1, complete))
        assert loaded.torn == cut - max(end for end in ends if end <= cut)
        with Journal.reopen(path, loaded) as journal:
            journal.append(record(9))
        again = load(path)
        assert again.records == (*loaded.records, record(9))
        assert again.torn == 0


def test_rubbish_in_the_last_line_is_torn_too(tmp_path: Path) -> None:
    """A loss of power may leave zeros, with or without a line end: the line is dropped."""
    path = tmp_path / "a.journal.jsonl"
    with Journal.create(path, HEADER) as journal:
        journal.append(record(1))
    good = path.read_bytes()
    for rubbish in (b"\0" * 50, b"\0" * 50 + b"\n", b'{"case": {"id"', b"\xff\n"):
        path.write_bytes(good + rubbish)
        loaded = load(path)
        assert (loaded.records, loaded.torn, loaded.length) == ((record(1),), len(rubbish), len(good))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: sealed(lines[0], b"{}", *lines[1:]), "line 2: lacks"),
        (lambda lines: sealed(lines[0], b"{{{", *lines[1:]), "line 2: is not JSON"),
        (lambda lines: sealed(*lines, lines[-1]), "repeats a record"),
        (lambda _: [], "no complete first line"),
        (lambda lines: [lines[0][:-1]], "no complete first line"),
        (lambda lines: sealed(NEWER.sub(b'_version": 99', lines[0]), *lines[1:]), "has version 99"),
        (lambda lines: sealed(lines[0].replace(b"plan_sha256", b"plan"), *lines[1:]), "plan_sha256: expected a text"),
        (lambda lines: [lines[0].replace(b"plan_sha256", b"plan"), *lines[1:]], "first line is damaged"),
        (lambda lines: [lines[0], lines[2], lines[1]], "line 2 is damaged"),
        (lambda lines: [lines[0], lines[1].replace(b"number 1", b"number 7"), lines[2]], "line 2 is damaged"),
        (lambda lines: [*lines[:1], b"x" * (9 * 2**20)], "too long"),
    ],
)
def test_other_damage_is_refused(change: Any, message: str, tmp_path: Path) -> None:
    """A journal that is damaged before its end is refused, not half used."""
    path = tmp_path / "a.journal.jsonl"
    with Journal.create(path, HEADER) as journal:
        journal.append(record(1))
        journal.append(record(2))
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(ResultFileError, match=message):
        load(path)


def test_no_changed_byte_is_taken_for_a_record(tmp_path: Path) -> None:
    """Whatever byte is changed to whatever other, the records read are those written, or fewer, or none."""
    chance = random.Random(3)
    path = tmp_path / "a.journal.jsonl"
    with Journal.create(path, HEADER) as journal:
        for number in range(1, 5):
            journal.append(record(number))
    whole = path.read_bytes()
    refused = 0
    for _ in range(400):
        changed = bytearray(whole)
        changed[chance.randrange(len(whole))] ^= chance.randrange(1, 256)
        path.write_bytes(changed)
        try:
            loaded = load(path)
        except ResultFileError:
            refused += 1
            continue
        assert loaded.records == tuple(record(number) for number in range(1, 1 + len(loaded.records)))
        assert loaded.torn > 0
    assert refused > 200


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_a_journal_that_is_no_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    """A pipe in a journal's place is not waited for, a link not followed."""
    path = tmp_path / "a.journal.jsonl"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        Journal.create(tmp_path / "other", HEADER).close()
        path.symlink_to("other")
    with pytest.raises(ResultFileError, match="cannot be read"):
        load(path)
    with pytest.raises(ResultFileError, match=r"cannot be written|did not finish"):
        Journal.create(path, HEADER)


def test_a_prepared_name_is_not_written_through(tmp_path: Path) -> None:
    """A file or link that somebody put where a temporary file of this process was once expected is left alone."""
    (tmp_path / "victim").write_text("mine")
    (tmp_path / f".a.journal.jsonl.{os.getpid()}.tmp").symlink_to(tmp_path / "victim")
    Journal.create(tmp_path / "a.journal.jsonl", HEADER).close()
    assert (tmp_path / "victim").read_text() == "mine"


@pytest.mark.parametrize("key", ["suite_sha256", "kernels_sha256", "plan_sha256", "device"])
def test_a_changed_run_is_refused(key: str) -> None:
    """Suite, kernel source, plan and device must be those of the run that is continued."""
    refuse_changes(Path("j"), HEADER, dict(HEADER))
    with pytest.raises(ResultFileError, match="has changed since this run began"):
        refuse_changes(Path("j"), HEADER, {**HEADER, key: "other"})


def test_another_tuning_is_refused(tmp_path: Path) -> None:
    """A run that `auto` would go on with other constants is not continued; with the same, or none as before, it is."""
    tuned = {**HEADER, "environment": {"tuning": {"sha256": "a"}}}
    refuse_another_tuning(tmp_path, tuned, {"tuning": {"sha256": "a"}})
    refuse_another_tuning(tmp_path, HEADER, {"device": {}})
    for old, now in ((tuned, {}), (HEADER, {"tuning": {"sha256": "a"}}), (tuned, {"tuning": {"sha256": "b"}})):
        with pytest.raises(ResultFileError, match="the tuning has changed since this run began"):
            refuse_another_tuning(tmp_path, old, now)


def test_a_full_disk_leaves_no_half_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When an append fails in the middle the journal ends with the record before, and goes on once there is room."""
    path = tmp_path / "a.journal.jsonl"
    write = os.pwrite
    calls: list[int] = []

    def full(descriptor: int, data: bytes, offset: int) -> int:
        calls.append(len(data))
        if len(calls) == 1:
            return write(descriptor, data[:50], offset)  # the last free bytes
        raise OSError(errno.ENOSPC, "No space left on device")

    with Journal.create(path, HEADER) as journal:
        journal.append(record(1))
        monkeypatch.setattr(os, "pwrite", full)
        with pytest.raises(ResultFileError, match=r"No space left on device.*--resume"):
            journal.append(record(2))
        monkeypatch.undo()
        assert load(path).torn == 0
        journal.append(record(3))
    assert load(path).records == (record(1), record(3))


def test_an_unfinished_journal_is_never_overwritten(tmp_path: Path) -> None:
    """A new run refuses to take the place of a journal that is there, and says what to do."""
    path = tmp_path / "a.journal.jsonl"
    Journal.create(path, HEADER).close()
    with pytest.raises(ResultFileError, match=r"did not finish\. Continue it with --resume"):
        Journal.create(path, HEADER)


def test_two_runs_never_write_one_journal(tmp_path: Path) -> None:
    """A journal in use cannot be continued by a second run."""
    path = tmp_path / "a.journal.jsonl"
    with (
        Journal.create(path, HEADER),
        pytest.raises(ResultFileError, match="another gpubench is writing this journal"),
    ):
        Journal.reopen(path, load(path))
