"""How charts look: the style file, the colours, a mark for every contender and verdict, and text that cannot break.

Colours are Okabe and Ito's palette for the colour-blind ("Color Universal Design", 2008), the light ones darkened to
be seen on white paper. No meaning hangs on colour alone: every contender has its own marker and dashes as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

from gpubench.comparison import Verdict
from gpubench.names import AUTO, CUB, CUPY, INDUCTOR, JAX, NAIVE, NUMPY, TORCH
from gpubench.views import text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font

Format = Literal["svg", "png", "pdf"]
FORMATS: tuple[Format, ...] = ("svg", "png", "pdf")

WIDTH = 8.64
"""Inches: 830 pixels in a browser, the width of a README."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a reader may ask of the sheets. Inches; `height` None: what the chart needs. `title` None: the chart's own.

    bare: no title, subtitle and notes, for a paper whose caption says these; they stand in the file's metadata.
    """

    width: float = WIDTH
    height: float | None = None
    title: str | None = None
    bare: bool = False
    dpi: int | None = None


PAPER_STYLE: dict[str, Any] = {"lines.linewidth": 1.2, "lines.markersize": 4.8, "savefig.dpi": 300}
"""What a chart for a paper changes of the style."""

_PAGE: ContextVar[Page | None] = ContextVar("page", default=None)


def page() -> Page:
    """Return the page that is drawn on."""
    return _PAGE.get() or Page()


@contextmanager
def on_page(asked: Page) -> Iterator[None]:
    """Draw on this page inside."""
    token = _PAGE.set(asked)
    try:
        yield
    finally:
        _PAGE.reset(token)


INK, MUTED, FAINT, PAPER = "#1f2328", "#57606a", "#d8dee4", "#ffffff"
SHADE, BAND = "#eef1f4", "#c9d1d9"

Dashes = str | tuple[int, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Mark:
    """How one series is drawn. `dashes` is matplotlib's line style."""

    color: str
    marker: str
    dashes: Dashes = "-"

    @property
    def point(self) -> dict[str, Any]:
        """The arguments of `Axes.plot` that give its markers alone."""
        return {"color": self.color, "marker": self.marker, "linestyle": "none"}


CROSS: dict[str, Any] = {
    "color": INK,
    "marker": "x",
    "linestyle": "none",
    "markersize": 8.5,
    "markeredgewidth": 0.9,
}
"""Drawn over the mark of an answer beyond the error that ours are allowed; the arguments of `Axes.plot`."""

_KNOWN: dict[str, Mark] = {
    AUTO: Mark("#0072b2", "o"),
    NUMPY: Mark("#6e7781", "s", (0, (1, 1.5))),
    TORCH: Mark("#d55e00", "^", (0, (5, 1.5))),
    INDUCTOR: Mark("#b0568b", "v", (0, (4, 1.5, 1, 1.5))),
    CUPY: Mark("#00805c", "D", (0, (2.5, 1.5))),
    CUB: Mark("#a87500", "P", (0, (7, 2))),
    JAX: Mark("#2f8fc4", "X", (0, (3, 1, 1, 1, 1, 1))),
    NAIVE: Mark("#8c6bb1", "<", (0, (3, 2))),
}
_COLORS = ("#00805c", "#d55e00", "#b0568b", "#a87500", "#2f8fc4", "#7a5195", "#4d4d4d")
_MARKERS = ("D", "^", "v", "P", "X", ">", "h", "p", "*", "d", "8")
_DASHES: tuple[Dashes, ...] = ("-", (0, (5, 1.5)), (0, (2.5, 1.5)), (0, (4, 1.5, 1, 1.5)), (0, (7, 2)))

VERDICT_MARKS: dict[Verdict, Mark] = {
    "SLOWER": Mark("#d55e00", ">"),
    "FASTER": Mark("#0072b2", "<"),
    "SAME": Mark("#6e7781", "o"),
    "DRIFTED": Mark("#b0508e", "s"),
    "UNDECIDED": Mark("#a87500", "D"),
}


def marks(contenders: Iterable[str]) -> dict[str, Mark]:
    """Return a mark for each contender. Well-known ones always look the same; others go by their order of name."""
    names = list(dict.fromkeys(contenders))
    strangers = sorted(name for name in names if name not in _KNOWN)
    taken = {_KNOWN[name].marker for name in names if name in _KNOWN}
    free = [marker for marker in _MARKERS if marker not in taken] or list(_MARKERS)
    found = {
        name: Mark(_COLORS[i % len(_COLORS)], free[i % len(free)], _DASHES[i % len(_DASHES)])
        for i, name in enumerate(strangers)
    }
    return {name: _KNOWN.get(name) or found[name] for name in names}


@contextmanager
def styled(**changes: Any) -> Iterator[None]:
    """Draw and save inside this: the project's style over matplotlib's defaults, whatever the reader's own are."""
    import matplotlib.style

    file = resources.files("gpubench.views").joinpath("gpubench.mplstyle")
    with (
        resources.as_file(file) as path,
        matplotlib.style.context([str(path), changes], after_reset=True),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # `label` replaced those it can
        yield


_METADATA: dict[Format, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "gpubench"},
    "png": {"Software": "gpubench"},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "gpubench", "Producer": None},
}
_CAPTION: dict[Format, str] = {"svg": "Description", "png": "Description", "pdf": "Subject"}
"""Where a file keeps the notes of a bare chart."""


def encoded(figure: Figure, form: Format, title: str = "") -> bytes:
    """Return the figure as a file's bytes: the same for the same figure, with no date in them. Inside `styled` only."""
    import io

    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    out = io.BytesIO()
    told = {_CAPTION[form]: label(str(figure.get_label()), 4000)} if figure.get_label() else {}
    dpi: dict[str, Any] = {"dpi": page().dpi} if page().dpi else {}
    figure.savefig(out, format=form, metadata={**_METADATA[form], "Title": label(title, 200), **told}, **dpi)
    return out.getvalue()


# --- Text ------------------------------------------------------------------------------------------------------------


@cache
def _font(bold: bool = False) -> FT2Font:
    from matplotlib import font_manager

    weight = "bold" if bold else "normal"
    path = font_manager.findfont(font_manager.FontProperties(family="DejaVu Sans", weight=weight))
    return font_manager.get_font(path)


@cache
def _letters() -> frozenset[int]:
    return frozenset(_font().get_charmap())


def label(foreign: str, width: int = 60) -> str:
    r"""Return a foreign string fit for a chart: one line, at most `width` characters, only letters the font has.

    What it has not is written as `\u4e2d`. `$` and `_` need no care here: the style switches mathematics off.
    """
    safe = "".join(
        letter if ord(letter) in _letters() else letter.encode("unicode_escape").decode("ascii")
        for letter in text.printable(foreign[: 4 * width + 200])
    )
    if len(foreign) > 4 * width + 200:
        safe += ".."
    return text.shorten(safe, width) or "(no name)"


def duration(us: float | None) -> str:
    """Return a time as `text.duration` does, with the micro sign that every chart's font has."""
    return text.quantity(us, "us").replace(" us", " \u00b5s")


@cache
def text_width(words: str, size: float, bold: bool = False) -> float:
    """Return the width in inches of a line of text in points of `size`."""
    font = _font(bold)
    font.set_size(size, 72)
    font.set_text(words, 0.0)
    width, _ = font.get_width_height()
    return float(width) / 64 / 72


def fitted(foreign: str, inches: float, size: float, bold: bool = False) -> str:
    """Return `label(foreign)`, its middle cut out so far that it takes at most `inches`."""
    inches += 0.02  # what rounding may have taken
    count = max(int(inches * 72 / size * 2.2), 8)
    words = label(foreign, count)
    while count > 4 and text_width(words, size, bold) > inches:
        count = max(int(count * min(inches / text_width(words, size, bold), 0.98)), 4)
        words = label(foreign, count)
    return words


def wrapped(foreign: str, inches: float, size: float) -> list[str]:
    """Return the string in lines of at most `inches`."""
    lines = [""]
    for word in label(foreign, 4000).split():
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if text_width(longer, size) <= inches:
            lines[-1] = longer
        else:
            lines.append(fitted(word, inches, size))
    return lines if lines[0] else lines[1:] or [""]
