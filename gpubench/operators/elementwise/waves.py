"""When a thread takes four vectors, so that all of y is under way at once."""

from __future__ import annotations

from gpubench import dtypes
from gpubench.model import DeviceInfo
from gpubench.operators.elementwise.merged import Merged

WAVE_BYTES = 20
"""Bytes of all operands' vectors, at most, for a thread to take four where two would be more threads than all SMs hold
at once and four are not: all of y is under way at once. On an H100 negatives of 2097152 int64 14.3 us (16.1), of
4194304 int32 14.2 (16.0), of 1976471 int8 to int64 8.9 (9.7), copies of 382982 x 16 float16 11.6 (12.6), 32 of the
random cases that the limit was chosen with 1.05 times as fast, 0.99 to 1.14; two operands of 32 bytes 0.97 to 1.04,
three of 48 0.94 to 0.99."""

LIGHT = ("copy", "neg", "abs", "relu", "clamp", "add", "sub", "mul", "maximum", "minimum", "where")
"""Functions of 8-byte and complex numbers that need no registers beside these vectors: exponentials of 1120000 float64
10.6 us with four (10.3), sigmoids 0.97, absolute values of complex128 0.95, but a sine 1.13."""

NO_WAVE = {"sin": 2, "sqrt": 4}
"""Bytes of an operand from which a function that is not light does not, if fewer than 8. Seven square roots of float32
with two vectors 1.07 times as fast, 2321685 to float16 8.6 us (9.3), but of 16 bits 0.95; nine sines 1.05, 7774958 of
float16 12.7 (14.5), one to float64 0.93; 17 reciprocal roots, exponentials and `silu` 0.90 to 1.04."""


def is_a_wave_of_four(shape: Merged, device: DeviceInfo, function: str) -> bool:
    """Say whether all threads are on the SMs at once with four vectors each, but not with two."""
    operands = [dtypes.dtype(operand.dtype) for operand in shape.inputs]
    few = shape.vector * sum(operand.itemsize for operand in operands) <= WAVE_BYTES
    widest = max(operand.itemsize for operand in operands)
    hypot = function == "abs" and any(operand.kind == "complex" for operand in operands)
    light = widest < NO_WAVE.get(function, 8) or (function in LIGHT and not hypot)
    wave = device.max_threads_per_sm * device.sm_count * shape.vector
    return few and light and 2 * wave < shape.elements <= 4 * wave
