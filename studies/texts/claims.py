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


@dataclass(frozen=True, slots=True)
class Claim:
    """`slow` should take longer than `fast` on a case, by `theirs` times where the text gives that."""

    says: str
    case: str
    slow: str
    fast: str
    theirs: float | None = None


@dataclass(frozen=True, slots=True)
class Worked:
    """What a text's rule gives for a case: some of what the host chooses (`Figures.chosen`). `says`: the text's words,
    where they are not these numbers.
    """

    case: str
    contender: str
    wanted: dict[str, Json]
    says: str = ""


MANY_ROWS = "cumsum/4194304x16/dim=1/float32"
LONG_ROWS = "cumsum/32x4194304/dim=1/float32"
MANY_LINES = "index_add/1000000x128/dim=0/n=1048576/uniform/float32"
LONG_ADD = "elementwise/add/134217728/{}"
COLUMNS, SLABS = "sum/16384x16384/dim=0/float32", "sum/16x128x64x128/dim=1/float32"

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
        "Few indices and a slice that is not large: the grid of the small-index kernel is too small to fill the GPU",
        FEW_2D,
        "gpubench:small_index",
        "gpubench:large_index",
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
    Claim(
        "cumsum: more threads along a row can be detrimental (here 512 in place of 16, for rows of 16)",
        MANY_ROWS,
        "gpubench:sklansky_rows_unsigned",
        "gpubench:sklansky_rows",
    ),
    Claim(
        "cumsum: more threads along a row can be a significant speed-up (here 512 in place of 16, for 32 long rows)",
        LONG_ROWS,
        "gpubench:sklansky_rows_x16",
        "gpubench:sklansky_rows_x512",
    ),
    Claim(
        "index_add: a multiplication and a subtraction in place of the remainder save time (few indices)",
        FEW_3D,
        "gpubench:small_index",
        "gpubench:small_index_multiplied",
    ),
    Claim(
        "index_add: the same with many indices, rows of 128",
        MANY_LINES,
        "gpubench:large_index",
        "gpubench:large_index_multiplied",
    ),
    Claim(
        "index_add: the shapes of grid and block leave room (few indices in one dim)",
        FEW_1D,
        "gpubench:small_index",
        "gpubench:small_index_spread",
    ),
    Claim(
        "index_add: the same on rows of 1024",
        FEW_2D,
        "gpubench:small_index",
        "gpubench:small_index_spread",
    ),
    Claim(
        "index_add: the same where the tensor is large",
        FEW_3D,
        "gpubench:small_index",
        "gpubench:small_index_spread",
    ),
    Claim(
        "sum: a block that grows along y before it is widened has enough threads without harm to the accesses",
        SLABS,
        "gpubench:reduce_config_width_first",
        "gpubench:reduce_config",
    ),
    Claim(
        "sum: the same on long columns",
        COLUMNS,
        "gpubench:reduce_config_width_first",
        "gpubench:reduce_config",
    ),
    Claim(
        "elementwise: several elements read and written at once are faster than one (elements of one byte)",
        LONG_ADD.format("int8"),
        "gpubench:unrolled",
        "gpubench:vectorized",
    ),
    Claim(
        "elementwise: the same where one element is four bytes already",
        LONG_ADD.format("float32"),
        "gpubench:unrolled",
        "gpubench:vectorized",
    ),
)
"""The claims of the texts that two times of one case decide."""

SUM = "sum/{}/dim=1/float32"
FIRST, SECOND, THIRD = (SUM.format(shape) for shape in ("16x128x64x128", "2x3x4x5", "8x32x64x128"))
ADD_1025, ADD_32768 = (f"elementwise/add/{n}/float32" for n in (1025, 32768))
ADD_OFFSET = "elementwise/add/32768:offset2/float32"
DOCUMENTED = "index_add/5x3/dim=0/n=3/uniform/float32"

WORKED = (
    Worked(
        FIRST,
        "gpubench:reduce_config",
        {
            "block": [32, 4],
            "grid": [1024, 1],
            "output_vec_size": 4,
            "vectorize_input": False,
            "ctas_per_output": 1,
            "num_inputs": 128,
            "num_outputs": 131072,
            "step_input": 4,
            "step_output": 32,
            "input_mult": [0, 1, 0],
            "output_mult": [1, 0],
            "sizes": [128, 8192, 16],
            "y_stride_bytes": [0, 4, 32768],
            "x_stride_bytes": [32768, 4, 4194304],
        },
    ),
    Worked(
        SECOND,
        "gpubench:reduce_config",
        {
            "grid": [1, 1],
            "output_vec_size": 4,
            "num_inputs": 3,
            "num_outputs": 40,
            "output_mult": [1, 8],
            "sizes": [3, 20, 2],
            "x_stride_bytes": [80, 4, 240],
        },
    ),
    Worked(
        THIRD,
        "gpubench:reduce_config",
        {
            "block": [32, 4],
            "grid": [128, 1],
            "output_vec_size": 4,
            "vectorize_input": False,
            "ctas_per_output": 1,
            "num_inputs": 32,
            "num_outputs": 65536,
            "step_input": 1,
            "step_output": 128,
            "input_mult": [0, 0, 0],
            "output_mult": [1, 32],
            "sizes": [32, 8192, 8],
            "y_stride_bytes": [0, 4, 32768],
            "x_stride_bytes": [32768, 4, 1048576],
        },
    ),
    Worked(ADD_1025, "gpubench:vectorized_older", {"grid": [3, 1], "block": [128, 1]}),
    Worked(ADD_32768, "gpubench:vectorized_older", {"grid": [64, 1], "block": [128, 1]}),
    Worked(
        ADD_OFFSET,
        "gpubench:vectorized_older",
        {
            "grid": [64, 1],
            "block": [128, 1],
            "kernel": "gpubench::elementwise::vectorized<gpubench::functions::add, float, 2, 4, float, float, float>",
        },
    ),
    Worked(FEW_1D, "gpubench:small_index", {"grid": [1, 1], "block": [1, 1], "known_bad_case": True}),
    Worked(DOCUMENTED, "gpubench:small_index", {"destination_sizes": [1, 3], "grid": [1, 1], "block": [3, 1]}),
)
"""The texts' worked examples of the host's rules, with the numbers that bear on a launch."""

SLIPS = (
    Worked(SECOND, "gpubench:reduce_config", {"block": [8, 2]}, "block width 10; the width is a power of two"),
    Worked(
        "sum/268435456/dim=all/float32",
        "gpubench:reduce_config",
        {"block": [512, 1]},
        "a block is filled up to the 1024 threads that the GPU allows; the rule stops at 512",
    ),
    Worked(
        MANY_1D,
        "gpubench:large_index",
        {"grid": [8, 1], "block": [128, 1]},
        "with many indices the destination's size sets the grid; it is the source's",
    ),
    Worked(
        FEW_3D,
        "gpubench:small_index",
        {"destination_sizes": [1, 1048576]},
        "the merged tensor is (32, 1024); both dims behind the indexed one merge",
    ),
    Worked(
        "cumsum/8x32/dim=1/float32",
        "gpubench:sklansky_rows",
        {"threads_x": 32, "threads_y": 16, "grid": [1, 1]},
        "block (2, 4), two blocks, to explain the loop; the rule has 512 threads",
    ),
    Worked(
        "index_add/32x1024x1024/dim=0/n=16/uniform/float32",
        "gpubench:auto_pytorch",
        {"chosen": "small_index"},
        "the small-index kernel is for fewer than 16 indices; the original takes it for 16 too",
    ),
)
"""Numbers in the texts that the code which they quote does not give."""

RATIO_HOLDS = (
    "cumsum: the threads x and y of a block keep the ratio of row length to rows: of their logarithms' difference d, "
    "the rule makes (9 + d) / 2, rounded down, that of the threads along x, which keeps the ratio for odd d; for even "
    "d it is halved, and outside of 16 to 512 threads the bounds decide"
)
WORDS = (
    RATIO_HOLDS,
    "cumsum: 512 thread blocks are cut in two dims; it is one block of 512 threads",
    "cumsum: of 8 numbers and 4 threads, thread 0 reads the numbers 1 and 5 and thread 2 reads 2 and 6; thread 0 reads "
    "0 and 4, thread 2 reads 2 and 6",
    "elementwise: thread 128 of a block of 128 works on the elements 254, 255, 510 and 511; it is thread 127",
)
"""What the texts say in words against their own code, or more widely than it holds. No case shows these."""

PRESUMED = (
    (
        r"index_add/.*/b?float16",
        False,
        "here one reduction instruction on the pair padded with -0, without torch's tests of the neighbour's bounds",
    ),
    (
        r"index_add/.*/n=(1[7-9]|[2-9]\d|\d{3,})/.*/float32",
        False,
        "the original asserts of every element that its index lies inside the dim; here an index outside is left out",
    ),
    (
        r"sum/.*/b?float16",
        True,
        "the texts' PyTorch 2.6 loads 4 elements at once, 8 bytes of a 16-bit dtype; later releases load more",
    ),
    (
        r"cumsum/\d+/dim=0/(b?float16|complex\d+)",
        False,
        "a tile's status and sum stand apart for dtypes that CUB does not know; CUB follows each look at a status by a "
        "fence of all memory, here it is a load with acquire (and 16-bit floats are not rounded after each addition)",
    ),
    (
        r"elementwise/copy/.*/out=float16/float32",
        True,
        "later releases of PyTorch copy float32 to float16 by a functor of its own, without run-time casts",
    ),
    (
        r"elementwise/add/.*:float16/float32",
        True,
        "later releases of PyTorch add float32 and 16-bit operands by a kernel for the pair, without run-time casts",
    ),
)
"""Pattern of the case id, whether ours is slower, and what is presumed to make the difference to torch."""

ACROSS = tuple(f"sklansky_rows_x{threads}" for threads in (16, 32, 64, 128, 256, 512))
"""Variants of cumsum with a fixed number of threads along a row."""

WIDTHS = ("unrolled", "vectorized_2", "vectorized_4", "vectorized_8")
"""Variants of elementwise with vectors of 1, 2, 4 and 8 elements."""
