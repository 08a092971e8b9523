"""`gpubench run --cluster`: the fleet is the workers of a dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench.cli.fleet_run import Asked, begun, carry_out, resumed
from gpubench.errors import ExitCode

if TYPE_CHECKING:
    from gpubench.engine.events import Event
    from gpubench.engine.fleet.cluster import Cluster
    from gpubench.engine.fleet.order import Brought, Plan
    from gpubench.engine.fleet.remote_work import RemoteWork
    from gpubench.engine.fleet.run import Supervise
    from gpubench.engine.run import Request
    from gpubench.engine.supervisor import RunOptions
    from gpubench.fleet import Fleet, Member
    from gpubench.own.registry import Staged


def measure_cluster(asked: Asked, request: Request, options: RunOptions) -> ExitCode:
    """Measure every GPU of a cluster, or what is left, and tell how it went. UsageError, MissingExtraError."""
    from gpubench.engine.fleet.cluster import Cluster
    from gpubench.engine.fleet.order import Plan
    from gpubench.engine.run import identity_of

    soak_s = options.worker.soak_s
    known = None if request.resume is None else resumed(asked, request, soak_s)
    run = os.urandom(8).hex() if known is None else known[0].id
    with Cluster(asked.cluster or "", run) as cluster:
        found = cluster.members()
        if known is None:
            fleet, folder = begun(asked, request, soak_s, found, run)
        else:
            fleet, folder = _with_workers(known[0], found), known[1]
        plan = Plan(
            run, identity_of(request), tuple(request.cases), options.seed, options.retries, options.stop_after,
            options.worker.memory_limit, soak_s, request.share_device, _travelling(options.worker.staged),
        )  # fmt: skip
        request = replace(request, share_device=True)  # the lock is the worker's to take, on its own machine
        return carry_out(asked, request, fleet, folder, cluster_supervisors(cluster, plan, folder))


def cluster_supervisors(cluster: Cluster, plan: Plan, folder: Path) -> Supervise:
    """Return what gives the stand-in for a member's supervisor; what its journal here holds is not sent again."""
    from gpubench.engine.fleet.remote_work import RemoteWork
    from gpubench.engine.journal import load
    from gpubench.results.paths import journal_path

    def supervise(member: Member, result: str, on_event: Callable[[Event], None]) -> RemoteWork:
        journal = journal_path(folder / result)
        records = load(journal).records if journal.exists() else ()
        known = [(record.case.id, record.contender) for record in records]
        return RemoteWork(cluster, member, Path(result).stem, plan, known, on_event)

    return supervise


def _with_workers(fleet: Fleet, found: tuple[Member, ...]) -> Fleet:
    """Return the manifest with the workers that its members have now: of the same host and place there."""
    now = {member.key: member.worker for member in found}
    return replace(fleet, members=tuple(replace(member, worker=now.get(member.key)) for member in fleet.members))


def _travelling(staged: Sequence[Staged]) -> tuple[Brought, ...]:
    """Return what the suites bring, as it travels: the definitions and the bytes of the files that were allowed."""
    from gpubench.engine.fleet.order import Brought

    found = []
    for suite in staged:
        root = Path(suite.folder)
        files = {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
        found.append(Brought(suite.to_json(), files))
    return tuple(found)
