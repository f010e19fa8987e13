"""A document as a sequence of pieces, and how it is written as Markdown; `page` writes it as HTML.

The reports of evaluations and of the lab are made of these pieces.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from number_tower.charts import Chart


class CodeText(str):
    """Text to be shown as code: written by a player or for a computer."""

    __slots__ = ()


class StrongText(str):
    """Emphasized text."""

    __slots__ = ()


Words = str | tuple[str, ...]
"""Text, parts of which may be code or emphasized."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a section, or of a part of one."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Items:
    """A list, numbered or not."""

    items: tuple[Words, ...]
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A command to be typed."""

    text: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: the first column is the label of a row, the others are numbers."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


DocumentPiece = Heading | Items | ShellCommand | Grid | Chart | Words
"""A piece of a document; a paragraph is its words alone."""


def _join_words(words: Words, write: Callable[[str], str]) -> str:
    return "".join(map(write, (words,) if isinstance(words, str) else words))


_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~$])")


def render_markdown(title: str, pieces: Sequence[DocumentPiece]) -> str:
    """Return a document as Markdown; text of players is escaped."""
    return "\n\n".join([f"# {_escape(title)}", *map(_format_piece, pieces)]) + "\n"


def _format_piece(piece: DocumentPiece) -> str:
    match piece:
        case Heading(text, level):
            return f"{'#' * level} {_escape(text)}"
        case Items(items, numbered):
            lines = (_join_words(item, _format_text) for item in items)
            return "\n".join(
                f"{f'{place}.' if numbered else '-'} {line}" for place, line in enumerate(lines, 1)
            )
        case ShellCommand(text):
            fence = max("```", _choose_fence(text), key=len)
            return f"{fence}sh\n{text}\n{fence}"
        case Chart(name, title, caption, description):
            return f"![{_escape(title)}. {_escape(description)}]({name}.svg)\n\n{_escape(caption)}"
        case Grid(caption, head, rows):
            return f"{_escape(caption)}:\n\n{_format_table(head, rows)}"
        case _:
            return _join_words(piece, _format_text)


def _format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with aligned columns, readable as plain text."""
    lines = [[_format_cell(cell) for cell in row] for row in (head, *rows)]
    sizes = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    ruler = [
        "-" * size if not place else "-" * (size - 1) + ":" for place, size in enumerate(sizes)
    ]
    written = []
    for label, *cells in (lines[0], ruler, *lines[1:]):
        aligned = map(str.rjust, cells, sizes[1:])
        written.append(f"| {' | '.join([label.ljust(sizes[0]), *aligned])} |")
    return "\n".join(written)


def _format_cell(text: str) -> str:
    """Return a cell; a bar is escaped even in code, where it would end the cell."""
    return _format_code(text).replace("|", r"\|") if isinstance(text, CodeText) else _escape(text)


def _format_text(text: str) -> str:
    if isinstance(text, CodeText):
        return _format_code(text)
    return f"**{_escape(text)}**" if isinstance(text, StrongText) else _escape(text)


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text.replace("&", "&amp;"))


def _format_code(text: str) -> str:
    """Return code between more backticks than it contains."""
    fence = _choose_fence(text)
    beside = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{beside}{text}{beside}{fence}"


def _choose_fence(text: str) -> str:
    return "`" * (1 + max(map(len, re.findall("`+", text)), default=0))


def write_files(files: Mapping[str, str], folder: str | os.PathLike[str]) -> Path:
    """Write the files of a report into a folder, which is created if necessary, and return the folder.

    Examples:
        >>> write_files({"index.html": "<p>15 is best.</p>"}, "report").name
        'report'
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (place / name).write_bytes(content.encode())
    return place
