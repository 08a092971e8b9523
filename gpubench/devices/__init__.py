"""The devices that a suite can run on: one row each, imported only when asked for."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gpubench.errors import GpubenchError, MissingExtraError, NoDeviceError, UsageError

if TYPE_CHECKING:
    from gpubench.devices.base import Device
    from gpubench.model import DeviceInfo


class Kind(NamedTuple):
    """Where a kind of device lives. `open_device(argument: str) -> Device` opens one, given what follows the colon of
    its spec (empty without one); `list_devices() -> Sequence[Listed]` tells which there are, without opening any.
    """

    module: str
    summary: str
    automatic: bool
    """Whether `auto` may choose it."""


KINDS: dict[str, Kind] = {
    "cuda": Kind("gpubench.devices.cuda", "a CUDA GPU: cuda, cuda:0, cuda:1 ...", True),
    "host": Kind("gpubench.devices.host", "this machine's processor, simulating the kernels", True),
    "fake": Kind("gpubench.devices.fake", "a scripted device for tests: fake:SCRIPT.json", False),
}
"""In the order in which `auto` tries them."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A device that exists. `spec` opens it; `problem` says why it cannot be used as it is, None when it can."""

    spec: str
    info: DeviceInfo
    problem: str | None = None


def _module(kind: str) -> Any:
    """Import a kind's module, None when this installation does not have it."""
    if importlib.util.find_spec(KINDS[kind].module) is None:
        return None
    return importlib.import_module(KINDS[kind].module)


def open_device(spec: str = "auto") -> Device:
    """Open the device that `spec` names: `auto` (the first GPU, else the host), `cuda:N`, `host` or `fake:SCRIPT`.

    UsageError for a spec that names no kind; NoDeviceError (or MissingExtraError, which names the extra to install)
    when there is no such device.
    """
    if spec == "auto":
        return _open_first()
    kind, _, argument = spec.partition(":")
    if kind not in KINDS:
        known = ", ".join(["auto", *(name for name, row in KINDS.items() if row.automatic)])
        hint = " A GPU is cuda, or cuda:0, cuda:1 ..." if kind.lower() in ("gpu", "nvidia") else ""
        raise UsageError(
            f"There is no device {spec!r}.{hint} Known are: {known}. `gpubench devices` lists those found here."
        )
    module = _module(kind)
    if module is None:
        raise NoDeviceError(f"This version of gpubench has no {kind} device.")
    device: Device = module.open_device(argument)
    return device


def _open_first() -> Device:
    reasons: list[str] = []
    for kind, row in KINDS.items():
        module = _module(kind) if row.automatic else None
        if module is None:
            continue
        try:
            device: Device = module.open_device("")
        except (NoDeviceError, MissingExtraError) as error:
            reasons.append(f"{kind}: {error}")
        else:
            return device
    raise NoDeviceError("No device to run on was found.\n" + "\n".join(reasons))


def list_devices() -> tuple[list[Listed], list[str]]:
    """Return the devices found, and for each kind that has none the reason (`cuda: ...`). Opens no device."""
    found: list[Listed] = []
    reasons: list[str] = []
    for kind, row in KINDS.items():
        module = _module(kind) if row.automatic else None
        if module is None:
            continue
        try:
            found.extend(module.list_devices())
        except GpubenchError as error:
            reasons.append(f"{kind}: {error}")
    return found, reasons
