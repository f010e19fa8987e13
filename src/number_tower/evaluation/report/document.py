"""A report as a list of its pieces, so that it can be written as Markdown and as a page and say the same in both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from number_tower.evaluation.report.charting import Plot


class Code(str):
    """Text that stands as it was written by a player or for a computer."""

    __slots__ = ()


class Strong(str):
    """Text that stands out."""

    __slots__ = ()


Words = str | tuple[str, ...]
"""What is said: plain text, some of it code or strong."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The beginning of a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A few sentences."""

    words: Words


@dataclass(frozen=True, slots=True)
class Items:
    """A list, with numbers or without."""

    items: tuple[Words, ...]
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """What can be typed to get the same."""

    text: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: its first column says what a row is about, and the others are numbers."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot."""

    plot: Plot


Piece = Heading | Paragraph | Items | Command | Grid | Picture


@dataclass(frozen=True, slots=True)
class Document:
    """A title and all that follows."""

    title: str
    pieces: tuple[Piece, ...]


def parts(words: Words) -> tuple[str, ...]:
    """Return what is said piece by piece."""
    return (words,) if isinstance(words, str) else words
