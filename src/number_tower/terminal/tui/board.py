"""The board: a game with its towers, tray, hints and log, from the first move to the end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import ClassVar

from textual import events, on, work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from number_tower.engine.table import StaleError, Table
from number_tower.solve.worth import Value
from number_tower.support.text import make_sentence
from number_tower.terminal.session.database import WAIT_ADVICE
from number_tower.terminal.session.game import GameSession, find_program_name
from number_tower.terminal.session.search import SearchStoppedError, StoppableSearch
from number_tower.terminal.tui.pages import AskScreen, RulesScreen
from number_tower.terminal.tui.panels import (
    CoachPanel,
    Searching,
    format_opponent,
    format_score,
    format_turn,
    list_messages,
)
from number_tower.terminal.tui.play import PlayingScreen
from number_tower.terminal.tui.rematch import EndingMenu
from number_tower.terminal.tui.towers import TowerView
from number_tower.terminal.tui.tray import BlockButton, BlockTray, NumberEntry

KEYS = {
    "1-9": "place a block; a larger number with Enter",
    "arrows": "walk over the blocks; Enter places the one with the focus, as a click does",
    "h": "a hint: what to look for, then the move, then why",
    "w": "why the block with the focus is good or not",
    "u": "undo your last move, and the computer's answer",
    "v": "show what every block is worth, for practice; again hides it",
    "g": "give up; asks once",
    "PgUp, PgDn": "scroll a long text, or the log",
    "Escape": "stop a search, or leave",
    "q": "leave; the game is saved, and goes on from the first screen",
    "Ctrl+Q": "quit the app",
}


class BoardScreen(PlayingScreen):
    """One game while it is played, and its end."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h", "hint", "hint"),
        Binding("w", "why", "why"),
        Binding("u", "undo", "undo"),
        Binding("question_mark", "rules", "help", key_display="?"),
        Binding("q", "leave", "leave"),
        Binding("v", "values", "values"),
        Binding("g", "resign", "give up"),
        Binding("escape", "stop", "stop", show=False),
    ]

    def __init__(self, session: GameSession, *, coin_tossed: bool = False) -> None:
        super().__init__()
        self.session = session
        if session.autosave is not None:
            session.autosave.advice = WAIT_ADVICE
        self._coin_tossed = coin_tossed
        self._busy = False
        """Whether a change is being saved, or a computer thinks."""
        self._with_values = False
        """Whether every move is shown with its value."""
        self._values: Mapping[int, Value] = {}
        self._counted = session.table.outcome is not None
        """Whether the result of the game is counted in its match."""

    @property
    def table(self) -> Table:
        """The table as it is saved."""
        return self.session.table

    @property
    def names(self) -> tuple[str, str]:
        """What the reader calls the players."""
        voice = self.session.voice
        return voice.address(self.table, 0), voice.address(self.table, 1)

    @property
    def seat(self) -> int:
        """The seat whose blocks are in the tray: that of the person, or of the player to move."""
        own = self.session.reader.seat
        return self.table.game.to_move if own is None else own

    @property
    def active(self) -> bool:
        """Whether a person is to move."""
        return self.table.outcome is None and self.session.computer is None

    @property
    def asked_table(self) -> Table | None:
        """The table at which a block can be placed now: none after the end."""
        return self.table if self.table.outcome is None else None

    async def on_mount(self) -> None:
        """Show the game, and let a computer begin."""
        # The end of the log stays in sight.
        self.query_one("#log", VerticalScroll).anchor()
        if self._thinking is not None:
            self._thinking.watch = lambda seconds: self.post_message(Searching(seconds))
        await self._show_table()
        self.coach.show_message(self.session.voice.remind_of_hidden(self.table))
        if self.active:
            self.focus_block()
        self._continue()

    def on_unmount(self) -> None:
        """Close the players and the database."""
        self.session.close()

    def stop(self) -> None:
        """Stop the coach and the computers."""
        self.coach.stop()
        if self._thinking is not None:
            self._thinking.stop()

    @property
    def _thinking(self) -> StoppableSearch | None:
        """The search of the computers."""
        display = None if self.session.opponents is None else self.session.opponents.progress
        return display if isinstance(display, StoppableSearch) else None

    # What is shown --------------------------------------------------------------------------------

    async def _show_table(self) -> None:
        table = self.table
        self.query_one(TowerView).show_table(table, self.names)
        values = " (with values)" if self._with_values else ""
        self.show_text("#heading", f"{table.book.title}{values}")
        self.show_text("#score", format_score(self.session, counted=self._counted))
        self.show_text("#turn", format_turn(self.session))
        self.show_text("#opponent", format_opponent(self.table, self.seat, self.names))
        messages = list_messages(self.session, coin_tossed=self._coin_tossed)
        self.query_one("#told", Static).update(Content("\n".join(messages)))
        tray, ending = self.query_one(BlockTray), self.query_one(EndingMenu)
        tray.display = table.outcome is None
        if table.outcome is None:
            ending.display = False
            await tray.show_table(table, self.seat, active=self.active, values=self._values)
        else:
            ending.show(self.session)
        self.query_one(NumberEntry).clear()
        self.refresh_bindings()

    # Moves ----------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Let a computer that was stopped think again on Enter."""
        if event.key == "enter" and self.session.computer is not None and not self._busy:
            event.stop()
            self._continue()

    def on_descendant_focus(self) -> None:
        """Say why the block with the focus cannot be placed."""
        block = self.focused
        if isinstance(block, BlockButton) and block.has_class("unplaceable") and self.active:
            self.coach.show_message(self._explain_refusal(block.number) or "")

    def _explain_refusal(self, block: int) -> str | None:
        reason = self.table.refusal(block)
        if reason is None:
            return None
        return self.session.voice.refuse(self.table, reason, f"{block}", block).text.strip()

    def place(self, block: int) -> None:
        """Place a block for the person whose turn it is, or say why it cannot be placed."""
        if self._busy or not self.active:
            return
        if (refusal := self._explain_refusal(block)) is not None:
            self.coach.show_message(refusal)
            return
        self._commit(self.table.play(block))

    def _commit(self, table: Table) -> None:
        """Save a change in the background; then show it."""
        if not self._busy:
            self._busy = True
            self._save(table)

    @work(group="change")
    async def _save(self, table: Table, remark: str = "") -> None:
        """Save a table in a thread, and show it only then."""
        try:
            warnings = await asyncio.to_thread(self.session.save, table)
            news = [make_sentence(warning) for warning in warnings]
        except StaleError:
            news = ["This game was continued elsewhere. This is how it stands now."]
        await self._show_change(" ".join(filter(None, [remark, *news])))

    async def _show_change(self, news: str = "") -> None:
        """Show the saved table, and go on with the game."""
        self._busy, self._values = False, {}
        self.coach.forget()
        outcome = self.table.outcome
        if outcome is not None and self.session.course is not None and not self._counted:
            self.session.course.finish_game(self.table, self.session.autosave, outcome.winner)
            self._counted = True
        await self._show_table()
        self.coach.show_message(news)
        if self.active:
            self.focus_block()
        self._continue()
        self._show_values()

    def _continue(self) -> None:
        """Let a computer move if it is its turn."""
        if self.session.computer is not None:
            self._busy = True
            self._think()

    @work(group="change")
    async def _think(self) -> None:
        """Let the computer choose its move in a thread, and save it."""
        name = self.names[self.table.game.to_move]
        # An earlier stop must not end this search too.
        if self._thinking is not None:
            self._thinking.clear()
        try:
            table, remark = await self.tower.run_search(self.session.let_computer_move)
        except SearchStoppedError:
            self._busy = False
            self.show_text("#turn", f"{name} was stopped. Press Enter to let {name} think again.")
            return
        # A computer that has no answer, or an illegal one, forfeits.
        if table.declared is not None:
            remark = f"{name} made no legal move: {remark}."
        self._save(table, remark)

    @on(Searching)
    def _show_thinking(self, event: Searching) -> None:
        turn = format_turn(self.session)
        self.show_text("#turn", f"{turn} {event.seconds:.0f} s (Escape stops it)")

    # Commands -------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Say whether a key does something now; some do nothing after the end."""
        if self.table.outcome is not None and action in {"hint", "why", "resign", "values"}:
            return False
        return super().check_action(action, parameters)

    def action_undo(self) -> None:
        """Take back the last move of a person."""
        if self._busy:
            return
        if not self.table.may_undo:
            refusal = self.session.voice.refuse(self.table, "undo", "undo")
            self.coach.show_message(refusal.text.strip())
        elif self._counted and self.session.course is not None:
            self.coach.show_message("The result is counted already, so it cannot be undone.")
        else:
            self._commit(self.table.undo())

    def action_resign(self) -> None:
        """Ask whether to give up, and do so."""
        if self._busy or not self.active:
            return
        other = self.session.voice.get_name(self.table, 1 - self.table.game.to_move)

        def resign(answer: str | None) -> None:
            if answer == "y" and self.active:
                self._commit(self.table.declare("resigned", self.table.game.to_move))

        question = f"Give up this game? {other} wins then."
        self.app.push_screen(AskScreen(question, {"n": "no", "y": "yes"}), resign)

    def action_rules(self) -> None:
        """Show the rules, and the keys."""
        self.app.push_screen(RulesScreen(self.table, KEYS))

    def action_stop(self) -> None:
        """Stop a search that runs; if there is none, leave the game."""
        if self._busy or self.coach.is_searching:
            self.stop()
        else:
            self.action_leave()

    def format_resume_hint(self) -> str:
        """Say how to resume the game, if it is saved and not over."""
        if self.table.outcome is not None or not self.table.game.moves or self.session.ref is None:
            return ""
        return f"Game saved. Resume it with: {find_program_name()} resume {self.session.ref}"

    def action_hint(self) -> None:
        """Give the next step of a hint."""
        if self.active and not self._busy:
            self.coach.give_hint(self.table)

    def action_why(self) -> None:
        """Give the reason for or against the block with the focus, or for the best move."""
        if self.active and not self._busy:
            block = self.focused.number if isinstance(self.focused, BlockButton) else None
            self.coach.give_reason(self.table, block)

    def action_values(self) -> None:
        """Show what each move is worth, in this game from now on; or hide it again."""
        if self.table.hidden:
            refusal = self.session.voice.refuse(self.table, "hint", "values")
            self.coach.show_message(refusal.text.strip())
        elif self.table.outcome is None:
            self._with_values, self._values = not self._with_values, {}
            self.run_worker(self._show_table())
            self._show_values()

    @work(group="change")
    async def _show_values(self) -> None:
        """Find the values for a person who wants to see them, and mark the game first."""
        if not self._with_values or not self.active or self._busy:
            return
        if not self.session.is_marked:
            self._busy = True
            await asyncio.to_thread(self.session.mark_with_values)
            self._busy = False
        self.coach.find_values(self.table)

    @on(CoachPanel.Valued)
    async def _add_values(self, event: CoachPanel.Valued) -> None:
        if event.table is self.table and self._with_values:
            self._values = event.values
            await self._show_table()

    @on(EndingMenu.NextGame)
    def _play_next(self, event: EndingMenu.NextGame) -> None:
        if self.app.screen is self:
            self.app.switch_screen(BoardScreen(event.session))
