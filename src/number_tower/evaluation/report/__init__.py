"""The report of an evaluation: as Markdown with charts in files, and as one HTML page (extra `lab`)."""

from __future__ import annotations

import os
from pathlib import Path

from number_tower.document import render_markdown, write_files
from number_tower.document.page import render_html
from number_tower.evaluation.report.charts import label_players, make_charts
from number_tower.evaluation.report.content import build_pieces
from number_tower.evaluation.scores import Scores

TEXT, PAGE = "report.md", "report.html"
_TITLE = "Number Tower evaluation"


def build_report(scores: Scores, command: str | None = None) -> dict[str, str]:
    """Return the files of a report by name; `command` is the command that reproduces the evaluation."""
    named = label_players(scores)
    charts = make_charts(scores, named)
    pieces = tuple(build_pieces(scores, named, charts, command))
    files = {f"{chart.name}.svg": f"{chart.render()}\n" for chart in charts}
    return {TEXT: render_markdown(_TITLE, pieces), PAGE: render_html(_TITLE, pieces), **files}


def write(scores: Scores, folder: str | os.PathLike[str], command: str | None = None) -> Path:
    """Write the report into a folder, which is created if necessary, and return the folder."""
    return write_files(build_report(scores, command), folder)
