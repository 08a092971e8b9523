"""The variants after PyTorch's elementwise kernels: which problems each takes, and its launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Problem, Refused
from gpubench.operators.base import Variant
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.operators.elementwise.promotion import accuracy
from gpubench.operators.elementwise.pytorch import launches
from gpubench.operators.elementwise.pytorch.iterator import Walk
from gpubench.operators.elementwise.pytorch.launches import Form
from gpubench.operators.elementwise.pytorch.width import EIGHT_WIDE, WIDEST, aligned_width, items_per_thread
from gpubench.operators.elementwise.pytorch.work import Work, types_of, work_of
from gpubench.operators.structs import MAX_ITERATOR_DIMS

PROBES = ("copy", "exp", "add", "addcmul", "where")
"""The functions whose instances are compiled ahead: each arity, each kind of operand, and a costly one. The functors
themselves are compiled in full by the naive kernel's instances; all of them here would be some thousands."""

LARGEST_VECTOR_BYTES = 32
"""A fixed width makes at most two 16-byte accesses of a vector."""


Rule = Callable[[Work], str | None]
"""Work -> why a kernel does not take it, or None."""


def _plan(name: str, problem: Problem[Any], launch: Callable[[Work, Walk], Launch], rule: Rule) -> Plan | Refused:
    """Return one launch for each walk of work that the rule allows."""
    work = work_of(problem)
    reason = rule(work)
    if reason is not None:
        return Refused(reason)
    steps = tuple(launch(work, walk) for walk in work.walks())
    return Plan(name, steps, accuracy(problem.params, problem.case.dtype), notes=_notes(steps))


def _notes(steps: Sequence[Launch]) -> dict[str, Any]:
    return {"kernels": [step.kernel for step in steps]} if len(steps) > 1 else {}


def _too_many_dims(work: Work) -> str | None:
    for walk in work.walks():
        if not work.is_contiguous(walk) and len(walk.sizes) > MAX_ITERATOR_DIMS:
            return f"{len(walk.sizes)} dims are left after merging; the kernel walks at most {MAX_ITERATOR_DIMS}"
    return None


def _cast_needed(work: Work) -> str | None:
    if not work.needs_cast:
        return None
    found = ", ".join(tensor.dtype for tensor in work.tensors)
    return f"a cast is needed (output and operands are {found}; without one: {', '.join(work.natural)})"


def _not_contiguous(work: Work) -> str | None:
    """Return why a kernel without offsets or casts does not take the work."""
    reason = _cast_needed(work)
    if reason is None and not all(work.is_contiguous(walk) for walk in work.walks()):
        reason = "some operand is strided or broadcast; this kernel takes contiguous ones only"
    return reason


def _probes(dtype: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return (function, dtype of the work, dtypes of output and operands) of the instances compiled ahead."""
    kind = dtypes.dtype(dtype).kind
    return [(name, *types_of(name, dtype)) for name in PROBES if kind in FUNCTIONS[name].kinds]


def _itemsizes(types: Sequence[str]) -> tuple[int, ...]:
    return tuple(dtypes.dtype(name).itemsize for name in types)


@dataclass(eq=False, slots=True)
class Vectorized:
    """Several neighbouring elements an access; the width by every pointer's alignment and the output's dtype."""

    name: str = "vectorized"
    summary: str = "contiguous: 8 elements a thread (bytes: 16), vectors of up to 16 bytes by alignment"
    origin: str = "PyTorch's vectorized_elementwise_kernel, newer form; no casts, nothing strided, not 16-byte elements"
    older: bool = False

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch for each part that 32-bit indices reach; a part that allows no vector is unrolled."""
        form = Form(self.older, device.compute_capability)

        def launch(work: Work, walk: Walk) -> Launch:
            return launches.vectorized(work, walk, form.width(work, walk), form.items(work.itemsizes))

        def no_vector(work: Work) -> str | None:
            reason = _not_contiguous(work)
            if reason is None and work.walks() and all(form.width(work, walk) == 1 for walk in work.walks()):
                other = "unrolled_older" if self.older else "unrolled"
                reason = f"alignment and element size allow no vector of two; `{other}` is for that"
            return reason

        return _plan(self.name, problem, launch, no_vector)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return the probes at the widest of any GPU; `add` also at the widths that poorer alignment gives."""
        found = []
        form = Form(self.older, EIGHT_WIDE[0])
        for function, work, types in _probes(dtype):
            sizes = _itemsizes(types)
            width, items = form.widest(sizes), form.items(sizes)
            while width > 1:
                kernel = launches.vectorized_kernel(function, work, types, width, items)
                found.append(("elementwise/seeds/vectorized.cu", kernel))
                width = width // 2 if function == "add" else 1
        return tuple(found)


@dataclass(eq=False, slots=True)
class FixedWidth:
    """`vectorized` with a width that the suite chooses, to measure widths side by side; `unrolled` is width 1."""

    width: int
    name: str
    summary: str
    origin: str

    def _no_vector(self, work: Work) -> str | None:
        """Return why other functions, casts, strides, long vectors and pointers that are not aligned are refused."""
        if work.function not in _MEASURED:
            return f"this probe of the vector width claims only {', '.join(_MEASURED)}"
        reason = _not_contiguous(work)
        if reason is None and max(work.itemsizes) * self.width > LARGEST_VECTOR_BYTES:
            reason = f"{self.width} elements are more than {LARGEST_VECTOR_BYTES} bytes"
        if reason is None and not all(self._aligned(work, walk) for walk in work.walks()):
            reason = f"some pointer is not aligned to {self.width} elements"
        return reason

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch for each part that 32-bit indices reach."""
        del device

        def launch(work: Work, walk: Walk) -> Launch:
            return launches.vectorized(work, walk, self.width, items_per_thread(work.itemsizes))

        return _plan(self.name, problem, launch, self._no_vector)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return the three functions, where a vector of the dtype is not too long."""
        found = []
        for function, work, types in _probes(dtype):
            sizes = _itemsizes(types)
            if function in _MEASURED and max(sizes) * self.width <= LARGEST_VECTOR_BYTES:
                kernel = launches.vectorized_kernel(function, work, types, self.width, items_per_thread(sizes))
                found.append(("elementwise/seeds/vectorized.cu", kernel))
        return tuple(found)

    def _aligned(self, work: Work, walk: Walk) -> bool:
        return aligned_width(launches.places(work, walk), work.itemsizes, WIDEST) >= self.width


_MEASURED = ("copy", "add", "addcmul")


@dataclass(eq=False, slots=True)
class Unrolled:
    """The grid of `vectorized` (of `vectorized_older` where `older`) with one element an access."""

    name: str = "unrolled"
    summary: str = "contiguous: 8 elements a thread (bytes: 16), one element an access"
    origin: str = "PyTorch's unrolled_elementwise_kernel, for pointers that allow no vector; no casts, nothing strided"
    older: bool = False

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch for each part that 32-bit indices reach."""
        form = Form(self.older, device.compute_capability)

        def launch(work: Work, walk: Walk) -> Launch:
            return launches.unrolled(work, walk, form.items(work.itemsizes))

        return _plan(self.name, problem, launch, _not_contiguous)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return the probes."""
        form = Form(self.older, EIGHT_WIDE[0])
        return tuple(
            (
                "elementwise/seeds/unrolled.cu",
                launches.unrolled_kernel(name, work, types, form.items(_itemsizes(types))),
            )
            for name, work, types in _probes(dtype)
        )


@dataclass(eq=False, slots=True)
class Strided:
    """Any strides, by an offset calculator."""

    name: str = "strided"
    summary: str = "any strides: offsets by multiplication and shift, 2 or 4 elements a thread"
    origin: str = (
        f"PyTorch's elementwise_kernel with OffsetCalculator; no casts, at most {MAX_ITERATOR_DIMS} dims after merging"
    )

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch for each part that 32-bit indices reach."""
        del device
        return _plan(self.name, problem, launches.strided, lambda work: _cast_needed(work) or _too_many_dims(work))

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return the probes."""
        return tuple(("elementwise/seeds/strided.cu", launches.strided_kernel(*probe)) for probe in _probes(dtype))


@dataclass(eq=False, slots=True)
class Casting:
    """Dtypes known at run time only."""

    name: str = "casting"
    summary: str = "dtypes fetched and stored through run-time casts, contiguous or strided, 4 elements a thread"
    origin: str = (
        f"PyTorch's LoadWithCast, StoreWithCast and fetch_and_cast; at most {MAX_ITERATOR_DIMS} dims after merging"
    )

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch for each part that 32-bit indices reach."""
        del device
        return _plan(self.name, problem, launches.casting, _too_many_dims)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return the probes, contiguous and strided."""
        return tuple(
            ("elementwise/seeds/casting.cu", launches.casting_kernel(name, work, len(types) - 1, strided))
            for name, work, types in _probes(dtype)
            for strided in (False, True)
        )


@dataclass(eq=False, slots=True)
class AutoPytorch:
    """The dispatch over the kernels above."""

    name: str = "auto_pytorch"
    summary: str = "dispatch: 32-bit indices? cast? contiguous? vector width; one launch for each part"
    origin: str = f"PyTorch's gpu_kernel_impl, newer form; at most {MAX_ITERATOR_DIMS} dims after merging"
    older: bool = False

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Each part takes the kernel that its own strides and alignment ask for."""
        form = Form(self.older, device.compute_capability)
        return _plan(self.name, problem, partial(launches.dispatched, form=form), _too_many_dims)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """None of its own: it launches the kernels of the other variants."""
        del dtype
        return ()


def _fixed_width(width: int) -> FixedWidth:
    return FixedWidth(
        width,
        f"vectorized_{width}",
        f"`vectorized` with vectors of {width} elements whatever the dtype, to measure the width",
        f"a probe of PyTorch's design; {', '.join(_MEASURED)} only, vectors of at most {LARGEST_VECTOR_BYTES} bytes",
    )


PYTORCH_VARIANTS: tuple[Variant, ...] = (
    Casting(),
    Strided(),
    Unrolled(),
    _fixed_width(2),
    _fixed_width(4),
    _fixed_width(8),
    Vectorized(
        name="vectorized_older",
        summary="contiguous: 4 elements a thread, vectors of 4, 2 or 1 elements by alignment",
        origin="PyTorch's vectorized_elementwise_kernel, older form; no casts, nothing strided",
        older=True,
    ),
    Unrolled(
        name="unrolled_older",
        summary="contiguous: 4 elements a thread, one element an access",
        origin="PyTorch's unrolled_elementwise_kernel, older form, for pointers that allow no vector; no casts, "
        "nothing strided",
        older=True,
    ),
    Vectorized(),
    AutoPytorch(
        name="auto_pytorch_older",
        summary="dispatch of the older form: 4 elements a thread, width by alignment alone",
        origin=f"PyTorch's gpu_kernel_impl, older form; at most {MAX_ITERATOR_DIMS} dims after merging",
        older=True,
    ),
    AutoPytorch(),
)
