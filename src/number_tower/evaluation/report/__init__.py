"""The report of an evaluation: as Markdown with charts in files, and as one HTML page (extra `lab`)."""

from __future__ import annotations

import os
from pathlib import Path

from number_tower.document import render_markdown, write_files
from number_tower.document.page import render_html
from number_tower.evaluation.report.charts import label_players, make_charts
from number_tower.evaluation.report.content import build_pieces
from number_tower.evaluation.scores import Scores

__all__ = ["build_report", "write"]

TEXT, PAGE = "report.md", "report.html"
_TITLE = "Number Tower evaluation"


def build_report(scores: Scores, command: str | None = None) -> dict[str, str]:
    """Return the files of a report by name; `command` is the command that reproduces the evaluation.

    Examples:
        >>> from number_tower.evaluation import evaluate
        >>> scores = evaluate("easy", nt.Rules(target=15), number=2, positions=4, jobs=1).scores
        >>> sorted(build_report(scores))[-2:]
        ['report.md', 'results.svg']
    """
    named = label_players(scores)
    charts = make_charts(scores, named)
    pieces = tuple(build_pieces(scores, named, charts, command))
    files = {f"{chart.name}.svg": f"{chart.render()}\n" for chart in charts}
    return {TEXT: render_markdown(_TITLE, pieces), PAGE: render_html(_TITLE, pieces), **files}


def write(scores: Scores, folder: str | os.PathLike[str], command: str | None = None) -> Path:
    """Write the report into a folder, which is created if necessary, and return the folder.

    Examples:
        >>> from number_tower.evaluation import evaluate
        >>> scores = evaluate("easy", nt.Rules(target=15), number=2, positions=4, jobs=1).scores
        >>> (write(scores, "report") / "report.html").exists()
        True
    """
    return write_files(build_report(scores, command), folder)
