"""Review of a game: the value of every position as a graph, and what is to be said about each move."""

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
from number_tower.session.search import SearchStoppedError, StoppableSearch
from number_tower.table import Table
from number_tower.tui.choice import GAME_CSS, TowerScreen
from number_tower.tui.towers import SEAT_STYLES, TowerView

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

    CSS_PATH = GAME_CSS
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
        found, words = self._review, self._words
        self.query_one("#heading", Static).update(Content(words.format_headline(found)))
        self.query_one("#turn", Static).update(Content(self._describe_move()))
        self.query_one("#graph", Static).update(draw_values(found, words.names, self._ply))
        general = [words.format_standing(found), words.format_turning_point(found)]
        general += [words.format_accuracy(found, seat) for seat in (0, 1)] if found.moves else []
        self.query_one("#told", Static).update(
            Content(
                "\n\n".join(
                    [*self._list_remarks(), *filter(None, [*general, words.format_unsolved(found)])]
                )
            )
        )

    def _describe_move(self) -> str:
        if self._review is None or not self._ply:
            return "Before the first move."
        move = self._review.moves[self._ply - 1]
        forced = " (the only move)" if move.forced else ""
        name = self._words.names[move.player]
        return f"Move {move.ply}: {name} places {move.block}{move.mark}{forced}. {_describe_values(move, name)}"

    def _list_remarks(self) -> list[str]:
        return (
            [*self._words.list_remarks(self._review.moves[self._ply - 1])]
            if self._review and self._ply
            else []
        )


def _describe_values(move: JudgedMove, name: str) -> str:
    """Say what the position was worth to the mover before and after a move."""
    if move.before is None or move.after is None:
        return "What it is worth is not known."
    before, after = (
        "a draw" if worth.value == "draw" else f"a {worth.value} for {name}"
        for worth in (move.before, move.after)
    )
    return f"It stays {before}." if before == after else f"It was {before}; now it is {after}."


def draw_values(review: GameReview, names: tuple[str, str], ply: int) -> Content:
    """Draw who is winning after each move: a row for each player and one for a draw; the current move is marked."""
    width = max(len(name) for name in names)
    rows = {1: f"{names[0]} wins", 0: "draw", -1: f"{names[1]} wins"}
    lines = []
    for level, label in rows.items():
        marks = "".join("o" if value == level else "·" for value in review.values)
        style = {1: SEAT_STYLES[0], 0: "ansi_yellow", -1: SEAT_STYLES[1]}[level]
        lines.append(Content(f"{label:>{width + 5}} ") + Content.styled(marks, style))
    unknown = "".join("?" if value is None else " " for value in review.values)
    pointer = "".join("^" if place == ply else mark for place, mark in enumerate(unknown))
    return Content("\n").join([*lines, Content(" " * (width + 6) + pointer)])
