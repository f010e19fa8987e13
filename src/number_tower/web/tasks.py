"""What worker processes are asked: pure questions about positions, each with its own limits, answered in plain values.

Every value is exact. What is not found within the limits is said to be unknown; there is never a guess.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from number_tower.coach.hints import hint
from number_tower.coach.reasons import why
from number_tower.coach.review import review
from number_tower.coach.telling import Telling
from number_tower.coach.words import clause, say
from number_tower.players import LEVELS, Computer
from number_tower.players.knowing import knowledge
from number_tower.solve.limits import NotSolved, Watch
from number_tower.solve.solution import Solution
from number_tower.solve.worth import Worth, ended
from number_tower.voice import Voice
from number_tower.web.limits import ALTOGETHER, LONGEST_REVIEW, MEMORY, MOST_REASONS, SECONDS
from number_tower.web.posing import Choice, Posed, lesson, numbered, puzzle_of

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.coach.review import Judged, Review
    from number_tower.game import Game
    from number_tower.solve.worth import Value
    from number_tower.table import Table

__all__ = [
    "ALTOGETHER", "LONGEST_REVIEW", "MOST_REASONS", "SECONDS", "Analysis", "Choice", "Hinted", "Posed", "Remarked",
    "Reviewed", "Valued", "analysed", "chosen", "hinted", "lesson", "numbered", "puzzle_of", "reviewed",
]  # fmt: skip

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


class Remarked(NamedTuple):
    """A move of a game that was gone through."""

    ply: int
    player: int
    block: int
    before: Value | None
    after: Value | None
    mark: str
    remarks: tuple[str, ...]
    forced: bool
    skips: bool


class Reviewed(NamedTuple):
    """A game that was gone through, in values and in words."""

    headline: str
    standing: str | None
    values: tuple[int | None, ...]
    """Of every position, from before the first move to now, as the first seat sees it: 1, 0 or -1."""

    moves: tuple[Remarked, ...]
    turning: int | None
    """The ply of the turning point."""

    turning_point: str | None
    accuracy: tuple[str, ...]
    unsolved: str | None

    @property
    def complete(self) -> bool:
        """Whether every position was solved."""
        return self.unsolved is None


class Hinted(NamedTuple):
    """Help in up to three steps, as much of it as was asked for; without a block where the move is not named yet."""

    texts: tuple[str, ...]
    more: bool
    """Whether there is another step."""

    block: int | None = None


# The computer ---------------------------------------------------------------------------------------------------------


def chosen(level: str, seed: int, game: Game) -> tuple[int, str]:
    """Return the move of the computer at one of its levels, and what it has to say about it, mostly nothing."""
    computer = Computer(LEVELS[level], seed)
    return computer.choose(game), computer.remark


# Help -----------------------------------------------------------------------------------------------------------------


def hinted(table: Table, book: Rulebook, step: int) -> Hinted:
    """Help whoever is to move: 1 says what to look for, 2 names the move as well, and 3 gives the reason."""
    voice = Voice(book)
    if table.hidden:
        return Hinted((voice.refuse(table, "hint", "").text.strip(),), more=False)
    if not table.legal:
        return Hinted((voice.refuse(table, "over", "").text.strip(),), more=False)
    solution = knowledge(table.game.rules).solution(table.game.position)
    if solution is None:
        return Hinted((say("unknown", {}),), more=False)
    given = hint(solution)
    step = min(max(step, 1), 3)
    opponent = voice.name(table, 1 - table.game.to_move)
    texts = given.nudge(voice.noun), given.move(), given.why(opponent, voice.noun)
    return Hinted(texts[:step], more=step < len(texts), block=given.block if step > 1 else None)


# Analysis -------------------------------------------------------------------------------------------------------------


def analysed(table: Table, book: Rulebook, seconds: float = SECONDS) -> Analysis:
    """Say what a table is worth as it stands, and each of its moves; where time runs out, what is known by then."""
    voice = Voice(book)
    game = table.game
    names = voice.name(table, 0), voice.name(table, 1)
    if (over := ended(game.position)) is not None:
        return Analysis(over.value, 0, _verdict(over, game, names, voice.noun), "", (), "")
    solution = _solution(game, seconds)
    worths = _immediate(game) if solution is None else _worths(solution)
    ranked = sorted(game.legal, key=lambda block: _place(block, worths.get(block)))
    moves = tuple(
        _valued(block, worths.get(block), game, solution if place < MOST_REASONS else None, names, voice.noun)
        for place, block in enumerate(ranked)
    )
    if solution is None:
        verdict = (
            f"What this position is worth was not found out within {seconds:g} seconds, and a guess would be no help."
        )
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


def _solution(game: Game, seconds: float) -> Solution | None:
    """Solve a position; where its plies take too long, at least its value. No plies are searched for on their own."""
    for plies, part, most in ((True, 0.6, 1.0), (False, 0.4, 0.4)):
        watch = Watch(memory=MEMORY)
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


# Reviews --------------------------------------------------------------------------------------------------------------


def reviewed(table: Table, book: Rulebook, seconds: float = SECONDS, altogether: float = ALTOGETHER) -> Reviewed:
    """Go through a game move by move."""
    voice = Voice(book)
    seen = review(table.game, declared=table.declared, seconds=seconds, altogether=altogether, memory=MEMORY)
    telling = Telling((voice.name(table, 0), voice.name(table, 1)), voice.noun)
    return Reviewed(
        telling.headline(seen),
        telling.standing(seen),
        seen.values,
        tuple(_remarked(move, telling) for move in seen.moves),
        _turning(seen),
        telling.turning_point(seen),
        tuple(telling.accuracy(seen, seat) for seat in (0, 1)) if seen.moves else (),
        telling.unsolved(seen),
    )


def _remarked(move: Judged, telling: Telling) -> Remarked:
    remarks = tuple(telling.mistake(move))
    if move.skips:
        remarks = (*remarks, f"{telling.names[1 - move.player]} cannot place a {telling.noun} and skips.")
    before, after = (None if worth is None else worth.value for worth in (move.before, move.after))
    return Remarked(
        move.ply, move.player, move.block, before, after, move.mark, remarks, forced=move.forced, skips=move.skips
    )


def _turning(seen: Review) -> int | None:
    return None if seen.turning_point is None else seen.turning_point.ply
