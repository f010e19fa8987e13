"""How far a player sees who does not know the truth: so many plies ahead, and no further."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.solve.worth import ended

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from number_tower.position import Position

MOST_POSITIONS = 5_000
"""Positions that a player looks at for one move; where that is not enough, it sees less far."""

_USUAL_BLOCKS = 200
"""Blocks up to which it is so many; with more of them each position takes longer."""

MOST_MOVES = 200
"""Moves that a player considers; of more than that it considers some."""

MOST_GAMES = 50
"""Games that are played from each move to tell which of them do best, where nothing better is known."""

MOST_PLACED = 100_000
"""Blocks that are placed for that, about; where not a single game from each move is within that, none is played."""

LONGEST_GAME = 500
"""Plies of such a game; what lasts longer counts as drawn."""

_WON = 1_000


def seen(position: Position, plies: int, moves: Sequence[int]) -> dict[int, int]:
    """Say of each move how it looks: above 0 it wins, the sooner the higher; below 0 it loses; 0 is anything else.

    It is right about everything that is over within so many plies, as far as the positions that may be looked at
    suffice; the first ply, a win in hand, is always seen.
    """
    budget = iter(range(MOST_POSITIONS * _USUAL_BLOCKS // max(_USUAL_BLOCKS, len(position.rules.blocks))))
    looks = {block: _look(position, block, 1, budget) for block in moves}
    for depth in range(2, plies + 1):
        deeper: dict[int, int] = {}
        for block, look in looks.items():
            deeper[block] = look or _look(position, block, depth, budget)
            if next(budget, None) is None:
                return looks
        looks = deeper
    return looks


def considered(position: Position, rng: Random) -> Sequence[int]:
    """Return the moves that a player thinks of: all, or of very many the one that arrives and some others."""
    legal = position.legal
    if len(legal) <= MOST_MOVES:
        return legal
    some = set(rng.sample(legal, MOST_MOVES))
    target = position.rules.target
    if target is not None and position.refusal(target - position.heights[position.to_move]) is None:
        some.add(target - position.heights[position.to_move])
    return sorted(some)


def promising(position: Position, moves: Sequence[int], rng: Random) -> list[int]:
    """Return what does best of some moves that look the same, by playing on from each of them at random."""
    games = min(MOST_GAMES, MOST_PLACED // (len(moves) * len(position.rules.blocks)))
    results = {block: sum(_result(position, block, rng) for _ in range(games)) for block in moves}
    return [block for block, result in results.items() if result == max(results.values())]


def _result(position: Position, block: int, rng: Random) -> int:
    """Play one game at random, from a move on, and return how it ends for whoever made that move: 1, 0 or -1."""
    mover = position.to_move
    for _ in range(LONGEST_GAME):
        position = position.place(block)
        legal = position.legal
        if not legal:
            break
        block = legal[int(rng.random() * len(legal))]
    outcome = position.outcome
    if outcome is None or outcome.winner is None:
        return 0
    return 1 if outcome.winner == mover else -1


def _look(position: Position, block: int, depth: int, budget: Iterator[int], best: int = -_WON) -> int:
    """Return how a move looks to whoever makes it; what is no better than the best known need not be looked at."""
    after = position.place(block)
    turned = after.to_move != position.to_move
    over = ended(after)
    if over is not None:
        score = {"win": _WON, "draw": 0, "loss": -_WON}[over.value]
    elif depth == 1 or next(budget, None) is None:
        return 0
    else:
        score = -_WON
        for reply in after.legal[:MOST_MOVES]:
            score = max(score, _look(after, reply, depth - 1, budget, score))
            if score == _WON - 1 or (turned and -score <= best):
                break
    score = -score if turned else score
    return score - 1 if score > 0 else score + 1 if score < 0 else 0
