"""The Go benchmark format, for benchstat: a line a round, whose iterations are the round's samples.

Format: https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md
"""

from __future__ import annotations

import re

from gpubench.model import Record, ResultSet
from gpubench.results.exports import Exported, Options, facts


def export(result: ResultSet, options: Options) -> Exported:
    """Return configuration lines, then a line for each round of each record that was measured."""
    del options
    configuration = {
        "suite": facts.suite(result),
        "device": facts.device(result),
        "driver": facts.device(result, "driver"),
        "commit": facts.harmless(result.source.suite.commit),
        "gpubench": facts.harmless(result.gpubench),
        "created": facts.harmless(result.created),
        "simulated": "true" if facts.is_simulated(result) else "false",
    }
    lines = [f"{key}: {value}" for key, value in configuration.items() if value.strip()]
    lines += ["Unit sec/op better=lower", "Unit B/s better=higher", ""]
    lines += [line for record in facts.records(result) for line in _lines(record)]
    return Exported(("\n".join(lines) + "\n").encode())


def _lines(record: Record) -> list[str]:
    median = facts.median_us(record)
    if median is None:
        return []
    operator = _part(record.case.operator)
    name = f"Benchmark{operator[:1].upper()}{operator[1:]}/case={_part(facts.case_parts(record))}"
    # benchstat takes a number after the last hyphen for the number of processors
    name = re.sub(r"-(\d+)$", r"_\1", f"{name}/contender={_part(record.contender.replace(':', '-'))}")
    return [_line(record, name, us, samples) for us, samples in facts.rounds_us(record) or [(median, 1)]]


def _line(record: Record, name: str, us: float, samples: int) -> str:
    rate = facts.bytes_per_second(record, us)
    moved = "" if rate is None else f" {rate / 1e6!r} MB/s"
    return f"{name} {samples} {us * 1e3!r} ns/op{moved}"


def _part(text: str) -> str:
    """Return a part of a name: `/` divides parts and white space ends the name, so neither stays."""
    return re.sub(r"\s", "_", facts.harmless(text).replace("/", ",")) or "_"
