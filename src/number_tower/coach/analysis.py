"""Analysis of a position in words, within limits: its value, and that of each move.

Every value is exact. What is not found within the limits is unknown; there is never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from number_tower.coach.hints import Hint, hint
from number_tower.coach.reasons import find_reason
from number_tower.coach.sentences import Idea, format_reason, introduce_idea
from number_tower.engine.game import Game
from number_tower.engine.table import Table
from number_tower.solve import solve
from number_tower.solve.limits import NotSolvedError, Progress, SearchLimits
from number_tower.solve.solution import Solution
from number_tower.solve.worth import VALUE_VERBS, Value, Worth, get_final_worth
from number_tower.support.text import format_count, pluralize, summarize_numbers
from number_tower.words.voice import get_voice

SECONDS = 3.0
"""Time to work on one position."""

MEMORY = 256
"""MiB that a search may use."""

MAX_REASONS = 40
"""Moves of a position that are given a reason each."""

_VERBS = {**VALUE_VERBS, "draw": "can hold a draw"}


class AnalysedMove(NamedTuple):
    """A move, its value to the player who makes it (None: not known), and why, in sentences."""

    block: int
    value: Value | None
    plies: int | None
    reason: str


class PositionAnalysis(NamedTuple):
    """The value of a position and of its moves; the best moves first, unknown ones last."""

    value: Value | None
    plies: int | None
    verdict: str
    method: str
    moves: tuple[AnalysedMove, ...]
    note: str
    """What is not known, and why not; empty if everything is."""

    ideas: tuple[Idea, ...] = ()
    """The ideas behind the reasons, in words."""

    @property
    def complete(self) -> bool:
        """Whether every value is known."""
        return self.value is not None and all(move.value is not None for move in self.moves)


def find_hint(
    game: Game, seconds: float, *, progress: Callable[[Progress], object] | None = None
) -> Hint | None:
    """Make a hint within `seconds`, without the plies if need be; None if that is not enough."""
    # Most of the time for a hint with plies, and the rest for one without.
    for plies, share in ((True, 0.6), (False, 0.4)):
        with suppress(NotSolvedError):
            return hint(
                solve(game, plies=plies, seconds=share * seconds, memory=MEMORY, progress=progress)
            )
    return None


def analyse_table(
    table: Table, seconds: float = SECONDS, *, progress: Callable[[Progress], object] | None = None
) -> PositionAnalysis:
    """Analyse the position of a table; where time runs out, as far as it is known by then."""
    voice, game = get_voice(table.book), table.game
    names, noun = (voice.get_name(table, 0), voice.get_name(table, 1)), voice.noun
    if (over := get_final_worth(game.position)) is not None:
        verdict = _format_verdict(over, game, names, noun)
        return PositionAnalysis(over.value, 0, verdict, "", (), "")
    solution = _solve(game, seconds, progress)
    worths = _value_endings(game) if solution is None else solution.find_values()
    valued = sorted(worths, key=lambda block: worths[block].rank, reverse=True)
    player, opponent = names[game.to_move], names[1 - game.to_move]
    texts: dict[int, str] = {}
    ideas: list[Idea] = []
    introduced: set[str] = set()
    for block in valued[:MAX_REASONS]:
        reason = None if solution is None else find_reason(solution, block)
        if reason is not None:
            texts[block] = format_reason(reason, opponent, noun, player)
            if (idea := introduce_idea(reason, noun, introduced)) is not None:
                ideas.append(idea)
    moves = [AnalysedMove(block, *worths[block], texts.get(block, "")) for block in valued]
    unknown = [block for block in game.legal if block not in worths]
    moves += [AnalysedMove(block, None, None, "") for block in unknown]
    if solution is None:
        problem = "What this position is worth was not found out within"
        within = f"{seconds:g} {pluralize('second', seconds)}"
        verdict = f"{problem} {within}, and a guess would be no help."
        note = "Only moves that end the game at once are valued here."
        if not worths:
            note = "No move is valued here."
        return PositionAnalysis(None, None, verdict, "", tuple(moves), note)
    note = ""
    if unknown:
        count = f"{len(unknown):,} of {len(moves):,} moves"
        note = f"{count} were not worked out in the time there is."
    elif any(move.plies is None for move in moves):
        note = "How long it takes is not known for every move; who wins is."
    verdict = _format_verdict(solution.worth, game, names, noun)
    method, worth = solution.method, solution.worth
    return PositionAnalysis(*worth, verdict, method, tuple(moves), note, tuple(ideas))


def describe_start(analysis: PositionAnalysis, noun: str) -> Iterator[str]:
    """Say who wins from the start, how long it takes, and which first moves are good."""
    if analysis.value is None or not analysis.moves:
        yield analysis.verdict
        return
    yield {
        "win": "The player who starts can win, whatever the other player does.",
        "draw": "Neither player can force a win: if both play their best, it is a draw.",
        "loss": "The player who starts loses if the other player makes no mistake.",
    }[analysis.value]
    if analysis.plies is not None:
        yield f"If both play their best, the game takes {format_count(analysis.plies, noun)}."
    good = sorted(move.block for move in analysis.moves if move.value == analysis.value)
    one, many = "keeps the draw", "keep the draw"
    if analysis.value == "win":
        one, many = "wins", "win"
    if analysis.value == "loss":
        yield f"No first move wins. {analysis.moves[0].block} keeps the game going longest."
    elif len(good) == len(analysis.moves):
        yield f"Every first move {one}."
    else:
        verb, blocks = one if len(good) == 1 else many, summarize_numbers(good, ", ")
        yield f"{len(good):,} of {len(analysis.moves):,} first moves {verb}: {blocks}."


def suggest_changes(analysis: PositionAnalysis, noun: str) -> str:
    """Say what may make a better game of rules with this start; empty if its first move matters."""
    if analysis.value is None:
        return ""
    if not analysis.moves:
        advice = f"Try smaller {noun}s, or other first {noun}s."
        return f"The first player cannot place any {noun}. {advice}"
    quick = [move.block for move in analysis.moves if move.value == "win" and move.plies == 1]
    if len(quick) == len(analysis.moves):
        return f"The game is over after one {noun}. Try other {noun}s or another target."
    if quick:
        blocks, win = summarize_numbers(sorted(quick), ", "), "wins" if len(quick) == 1 else "win"
        return f"{blocks} {win} at once. Limit the first {noun}s if you do not want that."
    if any(move.value != analysis.value for move in analysis.moves):
        return ""
    finding, effect = "It does not matter how the first player starts.", "make a better game"
    if analysis.value == "loss":
        finding, effect = "The second player has the better side.", "make it more even"
    return f"{finding} Other {noun}s may {effect}."


def _solve(
    game: Game, seconds: float, progress: Callable[[Progress], object] | None
) -> Solution | None:
    """Solve a position; where its plies take too long, at least its value."""
    # The shares of the time for the position alone, and for its moves as well.
    for plies, share, full_share in ((True, 0.6, 1.0), (False, 0.4, 0.4)):
        limits = SearchLimits(memory=MEMORY, progress=progress)
        limits.seconds = share * seconds
        with suppress(NotSolvedError):
            solution = Solution(game.position, limits, plies=plies)
            limits.seconds = full_share * seconds
            return solution
    return None


def _value_endings(game: Game) -> dict[int, Worth]:
    """Return the values of the moves that end the game."""
    worths: dict[int, Worth] = {}
    for block in game.legal:
        after = game.position.place(block)
        if (worth := get_final_worth(after)) is not None:
            worths[block] = worth.before(turned=after.to_move != game.to_move)
    return worths


def _format_verdict(worth: Worth, game: Game, names: tuple[str, str], noun: str) -> str:
    """Write the value of a position in a sentence."""
    if game.outcome is not None:
        winner = game.outcome.winner
        result = "it is a draw" if winner is None else f"{names[winner]} has won"
        return f"The game is over: {result}."
    best = f"{names[game.to_move]}, to move, {_VERBS[worth.value]} if both play their best"
    if worth.plies is None:
        return f"{best}."
    return f"{best}: {worth.plies:,} more {pluralize(noun, worth.plies)} to the end."
