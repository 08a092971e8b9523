from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpubench.engine.events import Event
from gpubench.engine.fleet import cluster, remote
from gpubench.engine.fleet.cluster import Cluster
from gpubench.engine.fleet.order import Brought, Order, pack, read_order, unpack
from gpubench.engine.journal import load
from gpubench.engine.measurer import Outcome
from gpubench.errors import ResultFileError, UsageError
from gpubench.findings import Work
from gpubench.model import Case, Ceiling, CeilingPoint, Record, Sample, Timing
from tests.engine.bed import NAIVE, case
from tests.engine.fleet.bed import gpu

CASES = tuple(case("cumsum", {"shape": [n, 3], "dim": 0}) for n in (5, 6, 7))
WORKERS = 64
CEILING = Ceiling(copy_GBps=1000.0, sweep=(CeilingPoint(bytes=65536, copy_us=5.5, read_us=5.4, write_us=5.0),))


def record(one: Case, us: float = 20.0, status: Any = "ok") -> Record:
    """Return a record of a case with one round."""
    return Record(one, NAIVE, status, None, 60, False, Timing(((Sample(us), Sample(us + 1)),)))


class Quick:
    """Stands for the supervisor of a worker: gives each case a record at once."""

    def __init__(self, options: Any, on_event: Callable[[Event], None]) -> None:
        """Ignore the options."""
        del options, on_event

    def __enter__(self) -> Quick:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def open(self, ceiling: Ceiling | None, claim: Callable[[dict[str, Any]], None]) -> tuple[dict[str, Any], Ceiling]:
        """Open nothing."""
        environment = {"device": {"kind": "fake", "name": "Fake", "uuid": None}}
        claim(environment)
        return environment, ceiling or CEILING

    def run(self, cases: Sequence[Case], store: Callable[[Record], None], done: Iterable[Record]) -> Outcome:
        """Store a record of what is not done."""
        there = {record.case.id for record in done}
        for left in cases:
            if left.id not in there:
                store(record(left))
        return Outcome((), None, False, None, 1, {"time": 0.1}, CEILING)

    def interrupt(self) -> None:
        """Do nothing."""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the workers' journals in the test's folder."""
    monkeypatch.setenv(remote.STATE, str(tmp_path / "state"))
    monkeypatch.setenv(remote.DEVICE, gpu(tmp_path, 0))
    return tmp_path / "state" / "fleet"


def test_64_workers_give_every_record_once() -> None:
    """Records stream to the command's journal and stand in each worker's; alone in a process."""
    pytest.importorskip("distributed")
    inside = Path(__file__).with_name("workers_64.py")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(inside)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def test_what_cannot_be_a_cluster_is_told() -> None:
    """An address where nobody answers is one sentence that names what to start."""
    pytest.importorskip("distributed")
    before, cluster.CONNECT_S = cluster.CONNECT_S, 0.5
    try:
        with pytest.raises(UsageError, match="no dask scheduler answers"):
            Cluster("tcp://127.0.0.1:9", "x")
    finally:
        cluster.CONNECT_S = before


def test_tls_without_certificates_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """An encrypted address for which dask has no certificates is one sentence that names where they are set."""
    pytest.importorskip("distributed")
    monkeypatch.setattr("distributed.Client", lambda *_, **__: pytest.fail("a client without certificates hangs"))
    with pytest.raises(UsageError, match="CA_FILE"):
        Cluster("tls://127.0.0.1:9", "x")


# --- One attempt, without dask ---------------------------------------------------------------------------------------


def order(attempt: str, known: Sequence[Work] = (), cases: Sequence[Case] = CASES) -> Order:
    """Return an order for one member."""
    identity = {"suite_sha256": "0", "kernels_sha256": "1", "plan_sha256": "2"}
    return Order(
        "f1ee7",
        identity,
        tuple(cases),
        member="vm-gpu0",
        attempt=attempt,
        topic="t",
        key="k",
        gpubench="0.1.0",
        known=tuple(known),
    )


def carried(one: Order) -> list[tuple[str, dict[str, Any]]]:
    """Carry an order out and return its reports."""
    reports: list[tuple[str, dict[str, Any]]] = []
    remote.carry_out(one, lambda kind, **more: reports.append((kind, more)), lambda: True)
    return [report for report in reports if report[0] != "alive"]


def test_an_attempt_runs_once_and_the_next_one_measures_only_what_is_missing(state: Path) -> None:
    """Started twice it does nothing the second time; a new attempt sends what the command lacks from the journal."""
    first = carried(order("a1", cases=CASES[:2]))
    assert [kind for kind, _ in first if kind in ("ready", "record", "end")] == ["ready", "record", "record", "end"]
    assert carried(order("a1", cases=CASES[:2])) == []
    kept = {record.case.id: record for record in load(state / "f1ee7" / "vm-gpu0.journal.jsonl").records}
    second = carried(order("a2", known=[(CASES[0].id, NAIVE)], cases=CASES[:2]))
    (again,) = [unpack(more["record"]) for kind, more in second if kind == "record"]
    assert again == kept[CASES[1].id]
    assert not any(kind == "begin" for kind, _ in second), "it was measured again"
    third = carried(order("a3", known=[(CASES[0].id, NAIVE)], cases=CASES))
    assert sum(kind == "record" for kind, _ in third) == 2
    assert len(load(state / "f1ee7" / "vm-gpu0.journal.jsonl").records) == 3


def test_what_costs_the_worker_twice_is_crashed(state: Path) -> None:
    """Lost once with a contender at work, it runs again; lost twice, it gets its record and the rest goes on."""
    place = state / "f1ee7"
    place.mkdir(parents=True)
    begun = place / "vm-gpu0.journal.begun"
    begun.write_text(json.dumps({"counts": [], "now": [CASES[0].id, NAIVE]}))
    once = carried(order("b1", cases=CASES[:1]))
    assert [unpack(more["record"]).status for kind, more in once if kind == "record"] == ["ok"]
    assert not begun.exists()
    (place / "vm-gpu0.journal.jsonl").unlink()
    begun.write_text(json.dumps({"counts": [[CASES[0].id, NAIVE, 1]], "now": [CASES[0].id, NAIVE]}))
    twice = carried(order("b2", cases=CASES[:2]))
    found = {record.case.id: record for record in (unpack(more["record"]) for kind, more in twice if kind == "record")}
    assert found[CASES[0].id].status == "crashed"
    assert "lost 2 times" in str(found[CASES[0].id].message)
    assert found[CASES[1].id].status == "ok"


def test_a_journal_of_something_else_is_not_continued(state: Path) -> None:
    """Another plan under the same name is refused with a sentence; the journal stays as it is."""
    carried(order("c1", cases=CASES[:1]))
    before = (state / "f1ee7" / "vm-gpu0.journal.jsonl").read_bytes()
    other = {"suite_sha256": "9", "kernels_sha256": "1", "plan_sha256": "2"}
    changed = replace(order("c2", cases=CASES[:1]), identity=other)
    (kind, more), *_ = carried(changed)
    assert kind == "refused"
    assert "has changed since" in more["message"]
    assert (state / "f1ee7" / "vm-gpu0.journal.jsonl").read_bytes() == before


# --- What travels ----------------------------------------------------------------------------------------------------


def test_an_order_comes_back_as_it_was_written() -> None:
    """Cases, options, what is known and the bytes of files survive; files stay inside their folder."""
    brought = Brought({"folder": "/somewhere", "permission": "kernels"}, {"my/scan.cu": b"\x00\xff", "a.cuh": b""})
    one = replace(
        order("a", known=[("c", NAIVE)]), brought=(brought,), memory_limit=10**9, soak_s=1.5, share_device=True, seed=3
    )
    assert read_order(one.dumps()) == one
    for name in ("../evil.cu", "/etc/passwd", "a/../../b"):
        bad = replace(one, brought=(Brought({}, {name: b""}),))
        with pytest.raises(ResultFileError):
            read_order(bad.dumps())
    with pytest.raises(ResultFileError):
        read_order(json.dumps({"version": 1}))


BOMB = zlib.compress(b" " * 2**27)


@pytest.mark.parametrize("data", ["text", None, b"", b"garbage", zlib.compress(b"{}"), zlib.compress(b"[" * 100), BOMB])
def test_what_is_no_record_is_not_believed(data: object) -> None:
    """Not bytes, not compressed, no JSON, no record, or one that would fill the memory: one error for all."""
    with pytest.raises(ResultFileError):
        unpack(data)
    assert unpack(pack(record(CASES[0]))).case.id == CASES[0].id
