"""Compiling the kernels of configurations before they are timed, and leaving out those that cannot be any good."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpubench.errors import CompileError, GpubenchError
from gpubench.kernels import CompiledKernel, Request, compile_many
from gpubench.kernels.foreign import compile_launches
from gpubench.model import Case, DeviceInfo, Launch
from gpubench.tuning.contest import Contest
from gpubench.tuning.space import launches_of

REGISTERS = 65536
"""Of an SM, on every architecture there is."""


@dataclass
class _Job:
    """One contest's kernels, compiled in a thread, which only waits for processes."""

    thread: threading.Thread
    dropped: dict[str, str] = field(default_factory=dict)
    error: GpubenchError | None = None


class CompileAhead:
    """Gives contests one after the other, each with who is dropped; meanwhile the next one's kernels are compiled."""

    def __init__(self, device: DeviceInfo, processes: int = 0) -> None:
        """Take the device that is tuned, and how many compile at once; 0: a process for each core.

        Only a GPU's kernels are compiled here: other devices do it by themselves.
        """
        self._device = device
        self._processes = processes or len(os.sched_getaffinity(0))
        self._compiled: set[Request] = set()

    def each(self, contests: Sequence[Contest]) -> Iterator[tuple[Contest, Mapping[str, str]]]:
        """Yield (contest, reasons by name of who is dropped). CompileError when a compiling process is lost."""
        job = self._begin(contests[0]) if contests else None
        for number, contest in enumerate(contests):
            assert job is not None
            job.thread.join()
            if job.error is not None:
                raise job.error
            dropped = job.dropped
            job = self._begin(contests[number + 1]) if number + 1 < len(contests) else job
            yield contest, dropped

    def ready(self, contest: Contest, batch: Sequence[Case]) -> None:
        """Compile side by side what the cases of a stage still lack, so that no worker waits for one after the other.

        What does not compile is met again by the worker, which tells it.
        """
        if self._device.kind != "cuda":
            return
        entrants = {entrant.name: entrant for entrant in contest.space.entrants}
        launches = [
            launch
            for case in batch
            for name in case.contenders
            for launch in launches_of(contest.space, entrants[name], self._device, [case])
        ]
        ours = dict.fromkeys(self._request(launch) for launch in launches if launch.foreign is None)
        lacking = [request for request in ours if request not in self._compiled]
        if lacking:
            compile_many(lacking, self._processes)
            self._compiled.update(lacking)

    def _begin(self, contest: Contest) -> _Job:
        def work() -> None:
            try:
                job.dropped = self._dropped(contest)
            except GpubenchError as error:
                job.error = error

        job = _Job(threading.Thread(target=work, name="compile ahead", daemon=True))
        job.thread.start()
        return job

    def _dropped(self, contest: Contest) -> dict[str, str]:
        """Compile what a contest may run, and return why configurations are left out."""
        if self._device.kind != "cuda":
            return {}
        launches = {
            entrant.name: launches_of(contest.space, entrant, self._device, contest.cases)
            for entrant in contest.space.entrants
        }
        ours = dict.fromkeys(
            self._request(launch) for row in launches.values() for launch in row if launch.foreign is None
        )
        found = dict(zip(ours, compile_many(list(ours), self._processes), strict=True))
        self._compiled.update(ours)
        theirs = {
            self._request(launch): launch for row in launches.values() for launch in row if launch.foreign is not None
        }
        pairs = [(launch, request.arch) for request, launch in theirs.items()]
        found |= zip(theirs, compile_launches(pairs, self._processes), strict=True)
        worst = self._worst(launches[contest.space.incumbent.name], found)
        return {
            entrant.name: why
            for entrant in contest.space.entrants
            if entrant is not contest.space.incumbent and (why := self._why_not(launches[entrant.name], found, worst))
        }

    def _request(self, launch: Launch) -> Request:
        """Return what tells the machine code of one launch from that of another."""
        request = Request.of(launch, self._device)
        options = "" if launch.foreign is None else " ".join(("", *launch.foreign.options))
        return replace(request, source=request.source + options)

    def _worst(self, launches: Sequence[Launch], found: Mapping[Request, CompiledKernel | CompileError]) -> int:
        """Return the most bytes that a kernel of the shipped constants spills."""
        outcomes = (found.get(self._request(launch)) for launch in launches)
        return max(
            (outcome.resources.spill_bytes or 0 for outcome in outcomes if isinstance(outcome, CompiledKernel)),
            default=0,
        )

    def _why_not(
        self,
        launches: Sequence[Launch],
        found: Mapping[Request, CompiledKernel | CompileError],
        worst: int,
    ) -> str:
        """Return why a configuration is left out: it does not compile, spills more, or no block fits an SM."""
        for launch in launches:
            outcome = found.get(self._request(launch))
            if isinstance(outcome, CompileError):
                return f"does not compile: {outcome}"[:300]
            if outcome is None:
                continue
            used = outcome.resources
            if (used.spill_bytes or 0) > worst:
                return f"spills {used.spill_bytes} bytes: {used.kernel}"
            if blocks_of_sm(launch, used.registers, used.shared_bytes, self._device) == 0:
                return f"no block fits an SM: {used.kernel}"
        return ""


def blocks_of_sm(launch: Launch, registers: int, static_shared: int, device: DeviceInfo) -> int:
    """Return how many blocks of a launch an SM holds, by its registers, shared memory and threads; 0: it cannot run.

    Registers are given to warps in portions of 256 ("CUDA C++ Programming Guide", compute capabilities).
    """
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    warps = -(-threads // device.warp_size)
    if threads > 1024 or static_shared + launch.shared_bytes > device.max_shared_bytes:
        return 0
    by_registers = REGISTERS // (warps * -(-registers * device.warp_size // 256) * 256) if registers else 64
    shared = static_shared + launch.shared_bytes
    by_shared = (device.max_shared_bytes + 1024) // (shared + 1024) if shared else 64
    return min(by_registers, by_shared, device.max_threads_per_sm // (warps * device.warp_size))
