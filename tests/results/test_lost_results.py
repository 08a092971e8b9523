from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gpubench.errors import ResultFileError
from gpubench.results.paths import default_path, journal_path, result_path, slug
from gpubench.results.read import read
from gpubench.results.write import replace_file, write

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "result-v1.json"


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_failed_write_leaves_the_earlier_result(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills at the last steps leaves the earlier file as it was and no temporary file behind."""
    target = tmp_path / "result.json"
    target.write_text("earlier")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if call == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ResultFileError, match=r"result\.json: cannot be written: No space left"):
        write(read(DATA), target)
    monkeypatch.undo()
    assert target.read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_a_real_limit_on_file_size_leaves_the_earlier_result(tmp_path: Path) -> None:
    """The same with a limit that the system enforces in the middle of the write."""
    target = tmp_path / "result.json"
    target.write_text("earlier")
    script = (
        "import sys; from pathlib import Path; from gpubench.results.read import read\n"
        "from gpubench.results.write import write; from gpubench.errors import ResultFileError\n"
        f"result = read({str(DATA)!r})\n"
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write(result, Path(sys.argv[1]))\n"
        "except ResultFileError as error: sys.exit(str(error))\n"
    )
    run = subprocess.run([sys.executable, "-c", script, target], capture_output=True, text=True)
    assert "File too large" in run.stderr
    assert "Traceback" not in run.stderr
    assert target.read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1000


def test_the_file_has_ordinary_permissions(tmp_path: Path) -> None:
    """A result can be read by whom the umask lets, although temporary files are private."""
    before = os.umask(0o022)
    try:
        replace_file(tmp_path / "deep" / "result.json", b"{}")
    finally:
        os.umask(before)
    assert (tmp_path / "deep" / "result.json").stat().st_mode & 0o777 == 0o644


def test_names_follow_the_rule(tmp_path: Path) -> None:
    """runs/<device>/<suite>-<UTC time>.json, and a name that is taken is never reused."""
    path = default_path("Smoke Test", "NVIDIA H200", "2026-01-31T10:00:00Z", tmp_path)
    assert path == tmp_path / "runs" / "nvidia-h200" / "smoke-test-20260131T100000Z.json"
    path.parent.mkdir(parents=True)
    path.touch()
    second = default_path("Smoke Test", "NVIDIA H200", "2026-01-31T10:00:00Z", tmp_path)
    assert second.name == "smoke-test-20260131T100000Z-2.json"
    journal_path(second).touch()
    third = default_path("Smoke Test", "NVIDIA H200", "2026-01-31T10:00:00Z", tmp_path)
    assert third.name == "smoke-test-20260131T100000Z-3.json"
    assert result_path(journal_path(third)) == third


@pytest.mark.parametrize("text", ["../../etc/passwd", "", "...", "\0", "日本", "a" * 500, "-rf", "con/aux"])
def test_a_name_cannot_leave_its_folder(text: str) -> None:
    """Whatever a suite or a device is called, its part of the path is one harmless word."""
    found = slug(text)
    assert 0 < len(found) <= 60
    assert found.replace("-", "").isalnum()
    assert not found.startswith("-")


def test_own_results_leave_a_checkout_clean() -> None:
    """Git ignores the place that a run writes to when none is named, so that a checkout stays as it was."""
    path = default_path("smoke", "NVIDIA H200", "2026-01-31T10:00:00Z", ROOT)
    ignored = subprocess.run(["git", "check-ignore", "-q", str(path.relative_to(ROOT))], cwd=ROOT, check=False)
    assert ignored.returncode == 0
