"""What the tests of exports share: recorded results and a hostile one, their exports, and what these should hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpubench.cli import main
from gpubench.model import Record, ResultSet
from gpubench.names import MEASURED
from gpubench.results.exports import Options, export, facts
from gpubench.results.read import read
from gpubench.results.write import write
from tests.recorded import recorded
from tests.views.samples import record, result

HOSTILE = 'a/b"\\c\nd\t# EOF {x="1"} \x1b[31m\u202e <&]]> -8, =1+1'


def smoke() -> ResultSet:
    """Return a recorded run of the suite smoke on a GPU, with libraries beside ours."""
    return read(recorded("nvidia-h200/smoke-2*.json")[-1])


def text(content: ResultSet, name: str, **options: Any) -> str:
    """Return an export of a format that is text."""
    return export(content, name, Options("out", **options)).data.decode()


def measured(content: ResultSet) -> list[Record]:
    """Return the records that have a time and an answer."""
    return [record for record in content.records if record.status in MEASURED and facts.median_us(record)]


def medians(content: ResultSet) -> dict[tuple[str, str], Any]:
    """Return the medians in microseconds, as the result holds them."""
    return {(record.case.id, record.contender): (record.summary or {})["median_us"] for record in measured(content)}


def families(exposition: str) -> dict[str, Any]:
    """Return what the parser of prometheus_client finds, by name."""
    parser = pytest.importorskip("prometheus_client.openmetrics.parser", reason="prometheus-client is of the extra dev")
    return {family.name: family for family in parser.text_string_to_metric_families(exposition)}


def exported(folder: Path, name: str, content: ResultSet, form: str) -> Path:
    """Write a result, export it by the command, and return the file."""
    write(content, folder / f"{name}-result.json")
    target = folder / name
    assert main(["export", str(folder / f"{name}-result.json"), "--format", form, "-o", str(target)]) == 0
    return target


def hostile() -> ResultSet:
    """Return a result whose names and messages try to break out of every format."""
    bad = record(HOSTILE, HOSTILE)
    environment = {"device": {"kind": "cuda", "name": HOSTILE, "driver": ["x"], "uuid": {"a": HOSTILE}}}
    wrong = record("cumsum/b", HOSTILE, status="wrong", message=HOSTILE)
    odd = record("cumsum/c", summary={"median_us": "fast", "ci95_us": [1, "x"], "fraction_of_ceiling": 10**400})
    return result(bad, wrong, odd, environment=environment, suite={"name": HOSTILE}, created=HOSTILE)
