"""The naive kernels of the four operators, interpreted by numpy: what lets the fake device give right answers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gpubench.dtypes import DTYPES, DType
from gpubench.errors import UnsupportedError
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.operators.structs import STRIDED

if TYPE_CHECKING:
    import numpy as np

    from gpubench.devices.fake_memory import FakeMemory

    Array = np.ndarray[Any, np.dtype[Any]]

_BY_CPP = {row.cpp: row for row in DTYPES.values()}


class Walk(NamedTuple):
    """A `gpubench::Strided`: sizes and strides in elements, slowest first."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]


class Call(NamedTuple):
    """One launch to interpret: template arguments and kernel arguments as bytes."""

    memory: FakeMemory
    template: tuple[str, ...]
    arguments: Sequence[bytes]

    def dtype(self, index: int) -> DType:
        """Return the dtype that a template argument names."""
        return _BY_CPP[self.template[index]]

    def integer(self, index: int) -> int:
        """Return a `long long` or a pointer."""
        return int.from_bytes(self.arguments[index], "little", signed=True)

    def real(self, index: int) -> float:
        """Return a `double`."""
        value: float = struct.unpack("<d", self.arguments[index])[0]
        return value

    def walk(self, index: int) -> Walk:
        """Return a `gpubench::Strided`."""
        one = STRIDED.read(self.arguments[index])
        return Walk(tuple(one["sizes"][: one["dims"]]), tuple(one["strides"][: one["dims"]]))

    def tensor(self, index: int, dtype: DType, *walks: Walk) -> Array:
        """Return the memory that a pointer and walks (joined, slowest first) describe."""
        sizes = [size for walk in walks for size in walk.sizes]
        strides = [stride for walk in walks for stride in walk.strides]
        return self.memory.tensor(self.integer(index), dtype.numpy, sizes, strides)


def store(target: Array, values: Array) -> None:
    """Convert values in row-major order to the target's dtype and write them through its strides."""
    import numpy

    with numpy.errstate(all="ignore"):
        target[...] = values.reshape(target.shape).astype(target.dtype)


def _cumsum(call: Call) -> Array:
    import numpy

    x_dtype, y_dtype = call.dtype(0), call.dtype(1)
    lines, length = call.integer(4), call.integer(5)
    x = call.tensor(0, x_dtype, call.walk(2), Walk((length,), (call.integer(6),)))
    y = call.tensor(1, y_dtype, call.walk(3), Walk((length,), (call.integer(7),)))
    terms = x.astype(DTYPES[y_dtype.accumulator].numpy).reshape(lines, length)
    with numpy.errstate(all="ignore"):
        store(y, numpy.cumsum(terms, axis=1, dtype=terms.dtype))
    return y


def _sum(call: Call) -> Array:
    import numpy

    x_dtype, y_dtype = call.dtype(0), call.dtype(1)
    outputs, terms = call.integer(5), call.integer(6)
    x = call.tensor(0, x_dtype, call.walk(2), call.walk(4))
    y = call.tensor(1, y_dtype, call.walk(3))
    values = x.astype(DTYPES[y_dtype.accumulator].numpy).reshape(outputs, terms)
    with numpy.errstate(all="ignore"):
        store(y, values.sum(axis=1, dtype=values.dtype))
    return y


def _index_add(call: Call) -> Array:
    import numpy

    dtype = call.dtype(0)
    count, width = call.integer(5), call.integer(6)
    size, alpha = call.integer(10), call.real(11)
    destination = call.tensor(0, dtype, Walk((size,), (call.integer(7),)), call.walk(3))
    source = call.tensor(1, dtype, Walk((count,), (call.integer(8),)), call.walk(4))
    index = call.tensor(2, call.dtype(1), Walk((count,), (call.integer(9),)))
    accumulator = DTYPES[dtype.accumulator].numpy
    with numpy.errstate(all="ignore"):
        total = destination.astype(accumulator).reshape(size, width)
        terms = source.astype(accumulator).reshape(count, width) * accumulator.type(alpha)
        inside = (index >= 0) & (index < size)
        numpy.add.at(total, index[inside], terms[inside])
        store(destination, total)
    return destination


def _elementwise(call: Call) -> Array:
    """Interpret `naive1`, `naive2` or `naive3`: functor, dtype of the work, of the result, of the operands."""
    import numpy

    function = FUNCTIONS[call.template[0].removeprefix("gpubench::functions::")]
    arity = function.arity
    work = call.dtype(1).numpy
    y = call.tensor(0, call.dtype(2), call.walk(1 + arity))
    operands = []
    for index in range(arity):
        array = call.tensor(1 + index, call.dtype(3 + index), call.walk(2 + arity + index)).reshape(-1)
        operands.append(array if index < function.masks else array.astype(work))
    scalars = dict(zip(function.scalars, (call.real(-2), call.real(-1)), strict=False))
    with numpy.errstate(all="ignore"):
        store(y, numpy.asarray(function.compute(numpy, tuple(operands), scalars)))
    return y


_KERNELS: dict[str, Callable[[Call], Array]] = {
    "gpubench::cumsum::naive": _cumsum,
    "gpubench::sum::naive": _sum,
    "gpubench::index_add::naive": _index_add,
    **{f"gpubench::elementwise::naive{arity}": _elementwise for arity in (1, 2, 3)},
}


def template_arguments(kernel: str) -> tuple[str, tuple[str, ...]]:
    """Split `a::b<c<d>, e>` into `a::b` and (`c<d>`, `e`)."""
    name, _, rest = kernel.partition("<")
    parts, depth, start = [], 0, 0
    inner = rest.rpartition(">")[0]
    for place, character in enumerate(inner):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append(inner[start:place].strip())
            start = place + 1
    return name.strip(), tuple([*parts, inner[start:].strip()] if inner else ())


def interpreter(kernel: str) -> Callable[[Call], Array]:
    """Return what interprets a kernel and gives the output it wrote.

    UnsupportedError for all but the naive kernels: the fake device has no GPU's behaviour to offer.
    """
    name, _ = template_arguments(kernel)
    if name not in _KERNELS:
        raise UnsupportedError(f"The fake device interprets the naive kernels only, not {kernel}.")
    return _KERNELS[name]
