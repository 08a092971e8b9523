"""From checked JSON back to the model: the inverse of `format.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, cast, get_args

from gpubench.limits import FORM, METRICS, WHO
from gpubench.limits import parse as parse_limit
from gpubench.model import (
    Case,
    Ceiling,
    CeilingPoint,
    CeilingRound,
    Check,
    Clock,
    Distribution,
    Harness,
    Integrity,
    Json,
    Method,
    Order,
    Phase,
    Record,
    ResultSet,
    Revision,
    Sample,
    Source,
    Timing,
    TimingOptions,
)
from gpubench.names import STATUSES, TRUSTED, Status, is_ours
from gpubench.results.format import OPTIONAL_KEYS, SCHEMA_VERSION, TOP_KEYS
from gpubench.results.strict import Node

_CASE = frozenset({"id", "operator", "dtype", "params"})
_CASE_MORE = frozenset({"limits", "distribution", "seed", "contenders", "timing"})
_RECORD = frozenset({"case", "contender", "status", "rounds_us"})
_RECORD_MORE = frozenset(
    {"message", "simulated", "bytes", "discarded_us", "timing", "summary", "check", "kernel", "telemetry"}
)
_TIMING = frozenset({"noisy", "throttled"})
_TIMING_MORE = frozenset({"message", "discarded_rounds"})
_CHECK = frozenset({"ok", "max_error", "max_error_over_tolerance"})
_CHECK_MORE = frozenset({"first_mismatch", "mismatches", "stray_writes", "answer_sha256"})
_METHODS = cast("tuple[str, ...]", get_args(Method))
_ORDERS = cast("tuple[str, ...]", get_args(Order))
_PHASES = cast("tuple[str, ...]", get_args(Phase))
_CLOCKS = cast("tuple[str, ...]", get_args(Clock))
_OPTIONAL = frozenset({"order", "clock"})
_DISTRIBUTIONS = cast("tuple[str, ...]", get_args(Distribution))


def result_from_json(node: Node) -> ResultSet:
    """Return the result set of a whole document."""
    version = node.get("schema_version")
    if version.integer(1) > SCHEMA_VERSION:
        version.fail(
            f"this file has format version {version.value}, and this gpubench reads up to {SCHEMA_VERSION}: "
            "read it with a newer gpubench"
        )
    is_first = version.value == 1
    node.keys(frozenset(TOP_KEYS) - OPTIONAL_KEYS - ({"harness"} if is_first else frozenset()), None)
    records = tuple(record_from_json(item) for item in node.get("records").items())
    return ResultSet(
        gpubench=node.get("gpubench").text(),
        created=node.get("created").text(),
        command=tuple(word.text() for word in node.get("command").items()),
        suite=node.get("suite").object(),
        environment=_environment(node.get("environment")),
        ceiling=ceiling_from_json(node.get("ceiling")),
        records=tuple(_upgraded(record) for record in records) if is_first else records,
        harness=Harness() if is_first else _harness(node.get("harness")),
        source=_source(node.get("source")) if node.has("source") else Source(),
        extra={key: value for key, value in node.object().items() if key not in TOP_KEYS},
    )


def _environment(node: Node) -> dict[str, Json]:
    if node.has("device"):
        device = node.get("device")
        device.get("kind").text()
        device.get("name").text()
    if node.has("libraries"):
        for contender in (libraries := node.get("libraries")).object():
            for package in (versions := libraries.get(contender)).object():
                versions.get(package).text()
    return node.object()


def _upgraded(record: Record) -> Record:
    """Return a record of version 1 as it is written today: that version had no word for a library's wrong answer."""
    if is_ours(record.contender) or record.check is None or record.check.ok or record.status not in TRUSTED:
        return record
    return replace(record, status="inaccurate")


def _harness(node: Node) -> Harness:
    node.keys(frozenset({"protocol"}), frozenset({"code_sha256"}))
    return Harness(node.get("protocol").integer(1), node.get("code_sha256").text_or_none())


_REVISION = frozenset({"commit", "dirty", "branch"})


def _source(node: Node) -> Source:
    node.keys(_REVISION, frozenset({"label", "kernels"}))
    label = node.get("label").object() if node.has("label") else {}
    return Source(
        suite=_revision(node),
        kernels=_revision(node.get("kernels")) if node.has("kernels") else Revision(),
        label={key: node.get("label").get(key).text() for key in label},
    )


def _revision(node: Node) -> Revision:
    dirty = node.get("dirty").boolean() if node.has("dirty") else None
    return Revision(node.get("commit").text_or_none(), dirty, node.get("branch").text_or_none())


_FIGURES = tuple(field.name for field in fields(Ceiling) if field.name not in ("sweep", "rounds"))


def ceiling_from_json(node: Node) -> Ceiling:
    """Return the ceiling block; each figure is null or above 0, and files from before the sweep have none."""
    node.keys(frozenset(), frozenset(field.name for field in fields(Ceiling)))
    values = {name: node.get(name).number_or_none(lowest=0.0) for name in _FIGURES}
    rounds = node.get("rounds").items() if node.has("rounds") else ()
    return Ceiling(**values, sweep=_sweep(node), rounds=tuple(_ceiling_round(item) for item in rounds))


def _sweep(node: Node) -> tuple[CeilingPoint, ...]:
    return tuple(_ceiling_point(item) for item in node.get("sweep").items()) if node.has("sweep") else ()


def _ceiling_round(node: Node) -> CeilingRound:
    node.keys(frozenset({"phase", "sweep"}), frozenset({"launch_us", "event_overhead_us"}))
    return CeilingRound(
        phase=cast("Phase", node.get("phase").text(_PHASES)),
        launch_us=node.get("launch_us").number_or_none(lowest=0.0),
        event_overhead_us=node.get("event_overhead_us").number_or_none(lowest=0.0),
        sweep=_sweep(node),
    )


_TIMES = ("copy_us", "read_us", "write_us")
_WAYS = ("copy_by", "read_by", "write_by")


def _ceiling_point(node: Node) -> CeilingPoint:
    node.keys(frozenset({"bytes", *_TIMES}), frozenset(_WAYS))
    copy_us, read_us, write_us = (node.get(name).number(positive=True) for name in _TIMES)
    copy_by, read_by, write_by = (node.get(name).text_or_none() for name in _WAYS)
    return CeilingPoint(node.get("bytes").integer(1), copy_us, read_us, write_us, copy_by, read_by, write_by)


def case_from_json(node: Node) -> Case:
    """Return a case; the parts that older or foreign writers leave out have the model's defaults."""
    node.keys(_CASE, _CASE_MORE)
    plain = Case("", "", "", {})
    return Case(
        id=node.get("id").text(),
        operator=node.get("operator").text(),
        dtype=node.get("dtype").text(),
        params=node.get("params").object(),
        distribution=cast("Distribution", node.get("distribution").text(_DISTRIBUTIONS))
        if node.has("distribution")
        else plain.distribution,
        seed=node.get("seed").integer() if node.has("seed") else plain.seed,
        contenders=tuple(name.text() for name in node.get("contenders").items())
        if node.has("contenders")
        else plain.contenders,
        timing=options_from_json(node.get("timing")) if node.has("timing") else plain.timing,
        limits=_limits(node.get("limits")) if node.has("limits") else {},
    )


def _limits(node: Node) -> dict[str, Json]:
    """Return a case's limits, each checked: a foreign file may hold anything."""
    node.keys(frozenset(), frozenset((*METRICS, WHO)))
    for name in node.object():
        if name == WHO:
            for pattern in node.get(name).items():
                pattern.text()
        elif parse_limit(node.get(name).text()) is None:
            node.get(name).expected(f"a limit such as {FORM}")
    return node.object()


def options_from_json(node: Node) -> TimingOptions:
    """Return timing options; one that is absent has the model's default."""
    node.keys(frozenset(), frozenset(_OPTIONS))
    return TimingOptions(**{name: _OPTIONS[name](node.get(name)) for name in node.object()})


_OPTIONS: dict[str, Callable[[Node], Any]] = {
    "method": lambda node: node.text(_METHODS),
    "rounds": lambda node: node.integer(1),
    "min_samples": lambda node: node.integer(1),
    "max_samples": lambda node: node.integer(1),
    "max_noise": lambda node: node.number(lowest=0.0),
    "time_limit_s": lambda node: node.number(lowest=0.0),
    "timeout_s": lambda node: node.number(positive=True),
    "order": lambda node: node.text(_ORDERS),
    "clock": lambda node: node.text(_CLOCKS),
    "integrity": lambda node: node.text(get_args(Integrity)),
    "call_limit_s": lambda node: node.number(positive=True),
    "least_rounds": lambda node: node.integer(0),
}


def record_from_json(node: Node) -> Record:
    """Return a record; lists that belong together must have one length."""
    node.keys(_RECORD, _RECORD_MORE)
    return Record(
        case=case_from_json(node.get("case")),
        contender=node.get("contender").text(),
        status=cast("Status", node.get("status").text(STATUSES)),
        message=node.get("message").text_or_none(),
        bytes=node.get("bytes").integer(0) if node.has("bytes") else None,
        simulated=node.get("simulated").boolean() if node.has("simulated") else False,
        timing=_timing(node),
        summary=_object_or_none(node.get("summary")),
        check=_check(node.get("check")),
        kernel=_object_or_none(node.get("kernel")),
        telemetry=_object_or_none(node.get("telemetry")),
    )


def _object_or_none(node: Node) -> dict[str, Json] | None:
    return None if node.value is None else node.object()


def _timing(record: Node) -> Timing | None:
    rounds = [times.times() for times in record.get("rounds_us").items()]
    discarded = record.get("discarded_us").times() if record.has("discarded_us") else []
    verdict = record.get("timing")
    if verdict.value is None:
        if not rounds and not discarded:
            return None
        verdict = Node({"noisy": False, "throttled": False}, record.file, verdict.path)
    verdict.keys(_TIMING, _TIMING_MORE)
    owners = _discarded_rounds(verdict, len(discarded), len(rounds))
    kept_clocks, discarded_clocks = _clocks(record, sum(map(len, rounds)), len(discarded))
    clocks = iter(kept_clocks)
    return Timing(
        rounds=tuple(tuple(Sample(us, next(clocks)) for us in times) for times in rounds),
        discarded=tuple(
            (owner, Sample(us, clock)) for owner, us, clock in zip(owners, discarded, discarded_clocks, strict=True)
        ),
        noisy=verdict.get("noisy").boolean(),
        throttled=verdict.get("throttled").boolean(),
        message=verdict.get("message").text_or_none(),
    )


def _discarded_rounds(verdict: Node, discarded: int, rounds: int) -> list[int]:
    node = verdict.get("discarded_rounds")
    if node.value is None:
        return [0] * discarded
    owners = [owner.integer(0) for owner in node.items()]
    if len(owners) != discarded:
        node.fail(f"has {len(owners)} entries where {discarded} samples were discarded")
    if any(owner >= max(rounds, 1) for owner in owners):
        node.fail(f"names a round that is not among the {rounds} rounds")
    return owners


def _clocks(record: Node, kept: int, discarded: int) -> tuple[list[float | None], list[float | None]]:
    telemetry = record.get("telemetry")

    def read(key: str, length: int) -> list[float | None]:
        if telemetry.value is None or not telemetry.has(key) or telemetry.get(key).value == []:
            return [None] * length
        return telemetry.get(key).numbers_or_nulls(length)

    return read("sm_mhz", kept), read("discarded_sm_mhz", discarded)


def _check(node: Node) -> Check | None:
    if node.value is None:
        return None
    node.keys(_CHECK, _CHECK_MORE)
    return Check(
        ok=node.get("ok").boolean(),
        max_error=node.get("max_error").number_or_none(lowest=0.0),
        max_error_over_tolerance=node.get("max_error_over_tolerance").number_or_none(lowest=0.0),
        first_mismatch=_object_or_none(node.get("first_mismatch")),
        mismatches=_object_or_none(node.get("mismatches")),
        stray_writes=tuple(stray.object() for stray in node.get("stray_writes").items())
        if node.has("stray_writes")
        else (),
        answer_sha256=node.get("answer_sha256").text_or_none(),
    )
