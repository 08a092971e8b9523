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
from gpubench.plan import Accuracy as Accuracy
from gpubench.plan import Argument as Argument
from gpubench.plan import Launch as Launch
from gpubench.plan import Memset as Memset
from gpubench.plan import Plan as Plan
from gpubench.plan import Pointer as Pointer
from gpubench.plan import Refused as Refused
from gpubench.plan import Value as Value
from gpubench.plan import Workspace as Workspace
from gpubench.revision import Revision as Revision
from gpubench.revision import Source as Source

Json = Any  # what json.loads returns: None, bool, int, float, str, list or dict of these

Method = Literal["cold", "hot", "graph", "graph-cold"]
COLD_METHODS: tuple[Method, ...] = ("cold", "graph-cold")
"""The L2 cache is flushed, and in-place operands restored, before each run."""

REPEATS = 10
"""Runs that one sample of the other methods is the mean of."""

Order = Literal["random", "alternating"]
Clock = Literal["events", "cupti", "both"]
Integrity = Literal["plain", "strict"]
Distribution = Literal["normal", "uniform", "integers", "with_nonfinite"]
Role = Literal["in", "out", "inout"]


@dataclass(frozen=True, slots=True)
class TimingOptions:
    """How long and how often a contender is timed. `max_noise` is the half-width of the median's 95 % interval
    relative to the median at which sampling stops; `time_limit_s` bounds the sampling of one contender over all
    rounds; `call_limit_s` what one sample may take where times are real; `timeout_s` is the deadline of the whole case,
    after which its worker is killed. `order`: who comes when in a round, at random or alternating (A B, B A, A B ...).
    `clock`: CUDA events, CUPTI's, or events and some by CUPTI. `integrity`: strict for contenders not to be trusted.
    `least_rounds`: after so many, who has used up `time_limit_s` gets no other; 0: everybody gets all rounds.
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
    call_limit_s: float = 10.0
    least_rounds: int = 0


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
