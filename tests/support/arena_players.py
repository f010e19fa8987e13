"""Players for tests of the arena, of whom some behave badly; worker processes have to find them in a module."""

from __future__ import annotations

import os
from random import Random

from number_tower import Game
from number_tower.players import ForfeitError, Player

OUTRAGEOUS = 10**9


class Stub(Player):
    """Plays one of the legal moves by its seed, or does what its name says; and notes when it has left."""

    def __init__(self, spec: str, *, seed: int = 0, patience: float = 0.0) -> None:
        self.name = spec
        self.patience = patience
        self.left = 0
        self._seed = seed

    def choose(self, game: Game) -> int:
        match self.name:
            case "cheat":
                return OUTRAGEOUS
            case "repeat" if game.moves:
                return game.moves[-1]
            case "quitter":
                raise ForfeitError("it has gone home")
            case "broken":
                raise ZeroDivisionError("it cannot count")
            case "deadly":
                os._exit(3)
            case _:
                return Random(f"{self._seed} {self.name} {game.moves}").choice(game.legal)  # noqa: S311 - a game

    def close(self) -> None:
        self.left += 1
