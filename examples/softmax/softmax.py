"""What softmax over rows is, in numpy: float64 in, float64 out."""

import numpy as np


def softmax(x, *, cols):
    """Return exp(x) over its sum along each row."""
    shifted = np.exp(x - x.max(axis=1, keepdims=True)) if cols else x
    return shifted / shifted.sum(axis=1, keepdims=True) if cols else x
