"""Two checkouts, or one with other constants, held against each other: whose plans and machine code differ."""

from __future__ import annotations

import os
import pickle
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpubench.errors import UsageError
from gpubench.kernels import CompiledKernel, Request, compile_many
from gpubench.kernels.sources import SECOND, SECOND_PREFIX, SourceTree
from gpubench.model import Case, DeviceInfo, Launch, Plan
from gpubench.operators.constants import Value

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Side:
    """A checkout's folder, and the constants that are in force in it."""

    root: Path
    constants: Mapping[str, Value]

    def plans(self, cases: Sequence[Case], device: DeviceInfo) -> list[Plan | None]:
        """Return `auto`'s plan of each case by the checkout's own package, which a process of its own imports."""
        environment = {**os.environ, "PYTHONPATH": f"{self.root}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        asked = subprocess.run(
            [sys.executable, "-P", str(HERE / "plans_of.py")],
            input=pickle.dumps((list(cases), device, dict(self.constants))),
            env=environment,
            cwd=self.root,
            capture_output=True,
            check=False,
        )
        if asked.returncode:
            last = asked.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise UsageError(f"The package of {self.root} made no plans: {last}")
        plans: list[Plan | None] = pickle.loads(asked.stdout)
        return plans

    def compiled(self, plans: Sequence[Plan | None], device: DeviceInfo, processes: int) -> dict[Request, str]:
        """Compile what the plans launch; return the hash of each instance's machine code, or why it has none."""
        launches = (launch for plan in plans if plan is not None for launch in plan.launches)
        named = (replace(launch, source=launch.source.removeprefix(SECOND_PREFIX)) for launch in launches)
        wanted = {Request.of(launch, device) for launch in named}
        requests = sorted(wanted, key=lambda request: (request.source, request.kernel))
        outcomes = compile_many(requests, processes, SourceTree(self.root / "cuda_src"))
        return {
            request: found.resources.cubin_sha256 if isinstance(found, CompiledKernel) else str(found)
            for request, found in zip(requests, outcomes, strict=True)
        }


@dataclass(frozen=True, slots=True)
class Changed:
    """A case and its two plans; the old one's kernels lie in the second tree of sources where there are two."""

    case: Case
    old: Plan
    new: Plan


def changed(
    cases: Sequence[Case], old: Side, new: Side, device: DeviceInfo, processes: int | None
) -> Iterator[Changed]:
    """Yield the cases whose launches differ, also by machine code alone where `processes` may compile it.

    One checkout with other constants has one machine code: its plans tell, and nothing is compiled.
    """
    plans = [side.plans(cases, device) for side in (old, new)]
    code: list[dict[Request, str]] = [{}, {}]
    apart = old.root != new.root
    if apart and processes is not None:
        code = [side.compiled(own, device, processes) for side, own in zip((old, new), plans, strict=True)]
    for case, before, after in zip(cases, *plans, strict=True):
        if before is None or after is None or _launched(before, device, code[0]) == _launched(after, device, code[1]):
            continue
        steps = (
            replace(step, source=SECOND_PREFIX + step.source) if apart and isinstance(step, Launch) else step
            for step in before.steps
        )
        yield Changed(case, replace(before, steps=tuple(steps)), after)


def _launched(plan: Plan, device: DeviceInfo, code: Mapping[Request, str]) -> list[object]:
    """Return what tells the plan's steps from another's: a launch by its machine code where that is known."""
    return [
        replace(step, source="", kernel=code.get(Request.of(step, device), step.source + step.kernel))
        if isinstance(step, Launch)
        else step
        for step in plan.steps
    ]


def look_in(old: Side) -> None:
    """Let sources of the second tree be those of this checkout, in this process and those that it starts."""
    os.environ[SECOND] = str(old.root / "cuda_src")


@dataclass(frozen=True, slots=True)
class Compared:
    """Times of both, microseconds, and whether a case's output had the same bits."""

    changed: Changed
    old_us: float
    new_us: float
    same: bool

    @property
    def ratio(self) -> float:
        """How many times as fast the new one is."""
        return self.old_us / self.new_us


def report(found: Sequence[Compared], ends: int) -> Iterator[str]:
    """Yield the mean, the means by pairs of variants, and the cases at both ends."""
    if not found:
        return
    yield f"old / new: {_mean(found):.4f} over {len(found)} cases; the same bits in {sum(each.same for each in found)}"
    pairs = sorted({(each.changed.old.variant, each.changed.new.variant) for each in found})
    for pair in pairs if len(pairs) > 1 else ():
        part = [each for each in found if (each.changed.old.variant, each.changed.new.variant) == pair]
        yield f"  {' -> '.join(pair)}: {_mean(part):.4f} over {len(part)}"
    ordered = sorted(found, key=lambda each: each.ratio)
    shown = ordered if len(ordered) <= 2 * ends else [*ordered[:ends], *ordered[-ends:]]
    for each in shown:
        notes = "" if each.same else " OTHER BITS"
        variants = f"{each.changed.old.variant} -> {each.changed.new.variant} {dict(each.changed.new.notes)}"
        yield f"{each.ratio:6.3f} {each.old_us:9.2f} {each.new_us:9.2f} {each.changed.case.id} {variants}{notes}"


def _mean(found: Sequence[Compared]) -> float:
    return statistics.geometric_mean(each.ratio for each in found)
