from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpubench.engine.process import WorkerProcess
from gpubench.engine.supervisor import RunOptions, Supervisor
from gpubench.engine.workers import WorkerOptions
from gpubench.errors import NoDeviceError, UsageError
from gpubench.kernels.sources import OVERRIDE
from gpubench.model import Record
from tests.engine.bed import NAIVE, QUICK, case, run, script, statuses

CUMSUM = "gpubench::cumsum::*"
SUM = case("sum", contenders=(NAIVE, "numpy"))
CASES = (case(contenders=(NAIVE, "numpy")), SUM)

FAULTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "segfault": ({"at": "run", "do": "signal", "signal": 11}, "crashed", "was killed by SIGSEGV"),
    "abort while compiling": (
        {"at": "compile", "do": "signal", "signal": 6},
        "crashed",
        "compile: the worker was killed",
    ),
    "exit 0 without a record": ({"at": "sample", "do": "exit", "exit_code": 0}, "crashed", "ended with exit code 0"),
    "killed from outside": (
        {"at": "run", "do": "signal", "signal": 9},
        "crashed",
        "SIGKILL (often the system's answer",
    ),
    "fatal code": (
        {"at": "sample", "code": 700, "message": "illegal address"},
        "device_error",
        "illegal address (code 700)",
    ),
    "fatal code while binding": ({"at": "bind", "code": 719}, "device_error", "scripted fault (code 719)"),
    "code that kills nothing": (
        {"at": "run", "error": "DeviceError", "code": 701, "message": "too many resources"},
        "device_error",
        "too many resources (code 701)",
    ),
    "out of memory": (
        {"at": "bind", "error": "OutOfMemoryError", "code": 2},
        "out_of_memory",
        "scripted fault (code 2)",
    ),
    "does not compile": (
        {"at": "compile", "error": "CompileError", "message": "naive.cu:3: no"},
        "compile_error",
        "naive.cu:3: no",
    ),
    "does not take the case": (
        {"at": "bind", "error": "UnsupportedError", "message": "too odd"},
        "unsupported",
        "too odd",
    ),
    "hang": ({"at": "sample", "do": "hang"}, "timeout", "time: the case was not done within 6 s: killed"),
    "endless compile": (
        {"at": "compile", "do": "hang"},
        "timeout",
        "compile: the case was not done within 6 s: killed",
    ),
}
KILLS = (
    "segfault",
    "abort while compiling",
    "exit 0 without a record",
    "killed from outside",
    "hang",
    "endless compile",
)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_only_the_contender_at_fault(name: str, tmp_path: Path) -> None:
    """The contender at fault gets its status and the reason; its case's other contender and the next case are `ok`."""
    fault, status, message = FAULTS[name]
    deadline = 6.0 if fault.get("do") == "hang" else QUICK.timeout_s
    cases = [replace(case, timing=replace(QUICK, timeout_s=deadline)) for case in CASES]
    outcome = run(cases, script(tmp_path, faults=[{"kernel": CUMSUM, **fault}]))
    assert statuses(outcome) == [status, "ok", "ok", "ok"]
    assert message in str(outcome.records[0].message)
    fatal = name in KILLS or "fatal" in name
    assert outcome.workers == (2 if fatal else 1)


def test_a_fault_that_concerns_all_contenders_is_given_to_all(tmp_path: Path) -> None:
    """When the work that serves the whole case fails, each contender without a record gets the reason."""
    broken = case("index_add", contenders=(NAIVE, "gpubench:auto"), params=None)
    device = script(tmp_path, faults=[{"at": "upload", "error": "OutOfMemoryError", "times": 1}])
    outcome = run((broken, SUM), device, lambda: WorkerProcess("tests.engine.naive_worker"))
    assert statuses(outcome) == ["out_of_memory", "out_of_memory", "ok", "ok"]


def test_a_lost_context_does_not_spoil_the_others(tmp_path: Path) -> None:
    """Contenders timed together with one that loses the device are timed again in a fresh worker, and are right."""
    one = case(contenders=("gpubench:auto", NAIVE, "numpy"))
    faults = [{"at": "run", "kernel": CUMSUM, "after": 6, "times": 1, "once_file": "once", "code": 700}]
    outcome = run((one,), script(tmp_path, faults=faults), lambda: WorkerProcess("tests.engine.naive_worker"))
    assert sorted(statuses(outcome)) == ["device_error", "ok", "ok"]
    good = [record for record in outcome.records[:2] if record.status == "ok"]
    assert good[0].check is not None
    assert good[0].check.ok


def test_a_fault_that_passes_is_retried(tmp_path: Path) -> None:
    """With retries, a fault that happens once leaves an `ok` record that tells of it."""
    faults = [{"at": "run", "kernel": CUMSUM, "once_file": "once", "do": "signal", "signal": 11}]
    outcome = run(CASES, script(tmp_path, faults=faults), retries=1)
    assert statuses(outcome) == ["ok"] * 4
    assert "try 2; before that crashed: time: the worker was killed by SIGSEGV" in str(outcome.records[0].message)


def test_a_slow_start_is_waited_for(tmp_path: Path) -> None:
    """A device that takes a while to open is no fault."""
    outcome = run((SUM,), script(tmp_path, faults=[{"at": "open", "do": "sleep", "seconds": 0.6}]))
    assert statuses(outcome) == ["ok", "ok"]
    assert outcome.seconds["start"] > 0.6


def test_a_compute_of_nothing_is_wrong(tmp_path: Path) -> None:
    """A kernel that never writes its output is `wrong`, for every operator."""
    cases = [case(name) for name in ("cumsum", "sum", "elementwise", "index_add")]
    outcome = run(cases, script(tmp_path, compute=False))
    assert statuses(outcome) == ["wrong"] * 4
    assert all(record.check is not None and record.check.first_mismatch for record in outcome.records)


def test_a_memory_limit_gives_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under RLIMIT_AS a case that is too big is foreseen or runs out of memory; the next case is done."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # on a large machine its threads alone would fill the limit
    big = case("cumsum", {"shape": [3_000_000], "dim": 0})
    outcome = run((big, SUM), script(tmp_path), worker={"memory_limit": 1_600_000_000})
    assert statuses(outcome)[1:] == ["ok", "ok"]
    tight = run(
        (replace(big, params={"shape": [90_000_000], "dim": 0}),),
        script(tmp_path),
        worker={"memory_limit": 1_600_000_000},
    )
    assert statuses(tight) == ["skipped"]
    assert "GB on the host" in str(tight.records[0].message)


@pytest.mark.parametrize("limit", [1, 100_000_000, 300_000_000])
def test_a_memory_limit_that_leaves_no_room_is_refused_at_once(limit: int, tmp_path: Path) -> None:
    """A limit below what the libraries need is the user's matter, said with the least that will do; nothing spins."""
    began = time.monotonic()
    with pytest.raises(NoDeviceError, match=r"--memory-limit: \d+ MB leave no room .* give it at least \d+ MB"):
        run((SUM,), script(tmp_path), worker={"memory_limit": limit})
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("taken", [True, False])
def test_nothing_is_measured_on_a_device_that_another_run_has(taken: bool, tmp_path: Path) -> None:
    """The ceiling, which fills the memory bus, is measured after the device is claimed and never when it is refused."""
    device = script(tmp_path, faults=[{"at": "ceiling", "do": "sleep", "once_file": "measured"}])

    def claim(_: object) -> None:
        assert not (tmp_path / "measured").exists()
        if taken:
            raise UsageError("in use")

    with (
        pytest.raises(UsageError, match="in use") if taken else contextlib.nullcontext(),
        Supervisor(RunOptions(WorkerOptions(device))) as supervisor,
    ):
        supervisor.open(claim=claim)
    assert (tmp_path / "measured").exists() is not taken


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _gone(pid: int) -> bool:
    for _ in range(600):
        if not _alive(pid):
            return True
        time.sleep(0.05)
    return False


_PARENT = """
import sys, time
from gpubench.engine.messages import Start
from gpubench.engine.process import WorkerProcess
worker = WorkerProcess()
worker.send(Start(sys.argv[1]))
while worker.receive(10) is None: pass
print(worker.pid, flush=True)
time.sleep(600)
"""


def test_a_worker_dies_with_its_parent(tmp_path: Path) -> None:
    """A supervisor killed by kill -9 leaves no worker behind, also while the worker is stuck."""
    device = script(tmp_path)
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, device], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        os.kill(worker, signal.SIGSTOP)  # a thread that watches the pipe would not help now
        assert _alive(worker)
    finally:
        parent.kill()
        parent.communicate()
    assert _gone(worker)


def test_a_worker_ends_when_its_line_is_closed(tmp_path: Path) -> None:
    """A worker whose command pipe closes without a stop ends by itself, where no parent's death tells it."""
    from gpubench.engine.messages import Start

    worker = WorkerProcess()
    worker.send(Start(script(tmp_path)))
    while worker.receive(10) is None:
        pass
    worker._selector.close()
    os.close(worker._commands)
    try:
        worker._process.wait(30)
        assert worker._process.returncode == -signal.SIGKILL
    finally:
        worker._commands = os.open(os.devnull, os.O_WRONLY)
        worker.kill()


def test_the_supervisor_never_imports_a_gpu_library() -> None:
    """Importing all of the supervisor's side loads neither cupy nor torch nor any other device's library."""
    code = (
        "import sys, gpubench.engine.run, gpubench.engine.supervisor, gpubench.cli.run\n"
        "print([name for name in ('cupy', 'cupy_backends', 'torch', 'jax', 'pynvml', 'numpy') if name in sys.modules])"
    )
    run_ = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run_.stdout.strip() == "[]", run_.stderr


def test_a_whole_run_leaves_the_supervisor_clean(tmp_path: Path) -> None:
    """Running a suite loads no GPU library into the supervisor's process."""
    code = (
        "import sys\n"
        "from tests.engine.bed import case, run\n"
        f"run((case(),), {script(tmp_path)!r})\n"
        "print([name for name in ('cupy', 'cupy_backends', 'torch', 'jax', 'pynvml') if name in sys.modules])"
    )
    run_ = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run_.stdout.strip() == "[]", run_.stderr


def test_every_record_is_stored_before_the_next_begins(tmp_path: Path) -> None:
    """Records reach the store one by one while the run goes on, not at its end."""
    seen: list[tuple[str, float]] = []

    def store(record: Record) -> None:
        seen.append((record.contender, time.monotonic()))

    run((SUM, case("cumsum")), script(tmp_path, seconds_per_sample=0.02), store=store)
    assert seen[-1][1] - seen[0][1] > 0.1


@pytest.mark.parametrize(("call", "code"), [("exit(0)", 70), ("_exit(0)", 0), ("quick_exit(0)", 0)])
def test_a_kernel_that_ends_the_process_crashed(
    call: str, code: int, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However a kernel leaves, its contender is `crashed` within seconds and the next case is done."""
    source = sources / "cumsum" / "naive.cu"
    text = source.read_text()
    body = text.index("{", text.index("GPUBENCH_KERNEL")) + 1
    name = call.partition("(")[0]
    source.write_text(f'extern "C" void {name}(int) noexcept;\n{text[:body]} ::{call};{text[body:]}')
    monkeypatch.setenv(OVERRIDE, str(sources))
    outcome = run((case(), SUM), "host")
    assert statuses(outcome) == ["crashed", "ok", "ok"]
    assert f"the worker ended with exit code {code}" in str(outcome.records[0].message)
    assert ("called exit" in str(outcome.records[0].message)) is (code == 70)
