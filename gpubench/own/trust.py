"""Which suites may run what they bring: by a flag for one command, or for good by the hashes of all their files.

Reading a suite runs nothing. Device code (.cu, .ptx, .cubin) needs `--allow-kernels`; code that runs with the user's
rights (Python, shared libraries, and every kernel on the host device) needs `--allow-code`. `gpubench trust SUITE`
writes the hashes of the suite and of its files down; a byte that changes takes the trust away.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from gpubench.errors import UsageError
from gpubench.files import read_bounded, replace
from gpubench.own.definitions import DEVICE_CODE, Brought, Kernel, OwnOperator
from gpubench.own.folder import Files

Permission = Literal["nothing", "kernels", "code"]
FLAGS: dict[Permission, str] = {"nothing": "", "kernels": "--allow-kernels", "code": "--allow-code"}
ORDER: tuple[Permission, ...] = ("nothing", "kernels", "code")

FOLDER = "GPUBENCH_CONFIG_DIR"
"""Environment variable: the folder of the list of trusted suites, in place of the user's configuration folder."""

MAX_BYTES = 4 << 20


def at_least(one: Permission, other: Permission) -> bool:
    """Tell whether a permission includes another."""
    return ORDER.index(one) >= ORDER.index(other)


def needed_for(kernel: Kernel | OwnOperator, on_host: bool = False) -> Permission:
    """Return what running a kernel, or an operator's reference, asks for."""
    if isinstance(kernel, Kernel) and kernel.form in DEVICE_CODE and not on_host:
        return "kernels"
    return "code"


def needed(brought: Brought, contenders: Iterable[str], operators: Iterable[str], on_host: bool = False) -> Permission:
    """Return what running these contenders on cases of these operators asks for."""
    names, cases = {*contenders}, {*operators}
    asked = [needed_for(kernel, on_host) for kernel in brought.kernels if kernel.contender in names]
    asked += [needed_for(operator) for operator in brought.operators if operator.name in cases]
    return max(asked, key=ORDER.index, default="nothing")


def fingerprint(suite_sha256: str, files: Files) -> str:
    """Return the hash of a suite and of all that it brings."""
    parts = [suite_sha256, *(f"{name}\0{digest}" for name, digest in files.hashes.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def place() -> Path:
    """Return the file with the list of trusted suites. UsageError where the user has no folder for it."""
    named = os.environ.get(FOLDER)
    if named:
        return Path(named) / "trust.json"
    try:
        import platformdirs

        return Path(platformdirs.user_config_dir("gpubench", appauthor=False)) / "trust.json"
    except (OSError, RuntimeError, KeyError) as error:
        raise UsageError(f"There is no folder for the list of trusted suites ({error}); set {FOLDER}.") from error


def listed() -> dict[str, str]:
    """Return the list: fingerprints by the suite's full path. An unreadable list trusts nobody."""
    try:
        data = read_bounded(place(), MAX_BYTES)
        found = json.loads(data) if len(data) <= MAX_BYTES else {}
    except (OSError, ValueError, RecursionError, UsageError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {path: mark for path, mark in found.items() if isinstance(mark, str)}


def is_listed(suite: Path) -> bool:
    """Tell whether a suite was trusted once; whether it still is, its fingerprint tells."""
    return str(suite.resolve()) in listed()


def is_trusted(suite: Path, mark: str) -> bool:
    """Tell whether a suite with this fingerprint is trusted."""
    return listed().get(str(suite.resolve())) == mark


def trust(suite: Path, mark: str | None) -> None:
    """Write a suite's fingerprint down, or take it off the list (None). UsageError when the list cannot be written."""
    path = place()
    found = listed()
    name = str(suite.resolve())
    if mark is None:
        found.pop(name, None)
    else:
        found[name] = mark
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace(path, json.dumps(found, indent=1, sort_keys=True).encode() + b"\n", mode=0o600)
    except OSError as error:
        raise UsageError(f"The list of trusted suites, {path}, cannot be written: {error.strerror}.") from error
