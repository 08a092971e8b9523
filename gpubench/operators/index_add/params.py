"""What a suite may write for `index_add`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from gpubench.layout import Layout

INDEX_DTYPES = ("int64", "int32")


@dataclass(frozen=True, slots=True)
class Below:
    """Indices drawn evenly from the first `below` places: heavy contention when it is small."""

    below: int


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Every place that occurs does so exactly `duplicates` times (the last one perhaps fewer), in random order."""

    duplicates: int


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """Even draws, of which `out_of_range` lie outside the dim: an error of the case, to show that it is caught."""

    out_of_range: int


@dataclass(frozen=True, slots=True)
class IndexFile:
    """Indices of the user's own: an npy file of integers, in the suite's folder or below it."""

    file: str


@dataclass(frozen=True, slots=True)
class FromFile:
    """What a case keeps of such a file: name, hash, how many different places it names, the count of the commonest.

    A suite writes `indices: {file: ...}`; this stands in its place in the case and in the record.
    """

    in_suites: ClassVar[bool] = False

    file: str
    sha256: str
    distinct: int
    most: int


Pattern = Literal["uniform", "zipf", "sorted", "same", "half_same"] | Below | Duplicates | OutOfRange | FromFile


@dataclass(frozen=True, slots=True)
class IndexAddParams:
    """destination[..., index[i], ...] += alpha * source[..., i, ...] for every i, in place; duplicates add up.

    shape: sizes of the destination. indices: number of indices, the size of the source's dim, or the file that holds
    them (a normalised case has their number, and a pattern that says which file). pattern: how the indices are drawn;
    "zipf" gives rank r a chance of about 1 / r, "same" names one place only, "half_same" that place by half of all
    draws, and any by the others. layout is the destination's.
    """

    shape: tuple[int, ...]
    indices: int | IndexFile
    dim: int = 0
    pattern: Pattern = "uniform"
    index_dtype: Literal["int64", "int32"] = "int64"
    alpha: float = 1.0
    layout: Layout = field(default_factory=Layout)
    source_layout: Layout = field(default_factory=Layout)

    @property
    def count(self) -> int:
        """The number of indices of a normalised case."""
        assert isinstance(self.indices, int)
        return self.indices
