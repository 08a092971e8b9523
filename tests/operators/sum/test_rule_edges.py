"""The edges of the reduction's rule: one term, one block or one byte less and the launch is another one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpubench.operators import OPERATORS
from gpubench.operators.sum import iterator
from gpubench.operators.sum.iterator import Dim, ReduceIterator, reduce_iterator, reorder
from gpubench.operators.sum.reduce_rule import Element, ReduceConfig, configure, target_grid
from tests.operators.cases import DEVICE, make_case


def config_of(dtype: str = "float32", **params: Any) -> ReduceConfig:
    """Return the launch of a sum's first part."""
    problem = OPERATORS["sum"].problem(make_case("sum", dtype, **params))
    x = problem.operand("x")
    item = x.view.offset
    size = 4 if dtype == "float32" else 16
    return configure(reduce_iterator(problem), Element(size, size, item * size), DEVICE)


@pytest.mark.parametrize(("terms", "split"), [(63, False), (64, True), (65, True)])
def test_rows_of_a_block_share_terms_from_16_a_row_on(terms: int, split: bool) -> None:
    """A block of 32 x 4: 64 terms are 16 for each of its rows."""
    config = config_of(shape=(terms, 8192), dim=0)
    assert (config.width, config.height) == (32, 4)
    assert config.input_mult == ([0, 1, 0] if split else [0, 0, 0])
    assert config.output_mult == ([1, 0] if split else [1, 32])


@pytest.mark.parametrize(("terms", "split"), [(255, False), (256, True)])
def test_rows_share_256_terms_however_many_rows(terms: int, split: bool) -> None:
    """A block of 16 x 32 would need 512 terms by its height; 256 a thread are enough."""
    config = config_of(shape=(terms, 17), dim=0)
    assert (config.width, config.height) == (16, 32)
    assert (config.input_mult[1] > 0) is split


@pytest.mark.parametrize(("terms", "vectors", "across"), [(128, False, 128), (129, True, 32), (131, True, 32)])
def test_more_than_128_terms_side_by_side_are_loaded_as_vectors(terms: int, vectors: bool, across: int) -> None:
    """128 are not enough; a gap between them, or a second reduced dim, rules vectors out at any number."""
    config = config_of(shape=(7, terms), dim=1)
    assert (config.vectorize_input, config.width) == (vectors, across)
    assert not config_of(shape=(7, terms), dim=1, layout={"step": 2}).vectorize_input
    assert not config_of(shape=(terms, 5, terms), dim=(0, 2)).vectorize_input


def test_outputs_apart_in_memory_are_no_vector() -> None:
    """With a gap after every element each thread holds one output."""
    assert config_of(shape=(64, 64), dim=0).output_vector == 4
    assert config_of(shape=(64, 64), dim=0, layout={"step": 2}).output_vector == 1


def test_of_equal_strides_the_kept_dim_lies_along_a_row_of_the_block() -> None:
    """Broadcast in both dims, neither is faster: the outputs go across."""
    config = config_of(shape=(4, 6), dim=0, layout={"expand": (0, 1)})
    assert (config.width, config.height) == (4, 4)
    assert (config.input_mult, config.output_mult) == ([0, 0, 0], [1, 4])


@pytest.mark.parametrize(("terms", "blocks"), [(255 * 512, 1), (256 * 512, 16), (257 * 512, 17), (10_000 * 512, 528)])
def test_blocks_share_an_output_from_256_values_a_thread_on(terms: int, blocks: int) -> None:
    """One output, 512 threads: never fewer than 16 values a thread are left, and no more blocks than the GPU holds."""
    config = config_of(shape=(terms,))
    assert (config.width, config.height, config.blocks_per_output) == (512, 1, blocks)
    assert config.grid == (1, blocks, 1)


@pytest.mark.parametrize(("outputs", "blocks"), [(528, 2), (529, 1)])
def test_blocks_share_outputs_while_the_grid_has_room(outputs: int, blocks: int) -> None:
    """132 SMs of four such blocks: 528 blocks may be split, to bring 257 values under 256; 529 may not."""
    config = config_of(shape=(outputs, 257 * 512), dim=1)
    assert (config.width, config.height, config.blocks_per_output) == (32, 16, blocks)


def test_the_target_grid_is_that_of_the_text() -> None:
    """(2, 3, 4, 5) over dim 1 on an A100: 2048 threads an SM by 16 a block are 128, on 108 SMs 13,824 blocks."""
    config = config_of(shape=(2, 3, 4, 5), dim=1)
    assert config.threads == 16
    assert target_grid(config, replace(DEVICE, sm_count=108)) == 13824


def test_the_iterators_of_the_texts() -> None:
    """Sizes, and strides in bytes in y and x, of the first and the second worked example."""

    def dims(shape: tuple[int, ...]) -> list[tuple[int, int, int]]:
        found = reduce_iterator(OPERATORS["sum"].problem(make_case("sum", "float32", shape=shape, dim=1)))
        return [(dim.size, dim.y, dim.x) for dim in found.dims]

    assert dims((16, 128, 64, 128)) == [(128, 0, 32768), (8192, 4, 4), (16, 32768, 4194304)]
    assert dims((2, 3, 4, 5)) == [(3, 0, 80), (20, 4, 4), (2, 80, 240)]


def test_equal_strides_put_the_smaller_dim_first() -> None:
    """Where nothing but the size tells two dims apart, the smaller one is the faster."""
    assert reorder([Dim(5, 0, 4), Dim(3, 0, 4)]) == [Dim(3, 0, 4), Dim(5, 0, 4)]
    assert reorder([Dim(3, 0, 4), Dim(5, 0, 4)]) == [Dim(3, 0, 4), Dim(5, 0, 4)]


def test_reduced_dims_stand_first_whatever_their_stride() -> None:
    """A reduced dim (no stride in y) comes before a kept one that is faster in x."""
    assert reorder([Dim(8, 4, 4), Dim(3, 0, 32)]) == [Dim(3, 0, 32), Dim(8, 4, 4)]


@pytest.mark.parametrize(
    ("dims", "fits"),
    [
        ((Dim(2, 0, 2**31 - 2),), True),
        ((Dim(2, 0, 2**31 - 1),), False),  # the last byte is number 2^31
        ((Dim(2, 2**31 - 1, 4),), False),  # in y as in x
        ((Dim(2**31 - 1, 0, 1),), True),
        ((Dim(2**31, 0, 0),), False),  # elements count, however few bytes they are
    ],
)
def test_32_bits_reach_to_the_last_byte(dims: tuple[Dim, ...], fits: bool) -> None:
    """2^31 - 1 elements and bytes are reached, not one more."""
    assert ReduceIterator(dims, 1).fits_32_bits is fits


def test_of_dims_that_reach_as_far_the_slowest_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both dims reach 16 bytes: the cut goes through the outer one."""
    monkeypatch.setattr(iterator, "LIMIT", 30)
    first, *_ = ReduceIterator((Dim(5, 0, 4), Dim(3, 0, 8)), 2).parts()
    assert [dim.size for dim in first.dims] == [5, 1]
