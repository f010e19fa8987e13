"""How a player is asked for a move in words, and what becomes of its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from number_tower.batch.executor import StoppedError
from number_tower.evaluation.positions import value_moves, values_differ
from number_tower.players import ForfeitError, Player
from number_tower.players.program import build_question
from number_tower.position import Refusal
from number_tower.prompt import Misread, check_answer, write_prompt
from number_tower.table import Unplaceable
from number_tower.text import format_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.evaluation.positions import Values
    from number_tower.evaluation.suite import Suite, Task
    from number_tower.game import Game
    from number_tower.table import Table

LONGEST_ANSWER = 100_000
"""Characters of an answer that are kept: its last ones, which are all that is read of it, where the block should be."""

_CUT = "[... the beginning of a very long answer is left out ...]\n"

IllegalReason = Refusal | Unplaceable | Misread | Literal["failed"]
"""Why an answer was illegal: why its block cannot be placed, why none can be read, or that no answer came at all."""


class AnswerAttempt(NamedTuple):
    """One prompt and what came back; without a problem the block was placed."""

    prompt: str
    answer: str
    """What was said, or nothing where nothing came; the beginning of a very long answer is left out."""
    block: int | None
    problem: str | None
    reason: IllegalReason | None = None
    """The problem in a word, for programs."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One move that was asked for, in as many attempts as it took."""

    moves: tuple[int, ...]
    """The game before it."""
    attempts: tuple[AnswerAttempt, ...]
    block: int | None
    """What was placed (None: no attempt named a block that could be)."""
    values: Values | None
    """The points that each legal block is worth to the mover: win 1, draw 1/2, loss 0 (None: not known)."""

    @property
    def counts(self) -> bool:
        """Whether something could be lost, and is known to be: by the choice, or by giving up all that could be had."""
        return values_differ(self.values) or (self.block is None and bool(self.best))

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


class QuestionedPlayer(Player):
    """A player that is asked in words, as often as it may try; every decision is noted.

    To `stop` is to note nothing of an answer that does not come, but to raise `Stopped`.
    """

    def __init__(
        self,
        respondent: Respondent,
        task: Task,
        suite: Suite,
        worth: Callable[[Game], Values | None] = value_moves,
        *,
        stop: bool = False,
    ) -> None:
        self.name = task.player
        self.decisions: list[Decision] = []
        self._respondent = respondent
        self._suite = suite
        self._table = suite.make_table(task)
        self._book = suite.get_book(task)
        self._worth = worth
        self._stop = stop

    def choose(self, game: Game) -> int:
        """Ask until a block is named that can be placed; after the last try the problem is why it forfeits."""
        attempts: list[AnswerAttempt] = []
        block = problem = None
        table = replace(self._table, game=game, log=())
        while block is None and len(attempts) < self._suite.tries:
            attempts.append(self._ask_once(table, problem))
            block, problem = attempts[-1].block, attempts[-1].problem
        self.decisions.append(Decision(game.moves, tuple(attempts), block, self._worth(game)))
        if block is None:
            raise ForfeitError(problem)
        return block

    def close(self) -> None:
        """Send whoever answers home."""
        self._respondent.close()

    def _ask_once(self, table: Table, problem: str | None) -> AnswerAttempt:
        told_legal = self._suite.legal
        text = write_prompt(table, legal=told_legal, problem=problem)
        question = build_question(table.game, self._suite.patience)
        legal = question.pop("legal")
        if problem is not None:
            question["problem"] = problem
        question["prompt"] = text
        if told_legal:
            question["legal"] = legal
        try:
            answer = self._respondent.answer(question, table.game)
        except ForfeitError as none:
            if self._stop:
                raise StoppedError(f"{format_text(self.name)} gave no answer: {none}") from none
            return AnswerAttempt(text, "", None, str(none), "failed")
        kept = truncate_answer(answer)
        return AnswerAttempt(text, kept, *check_answer(table, kept, legal=told_legal))


def truncate_answer(answer: str) -> str:
    """Leave the beginning of a very long answer out: what is kept is also what is judged, now and ever after."""
    return answer if len(answer) <= LONGEST_ANSWER else f"{_CUT}{answer[-LONGEST_ANSWER:]}"
