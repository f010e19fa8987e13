"""How long and how large a question may be that a page or a program asks: all numbers in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from number_tower import catalogue
from number_tower.blocks import count_blocks
from number_tower.coach.analysis import MAX_REASONS, MEMORY, SECONDS
from number_tower.rules import Rules
from number_tower.voice import Voice

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.rules import Rules

MAX_BODY = 128 * 1024


__all__ = [
    "GAME_TIMEOUT",
    "MAX_PUZZLE_POSITIONS",
    "MAX_REASONS",
    "MAX_REVIEWED_MOVES",
    "MEMORY",
    "POSITION_TIMEOUT",
    "PUZZLE_TIMEOUT",
    "REVIEW_SECONDS",
    "SECONDS",
]  # fmt: skip


REVIEW_SECONDS = 6.0


"""To work on all positions of a game."""


MAX_PUZZLE_POSITIONS = 50_000


"""Positions that are searched to say more of a puzzle than its answer."""


MAX_REVIEWED_MOVES = 400


"""Moves of a game that is gone through."""


POSITION_TIMEOUT, GAME_TIMEOUT, PUZZLE_TIMEOUT = 8.0, 12.0, 15.0


"""Seconds after which a question about a position, a game or a puzzle is given up, whatever its own limits are."""


MAX_BLOCKS = 1_000


MAX_IRREGULAR_BLOCKS = 300


"""Blocks with gaps between them of which each has to be compared with each."""


MAX_TARGET = 10_000


MAX_MOVES = 2_000


"""Moves that a game can last at most: all of them are told and sent."""


MAX_RECORD_LENGTH = 12_000


"""Characters of a record in an address."""


MAX_WRITTEN_BLOCKS = 50_000


"""Blocks that a text may stand for before they are made, and counted one by one."""


MAX_RULE_FILE = 16 * 1024


"""Bytes of a rule file: five times what the games of the catalogue need."""


MAX_VOICE_FIELDS, MAX_TEXT_FIELDS, MAX_TEXT_LENGTH = 200, 20, 2_000


"""Fields in all the words of a game, fields in one text, and characters of one text: each field can grow to a list."""


class TooLargeError(ValueError):
    """A game that is too large for a server, and how large one may be."""


def check_rules(rules: Rules) -> Rules:
    """Return rules that a server can play by, or say what is too large about them."""
    if len(rules.blocks) > MAX_BLOCKS:
        raise TooLargeError(f"here a game may have at most {MAX_BLOCKS:,} blocks; this one has {len(rules.blocks):,}")
    if rules.fit in {"related", "unrelated"} and not rules.is_regular and len(rules.blocks) > MAX_IRREGULAR_BLOCKS:
        raise TooLargeError(
            f"here a game of divisors and multiples may have at most {MAX_IRREGULAR_BLOCKS} blocks with gaps between them;"
            f" this one has {len(rules.blocks):,}"
        )
    if rules.target is not None and rules.target > MAX_TARGET:
        raise TooLargeError(f"here the target may be at most {MAX_TARGET:,}; this one is {rules.target:,}")
    if rules.most_plies > MAX_MOVES:
        longest = f"this one can last {rules.most_plies:,}"
        raise TooLargeError(f"here a game may last at most {MAX_MOVES:,} moves; {longest}")
    return rules


def check_text(text: str) -> str:
    """Return the options of a record, or a set of blocks, unless it stands for more blocks than a server can make.

    Time and memory grow with the length of the text alone, whatever it says.
    """
    if text.count(",") > 3 * MAX_BLOCKS or count_blocks(_strip_keys(text)) > MAX_WRITTEN_BLOCKS:
        raise TooLargeError(f"here a game may have at most {MAX_BLOCKS:,} blocks; these are far more")
    return text


def check_rule_file(content: bytes) -> bytes:
    """Return the content of a rule file that is small enough to be read by a server."""
    if len(content) > MAX_RULE_FILE:
        most = f"{MAX_RULE_FILE // 1024} KiB"
        raise TooLargeError(f"here a rule file may have at most {most}; this one has {len(content) / 1024:,.0f} KiB")
    return content


def check_rule_table(rules: object) -> None:
    """See to it that a table of rules, as a file or a record holds it, stands for no more blocks than can be made."""
    if isinstance(rules, Mapping):
        for value in rules.values():
            if isinstance(value, str):
                check_text(value)


def check_voice(book: Rulebook) -> None:
    """See to it that a server can say a game's words again and again, or say that they are too many."""
    texts = {key: text for key, text in book.voice.items() if isinstance(text, str)}
    fields = {key: text.count("{") for key, text in texts.items()}
    if sum(fields.values()) > MAX_VOICE_FIELDS:
        most = f"at most {MAX_VOICE_FIELDS} fields in braces"
        raise TooLargeError(f"here all words of a game may have {most}; these have {sum(fields.values()):,}")
    for key, text in texts.items():
        if len(text) > MAX_TEXT_LENGTH:
            raise TooLargeError(
                f"here voice.{key} may have at most {MAX_TEXT_LENGTH:,} characters; it has {len(text):,}"
            )
        if fields[key] > MAX_TEXT_FIELDS:
            most = f"at most {MAX_TEXT_FIELDS} fields in braces"
            raise TooLargeError(f"here voice.{key} may have {most}; it has {fields[key]:,}")


def _strip_keys(text: str) -> str:
    """Return the values of options such as `rules(target=9,blocks=1-5)` without their keys."""
    return ",".join(part.rpartition("=")[2].rstrip(") ") for part in text.split(","))


def read_rule_file(content: bytes, name: str, source: str) -> Rulebook:
    """Return the rulebook in a rule file that a client sent; refuse one that is too large, or has a wrong voice."""
    table = catalogue.parse_toml(check_rule_file(content), source)
    check_rule_table(table.get("rules"))
    book = catalogue.make_rulebook(table, content, name, source)
    check_voice(book)
    check_rules(book.rules)
    Voice(book)
    return book
