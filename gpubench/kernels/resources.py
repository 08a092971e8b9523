"""What ptxas says of each kernel (its `-v` output): registers, spills, stack and static shared memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"Compiling entry function '([^']+)' for '([^']+)'")
_FUNCTION = re.compile(r"Function properties for (\S+)")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_CUMULATIVE = re.compile(r"(\d+) bytes cumulative stack size")


@dataclass(frozen=True, slots=True)
class Usage:
    """One kernel's figures. Spills and stack count the functions it calls too; None: the compiler does not tell."""

    registers: int = 0
    spill_bytes: int | None = 0
    stack_bytes: int = 0
    shared_bytes: int = 0


class _Tally:
    """The figures of one kernel while its part of the log is read."""

    def __init__(self) -> None:
        self.registers = 0
        self.spills = 0
        self.frame = 0
        self.cumulative = 0
        self.shared = 0

    def read(self, line: str) -> None:
        if (frame := _FRAME.search(line)) is not None:
            self.frame = max(self.frame, int(frame[1]))
            self.spills += int(frame[2]) + int(frame[3])
        if (registers := _REGISTERS.search(line)) is not None:
            self.registers = int(registers[1])
            shared, cumulative = _SHARED.search(line), _CUMULATIVE.search(line)
            self.shared = int(shared[1]) if shared is not None else 0
            self.cumulative = int(cumulative[1]) if cumulative is not None else 0

    def usage(self) -> Usage:
        return Usage(self.registers, self.spills, max(self.frame, self.cumulative), self.shared)


def parse(log: str) -> dict[str, Usage]:
    """Return the figures of each kernel in a log, by its lowered (mangled) name. Understands CUDA 12 and 13.

    A function's lines follow the kernel that it was compiled for; spill bytes are stores and loads together.
    """
    tallies: dict[str, _Tally] = {}
    current: _Tally | None = None
    for line in log.splitlines():
        entry = _ENTRY.search(line)
        if entry is not None:
            current = tallies.setdefault(entry[1], _Tally())
            continue
        named = _FUNCTION.search(line)
        if named is not None and named[1] in tallies:
            current = tallies[named[1]]
        elif current is not None and named is None:
            current.read(line)
    return {name: tally.usage() for name, tally in tallies.items()}
