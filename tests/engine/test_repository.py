"""What a repository has checked out is told truly, whatever its state, and asking for it runs nothing of its own."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpubench.engine import repository
from gpubench.engine.repository import revision, source
from gpubench.model import Revision

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Make a repository with a committed suite in a folder; give a function that runs git in it."""

    def run(*arguments: str) -> str:
        """Run git as somebody with a name."""
        person = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
        command = ["git", "-C", str(tmp_path), *person, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    run("init", "--quiet", "--initial-branch=trunk")
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "mine.yaml").write_text("name: mine\n")
    (tmp_path / "other.txt").write_text("one\n")
    run("add", ".")
    run("commit", "--quiet", "-m", "First")
    return run


def test_a_clean_checkout(git: Git, tmp_path: Path) -> None:
    """Commit and branch are git's; a file that was touched but not changed leaves the checkout clean."""
    os.utime(tmp_path / "other.txt", (1, 1))
    assert revision(tmp_path / "suites" / "mine.yaml") == Revision(git("rev-parse", "HEAD"), False, "trunk")


@pytest.mark.parametrize("change", ["edited", "staged", "removed", "executable", "a link", "not added"])
def test_every_change_makes_it_dirty(git: Git, tmp_path: Path, change: str) -> None:
    """An edit of any tracked file counts, staged or not, and so does a suite that is not in the commit."""
    suite, other = tmp_path / "suites" / "mine.yaml", tmp_path / "other.txt"
    match change:
        case "edited":
            other.write_text("two\n")
        case "staged":
            other.write_text("two\n")
            git("add", "other.txt")
        case "removed":
            other.unlink()
        case "executable":
            other.chmod(0o755)
        case "a link":
            other.unlink()
            other.symlink_to("suites/mine.yaml")
        case _:
            suite = tmp_path / "new.yaml"
            suite.write_text("name: new\n")
    assert revision(suite) == Revision(git("rev-parse", "HEAD"), True, "trunk")


def test_no_branch_no_commit_no_repository_no_git(
    git: Git, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not there is None: never an error, and never the state of another repository."""
    suite = tmp_path / "suites" / "mine.yaml"
    git("checkout", "--quiet", "--detach")
    assert revision(suite).branch is None
    assert revision(suite).commit is not None
    (tmp_path / ".gitignore").write_text("venv/\n")
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "shipped.yaml").write_text("name: shipped\n")
    assert revision(tmp_path / "venv" / "shipped.yaml") == Revision()  # installed there, not of this repository
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    assert revision(elsewhere / "suite.yaml") == Revision()
    subprocess.run(["git", "-C", str(elsewhere), "init", "--quiet"], env={"PATH": os.environ["PATH"]}, check=True)
    assert revision(elsewhere / "suite.yaml") == Revision()
    monkeypatch.setenv("PATH", str(elsewhere))
    assert revision(suite) == Revision()


def test_a_hostile_repository_runs_nothing(git: Git, tmp_path: Path) -> None:
    """Monitors, filters, hooks and transports that a repository's settings name are not run."""
    commit, tree = git("rev-parse", "HEAD"), git("rev-parse", "HEAD^{tree}")
    proof = tmp_path / "it-ran"
    script = tmp_path / ".git" / "attack"
    script.write_text(f"#!/bin/sh\ntouch {proof}\ncat\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.process", "diff.external", "diff.x.textconv"):
        git("config", key, str(script))
    git("config", "remote.origin.url", f"ext::{script}")
    git("config", "remote.origin.promisor", "true")
    git("config", "extensions.partialClone", "origin")
    (tmp_path / "settings").write_text(f'[filter "y"]\n clean = {script}\n required = true\n')
    git("config", "include.path", str(tmp_path / "settings"))
    (tmp_path / ".git" / "info" / "attributes").write_text("*.txt filter=x diff=x\n*.yaml filter=y\n")
    (tmp_path / "other.txt").write_text("two\n")
    os.utime(tmp_path / "suites" / "mine.yaml", (1, 1))
    assert revision(tmp_path / "suites" / "mine.yaml").dirty is True
    (tmp_path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert revision(tmp_path / "suites" / "mine.yaml").commit == commit
    git("config", "filter.a=b.clean", str(script))
    assert revision(tmp_path / "suites" / "mine.yaml") == Revision(commit, None, "trunk")
    assert not proof.exists()


def test_git_that_hangs_does_not_hold_up_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time limit there is no revision."""
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(repository, "TIMEOUT_S", 0.1)
    began = time.monotonic()
    assert revision(tmp_path / "suite.yaml") == Revision()
    assert time.monotonic() - began < 30


def test_suites_of_two_repositories_have_no_revision_together(
    git: Git, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One repository's commit must not stand for another's; the kernels' stands by itself."""
    mine = tmp_path / "suites" / "mine.yaml"
    (tmp_path / "suites" / "more.yaml").write_text("name: more\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "Second")
    other = tmp_path_factory.mktemp("other") / "theirs.yaml"
    together = source([mine, tmp_path / "suites" / "more.yaml"], {"pr": "7"})
    assert together.suite == Revision(git("rev-parse", "HEAD"), False, "trunk")
    assert dict(together.label) == {"pr": "7"}
    apart = source([mine, other], {})
    assert apart.suite == Revision()
    assert apart.kernels == together.kernels
