"""What peers ask of their libraries: compiling once a case, our memory and stream, settings that are fair."""

from __future__ import annotations

import ctypes
import importlib
import os
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpubench.dtypes import dtype
from gpubench.peers import tensors
from gpubench.peers.cub import CubPeer
from gpubench.peers.inductor import InductorPeer
from gpubench.peers.jax import JaxPeer
from tests.peers.stubs import Cupy, Jax, Torch, operands, problem


def test_inductor_compiles_once_for_all_rounds_of_a_case() -> None:
    """Three rounds on buffers of their own, one compilation; the next case starts afresh."""
    peer, torch = InductorPeer(), Torch()
    peer._torch = torch
    for made in (problem("cumsum", {"shape": [100], "dim": 0}), problem("cumsum", {"shape": [200], "dim": 0})):
        for round_ in range(3):
            prepared = peer.prepare(made, operands(made, 4096 * (round_ + 1)), 7)
            prepared.run()
            assert prepared.collect is not None
            assert prepared.close is not None
            prepared.collect()
            prepared.close()
    settings = [entry for entry in torch.log if isinstance(entry, dict)]
    assert settings == [{"dynamic": False, "fullgraph": True}] * 2
    assert torch.log.count("reset") == 2
    assert torch.log.count("empty") == 6


@pytest.mark.parametrize(("out_layout", "turned"), [("contiguous", True), ("operands", False)])
def test_inductor_turns_a_result_that_is_wanted_row_by_row(out_layout: str, turned: bool) -> None:
    """Left as a transposed operand lies, it would be a copy beside contenders that turn it."""
    a = {"shape": [3, 4], "layout": {"permute": [1, 0]}}
    made = problem("elementwise", {"function": "copy", "inputs": [a], "out_layout": out_layout})
    done: list[str] = []
    result = SimpleNamespace(contiguous=lambda: done.append("turned"))
    tensors.function(SimpleNamespace(float32="float32"), made)({"a": SimpleNamespace(to=lambda *_, **__: result)})
    assert done == ["turned"] * turned


def test_jax_compiles_once_for_all_rounds_of_a_case() -> None:
    """A new function each round would be traced and compiled anew each time."""
    peer, jax = JaxPeer(), Jax()
    peer._jax, peer._cupy = jax, Cupy()
    made = problem("cumsum", {"shape": [100], "dim": 0})
    for round_ in range(3):
        peer.prepare(made, operands(made, 4096 * (round_ + 1)), 7).run()
    assert jax.jits == 1


def test_jax_s_result_takes_the_shape_of_the_operand() -> None:
    """jax.numpy makes one dim of a scalar's cumsum; copied as it is, it would not fit."""
    peer, cupy = JaxPeer(), Cupy()
    peer._jax, peer._cupy = Jax(), cupy
    made = problem("cumsum", {"shape": [], "dim": 0})
    prepared = peer.prepare(made, operands(made), 7)
    assert prepared.collect is not None
    prepared.collect()
    assert cupy.copies == [("y", "result as ()")]


def test_jax_is_told_to_leave_memory_to_others_before_it_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA reads the setting once, when it starts: three quarters of the GPU would be gone. 64-bit dtypes are kept."""
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    seen: dict[str, Any] = {}

    def stand_in(name: str) -> Any:
        seen[name] = os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE")
        config = SimpleNamespace(update=lambda key, value: seen.update({key: value}))
        return SimpleNamespace(config=config, devices=lambda kind: [kind])

    monkeypatch.setattr(importlib, "import_module", stand_in)
    JaxPeer().load()
    assert seen["jax"] == "false"
    assert seen["jax_enable_x64"] is True


class Compute:
    """cuda.compute, as far as the peer asks for it. `calls` is what an algorithm was called with."""

    def __init__(self) -> None:
        self.OpKind = SimpleNamespace(PLUS="plus", IDENTITY="identity")
        self.calls: list[dict[str, Any]] = []
        self.made: list[dict[str, Any]] = []

    def make(self, **arguments: Any) -> Any:
        """Return an algorithm that needs 17 bytes."""
        self.made.append(arguments)

        def algorithm(**call: Any) -> int:
            self.calls.append(call)
            return 17

        return algorithm

    make_inclusive_scan = make_reduce_into = make_segmented_reduce = make


def cub_peer(compute: Compute) -> CubPeer:
    """Return the peer on stand-ins."""
    peer = CubPeer()
    peer._compute = compute
    pool = SimpleNamespace(free_all_blocks=lambda: None)
    stream = SimpleNamespace(synchronize=lambda: None)
    peer._cupy = SimpleNamespace(
        empty=lambda size, kind: ("storage", size, kind) if kind == "uint8" else HostSums(size, kind),
        get_default_memory_pool=lambda: pool,
        cuda=SimpleNamespace(
            get_current_stream=lambda: stream,
            ExternalStream=lambda _: stream,
            runtime=SimpleNamespace(memcpyHostToDevice=1, memcpyAsync=copy_on_host),
        ),
    )
    return peer


class HostSums:
    """Memory for sums on the host."""

    def __init__(self, size: int, kind: Any) -> None:
        self.values = np.zeros(size, kind)
        self.size = size

    def get(self, stream: Any) -> Any:
        """Return what is there."""
        del stream
        return self.values


def copy_on_host(target: int, source: int, nbytes: int, kind: int, stream: int) -> None:
    """Copy, as the driver would."""
    assert (kind, stream) == (1, 7)
    ctypes.memmove(target, source, nbytes)


def test_cub_asks_for_its_storage_first_and_runs_on_our_stream_and_memory() -> None:
    """bfloat16 under its own name, sums of it in float32, our addresses, our stream."""
    compute = Compute()
    made = problem("cumsum", {"shape": [100], "dim": 0}, "bfloat16")
    given = operands(made)
    cub_peer(compute).prepare(made, given, 7).run()
    size, first, second = compute.calls
    assert size["temp_storage"] is None
    assert first["temp_storage"] == second["temp_storage"] == ("storage", 17, "uint8")
    assert second["stream"].__cuda_stream__() == (0, 7)
    assert second["num_items"] == 100
    assert second["d_in"].dtype.name == "bfloat16"
    assert second["d_in"].__cuda_array_interface__["data"] == (given["x"].address, False)
    assert compute.made[0]["init_value"].dtype.name == "float32"


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_cub_never_writes_sums_into_a_narrower_output(name: str) -> None:
    """Its reductions store the type that they add up in: that gets memory of its own, and is rounded once into y."""
    compute = Compute()
    made = problem("sum", {"shape": [1], "dim": [0]}, name)
    y = np.zeros(2, dtype(name).numpy)
    given = operands(made)
    given["y"] = replace(given["y"], address=y.ctypes.data)
    prepared = cub_peer(compute).prepare(made, given, 7)
    sums = compute.calls[-1]["d_out"]
    assert sums.values.dtype == np.float32 == compute.made[0]["h_init"].dtype
    sums.values[:] = 1.0009765625 + 2**-12
    assert prepared.collect is not None
    prepared.collect()
    assert y.tolist() == [float(dtype(name).numpy.type(1.0012207)), 0.0]


@pytest.mark.parametrize("name", ["float32", "int8"])
def test_cub_writes_sums_straight_into_an_output_of_their_own_dtype(name: str) -> None:
    """No copy where none is needed."""
    compute = Compute()
    made = problem("sum", {"shape": [4], "dim": [0]}, name)
    given = operands(made)
    prepared = cub_peer(compute).prepare(made, given, 7)
    assert prepared.collect is None
    assert compute.calls[-1]["d_out"].__cuda_array_interface__["data"] == (given["y"].address, False)


def test_what_cub_cannot_build_is_unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older cuda.compute that lacks a dtype refuses when it builds, before anything ran."""
    from gpubench.errors import UnsupportedError

    compute = Compute()

    def refuse(**_: Any) -> Any:
        raise KeyError("no such type")

    monkeypatch.setattr(compute, "make_inclusive_scan", refuse)
    made = problem("cumsum", {"shape": [100], "dim": 0}, "bfloat16")
    with pytest.raises(UnsupportedError, match="cub refuses: KeyError"):
        cub_peer(compute).prepare(made, operands(made), 7)


class CupySums:
    """CuPy's cumsum, which notes the axis it was asked for."""

    def __init__(self) -> None:
        self.axes: list[int | None] = []

    def cumsum(self, x: Any, axis: int | None, dtype: Any, out: Any) -> None:
        """Note the axis."""
        del x, dtype, out
        self.axes.append(axis)


@pytest.mark.parametrize(("shape", "axis"), [([100], None), ([10, 20], 1), ([], None)])
def test_cupy_scans_one_line_by_cub(shape: list[int], axis: int | None) -> None:
    """CuPy asks CUB only where no axis is named; naming the only one gets CuPy's own, slow scan."""
    import numpy

    from gpubench.peers.cupy import CupyPeer

    peer, cupy = CupyPeer(), CupySums()
    peer._cupy = cupy
    made = problem("cumsum", {"shape": shape, "dim": len(shape) - 1 if shape else 0})
    peer._call(made, {"x": numpy.zeros(shape), "y": numpy.zeros(shape)})()
    assert cupy.axes == [axis]
