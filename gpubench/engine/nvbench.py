"""NVBench on our kernels, in a process of its own because it prints and keeps state: `python -m gpubench.engine.nvbench
DEVICE FILE POWER...` writes its figures to FILE.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpubench.children import Limits
from gpubench.children import run as run_child
from gpubench.engine.agreement import OPERATIONS, interval_of_mean, works
from gpubench.errors import DeviceError, MissingExtraError

TIMEOUT_S = 600.0


def run(device: str, powers: Sequence[int]) -> Mapping[str, Mapping[str, float]]:
    """Return NVBench's figures by the names of the works. MissingExtraError without cuda-bench."""
    from importlib.util import find_spec

    if find_spec("cuda") is None or find_spec("cuda.bench") is None:
        raise MissingExtraError("cuda-bench", "nvbench")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "nvbench.json")
        command = [sys.executable, "-m", "gpubench.engine.nvbench", device, str(file), *map(str, powers)]
        done = run_child(command, Limits(seconds=TIMEOUT_S))
        if done.broken:
            raise DeviceError(f"NVBench did not end within {TIMEOUT_S:g} s.")
        if done.code or not file.exists():
            raise DeviceError(f"NVBench failed: {done.output.strip()[-400:]}")
        return figures(json.loads(file.read_text(encoding="utf-8")))


def figures(document: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return (median, mean, samples, wall time, noise and interval) of each state of NVBench's document."""
    found = {}
    for state in document["benchmarks"][0]["states"]:
        axes = {axis["name"]: axis["value"] for axis in state["axis_values"]}
        values = {summary["tag"]: summary["data"][0]["value"] for summary in state["summaries"] if summary.get("data")}
        mean, deviation = (float(values[f"nv/cold/time/gpu/{key}"]) for key in ("mean", "stdev/absolute"))
        count = float(values["nv/cold/sample_size"])
        found[f"{axes['operation']}/2^{axes['power']}"] = {
            "median_us": float(values.get("nv/cold/time/gpu/median", mean)) * 1e6,
            "mean_us": mean * 1e6,
            "samples": count,
            "wall_s": float(values["nv/cold/walltime"]),
            "noise": deviation / mean,
            "interval": interval_of_mean(mean, deviation, count),
        }
    return found


def main(arguments: Sequence[str]) -> int:
    """Let NVBench time the works and write its document."""
    from cuda import bench

    from gpubench.devices.cuda import open_device

    number, file, *powers = arguments
    device = open_device(number.rpartition(":")[2])
    made = {work.name: work for work in works(device, [int(power) for power in powers])}

    def time_one(state: Any) -> None:
        work = made[f"{state.get_string('operation')}/2^{state.get_int64('power')}"]
        executable = device.bind(work.plan, work.addresses, work.workspace, state.get_stream().addressof())
        state.exec(lambda _: executable.run(), batched=False)

    benchmark = bench.register(time_one)
    benchmark.set_name("agreement")
    benchmark.add_string_axis("operation", list(OPERATIONS))
    benchmark.add_int64_axis("power", [int(power) for power in powers])
    bench.run_all_benchmarks(["gpubench", "--json", file, "--devices", str(device.index)])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
