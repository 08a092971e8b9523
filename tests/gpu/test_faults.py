"""Real faults on a real GPU: each costs the contender at fault and nothing else.

A copy of the kernel sources gets a fault planted into cumsum's naive kernel; the same cases run with it and without.

Run with: pytest tests/gpu/test_faults.py -p no:cacheprovider -s
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gpubench.engine.process import WorkerProcess
from gpubench.engine.supervisor import Outcome, RunOptions, Supervisor
from gpubench.engine.workers import WorkerOptions
from gpubench.errors import NoDeviceError
from gpubench.kernels.sources import OVERRIDE, package_root
from gpubench.model import Case, Ceiling, TimingOptions
from tests.engine.bed import case

pytestmark = pytest.mark.gpu

AUTO, NAIVE, FAULTY = "gpubench:auto", "gpubench:naive", "cumsum/naive.cu"
TIMING = TimingOptions(rounds=2, min_samples=20, max_samples=60, time_limit_s=1.0, timeout_s=12.0)
AGREEMENT = 0.05
"""How far the median of a case may lie from that of the clean run: a worker's buffers lie elsewhere each time."""
SIZE = [4096, 4096]
CASES = (
    case("sum", {"shape": SIZE, "dim": [0]}, contenders=(AUTO,), timing=TIMING),
    case("cumsum", {"shape": [4096, 256], "dim": 1}, contenders=(NAIVE, AUTO), timing=TIMING),
    case("sum", {"shape": SIZE, "dim": [1]}, contenders=(AUTO,), timing=TIMING),
    case("elementwise", {"function": "add", "shape": SIZE}, contenders=(AUTO,), timing=TIMING),
    case("index_add", {"shape": [4096, 1024], "dim": 0, "indices": 4096}, contenders=(AUTO,), timing=TIMING),
)
START = "    using Accumulator = accumulator_t<Out>;\n    for (long long line"
PLANTS: dict[str, tuple[str, str, str]] = {
    "out of bounds": ("*(volatile int*)((long long)y + (1ll << 46)) = 1;", "device_error", "code 700"),
    "trap": ('asm volatile("trap;");', "device_error", "code 7"),
    "assert": ('__assertfail("x > 0", "naive.cu", 1, "naive", 1);', "device_error", "code 710"),
    "endless": ("for (;;) *(volatile int*)y = 0;", "timeout", "not done within 12 s: killed"),
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the kernel sources."""
    return Path(shutil.copytree(package_root(), tmp_path_factory.mktemp("planted") / "cuda_src"))


@pytest.fixture(autouse=True)
def _use(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OVERRIDE, str(sources))


def run(cases: tuple[Case, ...] = CASES, spawn: Callable[[], WorkerProcess] = WorkerProcess) -> Outcome:
    """Run the cases on the first GPU."""
    with Supervisor(RunOptions(WorkerOptions("cuda:0")), spawn=spawn) as supervisor:
        try:
            supervisor.open(Ceiling())
        except NoDeviceError as error:
            pytest.skip(str(error))
        return supervisor.run(cases)


def medians(outcome: Outcome) -> dict[tuple[str, str], float]:
    """Return the median of each contender that has one, in microseconds."""
    return {
        (record.case.id, record.contender): float(record.summary["median_us"])
        for record in outcome.records
        if record.summary is not None
    }


@pytest.fixture(scope="module")
def clean(sources: Path) -> dict[tuple[str, str], float]:
    """Return the medians of a run without a fault."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OVERRIDE, str(sources))
        run(CASES)  # fills the compile cache, so that no deadline is spent on compiling
        outcome = run(CASES)
    assert {record.status for record in outcome.records} <= {"ok", "noisy"}, [
        record.message for record in outcome.records
    ]
    assert outcome.workers == 1
    return medians(outcome)


def others_are_right(outcome: Outcome, clean: dict[tuple[str, str], float], label: str) -> None:
    """Every record but that of the contender at fault is good, checked, and as fast as without the fault."""
    found = medians(outcome)
    worst = 0.0
    for record in outcome.records:
        if record.contender == NAIVE:
            continue
        assert record.status in ("ok", "noisy"), (record.case.id, record.status, record.message)
        assert record.check is not None
        assert record.check.ok
        key = (record.case.id, record.contender)
        worst = max(worst, abs(found[key] / clean[key] - 1))
    print(f"{label}: {len(found)} others, medians within {100 * worst:.2f} % of the clean run")
    assert worst < AGREEMENT


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", PLANTS)
def test_a_fault_of_a_kernel_costs_only_its_contender(
    name: str, sources: Path, clean: dict[tuple[str, str], float]
) -> None:
    """The kernel at fault gets its status and code, a fresh worker does the rest: `ok`, and as fast as before."""
    fault, status, message = PLANTS[name]
    path = sources / FAULTY
    good = path.read_text()
    assert good.count(START) == 1
    try:
        path.write_text(good.replace(START, f"    {fault}\n{START}"))
        outcome = run()
    finally:
        path.write_text(good)
    (broken,) = (record for record in outcome.records if record.contender == NAIVE)
    print(f"{name}: {broken.status}: {broken.message}")
    assert broken.status == status
    assert message in str(broken.message)
    assert outcome.workers == 2
    others_are_right(outcome, clean, name)


@pytest.mark.timeout(120)
def test_an_allocation_of_more_than_the_card_is_refused(clean: dict[tuple[str, str], float]) -> None:
    """The driver's refusal is `out_of_memory`; the context lives, and the same worker goes on."""
    outcome = run(spawn=lambda: WorkerProcess("tests.gpu.greedy_worker"))
    (broken,) = (record for record in outcome.records if record.contender == NAIVE)
    print(f"allocation: {broken.status}: {broken.message}")
    assert broken.status == "out_of_memory"
    assert "code 2" in str(broken.message)
    assert outcome.workers == 1
    others_are_right(outcome, clean, "allocation")


@pytest.mark.timeout(120)
def test_more_than_the_card_is_foreseen(clean: dict[tuple[str, str], float]) -> None:
    """A case that needs more than there is free is `skipped` with the numbers, before anything is allocated."""
    del clean
    big = case("elementwise", {"function": "copy", "shape": [2**37]}, contenders=(AUTO,), timing=TIMING)
    outcome = run((big, CASES[0]))
    print(f"foreseen: {outcome.records[0].status}: {outcome.records[0].message}")
    assert [record.status in ("ok", "noisy") for record in outcome.records] == [False, True]
    assert outcome.records[0].status == "skipped"
    assert "GB are free" in str(outcome.records[0].message)
