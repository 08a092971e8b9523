"""The page that holds the claims of the texts on PyTorch's and OneFlow's kernels against a result of the suite `seeds`.

Every figure and every verdict comes from the result; nothing is written by hand. A figure of the texts is theirs, taken
on their GPU (an A100 PCIe of 40 GB), and marked so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpubench.model import Json, ResultSet
from gpubench.names import MEASURED
from gpubench.views import text
from gpubench.views.rows import Row
from studies.markdown import grid
from studies.texts.beside_torch import against_torch
from studies.texts.claims import ACROSS, CLAIMS, SLIPS, TABLE, WIDTHS, WORDS, WORKED, Claim, Worked
from studies.texts.counted import counted
from studies.texts.figures import Figures, bound, median, shown, verdict

ONEFLOW_THREADS = 256
"""Threads of a block in OneFlow's launch."""

EQUAL = 0.05
"""Two times of the text's table this close count as a tie there."""

TABLE_NOTE = (
    f"**Equal** is, of the text's times, a difference of at most {EQUAL:.0%} of the smaller one; of those measured "
    "here, the same or 95 % intervals of the medians that overlap. The text's third row for OneFlow names the shape "
    "(32 * 1024 * 1024,) beside a source of (15, 1024, 1024): it is taken for (32, 1024, 1024), as PyTorch's row is."
)
LEFT_OUT = (
    "Left out on purpose: bool, the branches for ROCm, reductions with several outputs, mean, Kahan's summation, and "
    "the dispatch on the host."
)


Source = tuple[ResultSet, str]
"""A result and the name of its file."""


def page(result: ResultSet, source: str, counts: Mapping[str, Json] | None = None, later: Sequence[Source] = ()) -> str:
    """Return the whole page as Markdown.

    source: the name of the result's file. counts: from scripts/dram_bytes.py. later: results of some of the
    cases, which are taken from there.
    """
    sources = ((result, source), *later)
    figures = Figures(*(found for found, _ in sources))
    made = ", then ".join(map(_origin, sources))
    parts = [
        "# The texts' claims, measured",
        f"Made by `scripts/seeds` from {made}; not edited by hand. Times are medians of cold launches. What the texts "
        "measured, they measured on an A100 PCIe with 40 GB; those figures are theirs. A claim **holds** where the "
        "95 % intervals of the two medians are apart the way it says, is **undecided** where they overlap, and **does "
        "not hold** where they are apart the other way. A case that several results have is the last one's.",
        *_simulated([found for found, _ in sources]),
        "## What times decide",
        _claims(figures),
        "## index_add: the text's table",
        *_assumed_launch(figures),
        _table(figures),
        TABLE_NOTE,
        "## The worked examples: what the host's rules choose",
        _worked(figures, WORKED),
        "## Where a text and the code that it quotes disagree",
        "The variants follow the code.",
        _worked(figures, SLIPS),
        "In words only:",
        "\n".join(f"- {words}." for words in WORDS),
        LEFT_OUT,
        *_optional("## index_add: what merging dims and other changes move and compute", counted(counts or {})),
        *_optional("## cumsum: the intended rule for threads and the one that wraps", _thread_rules(figures)),
        *_optional("## cumsum: threads along a row", _across(figures)),
        *_optional("## elementwise: the width of a vector", _widths(figures)),
        "## Against torch itself",
        against_torch(figures),
        "## Every case",
        _all(figures),
    ]
    return "\n\n".join(parts) + "\n"


def _origin(source: Source) -> str:
    """Return a result's file, device and date."""
    result, path = source
    device = result.environment.get("device", {})
    name = device.get("name", "an unknown device") if isinstance(device, dict) else "an unknown device"
    return f"{_code(path)} ({text.markdown(str(name))}, {text.markdown(result.created)})"


def _simulated(results: Sequence[ResultSet]) -> list[str]:
    if not any(record.simulated for result in results for record in result.records):
        return []
    return ["**This result was simulated: its times say nothing about a GPU.**"]


def _optional(heading: str, body: str | None) -> list[str]:
    return [] if body is None else [heading, body]


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
                shown(slow),
                shown(fast),
                theirs,
                text.ratio(median(slow) / median(fast)),
                f"**{verdict(slow, fast)}**{_less(claim, slow, fast)}{bound(slow, fast)}",
            )
        )
    heading = ("the text", "case", "slower", "faster", "ratio there (A100)", "ratio here", "here")
    return grid(heading, lines, right=(2, 3, 4, 5))


def _less(claim: Claim, slow: Row, fast: Row) -> str:
    """Say where a claim holds but less than half of the gain there is left here."""
    if claim.theirs is None or verdict(slow, fast) != "holds":
        return ""
    return ", by less than half as much" if median(slow) / median(fast) - 1 < (claim.theirs - 1) / 2 else ""


def _table(figures: Figures) -> str:
    lines = []
    for case, pytorch, oneflow in TABLE:
        ours, other = figures.row(case, "gpubench:auto_pytorch"), figures.row(case, "gpubench:oneflow")
        torch = figures.row(case, "torch")
        there = _winner(pytorch, oneflow)
        here = "not measured" if ours is None or other is None else _faster(ours, other)
        agrees = "-" if here == "not measured" else "yes" if here == there else "**no**"
        times = [shown(row) for row in (ours, other, torch)]
        lines.append((_code(case), f"{pytorch} us", f"{oneflow} us", there, *times, here, agrees))
    heading = ("case", "PyTorch, A100", "OneFlow, A100", "faster there", "auto_pytorch", "oneflow", "torch")
    return grid((*heading, "faster here", "as there"), lines, right=(1, 2, 4, 5, 6))


def _assumed_launch(figures: Figures) -> list[str]:
    """Say so where `oneflow` was recorded before its launch was the original's."""
    blocks = [(figures.chosen(case, "gpubench:oneflow") or {}).get("block") for case, *_ in TABLE]
    if not any(isinstance(block, list) and block[0] != ONEFLOW_THREADS for block in blocks):
        return []
    return [
        "**`oneflow` was recorded here with a launch that was assumed, not with the original's (one wave of blocks of "
        f"{ONEFLOW_THREADS} threads): its times, and the verdicts on OneFlow, need another run.**"
    ]


def _winner(pytorch: float, oneflow: float) -> str:
    if abs(pytorch - oneflow) <= EQUAL * min(pytorch, oneflow):
        return "equal"
    return "PyTorch" if pytorch < oneflow else "OneFlow"


def _faster(ours: Row, other: Row) -> str:
    if verdict(other, ours) == "undecided":
        return "equal"
    return _winner(median(ours), median(other))


def _worked(figures: Figures, examples: Sequence[Worked]) -> str:
    lines = []
    for example in examples:
        chosen = figures.chosen(example.case, example.contender)
        cells = [_code(example.case), _code(example.contender), _words(example.wanted), _same(example, chosen)]
        lines.append((*cells[:2], example.says, *cells[2:]) if example.says else tuple(cells))
    says = ("the text",) if any(example.says for example in examples) else ()
    return grid(("case", "contender", *says, "the rule gives", "chosen here"), lines, right=())


def _same(example: Worked, chosen: dict[str, Json] | None) -> str:
    """Say whether the host chose what the rule gives, and if not, what."""
    if chosen is None:
        return "not measured"
    other = {key: chosen.get(key) for key, value in example.wanted.items() if chosen.get(key) != value}
    return f"**not the same**: {_words(other)}" if other else "the same"


def _words(config: dict[str, Json]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {_number(value)}" for key, value in config.items())


def _number(value: Json) -> str:
    """Return a number, or a list of them as `32 x 4`; a name as code."""
    if isinstance(value, str):
        return _code(value)
    return text.markdown(" x ".join(map(str, value)) if isinstance(value, list) else str(value).lower())


def _thread_rules(figures: Figures) -> str | None:
    lines = []
    for case in figures.cases:
        wrapped, intended = (figures.row(case, f"gpubench:sklansky_rows{end}") for end in ("_unsigned", ""))
        if wrapped is None or intended is None:
            continue
        ratio = text.ratio(median(wrapped) / median(intended))
        lines.append((_code(case), shown(intended), shown(wrapped), ratio, _defect(figures, wrapped, intended)))
    heading = ("case", "intended (signed)", "as written (unsigned)", "ratio", "the defect")
    return grid(heading, lines, right=(1, 2, 3)) if lines else None


def _defect(figures: Figures, wrapped: Row, intended: Row) -> str:
    """Say what the wrap costs; where both rules choose the same threads there is none."""
    across = [(figures.chosen(row.case, row.contender) or {}).get("threads_x") for row in (wrapped, intended)]
    if across[0] is not None and across[0] == across[1]:
        return "does not wrap: the same launch"
    return {"holds": "**costs time**", "does not hold": "**saves time**", "undecided": "undecided"}[
        verdict(wrapped, intended)
    ]


def _across(figures: Figures) -> str | None:
    """Return the times with 16 to 512 threads along a row, what the rule takes, and what it loses by that."""
    lines = []
    for case in figures.cases:
        found = [figures.row(case, f"gpubench:{name}") for name in ACROSS]
        rule = figures.row(case, "gpubench:sklansky_rows")
        measured = [row for row in found if row is not None]
        if rule is None or not measured:
            continue
        taken = (figures.chosen(case, rule.contender) or {}).get("threads_x", "-")
        over = text.ratio(median(rule) / median(min(measured, key=median)))
        lines.append((_code(case), *(shown(row) for row in found), str(taken), over))
    heading = ("case", *(name.rpartition("x")[2] for name in ACROSS), "the rule takes", "rule over the best")
    return grid(heading, lines, right=tuple(range(1, 9))) if lines else None


def _widths(figures: Figures) -> str | None:
    lines = []
    for case in figures.cases:
        found = [figures.row(case, f"gpubench:{name}") for name in WIDTHS]
        wide = [row for row in found[1:] if row is not None]
        if found[0] is None or not wide:
            continue
        best = min(wide, key=median)
        gain = text.ratio(median(found[0]) / median(best))
        lines.append((_code(case), *(shown(row) for row in found), gain, verdict(found[0], best)))
    heading = ("case", "1", "2", "4", "8", "1 over the best", "wider is faster")
    return grid(heading, lines, right=(1, 2, 3, 4, 5)) if lines else None


def _all(figures: Figures) -> str:
    """Return every record: its time, or why there is none."""
    lines = []
    for record in figures.records():
        case, contender = record.case.id, record.contender
        row = figures.row(case, contender)
        if row is not None:
            fraction = "-" if row.fraction is None else text.percent(row.fraction)
            lines.append((_code(case), _code(contender), shown(row), fraction, row.status + bound(row)))
        else:
            lines.append((_code(case), _code(contender), "-", "-", _failed(record.status)))
    return grid(("case", "contender", "median", "of the ceiling", "status"), lines, right=(2, 3))


def _failed(status: str) -> str:
    return status if status in MEASURED else f"**{text.markdown(status)}**"


def _code(name: str) -> str:
    return text.markdown_code(name)
