"""The computer's opponents: five levels, told apart by how far they look and how often they slip."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from number_tower.players.base import Player
from number_tower.players.knowledge import get_knowledge
from number_tower.solve.worth import get_final_worth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from number_tower.game import Game
    from number_tower.position import Position
    from number_tower.solve.limits import Progress

FALLBACK_PLIES = 8


"""Plies that a player looks ahead who would know the truth, where the truth is out of reach."""


class Level(NamedTuple):
    """How strong a player is: how many plies it sees (None: to the end), and how often it does not look."""

    name: str
    about: str
    plies: int | None
    slips: float = 0.0


_ALL_LEVELS = (
    Level("random", "plays anything at all: a yardstick more than an opponent", 0),
    Level("gentle", "plays at random, but takes a win that is there to be taken", 1),
    Level("easy", "also sees what you could win with next; slips about one move in four", 2, 1 / 4),
    Level("fair", "looks four blocks ahead; slips about one move in four", 4, 1 / 4),
    Level("strong", "knows every position to the end; slips about one move in six", None, 1 / 6),
    Level("perfect", "never errs: wins what can be won, and makes the rest as hard for you as it can be", None),
)


RANDOM = _ALL_LEVELS[0]


LEVELS = {level.name: level for level in _ALL_LEVELS[1:]}


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
        candidates = self._find_candidates(game, 1 if slipped else self.level.plies, rng)
        return candidates[int(rng.random() * len(candidates))]

    def close(self) -> None:
        """Leave nothing behind: there is nothing."""

    def _find_candidates(self, game: Game, plies: int | None, rng: Random) -> list[int]:
        if plies is None:
            best = get_knowledge(game.rules).find_best_moves(game.position, self.progress)
            if best is not None:
                return list(best)
            self.remark = f"{self.name} cannot solve this position, and plays as far as it sees."
            return select_promising(game.position, _find_best_looking(game, FALLBACK_PLIES, rng), rng)
        return _find_best_looking(game, plies, rng)


def _find_best_looking(game: Game, plies: int, rng: Random) -> list[int]:
    """Return the moves that look best to whoever sees so far; without a look, all of them."""
    if not plies:
        return list(game.legal)
    looks = evaluate_moves(game.position, plies, select_moves(game.position, rng))
    return [block for block, look in looks.items() if look == max(looks.values())]


MAX_LOOKAHEAD_POSITIONS = 5_000


"""Positions that a player looks at for one move; where that is not enough, it sees less far."""


_USUAL_BLOCKS = 200


"""Blocks up to which it is so many; with more of them each position takes longer."""


MAX_MOVES = 200


"""Moves that a player considers; of more than that it considers some."""


MAX_PLAYOUTS = 50


"""Games that are played from each move to tell which of them do best, where nothing better is known."""


MAX_PLAYOUT_BLOCKS = 100_000


"""Blocks that are placed for that, about; where not a single game from each move is within that, none is played."""


MAX_PLAYOUT_PLIES = 500


"""Plies of such a game; what lasts longer counts as drawn."""


_WIN_SCORE = 1_000


def evaluate_moves(position: Position, plies: int, moves: Sequence[int]) -> dict[int, int]:
    """Say of each move how it looks: above 0 it wins, the sooner the higher; below 0 it loses; 0 is anything else.

    It is right about everything that is over within so many plies, as far as the positions that may be looked at
    suffice; the first ply, a win in hand, is always seen.
    """
    budget = iter(range(MAX_LOOKAHEAD_POSITIONS * _USUAL_BLOCKS // max(_USUAL_BLOCKS, len(position.rules.blocks))))
    looks = {block: _evaluate_move(position, block, 1, budget) for block in moves}
    for depth in range(2, plies + 1):
        deeper: dict[int, int] = {}
        for block, look in looks.items():
            deeper[block] = look or _evaluate_move(position, block, depth, budget)
            if next(budget, None) is None:
                return looks
        looks = deeper
    return looks


def select_moves(position: Position, rng: Random) -> Sequence[int]:
    """Return the moves that a player thinks of: all, or of very many the one that arrives and some others."""
    legal = position.legal
    if len(legal) <= MAX_MOVES:
        return legal
    some = set(rng.sample(legal, MAX_MOVES))
    target = position.rules.target
    if target is not None and position.refusal(target - position.heights[position.to_move]) is None:
        some.add(target - position.heights[position.to_move])
    return sorted(some)


def select_promising(position: Position, moves: Sequence[int], rng: Random) -> list[int]:
    """Return what does best of some moves that look the same, by playing on from each of them at random."""
    games = min(MAX_PLAYOUTS, MAX_PLAYOUT_BLOCKS // (len(moves) * len(position.rules.blocks)))
    results = {block: sum(_score_playout(position, block, rng) for _ in range(games)) for block in moves}
    return [block for block, result in results.items() if result == max(results.values())]


def _score_playout(position: Position, block: int, rng: Random) -> int:
    """Play one game at random, from a move on, and return how it ends for whoever made that move: 1, 0 or -1."""
    mover = position.to_move
    for _ in range(MAX_PLAYOUT_PLIES):
        position = position.place(block)
        legal = position.legal
        if not legal:
            break
        block = legal[int(rng.random() * len(legal))]
    outcome = position.outcome
    if outcome is None or outcome.winner is None:
        return 0
    return 1 if outcome.winner == mover else -1


def _evaluate_move(position: Position, block: int, depth: int, budget: Iterator[int], best: int = -_WIN_SCORE) -> int:
    """Return how a move looks to whoever makes it; what is no better than the best known need not be looked at."""
    after = position.place(block)
    turned = after.to_move != position.to_move
    over = get_final_worth(after)
    if over is not None:
        score = {"win": _WIN_SCORE, "draw": 0, "loss": -_WIN_SCORE}[over.value]
    elif depth == 1 or next(budget, None) is None:
        return 0
    else:
        score = -_WIN_SCORE
        for reply in after.legal[:MAX_MOVES]:
            score = max(score, _evaluate_move(after, reply, depth - 1, budget, score))
            if score == _WIN_SCORE - 1 or (turned and -score <= best):
                break
    score = -score if turned else score
    return score - 1 if score > 0 else score + 1 if score < 0 else 0
