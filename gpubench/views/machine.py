"""What a comparison says of the machine, in words: the first thing that a reader must know."""

from __future__ import annotations

from gpubench.comparison import Comparison, MachineChange
from gpubench.views import text

SMALL = 0.001
"""A factor certainly this near to 1 is none."""


def machine_lines(comparison: Comparison) -> list[str]:
    """Return how the machine changed and by what that is known, in one or two sentences; nothing within one result."""
    machine = comparison.machine
    if machine is None:
        return []
    if not machine.controls:
        return ["Nothing unchanged tells the machine from the kernels: no control, no sweep of ceilings."]
    where = "This machine" if comparison.simulated else "This GPU"
    old = text.printable(comparison.old.rpartition("/")[2] or comparison.old)
    lines = [f"{where} {_change(machine, old)}: {_evidence(machine)}."]
    if machine.changed and not comparison.adjusted:
        lines.append("The machine changed by more than the threshold: exit 3. --adjust-machine judges what is left.")
    elif machine.changed:
        lines.append("The machine's change is taken off every ratio.")
    noise = f"From run to run unchanged work differs by {_percent(machine.share)} and {machine.jitter_us:.2g} us"
    if machine.moved:
        noise += (
            f"; {machine.moved} of {machine.long} unchanged kernels over 50 us moved by more than the threshold on "
            "their own: expect the same share among changed ones"
        )
    return [*lines, f"{noise}."]


def _change(machine: MachineChange, old: str) -> str:
    factor, low, high = machine.factor
    added, least, most = machine.added_us
    parts = []
    if low > 1 or high < 1:
        word = "slower" if factor > 1 else "faster"
        ends = sorted((abs(low - 1), abs(high - 1)))
        parts.append(
            f"is {_percent(abs(factor - 1))} {word} than in {old} ({_percent(ends[0])} to {_percent(ends[1])})"
        )
    else:
        reach = max(abs(low - 1), abs(high - 1))
        parts.append(f"is as fast as in {old} (within {_percent(reach)})")
    if least > 0 or most < 0:
        word = "adds" if added > 0 else "takes"
        ends = sorted((abs(least), abs(most)))
        what = "to a launch" if added > 0 else "off a launch"
        parts.append(f"{word} {abs(added):.2g} us {what} ({ends[0]:.2g} to {ends[1]:.2g} us)")
    return " and ".join(parts)


def _evidence(machine: MachineChange) -> str:
    shortest, longest = machine.span_us
    kernels = machine.controls - machine.ceilings
    counts = ((kernels, "unchanged pairs"), (machine.ceilings, "ceilings"))
    parts = [f"{count} {name}" for count, name in counts if count]
    span = f"{text.duration(shortest)} to {text.duration(longest)}"
    return f"{machine.controls} controls of {span} ({' and '.join(parts)})"


def _percent(share: float) -> str:
    return f"{text.significant(100 * share, 2)} %"
