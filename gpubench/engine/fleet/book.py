"""Keeps a fleet's manifest: every change is on disk before the run goes on."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpubench.fleet import Fleet, Repeat
from gpubench.results.fleets import write_fleet


class Book:
    """The manifest of a run at work, for several threads."""

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        """Write the manifest as it is now. ResultFileError."""
        self.folder = folder
        self._fleet = fleet
        self._lock = threading.Lock()
        write_fleet(fleet, folder)

    @property
    def fleet(self) -> Fleet:
        """The manifest as it is now."""
        return self._fleet

    def change(self, key: str, **changes: Any) -> None:
        """Change one member. ResultFileError when the manifest cannot be written; it is then as it was."""
        with self._lock:
            members = tuple(
                replace(member, **changes) if member.key == key else member for member in self._fleet.members
            )
            self._put(replace(self._fleet, members=members))

    def repeats(self, repeats: tuple[Repeat, ...]) -> None:
        """Set which members are measured again."""
        with self._lock:
            self._put(replace(self._fleet, repeats=repeats))

    def change_repeat(self, result: str, **changes: Any) -> None:
        """Change one of the repeated measurements, named by its file."""
        with self._lock:
            repeats = tuple(
                replace(repeat, **changes) if repeat.result == result else repeat for repeat in self._fleet.repeats
            )
            self._put(replace(self._fleet, repeats=repeats))

    def _put(self, fleet: Fleet) -> None:
        write_fleet(fleet, self.folder)
        self._fleet = fleet
