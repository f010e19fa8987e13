"""What everybody may see of a room: the same for players and for those who watch, and nothing that is hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower import record
from number_tower.web.story import last_words

if TYPE_CHECKING:
    from number_tower.room import Offer, Room
    from number_tower.store.kept import Seats
    from number_tower.table import Table
    from number_tower.voice import Voice

MOST_LISTED = 200
"""Blocks of a game up to which it is said of each whether it can be placed."""


def seen(room: Room, players: Seats, voice: Voice, mark: str, remark: str = "") -> dict[str, object]:
    """Return a room as it is told to the world, with what a computer remarked on its last move."""
    table = room.table
    game, outcome = table.game, table.outcome
    return {
        "game": room.number,
        "version": table.version,
        "mark": mark,
        "rulebook": {"name": table.rulebook, "title": voice.title, "noun": voice.noun},
        "rules": game.rules.written(),
        "record": record.to_line(table),
        "hidden": table.hidden,
        "first": game.first + 1,
        "players": [_player(room, players, place) for place in (0, 1)],
        "moves": game.moves,
        "to_move": None if outcome is not None else game.to_move + 1,
        "legal": table.legal if _listed(table) else None,
        "refused": _refused(table),
        "result": outcome
        and {"winner": None if outcome.winner is None else outcome.winner + 1, "reason": outcome.reason},
        "said": [said.text.strip("\n") for said in last_words(table, voice)],
        "remark": remark,
        "offer": _offer(room.offer),
        "declined": _offer(room.declined),
        "waiting": room.waiting,
        "hints": room.helped,
        "series": {
            "number": len(room.winners) + 1,
            "best_of": room.best_of,
            "score": room.score,
            "over": room.series_over,
        },
    }


def _offer(offer: Offer | None) -> dict[str, object] | None:
    return offer and {"kind": offer.kind, "seat": offer.seat + 1}


def _player(room: Room, players: Seats, place: int) -> dict[str, object]:
    table, seat = room.table, room.seats[place]
    return {
        "seat": place + 1,
        "name": seat.name,
        "kind": seat.kind,
        "level": players.players[place],
        "height": table.game.heights[place],
        "top": table.game.position.tops[place] or None,
        "tower": table.game.towers[place],
        "left": table.left(place) if _listed(table) else None,
    }


def _listed(table: Table) -> bool:
    return not table.hidden and len(table.game.rules.blocks) <= MOST_LISTED


def _refused(table: Table) -> dict[str, str] | None:
    """Say of each block that cannot be placed why not, as far as anybody may know."""
    if not _listed(table):
        return None
    if table.outcome is not None:
        return dict.fromkeys(map(str, table.game.rules.blocks), "over")
    numbers = table.game.rules.numbers
    return {str(block): reason for reason, mask in table.game.position.refusals() for block in numbers(mask)}
