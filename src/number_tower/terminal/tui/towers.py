"""The towers of a table as a widget, and the styles of both players' blocks."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from number_tower.drawing.text import Line, write_sample, write_towers
from number_tower.engine.game import Game
from number_tower.engine.table import Table

SEAT_STYLES = ("bold ansi_cyan", "bold ansi_magenta")

_STYLES = {
    "": "",
    "seat-1": SEAT_STYLES[0],
    "seat-2": SEAT_STYLES[1],
    "target": "bold ansi_yellow",
    "bold": "bold",
    "dim": "dim",
}


class TowerView(Widget):
    """The towers of a table, drawn in the room that there is."""

    DEFAULT_CSS = "TowerView { width: 1fr; height: 1fr; }"

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self._shown: tuple[Table, tuple[str, str]] | None = None

    def show_table(self, table: Table, names: tuple[str, str]) -> None:
        """Draw a table; `names` are what the reader calls the players."""
        self._shown = table, names
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return how many rows the drawing takes; it is upright only in a high window."""
        if self._shown is None:
            return 1
        room = viewport.height - 14
        if room <= container.height // 2:
            room = 6
        return len(write_towers(*self._shown, width, room))

    def render(self) -> Content:
        """Draw the towers."""
        if self._shown is None:
            return Content()
        return _draw_lines(write_towers(*self._shown, self.size.width, self.size.height))


def draw_sample(game: Game, width: int) -> Content:
    """Draw the towers of a game in one line each: a small picture."""
    return _draw_lines(write_sample(game, width))


def _draw_lines(lines: list[Line]) -> Content:
    styled = [[(text, _STYLES[style]) for text, style in line] for line in lines]
    return Content("\n").join(Content.assemble(*parts) for parts in styled)
