"""Review of a game: the value of every position as a graph, and remarks about each move."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, ItemGrid, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Footer, Static

from number_tower.coach.review import GameReview, JudgedMove, ReviewText, review
from number_tower.engine.table import Table
from number_tower.terminal.session.search import SearchStoppedError, StoppableSearch
from number_tower.terminal.tui.choice import TowerScreen
from number_tower.terminal.tui.towers import SEAT_STYLES, TowerView

SECONDS = 5.0
"""Time for each position."""


class MoveButton(Button):
    """A move, to go to it."""

    def __init__(self, move: JudgedMove) -> None:
        block = Content.styled(f"{move.block}{move.mark}", SEAT_STYLES[move.player])
        super().__init__(Content(f"{move.ply}. ") + block, compact=True)
        self.styles.line_pad = 0
        self.ply = move.ply


class ReviewScreen(TowerScreen):
    """Walks through the moves of a game."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,p", "step(-1)", "back", key_display="←"),
        Binding("right,n", "step(1)", "forward", key_display="→"),
        Binding("home", "step(-9999)", "start", show=False),
        Binding("end", "step(9999)", "end", show=False),
        Binding("t", "turning_point", "turning point"),
        Binding("escape,q", "leave", "leave"),
    ]

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table
        self._words = ReviewText.for_table(table)
        self._review: GameReview | None = None
        self._ply = len(table.game.moves)
        self._search = StoppableSearch()

    def compose(self) -> ComposeResult:
        """Show the towers, the graph, and the move."""
        with Container(id="body"):
            yield TowerView(id="towers")
            with Vertical(id="side"):
                yield Static("", id="heading")
                yield Static("Working out every position ...", id="turn")
                yield Static("", id="graph")
                yield ItemGrid(id="moves", min_column_width=9)
                with VerticalScroll(id="log", can_focus=False):
                    yield Static("", id="told")
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Show the game at once, and work out its values."""
        self._show_ply()
        self._run_review()

    def stop(self) -> None:
        """Stop the search."""
        self._search.stop()

    @work(exclusive=True)
    async def _run_review(self) -> None:
        game, declared = self._table.game, self._table.declared
        try:
            self._review = await asyncio.to_thread(
                review, game, declared=declared, seconds=SECONDS, progress=self._search.update
            )
        except SearchStoppedError:
            return
        moves = self._review.moves
        await self.query_one("#moves").mount_all(MoveButton(move) for move in moves)
        self._show_ply()

    def action_step(self, steps: int) -> None:
        """Go some moves forward, or back."""
        self._ply = min(max(self._ply + steps, 0), len(self._table.game.moves))
        self._show_ply()

    def action_turning_point(self) -> None:
        """Go to the move that decided the game."""
        if self._review is not None and self._review.turning_point is not None:
            self._ply = self._review.turning_point.ply
            self._show_ply()

    @on(Button.Pressed)
    def _go_to_move(self, event: Button.Pressed) -> None:
        if isinstance(event.button, MoveButton):
            self._ply = event.button.ply
            self._show_ply()

    def _show_ply(self) -> None:
        table = replace(self._table, game=self._table.game.at(self._ply), declared=None, log=())
        self.query_one(TowerView).show_table(table, self._words.names)
        if self._review is None:
            return
        review, words = self._review, self._words
        turn, texts = "Before the first move.", list[str | None]()
        if self._ply:
            move = review.moves[self._ply - 1]
            turn = _describe_move(move, words.names[move.player])
            texts += words.list_remarks(move)
        texts += [words.format_standing(review), words.format_turning_point(review)]
        if review.moves:
            texts += [words.format_accuracy(review, seat) for seat in (0, 1)]
        texts.append(words.format_unsolved(review))
        self.query_one("#heading", Static).update(Content(words.format_headline(review)))
        self.query_one("#turn", Static).update(Content(turn))
        # Draw who is winning after each move, one row for each result; mark the current move.
        width = max(len(name) for name in words.names)
        rows = (
            (1, f"{words.names[0]} wins", SEAT_STYLES[0]),
            (0, "draw", "ansi_yellow"),
            (-1, f"{words.names[1]} wins", SEAT_STYLES[1]),
        )
        lines = []
        for row, label, style in rows:
            marks = "".join("o" if value == row else "·" for value in review.values)
            lines.append(Content(f"{label:>{width + 5}} ") + Content.styled(marks, style))
        unknown = "".join("?" if value is None else " " for value in review.values)
        pointer = "".join("^" if index == self._ply else mark for index, mark in enumerate(unknown))
        lines.append(Content(" " * (width + 6) + pointer))
        self.query_one("#graph", Static).update(Content("\n").join(lines))
        self.query_one("#told", Static).update(Content("\n\n".join(filter(None, texts))))


def _describe_move(move: JudgedMove, name: str) -> str:
    """Say what a move was, and what the position was worth to the mover before and after it."""
    forced = " (the only move)" if move.forced else ""
    text = f"Move {move.ply}: {name} places {move.block}{move.mark}{forced}."
    if move.before is None or move.after is None:
        return f"{text} What it is worth is not known."
    before, after = (
        "a draw" if worth.value == "draw" else f"a {worth.value} for {name}"
        for worth in (move.before, move.after)
    )
    if before == after:
        return f"{text} It stays {before}."
    return f"{text} It was {before}; now it is {after}."
