"""A fleet: the GPUs that one run measured, each with a result file of its own. Frozen, as `fleet.json` keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from gpubench.model import Json

MemberStatus = Literal["waiting", "measured", "unfinished", "missing"]
"""waiting: not begun. measured: its result is complete. unfinished: it stopped early, and the run can be resumed.
missing: it could not be measured at all; the message says why."""

MEMBER_STATUSES: tuple[MemberStatus, ...] = get_args(MemberStatus)

Role = Literal["suspect", "control"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class Member:
    """One GPU. `key` names it in this fleet and its files; `result` is a file name beside the manifest.

    position: its number in its host. numa_node: the host's memory that it is near. worker: the address of the process
    that measured it, where that was one of a cluster. started_s: seconds from the start of the fleet's run, on the
    clock of the machine that ran the command, to the member's first case.
    """

    key: str
    host: str
    device: str
    position: int
    result: str
    status: MemberStatus = "waiting"
    message: str | None = None
    uuid: str | None = None
    name: str | None = None
    pci_bus_id: str | None = None
    numa_node: int | None = None
    worker: str | None = None
    started_s: float | None = None


@dataclass(frozen=True, slots=True)
class Repeat:
    """A member measured a second time: one that seemed slow, or a healthy one beside it."""

    member: str
    role: Role
    result: str
    status: MemberStatus = "waiting"
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Fleet:
    """The manifest. `at_once`: the GPUs of a host worked at the same time, not one after the other.

    soak_s: how long each was kept at work before it was measured. `suite` has name and sha256.
    """

    id: str
    gpubench: str
    created: str
    command: tuple[str, ...]
    suite: Mapping[str, Json]
    seed: int
    at_once: bool
    soak_s: float
    members: tuple[Member, ...]
    repeats: tuple[Repeat, ...] = field(default=())
    cluster: str | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The machines, in the order of their first member."""
        return tuple(dict.fromkeys(member.host for member in self.members))

    def member(self, key: str) -> Member:
        """Return the member with this key; KeyError when there is none."""
        return {member.key: member for member in self.members}[key]
