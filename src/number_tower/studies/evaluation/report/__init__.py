"""The report of an evaluation: Markdown with charts in files, and one HTML page (extra `lab`)."""

from __future__ import annotations

from number_tower.drawing.document import render_page
from number_tower.studies.evaluation.report.charts import label_players, make_charts
from number_tower.studies.evaluation.report.content import build_parts
from number_tower.studies.evaluation.scores import Scores

__all__ = ["build_report"]

TEXT, PAGE = "report.md", "report.html"
_TITLE = "Number Tower evaluation"


def build_report(scores: Scores, command: str | None = None) -> dict[str, str]:
    """Return the files of a report by name; `command` reproduces the evaluation.

    Examples:
        >>> from number_tower.studies.evaluation import evaluate
        >>> scores = evaluate("easy", nt.Rules(target=15), number=2, positions=4, jobs=1).scores
        >>> sorted(build_report(scores))[-2:]
        ['report.md', 'results.svg']
    """
    named = label_players(scores)
    charts = make_charts(scores, named)
    parts = [f"# {_TITLE}", *build_parts(scores, named, charts, command)]
    images = {chart.file: chart.svg for chart in charts.values()}
    text = "\n\n".join(parts) + "\n"
    return {TEXT: text, PAGE: render_page(_TITLE, parts, images), **images}
