"""What follows a game that is over: another game, a review, or neither."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from textual import work
from textual.message import Message

from number_tower.players import LEVELS
from number_tower.terminal.session.game import GameSession
from number_tower.terminal.session.opponents import Specs, replace_computers
from number_tower.terminal.tui.choice import Entry, Menu, TowerScreen
from number_tower.terminal.tui.pages import AskScreen
from number_tower.terminal.tui.review import ReviewScreen

if TYPE_CHECKING:
    from number_tower.terminal.tui.app import TowerApp


class EndingMenu(Menu):
    """What can be done after the end of a game."""

    class NextGame(Message):
        """Another game is to be played in place of this one."""

        def __init__(self, session: GameSession) -> None:
            super().__init__()
            self.session = session

    _session: GameSession

    def show(self, session: GameSession) -> None:
        """Show the entries, if they are not shown already; the first has the focus."""
        self._session = session
        if self.display:
            return
        entries: list[Entry]
        if session.course is not None and not session.course.series.match.over:
            entries = [Entry("next game", self._play_next, "n")]
        else:
            entries = [Entry("again, sides swapped", self._play_rematch, "a")]
            if session.opponents is not None:
                entries.append(Entry("other level", self._choose_level, "o"))
            entries.append(Entry("new game", self._choose_game, "n"))
        entries += [
            Entry("review", self._review, "r"),
            Entry("home", cast("TowerScreen", self.screen).action_leave, "b"),
            Entry("quit", self._app.action_leave, "x"),
        ]
        self.display = True
        self.set_options(entries)
        self.highlighted = 0
        self.focus()

    @property
    def _app(self) -> TowerApp:
        return cast("TowerApp", self.app)

    @work(exclusive=True)
    async def _play_next(self) -> None:
        if self._session.course is not None:
            session = await asyncio.to_thread(self._session.course.open_session)
            self.post_message(self.NextGame(session))

    def _choose_level(self) -> None:
        """Ask for another level, and play the same game against it."""
        levels = {f"{number}": name for number, name in enumerate(LEVELS, 1)}

        def play(answer: str | None) -> None:
            if answer is not None:
                self._play_rematch(replace_computers(self._session.specs, levels[answer]))

        self.app.push_screen(AskScreen("Which level?", levels), play)

    def _play_rematch(self, specs: Specs | None = None) -> None:
        rematch = self._app.create_request().open_rematch(self._session, specs)
        self.post_message(self.NextGame(rematch))

    def _choose_game(self) -> None:
        self._app.choose_opponent(self._session.table.book)

    def _review(self) -> None:
        self.app.push_screen(ReviewScreen(self._session.table))
