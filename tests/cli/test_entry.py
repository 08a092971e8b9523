"""The entry point: codes, messages and start-up, whatever the environment is like."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from gpubench import __version__, cli, errors
from gpubench.cli import COMMANDS, Entry, main
from gpubench.results.write import write
from tests.views.samples import mixed, record, result

HEAVY = ("numpy", "cupy", "scipy", "matplotlib", "pydantic", "rich", "yaml", "ml_dtypes", "pynvml", "multiprocessing")
GPUBENCH = [sys.executable, "-m", "gpubench"]


def gpubench(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own; `env` replaces the environment."""
    return subprocess.run(
        [*GPUBENCH, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=env
    )


def fake_command(monkeypatch: pytest.MonkeyPatch, error: BaseException | int | None) -> None:
    """Add a command `boom` that raises the error, or returns it when it is a number."""

    @click.command()
    def boom() -> int | None:
        if isinstance(error, BaseException):
            raise error
        return error

    monkeypatch.setattr(sys.modules[__name__], "_boom", boom, raising=False)
    monkeypatch.setitem(COMMANDS, "boom", Entry(f"{__name__}:_boom", "Fail."))


@pytest.fixture
def result_file(tmp_path: Path) -> Path:
    """Give a result file."""
    path = tmp_path / "result.json"
    write(mixed(), path)
    return path


def test_start_up_imports_nothing_heavy() -> None:
    """`--help`, `--version` and the help of each command load click and light modules, none of the large libraries."""
    code = (
        "import sys, click\nfrom gpubench.cli import main, root\n"
        "names = root.list_commands(click.Context(root))\n"
        "codes = [main(['--help']), main(['--version']), *(main([name, '--help']) for name in names)]\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], set(codes), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[] {0}"


def test_help_names_every_command_and_exit_code() -> None:
    """The help lists the commands of the table and what each exit code means; -h is the same."""
    shown = gpubench("--help")
    assert shown.returncode == 0
    for code in errors.ExitCode:
        assert f"  {int(code)} " in shown.stdout
    for name in cli.root.list_commands(click.Context(cli.root)):
        assert f"\n  {name} " in shown.stdout
    assert gpubench("-h").stdout == shown.stdout


def test_every_command_of_the_table_is_a_click_command() -> None:
    """Each target can be imported, is a command with a summary, and shows the exit codes in its help."""
    context = click.Context(cli.root)
    names = cli.root.list_commands(context)
    assert "show" in names
    for name in names:
        command = cli.root.get_command(context, name)
        assert command is not None
        assert command.help
        with click.Context(command, info_name=name, parent=context) as own:
            assert "Exit codes" in command.get_help(own)


def test_the_version() -> None:
    """`--version` prints the name and the version."""
    assert gpubench("--version").stdout == f"gpubench {__version__}\n"


ERRORS: list[tuple[BaseException | int | None, int, str]] = [
    (None, 0, ""),
    (errors.ExitCode.WRONG_ANSWER, 4, ""),
    (errors.UsageError("no such thing"), 2, "gpubench: no such thing\n"),
    (errors.ComparisonError("nothing in common"), 3, "gpubench: nothing in common\n"),
    (errors.FatalDeviceError("gone", 700), 5, "gpubench: gone\n"),
    (errors.UsageError("a\x1b[31m\nb"), 2, "gpubench: a\\x1b[31m\nb\n"),
    (KeyboardInterrupt(), 130, "gpubench: interrupted\n"),
    (click.UsageError("bad option"), 2, "gpubench: bad option\n"),
    (FileNotFoundError(2, "No such file or directory", "x.json"), 2, "gpubench: cannot use x.json: No such file"),
    (MemoryError(), 5, "gpubench: out of memory"),
    (ZeroDivisionError("division by zero"), 5, "gpubench: unexpected error: ZeroDivisionError: division by zero\n"),
    (RecursionError(), 5, "gpubench: unexpected error: RecursionError\n"),
    (SystemExit(4), 4, ""),
    (click.exceptions.Exit(3), 3, ""),
]


@pytest.mark.parametrize(("error", "code", "message"), ERRORS, ids=[repr(error)[:30] for error, _, _ in ERRORS])
def test_each_error_has_its_code_and_message(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    error: BaseException | int | None,
    code: int,
    message: str,
) -> None:
    """Whatever a command ends with becomes the documented code and a sentence, never a traceback."""
    fake_command(monkeypatch, error)
    assert main(["boom"]) == code
    said = capfd.readouterr().err
    assert said.startswith(message)
    assert bool(said) == bool(message)
    assert "Traceback" not in said
    if code == 5 and "unexpected" in said:
        assert "--debug" in said


def test_suite_mistakes_keep_their_places(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Mistakes stand at the start of their lines, so that editors can jump to them."""
    mistakes = [errors.Mistake("s.yaml", line, 3, "cases", "what?") for line in (1, 2)]
    fake_command(monkeypatch, errors.SuiteError(mistakes))
    assert main(["boom"]) == 2
    assert capfd.readouterr().err.splitlines() == [
        "gpubench: 2 mistakes in the suite:",
        "s.yaml:1:3: cases: what?",
        "s.yaml:2:3: cases: what?",
    ]


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """With --debug (or GPUBENCH_DEBUG) the traceback comes before the message, and the code stays."""
    fake_command(monkeypatch, errors.UsageError("no such thing"))
    assert main(["--debug", "boom"]) == 2
    assert "Traceback" in capfd.readouterr().err
    monkeypatch.setenv("GPUBENCH_DEBUG", "1")
    assert main(["boom"]) == 2
    assert "Traceback" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["shwo"], "Did you mean show?"),
        (["--hepl"], "--help"),
        (["show"], "RESULT"),
        (["show", "a", "--sort", "x"], "There is no order 'x'; there are case, contender"),
        (["show", "a", "--columns", "case,medain"], "There is no column 'medain'"),
        (["show", "/nonexistent/result.json"], "/nonexistent/result.json: cannot be read: No such file or directory"),
        (["show", "/"], "is not a regular file"),
        ([], "Usage: gpubench"),
    ],
)
def test_bad_usage_is_answered_with_help(
    arguments: Sequence[str], hint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A wrong command line is exit 2, with what was meant or allowed."""
    assert main(arguments) == 2
    said = capfd.readouterr()
    assert hint in said.err
    assert said.out == ""


@pytest.mark.parametrize("broken", ["stdout", "stderr", "all"])
def test_closed_streams(result_file: Path, broken: str) -> None:
    """With standard streams closed a command works, and what it opens does not become standard output."""
    closing = {"stdout": ">&-", "stderr": "2>&-", "all": "<&- >&- 2>&-"}[broken]
    command = f'"{sys.executable}" -m gpubench show "$0" {closing}'
    done = subprocess.run(["sh", "-c", command, result_file], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""
    assert bool(done.stdout) == (broken == "stderr")
    json.loads(result_file.read_text())


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_is_no_error(tmp_path: Path, unbuffered: str) -> None:
    """When the reader of a pipe leaves, the command ends at once, without a word, with the code of SIGPIPE."""
    path = tmp_path / "large.json"
    write(result(*(record(f"cumsum/{n}/dim=0/float32") for n in range(3000))), path)
    with subprocess.Popen(
        [*GPUBENCH, "show", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == cli.BROKEN_PIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["show"]])
def test_a_full_disk_is_reported(result_file: Path, arguments: list[str]) -> None:
    """Output that cannot be written is an error with its reason, not a silent success."""
    command = [*GPUBENCH, *arguments, *([str(result_file)] if arguments == ["show"] else [])]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 5
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {},
    ],
)
def test_no_home_and_any_locale(tmp_path: Path, locale: dict[str, str]) -> None:
    """Without HOME, PATH or UTF-8 the table and the help are printed, with ASCII in place of what is missing."""
    path = tmp_path / "result.json"
    write(result(record("cumsum/\u4e2d\u6587")), path)
    for arguments in (["show", str(path)], ["--help"]):
        done = subprocess.run([*GPUBENCH, *arguments], env=locale, capture_output=True)
        assert done.returncode == 0, done.stderr
        assert done.stderr == b""
        if "PYTHONIOENCODING" in locale or "PYTHONUTF8" in locale:
            assert done.stdout.decode("latin-1").isascii()


def on_terminal(arguments: list[str], **environment: str) -> str:
    """Return what a command writes to a terminal."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [*GPUBENCH, *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80", **environment},
    ) as process:
        os.close(follower)
        written = b""
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:
                break
            if not chunk:
                break
            written += chunk
    os.close(leader)
    assert process.returncode == 0, written
    return written.decode()


def test_terminals_get_groups_and_color_unless_they_refuse(result_file: Path) -> None:
    """On a terminal the table is grouped to its width and coloured; NO_COLOR and dumb terminals get none of it."""
    colored = on_terminal(["show", str(result_file)], NO_COLOR="")
    assert "\x1b[31mwrong" in colored
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb", "NO_COLOR": ""}):
        written = on_terminal(["show", str(result_file)], **plain)
        assert "\x1b" not in written
        assert "\ncumsum/4096x4096/dim=1/float32\r\n" in written


def test_interrupting_a_running_command(tmp_path: Path) -> None:
    """Ctrl-C is exit 130 with one line."""
    started = tmp_path / "started"
    (tmp_path / "slow.py").write_text(
        "import time, click\n@click.command()\ndef command():\n"
        f"    open({str(started)!r}, 'w').close()\n    time.sleep(60)\n"
    )
    code = (
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom gpubench.cli import COMMANDS, Entry, main\n"
        "COMMANDS['slow'] = Entry('slow:command', '')\nsys.exit(main(['slow']))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not started.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.strip() == "gpubench: interrupted"


def test_shell_completion() -> None:
    """Click's completion answers for bash: the script, and the commands that begin with what was typed."""
    script = gpubench(env={**os.environ, "_GPUBENCH_COMPLETE": "bash_source"})
    assert "_GPUBENCH_COMPLETE=bash_complete" in script.stdout
    words = {"COMP_WORDS": "gpubench sh", "COMP_CWORD": "1", "_GPUBENCH_COMPLETE": "bash_complete"}
    assert "plain,show" in gpubench(env={**os.environ, **words}).stdout.splitlines()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_tells_the_codes_of_the_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command's help lists exit codes that it can end with, and none that only another has."""
    assert main([name, "--help"]) == 0
    told = capsys.readouterr().out
    codes = {int(code) for code in re.findall(r"^  +(\d+) +\S", told.partition("Exit codes")[2], re.MULTILINE)}
    assert {0, 2} <= codes
    assert (1 in codes) == (name in ("compare", "ab", "run"))
    assert (4 in codes) == (name in ("run", "check", "calibrate", "compare", "ab", "explore", "profile"))
    assert "Exit codes (each command's help has its own)" not in told
