"""Made-up results for the tests of views and commands: no device was involved."""

from __future__ import annotations

from typing import Any

from gpubench.model import Case, Ceiling, Check, Json, Record, ResultSet, Sample, Status, Timing

CASE = "cumsum/4096x4096/dim=1/float32"


def record(
    case: str = CASE,
    contender: str = "gpubench:auto",
    status: Status = "ok",
    median_us: float | None = 40.0,
    **changes: Any,
) -> Record:
    """Return a record with one round of samples around the median; without a median it has no timing."""
    timing, summary = None, None
    if median_us is not None:
        samples = [median_us * factor for factor in (0.999, 1.0, 1.002)]
        timing = Timing((tuple(Sample(us, 1980.0) for us in samples),))
        summary = _summary(median_us, 134_217_728)
    fields: dict[str, Any] = {
        "case": Case(case, case.split("/", 1)[0], "float32", {"shape": [4096, 4096], "dim": 1}),
        "contender": contender,
        "status": status,
        "message": None,
        "bytes": 134_217_728,
        "timing": timing,
        "summary": summary,
        "check": Check(status != "wrong", 1e-6, 8.5 if status == "wrong" else 0.12) if median_us else None,
        "kernel": {"variant": "naive", "launches": [], "registers": 32},
    }
    return Record(**{**fields, **changes})


def _summary(median_us: float, moved: int) -> dict[str, Json]:
    rate = moved / median_us / 1e3
    return {
        "median_us": median_us,
        "ci95_us": [median_us * 0.999, median_us * 1.002],
        "min_us": median_us * 0.999,
        "p95_us": median_us * 1.002,
        "n": 3,
        "GBps": rate,
        "fraction_of_ceiling": rate / 4253.0,
    }


def result(*records: Record, **changes: Any) -> ResultSet:
    """Return a result set of these records on an H200."""
    fields: dict[str, Any] = {
        "gpubench": "0.1.0",
        "created": "2026-01-02T03:04:05Z",
        "command": ("gpubench", "run", "suites/smoke.yaml"),
        "suite": {"name": "smoke", "sha256": "0" * 64},
        "environment": {"device": {"kind": "cuda", "name": "NVIDIA H200", "driver": "580.159.04"}},
        "ceiling": Ceiling(4253.0, 4384.0, 4680.0, 2.3, 1.3),
        "records": records,
    }
    return ResultSet(**{**fields, **changes})


def mixed() -> ResultSet:
    """Return a result with a bit of everything: fast, slow, launch-bound, wrong, unsupported, noisy."""
    small = "sum/2x3x4x5/dim=1/float32"
    return result(
        record(median_us=48.9),
        record(contender="gpubench:decoupled_lookback", median_us=36.2),
        record(contender="numpy", median_us=41_300.0, kernel=None),
        record(small, median_us=3.4),
        record(small, "numpy", median_us=8.1, kernel=None),
        record("index_add/1000000x128/dim=0/n=1048576/zipf/float16", status="wrong", message="one element is off"),
        record("index_add/1000000x128/dim=0/n=1048576/zipf/float16", "numpy", median_us=2.5e6, kernel=None),
        record(
            "cumsum/64x64/dim=0/complex64",
            "gpubench:tiled",
            "unsupported",
            None,
            message="tiled takes real dtypes only",
            bytes=None,
        ),
        record("elementwise/add/16384x8192+8192/float32", status="noisy", median_us=256.0),
    )
