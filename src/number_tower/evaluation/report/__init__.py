"""The report of an evaluation: Markdown with its plots beside it, and the same as one page for browsers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from number_tower.evaluation.report.charts import make_charts
from number_tower.evaluation.report.content import build_document, label_players
from number_tower.evaluation.report.document import render_html, render_markdown

if TYPE_CHECKING:
    import os

    from number_tower.evaluation.scores import Scores

TEXT, PAGE = "report.md", "report.html"


def build_report(scores: Scores, command: str | None = None) -> dict[str, str]:
    """Write the report of an evaluation: what each of its files holds. `command` is what makes the same again."""
    pictures = make_charts(scores, label_players(scores))
    document = build_document(scores, pictures, command)
    files = {f"{picture.name}.svg": f"{picture.render()}\n" for picture in pictures}
    return {TEXT: render_markdown(document), PAGE: render_html(document), **files}


def write(scores: Scores, folder: str | os.PathLike[str], command: str | None = None) -> Path:
    """Put the report of an evaluation into a folder, which is made if there is none; return the folder."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, content in build_report(scores, command).items():
        (place / name).write_bytes(content.encode())
    return place
