"""A comparison in files: JSON, JUnit XML for the test views of CI systems, and Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from gpubench.comparison import Comparison, Row
from gpubench.model import Json
from gpubench.views import text
from gpubench.views.comparison import CELLS, UNCHANGED, heading, interval, mean_text, ordered, reason, totals
from gpubench.views.tables import MARKDOWN_LIMIT, cut

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


def comparison_markdown(
    comparison: Comparison, sort: str | None = None, only_changed: bool = False, limit: int = MARKDOWN_LIMIT
) -> str:
    """Return the comparison as Markdown of at most `limit` bytes, cut between rows, with a note where cut."""
    head = [text.markdown(line) + "  " for line in heading(comparison)]
    if comparison.means:
        first = comparison.means[0]
        head.append(f"geometric mean over {first.pairs} changed pairs: **{text.markdown(mean_text(first))}**  ")
    head += [
        f"**{text.markdown(totals(comparison))}**",
        "",
        "| case | contender | old | new | change | 95 % interval | verdict | why |",
        "|---|---|---:|---:|---:|---:|---|---|",
    ]
    rows = ordered(comparison.rows, sort, only_changed)
    return cut(head, [_markdown_row(row) for row in rows], limit)


def _markdown_row(row: Row) -> str:
    strong = row.verdict if row.verdict in UNCHANGED else f"**{row.verdict}**"
    names = (text.markdown_code(row.case), text.markdown_code(CELLS["contender"](row)))
    figures = [
        text.markdown(figure) for figure in (*(CELLS[name](row) for name in ("old", "new", "change")), interval(row))
    ]
    return "| " + " | ".join((*names, *figures, strong, text.markdown(reason(row)))) + " |"
