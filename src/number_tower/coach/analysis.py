"""What a position and its moves are worth, and help in playing it: in values, in words, and within limits.

Every value is exact. What is not found within the limits is said to be unknown; there is never a guess.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from number_tower.coach.hints import hint
from number_tower.coach.reasons import why
from number_tower.coach.words import clause, say
from number_tower.solve import solve
from number_tower.solve.limits import NotSolved, Watch
from number_tower.solve.solution import Solution
from number_tower.solve.worth import Worth, ended
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

MOST_REASONS = 40
"""Moves of a position that are given a reason each."""

_VERBS: dict[Value, str] = {"win": "wins", "draw": "can hold a draw", "loss": "loses"}


class Valued(NamedTuple):
    """A move, what it is worth to whoever makes it (None: not known), and why, to be read after its number."""

    block: int
    value: Value | None
    plies: int | None
    reason: str


class Analysis(NamedTuple):
    """What a position and its moves are worth; the best move comes first, and those not known come last."""

    value: Value | None
    plies: int | None
    verdict: str
    method: str
    moves: tuple[Valued, ...]
    note: str
    """What is not known, and why not; empty if everything is."""

    @property
    def complete(self) -> bool:
        """Whether every value is known."""
        return self.value is not None and all(move.value is not None for move in self.moves)


class Hinted(NamedTuple):
    """Help in up to three steps, as much of it as was asked for; without a block where the move is not named yet."""

    texts: tuple[str, ...]
    more: bool
    """Whether there is another step."""

    block: int | None = None


# Help -----------------------------------------------------------------------------------------------------------------


def hinted(table: Table, book: Rulebook, step: int, given: Hint | None) -> Hinted:
    """Help whoever is to move: 1 says what to look for, 2 names the move as well, and 3 gives the reason.

    Where the position could not be worked out there is no hint; and none is asked for where the blocks are hidden, or
    once the game is over.
    """
    voice = Voice(book)
    if table.hidden:
        return Hinted((voice.refuse(table, "hint", "").text.strip(),), more=False)
    if not table.legal:
        return Hinted((voice.refuse(table, "over", "").text.strip(),), more=False)
    if given is None:
        return Hinted((say("unknown", {}),), more=False)
    step = min(max(step, 1), 3)
    opponent = voice.name(table, 1 - table.game.to_move)
    texts = given.nudge(voice.noun), given.move(), given.why(opponent, voice.noun)
    return Hinted(texts[:step], more=step < len(texts), block=given.block if step > 1 else None)


def hint_within(game: Game, seconds: float, *, progress: Callable[[Progress], object] | None = None) -> Hint | None:
    """Make a hint in so much time, without the plies if need be; None if that is not enough."""
    for plies, part in ((True, 0.6), (False, 0.4)):
        with suppress(NotSolved):
            return hint(solve(game, plies=plies, seconds=part * seconds, memory=MEMORY, progress=progress))
    return None


# Analysis -------------------------------------------------------------------------------------------------------------


def analysed(
    table: Table,
    book: Rulebook,
    seconds: float = SECONDS,
    *,
    progress: Callable[[Progress], object] | None = None,
) -> Analysis:
    """Say what a table is worth as it stands, and each of its moves; where time runs out, what is known by then."""
    voice = Voice(book)
    game = table.game
    names = voice.name(table, 0), voice.name(table, 1)
    if (over := ended(game.position)) is not None:
        return Analysis(over.value, 0, _verdict(over, game, names, voice.noun), "", (), "")
    solution = _solution(game, seconds, progress)
    worths = _immediate(game) if solution is None else _worths(solution)
    ranked = sorted(game.legal, key=lambda block: _place(block, worths.get(block)))
    moves = tuple(
        _valued(block, worths.get(block), game, solution if place < MOST_REASONS else None, names, voice.noun)
        for place, block in enumerate(ranked)
    )
    if solution is None:
        within = f"{seconds:g} second{'' if seconds == 1 else 's'}"
        verdict = f"What this position is worth was not found out within {within}, and a guess would be no help."
        note = "Only moves that end the game at once are valued here." if worths else "No move is valued here."
        return Analysis(None, None, verdict, "", moves, note)
    return Analysis(
        solution.value,
        solution.plies,
        _verdict(solution.worth, game, names, voice.noun),
        solution.method,
        moves,
        _missing(moves),
    )


def _solution(game: Game, seconds: float, progress: Callable[[Progress], object] | None) -> Solution | None:
    """Solve a position; where its plies take too long, at least its value. No plies are searched for on their own."""
    for plies, part, most in ((True, 0.6, 1.0), (False, 0.4, 0.4)):
        watch = Watch(memory=MEMORY, progress=progress)
        watch.seconds = part * seconds
        with suppress(NotSolved):
            solution = Solution(game.position, watch, plies=plies)
            watch.seconds = most * seconds
            return solution
    return None


def _worths(solution: Solution) -> dict[int, Worth]:
    """Return what the moves are worth, as far as it is found."""
    worths: dict[int, Worth] = {}
    with suppress(NotSolved):
        for block in solution.moves:
            worths[block] = solution.moves[block]
    return worths


def _immediate(game: Game) -> dict[int, Worth]:
    """Return what the moves are worth that end the game."""
    worths: dict[int, Worth] = {}
    for block in game.legal:
        after = game.position.place(block)
        if (worth := ended(after)) is not None:
            worths[block] = worth.before(turned=after.to_move != game.to_move)
    return worths


def _place(block: int, worth: Worth | None) -> tuple[int, int, int, int]:
    """Say where a move stands in the list: the best first, of equals the smaller block, and the unknown last."""
    if worth is None:
        return 1, 0, 0, block
    value, plies = worth.rank
    return 0, -value, -plies, block


def _valued(
    block: int, worth: Worth | None, game: Game, solution: Solution | None, names: tuple[str, str], noun: str
) -> Valued:
    if worth is None:
        return Valued(block, None, None, "")
    if solution is None:
        return Valued(block, worth.value, worth.plies, "")
    mover = game.to_move
    try:
        reason = clause(why(solution, block), player=names[mover], opponent=names[1 - mover], noun=noun)
    except NotSolved:
        reason = ""
    return Valued(block, worth.value, worth.plies, reason)


def _verdict(worth: Worth, game: Game, names: tuple[str, str], noun: str) -> str:
    """Say in a sentence what a position is worth."""
    if game.outcome is not None:
        winner = game.outcome.winner
        return f"The game is over: {'it is a draw' if winner is None else f'{names[winner]} has won'}."
    best = f"{names[game.to_move]}, to move, {_VERBS[worth.value]} if both play their best"
    if worth.plies is None:
        return f"{best}."
    return f"{best}: {worth.plies:,} more {noun}{'' if worth.plies == 1 else 's'} to the end."


def _missing(moves: tuple[Valued, ...]) -> str:
    unknown = sum(move.value is None for move in moves)
    if unknown:
        return f"{unknown:,} of {len(moves):,} moves were not worked out in the time there is."
    if any(move.plies is None for move in moves):
        return "How long it takes is not known for every move; who wins is."
    return ""
