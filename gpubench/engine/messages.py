"""What supervisor and worker say to each other: one JSON object a line, on descriptors that nothing else writes to."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_type_hints

from gpubench.errors import ResultFileError
from gpubench.model import Json
from gpubench.results.strict import Node, parse

MAX_LINE = 8 * 2**20
"""The longest message. A record with a thousand samples has about 40 KB."""


class ProtocolError(Exception):
    """The other side wrote something that is no message. It is not to be trusted any further."""


# --- to the worker ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """Open the device. `memory_limit`: bytes of address space the worker may have (RLIMIT_AS), None for no limit.

    `digests`: answers that must be the same bytes on every device of a model get a digest in their record. `staged`:
    what suites bring, under `suites` a list of `own.registry.Staged` as JSON.
    """

    device: str
    memory_limit: int | None = None
    digests: bool = False
    staged: dict[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Soak:
    """Keep the device at work for so many seconds, so that it is as warm as it will get before anything is measured."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure the device's ceiling. Apart from `Start`, so that nobody is disturbed before the device is ours.

    `before`: the ceiling from the start of the run, to be measured again at its end.
    """

    before: dict[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """Run these contenders of a case together. `case` is in the result format, `ceiling` the run's.

    `upcoming` is the case that probably comes next: its inputs may be made while the device is busy with this one.
    """

    number: int
    case: dict[str, Json]
    contenders: list[str]
    ceiling: dict[str, Json]
    seed: int
    upcoming: dict[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """There is no more work."""


# --- to the supervisor -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ready:
    """The device is open."""

    environment: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Soaked:
    """The device was kept at work; `state` says for how long, and what it told before and after."""

    state: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Measured:
    """What the device reaches."""

    ceiling: dict[str, Json]


@dataclass(frozen=True, slots=True)
class StartFailed:
    """The device cannot be opened. `usage` is true when the user, not the machine, has to change something."""

    message: str
    usage: bool


@dataclass(frozen=True, slots=True)
class Begin:
    """What the worker turns to now, said before it does, so that a fault can be laid at the right door.

    `contender` is empty while the stage serves all contenders of the case.
    """

    job: int
    contender: str
    stage: str


@dataclass(frozen=True, slots=True)
class Finished:
    """One contender is done; `record` is in the result format."""

    job: int
    record: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Fault:
    """The device's context is lost through this contender (empty: not known which); the worker ends after this."""

    job: int
    contender: str
    status: str
    message: str


@dataclass(frozen=True, slots=True)
class JobDone:
    """All contenders of the job have been reported. `seconds` says where the time went, by stage."""

    job: int
    seconds: dict[str, float] = field(default_factory=dict)


ToWorker = Start | Soak | Measure | Job | Stop
FromWorker = Ready | Soaked | Measured | StartFailed | Begin | Finished | Fault | JobDone
Message = ToWorker | FromWorker
TO_WORKER: tuple[type[ToWorker], ...] = (Start, Soak, Measure, Job, Stop)
FROM_WORKER: tuple[type[FromWorker], ...] = (Ready, Soaked, Measured, StartFailed, Begin, Finished, Fault, JobDone)

M = TypeVar("M", bound=Message)


def encode(message: Message) -> bytes:
    """Return the message's line, newline included."""
    body = {field.name: getattr(message, field.name) for field in dataclasses.fields(message)}
    text = json.dumps({"type": type(message).__name__, **body}, allow_nan=False, ensure_ascii=True)
    return text.encode("ascii") + b"\n"


def decode(line: bytes, allowed: Iterable[type[M]]) -> M:
    """Return the message of a line, one of the `allowed` types. ProtocolError for anything else."""
    try:
        node = parse(line, "message")
        kind = node.get("type").text()
        for message_type in allowed:
            if message_type.__name__ == kind:
                return _build(message_type, node)
    except ResultFileError as error:
        raise ProtocolError(str(error)) from error
    raise ProtocolError(f"unknown message {kind[:40]!r}")


def _build(kind: type[M], node: Node) -> M:
    hints = get_type_hints(kind)
    node.keys(frozenset({"type", *hints}), frozenset())
    return kind(**{name: _field(node.get(name), hint) for name, hint in hints.items()})


def _field(node: Node, hint: Any) -> Any:
    if hint == dict[str, float]:
        return {key: node.get(key).number(lowest=0.0) for key in node.object()}
    readers: dict[Any, Any] = {
        str: node.text,
        int: node.integer,
        float: lambda: node.number(lowest=0.0),
        bool: node.boolean,
        int | None: lambda: None if node.value is None else node.integer(),
        list[str]: lambda: [item.text() for item in node.items()],
        dict[str, Json]: node.object,
        dict[str, Json] | None: lambda: None if node.value is None else node.object(),
    }
    return readers[hint]()


class Lines:
    """Cuts a stream of bytes into lines, never holding more than `limit` bytes of an unfinished one."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines that are now complete, without newline. ProtocolError for a line over the limit."""
        self._rest += data
        while (end := self._rest.find(b"\n")) >= 0:
            line = bytes(self._rest[:end])
            del self._rest[: end + 1]
            yield line
        if len(self._rest) > self._limit:
            raise ProtocolError(f"a line of more than {self._limit} bytes")

    @property
    def partial(self) -> int:
        """How many bytes of an unfinished line are waiting."""
        return len(self._rest)
