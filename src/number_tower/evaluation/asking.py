"""How a player is asked for a move in words, and what becomes of its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from number_tower.evaluation.positions import differ, worth
from number_tower.players import Forfeit, Player
from number_tower.players.program import asked
from number_tower.prompt import judged, prompt

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.evaluation.positions import Values
    from number_tower.evaluation.suite import Suite, Task
    from number_tower.game import Game
    from number_tower.table import Table

_LONGEST_ANSWER = 10_000
"""Characters of an answer that are read and kept: half of them from its beginning, and half from its end."""

_CUT = "\n[... the middle of a long answer is left out ...]\n"


class Attempt(NamedTuple):
    """One prompt and what came back; without a problem the block was placed."""

    prompt: str
    answer: str
    """What was said, or nothing where nothing came; the middle of a very long answer is left out."""
    block: int | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Decision:
    """One move that was asked for, in as many attempts as it took."""

    moves: tuple[int, ...]
    """The game before it."""
    attempts: tuple[Attempt, ...]
    block: int | None
    """What was placed (None: no attempt named a block that could be)."""
    values: Values | None
    """The points that each legal block is worth to the mover: win 1, draw 1/2, loss 0 (None: not known)."""

    @property
    def counts(self) -> bool:
        """Whether it matters which block is chosen, and is known to."""
        return differ(self.values)

    @property
    def best(self) -> float | None:
        """The points that could be had (None: not known)."""
        return None if self.values is None else max(self.values.values())

    @property
    def regret(self) -> float | None:
        """The points lost by the choice, where it counts; whoever chose nothing lost all that could be had."""
        if self.values is None or not self.counts:
            return None
        return max(self.values.values()) - (0.0 if self.block is None else self.values[self.block])

    @property
    def illegal(self) -> int:
        """How many attempts named no block that could be placed."""
        return sum(attempt.problem is not None for attempt in self.attempts)


class Respondent(Protocol):
    """Whoever answers in words; a `Forfeit` says why there is no answer, and the next question may still get one."""

    def answer(self, question: dict[str, object], game: Game) -> str:
        """Answer a question, which says all that the game does."""

    def close(self) -> None:
        """Leave: nothing of it stays behind."""


class Asked(Player):
    """A player that is asked in words, as often as it may try; every decision is noted."""

    def __init__(
        self, respondent: Respondent, task: Task, suite: Suite, worth: Callable[[Game], Values | None] = worth
    ) -> None:
        self.name = task.player
        self.decisions: list[Decision] = []
        self._respondent = respondent
        self._suite = suite
        self._table = suite.table(task)
        self._book = suite.book(task)
        self._worth = worth

    def choose(self, game: Game) -> int:
        """Ask until a block is named that can be placed; after the last try the problem is why it forfeits."""
        attempts: list[Attempt] = []
        block = problem = None
        table = replace(self._table, game=game, log=())
        while block is None and len(attempts) < self._suite.tries:
            attempts.append(self._attempt(table, problem))
            block, problem = attempts[-1][2:]
        self.decisions.append(Decision(game.moves, tuple(attempts), block, self._worth(game)))
        if block is None:
            raise Forfeit(problem)
        return block

    def close(self) -> None:
        """Send whoever answers home."""
        self._respondent.close()

    def _attempt(self, table: Table, problem: str | None) -> Attempt:
        told_legal = self._suite.legal
        text = prompt(table, self._book, legal=told_legal, problem=problem)
        question = asked(table.game, self._suite.patience)
        legal = question.pop("legal")
        if problem is not None:
            question["problem"] = problem
        question["prompt"] = text
        if told_legal:
            question["legal"] = legal
        try:
            answer = cut(self._respondent.answer(question, table.game))
        except Forfeit as none:
            return Attempt(text, "", None, str(none))
        found = judged(table, answer, legal=told_legal)
        return Attempt(text, answer, found.block, found.problem)


def cut(answer: str) -> str:
    """Leave the middle of a very long answer out; what is left is what is judged and kept."""
    if len(answer) <= _LONGEST_ANSWER:
        return answer
    half = (_LONGEST_ANSWER - len(_CUT)) // 2
    return f"{answer[:half]}{_CUT}{answer[-half:]}"
