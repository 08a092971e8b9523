"""The digest of an answer's bytes, by which devices of one model are held against each other."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from gpubench.operators import chunks

PART = 1 << 22
"""Elements of one part: large enough that a thread's work pays, small enough that all threads have some."""


def digest(answer: np.ndarray[Any, np.dtype[Any]]) -> str:
    """Return the SHA-256 of the digests of the array's parts of `PART` elements, in order, as hexadecimal digits.

    Of the logical array, in row-major order, whatever its strides; parts are worked on by threads.
    """
    flat: Any = answer.reshape(-1) if answer.flags.c_contiguous else answer.flat

    def part(place: slice) -> bytes:
        return hashlib.sha256(np.ascontiguousarray(flat[place]).view(np.uint8).data).digest()

    whole = hashlib.sha256(f"{answer.dtype} {answer.shape}".encode())
    for piece in chunks.ordered(part, chunks.ranges(answer.size, PART)):
        whole.update(piece)
    return whole.hexdigest()
