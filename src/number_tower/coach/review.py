"""Review of a game, as data and as sentences: values, mistakes, and what was better.

Every value is exact. A position that is not solved within its time stays unknown: its move is not
judged, and nothing is counted or concluded from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple

from number_tower.coach.patterns import WINNING_ENDINGS
from number_tower.coach.reasons import Reason, find_reason
from number_tower.coach.sentences import format_reason, format_sentence, introduce_idea
from number_tower.engine.game import Game
from number_tower.engine.position import Outcome, Position
from number_tower.engine.table import Table
from number_tower.solve.limits import NotSolvedError, Progress, SearchLimits
from number_tower.solve.solution import Solution, choose_solver
from number_tower.solve.worth import Solver, Worth, get_final_worth
from number_tower.support.text import format_count, format_list
from number_tower.words.endings import ENDINGS, describe_ending
from number_tower.words.voice import get_voice

__all__ = ["Accuracy", "GameReview", "JudgedMove", "ReviewText", "review"]

_MAX_MISSED = 2
"""Unsolved positions in a row after which the earlier ones, which are larger, are not tried."""

_MAX_OTHERS = 3


class JudgedMove(NamedTuple):
    """A move and its value to the player who made it (None: not known).

    Examples:
        >>> move = review(nt.Game(nt.Rules(target=15), moves=(9, 5, 1))).moves[1]
        >>> move.ply, move.block, move.mark, move.best
        (2, 5, '??', (6, 3))
        >>> move.mistake, move.cost
        (True, 2)
    """

    ply: int
    player: int
    block: int
    before: Worth | None
    """The value of the position before the move."""

    after: Worth | None
    """The value of the position after the move, counted from before the move."""

    mattered: bool | None = None
    """Whether the legal moves differed in value."""

    forced: bool = False
    """Whether there was only one legal move."""

    skips: bool = False
    """Whether the opponent then could not move, and was skipped."""

    best: tuple[int, ...] = ()
    """Of a mistake: the blocks that would have kept the value, the best first."""

    reason: Reason | None = None
    """Of a mistake: why the best of them keeps the value."""

    refutation: Reason | None = None
    """Of a mistake: why the block placed does not."""

    @property
    def cost(self) -> int:
        """What the move gave away: 1 for half a point, 2 for a point, 0 for nothing or unknown."""
        if self.before is None or self.after is None:
            return 0
        return self.before.rank[0] - self.after.rank[0]

    @property
    def mistake(self) -> bool:
        """Whether the move gave something away; one in a lost position never does."""
        return self.cost > 0

    @property
    def mark(self) -> str:
        """The move's mark: `?` for a mistake, `??` for one that turned a win into a loss."""
        return "?" * self.cost


class Accuracy(NamedTuple):
    """How many of a player's decisions mattered, and in how many of these the value was kept.

    Examples:
        >>> first, second = review(nt.Game(nt.Rules(target=15), moves=(9, 6))).accuracy
        >>> first, second.fraction
        (Accuracy(kept=0, mattered=1), 1.0)
    """

    kept: int
    mattered: int

    @property
    def fraction(self) -> float | None:
        """The part that was kept; None where nothing mattered."""
        return self.kept / self.mattered if self.mattered else None


@dataclass(frozen=True)
class GameReview:
    """A game, its outcome, the value of each position to the player to move, and its moves judged.

    Examples:
        >>> judged = review(nt.Game(nt.Rules(target=15), moves=(9, 5, 1)))
        >>> judged.values, judged.turning_point.ply
        ((1, -1, 1, 1), 2)
        >>> [move.block for move in judged.mistakes], judged.accuracy[0].kept
        ([9, 5], 0)
        >>> judged.complete, judged.unsolved
        (True, 0)
    """

    game: Game
    outcome: Outcome | None
    worths: tuple[Worth | None, ...]
    moves: tuple[JudgedMove, ...]

    @cached_property
    def values(self) -> tuple[int | None, ...]:
        """The value of every position for the first seat, from the start on: 1, 0 or -1."""
        movers = (*self.game.movers, self.game.to_move)
        values: list[int | None] = []
        for worth, mover in zip(self.worths, movers, strict=True):
            sign = 1 if mover == 0 else -1
            values.append(None if worth is None else sign * worth.rank[0])
        return tuple(values)

    @property
    def mistakes(self) -> tuple[JudgedMove, ...]:
        """The moves that gave something away."""
        return tuple(move for move in self.moves if move.mistake)

    @property
    def turning_point(self) -> JudgedMove | None:
        """The last mistake: from then on the value stayed what it is at the end, or now.

        None if there was none, or if a value between it and the end is not known.
        """
        for move in reversed(self.moves):
            before, after = self.values[move.ply - 1], self.values[move.ply]
            if before is None or after is None:
                return None
            if before != after:
                return move
        return None

    @property
    def accuracy(self) -> tuple[Accuracy, Accuracy]:
        """How well each player decided, counted over the decisions that mattered."""
        accuracies = []
        for seat in (0, 1):
            decisions = [move for move in self.moves if move.mattered and move.player == seat]
            kept = [move for move in decisions if not move.mistake]
            accuracies.append(Accuracy(len(kept), len(decisions)))
        return accuracies[0], accuracies[1]

    @property
    def unsolved(self) -> int:
        """How many positions are not known."""
        return self.worths.count(None)

    @property
    def complete(self) -> bool:
        """Whether every position was solved."""
        return not self.unsolved


def review(
    game: Game,
    *,
    declared: Outcome | None = None,
    seconds: float | None = None,
    altogether: float | None = None,
    memory: int | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> GameReview:
    """Judge every move of a game, with at most `seconds` for each position.

    Positions are solved from the last to the first: late ones are solved soonest, and their values
    speed up the earlier ones. `altogether` limits the seconds for all positions together, and
    `memory` (in MiB) the search.

    Examples:
        >>> [move.ply for move in review(nt.Game(nt.Rules(target=15), moves=(9, 5, 1))).mistakes]
        [1, 2]
    """
    positions = [state.position for state in game.history()]
    solver = _PositionSolver(
        positions[0], SearchLimits(memory=memory, progress=progress), seconds, altogether
    )
    last = get_final_worth(positions[-1])
    if last is None and (solution := solver.solve(positions[-1])) is not None:
        last = solution.worth
    worths, moves = [last], list[JudgedMove]()
    for ply in range(len(game.moves), 0, -1):
        before, after = positions[ply - 1], positions[ply]
        solution = solver.solve(before)
        moves.append(_judge_move(game, ply, before, after, solution, worths[-1]))
        worths.append(None if solution is None else solution.worth)
    return GameReview(
        game, declared or game.outcome, tuple(reversed(worths)), tuple(reversed(moves))
    )


class _PositionSolver:
    """Solves the positions of one game with one shared solver, each within its own time.

    The limits start without any time, so that the search for plies stays short.
    """

    def __init__(
        self, start: Position, limits: SearchLimits, seconds: float | None, altogether: float | None
    ) -> None:
        self._start = start
        self._limits = limits
        self._seconds = inf if seconds is None else seconds
        self._altogether = inf if altogether is None else altogether
        self._solver: Solver | None = None
        self._missed = 0

    def solve(self, position: Position) -> Solution | None:
        """Solve a position that is not over; None if that took too long, or is bound to."""
        if self._missed == _MAX_MISSED:
            return None
        self._limits.seconds = min(self._seconds + self._limits.seconds_used, self._altogether)
        try:
            if self._solver is None:
                self._solver = choose_solver(self._start, self._limits, plies=True)
            solution = Solution(position, self._limits, solver=self._solver)
        except NotSolvedError:
            self._missed += 1
            return None
        self._missed = 0
        return solution


def _judge_move(
    game: Game,
    ply: int,
    before: Position,
    after: Position,
    solution: Solution | None,
    left: Worth | None,
) -> JudgedMove:
    """Judge a move; `left` is the worth of `after` to its player to move."""
    same = after.to_move == before.to_move
    judged = JudgedMove(
        ply,
        before.to_move,
        game.moves[ply - 1],
        None if solution is None else solution.worth,
        None if left is None else left.before(turned=not same),
        forced=before.legal_mask.bit_count() == 1,
        skips=same and after.outcome is None,
    )
    if solution is None:
        return judged
    if not judged.mistake:
        # In a lost position no move gives anything away.
        mattered = None if solution.value != "loss" else False
        if mattered is None:
            with suppress(NotSolvedError):
                mattered = any(worth.value != solution.value for worth in solution.moves.values())
        return judged._replace(mattered=mattered)
    # Where time ran out, some of the moves that keep the value may be missing.
    worths = solution.find_values()
    kept = [block for block, worth in worths.items() if worth.value == solution.value]
    best = tuple(sorted(kept, key=lambda block: worths[block].rank, reverse=True))
    return judged._replace(
        mattered=True,
        best=best,
        reason=find_reason(solution, best[0]) if best else None,
        refutation=find_reason(solution, judged.block),
    )


# Sentences ----------------------------------------------------------------------------------------


IMPORTANT = "A move is important if not every choice was equally good."
"""What the accuracy of a player counts."""


class ReviewText(NamedTuple):
    """Writes sentences about a review, with the names of the players and the word for a block.

    Examples:
        >>> judged = review(nt.Game(nt.Rules(target=15), moves=(9, 5, 1)))
        >>> text = ReviewText(("Ann", "Ben"))
        >>> print(text.format_headline(judged))
        Ann wins: the tower is exactly 15.
        >>> next(text.format_mistake(judged.mistakes[1]))
        '6 would have won at once: it takes the tower to exactly 15. 3 would have kept the win too.'
        >>> print(text.format_turning_point(judged))
        Turning point: move 2, Ben's 5. From then on Ann was winning.
        >>> print(text.format_accuracy(judged, seat=0), text.explain_accuracy(judged))
        Ann: 0 of 1 important move right (0%). A move is important if not every choice was...
        >>> text.format_reason(judged.moves[1], judged.moves[1].reason)
        'That takes the tower to exactly 15.'
        >>> [reason.block for reason in text.list_reasons(judged.moves[1])]
        [6, 5]
        >>> list(text.list_remarks(judged.moves[1]))[1], text.format_unsolved(judged)
        ('5 loses: Ann can answer 1. That takes the tower to exactly 15.', None)
        >>> print(text.format_standing(review(judged.game.undo())))
        As it stands, Ann wins if both play their best.
    """

    names: tuple[str, str]
    noun: str = "block"

    @classmethod
    def for_table(cls, table: Table) -> ReviewText:
        """Return the writer of a table's review: its names and its word for a block.

        Examples:
            >>> ReviewText.for_table(nt.Table(nt.Game(), names=("Ann", "Ben")))
            ReviewText(names=('Ann', 'Ben'), noun='block')
        """
        voice = get_voice(table.book)
        return cls((voice.get_name(table, 0), voice.get_name(table, 1)), voice.noun)

    def format_headline(self, review: GameReview) -> str:
        """Write who won and how, or that the game is not over."""
        outcome, game = review.outcome, review.game
        moves = format_count(len(game.moves), "move")
        if outcome is None:
            so_far = f"Unfinished after {moves}" if game.moves else "No move has been made yet"
            return f"{so_far}: it is {self.names[game.to_move]}'s turn."
        return describe_ending(game, outcome, self.names, self.noun)

    def format_standing(self, review: GameReview) -> str | None:
        """Write the value of the last position; None if that position ended the game."""
        if review.game.outcome is not None:
            return None
        value, over = review.values[-1], review.outcome is not None
        if value is None:
            return f"What the position {'was' if over else 'is'} worth was not found out."
        if over:
            if self._format_giving_up(review):  # the turning point says so
                return None
            leader = self._format_leader(value, "was winning", "it was a draw")
            return f"When it was left, {leader}."
        leader = self._format_leader(value, "wins", "it is a draw")
        return f"As it stands, {leader} if both play their best."

    def format_mistake(self, move: JudgedMove, introduced: set[str] | None = None) -> Iterator[str]:
        """Write what would have been better than a mistake, and why; nothing for other moves.

        With `introduced`, ideas that are new to the reader are introduced and added to it.
        """
        for sentence, reason in self._explain_mistake(move):
            yield sentence
            if reason is not None and introduced is not None:
                idea = introduce_idea(reason, self.noun, introduced)
                if idea is not None:
                    yield idea.introduction

    def list_reasons(self, move: JudgedMove) -> list[Reason]:
        """Return the reasons that are given for a mistake; none for other moves."""
        return [reason for _, reason in self._explain_mistake(move) if reason is not None]

    def _explain_mistake(self, move: JudgedMove) -> Iterator[tuple[str, Reason | None]]:
        """Give the sentences about a mistake, each with its reason; nothing for other moves."""
        if move.before is None or move.after is None or not move.mistake:
            return
        if move.best:
            best, *others = move.best
            told = f"{len(others):,} others"
            if 0 < len(others) <= _MAX_OTHERS:
                told = format_list(others)
            why = self.format_reason(move, move.reason) or ""
            if move.reason is not None and move.reason.kind in WINNING_ENDINGS:
                how = re.sub("^Then", "after it", re.sub("^That", "it", why))
                too = f" {told} would have kept the win too." if others else ""
                better = f"{best} would have won at once: {how}{too}"
            else:
                too = f" (as would {told})" if others else ""
                because = re.sub("^Then", f"After {best},", why)
                better = f"{best} would have kept the {move.before.value}{too}. {because}".rstrip()
            yield better, move.reason
        if move.after.value == "draw":
            yield f"{move.block} leaves only a draw.", None
        elif (refutation := move.refutation) is not None:
            player, opponent = self.names[move.player], self.names[1 - move.player]
            yield format_sentence(refutation, opponent, self.noun, player=player), refutation

    def list_remarks(self, move: JudgedMove, introduced: set[str] | None = None) -> Iterator[str]:
        """Write all there is to say about a move."""
        yield from self.format_mistake(move, introduced)
        if move.skips:
            yield f"({self.names[1 - move.player]} cannot place a {self.noun} and skips.)"

    def format_reason(self, move: JudgedMove, reason: Reason | None) -> str | None:
        """Write why a move has its value."""
        if reason is None:
            return None
        player, opponent = self.names[move.player], self.names[1 - move.player]
        return format_reason(reason, opponent, self.noun, player)

    def format_turning_point(self, review: GameReview) -> str | None:
        """Write what decided the game: a move, or giving up early; None before the first move."""
        turning, value = review.turning_point, review.values[-1]
        if given_up := self._format_giving_up(review):
            return f"Turning point: {given_up}."
        if not review.moves:
            return None
        if turning is not None and value is not None:
            so_far = "" if review.outcome else " so far"
            which = f"move {turning.ply}, {self.names[turning.player]}'s {turning.block}"
            leader = self._format_leader(value, "was winning", "it was a draw")
            return f"Turning point{so_far}: {which}. From then on {leader}."
        if review.unsolved or value is None:
            return "Whether there was a turning point is not known."
        start = self._format_leader(value, "was winning", "it was a draw")
        return f"No turning point: nobody gave anything away. From the start {start}."

    def _format_giving_up(self, review: GameReview) -> str | None:
        """Write who gave up a position that was not lost, if a player did."""
        outcome, value = review.outcome, review.values[-1]
        if outcome is None or outcome.winner is None:
            return None
        if value is None or review.game.outcome is not None:
            return None
        loser = 1 - outcome.winner
        worth = value if loser == 0 else -value
        if worth < 0:
            return None
        before = "the game was a draw" if worth == 0 else f"{self.names[loser]} was winning"
        return f"{before} when {ENDINGS[outcome.reason].clause.format(loser=self.names[loser])}"

    def format_accuracy(self, review: GameReview, seat: int) -> str:
        """Write how many of a player's decisions that mattered kept the value."""
        accuracy = review.accuracy[seat]
        if accuracy.fraction is None:
            unknown = any(move.mattered is None for move in review.moves if move.player == seat)
            important = "move known to be important" if unknown else "important move"
            return f"{self.names[seat]} had no {important}."
        moves = format_count(accuracy.mattered, "important move")
        return f"{self.names[seat]}: {accuracy.kept} of {moves} right ({accuracy.fraction:.0%})."

    def explain_accuracy(self, review: GameReview) -> str:
        """Write what an important move is; empty if none is counted."""
        return IMPORTANT if any(accuracy.mattered for accuracy in review.accuracy) else ""

    def format_unsolved(self, review: GameReview) -> str | None:
        """Write how many positions are not known, if any are not."""
        if not review.unsolved:
            return None
        were = "were not solved in their time"
        if review.unsolved == 1:
            were = "was not solved in its time"
        positions = format_count(len(review.worths), "position")
        return f"{review.unsolved} of {positions} {were}: nothing is said or counted there."

    def _format_leader(self, value: int, wins: str, draws: str) -> str:
        """Write who is ahead, by a value as the first seat sees it."""
        return draws if value == 0 else f"{self.names[0 if value > 0 else 1]} {wins}"
