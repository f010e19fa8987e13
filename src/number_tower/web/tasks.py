"""What worker processes are asked: pure questions about positions, each with its own limits, answered in plain values.

Every value is exact. What is not found within the limits is said to be unknown; there is never a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from number_tower.coach.analysis import Analysis, Hinted, Valued, analysed
from number_tower.coach.analysis import hinted as helped
from number_tower.coach.hints import hint
from number_tower.coach.review import review
from number_tower.coach.telling import Telling
from number_tower.players import LEVELS, Computer
from number_tower.players.knowing import knowledge
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


# The computer ---------------------------------------------------------------------------------------------------------


def chosen(level: str, seed: int, game: Game) -> tuple[int, str]:
    """Return the move of the computer at one of its levels, and what it has to say about it, mostly nothing."""
    computer = Computer(LEVELS[level], seed)
    return computer.choose(game), computer.remark


# Help -----------------------------------------------------------------------------------------------------------------


def hinted(table: Table, book: Rulebook, step: int) -> Hinted:
    """Help whoever is to move, by what computers know of the game."""
    solution = knowledge(table.game.rules).solution(table.game.position) if table.legal else None
    return helped(table, book, step, None if solution is None else hint(solution))


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
