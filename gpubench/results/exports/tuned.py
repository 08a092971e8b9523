"""A tuning in the formats of tuners: a document a regime, in which a configuration is a value for each constant.

`results` is T4 (https://github.com/odgaard/TuningSchema/tree/T4), `cache` and the keys about it what Kernel Tuner's
`read_cache` reads and its simulation mode runs on: every point of the space is there, those that were not timed with
the reason. The objective is the geometric mean over the regime's cases of the median time, in ms.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpubench.model import Json, Record, ResultSet
from gpubench.names import MEASURED
from gpubench.results.exports import facts
from gpubench.tuned import STAGE, TUNED

MOST = 20_000
"""Points of a space that are written."""

INVALID, NOT_COMPILED, FAILED = "InvalidConfig", "CompilationFailedConfig", "RuntimeFailedConfig"
_WORDS = {INVALID: "constraints", NOT_COMPILED: "compile", FAILED: "runtime"}


@dataclass(frozen=True, slots=True)
class _Point:
    """A configuration: its time in ms with all samples, or the error that Kernel Tuner has in place of a time."""

    values: tuple[Json, ...]
    time: float | None
    samples: tuple[float, ...] = ()
    error: str = ""
    wrong: bool = False


def documents(result: ResultSet) -> dict[str, bytes]:
    """Return the documents of a tuning by `SUBJECT-REGIME`, empty for a result that is none or was tampered with."""
    found: dict[str, bytes] = {}
    rows = result.extra.get(TUNED)
    for row in rows if isinstance(rows, list) else ():
        try:
            name = f"{row['subject']}-{row['regime']}".replace(":", "-")
            found[facts.harmless(name, 120)] = _document(result, row)
        except (KeyError, TypeError, AttributeError, ValueError):
            continue
    return found


def _document(result: ResultSet, row: Mapping[str, Any]) -> bytes:
    space = row["space"]
    names = [facts.harmless(parameter) for parameter in space["parameters"]]
    choices = [[_value(value) for value in values] for values in space["parameters"].values()]
    if math.prod(map(len, choices)) > MOST:
        raise ValueError("too many points")
    points = list(_points(result, row, [list(values) for values in space["parameters"].values()]))
    document: dict[str, Json] = {
        "schema_version": "1.0.0",
        "metadata": {"timeunit": "milliseconds", "gpubench": facts.harmless(result.gpubench)},
        "results": [_result(result, names, point) for point in points],
        "device_name": facts.device(result),
        "kernel_name": facts.harmless(f"{row['subject']} {row['regime']}"),
        "problem_size": [len(space["cases"])],
        "objective": "time",
        "tune_params_keys": names,
        "tune_params": dict(zip(names, choices, strict=True)),
        "cache": {",".join(map(str, point.values)): _cached(result, names, point) for point in points},
    }
    # Kernel Tuner looks for `}` on two lines, or `}}}`, to see that a cache was closed
    return (json.dumps(document, allow_nan=False, separators=(",", ":")) + "\n").encode("ascii")


def _points(result: ResultSet, row: Mapping[str, Any], listed: Sequence[Sequence[str]]) -> Iterator[_Point]:
    space = row["space"]
    times = _times(result, row)
    for texts in itertools.product(*listed):
        values = tuple(map(_value, texts))
        name = space["stands_for"].get(",".join(texts))
        if name is None:
            yield _Point(values, None, error=INVALID)
        elif name in space["dropped"]:
            yield _Point(values, None, error=NOT_COMPILED)
        elif name in space["failed"]:
            why = str(space["failed"][name])
            compiled = "compile_error" not in why
            yield _Point(values, None, error=FAILED if compiled else NOT_COMPILED, wrong="wrong" in why)
        else:
            samples = [times.get((case, plan)) for case, plan in zip(space["cases"], space["plans"][name], strict=True)]
            known = [sample for sample in samples if sample]
            if not known or len(known) < len(samples):
                yield _Point(values, None, error=INVALID)  # the time was over before its turn
                continue
            mean = math.exp(sum(math.log(statistics.median(medians)) for medians in known) / len(known))
            yield _Point(values, mean, tuple(median_ms for medians in known for median_ms in medians))


def _times(result: ResultSet, row: Mapping[str, Any]) -> dict[tuple[str, str], list[float]]:
    """Return the samples of the race in ms, by case and by what tells a plan from others."""
    space = row["space"]
    at = {case: place for place, case in enumerate(space["cases"])}
    stage = f"{STAGE}{row['subject']}.{row['regime']}.race."
    found: dict[tuple[str, str], list[float]] = {}
    for record in result.records:
        case, _, _ = record.case.id.partition(STAGE)
        plans = space["plans"].get(record.contender)
        if case in at and plans is not None and stage in record.case.id and _is_timed(record):
            key = case, plans[at[case]]
            found.setdefault(key, []).extend(sample.us / 1e3 for sample in record.timing.samples)  # type: ignore[union-attr] # _is_timed
    return found


def _is_timed(record: Record) -> bool:
    return record.status in MEASURED and facts.median_us(record) is not None and record.timing is not None


def _value(text: str) -> Json:
    """Return a value as JSON has it: numbers as numbers, shapes and `none` as texts."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return facts.harmless(text)
    return number if math.isfinite(number) else facts.harmless(text)


def _result(result: ResultSet, names: Sequence[str], point: _Point) -> dict[str, Json]:
    timed = point.time is not None
    invalidity = "correct" if timed else "correctness" if point.wrong else _WORDS[point.error]
    return {
        "timestamp": facts.harmless(result.created),
        "configuration": dict(zip(names, point.values, strict=True)),
        "objectives": ["time"],
        "times": {"runtimes": list(point.samples)},
        "invalidity": invalidity,
        "correctness": float(timed),
        "measurements": [{"name": "time", "value": point.time, "unit": "ms"}] if timed else [],
    }


def _cached(result: ResultSet, names: Sequence[str], point: _Point) -> dict[str, Json]:
    """Return an entry of the cache. What Kernel Tuner spent on it by itself is nothing."""
    spent: dict[str, Json] = dict.fromkeys(
        ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"), 0
    )
    entry: dict[str, Json] = {**dict(zip(names, point.values, strict=True)), **spent}
    entry["timestamp"] = facts.harmless(result.created)
    if point.time is None:
        return {**entry, "time": point.error, "__error__": point.error}
    return {**entry, "time": point.time, "times": list(point.samples)}
