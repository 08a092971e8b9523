"""T4, the results of auto-tuners, with Kernel Tuner's cache in the same document: its reader takes what it knows.

A configuration is a contender on a case, its objective the median time in ms. `results` is what the schema describes,
`cache` and the keys about it what `kernel_tuner.util.read_cache` reads.
Layout: https://github.com/odgaard/TuningSchema/tree/T4
"""

from __future__ import annotations

import json
from typing import NamedTuple

from gpubench.model import Json, Record, ResultSet
from gpubench.names import Status
from gpubench.results.exports import Exported, Options, facts
from gpubench.results.exports.tuned import documents


class _Failure(NamedTuple):
    """T4's word for what went wrong, and the one that Kernel Tuner has in place of a time."""

    invalidity: str
    error: str


_OTHER = _Failure("runtime", "RuntimeFailedConfig")
_FAILURES: dict[Status, _Failure] = {
    "wrong": _Failure("correctness", "RuntimeFailedConfig"),
    "implausible": _Failure("correctness", "RuntimeFailedConfig"),
    "compile_error": _Failure("compile", "CompilationFailedConfig"),
    "timeout": _Failure("timeout", "RuntimeFailedConfig"),
    "unsupported": _Failure("constraints", "InvalidConfig"),
    "skipped": _Failure("constraints", "InvalidConfig"),
}


def export(result: ResultSet, options: Options) -> Exported:
    """Return the document: for each record an entry of `results` and one of `cache`.

    Of a tuning: of its first regime, with those of the others beside it (`exports.tuned`).
    """
    del options
    regimes = list(documents(result).items())
    if regimes:
        return Exported(regimes[0][1], {f".{name}.json": data for name, data in regimes[1:]})
    records = facts.records(result)
    tuned: dict[str, Json] = {
        "case": list(dict.fromkeys(facts.harmless(record.case.id) for record in records)),
        "contender": list(dict.fromkeys(facts.harmless(record.contender) for record in records)),
    }
    document: dict[str, Json] = {
        "schema_version": "1.0.0",
        "metadata": {"timeunit": "milliseconds", "gpubench": facts.harmless(result.gpubench)},
        "results": [_result(result, record) for record in records],
        "device_name": facts.device(result),
        "kernel_name": facts.suite(result),
        "problem_size": "",
        "objective": "time",
        "tune_params_keys": list(tuned),
        "tune_params": tuned,
        "cache": {
            f"{index},{facts.harmless(record.contender)}": _cached(record) for index, record in enumerate(records)
        },
    }
    # Kernel Tuner looks for `}` on two lines, or `}}}`, to see that a cache was closed
    return Exported((json.dumps(document, allow_nan=False, separators=(",", ":")) + "\n").encode("ascii"))


def _configuration(record: Record) -> dict[str, Json]:
    return {"case": facts.harmless(record.case.id), "contender": facts.harmless(record.contender)}


def _milliseconds(record: Record) -> list[Json]:
    return [sample.us / 1e3 for sample in record.timing.samples] if record.timing else []


def _result(result: ResultSet, record: Record) -> dict[str, Json]:
    median = facts.median_us(record)
    invalidity = "correct" if median is not None else _FAILURES.get(record.status, _OTHER).invalidity
    measurements: list[Json] = []
    if median is not None:
        measurements.append({"name": "time", "value": median / 1e3, "unit": "ms"})
        rate = facts.bytes_per_second(record, median)
        measurements += [] if rate is None else [{"name": "GB/s", "value": rate / 1e9, "unit": "GB/s"}]
    return {
        "timestamp": facts.harmless(result.created),
        "configuration": _configuration(record),
        "objectives": ["time"],
        "times": {"runtimes": _milliseconds(record) if median is not None else []},
        "invalidity": invalidity,
        "correctness": float(median is not None),
        "measurements": measurements,
    }


def _cached(record: Record) -> dict[str, Json]:
    median = facts.median_us(record)
    if median is None:
        return {**_configuration(record), "time": _FAILURES.get(record.status, _OTHER).error}
    return {**_configuration(record), "time": median / 1e3, "times": _milliseconds(record)}
