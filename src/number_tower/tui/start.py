"""The screens that a call of the command opens the app with."""

from __future__ import annotations

from collections.abc import Callable

from textual.screen import Screen

from number_tower.catalogue import Rulebook
from number_tower.session.game import GameSession
from number_tower.session.match import MatchCourse
from number_tower.tui.app import TowerApp
from number_tower.tui.board import BoardScreen
from number_tower.tui.new_game import NewGameScreen
from number_tower.tui.question import LessonScreen, PuzzleScreen

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


def create_lesson(book: Rulebook) -> FirstScreen:
    """Give a first lesson."""
    return lambda _: LessonScreen(book)


def create_puzzles(book: Rulebook | None, grade: int | None, day: str | None, seed: int | None) -> FirstScreen:
    """Ask puzzles."""
    return lambda _: PuzzleScreen(book, grade=grade, day=day, seed=seed)
