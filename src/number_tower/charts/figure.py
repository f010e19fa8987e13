"""A canvas measured in pixels, and its SVG: plain attributes, text as text, and a title for each mark.

Matplotlib writes style attributes, a style sheet that would apply to the whole page, and ids that repeat on a page with
several charts. `Canvas.to_svg` removes them, so that the SVG can be placed in any page under a strict content security
policy, and always has the same bytes for the same chart.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.figure import Figure

from number_tower.charts import NARROW
from number_tower.svg import FONTS, format_number, measure_text, replace_non_xml

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.text import Text

TEXT, SMALL = 13.0, 12.0
MARGIN = 16.0

COLOURS = {
    "paper": ("#ffffff", "#14181d"),
    "ink": ("#1b2027", "#e8ecf1"),
    "soft": ("#56606c", "#a9b4c0"),
    "rule": ("#d9dee4", "#343c46"),
    "ground": ("#7b8692", "#8b97a4"),
    "mark": ("#1d4e89", "#7fb3ec"),
    "guess": ("#9c4f00", "#f0b35c"),
    "faint": ("#c3cad2", "#454f5b"),
}
"""The colours of charts on light and on dark pages, by what they are for."""

LIGHT = {name: light for name, (light, _) in COLOURS.items()}
"""What to draw with; the colours on dark pages follow from it."""

LABEL = "label"
"""The gid of text on a mark, which lets the pointer through to it."""

_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "number-tower",
    "font.family": ["DejaVu Sans"],
    "font.size": SMALL,
    "text.parse_math": False,
    "axes.formatter.use_mathtext": False,
    "axes.edgecolor": LIGHT["ground"],
    "axes.labelcolor": LIGHT["soft"],
    "axes.unicode_minus": False,
    "text.color": LIGHT["ink"],
    "xtick.color": LIGHT["soft"],
    "ytick.color": LIGHT["soft"],
}
_NO_METADATA: dict[str, Any] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")
_NAMES = {light: name for name, (light, _) in COLOURS.items()}


@contextmanager
def use_style() -> Iterator[None]:
    """Draw with the settings of all charts, whatever those of the user are; also a decorator."""
    with mpl.rc_context():
        mpl.rcdefaults()
        with mpl.rc_context(_SETTINGS):
            yield


def build_style() -> str:
    """Return the CSS of all charts for dark pages; on light ones, and on paper, they need none."""
    dark = "".join(
        f".chart .{name}-{kind}{{{kind}:{dark}}}"
        for name, (_, dark) in COLOURS.items()
        for kind in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme:dark){{{dark}}}"


class Canvas:
    """A drawing surface, measured in pixels from its upper left corner; draw on it under `use_style`."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._tooltips: dict[str, tuple[str, str | None]] = {}
        self.figure = Figure(figsize=(width / 72, height / 72), dpi=72, facecolor="none")

    @property
    def is_narrow(self) -> bool:
        """Whether it is drawn for a phone."""
        return self.width <= NARROW

    def add_axes(self, left: float, top: float, right: float, bottom: float) -> Axes:
        """Add axes between these edges, without a frame and ticks."""
        place = (
            left / self.width,
            1 - bottom / self.height,
            (right - left) / self.width,
            (bottom - top) / self.height,
        )
        axes = self.figure.add_axes(place, facecolor="none")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelsize=SMALL)
        return axes

    def add_text(self, text: str, x: float, y: float, **settings: Any) -> Text:
        """Write a line of text at a place; `y` is its middle."""
        kept = {"va": "center", "fontsize": SMALL, "color": LIGHT["ink"], **settings}
        return self.figure.text(x / self.width, 1 - y / self.height, clean_text(text), **kept)

    def add_tooltip(self, artist: Artist, text: str, link: str | None = None) -> None:
        """Give a mark the text that is shown when the pointer rests on it, and a link to follow."""
        key = f"mark-{len(self._tooltips)}"
        artist.set_gid(key)
        self._tooltips[key] = (text, link)

    def to_svg(self, key: str, title: str, description: str, *, styled: bool = True) -> str:
        """Return the SVG; `key` begins its ids."""
        buffer = BytesIO()
        with use_style(), warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "Glyph .* missing from", UserWarning
            )  # the reader's font may have it
            self.figure.savefig(buffer, format="svg", metadata=_NO_METADATA, transparent=True)
        drawing = ET.fromstring(buffer.getvalue().decode())  # noqa: S314 - written a line before
        root = ET.Element(
            "svg",
            {
                "xmlns": _SVG,
                "class": "chart",
                "viewBox": f"0 0 {format_number(self.width)} {format_number(self.height)}",
                "width": format_number(self.width),
                "height": format_number(self.height),
                "role": "img",
                "aria-labelledby": f"{key}-title {key}-text",
                "font-family": FONTS,
                "stroke-linejoin": "round",
            },
        )
        ET.SubElement(root, "title", id=f"{key}-title").text = replace_non_xml(title)
        ET.SubElement(root, "desc", id=f"{key}-text").text = replace_non_xml(description)
        if styled:
            ET.SubElement(root, "style").text = build_style()
        paper = {"class": "paper-fill", "fill": LIGHT["paper"]}
        ET.SubElement(
            root,
            "rect",
            paper,
            width=format_number(self.width),
            height=format_number(self.height),
            rx="8",
        )
        shapes = {
            each.attrib["id"]: each
            for each in drawing.iter(f"{{{_SVG}}}path")
            if "id" in each.attrib
        }
        for child in drawing:
            root.extend(self._simplify(child, shapes))
        return ET.tostring(root, encoding="unicode")

    def _simplify(self, element: ET.Element, shapes: dict[str, ET.Element]) -> list[ET.Element]:
        """Return an element without styles, ids and references; groups are left out unless they have a tooltip."""
        name = element.tag.removeprefix(f"{{{_SVG}}}")
        if name in {"metadata", "defs"}:
            return []
        if name == "g":
            inside = [each for child in element for each in self._simplify(child, shapes)]
            key = element.attrib.get("id", "")
            if key == LABEL:
                for each in inside:
                    each.set("pointer-events", "none")
            tooltip = self._tooltips.get(key)
            return inside if tooltip is None else [_make_group(inside, *tooltip)]
        if name == "use":
            shape = deepcopy(shapes[element.attrib[_HREF].removeprefix("#")])
            shape.attrib.pop("id", None)
            x, y = (format_number(float(element.attrib.get(axis, "0"))) for axis in ("x", "y"))
            shape.attrib |= {
                "transform": f"translate({x} {y})",
                "style": element.attrib.get("style", ""),
            }
            element, name = shape, "path"
        made = ET.Element(name, _simplify_attributes(element.attrib))
        made.text = element.text if name == "text" else None
        if made.attrib.get("fill") == "none" and made.attrib.get("stroke", "none") == "none":
            return []
        return [made]


def clean_text(text: str) -> str:
    """Return text that XML allows, in one line."""
    return replace_non_xml(text).replace("\n", " ")


def shorten_to_width(text: str, room: float, size: float = TEXT) -> str:
    """Cut a text in its middle so that it fits."""
    cut, kept = text, len(text)
    while kept > 2 and measure_text(cut, size) > room:
        kept -= 1
        cut = f"{text[: (kept + 1) // 2].rstrip()}…{text[len(text) - kept // 2 :].lstrip()}"
    return cut


def _make_group(inside: list[ET.Element], tooltip: str, link: str | None) -> ET.Element:
    group = ET.Element("g" if link is None else "a", {} if link is None else {"href": link})
    ET.SubElement(group, "title").text = replace_non_xml(tooltip)
    group.extend(inside)
    return group


def _simplify_attributes(attributes: dict[str, str]) -> dict[str, str]:
    """Return attributes with the properties of the style among them, short numbers, and classes for the colours."""
    found = {
        key: value for key, value in attributes.items() if key not in {"style", "id", "clip-path"}
    }
    for declaration in filter(None, attributes.get("style", "").split(";")):
        key, value = (part.strip() for part in declaration.split(":", 1))
        if key not in {"font-family", "stroke-linejoin", "stroke-miterlimit"}:
            found[key] = value
    if found.get("transform", "").startswith("rotate(-0 "):
        del found["transform"]
    found = {
        key: _DECIMALS.sub(lambda found: format_number(float(found[0])), value)
        for key, value in found.items()
    }
    classes = [
        f"{_NAMES[found[kind]]}-{kind}" for kind in ("fill", "stroke") if found.get(kind) in _NAMES
    ]
    return ({"class": " ".join(classes)} if classes else {}) | found
