"""Apache Parquet, a row a record with its rounds nested, for pandas, DuckDB and the like. It needs pyarrow."""

from __future__ import annotations

import io
from typing import Any

from gpubench.errors import MissingExtraError
from gpubench.model import Record, ResultSet
from gpubench.results.exports import Exported, Options, facts


def export(result: ResultSet, options: Options) -> Exported:
    """Return the file, compressed with zstd. MissingExtraError without pyarrow."""
    del options
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "parquet") from error
    texts = (
        "created",
        "suite",
        "device",
        "uuid",
        "driver",
        "commit",
        "case",
        "operator",
        "dtype",
        "contender",
        "status",
    )
    numbers = ("median_us", "ci95_low_us", "ci95_high_us", "min_us", "p95_us", "GBps", "fraction_of_ceiling")
    schema = arrow.schema(
        [
            *((name, arrow.string()) for name in (*texts, "message", "cubin_sha256")),
            ("simulated", arrow.bool_()),
            ("bytes", arrow.int64()),
            *((name, arrow.float64()) for name in numbers),
            ("rounds_us", arrow.list_(arrow.list_(arrow.float32()))),
        ]
    )
    rows = [_row(result, record) for record in facts.records(result)]
    file = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(rows, schema=schema), file, compression="zstd")
    return Exported(file.getvalue())


def _row(result: ResultSet, record: Record) -> dict[str, Any]:
    low, high = facts.interval_us(record) or (None, None)
    figures = ("min_us", "p95_us", "GBps", "fraction_of_ceiling")
    return {
        "created": facts.harmless(result.created),
        "suite": facts.suite(result),
        "device": facts.device(result),
        "uuid": facts.device(result, "uuid"),
        "driver": facts.device(result, "driver"),
        "commit": facts.harmless(result.source.suite.commit) or None,
        "case": facts.harmless(record.case.id),
        "operator": facts.harmless(record.case.operator),
        "dtype": facts.harmless(record.case.dtype),
        "contender": facts.harmless(record.contender),
        "status": record.status,
        "message": None if record.message is None else facts.harmless(record.message),
        "cubin_sha256": facts.harmless((record.kernel or {}).get("cubin_sha256")) or None,
        "simulated": record.simulated,
        "bytes": record.bytes if record.bytes is not None and record.bytes < 2**63 else None,
        "median_us": facts.median_us(record),
        "ci95_low_us": low,
        "ci95_high_us": high,
        **{name: facts.figure(record, name) for name in figures},
        "rounds_us": []
        if record.timing is None
        else [[sample.us for sample in samples] for samples in record.timing.rounds],
    }
