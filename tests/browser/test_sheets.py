"""Sheets for playing on paper in a real browser: one printed page, and no text leaves it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from number_tower.drawing.sheet import PAPERS, draw_sheet
from number_tower.engine import catalogue

pytest_plugins = ["support.browsers"]

PAGE = re.compile(rb"/Type\s*/Page\b(?!s)")
SIZE = re.compile(rb"/MediaBox\s*\[\s*0 0 (\S+) ([^\s\]]+)")
POINTS = 72 / 25.4
"""Points of a PDF in a millimetre."""

FIND_OUTSIDE = """
() => {
  const paper = document.body.getBoundingClientRect();
  return [...document.querySelectorAll("body *")].filter((element) => {
    const box = element.getBoundingClientRect();
    return box.left < paper.left - 1 || box.right > paper.right + 1
      || element.scrollWidth > element.clientWidth + 2;
  }).map((element) => element.outerHTML);
}
"""
"""What is wider than the paper or than the box that it is in."""


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("name", catalogue.list_names())
def test_sheet_of_a_game_and_of_its_presets_is_one_printed_page(
    open_file: Callable[..., Page], name: str, paper: str, tmp_path: Path
) -> None:
    book, (width, height) = catalogue.load(name), PAPERS[paper]
    for preset in (None, *book.presets):
        file = tmp_path / f"{name}-{preset}.html"
        file.write_text(draw_sheet(book, catalogue.choose(book, preset=preset).rules, paper=paper))
        page = open_file(file)
        assert page.evaluate(FIND_OUTSIDE) == []
        printed = page.pdf(prefer_css_page_size=True)
        assert len(PAGE.findall(printed)) == 1
        sizes = [tuple(map(float, size)) for size in SIZE.findall(printed)]
        assert sizes == [pytest.approx((width * POINTS, height * POINTS), abs=1)]
