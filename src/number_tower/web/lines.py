"""Games that strangers write into an address: read without opening a file, and refused before they cost anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower import catalogue
from number_tower.record import RecordError
from number_tower.record.document import parsed, table_of
from number_tower.record.line import EXAMPLE, with_rulebook
from number_tower.rules import Rules, RulesError
from number_tower.showing import sentence
from number_tower.voice import Voice
from number_tower.web import bounds

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.table import Table


class Unreadable(ValueError):  # noqa: N818 - named for what it says
    """A line that is no game that can be shown here, and why not."""


def read(line: str) -> tuple[Table, Rulebook]:
    """Return the table that a one-line record describes, and its rulebook; no move is made in a game too large."""
    line = line.strip()
    if len(line) > bounds.LONGEST_LINE:
        most = f"{bounds.LONGEST_LINE:,}"
        raise Unreadable(f"Here a line may have at most {most} characters; this one has {len(line):,}.")
    try:
        if line.startswith("{"):
            return _document(line)
        head, colon, _ = line.rpartition(":")
        if not colon:
            raise Unreadable(f"That is not the line of a game, {EXAMPLE}.")
        bounds.check(with_rulebook(f"{bounds.check_text(head)}:")[0].game.rules)
        return with_rulebook(line)
    except (RecordError, RulesError, bounds.TooLarge) as wrong:
        raise Unreadable(sentence(str(wrong))) from None


def read_rule_file(content: bytes, name: str, source: str) -> Rulebook:
    """Return the rulebook in a rule file that a client sent; refuse one that is too large, or has a wrong voice."""
    table = catalogue.parse_toml(bounds.check_rule_file(content), source)
    bounds.check_table(table.get("rules"))
    book = catalogue.from_table(table, content, name, source)
    bounds.check_words(book)
    bounds.check(book.rules)
    Voice(book)
    return book


def _document(text: str) -> tuple[Table, Rulebook]:
    """Read a record in JSON, as it is taken away from a room, if its rules are small enough."""
    document = parsed(text)
    bounds.check_table(document.get("rules"))
    if isinstance(document.get("rules"), dict):
        bounds.check(Rules.read(document["rules"]))
    table = table_of(document)
    return table, catalogue.rulebook_for(table.rulebook, table.game.rules)
