"""Functions that run in worker processes: the computer's moves, reviews, and records to be read.

All values are exact. What is not found within the limits is said to be unknown; nothing is guessed.
"""

from __future__ import annotations

from number_tower.coach.analysis import MEMORY, SECONDS
from number_tower.coach.review import GameReview, review
from number_tower.engine.game import Game
from number_tower.engine.record import RecordError
from number_tower.engine.record.json import parse_document, read_document
from number_tower.engine.record.line import EXAMPLE, from_line
from number_tower.engine.rules import Rules, RulesError
from number_tower.engine.table import Table
from number_tower.players import LEVELS, Computer
from number_tower.support.text import make_sentence
from number_tower.web import limits

FALLBACK_LEVEL = next(iter(LEVELS))
"""The level of a computer that has no time to think."""


def choose_block(level: str, seed: int, game: Game) -> tuple[int, str]:
    """Return the computer's move at one of its levels, and its remark, which is mostly empty."""
    computer = Computer(LEVELS[level], seed)
    return computer.choose(game), computer.remark


# Records ------------------------------------------------------------------------------------------


def parse_record(text: str) -> Table:
    """Return the table that a record describes, or say why it is none that can be shown here.

    No move is made in a game that is too large.
    """
    text = text.strip()
    if len(text) > limits.MAX_RECORD_LENGTH:
        limit = f"A line may have at most {limits.MAX_RECORD_LENGTH:,} characters"
        raise RecordError("", f"{limit}; this one has {len(text):,}.")
    head, colon, _ = text.rpartition(":")
    if not colon and not text.startswith("{"):
        raise RecordError("", f"That is not the line of a game, {EXAMPLE}.")
    try:
        if not text.startswith("{"):
            limits.check_rules(from_line(f"{limits.check_text(head)}:").game.rules)
            return from_line(text)
        document = parse_document(text)
        rules = document.get("rules")
        limits.check_rule_table(rules)
        if isinstance(rules, dict):
            limits.check_rules(Rules.from_dict(rules))
        return read_document(document)
    except (RecordError, RulesError, limits.TooLargeError) as error:
        raise RecordError("", make_sentence(str(error))) from None


def review_table(
    table: Table, seconds: float = SECONDS, altogether: float = limits.REVIEW_SECONDS
) -> GameReview:
    """Review a game move by move."""
    return review(
        table.game, declared=table.declared, seconds=seconds, altogether=altogether, memory=MEMORY
    )
