"""What is measured: each function is one piece of work, done in a process of its own.

Every round starts with new rules and a new solver, which remember nothing; a round before those
that count warms up whatever is compiled. Whatever is compared is checked to say the same; a fast
wrong answer is worth nothing.
"""

from __future__ import annotations

import random
import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import number_tower as nt
from number_tower.coach.hints import hint
from number_tower.players import Player, make_player
from number_tower.players.knowledge import get_knowledge
from number_tower.solve.deep import DeepSolver
from number_tower.solve.limits import SearchLimits
from number_tower.solve.matching import decompose_blocks
from number_tower.studies.arena import arena
from others import match_with_rustworkx, run_yardstick, solve_with_openspiel
from timing import in_turns, seconds, typical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from number_tower.solve.worth import Value


class Duel(NamedTuple):
    """The seconds of ours and of the other, and how many positions the other searched."""

    ours: float
    other: float
    positions: int = 0


class DisagreementError(Exception):
    """Two solvers say different things of one game."""


def agree(ours: object, other: object) -> None:
    """Refuse to compare times of different answers."""
    if ours != other:
        raise DisagreementError(f"ours: {ours}; the other's: {other}")


def start(name: str, **options: object) -> nt.Position:
    """Return the start of a game by rules that remember nothing yet."""
    return nt.Position.start(nt.rules(name, **options))


def solve_all(position: nt.Position, *, plies: bool = True) -> nt.Solution:
    """Solve a position and every move from it."""
    solution = nt.solve(position, plies=plies)
    dict(solution.moves)
    return solution


def _check_unloaded() -> None:
    heavy = sorted({"numpy", "numba"} & sys.modules.keys())
    if heavy:
        raise RuntimeError(f"expected no numeric library to be loaded; got {', '.join(heavy)}")


# At the rulebooks' sizes, and what Python does alone ----------------------------------------------


def solve_game(name: str, **options: object) -> float:
    """Time the start of a game and every opening, with plies, by Python alone."""
    took = typical(lambda: solve_all(start(name, **options)))
    _check_unloaded()
    return took


def find_value(name: str, **options: object) -> float:
    """Time the value of the start of a game by a search that is compiled."""

    def search() -> nt.Solution:
        return nt.solve(start(name, **options), plies=False)

    # The first search compiles.
    search()
    return typical(search)


def compare_with_openspiel(name: str) -> Duel:
    """Compare with OpenSpiel's solver, which finds the values of all states and no plies."""
    rules = nt.rules(name)
    solution = solve_all(start(name))
    theirs = solve_with_openspiel(rules)
    values: dict[str, float] = {"win": 1, "draw": 0, "loss": -1}
    worths = [solution.worth, *solution.moves.values()]
    agree([values[worth.value] for worth in worths], theirs.values)
    ours, other = in_turns(
        3,
        lambda: typical(lambda: solve_all(start(name))),
        lambda: solve_with_openspiel(rules).seconds,
    )
    return Duel(ours, other, theirs.states)


def find_slowest_position(blocks: str, plies: int, positions: int) -> float:
    """Return the longest time for the values of a random position of `factor` and its moves."""
    rng = random.Random(3)  # noqa: S311 - chosen once, and the same in every run
    times: list[float] = []
    while len(times) < positions:
        position = start("factor", blocks=blocks)
        for _ in range(plies):
            if position.outcome is None:
                position = position.place(rng.choice(position.legal))
        if position.outcome is None:
            times.append(typical(partial(solve_all, position, plies=False)))
    _check_unloaded()
    return max(times)


def compare_matchings(size: int) -> Duel:
    """Compare the values of all openings of `factor` with one matching by rustworkx."""

    def solve_openings() -> nt.Solution:
        return solve_all(start("factor", blocks=f"1-{size}"), plies=False)

    solve_openings()
    ours = typical(solve_openings)
    blocks = range(1, size + 1)
    theirs = match_with_rustworkx(blocks)
    partners = decompose_blocks(blocks, "related", SearchLimits()).partner
    agree(sum(other >= 0 for other in partners) // 2, theirs.pairs)
    return Duel(ours, theirs.seconds)


# Searches -----------------------------------------------------------------------------------------


def compare_with_c(target: int, program: str, its_target: int, *, compiled: bool) -> Duel:
    """Compare a value of `summit` with 20 blocks with the yardstick in C."""

    def search() -> Value:
        position = start("summit", blocks="1-20", target=target)
        solver = DeepSolver(position, SearchLimits(), plies=False, compiled=compiled)
        return solver.evaluate(position).value

    value = search()
    if target == its_target:
        agree(value, run_yardstick(program, 20, target).value)
    ours, other = in_turns(
        5, lambda: seconds(search), lambda: run_yardstick(program, 20, its_target).seconds
    )
    if not compiled:
        _check_unloaded()
    return Duel(ours, other)


# Players ------------------------------------------------------------------------------------------


def compare_arena_with_bare_play(name: str, games: int) -> Duel:
    """Play random games in an arena, and the same number of them with nothing but the rules."""

    def play_bare() -> None:
        rng = random.Random(1)  # noqa: S311 - chosen once, and the same in every run
        for _ in range(games):
            game = nt.Game(nt.rules(name))
            while legal := game.legal:
                game = game.play(rng.choice(legal))

    def play_in_arena() -> None:
        arena([name], ["one", "other"], number=games, jobs=1, make=_make_random)

    ours, other = in_turns(5, partial(seconds, play_in_arena), partial(seconds, play_bare))
    return Duel(ours, other)


def _make_random(spec: str, *, seed: int, patience: float) -> Player:  # noqa: ARG001
    return make_player("random", seed=seed, patience=patience)


def find_slowest_choice(name: str) -> float:
    """Return the longest that the perfect level thinks in any position of random games."""
    return max(_time_thoughts(name, lambda game: make_player("perfect").choose(game)))


def find_slowest_hint(name: str) -> float:
    """Return the longest that a hint takes, with its reason."""

    def explain(game: nt.Game) -> None:
        solution = get_knowledge(game.rules).solve(game.position)
        if solution is not None:
            hint(solution)

    return max(_time_thoughts(name, explain))


def _time_thoughts(name: str, think: Callable[[nt.Game], object]) -> Iterator[float]:
    """Yield how long each thought takes, in every position of some random games."""
    rng = random.Random(1)  # noqa: S311 - chosen once, and the same in every run
    for _ in range(20):
        game = nt.Game(nt.rules(name))
        while legal := game.legal:
            yield seconds(partial(think, game))
            game = game.play(rng.choice(legal))
