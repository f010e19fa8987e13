"""Analysis of a position: its value and that of each move, in words, and within limits of time and memory.

Every value is exact. What is not found within the limits is unknown; there is never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from number_tower.coach.hints import Hint, hint
from number_tower.coach.reasons import Reason, find_reason
from number_tower.coach.sentences import Idea, format_reason, introduce_idea
from number_tower.game import Game
from number_tower.solve import solve
from number_tower.solve.limits import NotSolvedError, Progress, SearchLimits
from number_tower.solve.solution import Solution
from number_tower.solve.worth import VALUE_VERBS, Value, Worth, get_final_worth
from number_tower.table import Table
from number_tower.text import format_count, pluralize, summarize_numbers
from number_tower.voice import get_voice

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
    """The value of a position and of its moves; the best move comes first, and those not known come last."""

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
    for plies, part in ((True, 0.6), (False, 0.4)):
        with suppress(NotSolvedError):
            return hint(
                solve(game, plies=plies, seconds=part * seconds, memory=MEMORY, progress=progress)
            )
    return None


def analyse_table(
    table: Table, seconds: float = SECONDS, *, progress: Callable[[Progress], object] | None = None
) -> PositionAnalysis:
    """Analyse the position of a table; where time runs out, as far as it is known by then."""
    voice, game = get_voice(table.book), table.game
    names = voice.get_name(table, 0), voice.get_name(table, 1)
    if (over := get_final_worth(game.position)) is not None:
        return PositionAnalysis(
            over.value, 0, _format_verdict(over, game, names, voice.noun), "", (), ""
        )
    solution = _solve(game, seconds, progress)
    worths = _value_endings(game) if solution is None else solution.find_values()
    known = sorted(worths, key=lambda block: worths[block].rank, reverse=True)
    player, opponent = names[game.to_move], names[1 - game.to_move]
    found = (
        {}
        if solution is None
        else {block: find_reason(solution, block) for block in known[:MAX_REASONS]}
    )
    reasons = {
        block: format_reason(reason, player=player, opponent=opponent, noun=voice.noun)
        for block, reason in found.items()
        if reason is not None
    }
    moves = (
        *(AnalysedMove(block, *worths[block], reasons.get(block, "")) for block in known),
        *(AnalysedMove(block, None, None, "") for block in game.legal if block not in worths),
    )
    if solution is None:
        within = f"{seconds:g} {pluralize('second', seconds)}"
        verdict = f"What this position is worth was not found out within {within}, and a guess would be no help."
        note = (
            "Only moves that end the game at once are valued here."
            if worths
            else "No move is valued here."
        )
        return PositionAnalysis(None, None, verdict, "", moves, note)
    verdict = _format_verdict(solution.worth, game, names, voice.noun)
    ideas = _collect_ideas(filter(None, found.values()), voice.noun)
    return PositionAnalysis(
        *solution.worth, verdict, solution.method, moves, _describe_unknown(moves), ideas
    )


def describe_start(analysis: PositionAnalysis, noun: str) -> Iterator[str]:
    """Say what the value of a game's start means: who wins, how long it takes, and which first moves are good."""
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
    yield _describe_openings(analysis)


def _describe_openings(analysis: PositionAnalysis) -> str:
    """Say which first moves are good."""
    good = sorted(move.block for move in analysis.moves if move.value == analysis.value)
    one, many = ("wins", "win") if analysis.value == "win" else ("keeps the draw", "keep the draw")
    if analysis.value == "loss":
        return f"No first move wins. {analysis.moves[0].block} keeps the game going longest."
    if len(good) == len(analysis.moves):
        return f"Every first move {one}."
    verb = one if len(good) == 1 else many
    return f"{len(good):,} of {len(analysis.moves):,} first moves {verb}: {summarize_numbers(good, ', ')}."


def suggest_changes(analysis: PositionAnalysis, noun: str) -> str:
    """Say what may make a better game of rules with this start; empty if its first move matters."""
    if analysis.value is None:
        return ""
    if not analysis.moves:
        return f"The first player cannot place any {noun}. Try smaller {noun}s, or other first {noun}s."
    at_once = sorted(
        move.block for move in analysis.moves if move.value == "win" and move.plies == 1
    )
    if len(at_once) == len(analysis.moves):
        return f"The game is over after one {noun}. Try other {noun}s or another target."
    if at_once:
        verb = "wins" if len(at_once) == 1 else "win"
        return f"{summarize_numbers(at_once, ', ')} {verb} at once. Limit the first {noun}s if you do not want that."
    if len({move.value for move in analysis.moves}) > 1:
        return ""
    return {
        "win": f"It does not matter how the first player starts. Other {noun}s may make a better game.",
        "draw": f"It does not matter how the first player starts. Other {noun}s may make a better game.",
        "loss": f"The second player has the better side. Other {noun}s may make it more even.",
    }[analysis.value]


def _solve(
    game: Game, seconds: float, progress: Callable[[Progress], object] | None
) -> Solution | None:
    """Solve a position; where its plies take too long, at least its value."""
    for plies, part, most in ((True, 0.6, 1.0), (False, 0.4, 0.4)):
        limits = SearchLimits(memory=MEMORY, progress=progress)
        limits.seconds = part * seconds
        with suppress(NotSolvedError):
            solution = Solution(game.position, limits, plies=plies)
            limits.seconds = most * seconds
            return solution
    return None


def _collect_ideas(reasons: Iterable[Reason], noun: str) -> tuple[Idea, ...]:
    """Return the ideas behind some reasons, each once."""
    introduced: set[str] = set()
    return tuple(filter(None, [introduce_idea(reason, noun, introduced) for reason in reasons]))


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
        return (
            f"The game is over: {'it is a draw' if winner is None else f'{names[winner]} has won'}."
        )
    best = f"{names[game.to_move]}, to move, {_VERBS[worth.value]} if both play their best"
    if worth.plies is None:
        return f"{best}."
    return f"{best}: {worth.plies:,} more {pluralize(noun, worth.plies)} to the end."


def _describe_unknown(moves: tuple[AnalysedMove, ...]) -> str:
    unknown = sum(move.value is None for move in moves)
    if unknown:
        return f"{unknown:,} of {len(moves):,} moves were not worked out in the time there is."
    if any(move.plies is None for move in moves):
        return "How long it takes is not known for every move; who wins is."
    return ""
