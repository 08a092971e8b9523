"""Has a contender replaced what takes the times? Its code shares this process, and Python lets it."""

from __future__ import annotations

import sys
import time
from typing import Any

WATCHED: tuple[tuple[str, str], ...] = (
    *(("time", name) for name in ("perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "time", "sleep")),
    *(
        ("cupy_backends.cuda.api.runtime", name)
        for name in ("eventRecord", "eventElapsedTime", "eventCreate", "streamSynchronize", "deviceSynchronize")
    ),
    ("cupy_backends.cuda.api.driver", "launchKernel"),
    ("gpubench.devices.cuda_clock", "EventPairs.microseconds"),
    ("gpubench.devices.cuda_clock", "EventPairs.begin"),
    ("gpubench.devices.cuda_clock", "EventPairs.end"),
    ("gpubench.devices.cuda_timing", "Sampler.sample"),
    ("gpubench.devices.cuda_timing", "Sampler._several"),
    ("gpubench.devices.cuda_timing", "Sampler._one"),
    ("gpubench.devices.cuda", "CudaDevice.sample"),
    ("gpubench.devices.host", "HostDevice.sample"),
    ("gpubench.devices.fake", "FakeDevice.sample"),
    ("gpubench.engine.pipeline", "check"),
    ("gpubench.measure.check", "check"),
    ("gpubench.model", "Sample.__init__"),
)
"""What the times and the answers' verdicts rest on, by module and name within it."""


class Clocks:
    """Remembers what takes the times, before any contender is loaded."""

    def __init__(self) -> None:
        self._seen = {place: _found(*place) for place in WATCHED}

    def replaced(self) -> str | None:
        """Return what is another thing than it was; None when all is as it was. What was loaded since is new."""
        names = [
            f"{module}.{name}"
            for (module, name), before in self._seen.items()
            if before is not None and _found(module, name) is not before
        ]
        return f"the contender replaced {', '.join(names)}" if names else None


def _found(module: str, path: str) -> Any:
    found: Any = time if module == "time" else sys.modules.get(module)
    for name in path.split("."):
        found = None if found is None else vars(found).get(name)
    return found
