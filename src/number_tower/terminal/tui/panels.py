"""What stands beside the towers: the game and whose turn it is in words, the coach, and the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from number_tower.coach import hints
from number_tower.coach.hints import HintText
from number_tower.engine.table import Table
from number_tower.solve.worth import Value
from number_tower.support.text import summarize_numbers
from number_tower.terminal.session.game import GameSession
from number_tower.terminal.session.search import SearchStoppedError, StoppableSearch
from number_tower.words.brief import describe_height, has_height
from number_tower.words.voice import SPECTATOR, narrate

if TYPE_CHECKING:
    from number_tower.terminal.tui.app import TowerApp

ResultT = TypeVar("ResultT")

MAX_LOG = 200
"""The last messages of a game are shown, at most this many."""


def format_score(session: GameSession, *, counted: bool) -> str:
    """Return the score of a match, which includes this game if `counted`, and the game's number."""
    course = session.course
    if course is None:
        return ""
    standing, _ = course.describe("score" if counted else "game")
    score = " - ".join(f"{points:g}" for points in course.series.match.score)
    first, second = (session.voice.address(session.table, seat) for seat in (0, 1))
    which = f"{'after game' if counted else 'game'} {standing.number}"
    return f"Best of {standing.best_of}, {which}: {first} {score} {second}"


def format_turn(session: GameSession) -> str:
    """Say whose turn it is, or how the game ended."""
    table, game, voice = session.table, session.table.game, session.voice
    if table.outcome is not None:
        endings = [message.text for message in voice.tell(table) if message.kind == "end"]
        return "".join(endings).strip()
    name = voice.address(table, game.to_move)
    if session.computer is not None:
        return f"{name} is thinking ..."
    turn = "Your turn" if name == "You" else f"{name}'s turn"
    if not has_height(game.rules):
        return f"{turn}."
    own = "your tower" if name == "You" else f"{name}'s tower"
    tower = "the tower" if game.rules.towers == "shared" else own
    return f"{turn}: {describe_height(game, game.to_move, tower)}."


def format_opponent(table: Table, seat: int, names: tuple[str, str]) -> str:
    """Say which blocks the other player has left, if they are visible and not a shared pool."""
    left = table.left(1 - seat)
    if left is None or table.game.rules.supply != "own" or table.outcome is not None:
        return ""
    return f"{names[1 - seat]} has left: {summarize_numbers(left, ' ') or 'none'}"


def list_messages(session: GameSession, *, coin_tossed: bool) -> list[str]:
    """Return the log, a line for each event."""
    reader = SPECTATOR if session.reader.shared else session.reader
    messages = list(narrate(session.table, reader=reader, turns=False))
    if coin_tossed:
        messages.insert(1, session.voice.tell_toss(session.table))
    told = [message.text for message in messages[-MAX_LOG:] if message.kind != "start"]
    return [" ".join(text.split()) for text in told if text.strip()]


class Searching(Message):
    """A search has been running for some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class CoachPanel(VerticalScroll, can_focus=False):
    """Hints in steps, reasons and values for the player to move; and what else is to be said."""

    class Valued(Message):
        """The values of all moves at a table were found."""

        def __init__(self, table: Table, values: Mapping[int, Value]) -> None:
            super().__init__()
            self.table = table
            self.values = values

    def __init__(self, id: str) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self._text = Static("")
        self._searches: dict[str, StoppableSearch] = {}
        """The last search for a hint, and for values."""
        self._version = -1
        """The version of the table that a hint was given for."""
        self._step = 0

    def compose(self) -> ComposeResult:
        """Show one text."""
        yield self._text

    def show_message(self, text: str) -> None:
        """Show a text in place of the one before."""
        self._text.update(Content(text))
        self._text.display = bool(text)
        self.scroll_home(animate=False)

    def give_hint(self, table: Table) -> None:
        """Give the next step of a hint."""
        self._step = step = self._step + 1 if self._version == table.version else 1
        self._version = table.version
        self._ask(lambda search: hints.give_hint(table, step, search.update), details=step > 3)

    def give_reason(self, table: Table, block: int | None) -> None:
        """Give the reason for or against a block, or for the best move."""
        self._ask(lambda search: hints.give_reason(table, block, search.update), details=True)

    @work(exclusive=True, group="hint")
    async def _ask(self, find: Callable[[StoppableSearch], HintText], *, details: bool) -> None:
        try:
            hint = await self._search("hint", find)
        except SearchStoppedError:
            self.show_message("The search for a hint was stopped.")
            return
        # With the reason, only the move that it is for is repeated.
        texts = [*hint.texts] if hint.more else [*hint.texts[-2:]]
        if not details and (hint.more or hint.details or hint.idea):
            texts.append("(h: more)")
        elif details and not hint.more:
            texts += [hint.details, "" if hint.idea is None else hint.idea.explanation]
        self.show_message("\n".join(filter(None, texts)))

    @work(exclusive=True, group="values")
    async def find_values(self, table: Table) -> None:
        """Find the values of all moves, and post them."""
        try:
            values = await self._search(
                "values", lambda search: hints.find_values(table, search.update)
            )
        except SearchStoppedError:
            self.show_message("The search for values was stopped.")
        else:
            self.post_message(self.Valued(table, values))

    async def _search(self, kind: str, find: Callable[[StoppableSearch], ResultT]) -> ResultT:
        """Search in place of an earlier search of this kind."""
        if kind in self._searches:
            self._searches[kind].stop()
        self._searches[kind] = search = StoppableSearch(
            lambda seconds: self.post_message(Searching(seconds))
        )
        return await cast("TowerApp", self.app).run_search(find, search)

    @on(Searching)
    def _show_progress(self, event: Searching) -> None:
        event.stop()
        if self.is_searching:
            self.show_message(f"Searching: {event.seconds:.0f} s (Escape stops it)")

    @property
    def is_searching(self) -> bool:
        """Whether a search is running."""
        return any(worker.node is self and worker.is_running for worker in self.workers)

    def stop(self) -> None:
        """Stop the searches that run."""
        for search in self._searches.values():
            search.stop()

    def forget(self) -> None:
        """Stop the searches that run, and ignore what they find: the game goes on."""
        self.stop()
        self.workers.cancel_node(self)
