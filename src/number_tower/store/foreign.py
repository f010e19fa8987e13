"""What lines from another machine say beside their records: written here, and read back without being believed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from number_tower import catalogue
from number_tower.record import RecordError
from number_tower.showing import shown
from number_tower.store.kept import Seats, storable

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook

_KEY = re.compile(r"[0-9a-f]{32}")


def rulebook_written(book: Rulebook) -> dict[str, str] | None:
    """Return a rule file as it goes into a line; games of the catalogue need none."""
    if not book.content or book.source in catalogue.names():
        return None
    return {"name": book.name, "source": storable(book.source), "content": book.content.decode("utf-8-sig")}


def read_key(given: object) -> str:
    """Return a key, if it is one."""
    if not isinstance(given, str) or _KEY.fullmatch(given) is None:
        raise RecordError("key", f"expected 32 hexadecimal digits; got {shown(given)}")
    return given


def read_seats(players: object, seed: object) -> Seats:
    """Return who chose the moves, if that can be."""
    if not isinstance(players, list) or len(players) != 2 or not all(map(_is_player, players)):
        raise RecordError("players", f"expected two, each a level, a program, or null; got {shown(players)}")
    if seed is not None and type(seed) is not int:
        raise RecordError("seed", f"expected a whole number or null; got {shown(seed)}")
    return Seats((players[0], players[1]), seed)


def _is_player(given: object) -> bool:
    return given is None or (isinstance(given, str) and given != "" and storable(given) == given)


def read_rulebook(given: object) -> Rulebook | None:
    """Return a rule file that a line holds, if it holds one."""
    if given is None:
        return None
    if not isinstance(given, dict) or given.keys() != {"name", "source", "content"}:
        raise RecordError("rulebook", "expected name, source and content")
    if not all(isinstance(value, str) for value in given.values()) or storable(given["source"]) != given["source"]:
        raise RecordError("rulebook", "expected name, source and content as text")
    return catalogue.parse(given["content"].encode(), given["name"], given["source"])
