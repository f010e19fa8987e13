"""Charts are the same SVG every time, and text from outside is text in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest

from number_tower.drawing.charts import (
    IntervalRow,
    LinePoint,
    ScatterPoint,
    draw_intervals,
    draw_panels,
    draw_scatter,
    draw_shares,
)

HOSTILE = "<script>alert('x')</script> & $x_1$ \"q\" 漢"

Draw = Callable[[str], str]


def make_intervals(name: str) -> str:
    rows = [IntervalRow(name, 0.3, 0.25, 0.37, 0.5), IntervalRow("new", None)]
    return draw_intervals("Loss", rows, "points lost", guess="a blind guess")


def make_shares(name: str) -> str:
    return draw_shares("Games", {name: (3, 0, 1)}, ("won", "drawn", "lost"))


def make_panels(name: str) -> str:
    points = [LinePoint(x, 0.1 * x, 0.0, 0.2 * x) for x in range(4)]
    return draw_panels("Loss", [(name, points), ("b", points)], "blocks placed")


def make_scatter(name: str) -> str:
    points = [ScatterPoint(0.2, 3), ScatterPoint(0.9, 5, on_front=True, label=name)]
    return draw_scatter("Front", points, ("fairness", "depth"), joined=True)


ALL = [make_intervals, make_shares, make_panels, make_scatter]


def list_texts(svg: str) -> list[str]:
    root = ET.fromstring(re.sub(' xmlns="[^"]+"', "", svg, count=1))  # noqa: S314 - our own
    return [text.text or "" for text in root.iter("text")]


@pytest.mark.parametrize("make", ALL)
def test_chart_does_not_depend_on_settings_of_the_user(
    make: Draw,
) -> None:
    first = make("easy")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        assert make("easy") == first


@pytest.mark.parametrize("make", ALL)
def test_foreign_text_is_escaped(make: Draw) -> None:
    svg = make(HOSTILE)
    assert "<script" not in svg
    assert HOSTILE in list_texts(svg)


def test_chart_has_a_title_and_labels() -> None:
    svg = make_intervals("easy")
    assert "<title>Loss</title>" in svg
    expected = {"easy", "new", "points lost", "mean and 95% interval", "a blind guess"}
    assert expected <= set(list_texts(svg))
    assert {"3", "1", "won", "drawn", "lost"} <= set(list_texts(make_shares("easy")))
    assert {"fairness", "depth", "1"} <= set(list_texts(make_scatter("1")))
