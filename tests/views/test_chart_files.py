"""Chart files: the same bytes for the same input, stable names, and no name that breaks a chart or leaves a folder."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from gpubench.model import ResultSet
from gpubench.results.read import read
from gpubench.views import style
from gpubench.views.charts.files import KINDS, Wish, charts, files
from gpubench.views.charts.sheets import Chart, file_name
from tests.views.generated import case_of, h200, sweep, timed_record, us_of

HASHES = Path(__file__).parents[1] / "data" / "chart-hashes.json"
RECORDED = HASHES.parents[2] / "results" / "nvidia-h200" / "repeated" / "smoke-20261121T043244Z.json"

HOSTILE = (
    "$x_1^{2}$ $",
    "a_b<script>alert(1)</script>&amp;",
    "\u4e2d\u6587 \u202e\x1b[31m\n",
    "y" * 3000,
    "_leading",
    "%d {x} \\frac{1}{0}",
    "../../etc/passwd",
    "",
    "\ud800",
)


def every(result: ResultSet) -> list[Chart]:
    """Return the charts of all kinds, with the samples of one case."""
    one = replace(result, records=result.records[:3])
    return [chart for kind in KINDS for chart in charts(one if kind == "samples" else result, Wish(kind, "torch"))]


def small() -> ResultSet:
    """Return a small made-up result."""
    return sweep("gpubench:auto", "gpubench:naive", "torch", dtypes=("float32",))


def digests(result: ResultSet, formats: Sequence[style.Format]) -> dict[str, str]:
    """Return the hash of every file."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in files(every(result), formats)}


def digests_of_each_format() -> dict[str, str]:
    """Return the hash of every chart of the small result as SVG, and of one chart of each kind in the other formats."""
    kinds = [charts(small(), Wish(kind, "torch")) for kind in KINDS if kind != "samples"]
    others = files([made[0] for made in kinds if made], ("png", "pdf"))
    return digests(small(), ("svg",)) | {name: hashlib.sha256(data).hexdigest() for name, data in others}


def approved() -> dict[str, str]:
    """Return the hashes of the charts that were looked at: of a made-up result, and of a recorded one."""
    recorded = digests(read(RECORDED), ("svg",)) if RECORDED.exists() else {}
    return {**digests(small(), ("svg",)), **{f"recorded {name}": digest for name, digest in recorded.items()}}


def test_the_same_input_gives_the_same_bytes() -> None:
    """Drawn again in another process, with another hash seed, locale, time zone and settings: the same files."""
    code = (
        "import json, matplotlib\n"
        "matplotlib.rcParams['font.size'] = 20\nmatplotlib.rcParams['svg.hashsalt'] = 'other'\n"
        "from tests.views.test_chart_files import digests_of_each_format\nprint(json.dumps(digests_of_each_format()))"
    )
    env = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "SOURCE_DATE_EPOCH": "1", "LC_ALL": "C"}
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, env=env, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == digests_of_each_format()


@pytest.mark.skipif(
    json.loads(HASHES.read_text())["matplotlib"] != matplotlib.__version__,
    reason="the hashes are of another version of matplotlib",
)
def test_the_files_are_those_that_were_looked_at() -> None:
    """On the version of matplotlib that they were made with, the files are those that were approved by eye.

    After a change that is meant: look at the charts, then `python -m tests.views.test_chart_files` writes the hashes.
    """
    assert approved() == json.loads(HASHES.read_text())["files"]


def test_names_of_files_are_stable() -> None:
    """The names say the kind and what is shown, and nothing of the run."""
    assert [chart.name for chart in every(small())] == [
        "bandwidth-cumsum",
        "bandwidth-cumsum-2",
        "bandwidth-sum",
        "ceiling",
        "speedup-over-torch",
        "ladder-cumsum",
        "ladder-sum",
        "samples-cumsum-1024-dim=0-float32",
        "profile-cumsum",
        "profile-sum",
        "scatter-cumsum",
        "scatter-sum",
    ]


def test_foreign_names_stay_inside_the_folder() -> None:
    """Any string gives a short name of plain characters; different strings give different names."""
    names = [file_name("samples", name) for name in HOSTILE]
    assert len({name.lower() for name in names}) == len(names)
    for name in names:
        assert len(name) < 120
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,=_-")
        assert ".." not in name.split("-")[0]
    assert file_name("samples", "a_b") != file_name("samples", "a-b")


def hostile() -> ResultSet:
    """Return a result where every name is hostile."""
    records = []
    for number, name in enumerate(HOSTILE):
        for operator in ("cumsum", name):
            case, moved = case_of("cumsum", [2**20, 3 + number], "float32")
            case = replace(case, id=f"{operator}{name}", operator=operator, dtype=name)
            for contender in ("gpubench:auto", "gpubench:" + name, "torch", name):
                records.append(timed_record(case, contender, moved, us_of("torch", moved), repr(case.id + contender)))
    device = {"kind": "cuda", "name": HOSTILE[1], "l2_bytes": "many", "theoretical_GBps": -1}
    return h200(tuple(records), suite={"name": HOSTILE[0]}, created=HOSTILE[2], environment={"device": device})


@pytest.mark.parametrize("kind", KINDS)
def test_no_name_breaks_a_chart(kind: str) -> None:
    """Mathematics, markup, control characters, foreign letters and very long ids are drawn as plain text."""
    assert kind in KINDS
    made = charts(hostile(), Wish(kind, "torch"))[:4]
    assert made
    for name, data in files(made, ("svg",)):
        root = ElementTree.fromstring(data)
        assert not [element for element in root.iter() if "script" in str(element.tag)], name
        assert float(root.get("width", "0pt").removesuffix("pt")) == pytest.approx(style.WIDTH * 72, abs=0.1)


def test_labels_stay_inside_the_sheet() -> None:
    """Very long names are cut in the middle so that no label leaves the sheet."""
    with style.styled():
        (chart, *_) = charts(hostile(), Wish("ceiling"))
        figure = chart.draw()
        renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call] # matplotlib has no hint here
        width = figure.bbox.width
        for label in [*figure.axes[0].get_yticklabels(), *figure.texts, figure.axes[0].xaxis.label]:
            box = label.get_window_extent(renderer)
            assert box.x0 > -1, label
            assert box.x1 < width + 1, label


def test_an_empty_result_has_no_charts() -> None:
    """No records, no charts, no failure."""
    assert every(h200(())) == []


if __name__ == "__main__":
    HASHES.write_text(json.dumps({"matplotlib": matplotlib.__version__, "files": approved()}, indent=1) + "\n")
