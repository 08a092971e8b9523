"""Every command where much is missing: no HOME, no PATH, no UTF-8, nowhere to write, nobody who reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpubench.cli import BROKEN_PIPE
from gpubench.errors import MissingExtraError
from gpubench.kernels import nvrtc
from gpubench.results.read import read
from gpubench.results.write import write
from tests.engine.bed import script
from tests.views.samples import mixed

BARE = {"PYTHONPATH": str(Path(__file__).parents[2]), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
COMMANDS = {
    "run": (("run", "little.yaml", "--device", "fake:fake.json", "-o", "new.json"), 0),
    "list": (("list", "little.yaml"), 0),
    "show": (("show", "good.json"), 0),
    "compare": (("compare", "good.json", "good.json"), 3),
    "plot": (("plot", "good.json", "-o", "charts"), 0),
    "report": (("report", "good.json"), 0),
    "doctor": (("doctor",), None),
}
SUITE = """
name: little
cases:
  - {operator: sum, shape: [4], dim: [0], contenders: ["gpubench:naive"], timing: {min_samples: 4, max_samples: 6}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a suite, a scripted device and a result."""
    (tmp_path / "little.yaml").write_text(SUITE)
    script(tmp_path)
    write(mixed(), tmp_path / "good.json")
    return tmp_path


def bare(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command with next to no environment. It never shows a traceback or a defect."""
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": BARE, **options}
    done = subprocess.run([sys.executable, "-m", "gpubench", *arguments], cwd=folder, text=True, timeout=120, **streams)
    assert "Traceback" not in (done.stdout or "") + done.stderr
    assert "unexpected error" not in done.stderr
    return done


@pytest.mark.parametrize("name", COMMANDS)
def test_a_bare_environment_is_enough(name: str, folder: Path) -> None:
    """Without HOME, PATH and UTF-8 the command does its work, in ASCII."""
    arguments, code = COMMANDS[name]
    done = bare(folder, *arguments)
    assert done.returncode == code or code is None
    assert done.stdout.isascii()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_standard_output_is_said(name: str, folder: Path) -> None:
    """Output that cannot be written is exit 5 with the reason; what a run measured is written all the same."""
    with Path("/dev/full").open("w") as full:
        done = bare(folder, *COMMANDS[name][0], stdout=full)
    assert done.returncode == 5
    assert "No space left on device" in done.stderr
    if name == "run":
        assert [record.status for record in read(folder / "new.json").records] == ["ok"]


@pytest.mark.parametrize("name", ["run", "compare", "plot"])
def test_nobody_reads(name: str, folder: Path) -> None:
    """With closed standard output the code is as ever; a reader that has left is exit 141 without a word of ours."""
    arguments, code = COMMANDS[name]
    line = f'exec "{sys.executable}" -m gpubench {" ".join(arguments)}'
    closed = subprocess.run(["sh", "-c", f"{line} >&-"], cwd=folder, env=BARE, capture_output=True, text=True)
    assert closed.returncode == code, closed.stderr
    reader, writer = os.pipe()
    os.close(reader)
    more = ("-o", "other.json") if name == "run" else ()
    done = bare(folder, *arguments, *more, stdout=writer)
    os.close(writer)
    assert done.returncode == BROKEN_PIPE
    assert "gpubench:" not in done.stderr.replace("gpubench:naive", "")


@pytest.mark.parametrize(("arguments", "code"), [(("nonsense",), 2), (("show", "missing.json"), 2)], ids=str)
def test_nobody_hears_what_went_wrong(arguments: tuple[str, ...], code: int, folder: Path) -> None:
    """With a reader of standard error that has left the code is as ever, not the interpreter's for a last flush."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "gpubench", *arguments], cwd=folder, env=BARE, stdout=subprocess.DEVNULL, stderr=writer
    )
    os.close(writer)
    assert done.returncode == code


@pytest.fixture
def _compiler() -> None:
    """Skip where NVRTC is not installed."""
    try:
        nvrtc.binding()
    except MissingExtraError as error:
        pytest.skip(str(error))


COMPILE = ("compile", "--arch", "sm_90", "--operator", "cumsum", "--variant", "naive", "--dtype", "float32", "--json")


@pytest.mark.usefixtures("_compiler")
@pytest.mark.parametrize("cache", ["/proc/nowhere", "little.yaml", "/dev/null/x"])
def test_a_cache_that_cannot_be_written_is_no_error(cache: str, folder: Path) -> None:
    """A read-only or impossible cache folder costs time, nothing else."""
    done = bare(folder, *COMPILE, env={**BARE, "GPUBENCH_CACHE_DIR": cache})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kernels"][0]["status"] == "ok"


@pytest.mark.usefixtures("_compiler")
def test_two_commands_fill_one_cache(folder: Path) -> None:
    """Two processes that compile into one new folder at once both succeed, with the same machine code."""
    environment = {**BARE, "GPUBENCH_CACHE_DIR": str(folder / "cache")}
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "gpubench", *COMPILE, "--jobs", "1"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    hashes = {json.loads(output)["kernels"][0]["cubin_sha256"] for output, _ in answers}
    assert len(hashes) == 1
    assert not [path for path in (folder / "cache").iterdir() if path.name.startswith(".new-")]
