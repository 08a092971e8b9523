"""`gpubench run` over many GPUs: what one sees meanwhile, and what is told at the end."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench import __version__
from gpubench.cli import output
from gpubench.cli.watching import stopping
from gpubench.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from gpubench.engine.events import Event
    from gpubench.engine.fleet.load import Loaded
    from gpubench.engine.fleet.run import FleetRun, Supervise
    from gpubench.engine.run import Request
    from gpubench.engine.supervisor import RunOptions
    from gpubench.findings import Findings, Profile
    from gpubench.fleet import Fleet, Member
    from gpubench.model import Record
    from gpubench.views.progress import ProgressView


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks of a fleet."""

    devices: str | None
    cluster: str | None
    at_once: bool
    quiet: bool
    profile: Profile | None = None


def measure(asked: Asked, request: Request, options: RunOptions) -> ExitCode:
    """Measure the fleet, or what is left of it, and tell how it went. UsageError, NoDeviceError, ResultFileError."""
    fleet, folder = _fleet(asked, request, options.worker.soak_s)
    if fleet.cluster is not None:
        raise UsageError(f"{folder}: was measured by a cluster: go on with --cluster, not with --devices.")
    return carry_out(asked, request, fleet, folder, local_supervisors(options))


def carry_out(asked: Asked, request: Request, fleet: Fleet, folder: Path, supervise: Supervise) -> ExitCode:
    """Measure the members, then again what seems slow, and tell how it went."""
    from gpubench.engine.fleet.book import Book
    from gpubench.engine.fleet.run import FleetRun

    book = Book(fleet, folder)
    view = _View(asked.quiet, len(fleet.members) * _records(request))
    run = FleetRun(request, book, supervise, view.handle)
    with stopping(run), view:
        code = run.members()
        if not run.interrupted:
            _second_look(run, folder, asked)
    tell(run.fleet, folder, asked.quiet)
    return code


def _second_look(run: FleetRun, folder: Path, asked: Asked) -> None:
    """Measure again what seems slow, a healthy GPU beside it. A fleet that cannot be judged yet is left as it is."""
    from gpubench.analysis.fleet.judge import judge
    from gpubench.engine.fleet.load import load
    from gpubench.engine.fleet.repeat import repeats

    loaded = load(folder)
    findings = judge(loaded.fleet, loaded.members, loaded.again, asked.profile)
    suspects = findings.having("SUSPECT")
    if suspects:
        names = ", ".join(gpu.member.key for gpu in suspects)
        output.report(f"Seems slow, and is measured again beside a healthy GPU: {names}")
        run.book.repeats(repeats(findings))
        run.again()


def measure_again(loaded: Loaded, findings: Findings, share_device: bool, quiet: bool) -> ExitCode:
    """Measure the suspects of a fleet on this machine again, by the cases that their results hold."""
    from gpubench.engine.fleet.book import Book
    from gpubench.engine.fleet.members import host_name
    from gpubench.engine.fleet.repeat import cases_of, repeats
    from gpubench.engine.fleet.run import FleetRun
    from gpubench.engine.run import Request
    from gpubench.engine.supervisor import RunOptions
    from gpubench.engine.workers import WorkerOptions

    fleet = loaded.fleet
    away = {gpu.member.host for gpu in findings.having("SUSPECT")} - {host_name()}
    if away:
        raise UsageError(f"These GPUs are on {', '.join(sorted(away))}: run `gpubench fleet repeat` there.")
    cases = cases_of(loaded.folder / findings.having("SUSPECT")[0].member.result)
    request = Request(cases, fleet.suite, fleet.command, fleet.seed, share_device=share_device)
    book = Book(replace(fleet, repeats=repeats(findings)), loaded.folder)
    count = len(book.fleet.repeats) - len(fleet.repeats)
    view = _View(quiet, count * _records(request))
    options = RunOptions(WorkerOptions(soak_s=fleet.soak_s), fleet.seed)
    run = FleetRun(request, book, local_supervisors(options), view.handle)
    with stopping(run), view:
        return run.again()


def local_supervisors(options: RunOptions) -> Supervise:
    """Return what gives a supervisor for a member on this machine."""
    from gpubench.engine.supervisor import Supervisor

    def supervise(member: Member, result: str, on_event: Callable[[Event], None]) -> Supervisor:
        del result
        worker = replace(options.worker, device=member.device, digests=True)
        return Supervisor(replace(options, worker=worker), on_event)

    return supervise


def _records(request: Request) -> int:
    return sum(len(dict.fromkeys(case.contenders)) for case in request.cases)


def _fleet(asked: Asked, request: Request, soak_s: float) -> tuple[Fleet, Path]:
    """Return the manifest to begin with and its folder: a new one, or that of the run to be resumed."""
    from gpubench.engine.fleet.members import devices, local_members

    if request.resume is not None:
        return resumed(asked, request, soak_s)
    return begun(asked, request, soak_s, local_members(devices(asked.devices or "all")))


def begun(
    asked: Asked, request: Request, soak_s: float, members: tuple[Member, ...], run: str = ""
) -> tuple[Fleet, Path]:
    """Return a new manifest and its folder. UsageError where there is one already."""
    from gpubench.engine.fleet.run import default_folder
    from gpubench.fleet import Fleet

    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    folder = request.output or default_folder(str(request.suite.get("name")), created, request.root)
    if (folder / "fleet.json").exists():
        raise UsageError(f"{folder}: holds a fleet already. Name another folder, or go on with --resume {folder}.")
    about = (run or os.urandom(8).hex(), __version__, created, request.command, request.suite, request.seed)
    return Fleet(*about, asked.at_once, soak_s, members, cluster=asked.cluster), folder


def resumed(asked: Asked, request: Request, soak_s: float) -> tuple[Fleet, Path]:
    """Return the manifest of the run to go on with, and its folder. ResultFileError; UsageError for another run."""
    from gpubench.results.fleets import manifest_path, read_fleet

    assert request.resume is not None
    fleet = read_fleet(request.resume)
    _require_same(fleet, asked, request, soak_s)
    return fleet, manifest_path(request.resume).parent


def _require_same(fleet: Fleet, asked: Asked, request: Request, soak_s: float) -> None:
    """UsageError when a run would go on with something else than it began with."""
    changed = [
        name
        for name, old, new in (
            ("the suite", fleet.suite.get("sha256"), request.suite.get("sha256")),
            ("--seed", fleet.seed, request.seed),
            ("--parallel", fleet.at_once, asked.at_once),
            ("--soak", fleet.soak_s, soak_s),
        )
        if old != new
    ]
    if changed:
        raise UsageError(
            f"{request.resume}: {', '.join(changed)} changed since this fleet's run began. Give the same command "
            "again, or start a new run without --resume."
        )


def tell(fleet: Fleet, folder: Path, quiet: bool) -> None:
    """Say which members have results, and how to go on with the others."""
    from gpubench.views.text import printable

    counts = Counter(member.status for member in fleet.members)
    for member in fleet.members:
        if member.status != "measured":
            output.report(
                f"{member.key} ({printable(member.device)}): {member.status}: {printable(member.message or '')}"
            )
    place = output.near(folder)
    if not quiet:
        how = "at once" if fleet.at_once else "one after the other"
        output.write(
            f"{counts['measured']} of {len(fleet.members)} GPUs on {len(fleet.hosts)} "
            f"host{'s' * (len(fleet.hosts) > 1)} measured, {how}."
        )
        output.write(f"Look at them with: {output.program()} fleet report {place}")
    output.report(f"Fleet: {place}")
    if counts["measured"] < len(fleet.members):
        output.report(f"Go on with the same command and --resume {place}")


class _View:
    """Shows what happens on all members as one progress, each record with its member's key."""

    def __init__(self, quiet: bool, records: int) -> None:
        from gpubench.views.progress import progress_view

        self._view: ProgressView | None = progress_view(output.console(stderr=True), quiet)
        self._records = records

    def __enter__(self) -> _View:
        self._guarded(lambda view: view.start(self._records))
        return self

    def __exit__(self, *_: object) -> None:
        self._guarded(lambda view: view.stop())

    def handle(self, key: str, event: Event) -> None:
        """Show an event of a member; a warning to everybody."""
        from gpubench.engine import events

        match event:
            case events.Note(message, True):
                output.report(f"{key}: {message}")
            case events.Note(message, False):
                self._guarded(lambda view: view.note(f"{key}: {message}"))
            case events.RunStarted(_, resumed, _, _) if resumed:
                self._guarded(lambda view: view.note(f"{key}: {resumed} records are there already"))
            case events.ContenderStarted(case, contender, stage):
                self._guarded(lambda view: view.working(f"{key} {case}", contender or stage))
            case events.RecordFinished(record):
                self._guarded(lambda view: view.finished(_named(key, record)))
            case events.RunStopped(reason):
                self._guarded(lambda view: view.note(f"{key}: stopped: {reason}"))
            case _:
                pass

    def _guarded(self, call: Callable[[ProgressView], None]) -> None:
        if self._view is not None:
            try:
                call(self._view)
            except (OSError, ValueError):  # nobody listens any more (a closed terminal): measure on
                self._view = None


def _named(key: str, record: Record) -> Record:
    return replace(record, case=replace(record.case, id=f"{key} {record.case.id}"))
