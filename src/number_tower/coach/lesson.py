"""A first lesson: a few positions with something to find, from a win in hand to ones that need an idea."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from number_tower.coach.hints import Hint, hint
from number_tower.game import Game
from number_tower.players.knowing import knowledge
from number_tower.solve.limits import NotSolved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.rules import Rules
    from number_tower.solve.solution import Solution

EXERCISES = 3

_GAMES = 40
"""Games that are played at random to find positions."""

_WORK = 300_000
"""Blocks that are looked at in doing so: of large games few positions are."""

_IDEAS = (
    "multiple", "pairs", "made_up", "ahead", "threat_or", "threat", "threat_or_higher", "outlasts", "made_up_again",
    "alone", "answers", "forced",
)  # fmt: skip
"""Reasons for a win that is not in hand, those that teach most first."""

_LONGEST_GAME = 40
_MOST_MOVES = 40
"""Moves among which a beginner may be asked to find one."""


class Exercise(NamedTuple):
    """A game that has come to a position in which some moves win and others do not."""

    game: Game
    solution: Solution
    hint: Hint

    @property
    def kind(self) -> str:
        """What there is to find."""
        return self.hint.reason.kind

    @property
    def difficulty(self) -> tuple[int, int]:
        """How far it is to the win, and how many moves do not lead there."""
        plies = self.hint.worth.plies
        return _LONGEST_GAME if plies is None else plies, self.hint.legal - self.hint.good


def exercises(rules: Rules, seed: int = 0) -> tuple[Exercise, ...]:
    """Return up to three positions, the easiest first: a win in hand, and then ideas, as different as there are."""
    found = sorted(_found(rules, Random(f"{seed} lesson")), key=lambda each: each.difficulty)  # noqa: S311 - play
    chosen = found[:1]
    while len(chosen) < EXERCISES:
        ideas = {each.kind for each in chosen}
        new = [each for each in found if each.kind not in ideas and each.kind in _IDEAS]
        harder = [each for each in found if each.difficulty > chosen[-1].difficulty] if chosen else []
        if not new and not harder:
            break
        chosen.append(min(new, key=lambda each: _IDEAS.index(each.kind)) if new else harder[0])
    return tuple(sorted(chosen, key=lambda each: each.difficulty))


def _found(rules: Rules, rng: Random) -> Iterator[Exercise]:
    """Give the positions of some random games in which it matters what is placed."""
    known = knowledge(rules)
    work = 0
    for _ in range(_GAMES):
        game = Game(rules, int(rng.random() * 2))
        while (legal := game.legal) and len(game.moves) < _LONGEST_GAME:
            if 1 < len(legal) <= _MOST_MOVES and rng.random() < 1 / 2:
                work += len(rules.blocks) * len(legal)
                solution = known.solution(game.position)
                if solution is not None and (exercise := _exercise(game, solution)):
                    yield exercise
            if work > _WORK:
                return
            game = game.play(legal[int(rng.random() * len(legal))])


def _exercise(game: Game, solution: Solution) -> Exercise | None:
    if solution.value != "win":
        return None
    try:
        help_ = hint(solution)
    except NotSolved:
        return None
    return Exercise(game, solution, help_) if 2 * help_.good <= help_.legal else None
