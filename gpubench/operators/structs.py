"""What kernels take by value: C scalars and structs as bytes.

Each struct of cuda_src that a kernel takes is one `Struct` here or beside the host rule that fills it. Its numpy dtype
has C's alignment; `GPUBENCH_LAYOUT` beside the C++ struct holds the size and the last field's offset, and a test
compiles the offset of every field.

Magic numbers: T. Granlund and P. L. Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994 (the
round-up method); they hold for numbers and divisors below 2^31.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpubench.model import Value

if TYPE_CHECKING:
    import numpy as np

MAX_DIMS = 8
"""Dims that `gpubench::Strided` holds."""

MAX_ITERATOR_DIMS = 25
"""Dims that `gpubench::OffsetCalculator` holds."""

MAX_ROW_GROUPS = 2
"""Kinds of groups, one of the other, that `gpubench::RowPlaces` holds."""

LIMIT = 2**31 - 1
"""The largest number that may be divided, and the largest divisor."""


def int32(value: int) -> Value:
    """Return a C `int`."""
    return Value(value.to_bytes(4, "little", signed=True))


def int64(value: int) -> Value:
    """Return a C `long long`."""
    return Value(value.to_bytes(8, "little", signed=True))


def unsigned(value: int, itemsize: int) -> Value:
    """Return a C `unsigned int` (4 bytes) or `unsigned long long` (8)."""
    return Value(value.to_bytes(itemsize, "little"))


def float64(value: float) -> Value:
    """Return a C `double`."""
    import numpy as np

    return Value(np.float64(value).tobytes())


class Struct:
    """A struct of cuda_src: its name in C++, the file that defines it under cuda_src or its include folder, its fields.

    A field is a numpy code (`i4` int, `u4` unsigned int, `i8` long long) or another struct, or one of these and how
    many there are.
    """

    def __init__(self, cpp: str, source: str, **fields: str | Struct | tuple[str | Struct, int]) -> None:
        """Keep the fields; the dtype is made when it is needed, for this module is imported without numpy."""
        self.cpp = cpp
        self.source = source
        self._fields = fields

    @functools.cached_property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype with C's layout."""
        import numpy as np

        parts = []
        for name, field in self._fields.items():
            kind, *count = field if isinstance(field, tuple) else (field,)
            parts.append((name, kind.dtype if isinstance(kind, Struct) else kind, *count))
        return np.dtype(parts, align=True)

    def value(self, *sources: object, **fields: Any) -> Value:
        """Return the bytes. What is not among `fields` is the attribute of that name of the first source that has it.

        TypeError when a field is missing or unknown; OverflowError for a number that is too large.
        """
        import numpy as np

        for name in self._fields.keys() - fields.keys():
            fields[name] = next((getattr(source, name) for source in sources if hasattr(source, name)), None)
        if fields.keys() != self._fields.keys() or None in fields.values():
            raise TypeError(f"{self.cpp} has the fields {', '.join(self._fields)}; given: {fields}")
        record = np.zeros((), self.dtype)  # zeros: padding is part of the bytes
        for name, field in fields.items():
            record[name] = field
        return Value(record.tobytes())

    def read(self, data: bytes) -> Mapping[str, Any]:
        """Return the fields that these bytes hold."""
        import numpy as np

        (record,) = np.frombuffer(data, self.dtype)
        return {name: record[name].tolist() for name in self._fields}


INTEGER_DIVIDER = Struct(
    "gpubench::IntegerDivider", "gpubench/integer_divider.cuh", divisor="u4", magic="u4", shift="u4"
)

STRIDED = Struct(
    "gpubench::Strided",
    "gpubench/strided.cuh",
    dims="i4",
    padding="i4",
    sizes=("i8", MAX_DIMS),
    strides=("i8", MAX_DIMS),
)

DIVIDED_STRIDED = Struct(
    "gpubench::DividedStrided",
    "gpubench/strided.cuh",
    dims="i4",
    sizes=(INTEGER_DIVIDER, MAX_DIMS),
    strides=("i8", MAX_DIMS),
)

ROW_PLACES = Struct(
    "gpubench::RowPlaces",
    "gpubench/strided.cuh",
    **dict.fromkeys(("pitch", "further", "beyond"), "i8"),
    **dict.fromkeys(("group", "groups"), INTEGER_DIVIDER),
)


def _calculator(operands: int) -> Struct:
    return Struct(
        f"gpubench::OffsetCalculator<{operands}>",
        "gpubench/offset_calculator.cuh",
        dims="i4",
        sizes=(INTEGER_DIVIDER, MAX_ITERATOR_DIMS),
        strides=("u4", MAX_ITERATOR_DIMS * operands),
    )


OFFSET_CALCULATORS = tuple(map(_calculator, (1, 2, 3, 4)))
"""By the number of tensors; the first is for one."""


def magic(divisor: int) -> tuple[int, int]:
    """Return (magic, shift) with n // divisor == (n + (n * magic >> 32)) >> shift for every n of 0 to 2^31 - 1.

    ValueError for a divisor outside 1 to 2^31 - 1.
    """
    if not 1 <= divisor <= LIMIT:
        raise ValueError(f"no magic numbers for the divisor {divisor}; allowed are 1 to {LIMIT}")
    shift = (divisor - 1).bit_length()
    return (((1 << 32) * ((1 << shift) - divisor)) // divisor + 1, shift)


def divider(divisor: int) -> tuple[int, int, int]:
    """Return a `gpubench::IntegerDivider`, to stand in a struct."""
    return (divisor, *magic(divisor))


def strided(sizes: Sequence[int], strides: Sequence[int]) -> Value:
    """Return a `gpubench::Strided`: dims slowest first, strides in elements. ValueError for more than 8 dims."""
    _check("Strided", MAX_DIMS, sizes, strides)
    unused = MAX_DIMS - len(sizes)
    return STRIDED.value(dims=len(sizes), padding=0, sizes=[*sizes, *[1] * unused], strides=[*strides, *[0] * unused])


def divided_strided(sizes: Sequence[int], strides: Sequence[int]) -> Value:
    """Return a `gpubench::DividedStrided`: dims slowest first here, fastest first there.

    ValueError for more than 8 dims; sizes must multiply to less than 2^31.
    """
    _check("DividedStrided", MAX_DIMS, sizes, strides)
    unused = MAX_DIMS - len(sizes)
    return DIVIDED_STRIDED.value(
        dims=len(sizes),
        sizes=[divider(size) for size in (*reversed(sizes), *[1] * unused)],
        strides=[*reversed(strides), *[0] * unused],
    )


def row_places(pitch: int, groups: Sequence[tuple[int, int]] = ()) -> Value:
    """Return a `gpubench::RowPlaces`: the pitch of rows, then (rows, pitch) of groups, (groups, pitch) of outer groups.

    ValueError for more than these.
    """
    if len(groups) > MAX_ROW_GROUPS:
        raise ValueError(f"rows in groups of {len(groups)} kinds do not fit in a RowPlaces of {MAX_ROW_GROUPS}")
    pitches = (pitch, *(own for _, own in groups))
    more = [(divider(size), own - size * before) for (size, own), before in zip(groups, pitches, strict=False)]
    (group, further), (outer, beyond) = (*more, *[(divider(1), 0)] * (MAX_ROW_GROUPS - len(more)))
    return ROW_PLACES.value(pitch=pitch, further=further, beyond=beyond, group=group, groups=outer)


def offset_calculator(sizes: Sequence[int], *strides: Sequence[int]) -> Value:
    """Return a `gpubench::OffsetCalculator<len(strides)>`: dims fastest first, one list of strides a tensor.

    ValueError for more than 25 dims; OverflowError for strides that 32 bits do not hold.
    """
    _check("OffsetCalculator", MAX_ITERATOR_DIMS, sizes, *strides)
    unused = MAX_ITERATOR_DIMS - len(sizes)
    steps = [stride for dim in zip(*strides, strict=True) for stride in dim]
    return OFFSET_CALCULATORS[len(strides) - 1].value(
        dims=len(sizes),
        sizes=[divider(size) for size in (*sizes, *[1] * unused)],
        strides=[*steps, *[0] * (unused * len(strides))],
    )


def _check(name: str, most: int, sizes: Sequence[int], *strides: Sequence[int]) -> None:
    if len(sizes) > most:
        raise ValueError(f"{len(sizes)} dims do not fit in a {name} of {most}")
    if any(len(operand_strides) != len(sizes) for operand_strides in strides):
        raise ValueError(f"{len(sizes)} sizes but {[len(operand_strides) for operand_strides in strides]} strides")
