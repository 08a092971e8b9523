"""Google Benchmark's JSON (schema version 1), for its `tools/compare.py`.

A repetition is a round, and its time the median of the round: rounds are what repeats independently. Times are in ns,
for compare.py prints whole units. It requires `cpu_time`, which is the device's time here too. The aggregate `median`
is the record's own, over all samples.
Layout: https://github.com/google/benchmark/blob/main/docs/user_guide.md and `src/json_reporter.cc` there.
"""

from __future__ import annotations

import json

from gpubench.model import Json, Record, ResultSet
from gpubench.results.exports import Exported, Options, facts


def export(result: ResultSet, options: Options) -> Exported:
    """Return the document: for each record an entry a round and its median, or one that names the error."""
    del options
    entries = [entry for index, record in enumerate(facts.records(result)) for entry in _entries(record, index)]
    document = {"context": _context(result), "benchmarks": entries}
    return Exported((json.dumps(document, indent=1, allow_nan=False) + "\n").encode("ascii"))


def _context(result: ResultSet) -> dict[str, Json]:
    """Return the context. What a result does not know of its host is zero or empty: nothing of it is disclosed."""
    return {
        "date": facts.harmless(result.created),
        "host_name": "",
        "executable": "gpubench",
        "num_cpus": 0,
        "mhz_per_cpu": 0,
        "cpu_scaling_enabled": False,
        "caches": [],
        "load_avg": [],
        "library_version": facts.harmless(result.gpubench),
        "library_build_type": "release",
        "json_schema_version": 1,
        "suite": facts.suite(result),
        "device": facts.device(result),
        "driver": facts.device(result, "driver"),
        "simulated": facts.is_simulated(result),
    }


def _entries(record: Record, index: int) -> list[dict[str, Json]]:
    name = facts.harmless(f"{record.case.id}/{record.contender}")
    shared: dict[str, Json] = {"family_index": index, "per_family_instance_index": 0, "run_name": name, "threads": 1}
    median, rounds = facts.median_us(record), facts.rounds_us(record)
    if median is None:
        shared |= {"name": name, "run_type": "iteration", "repetitions": 1, "repetition_index": 0, "iterations": 0}
        shared |= {"real_time": 0.0, "cpu_time": 0.0, "time_unit": "ns"}
        return [{**shared, "error_occurred": True, "error_message": facts.reason(record)}]
    shared["repetitions"] = max(len(rounds), 1)
    found = [
        {**shared, "name": name, "run_type": "iteration", "repetition_index": number, **_time(record, us, samples)}
        for number, (us, samples) in enumerate(rounds or [(median, 1)])
    ]
    aggregate: dict[str, Json] = {"run_type": "aggregate", "aggregate_name": "median", "aggregate_unit": "time"}
    return [*found, {**shared, "name": f"{name}_median", **aggregate, **_time(record, median, len(rounds))}]


def _time(record: Record, us: float, iterations: int) -> dict[str, Json]:
    time: dict[str, Json] = {"iterations": iterations, "real_time": us * 1e3, "cpu_time": us * 1e3, "time_unit": "ns"}
    rate = facts.bytes_per_second(record, us)
    label = record.status + (" simulated" if record.simulated else "")
    return {**time, **({} if rate is None else {"bytes_per_second": rate}), "label": label}
