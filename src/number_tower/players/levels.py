"""The levels of the computer: how many plies they look ahead, and how often they slip."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from number_tower.engine.game import Game, play_randomly
from number_tower.engine.position import Position
from number_tower.players.knowledge import get_knowledge
from number_tower.players.player import Player
from number_tower.solve.limits import Progress
from number_tower.solve.worth import get_final_worth

FALLBACK_PLIES = 8
"""Plies that a level looks ahead where the exact value cannot be computed."""

MAX_LOOKAHEAD_POSITIONS = 5_000
"""Positions that are searched for one move; beyond it, the player looks less far ahead."""

_USUAL_BLOCKS = 200
"""With more blocks than this a position takes longer, and fewer positions are searched."""

MAX_MOVES = 200
"""Moves that a player considers; of more than these, a sample."""

MAX_PLAYOUTS = 50
"""Random games from each move, to choose between moves that look equal."""

MAX_PLAYOUT_BLOCKS = 100_000
"""About how many blocks these games may place in all."""

MAX_PLAYOUT_PLIES = 500
"""Plies of a random game; a longer one counts as drawn."""

_WIN_SCORE = 1_000


class Level(NamedTuple):
    """The strength of a player: plies looked ahead (None: to the end), and how often it slips.

    Examples:
        >>> LEVELS["strong"].plies, LEVELS["fair"].plies
        (None, 4)
    """

    name: str
    about: str
    plies: int | None
    slips: float = 0.0


_ERRS = "makes a mistake in about one move in"

ALL_LEVELS = {
    level.name: level
    for level in (
        Level("random", "plays any legal move: for comparison, not for practice", 0),
        Level("gentle", "plays at random, but never misses a move that wins at once", 1),
        Level("easy", f"sees when you could win with your next move; {_ERRS} four", 2, 1 / 4),
        Level("fair", f"looks four moves ahead; {_ERRS} four", 4, 1 / 4),
        Level("strong", f"knows every position to the end; {_ERRS} six", None, 1 / 6),
        Level(
            "perfect",
            "never makes a mistake: wins whenever it can, "
            "and otherwise makes it as hard for you as possible",
            None,
        ),
    )
}
RANDOM = ALL_LEVELS["random"]
LEVELS = {name: level for name, level in ALL_LEVELS.items() if level is not RANDOM}
"""The five levels, from the weakest to one that never errs."""


@dataclass
class Computer(Player):
    """A player of some level; its choices follow from its seed and the game so far alone.

    Examples:
        >>> perfect = Computer(LEVELS["perfect"], seed=1)
        >>> perfect.choose(nt.Game(nt.Rules(target=15), moves=(9,)))
        6
        >>> perfect.close()
    """

    level: Level
    seed: int = 0
    progress: Callable[[Progress], object] | None = None
    remark: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self.name = self.level.name.capitalize()

    def choose(self, game: Game) -> int:
        """Return one of the moves that look best to this level."""
        rng = Random(f"{self.seed} {self.level.name} {game.first} {game.moves}")  # noqa: S311
        slips = rng.random() < self.level.slips
        self.remark = ""
        plies = 1 if slips else self.level.plies
        if plies is not None:
            moves: Sequence[int] | None = _find_best_looking(game, plies, rng)
        else:
            moves = get_knowledge(game.rules).find_best_moves(game.position, self.progress)
        if moves is None:
            self.remark = f"{self.name} cannot work out this position, and plays as well as it can."
            looking_best = _find_best_looking(game, FALLBACK_PLIES, rng)
            moves = select_promising(game.position, looking_best, rng)
        return moves[int(rng.random() * len(moves))]


def _find_best_looking(game: Game, plies: int, rng: Random) -> Sequence[int]:
    """Return the moves that look best with `plies` of lookahead; all of them for 0."""
    if not plies:
        return game.legal
    scores = evaluate_moves(game.position, plies, select_moves(game.position, rng))
    return [block for block, score in scores.items() if score == max(scores.values())]


def evaluate_moves(position: Position, plies: int, moves: Sequence[int]) -> dict[int, int]:
    """Return a score for each move: positive for a win, the sooner the higher, negative for a loss.

    Everything that ends within `plies` is found, as far as the number of positions suffices; a move
    that wins at once is always found.
    """
    blocks = max(_USUAL_BLOCKS, len(position.rules.blocks))
    budget = iter(range(MAX_LOOKAHEAD_POSITIONS * _USUAL_BLOCKS // blocks))
    scores = {block: _evaluate_move(position, block, 1, budget) for block in moves}
    for depth in range(2, plies + 1):
        deeper: dict[int, int] = {}
        for block, score in scores.items():
            deeper[block] = score or _evaluate_move(position, block, depth, budget)
            if next(budget, None) is None:
                return scores
        scores = deeper
    return scores


def select_moves(position: Position, rng: Random) -> Sequence[int]:
    """Return the moves to consider: all, or a sample with the move that reaches the target."""
    legal = position.legal
    if len(legal) <= MAX_MOVES:
        return legal
    sample = set(rng.sample(legal, MAX_MOVES))
    if position.rules.target is not None:
        need = position.rules.target - position.heights[position.to_move]
        if position.refusal(need) is None:
            sample.add(need)
    return sorted(sample)


def select_promising(position: Position, moves: Sequence[int], rng: Random) -> list[int]:
    """Return the moves with the best results in random games from there on."""
    blocks = len(moves) * len(position.rules.blocks)
    games = min(MAX_PLAYOUTS, MAX_PLAYOUT_BLOCKS // blocks)
    results = dict.fromkeys(moves, 0)
    for block in moves:
        after = position.place(block)
        for _ in range(games):
            *_, last = play_randomly(after, rng, MAX_PLAYOUT_PLIES - 1)
            # A win counts 1 and a loss -1, for the player of the move.
            if last.outcome is not None and last.outcome.winner is not None:
                results[block] += 1 if last.outcome.winner == position.to_move else -1
    best = max(results.values())
    return [block for block, result in results.items() if result == best]


def _evaluate_move(
    position: Position, block: int, depth: int, budget: Iterator[int], best: int = -_WIN_SCORE
) -> int:
    """Return the score of a move for its player; stop once it cannot be better than `best`."""
    after = position.place(block)
    turned = after.to_move != position.to_move
    worth = get_final_worth(after)
    if worth is not None:
        score = {"win": _WIN_SCORE, "draw": 0, "loss": -_WIN_SCORE}[worth.value]
    elif depth == 1 or next(budget, None) is None:
        return 0
    else:
        score = -_WIN_SCORE
        for reply in after.legal[:MAX_MOVES]:
            score = max(score, _evaluate_move(after, reply, depth - 1, budget, score))
            if score == _WIN_SCORE - 1 or (turned and -score <= best):
                break
    score = -score if turned else score
    if score == 0:
        return 0
    # A ply more on the way makes a win count less, and a loss less bad.
    return score - 1 if score > 0 else score + 1
