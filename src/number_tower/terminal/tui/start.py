"""The screens that a command may open the app with."""

from __future__ import annotations

from number_tower.terminal.tui.board import BoardScreen
from number_tower.terminal.tui.new_game import NewGameScreen
from number_tower.terminal.tui.question import LessonScreen, PuzzleScreen

__all__ = ["BoardScreen", "LessonScreen", "NewGameScreen", "PuzzleScreen"]
