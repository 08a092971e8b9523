"""The sort of indices where it could go wrong: passes, tables, several tiles, a list nearly in order."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from gpubench.devices.host_options import parse_schedule
from gpubench.engine.buffers import Operands, Pristine
from gpubench.model import Plan, Workspace
from gpubench.operators.index_add import grouped, sort
from gpubench.operators.index_add.accuracy import grouped_accuracy
from tests.operators.cases import DEVICE
from tests.operators.index_add.answers import INDEX_ADD, answers, form, give_list, problem_of
from tests.operators.on_host import host


@pytest.mark.parametrize(("places", "passes"), [(1, 1), (2, 1), (1024, 1), (1025, 2), (2**20, 2), (2**20 + 1, 3)])
def test_passes_cover_every_index(places: int, passes: int) -> None:
    """As many passes of up to 10 bits as the largest index has; ranges cover the list."""
    found = sort.sort_of(300_000, places, DEVICE)
    assert (found.passes, found.passes * found.bits >= (places - 1).bit_length()) == (passes, True)
    assert found.blocks * found.range >= 300_000 > (found.blocks - 1) * found.range


@pytest.mark.parametrize("count", [1, sort.ONE_BLOCK, sort.ONE_BLOCK + 1, 10**7])
@pytest.mark.parametrize("shared_kb", [64, 99, 163, 227])
def test_tables_of_the_sort_fit_every_architecture(count: int, shared_kb: int) -> None:
    """Fewer warps where shared memory is small; a tile of one block holds what is sent to it."""
    device = dataclasses.replace(DEVICE, max_shared_bytes=shared_kb << 10)
    found = sort.sort_of(count, 5000, device)
    assert sort.shared_bytes(found.warps, found.large, found.rounds) <= device.max_shared_bytes
    assert found.blocks <= device.sm_count
    assert found.rounds <= sort.LANE_PAIRS[found.large]


@pytest.mark.parametrize(("count", "large"), [(3000, False), (18_000, True)])
def test_upper_bits_count(count: int, large: bool) -> None:
    """Of three passes by small digits, and of two by large ones, whose blocks have several tiles."""
    problem = problem_of((2**20 + 50, 4), count, "int32", pattern="zipf")
    one = dataclasses.replace(host().info, max_shared_bytes=(227 if large else 64) << 10, sm_count=1)
    assert sort.sort_of(count, 2**20 + 50, one).large == large
    answers(problem, grouped.build(problem, form(problem), one, 64))


@pytest.mark.parametrize("shared_kb", [64, 99, 163, 227])
def test_tiles_are_large_only_where_they_hold_more(shared_kb: int) -> None:
    """Up to what all blocks hold in registers they are not; beyond, where shared memory has room for more."""
    device = dataclasses.replace(DEVICE, max_shared_bytes=shared_kb << 10)
    held, more = (math.prod(sort.tile_on(device, large)) for large in (False, True))
    most = 32 * held * device.sm_count
    assert not sort.is_large(most, device)
    assert sort.is_large(most + 1, device) == (more > held)


@pytest.mark.parametrize("at", [2, 31, 32, 33, 64, 95, 96, 288, 1023, 1024, 2047, 2048, 2303, 2304, 2999])
@pytest.mark.parametrize("least_range", [64, 4096])
def test_one_pair_out_of_order_is_seen_wherever_it_stands(
    monkeypatch: pytest.MonkeyPatch, at: int, least_range: int
) -> None:
    """A list in order stays as it is; the edges of lanes, of rounds, of warps and of blocks are looked at, too."""
    problem = problem_of((3000, 4), 3000, "int64", index_dtype="int32")
    index = np.arange(3000)
    index[at] = at - 2  # which comes again behind another
    give_list(problem, index, monkeypatch)
    answers(problem, grouped.build(problem, form(problem), host().info, 64, least_range=least_range))


@pytest.mark.parametrize("schedule", ["forward", "reverse", "random:4"])
@pytest.mark.parametrize(
    ("count", "sms", "shared_kb"), [(3000, 4, 227), (11_000, 2, 64), (5000, 1, 64), (12_000, 1, 227), (36_000, 2, 227)]
)
@pytest.mark.parametrize("places", [60, 700, 5000])
def test_pairs_of_one_row_keep_their_order(schedule: str, count: int, sms: int, shared_kb: int, places: int) -> None:
    """Whichever lane of a warp comes first, and whether a block walks one tile or several."""
    device = host()
    device.options = type(device.options)(parse_schedule(schedule), "checked", 1)
    info = dataclasses.replace(device.info, sm_count=sms, max_shared_bytes=shared_kb << 10)
    problem = problem_of((places, 4), count, "int32", pattern="zipf")
    found = sort.sort_of(count, places, info, least=500)
    inputs = INDEX_ADD.inputs(problem)
    pristine = Pristine(device, problem, inputs, keep_inputs=True)
    operands = Operands(device, problem, pristine, found.size + 256, True)
    launch = found.launch(problem, Workspace(found.size), 1)
    plan = Plan("sort", (launch,), grouped_accuracy(problem, 16), found.size + 256, workspace_zeroed=True)
    device.bind(plan, operands.addresses, operands.workspace).run()
    workspace = np.zeros(found.size + 256, np.uint8)
    device.download(operands.workspace, workspace)
    begin = found.pairs.byte_offset
    index = inputs["index"].astype(np.uint64)
    order = np.argsort(index, kind="stable")
    wanted = index[order] << np.uint64(32) | order.astype(np.uint64)
    np.testing.assert_array_equal(workspace[begin : begin + 8 * count].view(np.uint64), wanted)
