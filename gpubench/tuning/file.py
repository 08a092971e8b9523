"""The tuning file: constants by operator and regime for one model of GPU, with the evidence for each."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpubench.errors import ResultFileError
from gpubench.files import read_bounded, replace
from gpubench.model import DeviceInfo
from gpubench.operators.constants import Value

VERSION = 1
MAX_BYTES = 4 << 20

Number = int | float | Annotated[list[int], Field(min_length=2, max_length=8)] | None


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Ratio(_Part):
    """New over shipped: the ratio of times with its 95 % interval. Under 1 is faster."""

    ratio: float = Field(gt=0)
    low: float = Field(gt=0)
    high: float = Field(gt=0)


class CaseEvidence(_Part):
    """A case that was timed with both: medians in microseconds."""

    case: str = Field(max_length=1000)
    shipped_us: float
    tuned_us: float
    ratio: Ratio


class Evidence(_Part):
    """What an entry rests on. `ratio`: the geometric mean over the cases, None where the shipped constants stayed.

    tried: configurations with plans of their own; dropped: not timed, by constraints or the compiler's report;
    failed: timed, with a wrong answer or none. rounds: the most of a case, side by side. result: the name of the file
    that has every sample.
    """

    ratio: Ratio | None = None
    cases: list[CaseEvidence] = Field(default_factory=list, max_length=1000)
    tried: int = 0
    dropped: int = 0
    failed: int = 0
    rounds: int = 0
    seed: int = 0
    result: str = ""


class Entry(_Part):
    """The constants of one regime. Those that stayed as shipped are left out. `sources`: of the kernels concerned."""

    subject: str = Field(max_length=100)
    regime: str = Field(max_length=100)
    constants: dict[str, Number]
    sources: list[str] = Field(max_length=100)
    sources_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    evidence: Evidence = Evidence()

    @property
    def values(self) -> dict[str, Value]:
        """The constants, as rules take them."""
        return {
            name: tuple(constant) if isinstance(constant, list) else constant
            for name, constant in self.constants.items()
        }


class DeviceFigures(_Part):
    """The GPU that a file is for: figures that must be equal for it to be used."""

    name: str = Field(max_length=200)
    compute_capability: str = Field(pattern=r"^[0-9]+\.[0-9]+$")
    sm_count: int
    l2_bytes: int


class Tuning(_Part):
    """A whole file."""

    schema_version: int
    gpubench: str
    created: str
    device: DeviceFigures
    nvrtc: str | None = None
    entries: list[Entry] = Field(max_length=10_000)

    def entry(self, subject: str, regime: str) -> Entry | None:
        """Return the entry of a regime, None where there is none."""
        return next((entry for entry in self.entries if (entry.subject, entry.regime) == (subject, regime)), None)

    def with_entries(self, new: Mapping[tuple[str, str], Entry], **changed: Any) -> Tuning:
        """Return the tuning with these entries in place of those of the same regimes."""
        kept = [entry for entry in self.entries if (entry.subject, entry.regime) not in new]
        entries = sorted([*kept, *new.values()], key=lambda entry: (entry.subject, entry.regime))
        return self.model_copy(update={**changed, "entries": entries})


@dataclass(frozen=True, slots=True)
class Read:
    """A tuning with the hash of its file's bytes."""

    tuning: Tuning
    sha256: str


def figures_of(info: DeviceInfo) -> DeviceFigures:
    """Return the figures of a device."""
    major, minor = info.compute_capability
    return DeviceFigures(
        name=info.name, compute_capability=f"{major}.{minor}", sm_count=info.sm_count, l2_bytes=info.l2_bytes
    )


def file_name(info: DeviceInfo) -> str:
    """Return the name of a device's file: `nvidia-h200-sm_90.json`."""
    words = "-".join(re.findall(r"[a-z0-9]+", info.name.lower()))[:60].strip("-") or "unnamed"
    return f"{words}-sm_{info.compute_capability[0]}{info.compute_capability[1]}.json"


def read_tuning(path: Path) -> Read:
    """Read a file. ResultFileError, in one line, for one that cannot be read or is no tuning."""
    try:
        data = read_bounded(path, MAX_BYTES)
    except OSError as error:
        raise ResultFileError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise ResultFileError(f"{path}: is larger than {MAX_BYTES} bytes, which no tuning is")
    try:
        tuning = Tuning.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ResultFileError(f"{path}: is no tuning: {place or 'the file'}: {first['msg']}") from None
    except RecursionError:
        raise ResultFileError(f"{path}: is no tuning: nested too deeply") from None
    if tuning.schema_version > VERSION:
        raise ResultFileError(
            f"{path}: has version {tuning.schema_version}; this gpubench reads up to {VERSION}. Install a newer one."
        )
    return Read(tuning, hashlib.sha256(data).hexdigest())


def dumps(tuning: Tuning) -> bytes:
    """Return the bytes of a file: the same tuning gives the same bytes."""
    return (json.dumps(tuning.model_dump(), indent=1, ensure_ascii=True, allow_nan=False) + "\n").encode("ascii")


def write_tuning(tuning: Tuning, path: Path) -> str:
    """Write a file so that it appears whole, and return its hash. ResultFileError when it cannot be written."""
    data = dumps(tuning)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, data)
    except OSError as error:
        raise ResultFileError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}") from error
    return hashlib.sha256(data).hexdigest()
