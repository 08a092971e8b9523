"""The table of dtypes: one row each, everything that another module needs to know about it."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

Kind = Literal["integer", "float", "complex"]

Name = Literal[
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
"""The names by which suites, result files and commands know the dtypes."""


@dataclass(frozen=True, slots=True)
class DType:
    """One dtype.

    `cpp` is its name in cuda_src. `accumulator` names the dtype in which sums are formed (float32 for the 16-bit
    floats, int64 for integers). `roundoff` is the unit roundoff u (half the distance from 1 to the next number),
    0 for integers; `tiny` the smallest positive subnormal number. `aliases` are the short names that people type.
    """

    name: Name
    cpp: str
    itemsize: int
    kind: Kind
    accumulator: str
    roundoff: float
    tiny: float
    aliases: tuple[str, ...] = ()

    @property
    def part(self) -> Name:
        """The dtype of a complex number's two parts; of any other dtype, itself."""
        parts: dict[str, Name] = {"complex64": "float32", "complex128": "float64"}
        return parts.get(self.name, self.name)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype (bfloat16 comes from ml-dtypes)."""
        import numpy

        if self.name == "bfloat16":
            import ml_dtypes

            bfloat16: np.dtype[Any] = numpy.dtype(ml_dtypes.bfloat16)
            return bfloat16
        return numpy.dtype(self.name)


_ROWS = (
    DType("uint8", "unsigned char", 1, "integer", "int64", 0.0, 0.0, ("u8",)),
    DType("int8", "signed char", 1, "integer", "int64", 0.0, 0.0, ("i8",)),
    DType("int16", "short", 2, "integer", "int64", 0.0, 0.0, ("i16",)),
    DType("int32", "int", 4, "integer", "int64", 0.0, 0.0, ("i32",)),
    DType("int64", "long long", 8, "integer", "int64", 0.0, 0.0, ("i64",)),
    DType("float16", "gpubench::half", 2, "float", "float32", 2.0**-11, 2.0**-24, ("f16", "fp16")),
    DType("bfloat16", "gpubench::bfloat16", 2, "float", "float32", 2.0**-8, 2.0**-133, ("bf16",)),
    DType("float32", "float", 4, "float", "float32", 2.0**-24, 2.0**-149, ("f32", "fp32")),
    DType("float64", "double", 8, "float", "float64", 2.0**-53, 2.0**-1074, ("f64", "fp64")),
    DType("complex64", "gpubench::complex<float>", 8, "complex", "complex64", 2.0**-24, 2.0**-149, ("c64",)),
    DType("complex128", "gpubench::complex<double>", 16, "complex", "complex128", 2.0**-53, 2.0**-1074, ("c128",)),
)

DTYPES: dict[str, DType] = {row.name: row for row in _ROWS}
NAMES: tuple[str, ...] = tuple(DTYPES)

ALIASES: dict[str, str] = {alias: row.name for row in _ROWS for alias in row.aliases}
"""The short names that a command line or a suite may use, with the name each stands for."""


def canonical(name: str) -> str:
    """Return the name that an alias stands for; any other name as it is."""
    return ALIASES.get(name, name)


def dtype(name: str) -> DType:
    """Return the row of `name`; KeyError for a name that is not in the table."""
    return DTYPES[name]


def promote(*names: str) -> str:
    """Return the dtype that an expression of operands of these dtypes has: torch's and numpy's common ground.

    Category first (integer < float < complex); inside a category the wider one. float16 with bfloat16 gives float32;
    uint8 with int8 gives int16. An integer beside a float takes the float's dtype (as torch does; numpy would widen).
    A complex beside a float is as wide as the wider of the two.
    """
    rows = [DTYPES[name] for name in names]
    top = max(("integer", "float", "complex").index(row.kind) for row in rows)
    if top == 0:
        return _promote_integers({row.name for row in rows})
    floats = {row.name for row in rows if row.kind == "float"}
    if top == 1:
        return _promote_floats(floats)
    wide = "complex128" in names or "float64" in floats
    return "complex128" if wide else "complex64"


def _promote_integers(names: set[str]) -> str:
    if len(names) > 1 and names <= {"uint8", "int8"}:
        return "int16"
    order = ("uint8", "int8", "int16", "int32", "int64")
    return max(names, key=order.index)


def _promote_floats(names: AbstractSet[str]) -> str:
    if {"float16", "bfloat16"} <= names and not names & {"float32", "float64"}:
        return "float32"
    order = ("float16", "bfloat16", "float32", "float64")
    return max(names, key=order.index)


def is_exact(name: str) -> bool:
    """Return True for integers, whose answers have no tolerance."""
    return dtype(name).kind == "integer"
