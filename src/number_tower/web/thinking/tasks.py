"""Functions that run in worker processes: the computer's moves, reviews, and records to be read.

All values are exact. What is not found within the limits is said to be unknown; nothing is guessed.
"""

from __future__ import annotations

from number_tower.coach.analysis import MEMORY, SECONDS
from number_tower.coach.review import GameReview, review
from number_tower.game import Game
from number_tower.players import LEVELS, Computer
from number_tower.record import RecordError
from number_tower.record.json import parse_document, read_document
from number_tower.record.line import EXAMPLE, from_line
from number_tower.rules import Rules, RulesError
from number_tower.table import Table
from number_tower.text import make_sentence
from number_tower.web import limits

FALLBACK_LEVEL = next(iter(LEVELS))
"""The level of a computer that has no time to think."""


def choose_block(level: str, seed: int, game: Game) -> tuple[int, str]:
    """Return the computer's move at one of its levels, and its remark, which is mostly empty."""
    computer = Computer(LEVELS[level], seed)
    return computer.choose(game), computer.remark


# Records --------------------------------------------------------------------------------------------------------------


def parse_record(line: str) -> Table:
    """Return the table that a record describes, or say why it is none that can be shown here.

    No move is made in a game that is too large.
    """
    line = line.strip()
    if len(line) > limits.MAX_RECORD_LENGTH:
        most = f"{limits.MAX_RECORD_LENGTH:,}"
        raise RecordError(
            "", f"A line may have at most {most} characters; this one has {len(line):,}."
        )
    head, colon, _ = line.rpartition(":")
    if not colon and not line.startswith("{"):
        raise RecordError("", f"That is not the line of a game, {EXAMPLE}.")
    try:
        if line.startswith("{"):
            return _parse_document(line)
        limits.check_rules(from_line(f"{limits.check_text(head)}:").game.rules)
        return from_line(line)
    except (RecordError, RulesError, limits.TooLargeError) as error:
        raise RecordError("", make_sentence(str(error))) from None


def _parse_document(text: str) -> Table:
    """Read a record in JSON, as a room exports it, if its rules are small enough."""
    document = parse_document(text)
    limits.check_rule_table(document.get("rules"))
    if isinstance(document.get("rules"), dict):
        limits.check_rules(Rules.read(document["rules"]))
    return read_document(document)


def review_table(
    table: Table, seconds: float = SECONDS, altogether: float = limits.REVIEW_SECONDS
) -> GameReview:
    """Review a game move by move."""
    return review(
        table.game, declared=table.declared, seconds=seconds, altogether=altogether, memory=MEMORY
    )
