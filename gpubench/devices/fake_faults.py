"""Scripted faults: counts the calls and lets happen what the script wants."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from gpubench import errors
from gpubench.devices.fake_script import Fault, Place, matches


class Faults:
    """The faults of one device in one process."""

    def __init__(self, faults: Sequence[Fault], folder: Path) -> None:
        self._faults = faults
        self._folder = folder
        self._calls = [0] * len(faults)

    def meet(self, place: Place, kernels: Sequence[str] = (), size: int = 0) -> Fault | None:
        """Let the faults of this call happen. Returns the one that concerns the outputs of a run, None without one.

        A call that concerns several kernels is met by a fault that matches any of them.
        """
        for index, fault in enumerate(self._faults):
            if self._applies(index, fault, place, kernels, size):
                if fault.do in ("garbage", "wrong", "never_writes", "stray"):
                    return fault
                self._happen(fault)
        return None

    def _applies(self, index: int, fault: Fault, place: Place, kernels: Sequence[str], size: int) -> bool:
        concerned = any(matches(fault.kernel, kernel) for kernel in kernels or (None,))
        if fault.at != place or not concerned or size <= fault.larger_than:
            return False
        call = self._calls[index]
        self._calls[index] += 1
        if call < fault.after or (fault.times is not None and call >= fault.after + fault.times):
            return False
        return self._first_time(fault)

    def _first_time(self, fault: Fault) -> bool:
        if fault.once_file is None:
            return True
        try:
            (self._folder / fault.once_file).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _happen(self, fault: Fault) -> None:
        match fault.do:
            case "hang":
                while True:
                    time.sleep(3600)
            case "sleep":
                time.sleep(fault.seconds)
            case "exit":
                os._exit(fault.exit_code)
            case "signal":
                os.kill(os.getpid(), fault.signal)
            case _:
                kind = getattr(errors, fault.error)
                if issubclass(kind, errors.DeviceError):
                    raise kind(fault.message, fault.code)
                raise kind(fault.message)
