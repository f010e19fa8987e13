"""A report as Markdown, with its plots in files beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from number_tower.evaluation.report.document import (
    Code,
    Command,
    Grid,
    Heading,
    Items,
    Paragraph,
    Picture,
    Strong,
    parts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from number_tower.evaluation.report.document import Document, Piece, Words

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~$])")


def markdown(document: Document) -> str:
    """Write a document; nothing that players said is taken for markup."""
    return "\n\n".join([f"# {_plain(document.title)}", *map(_written, document.pieces)]) + "\n"


def _written(piece: Piece) -> str:
    match piece:
        case Heading(text):
            return f"## {_plain(text)}"
        case Paragraph(words):
            return _said(words)
        case Items(items, numbered):
            marks = (f"{place}." if numbered else "-" for place in range(1, len(items) + 1))
            return "\n".join(f"{mark} {_said(item)}" for mark, item in zip(marks, items, strict=True))
        case Command(text):
            fence = max("```", _fence(text), key=len)
            return f"{fence}sh\n{text}\n{fence}"
        case Picture(plot):
            return f"![{_plain(plot.title)}. {_plain(plot.description)}]({plot.name}.svg)\n\n{_plain(plot.caption)}"
        case Grid(caption, head, rows):
            return f"{_plain(caption)}:\n\n{_table(head, rows)}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align the columns, so that the text can be read as it is."""
    lines = [[_cell(cell) for cell in row] for row in (head, *rows)]
    sizes = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    ruler = ["-" * size if not place else "-" * (size - 1) + ":" for place, size in enumerate(sizes)]
    return "\n".join(
        "| "
        + " | ".join(
            cell.ljust(size) if not place else cell.rjust(size)
            for place, (cell, size) in enumerate(zip(line, sizes, strict=True))
        )
        + " |"
        for line in (lines[0], ruler, *lines[1:])
    )


def _cell(text: str) -> str:
    """Write a cell; a bar would end it even in code."""
    return _code(text).replace("|", r"\|") if isinstance(text, Code) else _plain(text)


def _said(words: Words) -> str:
    return "".join(_one(each) for each in parts(words))


def _one(text: str) -> str:
    if isinstance(text, Code):
        return _code(text)
    return f"**{_plain(text)}**" if isinstance(text, Strong) else _plain(text)


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text.replace("&", "&amp;"))


def _code(text: str) -> str:
    """Write code between more backticks than there are in it."""
    fence = _fence(text)
    beside = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{beside}{text}{beside}{fence}"


def _fence(text: str) -> str:
    return "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
