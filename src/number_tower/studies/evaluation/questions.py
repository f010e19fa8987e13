"""Ask a player for a move in words, and judge its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from number_tower.engine.game import Game
from number_tower.engine.refusals import Refusal, Unplaceable
from number_tower.engine.table import Table
from number_tower.players import ForfeitError, Player
from number_tower.players.program import build_question
from number_tower.studies.batch import StoppedError
from number_tower.studies.evaluation.positions import Values, value_moves, values_differ
from number_tower.support.text import format_text
from number_tower.words.prompt import Misread, check_answer, write_prompt

if TYPE_CHECKING:
    from number_tower.studies.evaluation.suite import Suite, Task

MAX_ANSWER_LENGTH = 100_000
"""The number of characters at the end of an answer that are saved and read: the block should be
there."""

_CUT = "[... the beginning of a very long answer is left out ...]\n"

IllegalReason = Refusal | Unplaceable | Misread | Literal["failed"]
"""Why an answer was illegal: its block cannot be placed, none can be read, or no answer came at
all."""


class AnswerAttempt(NamedTuple):
    """One prompt and its answer; if there is no problem, the block was placed."""

    prompt: str
    answer: str
    """The answer, without the beginning of a very long one; empty if none came."""
    block: int | None
    problem: str | None
    reason: IllegalReason | None = None
    """The problem in a word, for programs."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One move that was asked for, in as many attempts as it took."""

    moves: tuple[int, ...]
    """The moves before it."""
    attempts: tuple[AnswerAttempt, ...]
    block: int | None
    """The block that was placed (None: no attempt named a legal block)."""
    values: Values | None
    """The points that each legal block is worth to the mover: win 1, draw 1/2, loss 0 (None: not
    known)."""

    @property
    def counts(self) -> bool:
        """Whether something could be lost: by the choice of block, or by giving no legal answer."""
        return values_differ(self.values) or (self.block is None and bool(self.best))

    @property
    def best(self) -> float | None:
        """The points of the best block (None: not known)."""
        return None if self.values is None else max(self.values.values())

    @property
    def regret(self) -> float | None:
        """The points lost by the choice, where it counts; all, without a legal answer."""
        if self.values is None or not self.counts:
            return None
        return max(self.values.values()) - (0.0 if self.block is None else self.values[self.block])

    @property
    def illegal(self) -> int:
        """The number of illegal answers."""
        return sum(attempt.problem is not None for attempt in self.attempts)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Decision:
        """Make a decision of the JSON values that `to_dict` returns."""
        values = document["values"]
        if values is not None:
            values = {int(block): points for block, points in values.items()}
        attempts = tuple(AnswerAttempt(**attempt) for attempt in document["attempts"])
        return cls(tuple(document["moves"]), attempts, document["block"], values)

    def to_dict(self) -> dict[str, object]:
        """Return the decision as JSON values."""
        return {
            "moves": self.moves,
            "block": self.block,
            "best": self.best,
            "regret": self.regret,
            "values": self.values,
            "attempts": [attempt._asdict() for attempt in self.attempts],
        }


class Respondent(Protocol):
    """Answers questions in words; a `ForfeitError` says why there is no answer to this one."""

    def answer(self, question: dict[str, object], game: Game) -> str:
        """Answer a question about a game; the question contains all that the game does."""

    def close(self) -> None:
        """Release what it needs for one task; by default nothing."""
        return


class QuestionedPlayer(Player):
    """A player that is asked in words, with several tries for a move; every decision is kept.

    With `stop` a missing answer raises a `StoppedError` instead of being recorded.
    """

    def __init__(
        self, respondent: Respondent, task: Task, suite: Suite, *, stop: bool = False
    ) -> None:
        self.name = task.player
        self.decisions: list[Decision] = []
        self._respondent = respondent
        self._suite = suite
        self._table = suite.make_table(task)
        self._stop = stop

    def choose(self, game: Game) -> int:
        """Ask until the answer is a legal block; the last problem is the reason of a forfeit."""
        attempts: list[AnswerAttempt] = []
        block = problem = None
        table = replace(self._table, game=game, log=())
        while block is None and len(attempts) < self._suite.tries:
            attempts.append(self._ask_once(table, problem))
            block, problem = attempts[-1].block, attempts[-1].problem
        self.decisions.append(Decision(game.moves, tuple(attempts), block, value_moves(game)))
        if block is None:
            raise ForfeitError(problem)
        return block

    def close(self) -> None:
        """Close the respondent."""
        self._respondent.close()

    def _ask_once(self, table: Table, problem: str | None) -> AnswerAttempt:
        lists_legal = self._suite.legal
        prompt = write_prompt(table, legal=lists_legal, problem=problem)
        question = build_question(table.game, self._suite.patience)
        legal = question.pop("legal")
        if problem is not None:
            question["problem"] = problem
        question["prompt"] = prompt
        if lists_legal:
            question["legal"] = legal
        try:
            answer = self._respondent.answer(question, table.game)
        except ForfeitError as error:
            if self._stop:
                raise StoppedError(f"{format_text(self.name)} gave no answer: {error}") from error
            return AnswerAttempt(prompt, "", None, str(error), "failed")
        kept = truncate_answer(answer)
        return AnswerAttempt(prompt, kept, *check_answer(table, kept, legal=lists_legal))


def truncate_answer(answer: str) -> str:
    """Return the end of a very long answer, with a note that the beginning is left out."""
    return answer if len(answer) <= MAX_ANSWER_LENGTH else f"{_CUT}{answer[-MAX_ANSWER_LENGTH:]}"
