"""New games: rules made from a seed, each worth playing, and balanced by the solver.

With best play two fifths of them are won by the starting player, two fifths by the other, and the
rest are drawn. Searches are limited by positions and not by time, and none is compiled, so a seed
makes the same games everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from itertools import cycle, product
from random import Random
from statistics import fmean
from typing import Any, NamedTuple, get_args

from number_tower.coach.puzzles import pick_below, shuffle
from number_tower.engine import catalogue
from number_tower.engine.game import Game, play_randomly
from number_tower.engine.position import Position
from number_tower.engine.rules import Fit, Rules, RulesError, Stuck, Supply, Towers
from number_tower.solve.deep import DeepSolver
from number_tower.solve.limits import NotSolvedError, SearchLimits
from number_tower.solve.worth import Value
from number_tower.studies.batch import BatchError
from number_tower.studies.evaluation.positions import POINTS, values_differ
from number_tower.support.text import format_value

MAX_VARIANTS = 200
"""The largest number of variants for one evaluation."""

_DRAW_EVERY = 5
"""One variant in this number is a draw."""

_MAX_POSITIONS = 2_000
"""Positions to search for each solution; a variant that needs more is not used."""

_MAX_MEMORY = 8
"""MiB of memory for the searches."""

_SAMPLE_GAMES = 10
"""Random games by which a variant is judged."""

_TRIES_PER_KIND = 4
"""Rules to try of one kind before the next."""

_EARLY_PLIES = 4
"""Plies within which both players should have a choice that matters."""

_MIN_MEAN_PLIES = 4.0
"""The least mean length of a random game."""

_MIN_MEAN_LOSS = 0.25
"""The least mean loss of points, over a game, by random moves of each player."""


class RulesKind(NamedTuple):
    """The rules without their numbers."""

    supply: Supply
    towers: Towers
    fit: Fit
    stuck: Stuck
    target: bool


def make_variants(
    number: int, seed: int, progress: Callable[[int, int], object] | None = None
) -> tuple[Rules, ...]:
    """Make different games from a seed, of all kinds of rules in turn.

    `progress` is called with the number of games made and their total.
    """
    if type(number) is not int or not 1 <= number <= MAX_VARIANTS:
        raise BatchError(f"expected from 1 to {MAX_VARIANTS} variants; got {format_value(number)}")
    rng = Random(f"{seed} variants")  # noqa: S311 - play, not secrets
    wanted = compute_quotas(number)
    own = [book.rules for book in catalogue.load_all()]
    variants: list[Rules] = []
    for kind in cycle(shuffle(_KINDS, rng)):
        if len(variants) == number:
            break
        for _ in range(_TRIES_PER_KIND):
            rules = _draw_rules(kind, rng)
            if rules is None or rules in own or rules in variants:
                continue
            value = _judge_rules(rules, rng, +wanted)
            if value is not None:
                wanted[value] -= 1
                variants.append(rules)
                if progress is not None:
                    progress(len(variants), number)
                break
    return tuple(shuffle(variants, rng))


def compute_quotas(number: int) -> Counter[Value]:
    """Return how many variants the starting player should win, lose and draw."""
    half = (number - number // _DRAW_EVERY) // 2
    return Counter({"win": half, "loss": half, "draw": number - 2 * half})


def _draw_rules(kind: RulesKind, rng: Random) -> Rules | None:
    """Choose the numbers for a kind of rules; None if they do not make valid rules."""
    number = 5 + pick_below(6, rng)
    if pick_below(2, rng):
        blocks = sorted(shuffle(range(1, 17), rng)[:number])
    else:
        # Equal steps, as in most games.
        first, step = 1 + pick_below(3, rng), 1 + pick_below(2, rng)
        blocks = [first + step * place for place in range(number)]
    options: dict[str, Any] = {**kind._asdict(), "blocks": blocks, "target": None}
    if kind.target:
        is_halved = kind.towers == "own" and kind.supply != "endless"
        highest = sum(blocks) // 2 if is_halved else sum(blocks)
        options["target"] = blocks[-1] + 1 + pick_below(max(highest - blocks[-1], 1), rng)
    if kind.fit == "ascending" and pick_below(2, rng):
        options["step"] = 2 + pick_below(5, rng)
    if not pick_below(4, rng):
        options["opening"] = sorted(shuffle(blocks, rng)[: 2 + pick_below(len(blocks) - 2, rng)])
    try:
        rules = Rules(**options)
    except RulesError:
        return None
    return None if rules.target_in_reach is False else rules


def _judge_rules(rules: Rules, rng: Random, wanted: Container[Value]) -> Value | None:
    """Return the value of a game to who starts, if it is wanted and the game is worth playing.

    In a game worth playing, random games are not too short, either player can win them, both
    players soon have choices that matter, and both lose a good part of their points by random
    moves.
    """
    games = [list(play_randomly(Game(rules), rng)) for _ in range(_SAMPLE_GAMES)]
    winners = {outcome.winner for game in games if (outcome := game[-1].outcome) is not None}
    if fmean(len(game) - 1 for game in games) < _MIN_MEAN_PLIES or not {0, 1} <= winners:
        return None
    start = Position.start(rules)
    limits = SearchLimits(positions=_MAX_POSITIONS, memory=_MAX_MEMORY)
    solver = DeepSolver(start, limits, plies=False, compiled=False)
    try:
        value = solver.evaluate(start).value
        if value not in wanted:
            return None
        judged = [_judge_choices(game[:-1], solver, limits) for game in games]
    except NotSolvedError:
        return None
    for player in (0, 1):
        games_with_choice = sum(early[player] for early, _ in judged)
        mean_loss = fmean(lost[player] for _, lost in judged)
        if 2 * games_with_choice < _SAMPLE_GAMES or mean_loss < _MIN_MEAN_LOSS:
            return None
    return value


def _judge_choices(
    games: Sequence[Game], solver: DeepSolver, limits: SearchLimits
) -> tuple[list[bool], list[float]]:
    """Return for each player whether an early choice mattered, and the points lost by random moves.

    The game is given as it stood before each move.
    """
    early, lost = [False, False], [0.0, 0.0]
    for game in games:
        position, mover = game.position, game.to_move
        points = {}
        for block in position.legal:
            limits.restart_positions()
            points[block] = POINTS[solver.evaluate_move(position, block).value]
        early[mover] |= values_differ(points) and len(game.moves) < _EARLY_PLIES
        lost[mover] += max(points.values()) - fmean(points.values())
    return early, lost


_KINDS = [
    RulesKind(*parts)
    for parts in product(*map(get_args, (Supply, Towers, Fit, Stuck)), (False, True))
]
