"""64 workers under a real scheduler, all in this process: run by test_cluster.py in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpubench.cli.cluster_run import cluster_supervisors
from gpubench.engine import run as engine_run
from gpubench.engine.fleet import cluster, remote
from gpubench.engine.fleet.book import Book
from gpubench.engine.fleet.cluster import Cluster
from gpubench.engine.fleet.order import Plan
from gpubench.engine.fleet.run import FleetRun
from gpubench.engine.journal import load
from gpubench.engine.run import Request, identity_of
from gpubench.errors import ExitCode
from gpubench.fleet import Fleet
from gpubench.results.read import read
from tests.engine.fleet.test_cluster import CASES, WORKERS, Quick
from tests.engine.fleet.test_cluster import state as state


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start a scheduler with 64 workers in this process, whose supervisors are quick."""
    distributed: Any = pytest.importorskip("distributed")
    monkeypatch.setattr(remote, "Supervisor", Quick)
    monkeypatch.setattr(cluster, "CONNECT_S", 300.0)  # 64 workers share a core
    for module in (remote, cluster, engine_run):  # each hashes every kernel, and here are 64 in one process
        for name in ("kernels_sha256", "measuring_sha256"):
            monkeypatch.setattr(module, name, lambda: "0" * 64)
    started = distributed.LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=False, protocol="tcp://", host="127.0.0.1",
        dashboard_address=None, worker_dashboard_address=None,
    )  # fmt: skip
    with started:
        yield str(started.scheduler_address)


@pytest.mark.filterwarnings("ignore")  # dask's own
def test_64_workers_give_every_record_once(scheduler: str, state: Path, tmp_path: Path) -> None:
    """Records stream to the command's journal and stand in each worker's; results are whole, no future holds one."""
    request = Request(CASES, {"name": "s", "sha256": "0" * 64}, ("gpubench",), share_device=True)
    with Cluster(scheduler, "f1ee7") as connected:
        members = connected.members()
        assert len(members) == len({member.key for member in members}) == WORKERS
        about = ("f1ee7", "0.1.0", "2026-01-31T10:00:00Z", request.command, request.suite)
        fleet = Fleet(*about, 0, True, 0.0, members, cluster=scheduler)
        book = Book(fleet, tmp_path / "out")
        plan = Plan("f1ee7", identity_of(request), CASES)
        supervise = cluster_supervisors(connected, plan, book.folder)
        run = FleetRun(request, book, supervise, lambda key, event: None)  # noqa: ARG005 - nobody listens
        assert run.members() == ExitCode.FINE
    assert {member.status for member in run.fleet.members} == {"measured"}
    for member in members:
        result = read(book.folder / member.result)
        assert [record.case for record in result.records] == list(CASES)
        assert result.ceiling.copy_GBps == 1000.0
        assert len(load(state / "f1ee7" / f"{member.key}.journal.jsonl").records) == len(CASES)
