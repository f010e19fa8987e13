"""What is measured: each function is one piece of work, done in a process of its own.

Every round starts with new rules and a new solver, which remember nothing; a round before those that count warms up
whatever is compiled. Whatever is compared is checked to say the same; a fast wrong answer is worth nothing.
"""

from __future__ import annotations

import random
import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import number_tower as nt
from alphabeta import Draft
from number_tower.arena import arena
from number_tower.coach.hints import hint
from number_tower.players import Player, make_player
from number_tower.players.knowledge import get_knowledge
from number_tower.solve.deep import DeepSolver
from number_tower.solve.limits import SearchLimits
from number_tower.solve.matching import decompose_blocks
from others import rustworkx_matching, yardstick
from support.plain_solver import PlainSolver
from timing import in_turns, seconds, typical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from number_tower.solve.worth import Value


class Duel(NamedTuple):
    """Ours and the other's time, in seconds, and how many positions the other looked at, if it says so."""

    ours: float
    other: float
    positions: int = 0


class DisagreementError(Exception):
    """Two solvers that say different things of one game."""


def agree(ours: object, other: object) -> None:
    """Refuse to compare times of different answers."""
    if ours != other:
        raise DisagreementError(f"ours: {ours}; the other's: {other}")


def start(name: str, **options: object) -> nt.Position:
    """Return the start of a game by rules that remember nothing yet."""
    return nt.Position.start(nt.rules(name, **options))


def everything(position: nt.Position, *, plies: bool = True) -> nt.Solution:
    """Solve a position and every move from it."""
    solution = nt.solve(position, plies=plies)
    dict(solution.moves)
    return solution


def _check_unloaded() -> None:
    heavy = sorted({"numpy", "numba"} & sys.modules.keys())
    if heavy:
        raise RuntimeError(f"expected no numeric library to be loaded; got {', '.join(heavy)}")


# At the rulebooks' sizes, and what Python does alone ------------------------------------------------------


def whole_game(name: str, **options: object) -> float:
    """Time the start of a game and every opening, with plies, by Python alone."""
    took = typical(lambda: everything(start(name, **options)))
    _check_unloaded()
    return took


def against_plain(name: str, **options: object) -> Duel:
    """Measure against our own plain search: the start, which takes it every position, and every opening."""

    def plain() -> list[nt.Worth]:
        position, reference = start(name, **options), PlainSolver()
        return [
            reference.evaluate(position),
            *(reference.evaluate_move(position, block) for block in position.legal),
        ]

    solution = everything(start(name, **options))
    agree([solution.worth, *solution.moves.values()], plain())
    ours, other = in_turns(
        3, lambda: typical(lambda: everything(start(name, **options))), lambda: seconds(plain)
    )
    return Duel(ours, other)


def against_openspiel(name: str, **options: object) -> Duel:
    """Measure against OpenSpiel's solver, which finds the values of all states and no plies."""
    from spiel import minimax  # noqa: PLC0415 - it loads numpy, and is measured only here

    theirs = minimax(nt.rules(name, **options))
    solution = everything(start(name, **options))
    agree([solution.value, *(worth.value for worth in solution.moves.values())], theirs.values)
    ours, other = in_turns(
        3,
        lambda: typical(lambda: everything(start(name, **options))),
        lambda: minimax(nt.rules(name, **options)).seconds,
    )
    return Duel(ours, other, theirs.states)


def worst_position(blocks: str, plies: int, positions: int) -> float:
    """Time the values of random positions of `factor` and of all their moves, by Python alone; return the worst."""
    chance = random.Random(3)  # noqa: S311 - chosen once, and the same in every run
    found: list[nt.Position] = []
    while len(found) < positions:
        position = start("factor", blocks=blocks)
        for _ in range(plies):
            if position.outcome is None:
                position = position.place(chance.choice(position.legal))
        if position.outcome is None:
            found.append(position)
    worst = max(typical(partial(everything, position, plies=False)) for position in found)
    _check_unloaded()
    return worst


# Matchings ------------------------------------------------------------------------------------------------


def against_matching(size: int) -> Duel:
    """Measure the values of all openings of `factor` against one matching by rustworkx."""

    def openings() -> nt.Solution:
        return everything(start("factor", blocks=f"1-{size}"), plies=False)

    openings()
    ours = typical(openings)
    blocks = range(1, size + 1)
    theirs = rustworkx_matching(blocks)
    partners = decompose_blocks(blocks, "related", SearchLimits()).partner
    agree(sum(other >= 0 for other in partners) // 2, theirs.pairs)
    return Duel(ours, theirs.seconds)


# Searches -------------------------------------------------------------------------------------------------


def summit(target: int, *, compiled: bool) -> float:
    """Time a value of `summit` with 20 blocks; what is not compiled is done by Python alone."""
    _deep(target, compiled=compiled)
    took = typical(lambda: _deep(target, compiled=compiled))
    if not compiled:
        _check_unloaded()
    return took


def summit_against_c(target: int, program: str, its_target: int, *, compiled: bool) -> Duel:
    """Measure the same against the yardstick in C."""
    value = _deep(target, compiled=compiled)
    if target == its_target:
        agree(value, yardstick(program, 20, target).value)
    ours, other = in_turns(
        5,
        lambda: seconds(lambda: _deep(target, compiled=compiled)),
        lambda: yardstick(program, 20, its_target).seconds,
    )
    if not compiled:
        _check_unloaded()
    return Duel(ours, other)


def _deep(target: int, *, compiled: bool) -> Value:
    position = start("summit", blocks="1-20", target=target)
    return (
        DeepSolver(position, SearchLimits(), plies=False, compiled=compiled)
        .evaluate(position)
        .value
    )


def draft_against_alphabeta(blocks: int, target: int) -> Duel:
    """Measure a value of `draft` against the search that a careful person would write."""

    def solved() -> nt.Solution:
        return nt.solve(start("draft", blocks=f"1-{blocks}", target=target), plies=False)

    value = solved().value
    ours = typical(solved)
    rival = Draft(blocks, target)
    other = seconds(rival.value)
    agree(value, ("draw", "win", "loss")[rival.value()])  # known by now, and so not searched again
    return Duel(ours, other, rival.positions)


# Players ------------------------------------------------------------------------------------------------


def arena_against_bare_play(name: str, games: int) -> Duel:
    """Play random games in an arena, and the same number of them with nothing but the rules."""

    def bare() -> None:
        rng = random.Random(1)  # noqa: S311 - chosen once, and the same in every run
        for _ in range(games):
            game = nt.Game(nt.rules(name))
            while legal := game.legal:
                game = game.play(rng.choice(legal))

    def contest() -> None:
        arena([name], ["one", "other"], number=games, jobs=1, make=_random)

    ours, other = in_turns(5, partial(seconds, contest), partial(seconds, bare))
    return Duel(ours, other)


def _random(spec: str, *, seed: int, patience: float) -> Player:  # noqa: ARG001 - as every maker has it
    """Make a random player, whatever it is called."""
    return make_player("random", seed=seed, patience=patience)


def worst_choice(name: str) -> float:
    """Return the longest that the perfect level thinks, against one that plays at random, beginning included."""
    return max(_thinking(name, lambda game: make_player("perfect").choose(game)))


def worst_explanation(name: str) -> float:
    """Return the longest that a hint takes, with its reason."""

    def explain(game: nt.Game) -> None:
        solution = get_knowledge(game.rules).solve(game.position)
        if solution is not None:
            hint(solution)

    return max(_thinking(name, explain))


def _thinking(name: str, think: Callable[[nt.Game], object]) -> Iterator[float]:
    """Give how long each thought takes, in every position of some random games."""
    rng = random.Random(1)  # noqa: S311 - chosen once, and the same in every run
    for _ in range(20):
        game = nt.Game(nt.rules(name))
        while legal := game.legal:
            yield seconds(partial(think, game))
            game = game.play(rng.choice(legal))
