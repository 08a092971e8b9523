"""What became of a contender, in a status and in words: from errors and from failed checks."""

from __future__ import annotations

import traceback

from gpubench.engine.guards import describe as describe_strays
from gpubench.engine.timed import Timed
from gpubench.errors import (
    CompileError,
    DeviceError,
    GpubenchError,
    MissingExtraError,
    OutOfMemoryError,
    TooSlowError,
    UnsupportedError,
    UsageError,
)
from gpubench.model import Check, Timing
from gpubench.names import Status, is_kernel

_STATUS: tuple[tuple[type[BaseException], Status], ...] = (
    (MissingExtraError, "skipped"),
    (UnsupportedError, "unsupported"),
    (CompileError, "compile_error"),
    (OutOfMemoryError, "out_of_memory"),
    (MemoryError, "out_of_memory"),
    (TooSlowError, "timeout"),
    (DeviceError, "device_error"),
    (UsageError, "unsupported"),
)
"""What becomes of a contender that raised; the first row that fits."""


def status_of(error: BaseException) -> Status:
    """Return the status that an error gives to a contender; `crashed` for one that nobody foresaw."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), "crashed")


def describe(error: BaseException) -> str:
    """Say what happened: the message of our own errors, type and place of others."""
    if isinstance(error, DeviceError):
        told = error.code is None or f"(code {error.code})" in str(error)
        return str(error) if told else f"{error} (code {error.code})"
    if isinstance(error, GpubenchError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"the host has too little memory: {error or 'an allocation was refused'}"
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def where(verdict: Check) -> str:
    """Say where an output is wrong first, and by how much."""
    at = verdict.first_mismatch
    if at is None:
        return "the output differs from the reference"
    place = f"first at {at['index']}: " if at["index"] else ""
    told = f"found {at['found']}, wanted {at['wanted']}, allowed is a difference of {at['allowed']}"
    all_ = verdict.mismatches
    many = f"; {all_['count']} of {all_['of']} elements are wrong ({all_['where']})" if all_ else ""
    return f"the output differs from the reference, {place}{told}{many}"


def beyond(verdict: Check) -> str:
    """Say how far another library's answer is beyond the error that ours are allowed, and where first."""
    ratio = verdict.max_error_over_tolerance
    by = "" if ratio is None else f"up to {ratio:.3g} x the error that ours are allowed; "
    return by + where(verdict)


def judged(
    one: Timed, timing: Timing, verdict: Check, unbelievable: str | None, simulated: bool
) -> tuple[Status, str | None]:
    """Return status and message of a contender that was timed and checked. `unbelievable`: why its time cannot be."""
    if one.strays:
        return "wrong", describe_strays(one.strays)
    if one.dishonest is not None:
        return "wrong", one.dishonest
    if not verdict.ok and is_kernel(one.name):
        return "wrong", where(verdict)
    if unbelievable is not None:
        return "implausible", unbelievable
    if timing.throttled:
        return "throttled", timing.message
    if not verdict.ok:  # another library may have another idea of how accurate an answer must be
        return "inaccurate", beyond(verdict)
    if timing.noisy and not simulated:  # simulated times are not a measurement of anything
        return "noisy", timing.message
    return "ok", timing.message
