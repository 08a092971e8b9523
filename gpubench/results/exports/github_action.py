"""The action github-action-benchmark, `tool: customSmallerIsBetter`: a name, a time in us and what else is known.

The action compares with the last value alone and does not look at `range`: take it for its chart, and let
`gpubench compare` gate. Layout: https://github.com/benchmark-action/github-action-benchmark#examples
"""

from __future__ import annotations

import json

from gpubench.model import Json, Record, ResultSet
from gpubench.results.exports import Exported, Options, facts


def export(result: ResultSet, options: Options) -> Exported:
    """Return the array: an entry for each record that was measured."""
    del options
    entries = [_entry(result, record) for record in facts.records(result) if facts.median_us(record) is not None]
    return Exported((json.dumps(entries, indent=1, allow_nan=False) + "\n").encode("ascii"))


def _entry(result: ResultSet, record: Record) -> dict[str, Json]:
    median = facts.median_us(record) or 0.0
    entry: dict[str, Json] = {
        "name": facts.harmless(f"{record.case.id} {record.contender}"),
        "unit": "us",
        "value": median,
    }
    interval, rate = facts.interval_us(record), facts.bytes_per_second(record, median)
    if interval is not None:
        entry["range"] = f"± {max(median - interval[0], interval[1] - median):.6g}"
    known = [facts.device(result), *([] if rate is None else [f"{rate / 1e9:.6g} GB/s"]), record.status]
    entry["extra"] = "\n".join([*known, *(["simulated"] if record.simulated else [])])
    return entry
