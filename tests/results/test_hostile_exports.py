"""Exports of any result: nothing in a name or a message leaves its place, or reaches a terminal."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpubench.model import ResultSet
from gpubench.results.exports import FORMATS, facts
from tests.results.exported import HOSTILE, families, hostile, text
from tests.results.strategies import results

TEXTS = [name for name, row in FORMATS.items() if row.is_text]


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_of_a_hostile_result_reaches_a_terminal(name: str) -> None:
    """No export has a character that acts on a terminal, whatever the names and messages are."""
    assert all(letter.isprintable() or letter == "\n" for letter in text(hostile(), name))


def test_hostile_names_stay_inside_their_places() -> None:
    """Quotes, line breaks and mark-up in names are text to each reader, and a record stays one record."""
    wanted = facts.harmless(HOSTILE)
    samples = families(text(hostile(), "openmetrics"))["gpubench_median_seconds"].samples
    assert [sample.labels["contender"] for sample in samples] == [wanted]
    cases = ElementTree.fromstring(text(hostile(), "junit")).findall(".//testcase")
    assert [case.get("name") for case in cases][:2] == [f"{wanted} {wanted}", f"cumsum/b {wanted}"]
    lines = [line for line in text(hostile(), "benchfmt").splitlines() if line.startswith("Benchmark")]
    assert len(lines) == 1
    assert re.fullmatch(r"Benchmark\S+/case=[^/\s]+/contender=[^/\s]+ 3 \S+ ns/op \S+ MB/s", lines[0])
    names = {benchmark["run_name"] for benchmark in json.loads(text(hostile(), "google-benchmark"))["benchmarks"]}
    assert f"{wanted}/{wanted}" in names


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(content=results, name=st.sampled_from([*TEXTS, "nvbench"]))
def test_any_result_can_be_exported(content: ResultSet, name: str) -> None:
    """Whatever the format of results allows is exported, as UTF-8 without control characters."""
    assert all(letter.isprintable() or letter == "\n" for letter in text(content, name))
