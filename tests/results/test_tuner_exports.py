"""Exports for Kernel Tuner: its own schema and reader find what the result holds."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from gpubench.results.exports import facts
from tests.results.exported import exported, hostile, measured, medians, smoke, text
from tests.views.samples import mixed

TUNER = "kernel-tuner (0.2 MB) brings pandas, scikit-learn and pymoo: too heavy for the extra dev"


def test_t4_has_every_median_and_sample_in_milliseconds() -> None:
    """Each record is a configuration with its samples; what has no answer says why in the schema's words."""
    content = smoke()
    document = json.loads(text(content, "t4"))
    assert len(document["results"]) == len(document["cache"]) == len(content.records)
    timed = {(row.case.id, row.contender) for row in measured(content)}
    rows = zip(content.records, document["results"], document["cache"].values(), strict=True)
    for row, entry, cached in rows:
        assert entry["configuration"] == {"case": row.case.id, "contender": row.contender}
        if (row.case.id, row.contender) not in timed:
            assert (entry["invalidity"], cached["time"]) == ("constraints", "InvalidConfig")
            continue
        assert entry["measurements"][0]["value"] * 1e3 == pytest.approx(facts.median_us(row))
        assert cached["time"] == entry["measurements"][0]["value"]
        assert len(entry["times"]["runtimes"]) == len(row.timing.samples) > 0  # type: ignore[union-attr]
        assert (entry["invalidity"], entry["correctness"]) == ("correct", 1.0)
    wrong = [entry for entry in json.loads(text(mixed(), "t4"))["results"] if entry["invalidity"] == "correctness"]
    assert [entry["correctness"] for entry in wrong] == [0.0]


def test_the_schema_of_t4_takes_it() -> None:
    """The schema that Kernel Tuner has along finds no mistake, not in a hostile result either."""
    spec = importlib.util.find_spec("kernel_tuner")
    if spec is None or spec.origin is None:
        pytest.skip(TUNER)
    import jsonschema

    schema = json.loads((Path(spec.origin).parent / "schema/T4/1.0.0/results-schema.json").read_text())
    for content in (smoke(), mixed(), hostile()):
        jsonschema.validate(json.loads(text(content, "t4")), schema)


def test_kernel_tuner_reads_it_as_a_cache(tmp_path: Path) -> None:
    """Its read_cache finds each time, and an error of its own kinds for what was refused or failed."""
    util = pytest.importorskip("kernel_tuner.util", reason=TUNER)
    content = smoke()
    cache = util.read_cache(exported(tmp_path, "t4.json", content, "t4"), open_cache=False)["cache"]
    found = {(entry["case"], entry["contender"]): entry["time"] for entry in cache.values() if "__error__" not in entry}
    assert found == {key: pytest.approx(us / 1e3) for key, us in medians(content).items()}
    assert {type(entry["__error__"]).__name__ for entry in cache.values() if "__error__" in entry} == {"InvalidConfig"}
