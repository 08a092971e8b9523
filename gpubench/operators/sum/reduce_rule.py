"""PyTorch's rule for the launch of a reduction: which dim maps to block x, vectors, the block, what is split over what.

Facts from PyTorch 2.6 (aten/src/ATen/native/cuda/Reduce.cuh, setReduceConfig).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gpubench.model import DeviceInfo, Json, Value
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.structs import Struct
from gpubench.operators.sum.iterator import ReduceIterator

CONFIG = Struct(
    "gpubench::sum::reduction::Config",
    "reduce_sum/seeds/reduce_config.cu",
    **dict.fromkeys(("inputs", "outputs", "step_input", "step_output", "blocks_per_output"), "u4"),
    **dict.fromkeys(("input_x", "input_y", "input_grid", "output_x", "output_y"), "u4"),
    **dict.fromkeys(("vectorize_input", "accumulate", "final_part"), "u4"),
)

MAX_THREADS = 512
"""Threads of a block; 256 for elements of 16 bytes. Divided by the output vector."""

INPUT_VECTOR = 4
ACCUMULATORS = 4
"""Independent sums a thread (vt0 in the original)."""

MIN_VALUES = 16
MAX_VALUES = 256
"""Values a thread: from 16 on (times the block's height) terms are split over warps, from 256 on over blocks."""

CONTIGUOUS = 128
"""Reduced elements side by side above which they are loaded as vectors."""


@dataclass
class ReduceConfig:
    """A launch. The steps and multipliers are the original's: terms or outputs that one step along block x, block y and
    the grid moves by; 0 where that direction does not split them.
    """

    inputs: int
    outputs: int
    accumulator_bytes: int
    warp_size: int = 32
    vectorize_input: bool = False
    output_vector: int = 1
    width: int = 1
    height: int = 1
    step_input: int = 1
    step_output: int = 1
    blocks_per_output: int = 1
    input_mult: list[int] = field(default_factory=lambda: [0, 0, 0])
    output_mult: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.width * self.height

    @property
    def grid(self) -> tuple[int, int, int]:
        """Blocks: over the outputs along x, over the terms of an output along y."""
        return (ceil_div(self.outputs // self.output_vector, self.step_output), self.blocks_per_output, 1)

    @property
    def values_per_thread(self) -> int:
        """Terms that a thread adds up."""
        return ceil_div(self.inputs, self.step_input)

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory: one total a thread where warps combine."""
        if self.input_mult[1] == 0 and (self.input_mult[0] == 0 or self.width <= self.warp_size):
            return 0
        return self.accumulator_bytes * self.threads * self.output_vector

    @property
    def staging_bytes(self) -> int:
        """Bytes for the totals of blocks that share outputs: those that are used (the original reserves more)."""
        if self.input_mult[2] == 0:
            return 0
        lanes = 1 if self.input_mult[0] else self.width
        return self.accumulator_bytes * self.output_vector * self.grid[0] * self.blocks_per_output * lanes

    @property
    def semaphore_bytes(self) -> int:
        """Bytes for the counters of finished blocks."""
        return 0 if self.input_mult[2] == 0 else 4 * self.grid[0]

    def split_input(self, parallelism: int) -> int:
        """Spread the terms over `parallelism` more workers; return the multiplier of their index."""
        step = self.step_input
        self.step_input *= parallelism
        return step

    def split_output(self, parallelism: int) -> int:
        """Spread the outputs over `parallelism` more workers; return the multiplier of their index."""
        step = self.step_output
        self.step_output *= parallelism
        return step

    def pack(self, part: ReduceIterator) -> Value:
        """Return the kernel's `Config`."""
        input_x, input_y, input_grid = self.input_mult
        output_x, output_y = self.output_mult
        return CONFIG.value(
            self,
            part,
            input_x=input_x,
            input_y=input_y,
            input_grid=input_grid,
            output_x=output_x,
            output_y=output_y,
            final_part=part.final,
        )

    def to_json(self) -> dict[str, Json]:
        """Return what the rule chose, under the original's names, for the record."""
        return {
            "block": [self.width, self.height],
            "grid": list(self.grid[:2]),
            "num_inputs": self.inputs,
            "num_outputs": self.outputs,
            "output_vec_size": self.output_vector,
            "vectorize_input": self.vectorize_input,
            "ctas_per_output": self.blocks_per_output,
            "step_input": self.step_input,
            "step_output": self.step_output,
            "input_mult": list(self.input_mult),
            "output_mult": list(self.output_mult),
            "values_per_thread": self.values_per_thread,
        }


@dataclass(frozen=True, slots=True)
class Element:
    """What the rule must know of the elements: size in bytes of one in x, of an accumulator, and the address of x's
    first one (only its alignment matters).
    """

    bytes: int
    accumulator_bytes: int
    address: int


ShapeBlock = Callable[[int, int, int, int], tuple[int, int]]
"""(width and height wanted, both powers of two, threads at most, threads of a warp) -> width and height of a block."""


def height_first(width: int, height: int, most: int, warp: int) -> tuple[int, int]:
    """Return the original's block: at first a warp wide, then as high as there is room, then wider again."""
    height = min(height, most // min(width, warp))
    return min(width, most // height), height


def width_first(width: int, height: int, most: int, warp: int) -> tuple[int, int]:
    """Return the block in the other order: as wide as there is room, then as high."""
    del warp
    return width, min(height, most // width)


def configure(
    part: ReduceIterator, element: Element, device: DeviceInfo, shape_block: ShapeBlock = height_first
) -> ReduceConfig:
    """Return the launch for a part that fits 32 bits."""
    config = ReduceConfig(part.terms, part.outputs, element.accumulator_bytes, device.warp_size)
    along_input = part.reduced == len(part.dims) or (part.reduced > 0 and part.dims[0].x < part.dims[part.reduced].x)
    across, down = (config.inputs, config.outputs) if along_input else (config.outputs, config.inputs)
    fastest = part.dims[0 if along_input else part.reduced].x if part.dims else element.bytes
    if fastest == element.bytes:
        if along_input and across > CONTIGUOUS and part.reduced == 1:
            config.vectorize_input = True
            across //= INPUT_VECTOR
        elif not along_input:
            config.output_vector = output_vector(part, element)
            across //= config.output_vector
    most = (MAX_THREADS // 2 if element.bytes == 16 else MAX_THREADS) // config.output_vector
    width, height = (_last_power_of_two(number) if number < most else most for number in (across, down))
    config.width, config.height = shape_block(width, height, most, config.warp_size)
    if along_input:
        config.input_mult[0] = config.split_input(config.width)
    else:
        config.output_mult[0] = config.split_output(config.width)
    if config.values_per_thread >= min(config.height * MIN_VALUES, MAX_VALUES):
        config.input_mult[1] = config.split_input(config.height)
    else:
        config.output_mult[1] = config.split_output(config.height)
    _split_over_blocks(config, device)
    return config


def output_vector(part: ReduceIterator, element: Element) -> int:
    """Return how many neighbouring outputs a thread holds: 4, 2 or 1.

    By the alignment of x, the size of the fastest kept dim and the strides of all other dims.
    """
    width = 4
    steps = [dim.x // element.bytes for place, dim in enumerate(part.dims) if place != part.reduced]
    for number in (element.address // element.bytes, part.dims[part.reduced].size, *steps):
        while number % width:
            width //= 2
    return width


def target_grid(config: ReduceConfig, device: DeviceInfo) -> int:
    """Return the blocks that the GPU holds at the same time, by threads alone: no more than these share outputs."""
    return device.sm_count * (device.max_threads_per_sm // config.threads)


def _split_over_blocks(config: ReduceConfig, device: DeviceInfo) -> None:
    """Let several blocks share outputs when a thread would have 256 values or more and the grid leaves room."""
    target = target_grid(config, device)
    blocks, values = config.grid[0], config.values_per_thread
    if config.input_mult[1] == 0 or values < MAX_VALUES or blocks > target:
        return
    enough = min(ceil_div(target, blocks), ceil_div(values, MIN_VALUES))
    config.blocks_per_output = max(enough, ceil_div(values, MAX_VALUES))
    if config.blocks_per_output > 1:
        config.input_mult[2] = config.split_input(config.blocks_per_output)


def _last_power_of_two(number: int) -> int:
    return 1 << (max(number, 1).bit_length() - 1)
