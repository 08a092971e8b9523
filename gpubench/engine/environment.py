"""The environment block of a result: the device, the versions of what made the code, and the machine."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from gpubench.libraries import CUPY, NVRTC, PACKAGES
from gpubench.model import DeviceInfo, Json
from gpubench.operators.architectures import device_of
from gpubench.results.format import plain


def environment(info: DeviceInfo, tuning: dict[str, Json] | None = None) -> dict[str, Json]:
    """Return the environment as the result format writes it. What is not known is null.

    tuning: what the device's tuning says of itself; left out where no constants are tuned.
    """
    properties = info.properties
    major, minor = info.compute_capability
    device = {
        "kind": info.kind,
        "name": info.name,
        "uuid": None,
        "compute_capability": f"{major}.{minor}",
        "sm_count": info.sm_count,
        "l2_bytes": info.l2_bytes,
        "memory_bytes": info.memory_bytes,
        "theoretical_GBps": info.theoretical_GBps,
        "driver": None,
        "power_limit_w": None,
        "ecc": None,
        "mig": None,
        "simulated": info.simulated,
        **properties,
    }
    block: dict[str, Json] = {
        "device": plain(device),
        "cuda": plain(properties.get("cuda_runtime")),
        "nvrtc": plain(properties.get("nvrtc")) or _version(*NVRTC),
        "cupy": _version(*CUPY),
        "numpy": _version("numpy"),
        "libraries": library_versions(),
        "python": platform.python_version(),
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": cpu_name(),
    }
    return block if tuning is None else {**block, "tuning": tuning}


def device_from(environment: Mapping[str, Json]) -> DeviceInfo:
    """Return a device's figures from the environment block, for plans that are made without the device.

    What the block does not have is as on every device of the architecture.
    """
    device = environment["device"]
    capability = str(device.get("compute_capability", "9.0"))
    known = device_of(f"sm_{capability.replace('.', '')}") or device_of("sm_90")
    assert known is not None
    major, _, minor = capability.partition(".")
    return replace(
        known,
        kind=device["kind"],
        name=str(device.get("name")),
        compute_capability=(int(major), int(minor or 0)),
        sm_count=int(device.get("sm_count") or 1),
        l2_bytes=int(device.get("l2_bytes") or 1),
        memory_bytes=int(device.get("memory_bytes") or 1 << 30),
        simulated=bool(device.get("simulated")),
    )


def library_versions() -> dict[str, Json]:
    """Return the versions, by package, that decide the times of each library that could be timed here."""
    found: dict[str, Json] = {}
    for contender, groups in PACKAGES.items():
        versions = [_installed(*group) for group in groups]
        if versions[0] is not None:
            found[contender] = dict(version for version in versions if version is not None)
    return found


def _version(*packages: str) -> str | None:
    found = _installed(*packages)
    return None if found is None else found[1]


def _installed(*packages: str) -> tuple[str, str] | None:
    """Return name and version of the first package that is installed."""
    for package in packages:
        try:
            return package, metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return None


def cpu_name() -> str | None:
    """Return the processor's name as the system gives it, None where it does not."""
    if sys.platform == "linux":
        try:
            lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        for line in lines:
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or None
