"""Charts are the same SVG every time, harmless in any page, and readable without colour, script and pointer."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest

from number_tower.charts import NARROW, WIDE, Chart
from number_tower.charts.bars import (
    IntervalRow,
    ShareRow,
    draw_intervals,
    draw_shares,
    format_percent,
)
from number_tower.charts.figure import COLOURS, Canvas, build_style, shorten_to_width
from number_tower.charts.lines import LinePoint, ScatterPoint, Series, draw_panels, draw_scatter
from number_tower.charts.maps import Cell, Panel, draw_map

HOSTILE = "<script>alert('x')</script> & $x_1$ \"q\" \x00\x07\n漢"

Draw = Callable[[float], Canvas]


def make_intervals(name: str = "easy") -> Draw:
    rows = [
        IntervalRow(name, "0.300 (0.250 to 0.370)", 0.3, 0.25, 0.37, 0.5),
        IntervalRow("new", "-", None),
    ]
    return lambda width: draw_intervals(rows, "points lost", width, beside="a blind guess")


def make_shares(name: str = "easy") -> Draw:
    return lambda width: draw_shares(
        [ShareRow(name, "0.5", (3, 0, 1))], ("won", "drawn", "lost"), width
    )


def make_panels(name: str = "easy") -> Draw:
    lines = [
        Series(each, [LinePoint(x, 0.1 * x, 0.0, 0.2 * x, f"point {x}") for x in range(4)])
        for each in (name, "b")
    ]
    return lambda width: draw_panels(lines, "blocks placed", width)


def make_scatter(name: str = "easy") -> Draw:
    points = [ScatterPoint(0.2, 3, name), ScatterPoint(0.9, 5, "best", on_front=True, label="1")]
    return lambda width: draw_scatter(points, ("fairness", "depth"), width)


def make_map(name: str = "easy") -> Draw:
    cells = {
        (0, 0): Cell("0.49", name, 0.49, outlined=True),
        (1, 1): Cell("large", "too large", None),
    }
    return lambda width: draw_map(
        [Panel("fit any", ["1-5", "1-9"], ["15", "21"], cells)], ("blocks", "target"), width
    )


ALL = [make_intervals, make_shares, make_panels, make_scatter, make_map]


def render(draw: Draw, width: float = WIDE) -> str:
    return Chart("name", "Title", "caption", "what it shows", draw).render(width)


def parse(svg: str) -> ET.Element:
    return ET.fromstring(re.sub(' xmlns="[^"]+"', "", svg, count=1))  # noqa: S314 - our own


def list_texts(svg: str) -> list[str]:
    return [text.text or "" for text in parse(svg).iter("text")]


def list_tooltips(svg: str) -> list[str]:
    return [title.text or "" for group in parse(svg).iter("g") for title in group.findall("title")]


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("make", ALL)
def test_the_same_chart_has_the_same_bytes_whatever_the_settings_of_the_user_are(
    make: Callable[..., Draw], width: float
) -> None:
    first = render(make(), width)
    with mpl.rc_context(
        {"font.size": 30, "text.usetex": False, "axes.facecolor": "red", "svg.fonttype": "path"}
    ):
        assert render(make(), width) == first


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("make", ALL)
def test_a_chart_can_stand_in_any_page(make: Callable[..., Draw], width: float) -> None:
    root = parse(render(make(HOSTILE), width))
    assert {each.tag for each in root.iter()} <= {
        "svg",
        "title",
        "desc",
        "style",
        "rect",
        "path",
        "text",
        "g",
    }
    for each in root.iter():
        assert not {"style", "onclick", "clip-path", "href"} & set(each.attrib)
        assert not any("url(" in value for value in each.attrib.values())
    ids = [each.attrib["id"] for each in root.iter() if "id" in each.attrib]
    assert ids == [f"name-{width:g}-title", f"name-{width:g}-text"]
    assert root.attrib["aria-labelledby"] == " ".join(ids)


@pytest.mark.parametrize("make", ALL)
def test_text_from_outside_is_text(make: Callable[..., Draw]) -> None:
    svg = render(make(HOSTILE))
    assert "<script" not in svg
    assert "\x00" not in svg
    assert any("$x_1$" in text for text in (*list_texts(svg), *list_tooltips(svg)))


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("make", ALL)
def test_all_text_lies_inside(make: Callable[..., Draw], width: float) -> None:
    root = parse(render(make(), width))
    for text in root.iter("text"):
        if "x" in text.attrib:
            assert 0 <= float(text.attrib["x"]) <= float(root.attrib["width"])
            assert 0 <= float(text.attrib["y"]) <= float(root.attrib["height"])


def test_every_mark_has_its_figures_as_text_and_tooltip() -> None:
    assert list_tooltips(render(make_intervals())) == [
        "easy: a blind guess 0.500",
        "easy: 0.300 (0.250 to 0.370)",
    ]
    assert "0.300 (0.250 to 0.370)" in list_texts(render(make_intervals()))
    assert list_tooltips(render(make_shares())) == ["easy: 3 of 4 won", "easy: 1 of 4 lost"]
    assert {"3", "1", "won", "drawn", "lost"} <= set(list_texts(render(make_shares())))
    assert list_tooltips(render(make_panels()))[:2] == ["easy: point 0", "easy: point 1"]
    assert sorted(list_tooltips(render(make_scatter()))) == ["best", "easy"]
    assert list_tooltips(render(make_map())) == ["easy", "too large"]
    assert {"0.49", "large", "1-9", "21", "blocks", "target", "fit any"} <= set(
        list_texts(render(make_map()))
    )


def test_the_text_of_a_cell_lets_the_pointer_through_to_its_tooltip() -> None:
    (cell,) = (text for text in parse(render(make_map())).iter("text") if text.text == "0.49")
    assert cell.attrib["pointer-events"] == "none"


def test_a_cell_can_be_a_link() -> None:
    cells = {(0, 0): Cell("1", "play", 0.5, link="/new?blocks=1-9&target=15")}
    root = parse(
        render(
            lambda width: draw_map([Panel("", ["1-9"], ["15"], cells)], ("blocks", "target"), width)
        )
    )
    (link,) = root.iter("a")
    assert link.attrib["href"] == "/new?blocks=1-9&target=15"
    assert link.findtext("title") == "play"


@pytest.mark.parametrize("level", [step / 40 for step in range(41)])
def test_the_text_of_a_cell_can_be_read_on_every_shade(level: float) -> None:
    cells = {(0, 0): Cell("0.49", "cell", level)}
    root = parse(render(lambda width: draw_map([Panel("", ["a"], ["b"], cells)], ("", ""), width)))
    (box,) = (group[1] for group in root.iter("g"))
    (text,) = (text for text in root.iter("text") if text.text == "0.49")
    assert compute_contrast(box.attrib["fill"], text.attrib.get("fill", "#000000")) >= 4.5


def compute_contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as the accessibility guidelines define it."""

    def compute_luminance(colour: str) -> float:
        parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
        linear = [
            part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((compute_luminance(one), compute_luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("page", [0, 1])
def test_texts_and_marks_can_be_seen_on_light_and_dark_pages(page: int) -> None:
    paper = COLOURS["paper"][page]
    assert all(
        compute_contrast(COLOURS[name][page], paper) >= 4.5
        for name in ("ink", "soft", "mark", "guess")
    )


def test_every_colour_of_a_light_page_has_one_for_a_dark_page() -> None:
    svg, style = render(make_intervals()), build_style()
    classes = {
        name for each in parse(svg).iter() for name in each.attrib.get("class", "").split()
    } - {"chart"}
    assert {"ink-fill", "mark-fill", "mark-stroke", "paper-fill"} <= classes
    assert all(f".chart .{name}{{" in style for name in classes)
    assert style in svg
    assert style not in Chart("name", "T", "c", "d", make_intervals()).render(styled=False)


def test_maps_stand_side_by_side_as_far_as_there_is_room() -> None:
    panel = Panel("one", ["a", "b"], ["c"], {(0, 0): Cell("0.10", "cell", 0.1)})
    few = draw_map([panel] * 3, ("x", "y"), 960)
    many = draw_map([panel] * 30, ("x", "y"), 960)
    assert few.width < many.width <= 960
    assert many.height > 2 * few.height


def test_a_map_is_as_wide_as_its_cells_need() -> None:
    columns = [str(number) for number in range(60)]
    cells = {(place, 0): Cell("0.50", name, 0.5) for place, name in enumerate(columns)}
    assert draw_map([Panel("", columns, ["row"], cells)], ("x", "y"), 960).width > 60 * 36


@pytest.mark.parametrize("most", [0.0002, 0.03, 0.31, 0.632, 1.0, 0.0101])
def test_a_scale_ends_at_a_round_number_that_no_value_exceeds(most: float) -> None:
    row = IntervalRow("name", "text", most / 2, 0.0, most)
    svg = render(lambda width: draw_intervals([row], "value", width))
    ticks = [float(text) for text in list_texts(svg) if re.fullmatch(r"[\d.e-]+", text)]
    assert ticks[0] == 0
    assert 3 <= len(ticks) <= 7
    assert ticks[-1] >= most * (1 - 1e-9)


def test_shares_have_percent_signs() -> None:
    row = IntervalRow("name", "text", 0.1, 0.05, 0.2)
    svg = render(lambda width: draw_intervals([row], "share", width, format_value=format_percent))
    assert "20%" in list_texts(svg)


def test_names_are_cut_in_their_middle_to_fit() -> None:
    assert shorten_to_width("perfect", 500) == "perfect"
    cut = shorten_to_width("python3 examples/llm_bot.py --model large", 120)
    assert cut.startswith("pyt")
    assert "…" in cut
    assert cut.endswith("e")


def test_numbers_of_points_that_nearly_touch_are_written_side_by_side() -> None:
    points = [
        ScatterPoint(0.5, 3, "a", label="1"),
        ScatterPoint(0.501, 3, "b", label="2"),
        ScatterPoint(0.9, 5, "c"),
    ]
    assert "1, 2" in list_texts(render(lambda width: draw_scatter(points, ("x", "y"), width)))
