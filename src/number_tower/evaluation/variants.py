"""Games that nobody has seen: rules made from a seed, each worth playing, and together balanced by the solver.

Two fifths of them are won by whoever starts if both play their best, two fifths by the other, and the rest are drawn.
Searches are limited by positions and never by time, and none is compiled, so a seed makes the same games everywhere.
"""

from __future__ import annotations

from collections import Counter
from itertools import cycle, product
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple, get_args

from number_tower import catalogue
from number_tower.arena.schedule import ArenaError
from number_tower.coach.puzzles import below, shuffled
from number_tower.evaluation.positions import POINTS, differ, random_game
from number_tower.position import Position
from number_tower.rules import Fit, Rules, RulesError, Stuck, Supply, Towers
from number_tower.showing import shown
from number_tower.solve.deep import Deep
from number_tower.solve.limits import NotSolved, Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from typing import Any

    from number_tower.game import Game
    from number_tower.solve.worth import Value

MOST = 200
"""Variants that are made at most for one evaluation."""

_DRAWN = 5
"""Of so many variants one is drawn."""

_SEARCHED = 2_000
"""Positions within which each position that is looked at has to be solved."""

_MEMORY = 8
"""MiB that may be used for that."""

_GAMES = 10
"""Games at random by which a variant is judged."""

_TRIALS = 4
"""Rules that are made of one kind before the next comes."""

_EARLY = 4
"""Plies within which both players should have met a choice that matters."""

_SHORTEST = 4.0
"""Plies that a game at random takes at least, on average."""

_LEAST_LOST = 0.25
"""Points that each player loses at least by moving at random, on average over a game."""


class Kind(NamedTuple):
    """The part of the rules that is no number."""

    supply: Supply
    towers: Towers
    fit: Fit
    stuck: Stuck
    target: bool


def variants(number: int, seed: int, progress: Callable[[int, int], object] | None = None) -> tuple[Rules, ...]:
    """Make so many different games from a seed; `progress` is told how many there are now, and will be.

    All kinds of rules come up in turn, in an order that follows from the seed.
    """
    if type(number) is not int or not 1 <= number <= MOST:
        raise ArenaError(f"expected from 1 to {MOST} variants; got {shown(number)}")
    rng = Random(f"{seed} variants")  # noqa: S311 - play, not secrets
    wanted = quotas(number)
    own = [book.rules for book in catalogue.games()]
    found: list[Rules] = []
    for kind in cycle(shuffled(_KINDS, rng)):
        if len(found) == number:
            break
        for _ in range(_TRIALS):
            rules = _drawn(kind, rng)
            if rules is None or rules in own or rules in found:
                continue
            value = _judged(rules, rng, +wanted)
            if value is not None:
                wanted[value] -= 1
                found.append(rules)
                if progress is not None:
                    progress(len(found), number)
                break
    return tuple(shuffled(found, rng))


def quotas(number: int) -> Counter[Value]:
    """Say how many variants should be worth what to whoever starts: as many a win as a loss, the rest a draw."""
    half = (number - number // _DRAWN) // 2
    return Counter({"win": half, "loss": half, "draw": number - 2 * half})


def _drawn(kind: Kind, rng: Random) -> Rules | None:
    """Choose the numbers for some kind of rules; None if they cannot be."""
    blocks = _blocks(rng)
    chosen: dict[str, Any] = {**kind._asdict(), "blocks": blocks, "target": None}
    if kind.target:
        most = sum(blocks) // 2 if kind.towers == "own" and kind.supply != "endless" else sum(blocks)
        chosen["target"] = blocks[-1] + 1 + below(max(most - blocks[-1], 1), rng)
    if kind.fit == "ascending" and below(2, rng):
        chosen["step"] = 2 + below(5, rng)
    if not below(4, rng):
        chosen["opening"] = sorted(shuffled(blocks, rng)[: 2 + below(len(blocks) - 2, rng)])
    try:
        rules = Rules(**chosen)
    except RulesError:
        return None
    return None if rules.target_in_reach is False else rules


def _blocks(rng: Random) -> list[int]:
    """Choose from five to ten blocks: in equal steps, as people mostly play, or any others."""
    number = 5 + below(6, rng)
    if below(2, rng):
        return sorted(shuffled(range(1, 17), rng)[:number])
    first, step = 1 + below(3, rng), 1 + below(2, rng)
    return [first + step * place for place in range(number)]


def _judged(rules: Rules, rng: Random, wanted: Container[Value]) -> Value | None:
    """Return what a game is worth to whoever starts, if it is worth playing and a game of this worth is wanted.

    It is if games at random are not too short and either player can win; and if in them both players soon meet
    choices that matter, and would lose a good part of their points by them.
    """
    games = [random_game(rules, rng) for _ in range(_GAMES)]
    winners = {outcome.winner for game in games if (outcome := game[-1].outcome) is not None}
    if fmean(len(game) - 1 for game in games) < _SHORTEST or not {0, 1} <= winners:
        return None
    start = Position.start(rules)
    watch = Watch(positions=_SEARCHED, memory=_MEMORY)
    solver = Deep(start, watch, plies=False, compiled=False)
    try:
        value = solver.worth(start).value
        if value not in wanted:
            return None
        choices = [_Choices.of(game[:-1], solver, watch) for game in games]
    except NotSolved:
        return None
    soon = all(2 * sum(each.early[seat] for each in choices) >= _GAMES for seat in (0, 1))
    much = all(fmean(each.lost[seat] for each in choices) >= _LEAST_LOST for seat in (0, 1))
    return value if soon and much else None


class _Choices(NamedTuple):
    """For each player of a game, whether choices mattered early, and what is lost by choosing at random."""

    early: tuple[bool, bool]
    lost: tuple[float, float]

    @classmethod
    def of(cls, games: Sequence[Game], solver: Deep, watch: Watch) -> _Choices:
        """Look at a game as it stood before each move."""
        early, lost = [False, False], [0.0, 0.0]
        for game in games:
            position, mover = game.position, game.to_move
            points = {}
            for block in position.legal:
                watch.restart_positions()
                points[block] = POINTS[solver.after(position, block).value]
            early[mover] |= differ(points) and len(game.moves) < _EARLY
            lost[mover] += max(points.values()) - fmean(points.values())
        return cls((early[0], early[1]), (lost[0], lost[1]))


_KINDS = [Kind(*each) for each in product(*map(get_args, (Supply, Towers, Fit, Stuck)), (False, True))]
