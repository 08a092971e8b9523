"""The script of a fake device: what it is, how long its work takes, and what goes wrong when. One JSON object:

    {"seed": 1,                          of the random part of the times
     "info": {"name": "Fake", "sm_count": 4, "memory_bytes": 1073741824, "simulated": true, ...},  see `Info`
     "compute": true,                    false: kernels write nothing at all
     "seconds_per_sample": 0.0,          real time that each sample takes
     "ceiling": {"copy_GBps": 1000.0, "launch_us": 2.0, "sweep": [...], ...},  see `Limits`
     "telemetry": {"sm_mhz": 1980, "throttle": []},
     "times": [{"kernel": "gpubench::cumsum::*", "us": 20.0, ...}],   see `Times`; the first match counts
     "faults": [{"at": "run", "kernel": "gpubench::sum::*", "do": "raise", "code": 700, ...}]}   see `Fault`

Every field may be left out. `kernel` is a glob on name expressions, `*` by default.
"""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpubench.errors import UsageError
from gpubench.files import read_bounded
from gpubench.model import Json

Place = Literal[
    "open", "allocate", "upload", "download", "compile", "bind", "run", "sample", "synchronize", "ceiling", "close"
]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Info(_Part):
    """What the device says of itself; the fields are those of `DeviceInfo`."""

    name: str = "Fake"
    compute_capability: tuple[int, int] = (9, 0)
    sm_count: int = 4
    l2_bytes: int = 2**20
    memory_bytes: int = 2**30
    max_shared_bytes: int = 232448
    theoretical_GBps: float | None = 1000.0
    simulated: bool = True
    properties: dict[str, Any] = Field(default_factory=dict)


class Times(_Part):
    """How long runs take whose first kernel matches (a run without kernels matches `*` only).

    Sample i takes us * (1 + drift * i) * exp(spread * g), g standard normal; every `outlier_every`-th sample takes
    `outlier_factor` times that. `sm_mhz` gives the clock of the samples, cycled through when it is a list.
    """

    kernel: str = "*"
    us: float = 10.0
    spread: float = 0.0
    drift: float = 0.0
    outlier_every: int = 0
    outlier_factor: float = 10.0
    sm_mhz: float | tuple[float | None, ...] | None = 1980.0


class Fault(_Part):
    """What goes wrong, and when.

    at: the call that it befalls. kernel: only calls that concern such a kernel (compile, bind, run, sample).
    larger_than: for allocate, only requests of more bytes than this. after: so many matching calls pass first. times:
    then so many fail, None all. once_file: a path beside the script; the fault happens only while that file does not
    exist, and makes it, so that it happens once over all processes.

    do: `raise` (the class named in `error`, with `code` and `message`), `hang` (for ever), `sleep` (for `seconds`, then
    go on), `exit` (the process ends at once with `exit_code`), `signal` (the process sends itself `signal`); and at
    `run` only: `garbage` (random bytes in the outputs), `wrong` (one output element off), `never_writes`, `stray` (64
    elements behind the output's last one are written).
    """

    at: Place
    kernel: str = "*"
    larger_than: int = -1
    after: int = 0
    times: int | None = None
    once_file: str | None = None
    do: Literal["raise", "hang", "sleep", "exit", "signal", "garbage", "wrong", "never_writes", "stray"] = "raise"
    error: Literal["FatalDeviceError", "DeviceError", "OutOfMemoryError", "CompileError", "UnsupportedError"] = (
        "FatalDeviceError"
    )
    code: int | None = None
    message: str = "scripted fault"
    seconds: float = 0.0
    exit_code: int = 1
    signal: int = 11


class Point(_Part):
    """One size of the ceiling's sweep."""

    bytes: int
    copy_us: float
    read_us: float
    write_us: float
    copy_by: str | None = "copy<1>"
    read_by: str | None = "read<1>"
    write_by: str | None = "fill<1>"


class Limits(_Part):
    """The ceiling; the fields are those of `gpubench.model.Ceiling`."""

    copy_GBps: float | None = 1000.0
    read_GBps: float | None = 1100.0
    write_GBps: float | None = 1050.0
    launch_us: float | None = 2.0
    event_overhead_us: float | None = 1.0
    launch_overhead_us: float | None = None
    sweep: tuple[Point, ...] = ()


class Script(_Part):
    """The whole script."""

    seed: int = 1
    info: Info = Info()
    compute: bool = True
    seconds_per_sample: float = 0.0
    ceiling: Limits = Limits()
    telemetry: dict[str, Any] = {
        "sm_mhz": 1980,
        "memory_mhz": 3201,
        "power_w": 350.0,
        "temperature_c": 45,
        "throttle": [],
    }
    times: tuple[Times, ...] = (Times(),)
    faults: tuple[Fault, ...] = ()

    def times_of(self, kernel: str | None) -> Times:
        """Return the first row that matches the kernel (None: no kernel ran), or the defaults."""
        return next((row for row in self.times if matches(row.kernel, kernel)), Times())


def matches(pattern: str, kernel: str | None) -> bool:
    """Tell whether the glob covers the kernel; with no kernel only `*` does."""
    return pattern == "*" or (kernel is not None and fnmatch.fnmatchcase(kernel, pattern))


def read_script(path: Path) -> Script:
    """Read a script. UsageError when the file is missing or holds something else."""
    try:
        return Script.model_validate_json(read_bounded(path, 1 << 24))
    except OSError as error:
        raise UsageError(f"The fake device's script {path} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise UsageError(f"The fake device's script {path} is not right: {error}") from error


def parse_script(document: Json) -> Script:
    """Read a script from plain JSON values."""
    try:
        return Script.model_validate(document)
    except ValidationError as error:
        raise UsageError(f"The fake device's script is not right: {error}") from error
