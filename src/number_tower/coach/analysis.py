"""What a position and its moves are worth, and help in playing it: in values, in words, and within limits.

Every value is exact. What is not found within the limits is said to be unknown; there is never a guess.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from number_tower.coach.hints import format_reason, hint
from number_tower.coach.reasons import explain_move
from number_tower.solve import solve
from number_tower.solve.limits import NotSolvedError, SearchLimits
from number_tower.solve.solution import Solution
from number_tower.solve.worth import Worth, get_final_worth
from number_tower.voice import Voice

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.catalogue import Rulebook
    from number_tower.coach.hints import Hint
    from number_tower.game import Game
    from number_tower.solve.limits import Progress
    from number_tower.solve.worth import Value
    from number_tower.table import Table

SECONDS = 3.0


"""To work on one position."""


MEMORY = 256


"""MiB that a search may use."""


MAX_REASONS = 40


"""Moves of a position that are given a reason each."""


_VERBS: dict[Value, str] = {"win": "wins", "draw": "can hold a draw", "loss": "loses"}


class AnalysedMove(NamedTuple):
    """A move, what it is worth to whoever makes it (None: not known), and why, to be read after its number."""

    block: int
    value: Value | None
    plies: int | None
    reason: str


class PositionAnalysis(NamedTuple):
    """What a position and its moves are worth; the best move comes first, and those not known come last."""

    value: Value | None
    plies: int | None
    verdict: str
    method: str
    moves: tuple[AnalysedMove, ...]
    note: str
    """What is not known, and why not; empty if everything is."""

    @property
    def complete(self) -> bool:
        """Whether every value is known."""
        return self.value is not None and all(move.value is not None for move in self.moves)


def find_hint(game: Game, seconds: float, *, progress: Callable[[Progress], object] | None = None) -> Hint | None:
    """Make a hint in so much time, without the plies if need be; None if that is not enough."""
    for plies, part in ((True, 0.6), (False, 0.4)):
        with suppress(NotSolvedError):
            return hint(solve(game, plies=plies, seconds=part * seconds, memory=MEMORY, progress=progress))
    return None


# Analysis -------------------------------------------------------------------------------------------------------------


def analyse_table(
    table: Table,
    book: Rulebook,
    seconds: float = SECONDS,
    *,
    progress: Callable[[Progress], object] | None = None,
) -> PositionAnalysis:
    """Say what a table is worth as it stands, and each of its moves; where time runs out, what is known by then."""
    voice = Voice(book)
    game = table.game
    names = voice.get_name(table, 0), voice.get_name(table, 1)
    if (over := get_final_worth(game.position)) is not None:
        return PositionAnalysis(over.value, 0, _format_verdict(over, game, names, voice.noun), "", (), "")
    solution = _solve(game, seconds, progress)
    worths = _value_endings(game) if solution is None else _collect_values(solution)
    ranked = sorted(game.legal, key=lambda block: _rank_move(block, worths.get(block)))
    moves = tuple(
        _analyse_move(block, worths.get(block), game, solution if place < MAX_REASONS else None, names, voice.noun)
        for place, block in enumerate(ranked)
    )
    if solution is None:
        within = f"{seconds:g} second{'' if seconds == 1 else 's'}"
        verdict = f"What this position is worth was not found out within {within}, and a guess would be no help."
        note = "Only moves that end the game at once are valued here." if worths else "No move is valued here."
        return PositionAnalysis(None, None, verdict, "", moves, note)
    return PositionAnalysis(
        solution.value,
        solution.plies,
        _format_verdict(solution.worth, game, names, voice.noun),
        solution.method,
        moves,
        _describe_unknown(moves),
    )


def _solve(game: Game, seconds: float, progress: Callable[[Progress], object] | None) -> Solution | None:
    """Solve a position; where its plies take too long, at least its value. No plies are searched for on their own."""
    for plies, part, most in ((True, 0.6, 1.0), (False, 0.4, 0.4)):
        watch = SearchLimits(memory=MEMORY, progress=progress)
        watch.seconds = part * seconds
        with suppress(NotSolvedError):
            solution = Solution(game.position, watch, plies=plies)
            watch.seconds = most * seconds
            return solution
    return None


def _collect_values(solution: Solution) -> dict[int, Worth]:
    """Return what the moves are worth, as far as it is found."""
    worths: dict[int, Worth] = {}
    with suppress(NotSolvedError):
        for block in solution.moves:
            worths[block] = solution.moves[block]
    return worths


def _value_endings(game: Game) -> dict[int, Worth]:
    """Return what the moves are worth that end the game."""
    worths: dict[int, Worth] = {}
    for block in game.legal:
        after = game.position.place(block)
        if (worth := get_final_worth(after)) is not None:
            worths[block] = worth.before(turned=after.to_move != game.to_move)
    return worths


def _rank_move(block: int, worth: Worth | None) -> tuple[int, int, int, int]:
    """Say where a move stands in the list: the best first, of equals the smaller block, and the unknown last."""
    if worth is None:
        return 1, 0, 0, block
    value, plies = worth.rank
    return 0, -value, -plies, block


def _analyse_move(
    block: int, worth: Worth | None, game: Game, solution: Solution | None, names: tuple[str, str], noun: str
) -> AnalysedMove:
    if worth is None:
        return AnalysedMove(block, None, None, "")
    if solution is None:
        return AnalysedMove(block, worth.value, worth.plies, "")
    mover = game.to_move
    try:
        reason = format_reason(explain_move(solution, block), player=names[mover], opponent=names[1 - mover], noun=noun)
    except NotSolvedError:
        reason = ""
    return AnalysedMove(block, worth.value, worth.plies, reason)


def _format_verdict(worth: Worth, game: Game, names: tuple[str, str], noun: str) -> str:
    """Say in a sentence what a position is worth."""
    if game.outcome is not None:
        winner = game.outcome.winner
        return f"The game is over: {'it is a draw' if winner is None else f'{names[winner]} has won'}."
    best = f"{names[game.to_move]}, to move, {_VERBS[worth.value]} if both play their best"
    if worth.plies is None:
        return f"{best}."
    return f"{best}: {worth.plies:,} more {noun}{'' if worth.plies == 1 else 's'} to the end."


def _describe_unknown(moves: tuple[AnalysedMove, ...]) -> str:
    unknown = sum(move.value is None for move in moves)
    if unknown:
        return f"{unknown:,} of {len(moves):,} moves were not worked out in the time there is."
    if any(move.plies is None for move in moves):
        return "How long it takes is not known for every move; who wins is."
    return ""
