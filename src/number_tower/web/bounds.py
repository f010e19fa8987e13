"""How large a game may be that strangers ask a server to play."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from number_tower.blocks import count_written

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.rules import Rules

MOST_BLOCKS = 1_000
MOST_IRREGULAR = 300
"""Blocks with gaps between them of which each has to be compared with each."""

HIGHEST_TARGET = 10_000
LONGEST_GAME = 2_000
"""Moves that a game can last at most: all of them are told and sent."""

LONGEST_LINE = 12_000
"""Characters of a record in an address."""

MOST_WRITTEN = 50_000
"""Blocks that a text may stand for before they are made, and counted one by one."""

LARGEST_RULE_FILE = 16 * 1024
"""Bytes of a rule file: five times what the games of the catalogue need."""

MOST_FIELDS, MOST_FIELDS_OF_ONE, LONGEST_WORDS = 200, 20, 2_000
"""Fields in all the words of a game, fields in one text, and characters of one text: each field can grow to a list."""


class TooLarge(ValueError):  # noqa: N818 - named for what it says
    """A game that is too large for a server, and how large one may be."""


def check(rules: Rules) -> Rules:
    """Return rules that a server can play by, or say what is too large about them."""
    if len(rules.blocks) > MOST_BLOCKS:
        raise TooLarge(f"here a game may have at most {MOST_BLOCKS:,} blocks; this one has {len(rules.blocks):,}")
    if rules.fit in {"related", "unrelated"} and not rules.is_regular and len(rules.blocks) > MOST_IRREGULAR:
        raise TooLarge(
            f"here a game of divisors and multiples may have at most {MOST_IRREGULAR} blocks with gaps between them;"
            f" this one has {len(rules.blocks):,}"
        )
    if rules.target is not None and rules.target > HIGHEST_TARGET:
        raise TooLarge(f"here the target may be at most {HIGHEST_TARGET:,}; this one is {rules.target:,}")
    if rules.most_plies > LONGEST_GAME:
        longest = f"this one can last {rules.most_plies:,}"
        raise TooLarge(f"here a game may last at most {LONGEST_GAME:,} moves; {longest}")
    return rules


def check_text(text: str) -> str:
    """Return the options of a record, or a set of blocks, unless it stands for more blocks than a server can make.

    Time and memory grow with the length of the text alone, whatever it says.
    """
    if text.count(",") > 3 * MOST_BLOCKS or count_written(_values(text)) > MOST_WRITTEN:
        raise TooLarge(f"here a game may have at most {MOST_BLOCKS:,} blocks; these are far more")
    return text


def check_rule_file(content: bytes) -> bytes:
    """Return the content of a rule file that is small enough to be read by a server."""
    if len(content) > LARGEST_RULE_FILE:
        most = f"{LARGEST_RULE_FILE // 1024} KiB"
        raise TooLarge(f"here a rule file may have at most {most}; this one has {len(content) / 1024:,.0f} KiB")
    return content


def check_table(rules: object) -> None:
    """See to it that a table of rules, as a file or a record holds it, stands for no more blocks than can be made."""
    if isinstance(rules, Mapping):
        for value in rules.values():
            if isinstance(value, str):
                check_text(value)


def check_words(book: Rulebook) -> None:
    """See to it that a server can say a game's words again and again, or say that they are too many."""
    texts = {key: text for key, text in book.voice.items() if isinstance(text, str)}
    fields = {key: text.count("{") for key, text in texts.items()}
    if sum(fields.values()) > MOST_FIELDS:
        most = f"at most {MOST_FIELDS} fields in braces"
        raise TooLarge(f"here all words of a game may have {most}; these have {sum(fields.values()):,}")
    for key, text in texts.items():
        if len(text) > LONGEST_WORDS:
            raise TooLarge(f"here voice.{key} may have at most {LONGEST_WORDS:,} characters; it has {len(text):,}")
        if fields[key] > MOST_FIELDS_OF_ONE:
            most = f"at most {MOST_FIELDS_OF_ONE} fields in braces"
            raise TooLarge(f"here voice.{key} may have {most}; it has {fields[key]:,}")


def _values(text: str) -> str:
    """Return the values of options such as `rules(target=9,blocks=1-5)` without their keys."""
    return ",".join(part.rpartition("=")[2].rstrip(") ") for part in text.split(","))
