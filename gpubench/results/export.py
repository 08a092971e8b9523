"""Results for other programs: CSV (one row a record) and JSON lines (one record a line, as in the result file)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator

from gpubench.model import Json, Record, ResultSet
from gpubench.results.format import record_to_json

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - the full-width forms are meant: spreadsheets take them for formulas too


def _from(part: str, key: str) -> Callable[[Record], Json]:
    def read(record: Record) -> Json:
        found = getattr(record, part)
        if found is None:
            return None
        return getattr(found, key) if part == "check" else found.get(key)

    return read


def _bound(index: int) -> Callable[[Record], Json]:
    def read(record: Record) -> Json:
        interval = (record.summary or {}).get("ci95_us")
        return interval[index] if isinstance(interval, list | tuple) and len(interval) == 2 else None

    return read


COLUMNS: tuple[tuple[str, Callable[[Record], Json]], ...] = (
    ("case", lambda record: record.case.id),
    ("operator", lambda record: record.case.operator),
    ("dtype", lambda record: record.case.dtype),
    ("contender", lambda record: record.contender),
    ("status", lambda record: record.status),
    ("message", lambda record: record.message),
    ("simulated", lambda record: record.simulated),
    ("bytes", lambda record: record.bytes),
    ("n", _from("summary", "n")),
    ("median_us", _from("summary", "median_us")),
    ("ci95_low_us", _bound(0)),
    ("ci95_high_us", _bound(1)),
    ("min_us", _from("summary", "min_us")),
    ("p95_us", _from("summary", "p95_us")),
    ("GBps", _from("summary", "GBps")),
    ("fraction_of_ceiling", _from("summary", "fraction_of_ceiling")),
    ("check_ok", _from("check", "ok")),
    ("max_error", _from("check", "max_error")),
    ("max_error_over_tolerance", _from("check", "max_error_over_tolerance")),
    ("variant", _from("kernel", "variant")),
    ("cubin_sha256", _from("kernel", "cubin_sha256")),
)


def cell(value: Json) -> str | int | float:
    r"""Return what stands in a CSV cell.

    A text that a spreadsheet would run as a formula gets an apostrophe before. What would act on a terminal that shows
    the file (colours, links, bidirectional overrides) becomes `\x1b` and the like; tabs and line breaks stay.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    shown = "".join(
        character
        if character.isprintable() or character in "\t\n"
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
    return "'" + shown if text.lstrip(" \0").startswith(_FORMULA) else shown


def csv_text(result: ResultSet) -> str:
    """Return the CSV (RFC 4180, header first)."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([name for name, _ in COLUMNS])
    for record in result.records:
        writer.writerow([cell(read(record)) for _, read in COLUMNS])
    return out.getvalue()


def json_lines(result: ResultSet) -> Iterator[str]:
    """Yield one line a record, with its newline."""
    for record in result.records:
        yield json.dumps(record_to_json(record), allow_nan=False, ensure_ascii=True) + "\n"
