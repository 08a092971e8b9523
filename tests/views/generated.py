"""A generator of large made-up results for the tests of charts and reports: no device was involved.

A simple model stands behind the figures: an empty launch plus the bytes over a rate, with noise of a fixed seed.
"""

from __future__ import annotations

import math
import random
from typing import Any

from gpubench.model import Case, Ceiling, CeilingPoint, Check, Json, Record, ResultSet, Sample, Timing

COPY, LAUNCH_US = 4253.0, 2.3
RATES = {"gpubench:auto": 0.95, "gpubench:naive": 0.21, "gpubench:tiled": 0.78, "torch": 0.88, "cupy": 0.46}
ITEM = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1, "float64": 8, "complex64": 8}


def median(values: list[float]) -> float:
    """Return the median."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def timed_record(
    case: Case, contender: str, moved: int, us: float, seed: str, *, noise: float = 0.004, slow: bool = False
) -> Record:
    """Return a record with 3 rounds of 20 samples around `us`; `slow`: some samples fell to a low clock."""
    draw = random.Random(seed)
    host = contender == "numpy"
    rounds = []
    for _ in range(3):
        level = us * math.exp(draw.gauss(0, noise / 2))
        rounds.append(
            tuple(
                Sample(level * math.exp(abs(draw.gauss(0, noise))), None if host else draw.choice((1965.0, 1980.0)))
                for _ in range(20)
            )
        )
    gone = tuple((1, Sample(us * draw.uniform(1.6, 2.2), 1005.0)) for _ in range(3)) if slow else ()
    times = sorted(sample.us for samples in rounds for sample in samples)
    middle = median(times)
    rate = moved / middle / 1e3
    summary: dict[str, Json] = {
        "median_us": middle,
        "ci95_us": [times[22], times[37]],
        "min_us": times[0],
        "p95_us": times[56],
        "n": 60,
        "GBps": rate,
        "fraction_of_ceiling": rate / COPY,
    }
    return Record(
        case=case,
        contender=contender,
        status="ok",
        message=None,
        bytes=moved,
        timing=Timing(tuple(rounds), gone),
        summary=summary,
        check=Check(True, 1e-6, 0.12),
        kernel=None if host or not contender.startswith("gpubench") else kernel(contender),
        telemetry=None if host else {"power_w": 512.5, "temperature_c": 46, "memory_mhz": 3201, "throttle": []},
    )


def kernel(contender: str) -> dict[str, Json]:
    """Return a kernel block as the format has it."""
    variant = contender.removeprefix("gpubench:").replace("auto", "decoupled_lookback")
    launch = {
        "source": f"cumsum/{variant}.cu",
        "kernel": f"gpubench::cumsum::{variant}<float, float>",
        "grid": [4096, 1, 1],
        "block": [256, 1, 1],
        "dynamic_shared_bytes": 0,
        "registers": 40,
        "spill_bytes": 0,
        "shared_bytes": 4128,
        "occupancy": 0.75,
    }
    return {
        "variant": variant,
        "launches": [launch],
        "cubin_sha256": "ab" * 32,
        "registers": 40,
        "spill_bytes": 0,
        "shared_bytes": 4128,
        "occupancy": 0.75,
    }


def us_of(contender: str, moved: int, rank: int = 1) -> float:
    """Return the model's time."""
    if contender == "numpy":
        return 4.0 + moved / 3.5e3
    share = RATES.get(contender, 0.6) * (0.9 if rank > 1 else 1.0)
    return LAUNCH_US + 1.2 + moved / (share * COPY * 1e3)


def case_of(operator: str, shape: list[int], dtype: str, dim: int = 0) -> tuple[Case, int]:
    """Return a case and the bytes that it moves."""
    words = "x".join(map(str, shape))
    moved = 2 * math.prod(shape) * ITEM[dtype]
    return Case(f"{operator}/{words}/dim={dim}/{dtype}", operator, dtype, {"shape": shape, "dim": dim}), moved


def sweep(*contenders: str, dtypes: tuple[str, ...] = ("float32", "bfloat16"), speed: float = 1.0) -> ResultSet:
    """Return sweeps of cumsum over sizes and a few cases of cumsum and sum in two dims; `speed` scales all rates."""
    names = contenders or ("gpubench:auto", "gpubench:naive", "gpubench:tiled", "torch", "numpy")
    cases = [
        case_of("cumsum", [2**power], dtype) for dtype in dtypes for power in (10, 12, 14, 16, 18, 20, 22, 24, 26, 28)
    ]
    for operator in ("cumsum", "sum"):
        for shape in ([4096, 4096], [1048576, 128], [32, 4194304], [16384, 16384]):
            cases += [case_of(operator, shape, dtypes[0], dim) for dim in (0, 1)]
    records = [
        timed_record(
            case,
            name,
            moved,
            us_of(name, moved, len(case.params["shape"])) / speed,
            f"{case.id} {name} {speed}",
            slow=name == "gpubench:auto" and "4096x4096/dim=1" in case.id,
        )
        for case, moved in cases
        for name in names
    ]
    odd, _ = case_of("cumsum", [64, 64], "complex64")
    records.append(Record(odd, "gpubench:tiled", "unsupported", "tiled takes real dtypes only", None))
    return h200(tuple(records))


def many(cases: int = 1000) -> ResultSet:
    """Return `cases` cases of several operators, dtypes and sizes, each with three contenders."""
    records = []
    operators = ("cumsum", "sum", "elementwise", "index_add")
    dtypes = tuple(ITEM)
    for number in range(cases):
        shape = [2 ** (10 + number % 17), 1 + number // 17]
        case, moved = case_of(operators[number % 4], shape, dtypes[number % 6], number % 2)
        for name in ("gpubench:auto", "gpubench:naive", "numpy"):
            records.append(timed_record(case, name, moved, us_of(name, moved), f"{case.id} {name}"))
    return h200(tuple(records))


def copies() -> tuple[CeilingPoint, ...]:
    """Return the copies of the model over sizes, as a run measures them before its cases."""
    sizes = [2**power for power in range(12, 33, 2)]
    return tuple(CeilingPoint(n, *(LAUNCH_US + n / (rate * 1e3) for rate in (COPY, 4384.0, 4680.0))) for n in sizes)


def h200(records: tuple[Record, ...], **changes: Any) -> ResultSet:
    """Return a result set of these records with the figures of an H200."""
    fields: dict[str, Any] = {
        "gpubench": "0.1.0",
        "created": "2026-01-02T03:04:05Z",
        "command": ("gpubench", "run", "suites/cumsum.yaml"),
        "suite": {"name": "made-up", "sha256": "0" * 64},
        "environment": {
            "device": {
                "kind": "cuda",
                "name": "NVIDIA H200",
                "driver": "580.159.04",
                "l2_bytes": 62_914_560,
                "theoretical_GBps": 4800.0,
                "sm_count": 132,
            },
            "python": "3.11.7",
            "numpy": "2.3.0",
        },
        "ceiling": Ceiling(COPY, 4384.0, 4680.0, LAUNCH_US, 1.3, 1.6, copies()),
        "records": records,
    }
    return ResultSet(**{**fields, **changes})
