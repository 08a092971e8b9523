"""The command: a planted landscape ends in a file for `auto`, and a tuning that was ended or killed goes on."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpubench.cli import main
from gpubench.engine import supervisor
from gpubench.engine.process import WorkerProcess
from gpubench.results.exports import Options, export
from gpubench.results.read import read
from gpubench.tuned import STAGE, TUNED
from gpubench.tuning.file import Tuning, read_tuning

SUITE = """
name: rows
cases:
  - {operator: sum, shape: [[65536, 1000], [100000, 513]], dim: 1, dtype: [float32, bfloat16]}
"""
SIMULATED = "SIMULATED on the host: these times say nothing about a GPU."
WORKER = "tests.tuning.planted_worker"
QUICK = ("--cases", "2", "--rounds", "6", "--share-device", "-o", "found.json", "--into", "tuned.json")


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Let commands run on the planted worker, in a folder of their own; give the suite's path."""
    spawn = functools.partial(WorkerProcess, WORKER)
    monkeypatch.setattr(supervisor, "Supervisor", functools.partial(supervisor.Supervisor, spawn=spawn))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.yaml").write_text(SUITE)
    return "rows.yaml"


def found() -> tuple[Tuning, list[dict[str, Any]]]:
    """Return the tuning file without its time, and the rows of the result."""
    tuning = read_tuning(Path("tuned.json")).tuning
    rows = read(Path("found.json")).extra[TUNED]
    return tuning.model_copy(update={"created": ""}), list(rows)


def test_the_planted_best_is_written_and_told(planted: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Failing configurations are out, the best is in the file with evidence; the table tells its gain, and on what."""
    assert main(["tune", planted, *QUICK]) == 0
    tuning, (row,) = found()
    (entry,) = tuning.entries
    assert (entry.subject, entry.regime, entry.constants["LANES_ROW"]) == ("sum", "short-rows", 256)
    assert entry.evidence.ratio is not None
    assert entry.evidence.ratio.low < 0.9 < entry.evidence.ratio.high
    changed = {"65536x1000/dim=1/float32", "100000x513/dim=1/float32", "100000x513/dim=1/bfloat16"}
    assert {case.case for case in entry.evidence.cases} == {f"sum/{case}" for case in changed}
    assert row["decision"] == "tuned"
    assert row["failed"] > 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split("\t")[0] == "regime"
    assert out[1].startswith("sum short-rows\t4\t144\t")
    assert "LANES_ROW 256" in out[1]
    assert out[-2:] == ["1 regime: 1 with other constants.", SIMULATED]
    assert main(["tune", planted, *QUICK[:-4], "-o", "again.json", "--from", "tuned.json", "--into", "tuned.json"]) == 0
    assert found()[0].entries[0].constants == entry.constants
    assert capsys.readouterr().out.splitlines()[-2] == "1 regime: 1 as before."


@pytest.mark.filterwarnings("ignore:None of the tunable parameters specify:UserWarning")  # Kernel Tuner's own advice
def test_tuners_read_the_result(planted: str, tmp_path: Path) -> None:
    """Every point of the space is in the export: timed, or with the reason; the fastest is what was chosen."""
    assert main(["tune", planted, *QUICK, "-q"]) == 0
    document = json.loads(export(read(Path("found.json")), "t4", Options("kt.json")).data)
    assert len(document["results"]) == len(document["cache"]) == 144
    timed = [entry for entry in document["cache"].values() if "__error__" not in entry]
    best = min(timed, key=lambda entry: entry["time"])
    assert best["LANES_ROW"] == 256
    words = {result["invalidity"] for result in document["results"]}
    assert {"correct", "correctness", "compile", "runtime"} >= words > {"correct"}
    util = pytest.importorskip("kernel_tuner.util", reason="Kernel Tuner is not installed")
    interface = pytest.importorskip("kernel_tuner.interface")
    path = tmp_path / "kt.json"
    path.write_text(json.dumps(document))
    assert util.read_cache(str(path), open_cache=False)["tune_params_keys"] == document["tune_params_keys"]
    _, environment = interface.tune_cache(str(path), strategy="brute_force", quiet=True)
    assert environment["best_config"]["time"] == best["time"]


@pytest.mark.parametrize("batches", [1, 2, 4])
def test_a_tuning_goes_on_where_it_was_ended(
    planted: str, batches: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ended within any stage and resumed, it decides what an undisturbed one decides, and times nothing twice."""
    assert main(["tune", planted, *QUICK, "-q"]) == 0
    whole = found()
    for name in ("found.json", "tuned.json"):
        Path(name).unlink()
    left = [batches]
    cls: Any = supervisor.Supervisor.func  # type: ignore[attr-defined] # the fixture's
    inner = cls.run

    def run(self: Any, cases: Any, *rest: Any, **more: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            self.interrupt()
        return inner(self, cases, *rest, **more)

    monkeypatch.setattr(cls, "run", run)
    assert main(["tune", planted, *QUICK, "-q"]) == 130
    assert "--resume" in capsys.readouterr().err
    assert not Path("tuned.json").exists()
    assert main(["tune", planted, *QUICK, "-q", "--resume", "found.json"]) == 0
    assert found() == whole
    assert not list(Path().glob("*journal*"))


KILLED = """
import functools, sys
from gpubench.cli import main
from gpubench.engine import supervisor
from gpubench.engine.process import WorkerProcess
spawn = functools.partial(WorkerProcess, "tests.tuning.planted_worker")
supervisor.Supervisor = functools.partial(supervisor.Supervisor, spawn=spawn)
sys.exit(main(sys.argv[1:]))
"""


def test_a_tuning_goes_on_after_a_kill(planted: str) -> None:
    """Killed while it works, it is resumed from its journal and decides the same."""
    assert main(["tune", planted, *QUICK, "-q"]) == 0
    whole = found()
    for name in ("found.json", "tuned.json"):
        Path(name).unlink()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, "tune", planted, *QUICK], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("[5]"):
                process.send_signal(signal.SIGKILL)
                break
        process.stderr.close()
    assert process.returncode == -signal.SIGKILL
    assert not Path("found.json").exists()
    assert main(["tune", planted, *QUICK, "-q", "--resume", "found.json"]) == 0
    assert found() == whole


def test_a_budget_ends_it_and_says_what_is_open(planted: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the time is over, the regime is not decided, and nothing is written for it; more time can be given."""
    assert main(["tune", planted, *QUICK, "--budget", "0.01s"]) == 0
    out, err = capsys.readouterr()
    assert "not decided: the time was over" in out
    assert "--resume" in err
    assert not Path("tuned.json").exists()
    assert main(["tune", planted, *QUICK, "-q", "--resume", "found.json"]) == 0
    assert found()[1][0]["decision"] == "tuned"
    assert not list(Path().glob("*journal*"))


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (("--budget", "soon"), 2, "is no time such as 90s, 10m or 2h"),
        (("--from", "gone.json"), 2, "gone.json: cannot be read"),
        (("-k", "nothing"), 2, "nothing"),
        (("--into", "-"), 2, "--into names a file"),
    ],
)
def test_wrong_input_is_one_line(
    planted: str, more: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each says what would be right, before anything is measured."""
    assert main(["tune", planted, *QUICK, *more]) == code
    assert message in capsys.readouterr().err
    assert not Path("found.json").exists()


def test_stages_are_in_the_case_ids(planted: str) -> None:
    """The result can be read like any other: each record says which stage of which regime it was."""
    assert main(["tune", planted, *QUICK, "-q"]) == 0
    stages = {record.case.id.partition(STAGE)[2] for record in read(Path("found.json")).records}
    assert {"sum.short-rows.race.1", "sum.short-rows.final.1"} <= stages
