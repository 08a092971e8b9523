"""The pages of a history hold every series, need no network, and escape what others wrote."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gpubench.cli import main
from gpubench.past import Group, Line, Run, Step, StepTold, Timed
from gpubench.results.write import write
from gpubench.views.charts.files import files
from gpubench.views.charts.history import chart
from gpubench.views.columns import Look
from gpubench.views.history import line_text
from gpubench.views.history_pages import group_page, index_page, page_name
from tests.results.histories import CASES, History, Planted, make, name, run

ATTACK = "<img src=x onerror=alert(1)></script><script>alert(1)</script>\x1b[31m"
GROUP = Group("smoke", "NVIDIA H200", False, 12)


def line(case: str = "sum/8/float32", words: str = "", runs: int = 12, step: bool = True) -> Line:
    """Return a series of so many runs that is 10 % slower from the middle on; `words` stand in everything foreign."""
    facts = {"commit": f"{words}abcdef0123456789", "branch": f"main{words}", "driver": "580"}
    told = [
        Run(f"{number}.json", f"2026-01-{number % 28 + 1:02d}T00:00:00Z", "smoke", "NVIDIA H200", False, facts)
        for number in range(runs)
    ]
    half = runs // 2
    points = [
        Timed(run, "ok", us, us * 0.99, us * 1.01, 1) for n, run in enumerate(told) for us in [50.0 + 5 * (n >= half)]
    ]
    found = []
    if step:
        one = Step(case, "torch", half - 1, half, "SLOWER", 1.1, 1.09, 1.11, 1e-9, 50.0, 55.0, (half, runs - half))
        found = [StepTold(one, told[half - 1], told[half], (f"driver 580 -> 585{words}",))]
    return Line(GROUP, case, f"torch{words}", points, found)


def test_pages_hold_every_series_and_need_no_network(tmp_path: Path) -> None:
    """One page a suite and GPU with a small chart for each series, an index that leads there, nothing from outside."""
    pytest.importorskip("ruptures", reason="needs the extra history")
    make(tmp_path, of := History(runs=12, planted={2: Planted(6, 1.1)}))
    for number in range(3):
        write(replace(run(of, number), suite={"name": "nightly", "sha256": "0"}), tmp_path / f"n{number}.json")
    site = tmp_path / "site"
    assert main(["history", "publish", "--in", str(tmp_path), "-o", str(site)]) == 0
    page = (site / page_name(GROUP)).read_text()
    assert page.count("<svg ") == 2 * CASES
    assert page.count('class="cut SLOWER"') == 1
    assert f"{name(2)} gpubench:auto" in page
    assert "machine code aaaaaaaaaa -&gt; bbbbbbbbbb" in page
    index = (site / "index.html").read_text()
    assert {page_name(GROUP), "history-nightly-nvidia-h200.html"} <= set(re.findall(r'href="([^"]+)"', index))
    for text in (page, index):
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//|url\(|@import|fetch\(|XMLHttpRequest", text)
        assert "default-src &#39;none&#39;" in text
    before = {path.name: path.read_bytes() for path in site.iterdir()}
    assert main(["history", "publish", "--in", str(tmp_path), "-o", str(site)]) == 0
    assert {path.name: path.read_bytes() for path in site.iterdir()} == before


def test_what_others_wrote_is_escaped() -> None:
    """Neither case, contender, commit nor cause can bring markup, a script, or end the block of data."""
    group = replace(GROUP, suite=ATTACK, device=ATTACK)
    page = group_page(group, [line(ATTACK, ATTACK)], [], 0.01)
    index = index_page(
        [(group, page_name(group), [point.run for point in line().points], line(ATTACK, ATTACK).steps or ())]
    )
    for text in (page, index):
        assert "<img" not in text
        assert "\x1b" not in text
        assert text.count("<script") == (2 if text is page else 0)
        assert text.count("</script") == (2 if text is page else 0)
    assert re.fullmatch(r"[a-z0-9.,=_-]+\.html", page_name(group))


@pytest.mark.parametrize("runs", [1, 2, 500])
def test_any_number_of_runs_is_drawn(runs: int) -> None:
    """In the terminal, as a chart and as a page: one run, two, and more than there are columns."""
    one = line(runs=runs, step=runs > 2)
    for look in (Look(width=40, unicode=False), Look(width=100), Look()):
        drawn = line_text(one, look)
        assert max(map(len, drawn.splitlines()[3:16])) <= (look.width or 120)
        assert ("*" if not look.unicode else "\u2022") in drawn
    assert "<svg" in group_page(GROUP, [one], [], 0.01)
    (svg,) = [data for _, data in files([chart(one)], ["svg"])]
    assert svg.startswith(b"<?xml")
