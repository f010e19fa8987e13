"""Reports in a real browser, from the disk: accessible, readable on a phone, without a script."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Page

from number_tower.studies.evaluation import evaluate
from number_tower.studies.evaluation.report import build_report as build_evaluation_report
from number_tower.studies.lab.ranking import rank_rows
from number_tower.studies.lab.report import build_report
from number_tower.studies.lab.results import LabResults
from number_tower.support.files import write_files
from serving import DESKTOP, PHONE
from support.browsers import find_violations
from support.lab_rows import make_grid, make_row

pytest_plugins = ["support.browsers"]

FITS = "document.documentElement.scrollWidth <= innerWidth"
INK = "rgb(0, 0, 0)"
"""The colour of text on light pages, and on paper."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a report of the lab and one of an evaluation."""
    folder = tmp_path_factory.mktemp("reports")
    rows = make_grid(
        blocks=["1-7", "1-8", "1-9"], target=list(range(12, 24, 3)), fit=["descending", "any"]
    )
    rows.append(make_row(index=24, status="too large", blocks="1-8", target=24, fit="any"))
    results = LabResults("lab.jsonl", {}, tuple(rows))
    report = build_report(results, rank_rows(rows, limits={}), command="tower lab lab.jsonl")
    write_files(report, folder / "lab")
    result = evaluate(["random", "perfect"], variants=3, number=8, positions=24, seed=5, jobs=1)
    write_files(build_evaluation_report(result.scores, "tower eval"), folder / "evaluation")
    return folder


@pytest.mark.parametrize("report", ["lab/index.html", "evaluation/report.html"])
def test_report_is_accessible_scrolls_only_its_tables_and_fits_on_paper(
    open_file: Callable[..., Page], folder: Path, report: str
) -> None:
    page = open_file(folder / report)
    for (width, height), light in product((PHONE, DESKTOP), ("light", "dark")):
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if light == "dark" else "light")
        assert find_violations(page) == [], (width, light)
        assert page.evaluate(FITS), width
    page.set_viewport_size({"width": 720, "height": 900})
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(FITS)
    assert page.evaluate("getComputedStyle(document.body).color") == INK
