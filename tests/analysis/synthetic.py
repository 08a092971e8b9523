"""Result sets made of random numbers, for the tests of the analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.model import (
    Case,
    Ceiling,
    CeilingPoint,
    CeilingRound,
    Json,
    Record,
    ResultSet,
    Sample,
    Status,
    Timing,
    TimingOptions,
)

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

DEVICE = {"kind": "cuda", "name": "NVIDIA H200", "driver": "570.1", "power_limit_w": 700.0, "ecc": True}


def times(seed: int, cases: int = 1, rounds: int = 3, n: int = 20, drift: float = 0.003, noise: float = 0.002) -> Array:
    """Return times (cases, rounds, n) around 100 us: drift between rounds, heavy tails and upward spikes within."""
    random = np.random.default_rng(seed)
    shape = (cases, rounds, n)
    spikes = (random.random(shape) < 0.02) * random.exponential(0.2, size=shape)
    between = drift * random.normal(size=(cases, rounds, 1))
    return np.asarray(100.0 * np.exp(between + noise * random.standard_t(3, size=shape) + spikes))


def record(
    case: str = "cumsum/4096/dim=0/float32",
    rounds: Sequence[Sequence[float] | Array] | Array = (),
    *,
    contender: str = "gpubench:auto",
    status: Status = "ok",
    message: str | None = None,
    bytes_moved: int = 32768,
    simulated: bool = False,
    kernel: Mapping[str, Json] | None = None,
    sm_mhz: float | None = None,
    timing: TimingOptions | None = None,
) -> Record:
    """Return a record with these samples."""
    operator, _, rest = case.partition("/")
    return Record(
        case=Case(case, operator, rest.rpartition("/")[2] or "float32", {}, timing=timing or TimingOptions()),
        contender=contender,
        status=status,
        message=message,
        bytes=bytes_moved,
        simulated=simulated,
        timing=Timing(tuple(tuple(Sample(float(us), sm_mhz) for us in samples) for samples in rounds)),
        kernel=kernel,
    )


def ceiling(factor: float = 1.0, added_us: float = 0.0, sizes: int = 16) -> Ceiling:
    """Return the ceilings of a machine whose times go by `factor` and are `added_us` longer, in four rounds."""

    def time(us: float) -> float:
        return us * factor + added_us

    sweep = tuple(
        CeilingPoint(
            2**number,
            time(4 + 2**number / 4.2e6),
            time(4 + 2**number / 4.4e6),
            time(4 + 2**number / 4.6e6),
            "copy<1>",
            "read<2>",
            "fill<1>",
        )
        for number in range(16, 16 + sizes)
    )
    again = tuple(CeilingRound(phase, time(3.4), time(1.3), sweep) for phase in ("start", "start", "end", "end"))
    return Ceiling(4250.0, 4380.0, 4680.0, time(3.4), time(1.3), time(2.4), sweep, again)


def result(
    *records: Record,
    device: Mapping[str, Json] | None = None,
    extra: Mapping[str, Json] | None = None,
    environment: Mapping[str, Json] | None = None,
    machine: Ceiling | None = None,
) -> ResultSet:
    """Return a result set of these records, on the machine of these ceilings."""
    return ResultSet(
        gpubench="0.1.0",
        created="2026-01-31T10:00:00Z",
        command=("gpubench", "run"),
        suite={"name": "smoke", "sha256": "0" * 64},
        environment={"device": {**DEVICE, **(device or {})}, "cuda": "13.0", **(environment or {})},
        ceiling=ceiling() if machine is None else machine,
        records=tuple(records),
        extra=extra or {},
    )


def many(seed: int, cases: int, shift: Mapping[int, float] | None = None, **options: Any) -> ResultSet:
    """Return a result of random cases; `shift` multiplies the times of some of them."""
    data = times(seed, cases, **options)
    for number, factor in (shift or {}).items():
        data[number] *= factor
    return result(*(record(f"cumsum/{number}/dim=0/float32", data[number]) for number in range(cases)))
