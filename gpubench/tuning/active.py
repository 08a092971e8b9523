"""The tuning that this process reads: found for the device, checked, and asked for the constants of a problem."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from gpubench.errors import ResultFileError
from gpubench.model import DeviceInfo, Json, Problem
from gpubench.names import is_own
from gpubench.operators import OPERATORS
from gpubench.operators.base import Operator
from gpubench.operators.constants import Value
from gpubench.own.definitions import Kernel
from gpubench.own.registry import brought_kernels
from gpubench.tuning.file import Entry, Read, Tuning, figures_of, file_name, read_tuning
from gpubench.tuning.regimes import constants_of, regime_of, regimes_of, subject_of
from gpubench.tuning.sources import files_sha256, sources_sha256

CHOICE = "GPUBENCH_TUNING"
"""Environment variable: the tuning file to read, or `none`; what `--tuning` sets for the workers of a run."""

NONE = "none"
FOLDER = "GPUBENCH_DATA_DIR"
"""Environment variable: the folder of the user's data, in place of the user's own."""


@dataclass(frozen=True, slots=True)
class Active:
    """What is in force. `origin`: option (or the environment), user or shipped. `ignored`: lines that say what is not
    used, and why. `tuning` holds only what may be used.
    """

    tuning: Tuning | None = None
    sha256: str | None = None
    origin: str = "none"
    ignored: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json] | None:
        """Return what the environment of a result says of it; None where no constants are tuned."""
        if self.tuning is None and not self.ignored:
            return None
        entries = 0 if self.tuning is None else len(self.tuning.entries)
        return {"sha256": self.sha256, "from": self.origin, "entries": entries, "ignored": list(self.ignored)}


_ACTIVE = [Active()]


def use(found: Active) -> None:
    """Let this process read a tuning, in place of what it read before."""
    _ACTIVE[0] = found


def active() -> Active:
    """Return what this process reads."""
    return _ACTIVE[0]


def user_folder() -> Path:
    """Return the folder of the user's tunings."""
    import platformdirs

    named = os.environ.get(FOLDER)
    return Path(named or platformdirs.user_data_dir("gpubench", appauthor=False)) / "tuning"


def find(info: DeviceInfo) -> Active:
    """Return the tuning for a device: the one that GPUBENCH_TUNING names, else the user's, else the one shipped.

    Without that variable only GPUs have one. ResultFileError for a named file that cannot be read; one of the user's
    that cannot is ignored with a line.
    """
    choice = os.environ.get(CHOICE)
    if choice == NONE:
        return Active()
    if choice:
        return checked(read_tuning(Path(choice)), info, "option")
    if info.kind != "cuda":
        return Active()
    mine = user_folder() / file_name(info)
    if mine.is_file():
        try:
            return checked(read_tuning(mine), info, "user")
        except ResultFileError as error:
            return Active(ignored=(f"Your tuning is ignored: {str(error).replace(str(mine.parent), '')}",))
    shipped = Path(str(resources.files("gpubench.tuning") / "shipped" / file_name(info)))
    return checked(read_tuning(shipped), info, "shipped") if shipped.is_file() else Active()


def checked(read: Read, info: DeviceInfo, origin: str) -> Active:
    """Return a tuning without the entries that do not hold here, each of which has a line among `ignored`."""
    whose = {"option": "The tuning", "user": "Your tuning", "shipped": "The shipped tuning"}[origin]
    here, there = figures_of(info), read.tuning.device
    if here != there:
        line = (
            f"{whose} is ignored: it is for {there.name} ({there.sm_count} SMs, {there.compute_capability}), and this "
            f"is {here.name} ({here.sm_count} SMs, {here.compute_capability}). `gpubench tune SUITE` makes one for it."
        )
        return Active(None, None, origin, (line,))
    fresh = [entry for entry in read.tuning.entries if is_fresh(entry)]
    stale = [f"{entry.subject} {entry.regime}" for entry in read.tuning.entries if entry not in fresh]
    lines = (
        ()
        if not stale
        else (
            f"{whose}: {len(stale)} of {len(read.tuning.entries)} entries were made for other sources and are ignored "
            f"({', '.join(stale[:5])}{' ...' if len(stale) > 5 else ''}). `gpubench tune SUITE` makes them anew.",
        )
    )
    return Active(read.tuning.model_copy(update={"entries": fresh}), read.sha256, origin, lines)


def is_fresh(entry: Entry) -> bool:
    """Tell whether an entry was made for the sources and constants that there are. One of a kernel that no suite of
    this process brings is nobody's, and not stale.
    """
    operator = OPERATORS.get(entry.subject)
    brought = None if operator is not None else brought_kernels().get(entry.subject)
    if operator is None and brought is None:
        return is_own(entry.subject)
    regimes = regimes_of(operator, None if brought is None else brought[0])
    regime = next((regime for regime in regimes if regime.name == entry.regime), None)
    if regime is None:
        return False
    known = constants_of((regime,))
    if any(name not in known or value not in known[name].candidates for name, value in entry.values.items()):
        return False
    if brought is not None:
        return files_sha256(brought[1], regime) == entry.sources_sha256
    return sources_sha256(entry.sources, regime) == entry.sources_sha256


def constants_for(
    operator: Operator[Any], problem: Problem[Any], device: DeviceInfo, kernel: Kernel | None = None
) -> tuple[str | None, dict[str, Value]]:
    """Return the regime of a problem and the constants that are tuned for it; none where nothing is in force."""
    tuning = _ACTIVE[0].tuning
    if tuning is None:
        return None, {}
    regime = regime_of(regimes_of(operator, kernel), operator, problem, device)
    entry = None if regime is None else tuning.entry(subject_of(operator, kernel), regime.name)
    return (None, {}) if entry is None else (entry.regime, entry.values)
