"""`gpubench plot`: which charts are drawn of what, and plain words when there is nothing to draw."""

from __future__ import annotations

import gzip
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gpubench.cli import main
from gpubench.results.write import write
from tests.views.generated import many, sweep

CASE = "cumsum/4096x4096/dim=1/float32"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with two results: old.json and new.json."""
    place = tmp_path_factory.mktemp("results")
    result = sweep("gpubench:auto", "gpubench:naive", "numpy", dtypes=("float32",))
    write(result, place / "old.json")
    write(replace(result, records=result.records[:-1]), place / "new.json")
    return place


def plotted(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    """Return the names of the files that `gpubench plot` printed; all exist and are not empty."""
    assert main(["plot", *map(str, arguments)]) == 0
    paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert all(path.stat().st_size > 1000 for path in paths)
    return [path.name for path in paths]


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Return the message of a `gpubench plot` that exits with 2."""
    assert main(["plot", *map(str, arguments)]) == 2
    return capsys.readouterr().err


def test_without_a_kind_four_are_drawn(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bandwidth and ladder for each operator, ceiling and speed-up for all, as SVG."""
    assert plotted(capsys, folder / "old.json", "-o", tmp_path / "deep" / "out") == [
        "bandwidth-cumsum.svg",
        "bandwidth-cumsum-2.svg",
        "bandwidth-sum.svg",
        "ceiling.svg",
        "speedup-over-numpy.svg",
        "ladder-cumsum.svg",
        "ladder-sum.svg",
    ]


def test_formats_kinds_and_filters(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--format, --kind, --operator, -k and --contender choose; operands name one case or operator."""
    old = folder / "old.json"
    out = ("-o", tmp_path)
    assert plotted(capsys, old, *out, "--kind", "ceiling", "--format", "png,pdf") == ["ceiling.png", "ceiling.pdf"]
    assert plotted(capsys, old, *out, "--kind", "bandwidth", "--operator", "sum") == ["bandwidth-sum.svg"]
    assert plotted(capsys, old, *out, "--kind", "ladder=sum") == ["ladder-sum.svg"]
    name = "samples-cumsum-4096x4096-dim=1-float32.svg"
    assert plotted(capsys, old, *out, "--kind", f"samples={CASE}", "--contender", "numpy") == [name]
    assert plotted(capsys, old, *out, "--kind", "samples", "-k", "cumsum/4096x4096 and dim=1") == [name]
    assert plotted(capsys, old, *out, "--kind", "speedup", "--contender", "gpubench:auto") == ["speedup-over-numpy.svg"]
    assert (tmp_path / "ceiling.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "ceiling.png").read_bytes().startswith(b"\x89PNG")


def test_two_results(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of several results carry the result's name; compare sets two of them beside each other."""
    both = (folder / "old.json", folder / "new.json", "-o", tmp_path)
    assert plotted(capsys, *both, "--kind", "ceiling") == ["old-ceiling.svg", "new-ceiling.svg"]
    assert plotted(capsys, *both, "--kind", "compare") == ["compare.svg"]
    assert "takes two results" in refused(capsys, folder / "old.json", "-o", tmp_path, "--kind", "compare")


def test_mistakes_are_told(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unknown kinds, formats, cases and contenders, and too many charts, exit with 2 and say what there is."""
    old, out = folder / "old.json", ("-o", tmp_path)
    assert "there are bandwidth, ceiling" in refused(capsys, old, *out, "--kind", "pie")
    assert "there are svg, png, pdf" in refused(capsys, old, *out, "--format", "gif")
    assert CASE in refused(capsys, old, *out, "--kind", "samples=cumsum/4096x4096/dim=1/float3")
    assert "no record of 'torch'" in refused(capsys, old, *out, "--kind", "speedup", "--over", "torch")
    assert "nearest: numpy" in refused(capsys, old, *out, "--over", "nmpy")
    assert "takes no operand" in refused(capsys, old, *out, "--kind", "ceiling=cumsum")
    assert "narrow with -k" in refused(capsys, old, *out, "--kind", "samples")
    assert "matches none" in refused(capsys, old, *out, "-k", "nothing")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a result of 1,000 cases with 3 contenders each."""
    path = tmp_path_factory.mktemp("large") / "many.json"
    write(many(1000), path)
    return path


def test_hundreds_of_cases_are_quick_to_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All charts of 250 cases x 3 contenders take under 5 s of one core: the time grows with the number of charts."""
    write(many(250), tmp_path / "many.json")
    before = time.process_time()
    names = plotted(capsys, tmp_path / "many.json", "-o", tmp_path / "charts")
    assert time.process_time() - before < 15
    assert len([name for name in names if name.startswith("bandwidth")]) > 4


def test_a_thousand_cases_are_quick_to_report(
    thousand: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report of 1,000 cases x 3 contenders takes under 10 s of one core, and under 10 MB."""
    page = tmp_path / "report.html"
    before = time.process_time()
    assert main(["report", str(thousand), "-o", str(page)]) == 0
    assert time.process_time() - before < 40
    assert page.stat().st_size < 10e6
    assert "`gpubench plot` draws all" in page.read_text(encoding="utf-8")
    capsys.readouterr()


def test_title_size_and_resolution_are_the_reader_s(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--title, --size and --dpi are what the file has: its words, its inches, its pixels."""
    from matplotlib.image import imread

    asked = (
        folder / "old.json",
        "-o",
        tmp_path,
        "--kind",
        "ceiling",
        "--title",
        "Mine",
        "--size",
        "7x9",
        "--dpi",
        "50",
    )
    assert plotted(capsys, *asked, "--format", "png,svg") == ["ceiling.png", "ceiling.svg"]
    height, width, *_ = imread(tmp_path / "ceiling.png").shape
    assert (width, height) == (350, 450)
    svg = (tmp_path / "ceiling.svg").read_text(encoding="utf-8")
    assert 'width="504pt" height="648pt"' in svg
    assert "<dc:title>Mine</dc:title>" in svg
    assert "needs at least" in refused(capsys, *asked[:-4], "--size", "7x2")
    for wrong in ("wide", "4", "7x", "7x999", "-3", "nan"):
        assert "no size in inches" in refused(capsys, *asked[:-4], "--size", wrong)


def test_a_chart_for_a_paper_keeps_its_notes_in_the_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--style paper draws neither title nor notes; the file's metadata has them for the caption."""
    plotted(capsys, folder / "old.json", "-o", tmp_path, "--kind", "ceiling", "--style", "paper")
    svg = (tmp_path / "ceiling.svg").read_text(encoding="utf-8")
    assert 'width="504pt"' in svg
    assert "<dc:description>Share of the measured memory ceiling: made-up on NVIDIA H200" in svg
    assert "numpy runs on the host" in svg.partition("</metadata>")[0]


def test_charts_are_named_as_their_results(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A compressed result's charts are not called .json; results of one name and one folder's name are counted."""
    packed = tmp_path / "new.json.gz"
    packed.write_bytes(gzip.compress((folder / "new.json").read_bytes()))
    drawn = plotted(capsys, packed, folder / "old.json", "-o", tmp_path / "out", "--kind", "ceiling")
    assert drawn == ["new-ceiling.svg", "old-ceiling.svg"]
    (tmp_path / "new.json").write_bytes((folder / "new.json").read_bytes())
    drawn = plotted(capsys, packed, tmp_path / "new.json", "-o", tmp_path / "out", "--kind", "ceiling")
    assert [name[:2] for name in drawn] == ["1-", "2-"]
