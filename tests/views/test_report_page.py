"""The HTML report: everything of the result is in it, nothing in a result can act, and it needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gpubench.analysis.compare import Options, compare
from gpubench.cli import main
from gpubench.model import Case, Check, Record, ResultSet
from gpubench.results.read import read
from gpubench.results.write import write
from gpubench.views.report import report_html
from gpubench.views.report_svg import inline
from tests.views.generated import h200, sweep
from tests.views.samples import mixed

VOID = {"meta", "br", "hr", "img", "input", "link"}
SVG_TAGS = {"svg", "g", "path", "text", "use", "defs", "clippath", "rect", "circle", "pattern", "tspan"}
ATTACK = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>'\"{{7*7}}<svg onload=hacked>"


class Page(HTMLParser):
    """Reads a page: its elements with their attributes, its texts, and whether it is well formed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element in."""
        self.elements.append((tag, dict(attrs)))
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in an element that closes itself, as SVG has them."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element, which must be this one."""
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        """Keep the text under the name of its element."""
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of every element of that name."""
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def html() -> str:
    """Give the report of a small result."""
    return report_html(sweep("gpubench:auto", "gpubench:naive", "numpy", dtypes=("float32",)))


def test_the_page_is_well_formed(html: str) -> None:
    """Elements close in order, ids are unique, and every reference has its target."""
    page = Page(html)
    assert page.open == []
    ids = [value for _, attributes in page.elements if (value := attributes.get("id"))]
    assert len(ids) == len(set(ids))
    named = re.findall(r"url\(#([^)]+)\)", html) + re.findall(r'href="#([^"]+)"', html)
    labels = [name for _, attributes in page.elements if (name := attributes.get("aria-labelledby"))]
    assert set(named) | set(labels) <= set(ids)
    assert len(named) > 20


def test_nothing_is_loaded(html: str) -> None:
    """No element names another file; the policy allows the page's one script and one style sheet by their hashes."""
    page = Page(html)
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form"), tag
        assert not {"src", "srcset", "style", "action"} & set(attributes), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        assert (attributes.get("href") or "#").startswith("#"), (tag, attributes)
    policy = next(element["content"] or "" for element in page.all("meta") if "http-equiv" in element)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        (content,) = page.texts[tag]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "@import" not in html
    assert not re.findall(r"https?://(?!www\.w3\.org/)", html)


def test_everything_of_the_result_is_there(html: str) -> None:
    """A table row a record, details of each case with its samples, launches, check, and clocks; the way to redo it."""
    result = sweep("gpubench:auto", "gpubench:naive", "numpy", dtypes=("float32",))
    page = Page(html)
    cases = {record.case.id for record in result.records}
    assert len([element for element in page.all("tr") if "data-status" in element]) == len(result.records)
    assert len(page.all("details")) == len(cases)
    assert len([element for element in page.all("svg") if element.get("class") == "samples"]) == 26 * 3
    assert len(re.findall(r'<path class="k\d" d="(?:M[\d. ]+h0){20}"', html)) == 26 * 3 * 3
    for part in (
        "gpubench run suites/cumsum.yaml",
        "4253 GB/s",
        "2.300 us",
        "gpubench::cumsum::decoupled_lookback&lt;float, float&gt;",
        "SM clock 1965 to 1980 MHz",
        "1.00e-06",
        "tiled takes real dtypes only",
        "580.159.04",
        "3 discarded (hollow)",
    ):
        assert part in html, part


def test_tables_speak_to_screen_readers(html: str) -> None:
    """Headings have scopes, sortable ones a button and their state; charts, regions and controls have names."""
    page = Page(html)
    assert page.all("html")[0]["lang"] == "en"
    assert all(element.get("scope") in ("col", "row") for element in page.all("th"))
    assert len([element for element in page.all("th") if element.get("aria-sort") == "none"]) == 11
    for element in page.all("svg"):
        assert element.get("role") == "img"
        assert element.get("aria-label") or element.get("aria-labelledby")
    for element in page.all("div"):
        if element.get("role") == "region":
            assert element.get("tabindex") == "0"
            assert element.get("aria-label") or element.get("aria-labelledby")
    assert html.count("<label>") == len(page.all("input")) + len(page.all("select"))
    assert {element.get("role") for element in page.all("span")} >= {"status"}
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def poisoned(value: Any, text: str) -> Any:
    """Return the value with `text` added to every string in it, keys of mappings too."""
    if isinstance(value, str):
        return value + text
    if isinstance(value, dict):
        return {poisoned(key, text) if key not in KNOWN else key: poisoned(item, text) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(poisoned(item, text) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        changes = {
            field.name: poisoned(getattr(value, field.name), text) for field in fields(value) if field.name not in FIXED
        }
        return replace(value, **changes)
    return value


FIXED = {"status", "timing", "distribution", "method", "order"}
KNOWN = {
    "device",
    "kind",
    "name",
    "launches",
    "kernel",
    "variant",
    "summary",
    "median_us",
    "GBps",
    "ci95_us",
    "min_us",
    "n",
}


def attacked() -> ResultSet:
    """Return a result with markup in every string, among them a mismatch, a message and a launch."""
    records = [*mixed().records, *sweep("gpubench:auto", "torch", dtypes=("float32",)).records[:24]]
    case = Case("cumsum/9", "cumsum", "float32", {"shape": [9], "note": "text", "more": {"deep": ["text"]}})
    check = Check(False, 0.5, 9.0, {"index": [0], "found": "nan", "wanted": "1"})
    records.append(Record(case, "torch", "wrong", "bad", 72, check=check, telemetry={"throttle": ["why"]}))
    return h200(tuple(poisoned(records, ATTACK)), suite=poisoned({"name": "x", "sha256": "y"}, ATTACK))


def attacked_environment(result: ResultSet) -> ResultSet:
    """Return the result with markup in its environment, command, and date as well."""
    return replace(
        result,
        environment=poisoned(dict(result.environment), ATTACK),
        command=poisoned(result.command, ATTACK),
        created=result.created + ATTACK,
        gpubench=result.gpubench + ATTACK,
    )


def test_markup_in_any_string_is_only_text(tmp_path: Path) -> None:
    """With markup in every string of a file the page has the elements that it has without, and none other."""
    content = attacked_environment(attacked())
    write(content, tmp_path / "a.json")
    content = read(tmp_path / "a.json")
    older = replace(content, records=content.records[:-3])
    comparison = compare(older, content, Options(old="old" + ATTACK, new="new" + ATTACK))
    attacked_page = Page(report_html(content, comparison))
    assert attacked_page.open == []
    assert len(attacked_page.all("script")) == len(attacked_page.all("style")) == 1
    assert attacked_page.all("img") == []
    assert "window.hacked" not in attacked_page.texts["script"][0]
    for tag, attributes in attacked_page.elements:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
    plain = {tag for tag, _ in Page(report_html(mixed())).elements}
    assert {tag for tag, _ in attacked_page.elements} <= plain | SVG_TAGS | {"strong", "ul"}
    assert "{{7*7}}" in "".join(attacked_page.texts["dd"])


def test_control_characters_are_shown_as_escapes() -> None:
    """What could turn the direction of text or act elsewhere is written as an escape."""
    record = replace(mixed().records[0], message="a\u202eb\x1b[2J\x00", status="crashed")
    html = report_html(h200((record,)))
    assert "a\\u202eb\\x1b[2J\\x00" in html
    assert not re.findall("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", html)


def test_means_over_numpy_are_a_column_only_where_numpy_was_timed() -> None:
    """A column of dashes says nothing and is not there."""
    assert "speed-up over numpy" in report_html(sweep("gpubench:auto", "numpy", dtypes=("float32",)))
    assert "speed-up over numpy" not in report_html(sweep("gpubench:auto", "torch", dtypes=("float32",)))


def test_a_simulated_result_says_so() -> None:
    """The page of a simulated result is marked at its head, and its rows claim no rate."""
    record = replace(mixed().records[0], simulated=True)
    page = report_html(h200((record,)))
    assert 'class="simulated"' in page
    assert "gpubench:auto (simulated)" in page
    assert "of the ceiling</dd>" not in page


def test_an_empty_result_has_a_page() -> None:
    """A result without records gives a page that says so."""
    assert Page(report_html(h200(()))).open == []


def test_the_same_result_gives_the_same_page(html: str) -> None:
    """The page has no date of its own and no order by chance."""
    assert html == report_html(sweep("gpubench:auto", "gpubench:naive", "numpy", dtypes=("float32",)))


def test_the_command_compares_with_a_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--baseline puts the comparison with another result on the page."""
    result = sweep("gpubench:auto", "numpy", dtypes=("float32",))
    write(result, tmp_path / "old.json")
    write(replace(result, records=result.records[2:]), tmp_path / "new.json")
    page = tmp_path / "page.html"
    done = main(["report", str(tmp_path / "new.json"), "--baseline", str(tmp_path / "old.json"), "-o", str(page)])
    assert done == 0
    assert capsys.readouterr().out == f"{page}\n"
    html = page.read_text(encoding="utf-8")
    assert "What changed" in html
    assert "REMOVED" in html
    assert "forest plot" in html.lower()


def test_a_chart_keeps_no_style_and_no_foreign_name() -> None:
    """An inlined chart has attributes in place of styles, the page's classes for its colours, and ids of its own."""
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="1pt" height="1pt">'
        '<style>*{}</style><defs><clipPath id="p1"><rect/></clipPath></defs><g id="unused" clip-path="url(#p1)">'
        '<path style="fill: #1f2328; stroke-width: 2; clip-path: url(#p1)" d="M 1.23456 2"/>'
        '<use xlink:href="#p1"/><text style="font: 700 9px \'DejaVu Sans\'; text-anchor: end">x</text></g></svg>'
    )
    root = ET.fromstring(inline(svg, "c0", "c0-caption"))
    assert "style" not in {element.tag for element in root.iter()}
    path = next(element for element in root.iter("path"))
    assert path.attrib == {"class": "f-ink", "stroke-width": "2", "clip-path": "url(#c0-0)", "d": "M 1.23 2"}
    text = next(element for element in root.iter("text"))
    assert text.attrib["font-size"] == "9"
    assert text.attrib["font-weight"] == "700"
    assert [element.get("href") for element in root.iter("use")] == ["#c0-0"]
    assert [element.get("id") for element in root.iter() if element.get("id")] == ["c0-0"]
