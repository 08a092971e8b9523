"""NVBench's JSON 1.0.0 with its binary samples, for the package cuda-bench and its compare scripts.

A benchmark is an operator, a state a case by a contender, a sample one of ours. Its numbers are strings, in seconds.
Samples and clocks lie beside the file, float32 little-endian: `FILE-bin/0.bin` in s, `FILE-freqs-bin/0.bin` in Hz. The
robust script takes a state only with both; the legacy one ends with 1 on any difference of `devices`, so nothing stands
there that differs between cards of a model.
Layout: https://github.com/NVIDIA/nvbench/blob/main/nvbench/json_printer.cu
"""

from __future__ import annotations

import json
import statistics
import struct
from collections.abc import Iterable, Sequence

from gpubench.model import Json, Record, ResultSet
from gpubench.results.exports import Exported, Options, facts

_OPTIONS: dict[str, Json] = {
    "min_samples": 1,
    "cold_warmup_runs": 0,
    "cold_max_warmup_walltime": -1.0,
    "batch_target_time": 0.0,
    "skip_time": -1.0,
    "timeout": -1.0,
}

_MOST_MHZ = 1e9
"""Beyond any clock, within what float32 holds in Hz."""


def export(result: ResultSet, options: Options) -> Exported:
    """Return the document, and the files of samples and clocks of its states."""
    operators: dict[str, list[Record]] = {}
    for record in facts.records(result):
        operators.setdefault(facts.harmless(record.case.operator), []).append(record)
    beside: dict[str, bytes] = {}
    benchmarks: list[Json] = [
        _benchmark(index, name, found, _States(result, options.name, beside))
        for index, (name, found) in enumerate(operators.items())
    ]
    document: dict[str, Json] = {"meta": _meta(), "devices": [_device(result)], "benchmarks": benchmarks}
    return Exported((json.dumps(document, indent=1, allow_nan=False) + "\n").encode("ascii"), beside)


def _meta() -> dict[str, Json]:
    version: dict[str, Json] = {"major": 1, "minor": 0, "patch": 0, "string": "1.0.0"}
    git: dict[str, Json] = {"git_branch": "", "git_sha": "", "git_version": "", "git_is_dirty": False}
    return {"argv": ["gpubench"], "version": {"json": version, "nvbench": {**version, **git}}}


def _device(result: ResultSet) -> dict[str, Json]:
    """Return the device; what a result does not hold of it is 0."""

    def number(key: str, scale: float = 1.0) -> int:
        found = result.environment.get("device")
        known = facts.number(found.get(key)) if isinstance(found, dict) else None
        return round((known or 0) * scale)

    major, _, minor = facts.device(result, "compute_capability").partition(".")
    sm = int(major) * 100 + int(minor) * 10 if major.isdecimal() and minor.isdecimal() else 0
    zero = ("max_blocks_per_sm", "max_threads_per_sm", "max_threads_per_block")
    held = ("registers", "shared_memory")
    return {
        "id": 0,
        "name": facts.device(result),
        "sm_version": sm,
        "ptx_version": sm,
        "sm_default_clock_rate": number("max_sm_mhz", 1e6),
        "number_of_sms": number("sm_count"),
        "global_memory_size": number("memory_bytes"),
        "global_memory_bus_peak_clock_rate": number("max_memory_mhz", 1e6),
        "global_memory_bus_width": number("memory_bus_bits"),
        "global_memory_bus_bandwidth": number("theoretical_GBps", 1e9),
        "l2_cache_size": number("l2_bytes"),
        **dict.fromkeys((*zero, *(f"{name}_per_{unit}" for name in held for unit in ("sm", "block"))), 0),
        "ecc_state": isinstance(result.environment.get("device"), dict) and facts.device(result, "ecc") == "True",
    }


def _benchmark(index: int, name: str, records: Sequence[Record], states: _States) -> dict[str, Json]:
    axes: dict[str, Iterable[str]] = {
        "case": dict.fromkeys(facts.case_parts(record) for record in records),
        "contender": dict.fromkeys(facts.harmless(record.contender) for record in records),
    }
    return {
        "name": name,
        "index": index,
        **_OPTIONS,
        "devices": [0],
        "axes": [
            {
                "name": axis,
                "type": "string",
                "flags": "",
                "values": [{"input_string": value, "description": "", "value": value} for value in values],
            }
            for axis, values in axes.items()
        ],
        "states": [states.state(record) for record in records],
    }


class _States:
    """Makes states, and puts their samples into `beside` by the end of a file's name."""

    def __init__(self, result: ResultSet, name: str, beside: dict[str, bytes]) -> None:
        self._result, self._name, self._beside = result, name, beside

    def state(self, record: Record) -> dict[str, Json]:
        """Return the state of a record; one without a time and an answer is skipped."""
        case, contender = facts.case_parts(record), facts.harmless(record.contender)
        skipped = facts.median_us(record) is None
        values = (("case", case), ("contender", contender))
        return {
            "name": f"Device=0 case={case} contender={contender}",
            **_OPTIONS,
            "device": 0,
            "type_config_index": 0,
            "axis_values": [{"name": axis, "type": "string", "value": value} for axis, value in values],
            "summaries": None if skipped else [*self._times(record), *self._samples(record)],
            "is_skipped": skipped,
            **({"skip_reason": facts.reason(record)} if skipped else {}),
        }

    def _times(self, record: Record) -> list[Json]:
        """Return the figures of all samples together, in seconds; without samples those of the summary."""
        samples = [sample.us for sample in record.timing.samples] if record.timing else []
        median = facts.median_us(record) or 0.0
        times = samples or [median]
        mean, spread = statistics.fmean(times), statistics.stdev(times) if len(times) > 1 else 0.0
        low, _, high = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else [median] * 3
        figures = {"mean": mean, "min": min(times), "max": max(times), "median": statistics.median(times)}
        figures |= {"stdev/absolute": spread, "q1": low, "q3": high, "iqr/absolute": high - low}
        rows = [_summary(f"nv/cold/time/gpu/{tag}", us / 1e6, "duration") for tag, us in figures.items()]
        shares = {"stdev/relative": spread / mean, "iqr/relative": (high - low) / statistics.median(times)}
        rows += [_summary(f"nv/cold/time/gpu/{tag}", share, "percentage") for tag, share in shares.items()]
        rate, device = facts.bytes_per_second(record, mean), self._result.environment.get("device")
        if rate is not None:
            rows.append(_summary("nv/cold/bw/global/bytes_per_second", rate, "byte_rate"))
            peak = facts.number(device.get("theoretical_GBps")) if isinstance(device, dict) else None
            rows += [_summary("nv/cold/bw/global/utilization", rate / peak / 1e9, "percentage")] if peak else []
        return [_summary("nv/cold/sample_size", len(times), "sample_size"), *rows]

    def _samples(self, record: Record) -> list[Json]:
        """Return the summaries that name the files of samples and, where every clock is known, of clocks."""
        samples = record.timing.samples if record.timing else ()
        clocks = [sample.sm_mhz for sample in samples if sample.sm_mhz is not None]
        number = sum(end.startswith("-bin/") for end in self._beside)
        rows: list[Json] = []
        if samples:
            seconds = [sample.us / 1e6 for sample in samples]
            rows.append(self._file("nv/json/bin:nv/cold/sample_times", f"-bin/{number}.bin", seconds))
        if samples and len(clocks) == len(samples) and max(clocks) < _MOST_MHZ:
            rows.append(_summary("nv/cold/sm_clock_rate/mean", statistics.fmean(clocks) * 1e6, "frequency"))
            rates = [clock * 1e6 for clock in clocks]
            rows.append(self._file("nv/json/freqs-bin:nv/cold/sample_freqs", f"-freqs-bin/{number}.bin", rates))
        return rows

    def _file(self, tag: str, end: str, values: Sequence[float]) -> Json:
        self._beside[end] = struct.pack(f"<{len(values)}f", *values)
        name: dict[str, Json] = {"name": "filename", "type": "string", "value": f"{self._name}{end}"}
        size: dict[str, Json] = {"name": "size", "type": "int64", "value": str(len(values))}
        return {"tag": tag, "name": "Samples", "hint": "file", "hide": "Not shown.", "data": [name, size]}


def _summary(tag: str, value: float, hint: str) -> dict[str, Json]:
    kind = "int64" if isinstance(value, int) else "float64"
    name = tag.removeprefix("nv/cold/").replace("/", " ")
    return {"tag": tag, "name": name, "hint": hint, "data": [{"name": "value", "type": kind, "value": repr(value)}]}
