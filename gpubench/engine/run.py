"""A whole run: device, journal, supervisor and result file joined, and nothing printed. For commands that measure."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import gpubench
from gpubench.engine.events import Event, Note, RunStarted
from gpubench.engine.identity import device_key, kernels_sha256, measuring_sha256, plan_sha256
from gpubench.engine.idle import idle
from gpubench.engine.journal import Journal, Loaded, load, refuse_another_tuning, refuse_changes
from gpubench.engine.lock import WITHOUT, device_lock
from gpubench.engine.measurer import Measurer, Outcome
from gpubench.engine.noise import with_intervals
from gpubench.errors import ExitCode, GpubenchError, ResultFileError, UsageError
from gpubench.limits import missed
from gpubench.measure.protocol import PROTOCOL
from gpubench.model import Case, Ceiling, Harness, Json, Record, ResultSet, Source
from gpubench.names import FAILED, MEASURED, REFUTED
from gpubench.results.format import ceiling_to_json
from gpubench.results.paths import JOURNAL_SUFFIX, STREAM, default_path, journal_path, output_file, result_path
from gpubench.results.records import ceiling_from_json
from gpubench.results.room import Room
from gpubench.results.strict import Node
from gpubench.results.write import write


@dataclass(frozen=True, slots=True)
class Request:
    """What to run. `suite` has name and sha256, and `random` where cases were drawn.

    `output` None: runs/<device>/<suite>-<time>.json under `root`. `plan`: what tells this run from another
    where its cases are not all known before; plain JSON.
    `resume` names an unfinished run by its journal or by its result file. `share_device`: run beside another run.
    `extra` goes into the result as it is.
    """

    cases: Sequence[Case]
    suite: Mapping[str, Json]
    command: tuple[str, ...]
    seed: int = 0
    output: Path | None = None
    resume: Path | None = None
    root: Path = Path()
    share_device: bool = False
    source: Source = field(default_factory=Source)
    extra: Mapping[str, Json] = field(default_factory=dict)
    plan: Json = None


Store = Callable[[Record], None]
Work = Callable[[Store, tuple[Record, ...]], tuple[Outcome, dict[str, Json]]]
"""Does the work of a run: stores each new record, leaves out what is done; gives the outcome and more for `extra`."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that is over. `path` holds the result; `journal` is left when the run can be resumed, else None."""

    result: ResultSet
    path: Path
    journal: Path | None
    interrupted: bool
    error: GpubenchError | None


def execute(
    request: Request, supervisor: Measurer, on_event: Callable[[Event], None], work: Work | None = None
) -> Finished:
    """Run the cases and write the result file; records go to the journal as they come. `work`: in place of the cases.

    NoDeviceError without a device. ResultFileError when files cannot be written or a resumed run does not match.
    """
    identity: dict[str, Json] = {**identity_of(request)}
    _require_places(request)
    loaded = _load(request, identity)
    room = Room(request.cases, () if loaded is None else loaded.records)
    ceiling = None if loaded is None else _ceiling(loaded)
    with contextlib.ExitStack() as stack:

        def claim(environment: dict[str, Json]) -> None:
            """Take the device's lock: measuring so much as a ceiling would disturb another run."""
            identity["device"] = device_key(environment)
            if environment["device"]["kind"] == "cuda" and not request.share_device:
                missing = stack.enter_context(device_lock(identity["device"]))
                if missing is not None:
                    on_event(Note(WITHOUT.format(reason=missing), is_warning=True))

        environment, ceiling = supervisor.open(ceiling, claim)
        for line in (environment.get("tuning") or {}).get("ignored", ()):
            on_event(Note(line, is_warning=True))
        created = _now()
        if loaded is None:
            path = request.output or default_path(
                str(request.suite.get("name")), environment["device"]["name"], created, request.root
            )
            header = {**identity, "created": created, "command": list(request.command), "environment": environment}
            header["ceiling"] = ceiling_to_json(ceiling)
            journal = Journal.create(journal_path(path), header)
        else:
            journal_file, path = _places(request)
            refuse_changes(journal_file, loaded.header, identity)
            refuse_another_tuning(journal_file, loaded.header, environment)
            journal = Journal.reopen(journal_file, loaded)
            created = str(loaded.header.get("created") or created)
            if loaded.torn:
                on_event(Note(f"{journal_file}: the last line was cut short ({loaded.torn} bytes) and is dropped"))
        stack.enter_context(journal)
        return _run(request, supervisor, on_event, journal, path, created, environment, ceiling, loaded, room, work)


def _suite_sha256(suite: Mapping[str, Json]) -> str:
    """Return the hash of a suite, and of the files that it brings."""
    brings = suite.get("brings")
    if not brings:
        return str(suite.get("sha256"))
    return hashlib.sha256(json.dumps([suite.get("sha256"), brings], sort_keys=True).encode()).hexdigest()


def identity_of(request: Request) -> dict[str, str]:
    """Return what must be equal, beside the device, for a run to be continued (`journal.SAME`)."""
    return {
        "suite_sha256": _suite_sha256(request.suite),
        "kernels_sha256": kernels_sha256(),
        "plan_sha256": plan_sha256(request.cases, request.seed, request.plan),
    }


def _run(
    request: Request,
    supervisor: Measurer,
    on_event: Callable[[Event], None],
    journal: Journal,
    path: Path,
    created: str,
    environment: dict[str, Json],
    ceiling: Ceiling,
    loaded: Loaded | None,
    room: Room,
    work: Work | None,
) -> Finished:
    done: tuple[Record, ...] = () if loaded is None else loaded.records
    total = sum(len(dict.fromkeys(case.contenders)) for case in request.cases)
    on_event(RunStarted(total, len(done), environment, ceiling))

    def store(record: Record) -> None:
        room.take(record)
        journal.append(record)

    more: dict[str, Json] = {}
    if work is None:
        outcome = supervisor.run(request.cases, store, done)
    else:
        outcome, more = work(store, done)
    result = ResultSet(
        gpubench=gpubench.__version__,
        created=created,
        command=request.command,
        suite=request.suite,
        environment=_of_these(environment, outcome.records),
        ceiling=outcome.ceiling,
        records=with_intervals(outcome.records),
        harness=Harness(PROTOCOL, measuring_sha256()),
        source=request.source,
        extra={**request.extra, **_extra(outcome, resumed=len(done) if loaded is not None else None), **more},
    )
    try:
        write(result, path)
    except ResultFileError as error:
        raise ResultFileError(f"{error}\nNothing is lost: go on with --resume {journal.path}") from error
    complete = outcome.stopped is None
    if complete:
        journal.remove()
    return Finished(result, path, None if complete else journal.path, outcome.interrupted, outcome.error)


def _of_these(environment: dict[str, Json], records: Sequence[Record]) -> dict[str, Json]:
    """Return the environment with the versions of those libraries only that these records are of."""
    timed = {record.contender for record in records}
    libraries = {name: found for name, found in environment.get("libraries", {}).items() if name in timed}
    return {**environment, "libraries": libraries}


def _extra(outcome: Outcome, resumed: int | None) -> dict[str, Json]:
    extra: dict[str, Json] = {"timings": outcome.seconds, "workers": outcome.workers}
    share = idle(outcome.seconds)
    if share is not None:
        extra["idle"] = share
    if outcome.soak is not None:
        extra["soak"] = outcome.soak
    if outcome.stopped is not None:
        extra["stopped"] = outcome.stopped
    if resumed is not None:
        extra["resumed_records"] = resumed
    return extra


def _load(request: Request, identity: Mapping[str, Json]) -> Loaded | None:
    """Read the journal of a run to be resumed, and refuse early what has changed."""
    if request.resume is None:
        return None
    journal, result = _places(request)
    if not journal.exists() and result.exists():
        raise ResultFileError(f"{result}: this run is complete; there is nothing to resume.")
    loaded = load(journal)
    refuse_changes(journal, loaded.header, {**identity, "device": loaded.header["device"]})
    return loaded


def _require_places(request: Request) -> None:
    """UsageError, before anything is opened, when the result or its journal cannot be written where it should go."""
    if request.resume is not None:
        places: tuple[Path, ...] = _places(request)
    else:
        places = () if request.output is None else (request.output, journal_path(request.output))
    for place in places:
        if output_file(str(place)) == STREAM:
            raise UsageError("The result of a run is a file, beside which its journal lies; - is none.")


def _places(request: Request) -> tuple[Path, Path]:
    """Return journal and result of the run to be resumed; -o wins for the result."""
    assert request.resume is not None
    named = request.resume
    if named.name.endswith(JOURNAL_SUFFIX):
        return named, request.output or result_path(named)
    return journal_path(named), request.output or named


def _ceiling(loaded: Loaded) -> Ceiling:
    return ceiling_from_json(Node(loaded.header.get("ceiling") or {}, "journal", "ceiling"))


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def exit_code(finished: Finished) -> ExitCode:
    """Return the exit code of a run: interrupted before wrong answers, failures, nothing measured, limits missed."""
    if finished.interrupted:
        return ExitCode.INTERRUPTED
    statuses = {record.status for record in finished.result.records}
    if not statuses.isdisjoint(REFUTED):
        return ExitCode.WRONG_ANSWER
    if not statuses.isdisjoint(FAILED):
        return ExitCode.FAILED_CASE
    if not statuses & {*MEASURED}:
        return ExitCode.NOT_COMPARABLE
    return ExitCode.REGRESSION if missed(finished.result.records) else ExitCode.FINE
