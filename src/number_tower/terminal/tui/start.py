"""Screens to start with: what a call of the command opens the app with, and saved games and matches that go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.screen import Screen

from number_tower import store
from number_tower.catalogue import GameChoice, Rulebook
from number_tower.coach.quiz import PuzzleSource
from number_tower.session.game import GameSession
from number_tower.session.match import MatchCourse
from number_tower.store.matches import StoredMatch
from number_tower.tui.app import TowerApp
from number_tower.tui.board import BoardScreen
from number_tower.tui.new_game import NewGameScreen
from number_tower.tui.question import LessonScreen, PuzzleScreen

if TYPE_CHECKING:
    from number_tower.store.rows import StoredGame

FirstScreen = Callable[[TowerApp], Screen[None]]
"""Creates the screen that is shown first, above that of the games."""


def create_new_game(book: Rulebook) -> FirstScreen:
    """Choose the opponent and the options of a game."""
    return lambda _: NewGameScreen(book)


def create_board(session: GameSession, *, coin_tossed: bool = False) -> FirstScreen:
    """Play a game, or go on with it."""
    return lambda _: BoardScreen(session, coin_tossed=coin_tossed)


def create_match(course: MatchCourse) -> FirstScreen:
    """Play a match, or go on with it."""
    return lambda _: BoardScreen(course.open_session())


def create_lesson(choice: GameChoice, seed: int | None) -> FirstScreen:
    """Give a first lesson."""
    return lambda _: LessonScreen(choice, seed or 0)


def create_puzzles(source: PuzzleSource, count: int | None, name: str | None) -> FirstScreen:
    """Ask puzzles."""
    return lambda _: PuzzleScreen(source, count, name)


async def open_saved(app: TowerApp, saved: StoredGame | StoredMatch) -> None:
    """Show a saved game, as part of its match if it is the current game of one; or the next game of a match."""
    if isinstance(saved, StoredMatch):
        course = app.create_course(saved.series, saved.seats.players, saved)
        session = await asyncio.to_thread(course.open_session)
    else:
        restored = await asyncio.to_thread(_restore_match_game, app, saved)
        session = restored or app.restore_session(saved)
    app.push_screen(BoardScreen(session))


def _restore_match_game(app: TowerApp, saved: StoredGame) -> GameSession | None:
    """Return the current game of a match; None if this game is not one."""
    slot, database = saved.slot, app.choose_database()
    if slot is None or database is None:
        return None
    match = database.find(lambda opened: store.matches.get_match(opened, slot.match))
    if match is None or match.current is None or match.current.id != saved.id:
        return None
    return app.create_course(match.series, match.seats.players, match).open_session()
