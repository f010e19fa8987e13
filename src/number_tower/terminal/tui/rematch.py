"""What follows a game that is over: the next game of its match, a rematch, another level, a review, or none of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from textual import work
from textual.message import Message

from number_tower.catalogue import GameChoice
from number_tower.players import LEVELS
from number_tower.session.game import GameSession
from number_tower.tui.choice import Entry, Menu, TowerScreen
from number_tower.tui.pages import AskScreen
from number_tower.tui.review import ReviewScreen

if TYPE_CHECKING:
    from number_tower.session.opponents import Specs
    from number_tower.tui.app import TowerApp


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
        if not self.display:
            self.display = True
            self.set_options(self._list_entries())
            self.highlighted = 0
            self.focus()

    @property
    def _app(self) -> TowerApp:
        return cast("TowerApp", self.app)

    def _list_entries(self) -> list[Entry]:
        course = self._session.course
        last = [
            Entry("review", self._review, "r"),
            Entry("home", cast("TowerScreen", self.screen).action_leave, "b"),
            Entry("quit", self._app.action_leave, "x"),
        ]
        if course is not None and not course.series.match.over:
            return [Entry("next game", self._play_next, "n"), *last]
        entries = [Entry("again, sides swapped", self._play_again, "a")]
        if self._session.opponents is not None:
            entries.append(Entry("other level", self._choose_level, "o"))
        return [*entries, Entry("new game", self._choose_game, "n"), *last]

    @work(exclusive=True)
    async def _play_next(self) -> None:
        if self._session.course is not None:
            self.post_message(
                self.NextGame(await asyncio.to_thread(self._session.course.open_session))
            )

    def _play_again(self) -> None:
        opponents = self._session.opponents
        self._play_rematch(
            (None, None) if opponents is None else opponents.specs, self._session.table.names
        )

    def _choose_level(self) -> None:
        """Ask for another level, and play the same game against it."""
        levels = {f"{number}": name for number, name in enumerate(LEVELS, 1)}

        def play(answer: str | None) -> None:
            if answer is not None and self._session.opponents is not None:
                first, second = (spec and levels[answer] for spec in self._session.opponents.specs)
                self._play_rematch((first, second))

        self.app.push_screen(AskScreen("Which level?", levels), play)

    def _play_rematch(self, specs: Specs, names: tuple[str, str] | None = None) -> None:
        """Play the same game; the other player begins. Without names, a person is called as before."""
        table, seat = self._session.table, self._session.reader.seat
        choice = GameChoice(table.book, table.game.rules, table.hidden, 1 - table.game.first)
        person = None if table.names is None or seat is None else table.names[seat]
        self.post_message(self.NextGame(self._app.create_session(choice, specs, names, person)))

    def _choose_game(self) -> None:
        from number_tower.tui.new_game import NewGameScreen  # noqa: PLC0415 - they show each other

        self.app.switch_screen(NewGameScreen(self._session.table.book))

    def _review(self) -> None:
        self.app.push_screen(ReviewScreen(self._session.table))
