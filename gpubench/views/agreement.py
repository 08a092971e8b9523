"""How the clocks agree, as a Markdown table: made from what `gpubench agreement` recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpubench.views import text

BEGIN = "<!-- agreement: begin (gpubench agreement FILE --into docs/method.md) -->"
END = "<!-- agreement: end -->"

HEADINGS = ("operation", "elements", "launches", "events", "corrected", "CUPTI span", "CUPTI sum", "off", "NVBench")

PART, LEAST_US = 0.03, 0.15
"""What counts as agreement: the larger of this part of CUPTI's time and this time."""


def allowed(row: Mapping[str, Any]) -> tuple[float, float]:
    """Return the least and the longest time (us) that agrees with CUPTI's span.

    Of several launches, anything between the sum of their durations and the span agrees, since recording itself widens
    the gaps between them.
    """
    low, high = sorted((row["cupti_sum_us"], row["cupti_span_us"]))
    return low - max(PART * low, LEAST_US), high + max(PART * high, LEAST_US)


def verdict(row: Mapping[str, Any]) -> bool:
    """Tell whether corrected events agree with CUPTI."""
    least, longest = allowed(row)
    return bool(least <= row["corrected_us"] <= longest)


def block(document: Mapping[str, Any]) -> str:
    """Return the table with what was measured where, and the noise figures."""
    rows = document["rows"]
    agrees = [verdict(row) for row in rows]
    device = document["environment"]["device"]
    lines = [
        f"{text.markdown(str(device['name']))}, driver {text.markdown(str(device.get('driver')))}, "
        f"{text.markdown(str(document['created'])[:10])}. Microseconds, medians of {rows[0]['samples']} cold samples. "
        f"By CUPTI a kernel that tells its own span takes {document['edges_us']:.3f} us longer than that span; "
        f"{document['launch_overhead_us']:.2f} us is taken off events.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|---|" + "---:|" * (len(HEADINGS) - 1),
        *(_line(row) for row in rows),
        "",
        f"Corrected events agree with CUPTI within 3 % or 0.15 us in {sum(agrees)} of {len(rows)} rows; "
        f"`off` is corrected less span.{_exceptions(rows, agrees)}",
    ]
    compared = [row for row in rows if row["nvbench"] is not None]
    if compared:
        lines += ["", *_noise(compared)]
    return "\n".join(lines) + "\n"


def _line(row: Mapping[str, Any]) -> str:
    theirs = row["nvbench"]
    figures = (row["events_us"], row["corrected_us"], row["cupti_span_us"], row["cupti_sum_us"])
    off = row["corrected_us"] - row["cupti_span_us"]
    cells = [
        row["operation"],
        f"2^{row['elements'].bit_length() - 1}",
        str(row["launches"]),
        *(f"{figure:.2f}" for figure in figures),
        f"{off:+.2f}",
        f"{theirs['median_us']:.2f}" if theirs else "",
    ]
    return "| " + " | ".join(cells) + " |"


def _exceptions(rows: Sequence[Mapping[str, Any]], agrees: Sequence[bool]) -> str:
    names = [
        f"{row['operation']} 2^{row['elements'].bit_length() - 1}"
        for row, fine in zip(rows, agrees, strict=True)
        if not fine
    ]
    return f" The others: {', '.join(names)}." if names else ""


def _noise(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the table of wall times and noise beside NVBench's."""
    head = ("operation", "elements", "median", "NVBench", "apart", "wall s", "NVBench", "noise", "NVBench", "interval")
    lines = [
        "The same kernels by events for a tenth of the time that NVBench takes with its defaults. Noise: standard "
        "deviation over mean of the samples; interval: half-width of the mean's 95 % interval, ours from the means of "
        "16 samples each, NVBench's from its deviation and its number of samples.",
        "",
        "| " + " | ".join((*head, "NVBench")) + " |",
        "|---|" + "---:|" * len(head),
    ]
    for row in rows:
        theirs, ours = row["nvbench"], row["nvbench"]["ours"]
        cells = [
            row["operation"],
            f"2^{row['elements'].bit_length() - 1}",
            f"{ours['median_us']:.2f}",
            f"{theirs['median_us']:.2f}",
            f"{100 * (ours['median_us'] / theirs['median_us'] - 1):+.2f} %",
            f"{ours['wall_s']:.2f}",
            f"{theirs['wall_s']:.2f}",
            f"{100 * ours['noise']:.2f} %",
            f"{100 * theirs['noise']:.2f} %",
            f"{100 * ours['interval']:.3f} %",
            f"{100 * theirs['interval']:.3f} %",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def into(page: str, made: str) -> str:
    """Return the page with the block between the two marks in place of what stood there. ValueError without marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{made}\n{END}{after}"
