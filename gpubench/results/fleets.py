"""`fleet.json`, which ties the result files of a fleet together: written as one step, read strictly."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import cast

from gpubench.errors import ResultFileError
from gpubench.files import read_bounded
from gpubench.fleet import MEMBER_STATUSES, ROLES, Fleet, Member, MemberStatus, Repeat, Role
from gpubench.results.strict import Node, parse, shown
from gpubench.results.write import replace_file

VERSION = 1
NAME = "fleet.json"
MAX_BYTES = 8 << 20
MAX_MEMBERS = 4096
_FILE = re.compile(r"[a-z0-9][a-z0-9._-]{0,119}\.json")
_OPTIONAL = frozenset({"repeats", "cluster"})
_MEMBER = frozenset({"key", "host", "device", "position", "result", "status"})
_MEMBER_MORE = frozenset({"message", "uuid", "name", "pci_bus_id", "numa_node", "worker", "started_s"})
_REPEAT = frozenset({"member", "role", "result", "status"})


def manifest_path(named: Path) -> Path:
    """Return the manifest that FLEET names: the file itself, or the one in that folder."""
    return named / NAME if named.is_dir() else named


def write_fleet(fleet: Fleet, folder: Path) -> None:
    """Put the manifest into its folder, as one step. ResultFileError."""
    lists = {"members", "repeats"}
    head = {key: value for key, value in asdict(fleet).items() if key not in lists}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in {"fleet_version": VERSION, **head}.items()]
    for key in sorted(lists):
        rows = ",\n".join(json.dumps(asdict(row), allow_nan=False) for row in getattr(fleet, key))
        lines.append(f'"{key}": [\n{rows}\n]' if rows else f'"{key}": []')
    replace_file(folder / NAME, ("{" + ",\n".join(lines) + "}\n").encode("ascii"))


def read_fleet(named: Path) -> Fleet:
    """Return the fleet of a manifest or of its folder. ResultFileError says what is wrong with it."""
    path = manifest_path(named)
    try:
        data = read_bounded(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ResultFileError(
            f"{shown(str(path), 200)}: cannot be read: {reason}. A fleet is the folder (or its {NAME}) that "
            "`gpubench run --devices all` made."
        ) from error
    return fleet_from_json(parse(data, shown(str(path), 200)))


def fleet_from_json(root: Node) -> Fleet:
    """Return the fleet of a document. ResultFileError."""
    version = root.get("fleet_version")
    if version.integer(1) > VERSION:
        version.fail(f"this fleet has format version {version.value}, this gpubench reads up to {VERSION}")
    required = frozenset({"fleet_version", *Fleet.__dataclass_fields__}) - _OPTIONAL
    root.keys(required, _OPTIONAL)
    members = tuple(_member(node) for node in root.get("members").items())
    keys = [member.key for member in members]
    files = [member.result for member in members]
    if not members or len(members) > MAX_MEMBERS:
        root.get("members").fail(f"a fleet has 1 to {MAX_MEMBERS} members, found {len(members)}")
    if len(set(keys)) < len(keys) or len(set(files)) < len(files):
        root.get("members").fail("two members have the same key or result")
    repeats = tuple(_repeat(node, keys) for node in root.get("repeats").items()) if root.has("repeats") else ()
    return Fleet(
        id=root.get("id").text(),
        gpubench=root.get("gpubench").text(),
        created=root.get("created").text(),
        command=tuple(word.text() for word in root.get("command").items()),
        suite=root.get("suite").object(),
        seed=root.get("seed").integer(0),
        at_once=root.get("at_once").boolean(),
        soak_s=root.get("soak_s").number(lowest=0.0),
        members=members,
        repeats=repeats,
        cluster=root.get("cluster").text_or_none(),
    )


def _member(node: Node) -> Member:
    node.keys(_MEMBER, _MEMBER_MORE)
    return Member(
        key=node.get("key").text(),
        host=node.get("host").text(),
        device=node.get("device").text(),
        position=node.get("position").integer(0),
        result=_file(node.get("result")),
        status=cast("MemberStatus", node.get("status").text(cast("tuple[str, ...]", MEMBER_STATUSES))),
        message=node.get("message").text_or_none(),
        uuid=node.get("uuid").text_or_none(),
        name=node.get("name").text_or_none(),
        pci_bus_id=node.get("pci_bus_id").text_or_none(),
        numa_node=node.get("numa_node").integer() if node.has("numa_node") else None,
        worker=node.get("worker").text_or_none(),
        started_s=node.get("started_s").number_or_none(lowest=0.0),
    )


def _repeat(node: Node, keys: list[str]) -> Repeat:
    node.keys(_REPEAT, frozenset({"message"}))
    return Repeat(
        member=node.get("member").text(tuple(keys)),
        role=cast("Role", node.get("role").text(cast("tuple[str, ...]", ROLES))),
        result=_file(node.get("result")),
        status=cast("MemberStatus", node.get("status").text(cast("tuple[str, ...]", MEMBER_STATUSES))),
        message=node.get("message").text_or_none(),
    )


def _file(node: Node) -> str:
    """Return the name of a result beside the manifest; no path leads out of the folder."""
    name = node.text()
    if _FILE.fullmatch(name) is None or name == NAME:
        node.fail(f"expected the name of a result file in the same folder, found {shown(name)}")
    return name
