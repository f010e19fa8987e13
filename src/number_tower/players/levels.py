"""The computer's opponents: five levels, told apart by how far they look and how often they slip."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from number_tower.players.knowing import knowledge
from number_tower.players.player import Player
from number_tower.players.sight import considered, promising, seen

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.game import Game
    from number_tower.solve.limits import Progress

FAR = 8
"""Plies that a player looks ahead who would know the truth, where the truth is out of reach."""


class Level(NamedTuple):
    """How strong a player is: how many plies it sees (None: to the end), and how often it does not look."""

    name: str
    about: str
    plies: int | None
    slips: float = 0.0


_ALL = (
    Level("random", "plays anything at all: a yardstick more than an opponent", 0),
    Level("gentle", "plays at random, but takes a win that is there to be taken", 1),
    Level("easy", "also sees what you could win with next; slips about one move in four", 2, 1 / 4),
    Level("fair", "looks four blocks ahead; slips about one move in four", 4, 1 / 4),
    Level("strong", "knows every position to the end; slips about one move in six", None, 1 / 6),
    Level("perfect", "never errs: wins what can be won, and makes the rest as hard for you as it can be", None),
)
RANDOM = _ALL[0]
LEVELS = {level.name: level for level in _ALL[1:]}
"""The five levels, from the weakest to one that never errs."""


@dataclass
class Computer(Player):
    """A player of some level. What it chooses follows from its seed and the game so far, and from nothing else."""

    level: Level
    seed: int = 0
    progress: Callable[[Progress], object] | None = None

    def __post_init__(self) -> None:
        self.name = self.level.name.capitalize()

    def choose(self, game: Game) -> int:
        """Return one of the moves that look best, as far as this level sees."""
        rng = Random(f"{self.seed} {self.level.name} {game.first} {game.moves}")  # noqa: S311 - play, not secrets
        slipped = rng.random() < self.level.slips
        self.remark = ""
        candidates = self._candidates(game, 1 if slipped else self.level.plies, rng)
        return candidates[int(rng.random() * len(candidates))]

    def close(self) -> None:
        """Leave nothing behind: there is nothing."""

    def _candidates(self, game: Game, plies: int | None, rng: Random) -> list[int]:
        if plies is None:
            best = knowledge(game.rules).best_moves(game.position, self.progress)
            if best is not None:
                return list(best)
            self.remark = f"{self.name} cannot solve this position, and plays as far as it sees."
            return promising(game.position, _best_looking(game, FAR, rng), rng)
        return _best_looking(game, plies, rng)


def _best_looking(game: Game, plies: int, rng: Random) -> list[int]:
    """Return the moves that look best to whoever sees so far; without a look, all of them."""
    if not plies:
        return list(game.legal)
    looks = seen(game.position, plies, considered(game.position, rng))
    return [block for block, look in looks.items() if look == max(looks.values())]
