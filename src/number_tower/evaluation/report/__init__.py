"""The report of an evaluation: as Markdown with charts in files, and as one HTML page."""

from __future__ import annotations

import os
from pathlib import Path

from number_tower.evaluation.report.charts import make_charts
from number_tower.evaluation.report.content import build_pieces, label_players
from number_tower.evaluation.report.document import render_html, render_markdown
from number_tower.evaluation.scores import Scores

TEXT, PAGE = "report.md", "report.html"
_TITLE = "Number Tower evaluation"


def build_report(scores: Scores, command: str | None = None) -> dict[str, str]:
    """Return the files of a report by name; `command` is the command that reproduces the evaluation."""
    named = label_players(scores)
    plots = make_charts(scores, named)
    pieces = tuple(build_pieces(scores, named, plots, command))
    files = {f"{plot.name}.svg": f"{plot.render()}\n" for plot in plots}
    return {TEXT: render_markdown(_TITLE, pieces), PAGE: render_html(_TITLE, pieces), **files}


def write(scores: Scores, folder: str | os.PathLike[str], command: str | None = None) -> Path:
    """Write the report into a folder, which is created if necessary, and return the folder."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, content in build_report(scores, command).items():
        (place / name).write_bytes(content.encode())
    return place
