"""A game gone through again: what every move was worth, which of them gave something away, and what was better.

Every value is exact. A position that is not solved within its time stays unknown: its move is not judged, and nothing
is counted or concluded from it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from number_tower.coach.reasons import why
from number_tower.solve.limits import NotSolved, Watch
from number_tower.solve.solution import Solution, solver_for
from number_tower.solve.worth import ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.coach.reasons import Reason
    from number_tower.game import Game
    from number_tower.position import Outcome, Position
    from number_tower.solve.limits import Progress
    from number_tower.solve.worth import Solver, Value, Worth

_PATIENCE = 2
"""Positions in a row that are not solved before the earlier ones, larger still, are left alone."""

_POINTS: dict[Value, int] = {"win": 1, "draw": 0, "loss": -1}


class Judged(NamedTuple):
    """A move, and what it was worth to the player who made it (None: not known)."""

    ply: int
    player: int
    block: int
    before: Worth | None
    """What the position was worth to the player."""

    after: Worth | None
    """What it was worth to the same player once the block was placed, counted from before the move."""

    mattered: bool | None = None
    """Whether the blocks that could be placed differed in value."""

    forced: bool = False
    """Whether no other block could be placed."""

    skips: bool = False
    """Whether the other player then could not move, and was skipped."""

    best: tuple[int, ...] = ()
    """Of a mistake: the blocks that would have kept the value, the best first."""

    reason: Reason | None = None
    """Of a mistake: why the best of them keeps the value."""

    refutation: Reason | None = None
    """Of a mistake: why the block placed does not."""

    @property
    def cost(self) -> int:
        """What the move gave away: 1 from win to draw or draw to loss, 2 from win to loss; 0 if nothing, or unknown."""
        if self.before is None or self.after is None:
            return 0
        return _POINTS[self.before.value] - _POINTS[self.after.value]

    @property
    def mistake(self) -> bool:
        """Whether the move gave something away; one in a lost position never does."""
        return self.cost > 0

    @property
    def mark(self) -> str:
        """The move's mark: `?` for a mistake, `??` for one that turned a win into a loss."""
        return "?" * self.cost


class Accuracy(NamedTuple):
    """How many of a player's decisions mattered, and in how many of these the value was kept."""

    kept: int
    mattered: int

    @property
    def fraction(self) -> float | None:
        """The part that was kept; None where nothing mattered."""
        return self.kept / self.mattered if self.mattered else None


@dataclass(frozen=True)
class Review:
    """A game, how it ended, what each of its positions was worth to whoever was to move, and its moves judged."""

    game: Game
    outcome: Outcome | None
    worths: tuple[Worth | None, ...]
    moves: tuple[Judged, ...]

    @cached_property
    def values(self) -> tuple[int | None, ...]:
        """The value of every position, from before the first move to now, as the first seat sees it: 1, 0 or -1."""
        movers = (*self.game.movers, self.game.to_move)
        return tuple(
            None if worth is None else _POINTS[worth.value] * (1 if mover == 0 else -1)
            for worth, mover in zip(self.worths, movers, strict=True)
        )

    @property
    def mistakes(self) -> tuple[Judged, ...]:
        """The moves that gave something away."""
        return tuple(move for move in self.moves if move.mistake)

    @property
    def turning_point(self) -> Judged | None:
        """The last mistake: from then on the value stayed what it is at the end, or now.

        None if nobody made one, or if it cannot be told, because a value between it and the end is not known.
        """
        for move, before, after in reversed(list(zip(self.moves, self.values, self.values[1:], strict=False))):
            if before is None or after is None:
                return None
            if before != after:
                return move
        return None

    @property
    def accuracy(self) -> tuple[Accuracy, Accuracy]:
        """How well each player decided, counted over the decisions that mattered."""
        mine, theirs = (
            Accuracy(sum(not move.mistake for move in decisions), len(decisions))
            for decisions in ([move for move in self.moves if move.mattered and move.player == seat] for seat in (0, 1))
        )
        return mine, theirs

    @property
    def unsolved(self) -> int:
        """How many positions are not known."""
        return self.worths.count(None)


def review(
    game: Game,
    *,
    declared: Outcome | None = None,
    seconds: float | None = None,
    altogether: float | None = None,
    memory: int | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Review:
    """Judge every move of a game, spending at most so many seconds on each position; `declared` is a result by word.

    The positions are solved from the last to the first, as the end of a game is known soonest, and what is learned
    there serves the earlier ones. `altogether` limits the seconds for all of them, and `memory` (in MiB) the search.
    """
    positions = [each.position for each in game.history()]
    study = _Study(positions[0], Watch(memory=memory, progress=progress), seconds, altogether)
    worths: list[Worth | None] = [study.worth(positions[-1])]
    moves: list[Judged] = []
    for ply in range(len(game.moves), 0, -1):
        before, after = positions[ply - 1], positions[ply]
        solution = study.solved(before)
        moves.append(_judged(game, ply, before, after, solution, worths[-1]))
        worths.append(None if solution is None else solution.worth)
    return Review(game, declared or game.outcome, tuple(reversed(worths)), tuple(reversed(moves)))


class _Study:
    """Solves the positions of one game, each within a time of its own, with all that is known from the others."""

    def __init__(self, start: Position, watch: Watch, seconds: float | None, altogether: float | None) -> None:
        self._start = start
        self._watch = watch
        self._seconds = seconds
        self._altogether = altogether
        self._solver: Solver | None = None
        self._missed = 0

    def worth(self, position: Position) -> Worth | None:
        """Return what a position is worth, over or not; None if it was not found out."""
        over = ended(position)
        if over is not None:
            return over
        solution = self.solved(position)
        return None if solution is None else solution.worth

    def solved(self, position: Position) -> Solution | None:
        """Solve a position that is not over; None if that took too long, or is bound to."""
        if self._missed == _PATIENCE:
            return None
        self._begin()
        try:
            if self._solver is None:
                self._solver = solver_for(self._start, self._watch, plies=True)
            solution = Solution(position, self._watch, solver=self._solver)
        except NotSolved:
            self._missed += 1
            return None
        self._missed = 0
        return solution

    def _begin(self) -> None:
        """Give the next position its time; the watch is made without any, so that plies are not searched for long."""
        if self._seconds is None and self._altogether is None:
            return
        self._watch.seconds = 0.0
        so_far = -self._watch.left
        self._watch.seconds = min(
            so_far + (inf if self._seconds is None else self._seconds),
            inf if self._altogether is None else self._altogether,
        )


def _judged(
    game: Game, ply: int, before: Position, after: Position, solution: Solution | None, left: Worth | None
) -> Judged:
    """Judge the move between two positions; `left` is what the second is worth to whoever is to move there."""
    same = after.to_move == before.to_move
    judged = Judged(
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
        return judged._replace(mattered=_mattered(solution))
    best = _kept(solution)
    return judged._replace(
        mattered=True,
        best=best,
        reason=_why(solution, best[0]) if best else None,
        refutation=_why(solution, judged.block),
    )


def _mattered(solution: Solution) -> bool | None:
    """Say whether some move gives the value away; None if that was not found out. What is lost, all moves lose."""
    if solution.value == "loss":
        return False
    try:
        return any(worth.value != solution.value for worth in solution.moves.values())
    except NotSolved:
        return None


def _kept(solution: Solution) -> tuple[int, ...]:
    """Return the moves that keep the value, as far as they were found: the best first, of equals the smaller block."""
    kept: list[tuple[int, Worth]] = []
    with suppress(NotSolved):
        kept.extend(move for move in solution.moves.items() if move[1].value == solution.value)
    return tuple(block for block, _ in sorted(kept, key=lambda move: move[1].rank, reverse=True))


def _why(solution: Solution, block: int) -> Reason | None:
    try:
        return why(solution, block)
    except NotSolved:
        return None
