"""Limits on what clients may send: seconds for a question, sizes of games and texts.

`http/rates.py` limits requests, `http/connections.py` connections, `live/quota.py` new rooms.
"""

from __future__ import annotations

from collections.abc import Mapping

from number_tower.engine import catalogue
from number_tower.engine.blocks import count_blocks
from number_tower.engine.catalogue import Rulebook
from number_tower.engine.rules import MAX_SERVED_BLOCKS, MAX_SERVED_PLIES, MAX_SERVED_TARGET, Rules
from number_tower.support.errors import NumberTowerError
from number_tower.words.voice import get_voice

# Questions ----------------------------------------------------------------------------------------

POSITION_TIMEOUT, GAME_TIMEOUT, PUZZLE_TIMEOUT = 8.0, 12.0, 15.0
"""Seconds after which the server gives up a question about a position, a game or a puzzle."""

PICTURE_TIMEOUT = 8.0
"""Seconds after which the server gives up a picture of a game."""

REVIEW_SECONDS = 6.0
"""Seconds for all positions of a reviewed game."""

MAX_REVIEWED_MOVES = 400

# Games and texts ----------------------------------------------------------------------------------

MAX_RULE_FILE = 16 * 1024
"""Bytes of a rule file: five times what the games of the catalogue need."""

MAX_RECORD_LENGTH = 12_000
"""Characters of a record in an address."""

MAX_BLOCKS = MAX_SERVED_BLOCKS
MAX_IRREGULAR_BLOCKS = 300
"""Blocks in unequal steps, where every block must be compared with every other."""

MAX_WRITTEN_BLOCKS = 2 * MAX_BLOCKS
"""Blocks that a text may name; above, they are counted one by one, as some may be named twice."""

MAX_TARGET = MAX_SERVED_TARGET
MAX_MOVES = MAX_SERVED_PLIES
"""Moves of the longest game: every answer contains all of them."""

MAX_VOICE_FIELDS, MAX_TEXT_FIELDS, MAX_TEXT_LENGTH = 200, 20, 2_000
"""Fields in all texts of a voice and in one, and its characters: each field can grow to a list."""


class TooLargeError(NumberTowerError, ValueError):
    """A game is too large for a server; the message says the limit, and `key` names the rule."""

    reason = "too_large"

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


def check_rules(rules: Rules) -> Rules:
    """Return rules that a server can play by, or raise what is too large about them."""
    blocks = len(rules.blocks)
    _check_size("a game may have", MAX_BLOCKS, " blocks; this one has", blocks, "blocks")
    if rules.fit in {"related", "unrelated"} and not rules.is_regular:
        what, gaps = "a game of divisors and multiples may have", " blocks with gaps between them"
        _check_size(what, MAX_IRREGULAR_BLOCKS, f"{gaps}; this one has", blocks, "blocks")
    _check_size("the target may be", MAX_TARGET, "; this one is", rules.target or 0, "target")
    longest = "target" if rules.supply == "endless" else "blocks"
    _check_size("a game may last", MAX_MOVES, " moves; this one can last", rules.max_plies, longest)
    return rules


def _check_size(what: str, most: int, but: str, size: int, key: str = "") -> None:
    """Raise if a size is too large, with the words before and between the two numbers."""
    if size > most:
        raise TooLargeError(f"{what} at most {most:,}{but} {size:,}", key)


def check_text(text: str, key: str = "blocks") -> str:
    """Return the options of a record, or a set of blocks, unless it names too many blocks.

    Time and memory grow with the length of the text alone.
    """
    # The values of options such as `rules(target=9,blocks=1-5)`, without their keys.
    values = ",".join(part.rpartition("=")[2].rstrip(") ") for part in text.split(","))
    if text.count(",") > 3 * MAX_BLOCKS or count_blocks(values) > MAX_WRITTEN_BLOCKS:
        raise TooLargeError(
            f"a game may have at most {MAX_BLOCKS:,} blocks; these are far more", key
        )
    return text


def check_rule_table(rules: object) -> None:
    """Check that a table of rules, as in a file or a record, does not name too many blocks."""
    if isinstance(rules, Mapping):
        for key, value in rules.items():
            if isinstance(value, str):
                check_text(value, key)


def check_voice(book: Rulebook) -> None:
    """Check that a server can render a game's texts again and again."""
    texts = {key: text for key, text in book.voice.items() if isinstance(text, str)}
    for key, table in book.voice.items():
        if isinstance(table, Mapping):
            texts |= {
                f"{key}.{name}": text for name, text in table.items() if isinstance(text, str)
            }
    fields = sum(text.count("{") for text in texts.values())
    _check_size(
        "the texts of a game may have", MAX_VOICE_FIELDS, " fields in braces; these have", fields
    )
    for key, text in texts.items():
        _check_size(f"voice.{key} may have", MAX_TEXT_LENGTH, " characters; it has", len(text))
        _check_size(
            f"voice.{key} may have", MAX_TEXT_FIELDS, " fields in braces; it has", text.count("{")
        )


def read_rule_file(content: bytes, name: str, source: str) -> Rulebook:
    """Return the rulebook in a rule file that a client sent; raise if it is too large or wrong."""
    return make_rulebook(parse_rule_file(content, source), content, name, source)


def parse_rule_file(content: bytes, source: str) -> dict[str, object]:
    """Return the table in a rule file that a client sent, unless it is too large or not TOML."""
    if len(content) > MAX_RULE_FILE:
        most = f"at most {MAX_RULE_FILE // 1024} KiB"
        raise TooLargeError(
            f"a rule file may have {most}; this one has {len(content) / 1024:,.0f} KiB"
        )
    return catalogue.parse_toml(content, source)


def make_rulebook(table: Mapping[str, object], content: bytes, name: str, source: str) -> Rulebook:
    """Return the rulebook in a client's parsed rule file; raise if it is too large or wrong."""
    presets = table.get("presets")
    check_rule_table(table.get("rules"))
    for settings in presets.values() if isinstance(presets, Mapping) else ():
        if isinstance(settings, Mapping):
            check_rule_table({key: settings.get(key) for key in catalogue.RULE_OPTIONS})
    book = catalogue.make_rulebook(table, content, name, source)
    check_voice(book)
    check_rules(book.rules)
    for preset in book.presets.values():
        try:
            check_rules(book.apply_options(preset.options))
        except TooLargeError as error:
            raise TooLargeError(f"the preset {preset.name} is too large: {error}") from None
    get_voice(book)
    return book
