"""Text that is safe and pleasant to print: escaping of foreign strings, and one formatter a unit."""

from __future__ import annotations

import math
from collections.abc import Callable

MISSING = "-"
_MARKDOWN_SPECIAL = set("\\`*_{}[]<>#+!|~&@$")


def printable(text: str, keep_newlines: bool = False) -> str:
    r"""Return `text` with everything that could act on a terminal written as an escape.

    Control characters (so also colours, links and cursor moves), bidirectional overrides, invisible format characters
    and lone surrogates become `\x1b`, `\u202e` and the like. `keep_newlines` leaves line breaks alone.
    """
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or (keep_newlines and character == "\n")
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def markdown(text: str) -> str:
    """Return `text` as one Markdown table cell: nothing in it can be a link, a mention, HTML or a cell border."""
    safe = "".join(f"&#{ord(letter)};" if letter in _MARKDOWN_SPECIAL else letter for letter in printable(text))
    return safe.replace("://", "&#58;//").replace("www.", "www&#46;")  # bare addresses become links too


def markdown_code(text: str) -> str:
    """Return `text` as inline code for a Markdown table cell; escaped as text where code cannot hold it."""
    safe = printable(text)
    if not safe.strip() or any(character in "`|\\" for character in safe):
        return markdown(safe)
    return f"`{safe}`"


def cell_width(text: str) -> int:
    """Return how many terminal columns `text` takes (2 for a wide character, 0 for a combining one)."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def shorten(text: str, width: int) -> str:
    """Return `text` in at most `width` columns, its middle replaced by `..` where it is longer."""
    if cell_width(text) <= width:
        return text
    if width <= 2:
        return "." * max(width, 0)
    head = (width - 2 + 1) // 2
    tail = width - 2 - head
    start, end = text[:head], text[len(text) - tail :] if tail else ""
    while cell_width(start) + cell_width(end) > width - 2:
        start, end = (start[:-1], end) if len(start) > len(end) else (start, end[1:])
    return f"{start}..{end}"


# --- One formatter a unit --------------------------------------------------------------------------------------------


def significant(value: float, digits: int = 4) -> str:
    """Return `value` with `digits` significant digits and no exponent inside 1e-4 ... 1e7."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if not -4 <= magnitude < 7:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(digits - 1 - magnitude, 0)}f}"


_TIMES = ((1e6, "s"), (1e3, "ms"), (1.0, "us"), (1e-3, "ns"))
_SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


def time_unit(us: float) -> tuple[float, str]:
    """Return (microseconds a unit, name) of the unit in which `us` reads best."""
    return next((row for row in _TIMES if abs(us) >= row[0]), _TIMES[-1] if us else _TIMES[2])


def duration(us: float) -> str:
    """Return a time given in microseconds with its unit: `846.1 us`."""
    scale, name = time_unit(us)
    return f"{significant(us / scale)} {name}"


def interval(low_us: float, high_us: float, median_us: float) -> str:
    """Return the interval in the unit that `duration(median_us)` chose: `845.0 - 847.2`."""
    scale, _ = time_unit(median_us)
    return f"{significant(low_us / scale)} - {significant(high_us / scale)}"


def size(count: float) -> str:
    """Return a number of bytes with its unit: `64 MiB`."""
    scale, name = next((row for row in _SIZES if count >= row[0]), _SIZES[-1])
    value = count / scale
    return f"{value:.0f} {name}" if value == int(value) else f"{significant(value, 3)} {name}"


def rate(gigabytes_per_second: float) -> str:
    """Return GB/s as a plain number: `4253`."""
    if gigabytes_per_second >= 1000:
        return f"{gigabytes_per_second:.0f}"
    return significant(gigabytes_per_second, 4 if gigabytes_per_second >= 100 else 3)


def percent(fraction: float) -> str:
    """Return a fraction as a percentage: `92.4 %`."""
    return f"{100 * fraction:.1f} %"


def ratio(value: float) -> str:
    """Return a ratio: `3.42x`."""
    return f"{significant(value, 3)}x"


FORMATTERS: dict[str, Callable[[float], str]] = {
    "us": duration,
    "bytes": size,
    "GBps": rate,
    "fraction": percent,
    "ratio": ratio,
    "mhz": lambda value: f"{value:.0f} MHz",
    "w": lambda value: f"{value:.0f} W",
}
"""Unit, as the names in a result file end, to the function that prints it."""


def quantity(value: object, unit: str) -> str:
    """Return `value` in its unit, `-` when there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return MISSING
    return FORMATTERS[unit](float(value))


def bar(fraction: float, width: int, unicode: bool) -> str:
    """Return a bar of `width` columns filled to `fraction` (clipped to 0 ... 1), padded with spaces."""
    filled = min(max(fraction, 0.0), 1.0) * width
    if not unicode:
        return ("#" * round(filled)).ljust(width)
    whole = int(filled)
    part = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589"[int((filled - whole) * 8)] if whole < width else ""
    return ("\u2588" * whole + part).rstrip().ljust(width)
