"""Compile what a run of suites needs, side by side, before it: our kernels and Inductor's, into their caches on disk.

A run compiles one case after the other, and Inductor takes seconds for each. What is compiled here a run finds in the
caches. Inductor also picks between kernels by timing them. Beside other processes that says little, so these choices
are thrown away: the run makes them again, alone on the GPU.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

from gpubench import peers
from gpubench.children import bind
from gpubench.devices import open_device
from gpubench.dtypes import dtype
from gpubench.engine.memory import storage_bytes
from gpubench.errors import GpubenchError
from gpubench.model import Case, DeviceInfo, Plan, Problem
from gpubench.names import INDUCTOR
from gpubench.operators import OPERATORS
from gpubench.peers.base import DeviceOperand

if TYPE_CHECKING:
    from gpubench.operators.base import Operator

PlansOf = Callable[["Operator[Any]", Problem[Any], DeviceInfo], Iterable[Plan]]


def chosen(operator: Operator[Any], problem: Problem[Any], device: DeviceInfo) -> Iterable[Plan]:
    """Return the plan of `gpubench:auto`, if there is one."""
    plan = operator.choose(problem, device)
    return (plan,) if isinstance(plan, Plan) else ()


def warm(spec: str, inductor: bool, cases: Sequence[Case], processes: int, plans_of: PlansOf = chosen) -> None:
    """Compile what the cases need in so many processes, which share the device. What fails is left to the run."""
    spawn = multiprocessing.get_context("spawn")
    parts = [cases[start::processes] for start in range(processes)]
    began = time.time()
    with ProcessPoolExecutor(processes, spawn, initializer=bind, initargs=(os.getpid(),)) as pool:
        list(pool.map(_warm, [spec] * processes, [inductor] * processes, parts, [plans_of] * processes))
        if inductor:
            pool.submit(_forget_choices, began).result()


def _warm(spec: str, inductor: bool, cases: Sequence[Case], plans_of: PlansOf) -> None:
    """Compile a part of the cases, in a process of its own."""
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # else each process starts as many compilers as cores
    device: Any = open_device(spec)
    peer: Any = peers.load(INDUCTOR) if inductor else None
    if peer is not None:
        peer.load()
    for case in cases:
        problem = OPERATORS[case.operator].problem(case)
        with contextlib.suppress(GpubenchError):
            for plan in plans_of(OPERATORS[case.operator], problem, device.info):
                device.compile(plan.launches)
        if peer is not None and peers.refusal(peer, problem) is None:
            with contextlib.suppress(Exception):  # the run meets it again, and says what it was
                _compile_by(peer, problem, device)


def _compile_by(peer: Any, problem: Problem[Any], device: Any) -> None:
    """Let a library compile for operands of zeros, which are valid as indices, too."""
    kept, operands = [], {}
    for operand in problem.operands:
        buffer = device.allocate(storage_bytes(operand))
        device.fill(buffer, 0)
        kept.append(buffer)
        address = buffer.address + operand.view.offset * dtype(operand.dtype).numpy.itemsize
        operands[operand.name] = DeviceOperand(operand.name, operand.role, operand.dtype, operand.view, address)
    peer.prepare(problem, operands, device.stream).close()


def _forget_choices(began: float) -> None:
    """Throw away what Inductor has chosen between by timing since then; the kernels stay."""
    peer: Any = peers.load(INDUCTOR)
    peer.load()
    for path in peer.folder().rglob("*.best_config"):
        if path.stat().st_mtime >= began:
            path.unlink()
