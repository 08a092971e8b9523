"""A stranger's suite stays data: which files are opened, what runs, and how trust is lost."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from gpubench.cli import main
from gpubench.errors import UsageError
from gpubench.own import trust
from gpubench.own.folder import MAX_BYTES, read_files, read_inside
from tests.own.bed import ONE_CASE, written

SCAN = """  - name: scan
    operator: cumsum
    source: scan.cu
    entry: scan
    arguments: [x, y, rows, row_size]
    grid: rows
    block: 1
"""
SOURCE = """extern "C" __global__ void scan(const float* x, float* y, long long rows, long long row_size) {
  float sum = 0;
  for (long long i = 0; i < row_size; ++i) y[blockIdx.x * row_size + i] = sum += x[blockIdx.x * row_size + i];
}
"""
HOSTILE = """name: hostile
kernels:
  - {name: code, operator: cumsum, python: "evil.py:run"}
  - {name: native, operator: cumsum, library: evil.so, symbol: run, signature: "(x, y) -> int32"}
  - {name: device, operator: cumsum, source: evil.cu, entry: k, arguments: [x, y], grid: 1, block: 1}
  - {name: machine, operator: cumsum, binary: evil.cubin, entry: k, arguments: [x, y], grid: 1, block: 1}
operators:
  - {name: odd, operands: {x: {role: in, shape: [n]}, y: {role: out, shape: [n]}}, reference: "evil.py:reference"}
cases:
  - {operator: cumsum, shape: [[4, 4]], contenders: ["own:*", numpy]}
  - {operator: odd, n: 4}
"""


@pytest.fixture(autouse=True)
def _own_list(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(trust.FOLDER, str(tmp_path / "config"))


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "a/../../secret", "", ".", "..", "a\\b", "a\0b", "./a", "a\nb"]
)
def test_a_name_that_leads_out_is_refused_before_anything_is_opened(tmp_path: Path, name: str) -> None:
    """Absolute names, `..` and odd characters never reach the system."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "in").mkdir()
    with pytest.raises(UsageError, match="not the name of a file"):
        read_inside(tmp_path / "in", name)


def test_links_pipes_sockets_folders_and_giants_are_no_files_of_a_suite(tmp_path: Path) -> None:
    """A link is not followed, on the way or at the end; a pipe is not waited for."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.cu").write_text("secret")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "link.cu").symlink_to(outside / "secret.cu")
    (folder / "above").symlink_to(outside)
    os.mkfifo(folder / "pipe.cu")
    (folder / "folder.cu").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket.cu"))
        for name in ("link.cu", "above/secret.cu", "pipe.cu", "folder.cu", "socket.cu", "absent.cu"):
            with pytest.raises(UsageError) as caught:
                read_inside(folder, name)
            assert "secret" not in str(caught.value).replace(name, "")
    with (folder / "giant.cu").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(UsageError, match="larger than 16 MiB"):
        read_inside(folder, "giant.cu")


def test_what_runs_is_what_was_read(tmp_path: Path) -> None:
    """A file that changes after it was hashed changes neither hash nor copy; includes come along."""
    (tmp_path / "a.cu").write_text('#include "parts/b.cuh"\n// #include "c.cuh"\n')
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/b.cuh").write_text("int b;\n")
    (tmp_path / "c.cuh").write_text("int c;\n")
    files = read_files(tmp_path, ["a.cu"])
    assert sorted(files.contents) == ["a.cu", "parts/b.cuh"]
    (tmp_path / "parts/b.cuh").write_text("int changed;\n")
    with files.staged() as folder:
        assert (folder / "parts/b.cuh").read_text() == "int b;\n"
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()
    assert read_files(tmp_path, ["a.cu"]).hashes != files.hashes


def test_a_hostile_suite_without_flags_opens_nothing_and_runs_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """`list`, `schema`, `run`, `check`, `ab` and `calibrate` look into no file that it names, and say what it needs."""
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    for name in ("evil.so", "evil.cu", "evil.cubin"):
        (tmp_path / name).write_bytes(b"evil")
    suite = tmp_path / "hostile.yaml"
    suite.write_text(HOSTILE)
    opened: list[str] = []

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event in ("open", "import", "ctypes.dlopen") and "evil" in str(arguments[0]):
            opened.append(f"{event} {arguments[0]}")

    watching = True
    sys.addaudithook(hook)
    assert main(["list", str(suite)]) == 0
    told = capfd.readouterr().err
    assert "own:code (evil.py) needs --allow-code" in told
    assert "own:device (evil.cu) needs --allow-kernels" in told
    assert "odd (evil.py) needs --allow-code" in told
    assert main(["schema"]) == 0
    for command in (
        ["run"],
        ["check"],
        ["calibrate", "--runs", "2"],
        ["ab", "--a", "own:device", "--b", "own:machine"],
    ):
        for flags in ([], ["--allow-kernels"]):
            device = ["--device", "host"]
            assert main([*command, str(suite), *device, *flags]) == 2, command
            assert "--allow-code" in capfd.readouterr().err
    watching = False
    assert opened == []
    assert not (tmp_path / "ran").exists()


def test_trust_holds_until_a_byte_changes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A trusted suite runs without flags; a changed suite, source or header asks again."""
    (tmp_path / "a").mkdir()
    suite = written(tmp_path / "a", SCAN, {"scan.cu": '#include "scan.cuh"\n' + SOURCE, "scan.cuh": "#pragma once\n"})
    path = Path(suite.path)
    assert main(["trust", str(path)]) == 0
    assert "own:scan  scan.cu" in capfd.readouterr().out
    fine = ["check", str(path), "--schedule", "forward", "--fast"]
    assert main(fine) == 0
    (tmp_path / "a/scan.cuh").write_text("#pragma once\n\n")
    capfd.readouterr()
    assert main(fine) == 2
    assert "has changed since it was trusted" in capfd.readouterr().err
    (tmp_path / "a/scan.cuh").write_text("#pragma once\n")
    written(tmp_path / "a", SCAN.replace("grid: rows", "grid: 1"), {})
    assert main(fine) == 2
    assert main(["trust", str(path), "--remove"]) == 0
    assert not trust.is_listed(path)


def test_a_broken_list_trusts_nobody(tmp_path: Path) -> None:
    """Garbage in the list of trusted suites is no trust, and does not stop a command."""
    place = trust.place()
    place.parent.mkdir()
    for text in ("[]", "{", '{"a": 1}', "null", "\xff", '{"a":' * 100_000):
        place.write_text(text, encoding="latin-1")
        assert trust.listed() == {}
    place.unlink()
    place.symlink_to(tmp_path / "nowhere")
    assert trust.listed() == {}


def test_two_suites_may_not_bring_one_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Which of two kernels of one name would run is nothing to guess."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, SCAN, {"scan.cu": SOURCE}, ONE_CASE.replace("100", str(len(name) + ord(name))))
    assert main(["list", str(tmp_path / "a/mine.yaml"), str(tmp_path / "b/mine.yaml")]) == 2
    assert "brings a scan too" in capfd.readouterr().err
