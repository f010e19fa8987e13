"""Sheets for playing on paper in a real browser, opened from the disk: one printed page, and no text leaves it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from number_tower import catalogue
from number_tower.sheet import PAPERS, draw_sheet

pytest_plugins = ["support.browsers"]

PAGE = re.compile(rb"/Type\s*/Page\b(?!s)")
SIZE = re.compile(rb"/MediaBox\s*\[\s*0 0 (\S+) ([^\s\]]+)")
POINTS = 72 / 25.4
"""Points of a PDF in a millimetre."""

FIND_OUTSIDE = """
(edge) => {
  const paper = document.querySelector(".paper").getBoundingClientRect(), pixels = edge * paper.width / __WIDTH__;
  return [...document.querySelectorAll("text, path, rect:not(.paper)")].filter((each) => {
    const box = each.getBoundingClientRect();
    return box.left < paper.left + pixels || box.top < paper.top + pixels
      || box.right > paper.right - pixels || box.bottom > paper.bottom - pixels;
  }).map((each) => each.outerHTML);
}
"""
"""What comes closer to an edge of the paper than so many millimetres."""


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("name", catalogue.list_names())
def test_a_sheet_is_one_printed_page(
    open_file: Callable[..., Page], name: str, paper: str, tmp_path: Path
) -> None:
    file = tmp_path / f"{name}.svg"
    file.write_text(draw_sheet(catalogue.load(name), paper=paper))
    page, (width, height) = open_file(file), PAPERS[paper]
    assert page.evaluate(FIND_OUTSIDE.replace("__WIDTH__", str(width)), 5) == []
    printed = page.pdf(prefer_css_page_size=True)
    assert len(PAGE.findall(printed)) == 1
    sizes = [tuple(map(float, size)) for size in SIZE.findall(printed)]
    assert sizes == [pytest.approx((width * POINTS, height * POINTS), abs=1)]
