"""The report of an evaluation: Markdown with its plots beside it, and the same as one page for browsers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from number_tower.evaluation.report.markdown import markdown
from number_tower.evaluation.report.page import page
from number_tower.evaluation.report.plots import plots
from number_tower.evaluation.report.telling import labels, told

if TYPE_CHECKING:
    import os

    from number_tower.evaluation.scoring import Scores

TEXT, PAGE = "report.md", "report.html"


def report(scores: Scores, command: str | None = None) -> dict[str, str]:
    """Write the report of an evaluation: what each of its files holds. `command` is what makes the same again."""
    pictures = plots(scores, labels(scores))
    document = told(scores, pictures, command)
    files = {f"{picture.name}.svg": f"{picture.svg()}\n" for picture in pictures}
    return {TEXT: markdown(document), PAGE: page(document), **files}


def write(scores: Scores, folder: str | os.PathLike[str], command: str | None = None) -> Path:
    """Put the report of an evaluation into a folder, which is made if there is none; return the folder."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, content in report(scores, command).items():
        (place / name).write_bytes(content.encode())
    return place
