"""Suites with files of their own, run in this process on the host device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from gpubench.devices.base import Device
from gpubench.devices.host import HostDevice
from gpubench.devices.host_options import Options, parse_schedule
from gpubench.engine.pipeline import Pipeline
from gpubench.model import Case, Ceiling, Record
from gpubench.operators import _BROUGHT
from gpubench.own import registry
from gpubench.own.folder import read_files
from gpubench.own.registry import Staged, register
from gpubench.own.trust import Permission
from gpubench.suite.expand import Suite, load_suite

ONE_CASE = "  - {operator: cumsum, shape: [[3, 100]], contenders: ['own:*']}\n"


def written(
    folder: Path, kernels: str, files: Mapping[str, str | bytes], cases: str = ONE_CASE, more: str = ""
) -> Suite:
    """Write a suite with these lines under `kernels` and its files, and read it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    listed = f"kernels:\n{kernels}" if kernels else ""
    (folder / "mine.yaml").write_text(f"name: mine\n{listed}{more}cases:\n{cases}")
    return load_suite(folder / "mine.yaml")


@contextmanager
def registered(suite: Suite, permission: Permission = "code") -> Iterator[None]:
    """Let this process run what a suite brings, for as long as the context lasts."""
    [origin] = suite.brings
    files = read_files(Path(origin.path).parent, origin.brought.names)
    before = dict(_BROUGHT)
    with files.staged() as folder:
        register([Staged(str(folder), origin.brought, permission)])
        try:
            yield
        finally:
            registry._STAGED.clear()
            _BROUGHT.clear()
            _BROUGHT.update(before)


def on_host(suite: Suite, schedule: str = "forward", permission: Permission = "code") -> list[Record]:
    """Check every case of a suite on the host device, each access watched, and return the records."""
    return on_device(HostDevice(Options(parse_schedule(schedule), "checked")), suite, permission)


def on_device(device: Device, suite: Suite, permission: Permission = "code") -> list[Record]:
    """Run every case of a suite once on a device, and return the records."""
    found: list[Record] = []
    with registered(suite, permission):
        for case in suite.cases:
            Pipeline(device).run(_once(case), case.contenders, Ceiling(), 0, _nothing, found.append)
    return found


def _once(case: Case) -> Case:
    return replace(case, timing=replace(case.timing, rounds=1, min_samples=1, max_samples=1, max_noise=1e9))


def _nothing(contender: str, stage: str) -> None:
    """Hear of the work and do nothing."""
