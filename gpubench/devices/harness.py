"""What the harness runs of its own to know the machine: plans of its kernels, which need no restore."""

from __future__ import annotations

from gpubench.model import Accuracy, Launch, Plan, Pointer, Value

CLOCK = "harness/clock.cu"
NAMESPACE = "gpubench::harness::"

_ACCURACY = Accuracy(0, "float32")


def nothing() -> None:
    """Enqueue nothing: the restore of work that changes none of its inputs."""


def harness_plan(
    name: str, source: str, grid: int, threads: int, *arguments: Pointer | Value, kernel: str = ""
) -> Plan:
    """Return the plan of one of the harness's kernels, in `grid` blocks of so many threads.

    `kernel`: its name expression in the harness's namespace, where that is not `name`.
    """
    launch = Launch(source, f"{NAMESPACE}{kernel or name}", (grid, 1, 1), (threads, 1, 1), arguments)
    return Plan(name, (launch,), _ACCURACY)
