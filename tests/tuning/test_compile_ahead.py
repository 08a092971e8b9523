"""Compiling ahead: what does not compile, spills more or fits no SM is left out before it is timed, with the reason."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from gpubench.engine import compile_ahead
from gpubench.engine.compile_ahead import CompileAhead, blocks_of_sm
from gpubench.errors import CompileError
from gpubench.kernels import CompiledKernel, Request
from gpubench.model import KernelResources, Launch
from gpubench.tuning.contest import Contest
from tests.tuning.test_space import h200, space_of


def contest() -> Contest:
    """Return the contest of rows of up to 4 KB, whose blocks are of many shapes."""
    return Contest(space_of("cumsum", "rows-of-4K"))


def outcome(request: Request, registers: int = 32, spills: int = 0) -> CompiledKernel:
    """Return what the compiler might say of a kernel."""
    figures = KernelResources(request.kernel, "0" * 64, registers, spills, 0)
    return CompiledKernel(request.source, request.kernel, request.arch, b"", request.kernel, figures, cached=False)


def test_bad_kernels_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three kernels one fails, one spills and one takes too many registers: only their configurations are out."""
    asked: list[Request] = []

    def compiled(requests: Sequence[Request], processes: int) -> list[CompiledKernel | CompileError]:
        assert processes == 3
        asked.extend(requests)
        return [told(request) for request in requests]

    def told(request: Request) -> CompiledKernel | CompileError:
        vectors = request.kernel.split(",")[3].strip()
        if vectors == "8":
            return CompileError("no such thing")
        return outcome(request, spills=64 if vectors == "4" and "bfloat16" not in request.kernel else 0)

    monkeypatch.setattr(compile_ahead, "compile_many", compiled)
    monkeypatch.setattr(compile_ahead, "compile_launches", lambda *_: [])
    one = contest()
    [(_, dropped)] = CompileAhead(h200(), 3).each([one])
    assert asked
    assert len(set(asked)) == len(asked)
    assert one.space.incumbent.name not in dropped
    assert any("spills 64 bytes" in why for why in dropped.values()), dropped
    one.drop(dropped)
    assert one.row().dropped >= len(dropped)


def test_other_devices_compile_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the host and on a scripted device nothing is compiled ahead, and nothing is dropped."""
    monkeypatch.setattr(compile_ahead, "compile_many", None)
    [(_, dropped)] = CompileAhead(dataclasses.replace(h200(), kind="host"), 1).each([contest()])
    assert dropped == {}


def test_a_stage_waits_for_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of cases that are not raced are compiled together before their stage, each once."""
    batches: list[list[Request]] = []

    def compiled(requests: Sequence[Request], processes: int) -> list[CompiledKernel | CompileError]:
        assert processes == 1
        batches.append(list(requests))
        return [outcome(request) for request in requests]

    monkeypatch.setattr(compile_ahead, "compile_many", compiled)
    monkeypatch.setattr(compile_ahead, "compile_launches", lambda *_: [])
    one = contest()
    one.cases = one.cases[:1]
    ahead = CompileAhead(h200(), 1)
    list(ahead.each([one]))
    names = tuple(entrant.name for entrant in one.space.entrants)
    stage = [dataclasses.replace(case, contenders=names) for case in one.space.cases]
    ahead.ready(one, stage)
    ahead.ready(one, stage)
    assert len(batches) == 2
    assert batches[1]
    assert not {*batches[0]} & {*batches[1]}


def test_a_lost_compiler_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong in the thread is raised where its result is asked for."""

    def lost(*_: object) -> list[CompiledKernel | CompileError]:
        raise CompileError("a process that compiled was killed")

    monkeypatch.setattr(compile_ahead, "compile_many", lost)
    with pytest.raises(CompileError, match="was killed"):
        list(CompileAhead(h200(), 1).each([contest()]))


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "dynamic", "blocks"),
    [
        (256, 32, 0, 0, 8),  # threads of an SM
        (256, 128, 0, 0, 2),  # registers
        (1024, 255, 0, 0, 0),  # more registers than an SM has
        (128, 32, 0, 227 << 10, 1),  # shared memory, all of it
        (128, 32, 1024, 227 << 10, 0),  # more than a block may have
        (1056, 16, 0, 0, 0),  # more threads than a block may have
        (64, 0, 0, 0, 32),
    ],
)
def test_blocks_of_an_sm(threads: int, registers: int, shared: int, dynamic: int, blocks: int) -> None:
    """By what runs out first: threads, registers in portions of a warp, or shared memory with the system's part."""
    launch = Launch("a.cu", "k", (1, 1, 1), (threads, 1, 1), (), shared_bytes=dynamic)
    assert blocks_of_sm(launch, registers, shared, h200()) == blocks
