"""Kernels and operators of the user's own as plain data: what a suite says of them, checked, and nothing run.

Texts of expressions stay texts: they are read again where they are worked out, so that all of this travels as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

from gpubench.model import Json, Role
from gpubench.names import OWN
from gpubench.operators.parameters import from_json, to_json

Form = Literal["source", "binary", "python", "library"]
"""A .cu text; a .cubin or .ptx; a Python function; a shared library of host code."""

DEVICE_CODE: tuple[Form, ...] = ("source", "binary")
"""Runs on the device alone; the others run with the rights of the user."""

Arrays = Literal["cupy", "torch", "jax", "numba", "numpy", "interface"]
"""What a function is given: arrays of this library on our memory; `interface`: objects with
`__cuda_array_interface__`; `numpy`: views, on the host device alone."""


@dataclass(frozen=True, slots=True)
class Step:
    """A launch, or (`memset`: an operand or `workspace`) a memset of `bytes` bytes to `value`."""

    entry: str = ""
    arguments: tuple[str, ...] = ()
    grid: tuple[str, ...] = ("1",)
    block: tuple[str, ...] = ("1",)
    shared_bytes: str = "0"
    waits_for_blocks: bool = False
    memset: str = ""
    bytes: str = "0"
    value: int = 0


@dataclass(frozen=True, slots=True)
class Bound:
    """The accuracy that a kernel states for itself: see `model.Accuracy`. `additions` is an expression."""

    accumulator: str
    additions: str
    growth: Literal["sqrt", "linear"] = "sqrt"


@dataclass(frozen=True, slots=True)
class Kernel:
    """One implementation of an operator. `function`: of a Python file, or the symbol of a shared library. `tune`: the
    constants that a tuner may choose, with their candidates; `constraints` hold among them, and `regimes` are the
    regions of problems, by name, that may each have values of their own.
    """

    name: str
    operator: str
    form: Form
    file: str
    steps: tuple[Step, ...] = ()
    function: str = ""
    arrays: Arrays = "cupy"
    signature: str = ""
    when: str = "1"
    layouts: Literal["contiguous", "any"] = "contiguous"
    constants: Mapping[str, int] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    workspace_bytes: str = "0"
    workspace_zeroed: bool = False
    accuracy: Bound | None = None
    tune: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    constraints: tuple[str, ...] = ()
    regimes: Mapping[str, str] = field(default_factory=dict)

    @property
    def contender(self) -> str:
        """Its name among the contenders."""
        return OWN + self.name


@dataclass(frozen=True, slots=True)
class OwnOperand:
    """An operand: sizes are expressions over the operator's axes; dtype is a name, or `{dtype}`, the case's."""

    name: str
    role: Role
    shape: tuple[str, ...]
    dtype: str = "{dtype}"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What a float may differ by: atol + rtol * |reference|, each by the output's dtype."""

    rtol: Mapping[str, float] = field(default_factory=dict)
    atol: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OwnOperator:
    """An operator that a suite declares. `reference` is `file.py:function`: float64 arrays in, the right answer out."""

    name: str
    axes: tuple[str, ...]
    operands: tuple[OwnOperand, ...]
    file: str
    function: str
    dtypes: tuple[str, ...]
    tolerance: Tolerance = Tolerance()
    reads: str = ""
    writes: str = ""


@dataclass(frozen=True, slots=True)
class Brought:
    """All that a suite brings. `files` are further ones that its code needs, by their names in the suite's folder."""

    kernels: tuple[Kernel, ...] = ()
    operators: tuple[OwnOperator, ...] = ()
    files: tuple[str, ...] = ()

    def kernel(self, contender: str) -> Kernel | None:
        """Return the kernel of a contender's name, None when there is none."""
        return next((kernel for kernel in self.kernels if kernel.contender == contender), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The files that it needs, each once, without those that sources include."""
        kernels, operators = (kernel.file for kernel in self.kernels), (operator.file for operator in self.operators)
        return tuple(dict.fromkeys((*kernels, *operators, *self.files)))

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON."""
        plain: dict[str, Json] = to_json(self)
        return plain


def brought_from_json(data: Mapping[str, Any]) -> Brought:
    """Return what `Brought.to_json` wrote. ParameterError for anything else."""
    return from_json(Brought, data)


def is_inside(name: str) -> bool:
    """Tell whether a file's name can only mean a file in the suite's folder or below."""
    path = PurePosixPath(name)
    plain = name.isprintable() and "\\" not in name and len(name) <= 200
    return plain and bool(path.parts) and not path.is_absolute() and not {"..", "."} & {*name.split("/")}
