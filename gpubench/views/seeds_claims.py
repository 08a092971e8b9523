"""What the texts on PyTorch's and OneFlow's kernels claim, as data: cases of the suite `seeds`, and the figures there.

A figure of the texts is theirs, taken on their GPU (an A100 PCIe of 40 GB).
"""

from __future__ import annotations

from dataclasses import dataclass

from gpubench.model import Json

LARGE_ROWS = "index_add/{}/dim=0/n={}/{}/float32"
FEW_1D = LARGE_ROWS.format("33554432", 15, "below=1024")
FEW_2D = LARGE_ROWS.format("32768x1024", 15, "below=1024")
FEW_3D = LARGE_ROWS.format("32x1024x1024", 15, "uniform")
MANY_1D = LARGE_ROWS.format("33554432", 1024, "below=1024")
MANY_2D = LARGE_ROWS.format("32768x1024", 1024, "below=1024")

TABLE = (
    (FEW_1D, 17.15, 12.0),
    (FEW_2D, 27.78, 26.98),
    (FEW_3D, 186.88, 247.10),
    (MANY_1D, 7.9, 7.79),
    (MANY_2D, 27.87, 28.67),
)
"""The text's table: case, PyTorch's and OneFlow's time in microseconds, on its A100."""

Configuration = tuple[str, dict[str, Json]]
WORKED: tuple[Configuration, ...] = (
    (
        "sum/16x128x64x128/dim=1/float32",
        {"block": [32, 4], "grid": [1024, 1], "output_vec_size": 4, "ctas_per_output": 1},
    ),
    ("sum/2x3x4x5/dim=1/float32", {"block": [8, 2], "grid": [1, 1], "output_vec_size": 4, "num_outputs": 40}),
    (
        "sum/8x32x64x128/dim=1/float32",
        {"block": [32, 4], "grid": [128, 1], "output_vec_size": 4, "num_outputs": 65536, "input_mult": [0, 0, 0]},
    ),
)
"""The text's worked examples of the reduction's rule, and what it finds (for the second one: what its rule gives)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """`slow` should take longer than `fast` on a case, by `theirs` times where the text gives that."""

    says: str
    case: str
    slow: str
    fast: str
    theirs: float | None = None


CLAIMS = (
    Claim(
        "Merging dims takes the kernel from 300+ to 180+ us on (32, 1024, 1024) with 15 indices",
        FEW_3D,
        "gpubench:uncollapsed",
        "gpubench:auto_pytorch",
        300 / 180,
    ),
    Claim(
        "Few indices: reading each index once pays where the tensor is large",
        FEW_3D,
        "gpubench:large_index",
        "gpubench:small_index",
    ),
    Claim(
        "Few indices: the same on rows of 1024",
        FEW_2D,
        "gpubench:large_index",
        "gpubench:small_index",
    ),
    Claim(
        "Few indices in one dim are a bad case of PyTorch: one block, one thread",
        FEW_1D,
        "gpubench:auto_pytorch",
        "gpubench:oneflow",
        17.15 / 12.0,
    ),
    Claim(
        "Without a kernel of its own for few indices OneFlow is slower where the tensor is large",
        FEW_3D,
        "gpubench:oneflow",
        "gpubench:auto_pytorch",
        247.10 / 186.88,
    ),
)


PRESUMED = (
    (
        "index_add",
        "float16",  # bfloat16 too
        False,
        "here one reduction instruction on the pair padded with -0, without torch's tests of the neighbour's bounds",
    ),
    (
        "sum",
        "float16",
        True,
        "the texts' PyTorch 2.6 loads 4 elements at once, 8 bytes of a 16-bit dtype; later releases load more",
    ),
    (
        "elementwise",
        "/out=float16/float32",
        True,
        "later releases of PyTorch copy float32 to float16 by a functor of its own, without run-time casts",
    ),
)
"""Operator, end of the case id, whether ours is slower, and what is presumed to make the difference to torch."""

WIDTHS = ("unrolled", "vectorized_2", "vectorized_4", "vectorized_8")
"""Variants of elementwise with vectors of 1, 2, 4 and 8 elements."""
