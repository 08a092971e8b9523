"""Which GPUs this process sees: the one it measures, and no other.

Libraries that take every GPU they see leave another one current: JAX makes a context on each, and what is launched next
meets a stream of another context. They also hold memory of GPUs that somebody else measures.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping

from gpubench.devices import nvml
from gpubench.errors import NoDeviceError

VISIBLE = "CUDA_VISIBLE_DEVICES"


def show_only(spec: str, environment: MutableMapping[str, str] = os.environ) -> str:
    """Hide all GPUs but the one that a device's spec names, and return the spec that it has from then on.

    To be called before this process calls CUDA. A spec that names no GPU by its number comes back as it is, to be told
    by whoever opens it. NoDeviceError when there are not so many GPUs.
    """
    kind, _, number = spec.partition(":")
    if kind not in ("auto", "cuda") or (number and not number.isdecimal()) or len(number) > 9:
        return spec
    index, shown = int(number or 0), environment.get(VISIBLE)
    if shown is None:
        names = [str(place) for place in range(max(len(nvml.bus_ids()), 0 if index else 1))]
    else:
        names = [name.strip() for name in shown.split(",") if name.strip()]
    if not names:
        return spec
    if index >= len(names):
        raise NoDeviceError(f"There is no cuda:{index}: CUDA shows {len(names)} device{'s' * (len(names) != 1)}.")
    environment[VISIBLE] = names[index]
    return kind
