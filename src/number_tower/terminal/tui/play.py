"""The screen for playing: the towers, and beside or below them words, the tray and the log."""

from __future__ import annotations

from abc import abstractmethod

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Footer, Static

from number_tower.engine.table import Table
from number_tower.terminal.tui.choice import MenuScreen
from number_tower.terminal.tui.panels import CoachPanel
from number_tower.terminal.tui.rematch import EndingMenu
from number_tower.terminal.tui.towers import TowerView
from number_tower.terminal.tui.tray import BlockButton, BlockTray, NumberEntry


class PlayingScreen(MenuScreen):
    """Shows a position, and asks for a block."""

    def __init__(self) -> None:
        super().__init__()
        self.coach = CoachPanel(id="panel")

    def compose(self) -> ComposeResult:
        """Show everything that a game or a question needs; what is empty takes no room."""
        with Container(id="body"):
            yield TowerView(id="towers")
            with Vertical(id="side"):
                yield Static("", id="heading")
                yield Static("", id="score", classes="empty")
                yield Static("", id="turn")
                yield BlockTray(id="tray")
                yield EndingMenu(id="ending")
                yield NumberEntry(id="entry")
                yield Static("", id="opponent")
                yield self.coach
                with VerticalScroll(id="log", can_focus=False):
                    yield Static("", id="told")
        yield Footer(show_command_palette=False, compact=True)

    @property
    @abstractmethod
    def asked_table(self) -> Table | None:
        """The table at which a block can be placed now."""

    @abstractmethod
    def place(self, block: int) -> None:
        """Place a block, or say why it cannot be placed."""

    def show_text(self, selector: str, text: str) -> None:
        """Show a text in one of the widgets; without a text, the widget takes no room."""
        widget = self.query_one(selector, Static)
        widget.update(Content(text))
        widget.set_class(not text, "empty")

    def focus_block(self) -> None:
        """Focus a block that can be placed, unless one has the focus."""
        placeable = [
            block for block in self.query(BlockButton) if not block.has_class("unplaceable")
        ]
        if placeable and self.focused not in placeable:
            placeable[0].focus()

    @on(Button.Pressed)
    def _press(self, event: Button.Pressed) -> None:
        """Place the block of a button; a second key comes too late."""
        if self.app.screen is self and isinstance(event.button, BlockButton):
            self.query_one(NumberEntry).clear()
            self.place(event.button.number)

    def on_key(self, event: events.Key) -> None:
        """Read a typed number; Textual also calls the handlers of the classes above and below."""
        if self.asked_table is None:
            return
        largest = self.asked_table.game.rules.blocks[-1]
        number = self.query_one(NumberEntry).read_key(event, largest)
        if number is not None:
            self.place(number)
