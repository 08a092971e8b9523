"""What a run is about, as hashes: so that a resumed run can tell whether it would continue the same thing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import gpubench
from gpubench.errors import UsageError
from gpubench.kernels.sources import default_tree
from gpubench.model import Case, Json
from gpubench.results.format import case_to_json


def kernels_sha256() -> str:
    """Return the hash of all kernel sources: names and contents. UsageError when they are missing or unreadable."""
    root = default_tree().root
    digest = hashlib.sha256()
    try:
        for path in sorted(path for path in root.rglob("*") if path.is_file() and path.suffix != ".md"):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    except OSError as error:
        raise UsageError(f"The kernel sources in {root} cannot be read: {error.strerror or error}.") from error
    return digest.hexdigest()


MEASURING = (
    "devices",
    "measure",
    "peers",
    "engine/buffers.py",
    "engine/changes.py",
    "engine/guards.py",
    "engine/host_time.py",
    "engine/strict.py",
    "engine/timed.py",
)
"""What decides how times are taken, under the package; the harness's own kernels too."""


def measuring_sha256() -> str:
    """Return the hash of the code that takes the times. UsageError when it cannot be read."""
    package = Path(gpubench.__file__).parent
    digest = hashlib.sha256()
    roots = [*((package, package / name) for name in MEASURING), (default_tree().root, default_tree().root / "harness")]
    try:
        for base, root in roots:
            for path in sorted(root.rglob("*") if root.is_dir() else [root]):
                if path.suffix in (".py", ".cu", ".cuh") and path.is_file():
                    digest.update(path.relative_to(base).as_posix().encode() + b"\0")
                    digest.update(hashlib.sha256(path.read_bytes()).digest())
    except OSError as error:
        raise UsageError(f"The code of gpubench cannot be read: {error.strerror or error}.") from error
    return digest.hexdigest()


def plan_sha256(cases: Sequence[Case], seed: int, more: Json = None) -> str:
    """Return the hash of the cases in order, with contenders and timing options, of the seed of the rounds' order, and
    of what else tells the run from another.
    """
    plan = [seed, [case_to_json(case) for case in cases], *([] if more is None else [more])]
    return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()


def device_key(environment: dict[str, Json]) -> str:
    """Return what tells one device from another: its uuid, or kind and name where it has none."""
    device = environment.get("device")
    if not isinstance(device, dict):
        return "unknown"
    return str(device.get("uuid") or f"{device.get('kind')} {device.get('name')}")
