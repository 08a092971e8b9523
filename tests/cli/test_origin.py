"""What a result says of where it comes from, and that it says nothing else of whose machine it was made on."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from gpubench.cli.origin import Origin, origin_options
from gpubench.engine.disclosure import without_paths
from gpubench.model import Json
from gpubench.results.read import read
from tests.engine.bed import own_sources, script

SUITE = """
name: little
defaults: {contenders: ["gpubench:naive", numpy], timing: {min_samples: 6, max_samples: 9, rounds: 2}}
cases: [{operator: sum, shape: [[4, 5]], dim: [0]}]
"""


SECRET = {"ZEBULON_TOKEN": "open-sesame", "USER": "zebulon", "LOGNAME": "zebulon"}
FAULT = {"at": "bind", "error": "DeviceError", "message": "cannot open {}/kernel.so (/tmp/zebulon/x.cu:3)"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository of a user's own, with a suite in it, whose name nobody else needs to know."""
    folder = tmp_path_factory.mktemp("zebulon-secret")
    (folder / "little.yaml").write_text(SUITE)
    person = ["-c", "user.name=Zebulon", "-c", "user.email=zebulon@example.org"]
    for words in (["init", "-q", "-b", "trunk"], ["add", "little.yaml"], [*person, "commit", "-q", "-m", "Add"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


def run(folder: Path, command: str, *arguments: str, faults: int = 0) -> Json:
    """Run a command on the suite by its whole path and return the result that it wrote."""
    fault = FAULT | {"message": FAULT["message"].format(folder)}
    device = script(folder, faults=[fault] * faults)
    options = ["--device", device, "-q", "-o", "r.json"]
    done = subprocess.run(
        [sys.executable, "-m", "gpubench", command, str(folder / "little.yaml"), *options, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env=own_sources(folder) | SECRET,
        timeout=60,
        check=False,
    )
    assert done.returncode == (5 if faults else 0) or command == "ab", done.stderr
    return json.loads((folder / "r.json").read_text())


def test_a_result_names_the_commit_and_the_labels(folder: Path) -> None:
    """Commit, branch and whether anything differs, of suite and kernels; outside the command, no word of the user."""
    written = run(folder, "run", "--label", "pr=7", "--label", "by=a=b")
    commit = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    source = written["source"]
    assert (source["commit"], source["dirty"], source["branch"]) == (commit, False, "trunk")
    assert source["label"] == {"pr": "7", "by": "a=b"}
    assert source["kernels"] == {"commit": commit, "dirty": True, "branch": "trunk"}  # its cuda_src is not committed
    assert read(folder / "r.json").source.suite.commit == commit
    assert "zebulon-secret" in " ".join(written.pop("command"))  # what the user typed
    assert "zebulon" not in json.dumps(written)


@pytest.mark.parametrize(("command", "words"), [("run", ()), ("ab", ("--b", "gpubench:naive", "--rounds", "2"))])
def test_a_private_result_names_nobody(folder: Path, command: str, words: tuple[str, ...]) -> None:
    """No user's name, no folder, not the host's name, nothing of the environment, whatever a library's message says."""
    written = run(folder, command, "--private", *words, faults=1)
    assert written["command"] == []
    messages = [record["message"] or "" for record in written["records"]]
    assert any("cannot open kernel.so (x.cu:3)" in message for message in messages), messages
    text = json.dumps(written).lower()
    for word in ("zebulon", "open-sesame", str(folder), platform.node().lower()):
        assert word not in text, word


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("ValueError: x (/home/me/a/c.py:3)", "ValueError: x (c.py:3)"),
        ("see '/usr/lib/libc.so', ~/notes.txt", "see 'libc.so', notes.txt"),
        ("cumsum/4096x4096/dim=1/float32 is wrong", "cumsum/4096x4096/dim=1/float32 is wrong"),
        ("@b/sum/rows.cu and https://example.org/a/b stay", "@b/sum/rows.cu and https://example.org/a/b stay"),
        ("1/2 of 3 / 4", "1/2 of 3 / 4"),
    ],
)
def test_only_folders_of_the_machine_are_cut(text: str, cut: str) -> None:
    """Case ids, sources of a tree and addresses keep their slashes."""
    assert without_paths(text) == cut


def given(*arguments: str) -> tuple[int, str, list[Origin]]:
    """Parse a command line that has these options alone; return exit code, output, and what the command got."""
    got: list[Origin] = []

    @click.command()
    @origin_options
    def command(origin: Origin) -> None:
        """Keep what the command gets."""
        got.append(origin)

    done = CliRunner().invoke(command, list(arguments))
    return done.exit_code, done.output, got


@pytest.mark.parametrize(
    "label",
    ["novalue", "=x", "a b=c", "é=x", "k=" + "x" * 201, "k=\x1b[31m", "k=two\nlines", "x" * 41 + "=1"],
)
def test_a_bad_label_is_refused(label: str) -> None:
    """A label is KEY=VALUE within bounds: anything else is a usage error."""
    code, output, got = given("--label", label)
    assert code == 2
    assert "--label" in output
    assert "\x1b" not in output
    assert got == []


def test_labels_fit_within_bounds() -> None:
    """Sixteen labels fit, seventeen do not; the same key twice is a mistake; values keep their equals signs."""
    words = [word for number in range(17) for word in ("--label", f"k{number}=v")]
    assert len(given(*words[:32])[2][0].label) == 16
    assert "at most 16 labels" in given(*words)[1]
    assert "the key a is given twice" in given("--label", "a=1", "--label", "a=2")[1]
    assert given("--label", "a=b=c", "--private")[2] == [Origin({"a": "b=c"}, private=True)]
    assert given()[2] == [Origin()]
