"""The result format: how a `ResultSet` and its records are written as JSON. `records.py` is the way back.

Beyond what the keys say by themselves:

- `records[].rounds_us`: the kept samples, one list a round, in the order taken. `discarded_us`: the others.
- `records[].telemetry.sm_mhz`: the SM clock during each kept sample, in the order of `rounds_us` laid end to end, null
  where unknown; `telemetry.discarded_sm_mhz` the same for `discarded_us`. Both are absent when no clock is known.
- `records[].timing`: `noisy`, `throttled`, `message` and `discarded_rounds`, the round (from 0) of each discarded
  sample; null when nothing was timed.
- `records[].case` has, beside `id`, `operator`, `dtype` and `params`: `distribution`, `seed`, `contenders`, `timing`
  (the options), so that a record alone can be run again. `limits`, absent where there are none: metric -> limit.
- `ceiling.sweep`: the fastest cold copy, read and write at each size, `{"bytes", "copy_us", "read_us", "write_us"}`,
  `bytes` moved altogether, with `copy_by`, `read_by` and `write_by`, the kernels that took these times;
  `ceiling.rounds`: the same kernels timed again in several rounds, `phase` `start` and `end` of the run, each with
  `launch_us` and `event_overhead_us`; `ceiling.launch_overhead_us`: what events add to the duration of one kernel. What
  was not measured is absent. In `records[].case.timing`, `clock` is absent where it is `events`, `integrity` where it
  is `plain`, `call_limit_s` where it is 10, `least_rounds` where it is 0.
- `environment.libraries`: contender -> package -> version, for each other library that the run timed.
- `suite`: `name` and `sha256`; where cases were drawn, `random`: `generator`, the version of what draws them, and
  `seeds`, one a random entry.
- `harness`: `protocol`, the number of the way of measuring, and `code_sha256`, the digest of the measuring code. Absent
  in version 1, whose protocol is 1.
- `source`: `commit`, `dirty` and `branch` of the repository that the suite lies in, the same of the kernels' sources
  under `kernels`, and `label`, the words of `--label`. Null: no repository. The whole is absent where nothing is known.
- `command` is empty after `--private`.
- `records[].summary.touched_bytes`: the bytes of all 32-byte sectors of memory that hold the case's bytes; `assumed`:
  the numbers that these rest on where they are an expectation, such as `distinct_rows` of index_add's drawn indices.
- `records[].summary.ceiling_us`: the least time for the touched bytes, from the sweep at the case's own size and mix of
  reads and writes; `fraction_of_ceiling` is that over the median. Without a sweep (files of earlier versions too) it is
  the rate over that of the large copy, which `fraction_of_copy` always is. `corrected_us`: the median without
  `launch_overhead_us`. `cupti`, with `--clock cupti` or `both`: medians of `span_us` (first start to last end) and
  `sum_us`, the spans of all samples, and each launch's name and median.
- `records[].check.answer_sha256`: the digest of the answer's bytes, in runs of a fleet, for variants that give the same
  bytes on every run. Absent elsewhere.
- Status `inaccurate`: another library's answer is beyond our bound (`check.ok` is false). It is timed like any other.
  Version 1 wrote `ok` or `noisy` there; reading it gives `inaccurate`.
- `records[].check.mismatches`, absent where nothing is wrong: how many elements (`count`, `of`), `where` in a word, a
  `strip` of up to 64 cells over the output (`.` right, `x` wrong), and the `first` three. `check.stray_writes`, absent
  where there are none: `operand`, `side`, `distance_bytes` and `bytes` of what was written beside operands.
- `records[].summary.integrity`, with `--integrity strict`: `seed`, which the inputs were drawn with in place of the
  case's. Status `implausible`: the median is under what the ceiling of the same run allows.
- `records[].kernel.notes`: what the variant says of its choices. `kernel.launches`: one object a launch.
- `environment.tuning`, absent where no constants are tuned: `sha256` of the tuning file, where it is `from`, its
  `entries` that hold here, and what is `ignored`, in words. `records[].kernel.tuning` is the same hash;
  `kernel.notes.regime` and `kernel.notes.constants` are what it changed.
- `tuned`, in the results of `gpubench tune`: a row a regime, with its space and what was decided.
- `compact`: the result has few of its samples; `gpubench/results/compact.py` says which.
- Further keys at the top are free and come back as `ResultSet.extra`. `timings`: where the wall time went, in seconds;
  `time: prepare`, `time: samples` and `time: device at work` are parts of `time`, the timed phase. `idle`: the share of
  the timed phase (`of_time`), and of taking samples (`of_samples`), in which the device was not at work on samples
  (restore, flush, timed runs). `soak`: how long the device was kept at work before anything was measured, and what it
  told `before` and `after`. `fleet`: which member of which fleet this is. `stopped`: why a run ended early.
- Numbers that JSON cannot hold (NaN, infinity) are written as null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from gpubench.model import Case, Ceiling, Check, Json, Record, ResultSet, Source, Timing

# Version history.
#   1  The first.
#   2  `harness`, `environment.libraries`, `ceiling.rounds`, the kernels behind `ceiling.sweep`, status `inaccurate`;
#      `summary.ci95_us` from the medians of the rounds.
SCHEMA_VERSION = 2

MAX_MESSAGE = 16_384
"""Characters of a record's message that are kept; a compile log can be far longer."""


def plain(value: object) -> Json:
    """Return `value` as JSON can hold it: tuples as lists, numpy scalars as numbers, NaN and infinity as None."""
    if value is None or isinstance(value, bool | int | str):
        return value if type(value) in (type(None), bool, int, str) else _base(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes | bytearray):
        return [plain(item) for item in value]
    item = getattr(value, "item", None)
    return plain(item()) if callable(item) else str(value)


def _base(value: object) -> Json:
    """Turn an enum member or another subclass of int or str into the built-in it stands for."""
    return str.__str__(value) if isinstance(value, str) else int(value)  # type: ignore[call-overload] # an int subclass


def sample_clocks(timing: Timing) -> dict[str, Json]:
    """Return the telemetry entries that hold the clocks of a timing's samples; empty when none is known."""
    kept = [sample.sm_mhz for sample in timing.samples]
    discarded = [sample.sm_mhz for _, sample in timing.discarded]
    clocks: dict[str, Json] = {}
    if any(clock is not None for clock in (*kept, *discarded)):
        clocks["sm_mhz"] = kept
        if discarded:
            clocks["discarded_sm_mhz"] = discarded
    return clocks


def with_sample_clocks(record: Record) -> Record:
    """Return the record with its samples' clocks in `telemetry`, where the format keeps them."""
    clocks = {} if record.timing is None else sample_clocks(record.timing)
    rest = {key: value for key, value in (record.telemetry or {}).items() if key not in _CLOCK_KEYS}
    if record.telemetry is None and not clocks:
        return record
    return replace(record, telemetry={**clocks, **rest})


_CLOCK_KEYS = ("sm_mhz", "discarded_sm_mhz")


_UNSAID: Mapping[str, Json] = {"clock": "events", "integrity": "plain", "call_limit_s": 10.0, "least_rounds": 0}


def _without_defaults(block: dict[str, Json], defaults: Mapping[str, Json]) -> dict[str, Json]:
    """Leave out what came to the format later, where it has the meaning that its absence has."""
    return {key: value for key, value in block.items() if key not in defaults or value != defaults[key]}


def case_to_json(case: Case) -> dict[str, Json]:
    """Return a case as the format and the journal write it."""
    return {
        "id": case.id,
        "operator": case.operator,
        "dtype": case.dtype,
        "params": plain(case.params),
        "distribution": case.distribution,
        "seed": case.seed,
        "contenders": list(case.contenders),
        "timing": _without_defaults(asdict(case.timing), _UNSAID),
        **({"limits": plain(case.limits)} if case.limits else {}),
    }


def record_to_json(record: Record) -> dict[str, Json]:
    """Return a record as the format writes it: numbers as numbers, never NaN or infinity."""
    record = with_sample_clocks(record)
    timing = record.timing
    return {
        "case": case_to_json(record.case),
        "contender": record.contender,
        "status": record.status,
        "message": None if record.message is None else record.message[:MAX_MESSAGE],
        "simulated": record.simulated,
        "bytes": record.bytes,
        "rounds_us": [] if timing is None else [[sample.us for sample in samples] for samples in timing.rounds],
        "discarded_us": [] if timing is None else [sample.us for _, sample in timing.discarded],
        "timing": None if timing is None else _timing_to_json(timing),
        "summary": plain(record.summary),
        "check": None if record.check is None else _check_to_json(record.check),
        "kernel": plain(record.kernel),
        "telemetry": plain(record.telemetry),
    }


def _timing_to_json(timing: Timing) -> dict[str, Json]:
    return {
        "noisy": timing.noisy,
        "throttled": timing.throttled,
        "message": timing.message,
        "discarded_rounds": [number for number, _ in timing.discarded],
    }


def _check_to_json(check: Check) -> dict[str, Json]:
    return {
        "ok": bool(check.ok),
        "max_error": plain(check.max_error),
        "max_error_over_tolerance": plain(check.max_error_over_tolerance),
        "first_mismatch": plain(check.first_mismatch),
        **({} if check.mismatches is None else {"mismatches": plain(check.mismatches)}),
        **({"stray_writes": plain(check.stray_writes)} if check.stray_writes else {}),
        **({} if check.answer_sha256 is None else {"answer_sha256": check.answer_sha256}),
    }


TOP_KEYS = (
    "schema_version",
    "gpubench",
    "harness",
    "created",
    "command",
    "source",
    "suite",
    "environment",
    "ceiling",
    "records",
)
OPTIONAL_KEYS = frozenset({"source"})
"""Those of TOP_KEYS that a file may lack."""


def ceiling_to_json(ceiling: Ceiling) -> dict[str, Json]:
    """Return the ceiling as the format, the journal and the worker write it; what was not measured is left out."""
    absent: dict[str, Json] = {"sweep": [], "rounds": [], "launch_overhead_us": None}
    return _without_defaults(plain(asdict(ceiling)), absent)


def source_to_json(source: Source) -> dict[str, Json]:
    """Return where a result comes from, as the format writes it."""
    return {**asdict(source.suite), "label": dict(source.label), "kernels": asdict(source.kernels)}


def result_to_json(result: ResultSet) -> dict[str, Json]:
    """Return the whole document. Keys of `extra` that the format itself uses are ignored."""
    return {
        "schema_version": SCHEMA_VERSION,
        "gpubench": result.gpubench,
        "harness": asdict(result.harness),
        "created": result.created,
        "command": list(result.command),
        **({"source": source_to_json(result.source)} if result.source != Source() else {}),
        "suite": plain(result.suite),
        "environment": plain(result.environment),
        "ceiling": ceiling_to_json(result.ceiling),
        **{key: plain(value) for key, value in result.extra.items() if key not in TOP_KEYS},
        "records": [record_to_json(record) for record in result.records],
    }
