"""The results of a fleet, read and reduced to what its judgement needs: one file in memory at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from gpubench.analysis.fleet.table import Seen, seen
from gpubench.errors import ResultFileError
from gpubench.fleet import Fleet
from gpubench.results.fleets import manifest_path, read_fleet
from gpubench.results.read import read


@dataclass(frozen=True, slots=True)
class Loaded:
    """A fleet with its results: `members` by key, `again` by the file of each repeated measurement."""

    fleet: Fleet
    folder: Path
    members: dict[str, Seen]
    again: dict[str, Seen]


def load(named: Path) -> Loaded:
    """Read a fleet. A member whose file cannot be read is `missing`, with the reason. ResultFileError for the rest."""
    fleet, folder = read_fleet(named), manifest_path(named).parent
    members: dict[str, Seen] = {}
    told = []
    for member in fleet.members:
        if member.status == "measured":
            try:
                members[member.key] = seen(read(folder / member.result))
            except ResultFileError as error:
                member = replace(member, status="missing", message=str(error))  # noqa: PLW2901 - the one that is kept
        told.append(member)
    again = {
        repeat.result: seen(read(folder / repeat.result)) for repeat in fleet.repeats if repeat.status == "measured"
    }
    return Loaded(replace(fleet, members=tuple(told)), folder, members, again)
