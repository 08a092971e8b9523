"""From one result file to what the index keeps of it: facts of the run, and a few figures of each record.

Thousands of files are read at once, so only what is kept is looked at; what is looked at is bounded and typed. A file
that the strict reader takes is taken here; one that is damaged, or no result, is told with the reason.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpubench.errors import ResultFileError
from gpubench.names import COMPACT, MEASURED, STATUSES, TRUSTED, is_kernel, is_peer
from gpubench.ranks import ranks
from gpubench.results.format import SCHEMA_VERSION
from gpubench.results.read import collector_paused, document
from gpubench.work import machine_code

_POINT = struct.Struct("<d5fIHBxQ")
"""The fields of gpubench.past.POINT, in its order."""
SIZE = _POINT.size
_STATUS = {name: number for number, name in enumerate(STATUSES)}
_NAN = math.nan
_log = math.log
_is_kernel = lru_cache(maxsize=1024)(is_kernel)
MOST_TEXT = 2000

_SERIES: dict[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = {}
"""Series of files read before: runs of one suite share a tuple, which then goes to another process once."""
MOST_SERIES = 100


@dataclass(frozen=True, slots=True)
class Scanned:
    """What the index keeps of a file. `problem`: why nothing is kept. `series` and `points` belong together, as do
    `ceilings` and `ceiling_us`.
    """

    identity: str
    problem: str | None = None
    created: str = ""
    suite: str = ""
    device: str = ""
    simulated: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
    series: tuple[tuple[str, str], ...] = ()
    points: bytes = b""
    ceilings: tuple[str, ...] = ()
    ceiling_us: bytes = b""


def scan(path: Path, name: str) -> Scanned:
    """Return what the index keeps of the result at `path`, which messages call `name`."""
    try:
        data = document(path)
        with collector_paused():
            return _scanned(_parsed(data), data)
    except ResultFileError as error:
        return Scanned("", problem=str(error).replace(str(path), name))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        kind = type(error).__name__
        return Scanned("", problem=f"{name}: is damaged or no result of gpubench ({kind}: {str(error)[:120]})")


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        import orjson  # three times as fast; the extra `history` has it

        found = orjson.loads(data)
    except ImportError:
        found = json.loads(data)
    if not isinstance(found, dict) or not isinstance(found.get("schema_version"), int):
        raise ValueError("it has no schema_version")
    if found["schema_version"] > SCHEMA_VERSION:
        raise ValueError(f"format version {found['schema_version']} needs a newer gpubench")
    return found


def _scanned(tree: dict[str, Any], data: bytes) -> Scanned:
    environment, device = tree["environment"], tree["environment"].get("device") or {}
    libraries = environment.get("libraries") or {}
    records = {(_text(record["case"]["id"]), _text(record["contender"])): record for record in tree["records"]}
    ceilings = dict(_ceilings(tree["ceiling"]))
    compact = tree.get(COMPACT)
    series = tuple(records)
    return Scanned(
        identity=compact["of_sha256"] if isinstance(compact, dict) else hashlib.sha256(data).hexdigest(),
        created=_text(tree["created"]),
        suite=_text(tree["suite"].get("name") or "suite"),
        device=_text(device.get("name") or "unknown"),
        simulated=any(record.get("simulated") is True for record in records.values()),
        facts=_facts(tree, device),
        series=_SERIES.setdefault(series, series) if len(_SERIES) < MOST_SERIES else series,
        points=b"".join(_point(record, libraries, environment) for record in records.values()),
        ceilings=tuple(ceilings),
        ceiling_us=struct.pack(f"<{len(ceilings)}d", *ceilings.values()),
    )


def _facts(tree: dict[str, Any], device: Mapping[str, Any]) -> dict[str, Any]:
    source = tree.get("source") or {}
    found = {
        "commit": source.get("commit"),
        "dirty": source.get("dirty"),
        "branch": source.get("branch"),
        "label": source.get("label") or None,
        "uuid": device.get("uuid"),
        "driver": device.get("driver"),
        "nvrtc": tree["environment"].get("nvrtc"),
        "protocol": (tree.get("harness") or {}).get("protocol", 1),
    }
    return {name: value for name, value in found.items() if value is not None}


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise ValueError("a name is no text, or far too long")
    return value


# --- Records ---------------------------------------------------------------------------------------------------------


def _point(record: dict[str, Any], libraries: Mapping[str, Any], environment: Mapping[str, Any]) -> bytes:
    """Return the record as POINT has it."""
    status, summary = record["status"], record.get("summary") or {}
    wrong = (record.get("check") or {}).get("ok") is False
    if wrong and status in TRUSTED and not _is_kernel(record["contender"]):
        status = "inaccurate"  # as the first version wrote it
    log_us, variance, rounds, mhz, samples = _NAN, _NAN, 0, _NAN, 0
    if status in MEASURED:
        log_us, variance, rounds = _rounds(record["rounds_us"])
        clocks = [clock for clock in (record.get("telemetry") or {}).get("sm_mhz") or () if clock]
        mhz = sorted(clocks)[len(clocks) // 2] if clocks else _NAN
        samples = summary.get("n") or 0
    low, high = summary.get("ci95_us") or (_NAN, _NAN)
    share = summary.get("fraction_of_ceiling")
    return _POINT.pack(
        log_us,
        variance,
        _NAN if low is None else low,
        _NAN if high is None else high,
        _NAN if share is None else share,
        mhz,
        min(samples, 2**32 - 1),
        min(rounds, 2**16 - 1),
        _STATUS[status],
        _code(record, libraries, environment),
    )


def _rounds(rounds_us: Sequence[Sequence[float]]) -> tuple[float, float, int]:
    """Return the mean of the log round medians, the unbiased variance of one, and the number of rounds with samples.

    The variance is at least what the samples inside the rounds say of a median.
    """
    logs, within = [], 0.0
    for samples in rounds_us:
        if samples:
            ordered = sorted(samples)
            low, left, right, high = ranks(len(ordered))
            logs.append(_log(ordered[left] * ordered[right]) / 2)
            if ordered[high] != ordered[low]:  # as of many short kernels, between two ticks of the clock
                within += (_log(ordered[high] / ordered[low]) / 2) ** 2
    count = len(logs)
    if not count:
        return _NAN, _NAN, 0
    mean = sum(logs) / count
    if count == 1:
        return mean, 0.0, 1
    return mean, max(sum([(log - mean) ** 2 for log in logs]) / (count - 1), within / count), count


def _code(record: dict[str, Any], libraries: Mapping[str, Any], environment: Mapping[str, Any]) -> int:
    """Return a number that is equal where work and code are, 0 where the code is not known."""
    contender, case = record["contender"], record["case"]
    what: Any = None
    if _is_kernel(contender):
        what = machine_code(record.get("kernel"))
    elif is_peer(contender):
        what = libraries.get(contender) or environment.get(contender) or "unknown"
    if what is None:
        return 0
    timing = case.get("timing") or {}
    work = (case["id"], timing.get("method"), record.get("bytes"))  # the id tells parameters, input and seed
    return _number(marshal.dumps((what, work), 2))  # version 2: equal gives equal


@lru_cache(maxsize=4096)
def _number(work: bytes) -> int:
    """Return a number above 0 for a work; the runs of one suite have the same works again and again."""
    return int.from_bytes(hashlib.blake2b(work, digest_size=8).digest(), "little") or 1


def _ceilings(ceiling: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield name and mean log time in microseconds of what the harness timed itself, by kernel where rounds tell it."""
    rounds = ceiling.get("rounds") or []
    found: dict[str, list[float]] = {}
    for sweep in rounds or [ceiling]:
        for name, us in _named(sweep, bool(rounds)):
            if us is not None and us > 0:
                found.setdefault(name, []).append(math.log(us))
    for name, logs in found.items():
        yield name, sum(logs) / len(logs)


def _named(sweep: Mapping[str, Any], by_kernel: bool) -> Iterator[tuple[str, float | None]]:
    yield "launch", sweep.get("launch_us")
    yield "event pair", sweep.get("event_overhead_us")
    for point in sweep.get("sweep") or ():
        for what in ("copy", "read", "write"):
            by = f" by {point.get(f'{what}_by')}" if by_kernel else ""
            yield f"{what} of {point['bytes']}{by}", point.get(f"{what}_us")
