"""The profile of a model of GPU, as a file: what healthy ones need for each piece of work."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from gpubench.errors import ResultFileError
from gpubench.files import read_bounded
from gpubench.findings import Profile, Standard
from gpubench.results.format import plain
from gpubench.results.strict import Node, parse, shown

VERSION = 1
MAX_BYTES = 16 << 20
_STANDARD = frozenset({"case", "contender", "us"})
_STANDARD_MORE = frozenset({"code_sha256", "answer_sha256"})


def dumps(profile: Profile) -> str:
    """Return the document as text: one line a piece of work."""
    head = {key: value for key, value in asdict(profile).items() if key != "standards"}
    lines = [
        f"{json.dumps(key)}: {json.dumps(plain(value))}" for key, value in {"profile_version": VERSION, **head}.items()
    ]
    rows = ",\n".join(json.dumps(asdict(standard), allow_nan=False) for standard in profile.standards)
    return "{" + ",\n".join([*lines, f'"standards": [\n{rows}\n]']) + "}\n"


def read_profile(path: Path) -> Profile:
    """Return the profile of a file. ResultFileError says what is wrong with it."""
    name = shown(str(path), 200)
    try:
        data = read_bounded(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ResultFileError(f"{name}: cannot be read: {reason}. `gpubench fleet profile` makes a profile.") from error
    return profile_from_json(parse(data, name))


def profile_from_json(root: Node) -> Profile:
    """Return the profile of a document. ResultFileError."""
    if not root.has("profile_version"):
        root.fail("is no profile of a model; `gpubench fleet profile` makes one")
    version = root.get("profile_version")
    if version.integer(1) > VERSION:
        version.fail(f"this profile has format version {version.value}, this gpubench reads up to {VERSION}")
    root.keys(frozenset({"profile_version", *Profile.__dataclass_fields__}), frozenset())
    return Profile(
        model=root.get("model").text(),
        created=root.get("created").text(),
        gpubench=root.get("gpubench").text(),
        protocol=root.get("protocol").integer(1),
        suite=root.get("suite").object(),
        at_once=root.get("at_once").boolean(),
        soak_s=root.get("soak_s").number(lowest=0.0),
        gpus=root.get("gpus").integer(1),
        scale=root.get("scale").number(lowest=0.0),
        standards=tuple(_standard(node) for node in root.get("standards").items()),
        environment=root.get("environment").object(),
    )


def _standard(node: Node) -> Standard:
    node.keys(_STANDARD, _STANDARD_MORE)
    return Standard(
        case=node.get("case").text(),
        contender=node.get("contender").text(),
        us=node.get("us").number(positive=True),
        code_sha256=node.get("code_sha256").text_or_none(),
        answer_sha256=node.get("answer_sha256").text_or_none(),
    )
