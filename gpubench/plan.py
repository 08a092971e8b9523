"""What a variant asks a device to do: launches and memsets with their arguments, and what the check may allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gpubench.foreign import Foreign

Json = Any  # what json.loads returns


@dataclass(frozen=True, slots=True)
class Pointer:
    """A kernel argument: the address of the operand's first element (its view's offset added), plus `byte_offset`."""

    operand: str
    byte_offset: int = 0


@dataclass(frozen=True, slots=True)
class Workspace:
    """A kernel argument: an address inside the plan's workspace (256-byte aligned at offset 0)."""

    byte_offset: int = 0


@dataclass(frozen=True, slots=True)
class Value:
    """A kernel argument passed by value: the bytes of a C scalar or of a struct with C layout."""

    data: bytes


Argument = Pointer | Workspace | Value


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch. `source` is a path under cuda_src; `kernel` the name expression of the instance, such as
    `gpubench::cumsum::naive<float, float>`. `shared_bytes` is the dynamic shared memory a block.
    `waits_for_blocks`: a block may wait for a lower-numbered (or earlier-started) block of the same launch, so the
    device must let them make progress together. `foreign`: the source lies in that folder, or is a .cubin or .ptx there
    and `kernel` its symbol.
    """

    source: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    shared_bytes: int = 0
    waits_for_blocks: bool = False
    foreign: Foreign | None = None


@dataclass(frozen=True, slots=True)
class Memset:
    """Set `size` bytes of the workspace, or of a contiguous operand, to the byte `value`; part of the timed work."""

    target: Workspace | Pointer
    size: int
    value: int = 0


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What the check may allow. `additions`: roundings on the longest path to one output. `accumulator`: the dtype they
    are made in. `growth`: "sqrt" uses 4 * sqrt(additions), what random signs give in practice; "linear" the worst case.
    """

    additions: int
    accumulator: str
    growth: Literal["sqrt", "linear"] = "sqrt"


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that one contender of ours does for one problem: the steps in stream order, and what it needs.

    `workspace_zeroed`: the workspace must be all zero before the first run (done once, untimed, as a library would keep
    its workspace); the steps must leave it fit for the next run. `notes` explains choices for the record (the
    configuration chosen), plain JSON. `repeatable`: the same inputs give the same bytes on every run and on each device
    of one model; not so where the order of float additions is left to chance.
    """

    variant: str
    steps: tuple[Launch | Memset, ...]
    accuracy: Accuracy
    workspace_bytes: int = 0
    workspace_zeroed: bool = False
    notes: Mapping[str, Json] = field(default_factory=dict)
    repeatable: bool = True

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The kernel launches among the steps."""
        return tuple(step for step in self.steps if isinstance(step, Launch))


@dataclass(frozen=True, slots=True)
class Refused:
    """A variant's answer, in place of a plan, to a problem that it does not take: why, in words for a reader."""

    reason: str
