"""Pages of text: rules, levels and keys; and a question with its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from number_tower.engine.table import Table
from number_tower.players import LEVELS
from number_tower.terminal.tui.choice import Entry, Menu, TowerScreen
from number_tower.words.brief import describe_rules
from number_tower.words.voice import get_voice


class PageScreen(TowerScreen):
    """A title and a text that can be scrolled."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "leave", "back")]

    def __init__(self, title: str, text: Content | str) -> None:
        super().__init__()
        self._title = title
        self._text = Content(text) if isinstance(text, str) else text

    def compose(self) -> ComposeResult:
        """Show the text."""
        yield Static(Content(self._title), id="title")
        with VerticalScroll():
            yield Static(self._text, id="text")
        yield Footer(show_command_palette=False, compact=True)


class LevelsScreen(PageScreen):
    """The levels of the computer."""

    def __init__(self) -> None:
        parts = [
            Content.assemble((level.name, "bold"), f": {level.about}.") for level in LEVELS.values()
        ]
        too_large = "If a game is too large to work out, strong and perfect say so,"
        parts.append(Content(f"{too_large} and play as well as they can."))
        title = "The computer plays at five levels, from the weakest to the strongest"
        super().__init__(title, Content("\n\n").join(parts))


class RulesScreen(PageScreen):
    """The rules of the game at a table, and what keys do there."""

    def __init__(self, table: Table, keys: Mapping[str, str] | None = None) -> None:
        parts = [Content(table.book.about)] if table.book.about else []
        lines = describe_rules(table.game.rules, get_voice(table.book).noun)
        parts.append(Content("\n".join(f"- {line}" for line in lines)))
        if keys:
            meanings = [
                Content.assemble((key, "bold"), f": {meaning}") for key, meaning in keys.items()
            ]
            parts += [Content.styled("Keys", "bold underline"), Content("\n").join(meanings)]
        super().__init__(table.book.title, Content("\n\n").join(parts))


class AskScreen(ModalScreen[str]):
    """A question above the screen; its result is the key of the answer, or None without one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "back")]

    def __init__(self, question: str, answers: Mapping[str, str]) -> None:
        super().__init__()
        self._question = question
        self._menu = Menu(Entry(text, key, key) for key, text in answers.items())

    def compose(self) -> ComposeResult:
        """Show the question; the first answer has the focus."""
        with Vertical(id="question"):
            yield Static(Content(self._question))
            yield self._menu

    @on(Menu.OptionSelected)
    def _choose(self, event: Menu.OptionSelected) -> None:
        self.dismiss(event.option.key if isinstance(event.option, Entry) else None)

    def on_key(self, event: events.Key) -> None:
        """Answer by a key."""
        self._menu.select_by_key(event)
