"""How large a game may be that strangers ask a server to play."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.rules import Rules

MOST_BLOCKS = 1_000
HIGHEST_TARGET = 10_000
LONGEST_GAME = 2_000
"""Moves that a game can last at most: all of them are told and sent."""

LONGEST_LINE = 12_000
"""Characters of a record in an address."""

MOST_WRITTEN = 50_000
"""Blocks that a text may stand for before they are made, and counted one by one."""

MOST_FIELDS, MOST_LISTED = 200, 10_000
"""Fields in all the words of a game, and blocks that one text can name: each field can grow to a list of all."""

_RUN = re.compile(r"0*([0-9]{1,20})[0-9]*\s*-\s*0*([0-9]{1,20})")


class TooLarge(ValueError):  # noqa: N818 - named for what it says
    """A game that is too large for a server, and how large one may be."""


def check(rules: Rules) -> Rules:
    """Return rules that a server can play by, or say what is too large about them."""
    if len(rules.blocks) > MOST_BLOCKS:
        raise TooLarge(f"here a game may have at most {MOST_BLOCKS:,} blocks; this one has {len(rules.blocks):,}")
    if rules.target is not None and rules.target > HIGHEST_TARGET:
        raise TooLarge(f"here the target may be at most {HIGHEST_TARGET:,}; this one is {rules.target:,}")
    if rules.supply == "endless" and _longest(rules) > LONGEST_GAME:
        longest = f"this one can last {_longest(rules):,}" if rules.target is not None else "this one never has to end"
        raise TooLarge(f"here a game may last at most {LONGEST_GAME:,} moves; {longest}")
    return rules


def check_text(text: str) -> str:
    """Return rules or a record as text, unless it says in a few words more blocks than a server wants to make."""
    if sum(max(0, int(high) - int(low)) for low, high in _RUN.findall(text)) > MOST_WRITTEN:
        raise TooLarge(f"here a game may have at most {MOST_BLOCKS:,} blocks; these are far more")
    return text


def check_table(rules: object) -> None:
    """See to it that a table of rules, as a file or a record holds it, stands for no more blocks than can be made."""
    if isinstance(rules, Mapping):
        for value in rules.values():
            if isinstance(value, str):
                check_text(value)


def check_words(book: Rulebook, rules: Rules) -> None:
    """See to it that a server can say a game's words again and again, or say that they are too many."""
    fields = [text.count("{") for text in book.voice.values() if isinstance(text, str)]
    if sum(fields) > MOST_FIELDS:
        most = f"at most {MOST_FIELDS} fields in braces"
        raise TooLarge(f"here all words of a game may have {most}; these have {sum(fields):,}")
    if max(fields, default=0) * len(rules.blocks) > MOST_LISTED:
        most = f"at most {MOST_LISTED // len(rules.blocks)} fields in braces"
        raise TooLarge(f"here one text of a game of so many blocks may have {most}; one has {max(fields)}")


def _longest(rules: Rules) -> int:
    """Return how many blocks can be placed before the target is reached; without one, more than anybody would."""
    if rules.target is None:
        return LONGEST_GAME + 1
    return rules.target // rules.blocks[0] * (1 if rules.towers == "shared" else 2)
