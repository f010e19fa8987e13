"""A study of rules of my own: everything here is right, and has the types that it says."""

from collections.abc import Mapping
from typing import Any, Literal, assert_type

import numpy as np
from numpy.typing import NDArray

import number_tower as nt
from number_tower.coach.hints import Hint, hint
from number_tower.coach.review import GameReview, review
from number_tower.engine import catalogue, record
from number_tower.envs.gymnasium import NumberTowerEnv
from number_tower.players import Player, make_player
from number_tower.studies import lab
from number_tower.studies.arena import ArenaResults, arena, play_out
from number_tower.studies.evaluation import Evaluation, evaluate

PRIMES = nt.Rules(blocks=[2, 3, 5, 7, 11], supply="own", target=20)


class Largest(Player):
    """A player of my own."""

    name = "Largest"

    def choose(self, game: nt.Game) -> int:
        """Return the largest block that may be placed."""
        return game.legal[-1]


def answer_question(question: Mapping[str, Any]) -> int:
    """Answer a question of an evaluation."""
    return int(max(question["legal"]))


def choose_smallest(game: nt.Game) -> int:
    """Choose for the opponent in an environment."""
    return game.legal[0]


def play() -> None:
    """Play games, write them down and read them again."""
    game = nt.Game(nt.rules("draft", target=21, blocks="1-12"), first=1).play(9).play(12)
    assert_type(game.legal, tuple[int, ...])
    assert_type(game.undo(), nt.Game)
    assert_type(game.outcome, nt.Outcome | None)
    if game.outcome is not None:
        assert_type(game.outcome.winner, int | None)
    try:
        game.play(13)
    except nt.MoveError as error:
        assert_type(error.block, int)
    table = nt.Table(game, names=("Ann", "Ben"))
    assert_type(record.to_line(table), str)
    assert_type(record.from_line("draft:9,8"), nt.Table)
    assert_type(catalogue.load("draft").options, tuple[str, ...])
    assert_type(play_out(table, (Largest(), make_player("perfect"))).forfeit, str | None)
    assert_type(nt.Match(best_of=3).after(None).score, tuple[float, float])


def solve() -> None:
    """Ask for exact values."""
    solution = nt.solve(nt.Game(PRIMES), seconds=10)
    assert_type(solution, nt.Solution)
    assert_type(solution.value, Literal["win", "draw", "loss"])
    assert_type(solution.best, tuple[int, ...])
    assert_type(solution.moves[7], nt.Worth)
    assert_type(hint(solution), Hint)
    assert_type(review(nt.Game(PRIMES, moves=(2, 3))), GameReview)


def study() -> None:
    """Measure rules and players."""
    space = lab.make_space(PRIMES, {"target": [15, 20, 25]})
    for row in lab.sweep(space, jobs=1):
        assert_type(row, lab.LabRow)
        assert_type(row.fairness, float | None)
    assert_type(lab.study(PRIMES).depth, int)
    assert_type(arena([PRIMES], ["easy", "perfect"], number=4, jobs=1), ArenaResults)
    assert_type(evaluate(answer_question, PRIMES, number=4, positions=4, jobs=1), Evaluation)


def learn() -> None:
    """Play one game as an agent."""
    env = NumberTowerEnv(PRIMES, opponent=choose_smallest, seat="alternating", values=True)
    observation, info = env.reset(seed=1)
    assert_type(observation, NDArray[np.float32])
    action = int(info["action_mask"].argmax())
    _, reward, over, _, _ = env.step(action)
    assert_type((reward, over), tuple[float, bool])
