"""Results as CSV (a row a record, a column a parameter) and as JSON lines (the records of the result file)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator

from gpubench.errors import ResultFileError
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


_RUN = ("suite", "device", "driver", "date", "commit", "distribution", "seed")
MOST_PARAMETERS = 64
"""Columns of parameters; our operators have fewer than 20 together."""


def csv_text(*results: ResultSet) -> str:
    """Return the CSV (RFC 4180, header first): records of every result, each parameter of a case in its own column.

    After the columns of the record come those of its run, then the parameters in the order in which they are met. A
    parameter with parts (`layout`) has a column for each (`layout.step`). ResultFileError for far too many parameters.
    """
    rows = [(result, record, _parameters(record)) for result in results for record in result.records]
    names = list(dict.fromkeys(name for _, _, parameters in rows for name in parameters))
    if len(names) > MOST_PARAMETERS:
        raise ResultFileError(f"The cases have {len(names)} different parameters; a CSV takes {MOST_PARAMETERS}.")
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([name for name, _ in COLUMNS] + [*_RUN] + [cell(name) for name in names])
    for result, record, parameters in rows:
        values = [read(record) for _, read in COLUMNS] + _run(result, record)
        writer.writerow([cell(value) for value in (*values, *(parameters.get(name) for name in names))])
    return out.getvalue()


def _run(result: ResultSet, record: Record) -> list[Json]:
    """Return the cells of `_RUN`."""
    device = result.environment.get("device")
    known = device if isinstance(device, dict) else {}
    run = [result.suite.get("name"), known.get("name"), known.get("driver"), result.created, result.source.suite.commit]
    return [*run, record.case.distribution, record.case.seed]


def _parameters(record: Record) -> dict[str, Json]:
    """Return each parameter of the case under the name of its column; one named as another column gets `param.`."""
    taken = {*(name for name, _ in COLUMNS), *_RUN, ""}
    found: dict[str, Json] = {}
    for key, value in record.case.params.items():
        found |= _parts(f"param.{key}" if key in taken else key, key, value, 3)
    return found


def _parts(name: str, key: str, value: Json, depth: int) -> dict[str, Json]:
    """Return a value by the names of its parts, `inputs.0.layout.step`; `depth` bounds how deep parts are looked for.

    A shape is written as in case ids, 4096x4096, and a pattern of index_add, which may be a word, as `below=1024`.
    """
    if key == "shape" and isinstance(value, list | tuple) and all(isinstance(size, int) for size in value):
        return {name: "x".join(str(size) for size in value) or "scalar"}
    if key == "pattern" and isinstance(value, dict):
        return {name: ",".join(f"{part}={inner}" for part, inner in value.items())}
    if isinstance(value, list | tuple) and value and all(isinstance(inner, dict) for inner in value):
        value = {str(index): inner for index, inner in enumerate(value)}
    if not isinstance(value, dict) or depth == 0:
        return {name: value}
    parts = [_parts(f"{name}.{part}", part, inner, depth - 1) for part, inner in value.items()]
    return {name: inner for part in parts for name, inner in part.items()}


def json_lines(result: ResultSet) -> Iterator[str]:
    """Yield one line a record, with its newline."""
    for record in result.records:
        yield json.dumps(record_to_json(record), allow_nan=False, ensure_ascii=True) + "\n"
