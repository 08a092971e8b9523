"""Which GPUs take part in a run on this machine."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence

from gpubench.errors import NoDeviceError, UsageError
from gpubench.fleet import Member
from gpubench.results.paths import slug

MOST = 1024
_NUMBER = re.compile(r"\d{1,4}")
_RANGE = re.compile(r"(\d{1,4})-(\d{1,4})")


def host_name() -> str:
    """Return this machine's name."""
    return socket.gethostname() or "localhost"


def devices(text: str) -> tuple[str, ...]:
    """Return the specs that `--devices` names: `all`, numbers of GPUs and ranges (0,2,5-7), or specs (cuda:1, host).

    NoDeviceError for `all` where there is no usable GPU; UsageError for what is no device or stands twice.
    """
    if text.strip() == "all":
        return _all()
    found: list[str] = []
    for word in (part.strip() for part in text.split(",")):
        if between := _RANGE.fullmatch(word):
            first, last = int(between[1]), int(between[2])
            if last < first or last - first >= MOST:
                raise UsageError(f"--devices: {word} is no range of GPUs; write it as 3-7.")
            found += [f"cuda:{number}" for number in range(first, last + 1)]
        elif _NUMBER.fullmatch(word):
            found.append(f"cuda:{int(word)}")
        else:
            found.append(_spec(word))
    twice = next((spec for spec in found if found.count(spec) > 1), None)
    if twice is not None:
        raise UsageError(f"--devices: {twice} stands twice; each GPU is measured once.")
    return tuple(found)


def _spec(word: str) -> str:
    from gpubench.devices import KINDS

    if word.partition(":")[0] not in KINDS:
        raise UsageError(f"--devices: {word!r} is no device. Write all, or numbers of GPUs such as 0,2,5 or 0-7.")
    return word


def _all() -> tuple[str, ...]:
    from gpubench.devices import list_devices

    listed, reasons = list_devices()
    gpus = [device for device in listed if device.info.kind == "cuda"]
    usable = tuple(gpu.spec for gpu in gpus if gpu.problem is None)
    if not usable:
        why = "\n".join([*(f"{gpu.spec}: {gpu.problem}" for gpu in gpus), *reasons])
        raise NoDeviceError(f"--devices all: there is no usable GPU here.\n{why}".rstrip())
    return usable


def local_members(specs: Sequence[str]) -> tuple[Member, ...]:
    """Return the members that a run on this machine has, in the order given."""
    host = host_name()
    members: list[Member] = []
    for place, spec in enumerate(specs):
        number = spec.partition(":")[2]
        position = int(number) if spec.startswith("cuda:") and number.isdigit() else place
        members.append(new_member(host, spec, position, [member.key for member in members]))
    return tuple(members)


def new_member(host: str, spec: str, position: int, taken: Sequence[str], worker: str | None = None) -> Member:
    """Return a member with a key of its own, made of its host and its place there: `node17-gpu3`."""
    stem = f"{slug(host.partition('.')[0])[:60]}-gpu{position}"
    key, number = stem, 2
    while key in taken:
        key, number = f"{stem}-{number}", number + 1
    return Member(key, host, spec, position, f"{key}.json", worker=worker)
