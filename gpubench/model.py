"""The data that flows between the stages: frozen, free of behaviour, the only thing that all stages share.

    suite YAML -> Case -> Problem -> Plan -> Timing, Check -> Record -> ResultSet

Times are microseconds, sizes bytes, strides and offsets elements, unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from gpubench.ceiling import Ceiling as Ceiling
from gpubench.ceiling import CeilingPoint as CeilingPoint
from gpubench.ceiling import CeilingRound as CeilingRound
from gpubench.ceiling import Phase as Phase
from gpubench.checked import Check as Check
from gpubench.foreign import Foreign as Foreign
from gpubench.layout import View
from gpubench.names import AUTO, NUMPY
from gpubench.names import Status as Status
from gpubench.revision import Revision as Revision
from gpubench.revision import Source as Source

Json = Any  # what json.loads returns: None, bool, int, float, str, list or dict of these

Method = Literal["cold", "hot", "graph", "graph-cold"]
COLD_METHODS: tuple[Method, ...] = ("cold", "graph-cold")
"""The L2 cache is flushed, and in-place operands restored, before each run."""

Order = Literal["random", "alternating"]
Clock = Literal["events", "cupti", "both"]
Integrity = Literal["plain", "strict"]
Distribution = Literal["normal", "uniform", "integers", "with_nonfinite"]
Role = Literal["in", "out", "inout"]


@dataclass(frozen=True, slots=True)
class TimingOptions:
    """How long and how often a contender is timed. `max_noise` is the half-width of the median's 95 % interval
    relative to the median at which sampling stops; `time_limit_s` bounds the sampling of one contender over all
    rounds; `timeout_s` is the deadline of the whole case, after which its worker is killed. `order`: who comes when in
    a round, at random or alternating (A B, B A, A B ...). `clock`: CUDA events, CUPTI's, or events and some by CUPTI.
    `integrity`: strict for contenders that may not be honest (`engine.strict`).
    """

    method: Method = "cold"
    rounds: int = 3
    min_samples: int = 20
    max_samples: int = 1000
    max_noise: float = 0.005
    time_limit_s: float = 2.0
    timeout_s: float = 300.0
    order: Order = "random"
    clock: Clock = "events"
    integrity: Integrity = "plain"


@dataclass(frozen=True, slots=True)
class Case:
    """One line of work: an operator on operands of one shape, dtype and layout.

    `id` is stable across versions and machines. `params` is plain JSON, normalised by the operator (dims counted from
    0, defaults filled in); `operators.<name>.parse(params)` gives the typed form. `limits`: see `gpubench.limits`.
    """

    id: str
    operator: str
    dtype: str
    params: Mapping[str, Json]
    distribution: Distribution = "normal"
    seed: int = 1
    contenders: tuple[str, ...] = (AUTO, NUMPY)
    timing: TimingOptions = TimingOptions()
    limits: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operand:
    """One tensor of a problem. `out` operands are poisoned before a launch, `inout` restored to their input."""

    name: str
    role: Role
    dtype: str
    view: View


P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Problem(Generic[P]):
    """A case with its operands worked out. `params` is the operator's own frozen dataclass.

    `bytes_read` and `bytes_written` are the fewest that any implementation must move through device memory. `touched`:
    the bytes of the memory's sectors that hold them (read, written), where they do not follow from the operands alone.
    `assumed`: the numbers, by name, that these bytes rest on where they are an expectation.
    """

    case: Case
    params: P
    operands: tuple[Operand, ...]
    bytes_read: int
    bytes_written: int
    touched: tuple[int, int] | None = None
    assumed: Mapping[str, int] = field(default_factory=dict)

    def operand(self, name: str) -> Operand:
        """Return the operand called `name`; KeyError when there is none."""
        for operand in self.operands:
            if operand.name == name:
                return operand
        raise KeyError(name)

    @property
    def bytes(self) -> int:
        """Fewest bytes moved, read and written together."""
        return self.bytes_read + self.bytes_written


# --- What a variant asks a device to do ------------------------------------------------------------------------------


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


# --- What comes back -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What a device is. `kind` is cuda, host or fake. Sizes in bytes; None: not known on this kind.

    `simulated` is true where times say nothing about a GPU. `properties` holds further figures for the record
    (driver, uuid, power limit, ECC, MIG, clocks).
    """

    kind: Literal["cuda", "host", "fake"]
    name: str
    compute_capability: tuple[int, int]
    sm_count: int
    l2_bytes: int
    memory_bytes: int
    max_shared_bytes: int
    max_threads_per_sm: int = 2048
    warp_size: int = 32
    theoretical_GBps: float | None = None
    simulated: bool = False
    properties: Mapping[str, Json] = field(default_factory=dict)

    @property
    def arch(self) -> str:
        """The architecture that kernels are compiled for: `sm_90`."""
        return "sm_{}{}".format(*self.compute_capability)


@dataclass(frozen=True, slots=True)
class Traced:
    """What CUPTI saw of one run: name and duration of each kernel, memset and copy, and first start to last end."""

    launches: tuple[tuple[str, float], ...]
    span_us: float

    @property
    def sum_us(self) -> float:
        """The durations together."""
        return sum(us for _, us in self.launches)


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed run. `sm_mhz`: the SM clock meanwhile, None: unknown. `traced`: by CUPTI, whose span `us` is then."""

    us: float
    sm_mhz: float | None = None
    traced: Traced | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """All samples of one contender: kept ones by round, then the discarded ones with the round each belongs to."""

    rounds: tuple[tuple[Sample, ...], ...]
    discarded: tuple[tuple[int, Sample], ...] = ()
    noisy: bool = False
    throttled: bool = False
    message: str | None = None

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The kept samples of all rounds, in order."""
        return tuple(sample for samples in self.rounds for sample in samples)


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What the compiler said of one kernel instance. Occupancy is resident warps over the SM's limit, 0 to 1."""

    kernel: str
    cubin_sha256: str
    registers: int
    spill_bytes: int | None
    shared_bytes: int
    stack_bytes: int = 0
    occupancy: float | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """The outcome of one contender on one case. The parts that a status does not have are None.

    `kernel`, `telemetry` and `summary` are plain JSON in the shape that the result format documents.
    """

    case: Case
    contender: str
    status: Status
    message: str | None
    bytes: int | None
    simulated: bool = False
    timing: Timing | None = None
    summary: Mapping[str, Json] | None = None
    check: Check | None = None
    kernel: Mapping[str, Json] | None = None
    telemetry: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Harness:
    """What measured. `protocol` counts the changes of method after which times are not the same thing as before
    (docs/method.md lists them); `code_sha256` is the digest of the measuring code, None where it was not recorded.
    """

    protocol: int = 1
    code_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ResultSet:
    """One result file. `environment["libraries"]` has, for each other library that was timed, versions by package.
    `command` is empty where the user wanted it left out.
    """

    gpubench: str
    created: str
    command: tuple[str, ...]
    suite: Mapping[str, Json]
    environment: Mapping[str, Json]
    ceiling: Ceiling
    records: tuple[Record, ...]
    harness: Harness = Harness()
    source: Source = field(default_factory=Source)
    extra: Mapping[str, Json] = field(default_factory=dict)
