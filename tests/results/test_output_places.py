"""An output must never destroy what is no ordinary file, and be refused before hours of measuring, not after."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gpubench.errors import ResultFileError, UsageError
from gpubench.results.paths import STREAM, output_file, output_folder
from gpubench.results.write import replace_file
from tests.engine.bed import script

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "tests" / "data" / "result-v1.json"


def special(kind: str, folder: Path) -> Path:
    """Make something that is no regular file."""
    path = folder / "out.json"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "socket":
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(os.path.relpath(path))  # a path in full may be too long for a socket
        case "link to a descriptor":
            path.symlink_to("/proc/self/fd/2")
        case "link to a device":
            path.symlink_to("/dev/null")
        case "link to nothing":
            path.symlink_to(folder / "nothing")
        case "link to a file":
            (folder / "file").write_text("another's")
            path.symlink_to(folder / "file")
        case "device":
            try:
                os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
            except OSError:
                pytest.skip("only root makes devices")
    return path


KINDS = (
    "pipe",
    "folder",
    "socket",
    "link to a descriptor",
    "link to a device",
    "link to nothing",
    "link to a file",
    "device",
)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_regular_file_is_refused_and_stays(kind: str, tmp_path: Path) -> None:
    """The judgement before the work and the writer itself refuse alike, and what stands there stays as it was."""
    path = special(kind, tmp_path)
    before = path.lstat()
    with pytest.raises(UsageError, match=r"is a (pipe|folder|socket|link|device)"):
        output_file(str(path))
    with pytest.raises(ResultFileError, match=r"is a (pipe|folder|socket|link|device), which is not written over"):
        replace_file(path, b"{}")
    after = path.lstat()
    assert (before.st_ino, before.st_mode, before.st_rdev) == (after.st_ino, after.st_mode, after.st_rdev)
    assert [path for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


@pytest.mark.parametrize("text", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_is_a_stream(text: str) -> None:
    """Standard output under any of its names is written to, never renamed over."""
    assert output_file(text) == STREAM


def test_a_file_may_be_called_like_the_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """./- is a file."""
    monkeypatch.chdir(tmp_path)
    replace_file(output_file("./-"), b"{}")
    assert (tmp_path / "-").read_bytes() == b"{}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty name"),
        (".", "is a folder"),
        ("..", "is a folder"),
        ("sub/", "is the name of a folder"),
        ("file/x.json", "file is a file"),
        ("file/deep/x.json", "file is a file"),
        ("x" * 300, "File name too long"),
        ("a\0b", "null"),
        ("loop/x.json", "cannot be"),
        ("dangling/x.json", "cannot be a folder"),
    ],
)
def test_a_name_that_cannot_be_written_is_refused(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with a sentence that says why, and nothing is made."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("another's")
    Path("loop").symlink_to("loop")
    Path("dangling").symlink_to("nowhere")
    names = sorted(Path().iterdir())
    with pytest.raises(UsageError, match=said):
        output_file(text)
    assert sorted(Path().iterdir()) == names


def test_a_folder_that_may_not_be_changed_is_refused() -> None:
    """What cannot be written, whoever one is, is known beforehand."""
    with pytest.raises(UsageError, match="cannot be written"):
        output_file("/proc/self/status.json" if os.access("/proc", os.W_OK) else "/proc/x.json")


def test_folders_to_be_made_are_fine(tmp_path: Path) -> None:
    """New names in new folders are taken, relative or not."""
    assert output_file(str(tmp_path / "a" / "b" / "c.json")) == tmp_path / "a" / "b" / "c.json"
    assert output_folder(str(tmp_path / "a" / "b")) == tmp_path / "a" / "b"
    with pytest.raises(UsageError, match="is a file"):
        output_folder(str(RESULT))


def gpubench(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "gpubench", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


COMMANDS: dict[str, tuple[str | Path, ...]] = {
    "run": ("run", "smoke", "-o"),
    "run json": ("run", "smoke", "--json"),
    "ab": ("ab", "smoke", "--a", "gpubench:naive", "--b", "gpubench:auto", "-o"),
    "calibrate": ("calibrate", "smoke", "-o"),
    "compare json": ("compare", RESULT, RESULT, "--json"),
    "compare markdown": ("compare", RESULT, RESULT, "--markdown"),
    "compare junit": ("compare", RESULT, RESULT, "--junit"),
    "report": ("report", RESULT, "-o"),
    "agreement": ("agreement", "-o"),
    "agreement chart": ("agreement", "--chart"),
    "agreement page": ("agreement", "--into"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_refuses_before_it_works(name: str, tmp_path: Path) -> None:
    """Exit code 2 at once, without a device being opened; the pipe is still one, and nothing else was made."""
    path = tmp_path / "pipe.svg"
    os.mkfifo(path)
    device = ("--device", f"fake:{tmp_path}/missing.json") if COMMANDS[name][0] in ("run", "ab", "calibrate") else ()
    done = gpubench(tmp_path, *COMMANDS[name], path, *device)
    assert done.returncode == 2
    assert "is a pipe" in done.stderr
    assert stat.S_ISFIFO(path.lstat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe.svg"]


def test_a_run_prints_its_result_and_keeps_it(tmp_path: Path) -> None:
    """`-o -` prints the document alone; the result itself lies in its usual place."""
    arguments = ("run", "smoke", "-k", "cumsum", "--device", script(tmp_path), "--contender", "numpy")
    done = gpubench(tmp_path, *arguments, "-o", "/dev/stdout")
    assert done.returncode == 0, done.stderr
    (kept,) = tmp_path.glob("runs/*/*.json")
    assert done.stdout == kept.read_text()
    assert gpubench(tmp_path, *arguments, "-o", "-", "--json", "-").returncode == 2


def test_a_report_can_be_piped(tmp_path: Path) -> None:
    """`report -o -` prints the page and nothing else."""
    done = gpubench(tmp_path, "report", RESULT, "-o", "-")
    assert done.returncode == 0
    assert done.stdout.startswith("<!DOCTYPE html>")
    assert list(tmp_path.iterdir()) == []
