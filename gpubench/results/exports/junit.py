"""JUnit XML of one result: a test a record. A wrong answer is a failure; a crash and the like an error.

`gpubench compare --junit` writes the verdicts of a comparison in the same form.
Layout: https://github.com/testmoapp/junitxml
"""

from __future__ import annotations

from xml.etree import ElementTree

from gpubench.model import Record, ResultSet
from gpubench.names import FAILED, MEASURED, NOT_MEANT
from gpubench.results.exports import Exported, Options, facts


def export(result: ResultSet, options: Options) -> Exported:
    """Return the document. Times are the medians in seconds."""
    del options
    records = facts.records(result)
    outcomes = [_outcome(record) for record in records]
    root = ElementTree.Element("testsuites", name="gpubench")
    counts = {
        "tests": len(records),
        "failures": outcomes.count("failure"),
        "errors": outcomes.count("error"),
        "skipped": outcomes.count("skipped"),
    }
    suite = ElementTree.SubElement(root, "testsuite", name=facts.suite(result))
    suite.set("timestamp", facts.harmless(result.created))
    suite.set("time", _seconds(sum(facts.median_us(record) or 0.0 for record in records)))
    for name, count in counts.items():
        suite.set(name, str(count))
    properties = ElementTree.SubElement(suite, "properties")
    for name in ("name", "driver", "uuid"):
        ElementTree.SubElement(properties, "property", name=f"device.{name}", value=facts.device(result, name))
    for record, outcome in zip(records, outcomes, strict=True):
        _test(suite, record, outcome)
    ElementTree.indent(root)
    return Exported(ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n")


def _outcome(record: Record) -> str | None:
    """Return what became of a test; None: it passed."""
    if record.status in NOT_MEANT:
        return "skipped"
    if record.status in FAILED:
        return "error"
    return None if record.status in MEASURED else "failure"


def _test(suite: ElementTree.Element, record: Record, outcome: str | None) -> None:
    median = facts.median_us(record)
    test = ElementTree.SubElement(
        suite,
        "testcase",
        classname=facts.harmless(f"{record.case.operator}.{record.case.dtype}"),
        name=facts.harmless(f"{record.case.id} {record.contender}"),
        time=_seconds(median or 0.0),
    )
    if outcome is not None:
        ElementTree.SubElement(test, outcome, message=facts.reason(record), type=record.status)
        return
    said = [facts.reason(record), *(["simulated: this time says nothing about a GPU"] if record.simulated else [])]
    ElementTree.SubElement(test, "system-out").text = "; ".join(said)


def _seconds(us: float) -> str:
    return f"{us / 1e6:.9f}"
