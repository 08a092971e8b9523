"""Charts inside a page: matplotlib's SVG made fit for a strict content policy, dark pages, and company.

Styles in attributes are forbidden by such a policy, so they become plain attributes; colours become classes,
which the page's own style sheet fills in for light and for dark; and every id gets the chart's own prefix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from gpubench.views import style
from gpubench.views.charts.sheets import Chart

_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
_DROPPED = {"metadata", "style", "title"}
_CLASSES = {
    style.INK: "ink",
    "#000000": "ink",
    style.MUTED: "muted",
    style.FAINT: "faint",
    style.PAPER: "paper",
    style.SHADE: "shade",
    "#eaeef2": "shade",
    "#d0d7de": "faint",
    style.BAND: "band",
    "#6e7781": "grey",
    "#afb8c1": "band",
    "#8c959f": "band",
    "#0072b2": "blue",
    "#d55e00": "red",
    "#00805c": "green",
    "#b0568b": "pink",
    "#a87500": "ochre",
    "#8c6bb1": "violet",
}
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_FONT = re.compile(r"^(?:(italic|oblique) )?(?:small-caps )?(?:(\d+|bold) )?(?:[a-z-]+ )*?([\d.]+)px (.*)$")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def inline_charts(charts: Sequence[Chart], prefix: str) -> list[str]:
    """Draw the charts and return each as an `<svg>` element that can stand in a page: `c0` is named by `c0-caption`."""
    with style.styled(**{"svg.fonttype": "none"}):
        return [
            inline(
                style.encoded(chart.draw(), "svg", chart.title).decode("utf-8"),
                f"{prefix}{number}",
                f"{prefix}{number}-caption",
            )
            for number, chart in enumerate(charts)
        ]


def inline(svg: str, prefix: str, caption: str) -> str:
    """Return matplotlib's SVG document as an element for a page, named by the element with the id `caption`."""
    root = ElementTree.fromstring(svg)
    ids = {name: f"{prefix}-{number}" for number, name in enumerate(_referenced(root))}
    _clean(root, ids)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-labelledby", caption)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _referenced(root: ElementTree.Element) -> list[str]:
    """Return the ids that something in the document names, in order of their first use."""
    found: dict[str, None] = {}
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == f"{_XLINK}href":
                found[value.removeprefix("#")] = None
            else:
                found.update(dict.fromkeys(_REFERENCE.findall(value)))
    return list(found)


def _clean(element: ElementTree.Element, ids: dict[str, str]) -> None:
    element.tag = element.tag.removeprefix(_SVG)
    for child in list(element):
        if not isinstance(child.tag, str) or child.tag.removeprefix(_SVG) in _DROPPED:
            element.remove(child)
        else:
            _clean(child, ids)
    element.tail = None
    if element.text is not None and not element.text.strip():
        element.text = None
    old = dict(element.attrib)
    element.attrib.clear()
    for key, value in old.items():
        _keep(element, key, value, ids)
    _classify(element)


def _keep(element: ElementTree.Element, key: str, value: str, ids: dict[str, str]) -> None:
    if key == "style":
        for name, setting in _settings(value):
            element.set(name, _REFERENCE.sub(lambda match: f"url(#{ids[match[1]]})", setting))
    elif key == "id":
        if value in ids:
            element.set("id", ids[value])
    elif key == f"{_XLINK}href":
        element.set("href", f"#{ids[value.removeprefix('#')]}")
    elif not key.startswith("{"):
        linked = _REFERENCE.sub(lambda match: f"url(#{ids[match[1]]})", value)
        rounded = key in ("d", "transform", "x", "y", "width", "height", "points")
        element.set(key, _NUMBER.sub(_two_decimals, linked).strip() if rounded else linked)


def _two_decimals(match: re.Match[str]) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


def _settings(style_: str) -> list[tuple[str, str]]:
    """Return the declarations of a style as attributes; the shorthand `font`, which is none, in its parts."""
    found: list[tuple[str, str]] = []
    for declaration in style_.split(";"):
        name, colon, value = (part.strip() for part in declaration.partition(":"))
        if not colon:
            continue
        match = _FONT.match(value) if name == "font" else None
        if match:
            slant, weight, size, _ = match.groups()
            found += [("font-size", size), ("font-family", "DejaVu Sans, Verdana, sans-serif")]
            found += [("font-weight", weight)] if weight else []
            found += [("font-style", slant)] if slant else []
        elif name != "font":
            found.append((name, value))
    return found


def _classify(element: ElementTree.Element) -> None:
    """Replace the known colours by classes. Text that names no colour is black, which is ink."""
    classes = []
    for name, short in (("fill", "f"), ("stroke", "s")):
        color = element.get(name, "").lower()
        if color in _CLASSES:
            del element.attrib[name]
            classes.append(f"{short}-{_CLASSES[color]}")
    if element.tag == "text" and element.get("fill") is None and not classes:
        classes.append("f-ink")
    if classes:
        element.set("class", " ".join(classes))
