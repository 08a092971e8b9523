"""How long each kernel ran by CUPTI's own timestamps, without what lies between an event and a kernel.

CUPTI (the optional package cupti-python) has the GPU write a timestamp when each kernel, memset and copy begins and
ends. Samples are told apart by the harness's own stamps (`cuda_clock.Stamps`), the first and the last kernel of each.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpubench.errors import DeviceError, MissingExtraError
from gpubench.model import Traced

KINDS = ("CONCURRENT_KERNEL", "MEMSET", "MEMCPY")
"""The activities that are work on the GPU. CONCURRENT_KERNEL, unlike KERNEL, does not make kernels wait in line."""

BUFFER_BYTES = 2**20
STAMP = "harness5stamp"
"""What the mangled name of the stamp kernel holds, and no other."""


@dataclass(frozen=True, slots=True)
class Activity:
    """One piece of work on the GPU. Times in nanoseconds."""

    name: str
    start: int
    end: int


class Trace:
    """CUPTI's recorder of this process."""

    def __init__(self) -> None:
        """Load CUPTI. MissingExtraError when the package is not installed; DeviceError when it does not work here."""
        self._cupti = library()
        self._seen = _register()

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record what runs meanwhile. Kernels launched elsewhere pay nothing once this is over."""
        kinds = [getattr(self._cupti.ActivityKind, name) for name in KINDS]
        with _reporting("starting CUPTI"):
            for kind in kinds:
                self._cupti.activity_enable(kind)
        try:
            yield
        finally:
            with _reporting("stopping CUPTI"):
                for kind in kinds:
                    self._cupti.activity_disable(kind)

    def take(self) -> list[Activity]:
        """Return what has been recorded since the last call, in the order of the starts. The GPU must be idle."""
        with _reporting("reading CUPTI's records"):
            self._cupti.activity_flush_all(1)
        taken = sorted(self._seen, key=lambda activity: activity.start)
        self._seen.clear()
        return taken


def between_stamps(activities: Sequence[Activity], count: int, repeats: int) -> list[Traced]:
    """Return what ran between the stamps 2 i and 2 i + 1, i < count, a run's share where `repeats` runs lie there.

    DeviceError when the stamps are not all there.
    """
    stamps = [place for place, activity in enumerate(activities) if STAMP in activity.name]
    if len(stamps) != 2 * count:
        raise DeviceError(f"CUPTI recorded {len(stamps)} of {2 * count} stamps: records were lost")
    pairs = zip(stamps[::2], stamps[1::2], strict=True)
    return [_traced(activities[first + 1 : last], repeats) for first, last in pairs]


def _traced(work: Sequence[Activity], repeats: int) -> Traced:
    if len(work) % repeats:
        raise DeviceError(f"CUPTI recorded {len(work)} activities in {repeats} runs: records were lost")
    per_run = len(work) // repeats
    launches = tuple(
        (work[place].name, sum(activity.end - activity.start for activity in work[place::per_run]) / 1e3 / repeats)
        for place in range(per_run)
    )
    span = (max(activity.end for activity in work) - work[0].start) / 1e3 / repeats if work else 0.0
    return Traced(launches, span)


@functools.cache
def library() -> Any:
    """Return the module. MissingExtraError without it, or where it cannot be loaded, with the reason."""
    try:
        from cupti import cupti
    except (ImportError, OSError, RuntimeError) as error:  # the last two: a shared library is missing, or too old
        absent = isinstance(error, ModuleNotFoundError) and error.name == "cupti"
        broken = None if absent else " ".join(str(error).splitlines()[:1])
        raise MissingExtraError("cupti-python", "cupti", broken) from error
    return cupti


@functools.cache
def _register() -> list[Activity]:
    """Hand CUPTI its callbacks, once a process; return the list that they fill."""
    cupti = library()
    seen: list[Activity] = []
    names = {int(getattr(cupti.ActivityKind, kind)): kind.lower() for kind in KINDS}

    def completed(activities: list[Any]) -> None:
        seen.extend(_activity(activity, names) for activity in activities)

    with _reporting("loading CUPTI"):
        cupti.activity_register_callbacks(lambda: (BUFFER_BYTES, 0), completed)
    return seen


def _activity(record: Any, names: Mapping[int, str]) -> Activity:
    """Return what is needed of a record: memsets and copies have no name of their own. Must not raise (CUPTI calls)."""
    name = getattr(record, "name", None) or names.get(int(record.kind), "other")
    return Activity(name, getattr(record, "start", 0), getattr(record, "end", 0))


@contextlib.contextmanager
def _reporting(doing: str) -> Iterator[None]:
    """Turn CUPTI's errors into gpubench's."""
    try:
        yield
    except (RuntimeError, OSError, library().cuptiError) as error:
        raise DeviceError(f"{doing}: {type(error).__name__}: {error}") from error
