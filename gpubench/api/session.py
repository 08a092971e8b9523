"""A device that stays open for many cases measured one by one, and the result that they make together."""

from __future__ import annotations

from datetime import UTC, datetime

import gpubench
from gpubench.api.result import Result
from gpubench.api.runs import SAID
from gpubench.engine.identity import measuring_sha256
from gpubench.engine.inside import InProcess
from gpubench.engine.noise import with_intervals
from gpubench.measure.protocol import PROTOCOL
from gpubench.model import Case, Harness, Record, ResultSet


class Session:
    """Opens a device in this process. A case that is measured again takes the place of what it gave before."""

    def __init__(self, device: str = "auto") -> None:
        """Open the device and measure its ceiling. NoDeviceError when there is no such device."""
        self._measurer = InProcess(device)
        self._created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._environment, self._ceiling = self._measurer.open()
        self._records: dict[tuple[str, str], Record] = {}

    @property
    def records(self) -> tuple[Record, ...]:
        """What was measured so far."""
        return tuple(self._records.values())

    def measure(self, case: Case) -> Record:
        """Measure a case of one contender."""
        (record,) = self._measurer.measure(case)
        self._records[case.id, record.contender] = record
        return record

    def result(self) -> Result:
        """Return everything measured as a result like that of a run."""
        records = with_intervals(self.records)
        return Result(
            ResultSet(
                gpubench=gpubench.__version__,
                created=self._created,
                command=SAID,
                suite={"name": "pytest", "sha256": ""},
                environment=self._environment,
                ceiling=self._ceiling,
                records=records,
                harness=Harness(PROTOCOL, measuring_sha256()),
            )
        )

    def close(self) -> None:
        """Give the device back."""
        self._measurer.__exit__()
