"""What the command and a cluster's worker say to each other: an order as text, and reports that stream back.

An order is data only: cases, options, what the command has already. Reports are small dictionaries; a record travels
as compressed JSON, and is checked like anything else that nobody vouches for.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpubench.engine.messages import MAX_LINE
from gpubench.errors import ResultFileError
from gpubench.findings import Work
from gpubench.model import Case, Json, Record
from gpubench.own.definitions import is_inside
from gpubench.results.format import case_to_json, record_to_json
from gpubench.results.records import case_from_json, record_from_json
from gpubench.results.strict import Node, parse

VERSION = 1

Report = dict[str, Any]
"""`attempt` and `kind` (ready, begin, record, note, alive, refused, end), and what belongs to that kind."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What one suite brings, with the contents of its files: `staged` as `Staged.to_json` gives it."""

    staged: Mapping[str, Json]
    files: Mapping[str, bytes]

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON."""
        files = {name: base64.b64encode(data).decode("ascii") for name, data in self.files.items()}
        return {"staged": dict(self.staged), "files": files}


def _brought(node: Node) -> Brought:
    node.keys(frozenset({"staged", "files"}), frozenset())
    files = {}
    for name in node.get("files").object():
        if not is_inside(name):
            node.get("files").fail("a file that would lie outside its folder")
        files[name] = base64.b64decode(node.get("files").get(name).text(), validate=True)
    return Brought(node.get("staged").object(), files)


@dataclass(frozen=True, slots=True)
class Plan:
    """What every member of a fleet is to do.

    run: the fleet's id, under which a worker keeps its journal. identity: what must be equal for a journal to be
    continued, without the device.
    """

    run: str
    identity: Mapping[str, str]
    cases: tuple[Case, ...]
    seed: int = 0
    retries: int = 0
    stop_after: int = 5
    memory_limit: int | None = None
    soak_s: float = 0.0
    share_device: bool = False
    brought: tuple[Brought, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Plan):
    """One attempt to measure one member. `known`: what the command has a record of, which is not to be sent again.

    topic: where reports go. key: the task's.
    """

    member: str
    attempt: str
    topic: str
    key: str
    gpubench: str
    known: tuple[Work, ...]

    def dumps(self) -> str:
        """Return the order as text."""
        fields: dict[str, Json] = {name: getattr(self, name) for name in _PLAIN}
        cases = [case_to_json(case) for case in self.cases]
        known, brought = [list(work) for work in self.known], [suite.to_json() for suite in self.brought]
        return json.dumps({"version": VERSION, **fields, "cases": cases, "known": known, "brought": brought})


_PLAIN = (
    "run", "member", "attempt", "topic", "key", "gpubench", "identity", "seed", "retries", "stop_after",
    "memory_limit", "soak_s", "share_device",
)  # fmt: skip


def read_order(text: str) -> Order:
    """Return the order of a text. ResultFileError when it is none."""
    root = parse(text.encode(), "the order")
    root.keys(frozenset({"version", "cases", "known", "brought", *_PLAIN}), frozenset())
    if root.get("version").integer(1) != VERSION:
        root.get("version").fail(f"this worker reads version {VERSION}")
    return Order(
        run=root.get("run").text(),
        member=root.get("member").text(),
        attempt=root.get("attempt").text(),
        topic=root.get("topic").text(),
        key=root.get("key").text(),
        gpubench=root.get("gpubench").text(),
        identity={name: root.get("identity").get(name).text() for name in root.get("identity").object()},
        cases=tuple(case_from_json(node) for node in root.get("cases").items()),
        known=tuple(_work(node) for node in root.get("known").items()),
        seed=root.get("seed").integer(0),
        retries=root.get("retries").integer(0),
        stop_after=root.get("stop_after").integer(0),
        memory_limit=root.get("memory_limit").integer(1) if root.has("memory_limit") else None,
        soak_s=root.get("soak_s").number(lowest=0.0),
        share_device=root.get("share_device").boolean(),
        brought=tuple(_brought(node) for node in root.get("brought").items()),
    )


def _work(node: Node) -> Work:
    case, contender = (part.text() for part in node.items())
    return case, contender


def pack(record: Record) -> bytes:
    """Return a record as it travels."""
    return zlib.compress(json.dumps(record_to_json(record), allow_nan=False).encode("ascii"), 6)


def unpack(data: object) -> Record:
    """Return the record of what travelled. ResultFileError for anything else, however large it would become."""
    if not isinstance(data, bytes):
        raise ResultFileError("a record that is no bytes")
    inflate = zlib.decompressobj()
    try:
        text = inflate.decompress(data, MAX_LINE)
    except zlib.error as error:
        raise ResultFileError(f"a record that cannot be read: {error}") from error
    if inflate.unconsumed_tail:
        raise ResultFileError(f"a record of more than {MAX_LINE} bytes")
    return record_from_json(parse(text, "a worker's record"))


def works(cases: Sequence[Case]) -> list[Work]:
    """Return the work of the cases, in order."""
    return [(case.id, name) for case in cases for name in dict.fromkeys(case.contenders)]
