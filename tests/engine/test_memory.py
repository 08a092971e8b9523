from __future__ import annotations

from gpubench.engine.memory import Part, device_parts, free_host_bytes, host_parts, shortage, total
from gpubench.operators import operator
from tests.engine.bed import case


def test_the_need_counts_everything_that_is_there_at_once() -> None:
    """Operands, pristine copies, every contender's output, the largest workspace, the flush: by the byte."""
    problem = operator("index_add").problem(case("index_add", {"shape": [100, 10], "dim": 0, "indices": 7}))
    parts = {part.name: part.bytes for part in device_parts(problem, [64, 512], 1000, keep_inputs=False)}
    destination = 100 * 10 * 4
    source = 7 * 10 * 4
    assert parts["operands"] >= destination + source + 7 * 4
    assert parts["pristine inputs"] == destination
    assert parts["outputs kept for the check"] == 2 * destination
    assert parts["workspace"] == 512
    assert parts["L2 flush"] == 2000
    kept = {part.name: part.bytes for part in device_parts(problem, [64], 1000, keep_inputs=True)}
    assert kept["pristine inputs"] == kept["operands"]


def test_too_little_is_told_with_the_numbers() -> None:
    """The reason names the place, the need by its parts, and what is free; nothing is said when it fits."""
    parts = [Part("operands", 3 * 10**9), Part("workspace", 0)]
    assert shortage(parts, 3 * 10**9, "device") is None
    assert shortage(parts, None, "device") is None
    assert shortage(parts, 10**9, "device") == "needs 3 GB on the device (operands 3 GB); 1 GB are free"


def test_the_host_need_has_room_for_the_reference() -> None:
    """A float32 output is judged in float64: the host needs several times its size."""
    problem = operator("cumsum").problem(case(params={"shape": [1000, 1000], "dim": 0}))
    assert total(host_parts(problem)) > 8 * 4_000_000
    free = free_host_bytes()
    assert free is None or free > 0


def test_a_reference_that_is_not_kept_needs_room_for_its_blocks_only() -> None:
    """More than 2^31 elements are judged on a host of 128 GiB: answers beyond a quarter of it are worked out anew."""
    free = 128 * 2**30
    problem = operator("cumsum").problem(case(params={"shape": [3_000_000_000], "dim": 0}, dtype="int8"))
    assert shortage(host_parts(problem, free), free, "host") is None
    assert shortage(host_parts(problem, free // 4), free // 4, "host") is not None
