from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from gpubench.analysis.fleet.judge import judge
from gpubench.findings import Findings
from gpubench.fleet import Repeat
from gpubench.views import style
from gpubench.views.charts.fleet import charts
from gpubench.views.columns import Look
from gpubench.views.fleet import check_lines, document, report_text
from gpubench.views.fleet_page import fleet_html
from tests.analysis.fleet.bed import fleet, measured, members

HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m"


def found(count: int, works: int = 12) -> Findings:
    """Return the findings of a fleet with one slow GPU, confirmed, and one missing."""
    slow = members(count)[count - 3].key
    data = measured(count, {count - 3: 0.03}, works=works)
    manifest = fleet(count, [Repeat(slow, "suspect", "s-again1.json", "measured")])
    gone = replace(manifest.members[0], status="missing", message=HOSTILE)
    del data[gone.key]
    return judge(replace(manifest, members=(gone, *manifest.members[1:])), data, {"s-again1.json": data[slow]})


class Tags(HTMLParser):
    """Counts the tags of a page and keeps its text."""

    def __init__(self, page: str) -> None:
        """Read the page."""
        super().__init__()
        self.tags: dict[str, int] = {}
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count a tag; none may bring code or a reference to elsewhere."""
        self.tags[tag] = self.tags.get(tag, 0) + 1
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            assert name not in ("src", "href", "xlink:href") or str(value).startswith("#"), (tag, name, value)

    def handle_data(self, data: str) -> None:
        """Keep text."""
        self.text += data


def test_the_page_shows_every_gpu_and_runs_nothing() -> None:
    """Strip, heat map and a row a GPU under a policy without any script; a hostile message is text."""
    page = fleet_html(found(16))
    seen = Tags(page)
    assert seen.tags["figure"] == 2
    assert seen.tags["tr"] == 17
    assert "script" not in seen.tags
    assert "img" not in seen.tags
    assert "script-src 'none'" in html.unescape(page)
    assert "\x1b" not in page
    for word in ("SLOW", "MISSING", "node01-gpu5", "95 % interval"):
        assert word in seen.text
    assert seen.text.index("node00-gpu0") < seen.text.index("node01-gpu5"), "what is missing comes first"


def test_256_gpus_stay_readable_and_small() -> None:
    """Panels of 128 GPUs, as few shapes as shades, rows of cases bounded; the page stays under 4 MB."""
    findings = found(256, works=60)
    drawn = charts(findings)
    assert [chart.name for chart in drawn] == ["strip", "heat", "heat-2"]
    with style.styled():
        figure = drawn[1].draw()
        (axes,) = figure.axes
        assert len(axes.patches) <= 8
        assert len(axes.get_yticklabels()) == 48
        strip = drawn[0].draw()
    assert len(strip.axes) == 2
    assert len(fleet_html(findings)) < 4_000_000
    text = report_text(findings, Look(100)).splitlines()
    assert len(text) < 60
    assert any("more, all FINE" in line for line in text)


@pytest.mark.parametrize("count", [1, 2, 7, 300])
def test_any_number_of_gpus_can_be_drawn(count: int) -> None:
    """One GPU, few, and more than one panel: nothing fails, everybody is somewhere."""
    findings = judge(fleet(count), measured(count, works=3))
    page = Tags(fleet_html(findings))
    assert page.tags["tr"] == count + 1
    assert members(count)[-1].key in report_text(findings, Look(None)) or count > 40


def test_the_terminal_names_what_is_not_fine_with_its_reasons() -> None:
    """A line for each, the rule in words, the totals last; nothing of a hostile string reaches the terminal."""
    findings = found(16)
    lines = check_lines(findings, Look(80))
    assert lines[0].startswith("MISSING  node00-gpu0")
    assert re.match(r"SLOW     node01-gpu5 \+[23]\.\d\d %: measured again", lines[1])
    assert lines[-1] == "16 GPUs: 1 MISSING, 1 SLOW, 14 FINE"
    assert "\x1b" not in "\n".join(lines)
    assert "\x1b[31m" in "\n".join(check_lines(findings, Look(80, color=True)))
    plain = report_text(findings, Look(80, unicode=False))
    assert plain.isascii()
    rows = [line for line in plain.splitlines() if line.startswith("node")]
    assert len(rows) == 16
    assert all(line.count("o", 45) - line.count("node", 45) >= 1 for line in rows if "MISSING" not in line)


def test_a_script_can_read_the_findings() -> None:
    """JSON without infinities: effects as shares, the finding and the reasons of each GPU."""
    read: Any = json.loads(json.dumps(document(found(16)), allow_nan=False))
    slow = [gpu for gpu in read["gpus"] if gpu["finding"] == "SLOW"]
    assert read["healthy"] is False
    assert abs(slow[0]["effect"] - 0.03) < 0.003
    assert read["models"][0]["threshold"] >= 0.01
    few: Any = json.loads(json.dumps(document(judge(fleet(2), measured(2))), allow_nan=False))
    assert few["models"][0]["threshold"] is None
