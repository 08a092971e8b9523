"""The fixture `gpu_benchmark` of pytest: measures a case, fails the test for a wrong answer, and keeps the records.

    def test_my_scan(gpu_benchmark):
        record = gpu_benchmark("cumsum", shape=[4096, 4096], contender=my_scan, limits={"of_ceiling": ">= 0.8"})

`--gpubench-device` names the device, `--gpubench-output FILE` the result file that all records of the session go to:
one like those of `gpubench run`, for `gpubench show` and `gpubench compare`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gpubench.model import Record

GpuBenchmark = Callable[..., "Record"]
_SESSION = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("gpubench")
    group.addoption(
        "--gpubench-device", default="auto", metavar="DEVICE", help="Where gpu_benchmark measures: cuda:0 ..."
    )
    group.addoption("--gpubench-output", metavar="FILE", help="Where the records of all gpu_benchmark tests go.")


@pytest.fixture
def gpu_benchmark(request: pytest.FixtureRequest) -> GpuBenchmark:
    """Return a function of (operator, contender, and what `gpubench.case` takes) that measures and gives the record.

    The test is skipped where the contender does not take the case or there is no device, and fails for a wrong answer,
    a failure, or a limit that is missed.
    """
    from gpubench.api.contenders import name_of
    from gpubench.api.runs import case
    from gpubench.api.session import Session
    from gpubench.errors import NoDeviceError
    from gpubench.model import TimingOptions
    from gpubench.names import AUTO

    config = request.config

    def measure(operator: str, *, contender: Any = AUTO, timing: dict[str, Any] | None = None, **given: Any) -> Record:
        if _SESSION not in config.stash:
            try:
                config.stash[_SESSION] = Session(config.getoption("--gpubench-device"))
            except NoDeviceError as error:
                pytest.skip(str(error))
        options = replace(TimingOptions(), **(timing or {}))
        one = case(operator, contenders=(name_of(contender),), timing=options, **given)
        return _judged(config.stash[_SESSION].measure(one))

    return measure


def _judged(record: Record) -> Record:
    """Return a record whose answer is right and whose limits are kept; skip or fail the test for others."""
    from gpubench.limits import missed
    from gpubench.names import MEASURED, NOT_MEANT

    if record.status in NOT_MEANT:
        pytest.skip(f"{record.case.id} {record.contender}: {record.message}")
    if record.status not in MEASURED:
        pytest.fail(f"{record.case.id} {record.contender} is {record.status}: {record.message}", pytrace=False)
    faults = missed([record])
    if faults:
        pytest.fail("\n".join(map(str, faults)), pytrace=False)
    return record


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the records and give the device back."""
    held = session.config.stash.get(_SESSION, None)
    if held is None:
        return
    held.close()
    place = session.config.getoption("--gpubench-output")
    if place:
        held.result().save(place)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Show the table of all records."""
    held = config.stash.get(_SESSION, None)
    if held is not None and held.records:
        terminalreporter.section("gpubench")
        terminalreporter.write(held.result().table())
