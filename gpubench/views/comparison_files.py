"""A comparison for other programs: JSON, and JUnit XML for the test views of CI systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from gpubench.comparison import Comparison, Row
from gpubench.model import Json
from gpubench.views import text

VERSION = 1
"""Of the JSON document. 1: the first."""


def comparison_json(comparisons: Sequence[Comparison], exit_code: int) -> dict[str, Json]:
    """Return the document: every field of every comparison, the counts, and what the command returns."""
    return {
        "comparison_version": VERSION,
        "exit_code": exit_code,
        "comparisons": [{**asdict(comparison), "counts": comparison.counts()} for comparison in comparisons],
    }


def junit(comparisons: Sequence[Comparison], fails: Callable[[Row], bool]) -> str:
    """Return JUnit XML: a suite for each comparison, a test for each row.

    A row that `fails` is a failure, or an error when it is BROKEN, or ADDED with no answer or a wrong one; UNDECIDED,
    ADDED and REMOVED ones that do not fail are skipped tests, so that nobody takes them for passed.
    """
    from xml.etree import ElementTree

    root = ElementTree.Element("testsuites", name="gpubench compare")
    for comparison in comparisons:
        counts = {"failure": 0, "error": 0, "skipped": 0, None: 0}
        mark = " (simulated on the host: these times say nothing about a GPU)" if comparison.simulated else ""
        name = text.printable(f"{comparison.old} -> {comparison.new}") + mark
        suite = ElementTree.SubElement(root, "testsuite", name=name)
        for row in comparison.rows:
            outcome = _outcome(row, fails(row))
            counts[outcome] += 1
            test = ElementTree.SubElement(
                suite,
                "testcase",
                classname=text.printable(f"{row.operator}.{row.dtype}"),
                name=text.printable(f"{row.case} {row.contender}"),
                time=f"{(row.new_us or 0.0) / 1e6:.9f}",
            )
            if outcome is not None:
                ElementTree.SubElement(test, outcome, message=_message(row))
            else:
                ElementTree.SubElement(test, "system-out").text = _message(row)
        suite.set("tests", str(len(comparison.rows)))
        suite.set("failures", str(counts["failure"]))
        suite.set("errors", str(counts["error"]))
        suite.set("skipped", str(counts["skipped"]))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _outcome(row: Row, failed: bool) -> str | None:
    if failed:
        return "error" if row.verdict in ("BROKEN", "ADDED") else "failure"
    return "skipped" if row.verdict in ("UNDECIDED", "ADDED", "REMOVED", "BROKEN") else None


def _message(row: Row) -> str:
    parts: list[str] = [row.verdict]
    if row.estimate is not None:
        one = row.estimate
        parts.append(
            f"ratio {one.ratio:.4f} ({one.low:.4f} - {one.high:.4f}), q {one.q:.2g}, threshold {one.threshold:.2%}"
        )
    return text.printable(": ".join([" ".join(parts), *(["; ".join(row.reasons)] if row.reasons else [])]))
