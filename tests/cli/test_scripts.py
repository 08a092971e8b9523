"""The start-up scripts: they install once, mend what broke off, and say what is missing. No network is used: a
stand-in for Python writes down what it is asked to do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gpubench.libraries import PEERS
from gpubench.suite.locate import shipped_suites

ROOT = Path(__file__).parents[2]
STANDIN = """#!/bin/sh
# Stands in for Python: makes "environments" out of itself and writes down its calls.
echo "$*" >>"$CALLS"
case "$*" in
"-m venv "*) [ ! -e "$BREAK_VENV" ] || exit 1; mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
"-m pip install "*) sleep "${SLOW:-0}"; [ ! -e "$BREAK_PIP" ] || { echo "pip: no network" >&2; exit 1; } ;;
*"libcuda"*) printf '%s' "$DRIVER_EXTRA" ;;
*ensurepip*) [ -z "$NO_ENSUREPIP" ] ;;
esac
"""

SYSTEM_TOOLS = [
    *("bash", "sh", "env", "dirname", "basename", "cat", "cut", "sha256sum", "sort", "sed", "paste", "tr"),
    *("rm", "mv", "mkdir", "cp", "sleep", "flock"),
]


class Clone:
    """A copy of the project's scripts in a folder with a space in its name, with a stand-in for Python."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a clone"
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        shutil.copy(ROOT / "pyproject.toml", self.root)
        self.venv = self.root / ".venv"
        self.calls = folder / "calls"
        self.break_pip = folder / "break pip"
        self.tools = folder / "tools"
        self.tools.mkdir()
        self.standin = self.tools / "python3"
        self.standin.write_text(STANDIN)
        self.standin.chmod(0o755)

    def environment(self, **changes: str) -> dict[str, str]:
        """Return what the scripts see: nothing of this process but the way to the system's tools."""
        return {
            "PATH": f"{self.tools}:/usr/bin:/bin",
            "PYTHON": str(self.standin),
            "CALLS": str(self.calls),
            "BREAK_PIP": str(self.break_pip),
            "BREAK_VENV": "/nonexistent",
            **changes,
        }

    def bench(self, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        """Run scripts/bench from another folder."""
        return subprocess.run(
            [self.root / "scripts" / "bench", *arguments],
            cwd="/",
            env=self.environment(**changes),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def installs(self) -> list[str]:
        """Return what pip was asked to install, in order."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [line.rsplit("--editable ", 1)[1] for line in lines if "pip install" in line]

    def last_call(self) -> str:
        """Return the last thing that Python was asked to do."""
        return self.calls.read_text().splitlines()[-1]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """Give a fresh clone."""
    return Clone(tmp_path)


def test_the_first_start_installs_and_the_second_does_not(clone: Clone) -> None:
    """A second start is silent and installs nothing; both run the smoke suite by default."""
    first = clone.bench()
    assert first.returncode == 0, first.stderr
    assert "once" in first.stderr
    second = clone.bench()
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert clone.installs() == [str(clone.root)]
    assert clone.last_call() == f"-m gpubench run {clone.root}/suites/smoke.yaml"


def test_arguments_reach_the_run(clone: Clone) -> None:
    """Suites replace the default one; options alone go with it."""
    clone.bench("my suite.yaml", "-k", "sum")
    assert clone.last_call() == "-m gpubench run my suite.yaml -k sum"
    clone.bench("-k", "sum")
    assert clone.last_call() == f"-m gpubench run {clone.root}/suites/smoke.yaml -k sum"


@pytest.mark.parametrize("extra", ["cuda13", "cuda12"])
def test_the_extra_fits_the_driver(clone: Clone, extra: str) -> None:
    """The driver's CUDA version chooses the extra; a choice by hand wins over it."""
    clone.bench(DRIVER_EXTRA=extra)
    assert clone.installs() == [f"{clone.root}[{extra}]"]
    clone.bench(DRIVER_EXTRA=extra, GPUBENCH_EXTRA="none")
    assert len(clone.installs()) == 1


def test_another_cuda_starts_a_new_environment(clone: Clone) -> None:
    """After a driver change the other CuPy is not put over the first: the environment is made anew."""
    clone.bench(DRIVER_EXTRA="cuda12")
    (clone.venv / "trace").touch()
    clone.bench(DRIVER_EXTRA="cuda13")
    assert clone.installs()[-1] == f"{clone.root}[cuda13]"
    assert not (clone.venv / "trace").exists()


def test_changed_needs_are_installed_and_other_extras_kept(clone: Clone) -> None:
    """A changed pyproject.toml installs again, with the extras that were there."""
    clone.bench(DRIVER_EXTRA="cuda13")
    with (clone.root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    clone.bench(DRIVER_EXTRA="")
    assert clone.installs() == [f"{clone.root}[cuda13]"] * 2


def test_an_installation_that_broke_off_is_made_anew(clone: Clone) -> None:
    """A failed installation ends with a message and exit 2; the next start clears it and goes on."""
    clone.break_pip.touch()
    broken = clone.bench()
    assert broken.returncode == 2
    assert "pip: no network" in broken.stderr
    assert "the installation failed" in broken.stderr
    (clone.venv / "half").touch()
    clone.break_pip.unlink()
    assert clone.bench().returncode == 0
    assert not (clone.venv / "half").exists()


def test_an_environment_that_is_not_ours_is_never_cleared(clone: Clone) -> None:
    """A .venv that somebody else made is installed into when it works and left alone when it does not."""
    (clone.venv / "bin").mkdir(parents=True)
    (clone.venv / "theirs").touch()
    refused = clone.bench()
    assert refused.returncode == 2
    assert "Remove it" in refused.stderr
    shutil.copy(clone.standin, clone.venv / "bin" / "python")
    assert clone.bench().returncode == 0
    assert (clone.venv / "theirs").exists()


def test_two_starts_at_once_install_once(clone: Clone) -> None:
    """The second start waits for the first one's installation and then uses it."""
    command = [clone.root / "scripts" / "bench"]
    both = [subprocess.Popen(command, env=clone.environment(SLOW="1"), stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        process.communicate(timeout=60)
    assert [process.returncode for process in both] == [0, 0]
    assert len(clone.installs()) == 1


def test_what_is_missing_is_said(clone: Clone, tmp_path: Path) -> None:
    """No suitable Python, or one without venv, ends with exit 2 and the package to install."""
    none = clone.bench(PYTHON=str(tmp_path / "none"))
    assert none.returncode == 2
    assert "is no Python 3.11 or newer" in none.stderr
    incomplete = clone.bench(NO_ENSUREPIP="1", PATH=f"{clone.tools}:{system_tools(tmp_path)}", PYTHON="python3")
    assert incomplete.returncode == 2
    assert "apt-get install python3-venv" in incomplete.stderr
    clone.standin.unlink()
    absent = clone.bench(PATH=str(system_tools(tmp_path)), PYTHON="")
    assert absent.returncode == 2
    assert "needs Python 3.11 or newer" in absent.stderr
    assert not clone.venv.exists()


def system_tools(folder: Path) -> Path:
    """Return a folder with the system's tools except any Python."""
    tools = folder / "system"
    if not tools.exists():
        tools.mkdir()
        for name in SYSTEM_TOOLS:
            found = shutil.which(name, path="/usr/bin:/bin")
            assert found is not None
            (tools / name).symlink_to(found)
    return tools


def test_the_driver_is_asked_for_its_cuda_version(clone: Clone, tmp_path: Path) -> None:
    """The real question to the driver library maps CUDA 13 and 12 to their extras, and older or no driver to none."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler to make a stand-in for the driver library")
    found = {}
    for version in (13020, 12080, 11080, None):
        folder = tmp_path / f"driver {version}"
        folder.mkdir()
        if version is not None:
            source = f"int cuDriverGetVersion(int *version) {{ *version = {version}; return 0; }}"
            library = ["-shared", "-fPIC", "-x", "c", "-", "-o", str(folder / "libcuda.so.1")]
            subprocess.run([compiler, *library], input=source, text=True, check=True)
        elif Path("/proc/driver/nvidia").exists():
            continue
        command = f". '{clone.root}/scripts/environment.sh'; driver_extra python3"
        found[version] = subprocess.run(
            ["bash", "-euc", command],
            env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    expected = {13020: "cuda13", 12080: "cuda12", 11080: "", None: ""}
    assert found == {version: expected[version] for version in found}


def record(clone: Clone, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/record with a Python of the caller's own."""
    command = [str(clone.root / "scripts" / "record"), *arguments]
    environment = clone.environment(PATH=os.environ["PATH"], **changes)
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=clone.root)


def test_a_recording_goes_on_where_it_broke_off(clone: Clone) -> None:
    """A journal in the folder is resumed under its own name; another suite starts anew; options reach every run."""
    folder = clone.root / "kept results"
    folder.mkdir()
    (folder / "sum-20260131T100000Z.journal.jsonl").touch()
    done = record(clone, str(folder), "sum", "peers", "--", "--rounds", "2", PEERS="torch")
    assert done.returncode == 0, done.stderr
    runs = [line for line in clone.calls.read_text().splitlines() if "gpubench run" in line]
    old = f"{folder}/sum-20260131T100000Z"
    assert runs[0].endswith(
        f"run sum --peer torch --rounds 3 --timeout 300 -o {old}.json --resume {old}.journal.jsonl --rounds 2"
    )
    assert f"run peers --peer torch --rounds 3 --timeout 300 -o {folder}/peers-2" in runs[1]
    assert "--resume" not in runs[1]
    assert not clone.venv.exists()


def test_a_recording_holds_every_suite_beside_every_library(clone: Clone) -> None:
    """Each suite that comes along, those of the smoke test too, with each peer that there is."""
    done = record(clone, str(clone.root / "kept"))
    assert done.returncode == 0, done.stderr
    runs = [line.split("gpubench run ")[1].split() for line in clone.calls.read_text().splitlines() if " run " in line]
    assert {run[0] for run in runs} == set(shipped_suites())
    assert all(run[1] == "--peer" and set(run[2].split(",")) == set(PEERS) for run in runs)


def test_a_recording_needs_a_folder(clone: Clone) -> None:
    """Without a folder nothing runs, and the way to use it is told."""
    done = record(clone)
    assert done.returncode == 2
    assert "scripts/record FOLDER" in done.stdout
    assert not clone.calls.exists()
