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
from number_tower.batch import BatchError
from number_tower.coach.puzzles import pick_below, shuffle
from number_tower.evaluation.positions import POINTS, play_random_game, values_differ
from number_tower.position import Position
from number_tower.rules import Fit, Rules, RulesError, Stuck, Supply, Towers
from number_tower.solve.deep import DeepSolver
from number_tower.solve.limits import NotSolvedError, SearchLimits
from number_tower.text import format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from typing import Any

    from number_tower.game import Game
    from number_tower.solve.worth import Value

MAX_VARIANTS = 200
"""Variants that are made at most for one evaluation."""

_DRAW_EVERY = 5
"""Of so many variants one is drawn."""

_MAX_POSITIONS = 2_000
"""Positions within which each position that is looked at has to be solved."""

_MAX_MEMORY = 8
"""MiB that may be used for that."""

_SAMPLE_GAMES = 10
"""Games at random by which a variant is judged."""

_TRIES_PER_KIND = 4
"""Rules that are made of one kind before the next comes."""

_EARLY_PLIES = 4
"""Plies within which both players should have met a choice that matters."""

_MIN_MEAN_PLIES = 4.0
"""Plies that a game at random takes at least, on average."""

_MIN_MEAN_LOSS = 0.25
"""Points that each player loses at least by moving at random, on average over a game."""


class RulesKind(NamedTuple):
    """The part of the rules that is no number."""

    supply: Supply
    towers: Towers
    fit: Fit
    stuck: Stuck
    target: bool


def make_variants(number: int, seed: int, progress: Callable[[int, int], object] | None = None) -> tuple[Rules, ...]:
    """Make so many different games from a seed; `progress` is told how many there are now, and will be.

    All kinds of rules come up in turn, in an order that follows from the seed.
    """
    if type(number) is not int or not 1 <= number <= MAX_VARIANTS:
        raise BatchError(f"expected from 1 to {MAX_VARIANTS} variants; got {format_value(number)}")
    rng = Random(f"{seed} variants")  # noqa: S311 - play, not secrets
    wanted = compute_quotas(number)
    own = [book.rules for book in catalogue.load_all()]
    found: list[Rules] = []
    for kind in cycle(shuffle(_KINDS, rng)):
        if len(found) == number:
            break
        for _ in range(_TRIES_PER_KIND):
            rules = _draw_rules(kind, rng)
            if rules is None or rules in own or rules in found:
                continue
            value = _judge_rules(rules, rng, +wanted)
            if value is not None:
                wanted[value] -= 1
                found.append(rules)
                if progress is not None:
                    progress(len(found), number)
                break
    return tuple(shuffle(found, rng))


def compute_quotas(number: int) -> Counter[Value]:
    """Say how many variants should be worth what to whoever starts: as many a win as a loss, the rest a draw."""
    half = (number - number // _DRAW_EVERY) // 2
    return Counter({"win": half, "loss": half, "draw": number - 2 * half})


def _draw_rules(kind: RulesKind, rng: Random) -> Rules | None:
    """Choose the numbers for some kind of rules; None if they cannot be."""
    blocks = _draw_blocks(rng)
    chosen: dict[str, Any] = {**kind._asdict(), "blocks": blocks, "target": None}
    if kind.target:
        most = sum(blocks) // 2 if kind.towers == "own" and kind.supply != "endless" else sum(blocks)
        chosen["target"] = blocks[-1] + 1 + pick_below(max(most - blocks[-1], 1), rng)
    if kind.fit == "ascending" and pick_below(2, rng):
        chosen["step"] = 2 + pick_below(5, rng)
    if not pick_below(4, rng):
        chosen["opening"] = sorted(shuffle(blocks, rng)[: 2 + pick_below(len(blocks) - 2, rng)])
    try:
        rules = Rules(**chosen)
    except RulesError:
        return None
    return None if rules.target_in_reach is False else rules


def _draw_blocks(rng: Random) -> list[int]:
    """Choose from five to ten blocks: in equal steps, as people mostly play, or any others."""
    number = 5 + pick_below(6, rng)
    if pick_below(2, rng):
        return sorted(shuffle(range(1, 17), rng)[:number])
    first, step = 1 + pick_below(3, rng), 1 + pick_below(2, rng)
    return [first + step * place for place in range(number)]


def _judge_rules(rules: Rules, rng: Random, wanted: Container[Value]) -> Value | None:
    """Return what a game is worth to whoever starts, if it is worth playing and a game of this worth is wanted.

    It is if games at random are not too short and either player can win; and if in them both players soon meet
    choices that matter, and would lose a good part of their points by them.
    """
    games = [play_random_game(rules, rng) for _ in range(_SAMPLE_GAMES)]
    winners = {outcome.winner for game in games if (outcome := game[-1].outcome) is not None}
    if fmean(len(game) - 1 for game in games) < _MIN_MEAN_PLIES or not {0, 1} <= winners:
        return None
    start = Position.start(rules)
    watch = SearchLimits(positions=_MAX_POSITIONS, memory=_MAX_MEMORY)
    solver = DeepSolver(start, watch, plies=False, compiled=False)
    try:
        value = solver.evaluate(start).value
        if value not in wanted:
            return None
        choices = [_Choices.from_games(game[:-1], solver, watch) for game in games]
    except NotSolvedError:
        return None
    soon = all(2 * sum(each.early[seat] for each in choices) >= _SAMPLE_GAMES for seat in (0, 1))
    much = all(fmean(each.lost[seat] for each in choices) >= _MIN_MEAN_LOSS for seat in (0, 1))
    return value if soon and much else None


class _Choices(NamedTuple):
    """For each player of a game, whether choices mattered early, and what is lost by choosing at random."""

    early: tuple[bool, bool]
    lost: tuple[float, float]

    @classmethod
    def from_games(cls, games: Sequence[Game], solver: DeepSolver, watch: SearchLimits) -> _Choices:
        """Look at a game as it stood before each move."""
        early, lost = [False, False], [0.0, 0.0]
        for game in games:
            position, mover = game.position, game.to_move
            points = {}
            for block in position.legal:
                watch.restart_positions()
                points[block] = POINTS[solver.evaluate_move(position, block).value]
            early[mover] |= values_differ(points) and len(game.moves) < _EARLY_PLIES
            lost[mover] += max(points.values()) - fmean(points.values())
        return cls((early[0], early[1]), (lost[0], lost[1]))


_KINDS = [RulesKind(*each) for each in product(*map(get_args, (Supply, Towers, Fit, Stuck)), (False, True))]
