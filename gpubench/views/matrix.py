"""Several results beside each other: a row a case and contender, a column a result, ratios to the first."""

from __future__ import annotations

from collections.abc import Sequence

from gpubench.comparison import Comparison, Row, Verdict
from gpubench.model import Json
from gpubench.views import text
from gpubench.views.comparison import COLORS, UNCHANGED, totals
from gpubench.views.machine import machine_lines
from gpubench.views.tables import MARKDOWN_LIMIT, Look, cut

MARKS: dict[Verdict, str] = {
    "SLOWER": "+",
    "FASTER": "-",
    "SAME": "=",
    "DRIFTED": "~",
    "UNDECIDED": "?",
    "BROKEN": "!",
    "FIXED": "*",
    "ADDED": "a",
    "REMOVED": "x",
}

LEGEND = (
    "ratio to the first as measured; + slower and - faster beyond the machine's change, = the same, ~ unchanged work "
    "that drifted, ? undecided, ! broken, * fixed, x missing"
)

Key = tuple[str, str]


def matrix_text(comparisons: Sequence[Comparison], look: Look | None = None, only_changed: bool = False) -> str:
    """Return the matrix as text: what each result says of its machine, the rows, the totals."""
    import textwrap

    look = look or Look()
    width = look.width or 10_000
    lines: list[str] = []
    for line in [*_head(comparisons), LEGEND]:
        lines += textwrap.wrap(line, width, subsequent_indent="   ")
    keys, table = _table(comparisons, only_changed)
    if keys:
        lines += ["", *_grid(keys, table, look, len(comparisons))]
    lines.append("")
    for number, comparison in enumerate(comparisons):
        lines += textwrap.wrap(f"{_letter(number + 1)}: {totals(comparison)}", width, subsequent_indent="   ")
    return "\n".join(lines) + "\n"


def matrix_markdown(comparisons: Sequence[Comparison], only_changed: bool = False, limit: int = MARKDOWN_LIMIT) -> str:
    """Return the matrix as Markdown of at most `limit` bytes, cut between rows."""
    letters = [_letter(number + 1) for number in range(len(comparisons))]
    head = [text.markdown(line) + "  " for line in [*_head(comparisons), LEGEND]]
    head += [
        "",
        "| case | contender | A | " + " | ".join(letters) + " |",
        "|---|---|---:" + "|---:" * len(letters) + "|",
    ]
    keys, table = _table(comparisons, only_changed)
    body = []
    for key in keys:
        cells = [text.markdown(_cell(row)) for row in table[key]]
        names = (text.markdown_code(key[0]), text.markdown_code(key[1]), text.markdown(_first(table[key])))
        body.append("| " + " | ".join((*names, *cells)) + " |")
    return cut(head, body, limit)


CSV_HEADINGS = ("time_us", "ratio", "change", "low", "high", "verdict")


def matrix_rows(comparisons: Sequence[Comparison]) -> list[list[Json]]:
    """Return the matrix as rows of plain values, heading first: for each result its time, the ratio as measured, the
    ratio beyond the machine's change with its interval, and the verdict.
    """
    heading: list[Json] = ["case", "contender", comparisons[0].old]
    heading += [f"{comparison.new} {name}" for comparison in comparisons for name in CSV_HEADINGS]
    keys, table = _table(comparisons, only_changed=False)
    lines = [heading]
    for key in keys:
        line: list[Json] = [*key, next((row.old_us for row in table[key] if row and row.old_us), None)]
        for row in table[key]:
            one = row.estimate if row else None
            change = [None] * 3 if one is None else [one.ratio, one.low, one.high]
            line += [row and row.new_us, _ratio(row), *change, row and row.verdict]
        lines.append(line)
    return lines


def _head(comparisons: Sequence[Comparison]) -> list[str]:
    """Return a line a result: its letter, its name, and what its machine did."""
    lines = [f"A: {text.printable(comparisons[0].old)}"]
    for number, comparison in enumerate(comparisons):
        said = " ".join(
            machine_lines(comparison)[:-1]
            if comparison.machine and comparison.machine.controls
            else machine_lines(comparison)
        )
        lines.append(f"{_letter(number + 1)}: {text.printable(comparison.new)}. {said}")
        lines += [f"   {text.printable(note)}" for note in comparison.notes]
        lines += [
            f"   {text.printable(f'{difference.name} {difference.old} -> {difference.new}')}: {difference.meaning}"
            for difference in comparison.differences
            if difference.meaning
        ]
    if any(comparison.simulated for comparison in comparisons):
        lines.append("SIMULATED on the host: these times say nothing about a GPU.")
    return lines


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else f"R{number + 1}"


def _table(comparisons: Sequence[Comparison], only_changed: bool) -> tuple[list[Key], dict[Key, list[Row | None]]]:
    found: dict[Key, list[Row | None]] = {}
    for number, comparison in enumerate(comparisons):
        for row in comparison.rows:
            found.setdefault((row.case, row.contender), [None] * len(comparisons))[number] = row
    kept = [
        key
        for key, rows in found.items()
        if not only_changed or any(row and row.verdict not in UNCHANGED for row in rows)
    ]
    return kept, found


def _ratio(row: Row | None) -> float | None:
    return row.new_us / row.old_us if row and row.old_us and row.new_us else None


def _cell(row: Row | None) -> str:
    if row is None:
        return text.MISSING
    ratio = _ratio(row)
    return (text.MISSING if ratio is None else f"{text.significant(ratio)}") + MARKS[row.verdict]


def _first(rows: Sequence[Row | None]) -> str:
    return text.quantity(next((row.old_us for row in rows if row and row.old_us), None), "us")


def _grid(keys: Sequence[Key], table: dict[Key, list[Row | None]], look: Look, columns: int) -> list[str]:
    letters = [_letter(number + 1) for number in range(columns)]
    cells = {key: [_first(table[key]), *(_cell(row) for row in table[key])] for key in keys}
    sizes = [max(len(name), *(len(line[i]) for line in cells.values())) for i, name in enumerate(["A", *letters])]
    one_contender = len({contender for _, contender in keys}) == 1
    names = {key: text.printable(key[0] if one_contender else f"{key[0]}  {key[1]}") for key in keys}
    room = max(map(text.cell_width, names.values()))
    if look.width is not None:
        room = min(room, max(look.width - sum(sizes) - 2 * len(sizes), 20))
    lines = ["  ".join([" " * room, *(name.rjust(size) for name, size in zip(["A", *letters], sizes, strict=True))])]
    for key in keys:
        name = text.shorten(names[key], room)
        parts = [value.rjust(size) for value, size in zip(cells[key], sizes, strict=True)]
        for number, row in enumerate(table[key], 1):
            if row is not None and look.color:
                parts[number] = f"\x1b[{COLORS[row.verdict]}m{parts[number]}\x1b[0m"
        lines.append("  ".join([name + " " * (room - text.cell_width(name)), *parts]))
    return lines
