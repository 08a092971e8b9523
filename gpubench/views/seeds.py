"""The page that holds the claims of the texts on PyTorch's and OneFlow's kernels against a result of the suite `seeds`.

Every figure and every verdict comes from the result; nothing is written by hand. A figure of the texts is theirs, taken
on their GPU (an A100 PCIe of 40 GB), and marked so.
"""

from __future__ import annotations

import math

from gpubench.model import Json, Record, ResultSet
from gpubench.views import text
from gpubench.views.rows import Row, rows
from gpubench.views.seeds_claims import CLAIMS, PRESUMED, TABLE, WIDTHS, WORKED, Claim

GOOD = ("ok", "noisy", "throttled")
"""Statuses of records whose times may be shown."""

LARGE_BYTES = 16_000_000
"""Cases from this size on are compared with torch itself."""

CLOSE = 0.10
"""How far from torch a case, and the geometric mean of all, may be."""

EQUAL = 0.05
"""Two times of the text's table this close count as a tie there."""


class Figures:
    """The rows of a result by case and contender."""

    def __init__(self, result: ResultSet) -> None:
        """Keep the rows whose times may be shown, and the records for what their kernels chose."""
        self._rows = {(row.case, row.contender): row for row in rows(result) if row.status in GOOD and row.median_us}
        self._records = {(record.case.id, record.contender): record for record in result.records}
        self.cases = list(dict.fromkeys(record.case.id for record in result.records))

    def row(self, case: str, contender: str) -> Row | None:
        """Return the row, None when it was not measured (or failed)."""
        return self._rows.get((case, contender))

    def record(self, case: str, contender: str) -> Record | None:
        """Return the record, whatever its status."""
        return self._records.get((case, contender))

    def contenders(self, case: str) -> list[Row]:
        """Return the rows of a case."""
        return [row for (found, _), row in self._rows.items() if found == case]


def page(result: ResultSet, source: str) -> str:
    """Return the whole page as Markdown. `source` names the result's file."""
    figures = Figures(result)
    device = result.environment.get("device", {})
    name = device.get("name", "an unknown device") if isinstance(device, dict) else "an unknown device"
    parts = [
        "# The texts' claims, measured",
        f"Made by `scripts/seeds` from {_code(source)} ({text.markdown(str(name))}, "
        f"{text.markdown(result.created)}); not edited by hand. Times are medians of cold launches. What the texts "
        "measured, they measured on an A100 PCIe with 40 GB; those figures are theirs. A claim **holds** where the "
        "95 % intervals of the two medians are apart the way it says, is **undecided** where they overlap, and **does "
        "not hold** where they are apart the other way.",
        *_simulated(result),
        "## index_add: the claims",
        _claims(figures),
        "## index_add: the text's table",
        _table(figures),
        "## sum: the configuration of the worked examples",
        _worked(figures),
        *_optional("## cumsum: the intended rule for threads and the one that wraps", _thread_rules(figures)),
        *_optional("## elementwise: the width of a vector", _widths(figures)),
        "## Against torch itself",
        _torch(figures),
        "## Every case",
        _all(figures),
    ]
    return "\n\n".join(parts) + "\n"


def _simulated(result: ResultSet) -> list[str]:
    if not any(record.simulated for record in result.records):
        return []
    return ["**This result was simulated: its times say nothing about a GPU.**"]


def _optional(heading: str, body: str | None) -> list[str]:
    return [] if body is None else [heading, body]


def verdict(slow: Row, fast: Row) -> str:
    """Say whether `fast` takes less time than `slow`."""
    if slow.low_us is None or slow.high_us is None or fast.low_us is None or fast.high_us is None:
        return "undecided"
    if fast.high_us < slow.low_us:
        return "holds"
    return "does not hold" if slow.high_us < fast.low_us else "undecided"


def _claims(figures: Figures) -> str:
    lines = []
    for claim in CLAIMS:
        slow, fast = figures.row(claim.case, claim.slow), figures.row(claim.case, claim.fast)
        theirs = "-" if claim.theirs is None else text.ratio(claim.theirs)
        if slow is None or fast is None:
            lines.append((claim.says, _code(claim.case), "-", "-", theirs, "-", "not measured"))
            continue
        lines.append(
            (
                claim.says,
                _code(claim.case),
                _timed(slow),
                _timed(fast),
                theirs,
                text.ratio(_median(slow) / _median(fast)),
                f"**{verdict(slow, fast)}**{_less(claim, slow, fast)}{_bound(slow, fast)}",
            )
        )
    heading = ("the text", "case", "slower", "faster", "ratio there (A100)", "ratio here", "here")
    return text.markdown_grid(heading, lines, right=(2, 3, 4, 5))


def _less(claim: Claim, slow: Row, fast: Row) -> str:
    """Say where a claim holds but less than half of the gain there is left here."""
    if claim.theirs is None or verdict(slow, fast) != "holds":
        return ""
    return ", by less than half as much" if _median(slow) / _median(fast) - 1 < (claim.theirs - 1) / 2 else ""


def _table(figures: Figures) -> str:
    lines = []
    for case, pytorch, oneflow in TABLE:
        ours, other = figures.row(case, "gpubench:auto_pytorch"), figures.row(case, "gpubench:oneflow")
        torch = figures.row(case, "torch")
        there = _winner(pytorch, oneflow)
        here = "not measured" if ours is None or other is None else _faster(ours, other)
        agrees = "-" if here == "not measured" else "yes" if here == there else "**no**"
        shown = [_time(row) for row in (ours, other, torch)]
        lines.append((_code(case), f"{pytorch} us", f"{oneflow} us", there, *shown, here, agrees))
    heading = ("case", "PyTorch, A100", "OneFlow, A100", "faster there", "auto_pytorch", "oneflow", "torch")
    return text.markdown_grid((*heading, "faster here", "as there"), lines, right=(1, 2, 4, 5, 6))


def _winner(pytorch: float, oneflow: float) -> str:
    if abs(pytorch - oneflow) <= EQUAL * min(pytorch, oneflow):
        return "equal"
    return "PyTorch" if pytorch < oneflow else "OneFlow"


def _faster(ours: Row, other: Row) -> str:
    if verdict(other, ours) == "undecided":
        return "equal"
    return _winner(_median(ours), _median(other))


def _worked(figures: Figures) -> str:
    lines = []
    for case, wanted in WORKED:
        record = figures.record(case, "gpubench:reduce_config")
        notes = (record.kernel or {}).get("notes", {}) if record is not None else {}
        config = notes.get("config") if isinstance(notes, dict) else None
        found = {key: config.get(key) for key in wanted} if isinstance(config, dict) else None
        same = "not measured" if found is None else "yes" if found == wanted else "**no**"
        row, naive = figures.row(case, "gpubench:reduce_config"), figures.row(case, "gpubench:naive")
        lines.append((_code(case), _words(wanted), _words(found), same, _time(row), _time(naive)))
    heading = ("case", "the text's rule gives", "chosen here", "the same", "reduce_config", "one thread an output")
    return text.markdown_grid(heading, lines, right=(4, 5))


def _words(config: dict[str, Json] | None) -> str:
    if config is None:
        return "-"
    return ", ".join(f"{key.replace('_', ' ')} {_number(value)}" for key, value in config.items())


def _number(value: Json) -> str:
    """Return a number, or a list of them as `32 x 4`."""
    return text.markdown(" x ".join(map(str, value)) if isinstance(value, list) else str(value))


def _thread_rules(figures: Figures) -> str | None:
    lines = []
    for case in figures.cases:
        wrapped, intended = (figures.row(case, f"gpubench:sklansky_rows{end}") for end in ("_unsigned", ""))
        if wrapped is None or intended is None:
            continue
        ratio = text.ratio(_median(wrapped) / _median(intended))
        lines.append((_code(case), _timed(intended), _timed(wrapped), ratio, _costs(verdict(wrapped, intended))))
    heading = ("case", "intended (signed)", "as written (unsigned)", "ratio", "the defect")
    return text.markdown_grid(heading, lines, right=(1, 2, 3)) if lines else None


def _costs(found: str) -> str:
    return {"holds": "costs time", "does not hold": "saves time", "undecided": "makes no difference"}[found]


def _widths(figures: Figures) -> str | None:
    lines = []
    for case in figures.cases:
        found = [figures.row(case, f"gpubench:{name}") for name in WIDTHS]
        wide = [row for row in found[1:] if row is not None]
        if found[0] is None or not wide:
            continue
        best = min(wide, key=_median)
        gain = text.ratio(_median(found[0]) / _median(best))
        lines.append((_code(case), *(_time(row) for row in found), gain, verdict(found[0], best)))
    heading = ("case", "1", "2", "4", "8", "1 over the best", "wider is faster")
    return text.markdown_grid(heading, lines, right=(1, 2, 3, 4, 5)) if lines else None


def _torch(figures: Figures) -> str:
    ratios: dict[str, list[tuple[float, str]]] = {}
    for case in figures.cases:
        ours, torch = figures.row(case, "gpubench:auto_pytorch"), figures.row(case, "torch")
        if ours is not None and torch is not None and (ours.bytes or 0) >= LARGE_BYTES:
            ratios.setdefault(ours.operator, []).append((_median(ours) / _median(torch), case))
    if not ratios:
        return "torch was not measured in this result."
    lines = [
        f"Time of `auto_pytorch` over torch's own in the same run, cases of at least {LARGE_BYTES // 1_000_000} MB. "
        f"Within {CLOSE:.0%} of 1 it counts as the same design; cases further off are listed, with what is presumed, "
        "not measured, to make the difference.",
        "",
    ]
    for operator, found in ratios.items():
        mean = math.exp(sum(math.log(ratio) for ratio, _ in found) / len(found))
        inside = abs(mean - 1) <= CLOSE
        lines.append(
            f"- {operator}: geometric mean **{text.ratio(mean)}** over {len(found)} cases, "
            f"{'within' if inside else '**not** within'} {CLOSE:.0%}"
        )
        lines += [
            f"  - {_code(case)} {text.ratio(ratio)}{_presumed(operator, case, ratio)}"
            for ratio, case in found
            if abs(ratio - 1) > CLOSE
        ]
    return "\n".join(lines)


def _presumed(operator: str, case: str, ratio: float) -> str:
    """Return what may explain a case that is further off than CLOSE."""
    for where, ending, slower, reason in PRESUMED:
        if where == operator and case.endswith(ending) and slower == (ratio > 1):
            return f": {reason}"
    return ": not explained"


def _all(figures: Figures) -> str:
    lines = []
    for case in figures.cases:
        for row in figures.contenders(case):
            fraction = "-" if row.fraction is None else text.percent(row.fraction)
            lines.append((_code(case), _code(row.contender), _timed(row), fraction, row.status + _bound(row)))
    return text.markdown_grid(("case", "contender", "median", "of the ceiling", "status"), lines, right=(2, 3))


def _bound(*some: Row) -> str:
    return " (launch-bound)" if any(row.launch_bound for row in some) else ""


def _median(row: Row) -> float:
    assert row.median_us is not None, "only rows with a median are kept"
    return row.median_us


def _time(row: Row | None) -> str:
    return "-" if row is None else text.duration(_median(row))


def _timed(row: Row) -> str:
    return text.duration(_median(row))


def _code(name: str) -> str:
    return text.markdown_code(name)
