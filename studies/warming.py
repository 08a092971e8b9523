"""Compile what a run of suites needs, side by side, before it: our kernels, as `gpubench compile` does, and Inductor's.

A run compiles one case after the other, and Inductor takes seconds for each. What is compiled here a run finds in the
caches on disk. Inductor also picks between kernels by timing them. Beside other processes that says little, so these
choices are thrown away: the run makes them again, alone on the GPU.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from gpubench import peers
from gpubench.children import bind
from gpubench.cli.compile_items import of_cases
from gpubench.devices import list_devices, open_device
from gpubench.dtypes import dtype
from gpubench.engine.memory import storage_bytes
from gpubench.kernels import compile_many
from gpubench.model import Case, Problem
from gpubench.names import INDUCTOR
from gpubench.operators import OPERATORS
from gpubench.peers.base import DeviceOperand, quiet


def warm(spec: str, inductor: bool, cases: Sequence[Case], processes: int) -> None:
    """Compile what the cases' contenders launch in so many processes. What fails is left to the run."""
    listed, _ = list_devices()
    devices = [found.info for found in listed if found.spec == spec]
    compile_many([item.request for item in of_cases(cases, (), devices)], processes)
    if not inductor:
        return
    spawn = multiprocessing.get_context("spawn")
    parts = [cases[start::processes] for start in range(processes)]
    began = time.time()
    with ProcessPoolExecutor(processes, spawn, initializer=bind, initargs=(os.getpid(),)) as pool:
        list(pool.map(_warm, [spec] * processes, parts))
        pool.submit(_forget_choices, began).result()


def _warm(spec: str, cases: Sequence[Case]) -> None:
    """Let Inductor compile for a part of the cases, in a process of its own that shares the device."""
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # else each process starts as many compilers as cores
    device: Any = open_device(spec)
    peer: Any = peers.load(INDUCTOR)
    peer.load()
    for case in cases:
        problem = OPERATORS[case.operator].problem(case)
        if peers.refusal(peer, problem) is None:
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
    with quiet():
        peer.prepare(problem, operands, device.stream).close()


def _forget_choices(began: float) -> None:
    """Throw away what Inductor has chosen between by timing since then; the kernels stay."""
    peer: Any = peers.load(INDUCTOR)
    peer.load()
    for path in peer.folder().rglob("*.best_config"):
        if path.stat().st_mtime >= began:
            path.unlink()
